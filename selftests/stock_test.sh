#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs of the distribution, unmodified, on EFA: ibv_devinfo, ibv_ud_pingpong, perftest, fi_pingpong.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"
. "${BASH_SOURCE[0]%/*}/lib/stock.sh"

# ---- what the device says of itself ------------------------------------------

# Each is what Documentation/hw/efa.rst promises of every adapter.
test_devinfo()
{
	local part

	devinfo
	read -r part < "/sys/class/infiniband/$self/device/device"
	expect_field hca_id "$self"
	expect_field transport 'unspecified (4)'
	expect_field fw_ver '0.0.0.0'
	expect_field vendor_id '0x1d0f'
	expect_field vendor_part_id "$((part))"
	expect_field phys_port_cnt 1
	expect_field max_srq 0
	expect_field max_pkeys 1
	expect_field atomic_cap 'ATOMIC_NONE (0)'
	expect_field state 'PORT_ACTIVE (4)'
	expect_field max_mtu '4096 (5)'
	expect_field active_mtu '4096 (5)'
	expect_field port_lmc '0x01'
	expect_field link_layer Unspecified
	expect_field 'GID\[  0\]' 'fe80:*'
}

test_devinfo_limits()
{
	local name

	devinfo
	for name in max_qp max_qp_wr max_sge max_cq max_cqe max_mr max_pd max_ah gid_tbl_len; do
		expect_field "$name" '[1-9]*'
	done
	for name in max_mr_size page_size_cap max_msg_sz; do
		expect_field "$name" '0x*[1-9a-f]*'
	done
}

# ---- ibv_ud_pingpong ---------------------------------------------------------

test_ud_pingpong()
{
	pingpong ibv_ud_pingpong -n 100 -s 1024 -c
}

test_ud_pingpong_page()
{
	pingpong ibv_ud_pingpong -n 50 -s 4096 -c
}

test_ud_pingpong_events()
{
	pingpong ibv_ud_pingpong -n 50 -e
}

# ---- perftest ----------------------------------------------------------------

test_send_bw_srd() { perftest ib_send_bw -c SRD -n 200 -s 4096; }
# EFA has no unsignalled sends, which perftest knows of SRD alone
test_send_bw_ud() { perftest ib_send_bw -c UD -n 200 -s 2048 -Q 1; }
test_send_lat_srd() { perftest ib_send_lat -c SRD -n 200 -s 64; }
test_send_lat_ud() { perftest ib_send_lat -c UD -n 200 -s 64; }
test_write_bw_srd() { perftest ib_write_bw -c SRD -n 200 -s 4096; }
test_write_lat_srd() { perftest ib_write_lat -c SRD -n 200 -s 64; }
test_read_bw_srd() { perftest ib_read_bw -c SRD -n 200 -s 4096; }
test_read_lat_srd() { perftest ib_read_lat -c SRD -n 200 -s 64; }
test_send_bw_srd_all_sizes() { perftest ib_send_bw -c SRD -n 20 -a; }
test_send_bw_srd_many_qps() { perftest ib_send_bw -c SRD -n 100 -s 1024 -q 4; }
test_send_bw_srd_events() { perftest ib_send_bw -c SRD -n 100 -s 1024 -e; }
test_send_lat_srd_inline() { perftest ib_send_lat -c SRD -n 200 -s 32 -I 32; }
test_write_bw_srd_megabytes() { perftest ib_write_bw -c SRD -n 20 -s 1048576; }
test_write_bw_srd_both_ways() { perftest ib_write_bw -c SRD -n 100 -s 4096 -b; }
test_write_bw_srd_immediate() { perftest ib_write_bw -c SRD -n 100 -s 4096 --write_with_imm; }
test_read_bw_srd_megabytes() { perftest ib_read_bw -c SRD -n 20 -s 1048576; }

# ---- libfabric ---------------------------------------------------------------

# Two processes of one machine must go through the adapter.
export FI_EFA_ENABLE_SHM_TRANSFER=0

test_fi_info()
{
	need_command fi_info libfabric-bin || return 0
	timeout "$limit" fi_info -p efa > "$work/fi_info" 2>&1 &&
		grep -q "domain: $self-rdm" "$work/fi_info" &&
		grep -q "domain: $self-dgrm" "$work/fi_info" && return
	show fi_info
	fail "fi_info does not show $self"
}

# fi_pingpong ENDPOINT-TYPE DOMAIN-SUFFIX SIZE
fabric_pingpong()
{
	local common=(-p efa -e "$1" -I 50 -S "$3" -c)

	need_command fi_pingpong libfabric-bin || return 0
	duel fi_pingpong "${common[@]}" -d "$peer-$2" -B PORT -- \
		fi_pingpong "${common[@]}" -d "$self-$2" -P PORT
}

test_fi_pingpong_rdm() { fabric_pingpong rdm rdm 64; }
test_fi_pingpong_rdm_page() { fabric_pingpong rdm rdm 4096; }
test_fi_pingpong_dgram() { fabric_pingpong dgram dgrm 64; }
test_fi_pingpong_dgram_page() { fabric_pingpong dgram dgrm 4096; }

test_no_violation()
{
	expect_no_violation
}

need_adapter efa
tap_run "$@"
