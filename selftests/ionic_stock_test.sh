#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs of the distribution, unmodified, over its own libionic on ionic, whichever driver has it:
# ibv_devinfo, the pingpongs and perftest.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"
. "${BASH_SOURCE[0]%/*}/lib/stock.sh"

# ---- what the device says of itself ------------------------------------------

# the node's GUID is the address of the interface as an EUI-64
guid()
{
	local mac

	mac=$(cat "/sys/class/infiniband/$self/device/net"/*/address)
	printf '%02x%s:%sff:fe%s:%s%s' $((0x${mac:0:2} ^ 2)) "${mac:3:2}" "${mac:6:2}" \
		"${mac:9:2}" "${mac:12:2}" "${mac:15:2}"
}

# Each is what Documentation/hw/ionic-rdma.rst promises of every adapter.
test_devinfo()
{
	local part

	devinfo
	read -r part < "/sys/class/infiniband/$self/device/device"
	expect_field hca_id "$self"
	expect_field transport 'InfiniBand (0)'
	expect_field fw_ver "$(sed -n 1p "/sys/class/infiniband/$self/fw_ver")"
	expect_field node_guid "$(guid)"
	expect_field sys_image_guid "$(guid)"
	expect_field vendor_id '0x1dd8'
	expect_field vendor_part_id "$((part))"
	expect_field hw_ver "0x*[0-9a-f]"
	expect_field phys_port_cnt 1
	expect_field max_qp_wr 65535
	expect_field max_sge 8
	expect_field max_cqe 65435
	expect_field max_pd 1024
	expect_field max_qp_rd_atom 16
	expect_field max_qp_init_rd_atom 16
	expect_field atomic_cap 'ATOMIC_GLOB (2)'
	expect_field max_srq 0
	expect_field max_mcast_grp 0
	expect_field max_pkeys 1
	expect_field state 'PORT_ACTIVE (4)'
	expect_field phys_state 'LINK_UP (5)'
	expect_field max_mtu '4096 (5)'
	expect_field active_mtu '1024 (3)'
	expect_field max_msg_sz '0x80000000'
	expect_field gid_tbl_len 256
	expect_field pkey_tbl_len 1
	expect_field link_layer Ethernet
	expect_field 'GID\[  0\]' 'fe80:*, RoCE v2'
	grep -q MEM_WINDOW_TYPE_2B "$work/devinfo" || fail 'no windows of type 2B'
}

test_devinfo_limits()
{
	local name

	devinfo
	for name in max_qp max_cq max_mr max_mw max_ah num_comp_vectors; do
		expect_field "$name" '[1-9]*'
	done
	expect_field max_mr_size '0x[1-9a-f]*'
	expect_field page_size_cap '0x*[1-9a-f]*'
}

# ---- pingpongs ---------------------------------------------------------------

# Not with -e, under any driver: libionic rings an arm with the next poll or post, and the pingpongs wait for
# the first event without either.

test_rc_pingpong() { pingpong ibv_rc_pingpong -n 200; }
test_rc_pingpong_large() { pingpong ibv_rc_pingpong -n 50 -s 100000 -c; }
test_rc_pingpong_mtu() { pingpong ibv_rc_pingpong -n 100 -s 5000 -m 512 -c; }
test_ud_pingpong() { pingpong ibv_ud_pingpong -n 200 -s 1000 -c; }

# ---- perftest ----------------------------------------------------------------

test_send() { perftest ib_send_bw -n 200 -s 65536; }
test_send_latency() { perftest ib_send_lat -n 200 -s 1024; }
test_send_inline() { perftest ib_send_lat -n 200 -s 32 -I 32; }
test_send_events() { perftest ib_send_bw -n 100 -s 1024 -e; }
test_send_both_ways() { perftest ib_send_bw -n 100 -s 4096 -b; }
test_write() { perftest ib_write_bw -n 200 -s 100000; }
test_write_latency() { perftest ib_write_lat -n 200 -s 64; }
test_write_many_queues() { perftest ib_write_bw -n 200 -s 4096 -q 8; }
test_write_immediate() { perftest ib_write_bw -n 100 -s 4096 --write_with_imm; }
test_read() { perftest ib_read_bw -n 200 -s 100000; }
test_read_latency() { perftest ib_read_lat -n 200 -s 64; }
test_fetch_and_add() { perftest ib_atomic_bw -n 200 -A FETCH_AND_ADD; }
test_fetch_and_add_latency() { perftest ib_atomic_lat -n 200 -A FETCH_AND_ADD; }
test_compare_and_swap() { perftest ib_atomic_bw -n 200 -A CMP_AND_SWAP; }
test_compare_and_swap_latency() { perftest ib_atomic_lat -n 200 -A CMP_AND_SWAP; }
test_datagrams() { perftest ib_send_bw -n 200 -c UD -s 1000; }
test_datagram_latency() { perftest ib_send_lat -n 200 -c UD -s 64; }

test_no_violation()
{
	expect_no_violation
}

need_adapter ionic
tap_run "$@"
