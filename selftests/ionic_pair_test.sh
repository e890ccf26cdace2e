#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two machines with an ionic adapter each: frames, the pingpongs and perftest. Both run this script.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"
. "${BASH_SOURCE[0]%/*}/lib/pair.sh"
. "${BASH_SOURCE[0]%/*}/lib/ping.sh"

# of the adapters' own link
network=10.88.0

test_ping()
{
	local end=$((SECONDS + limit)) netdev

	netdev=$(netdev_of "$self")
	ip address replace "$network.$((DVQ_GUEST + 1))/24" dev "$netdev"
	# the other side may not have come here yet
	until ping -q -c 1 -W 1 -I "$netdev" "$network.$((2 - DVQ_GUEST))" > /dev/null; do
		[ "$SECONDS" -lt "$end" ] || { fail 'no answer to a ping'; return; }
	done
	each_ping_is_answered 20 -i 0.05 -s 1400 "$network.$((2 - DVQ_GUEST))" || fail 'pings are lost'
}

test_rc_pingpong() { pair ibv_rc_pingpong -g 0 -n 100 -s 5000 -c; }
# by the address of above
test_rc_pingpong_ipv4() { pair ibv_rc_pingpong -g 1 -n 100 -c; }
test_ud_pingpong() { pair ibv_ud_pingpong -g 0 -n 100 -s 1000 -c; }
test_send() { pair ib_send_bw -x 0 -F -n 200 -s 4096; }
test_send_latency() { pair ib_send_lat -x 0 -F -n 200 -s 64; }
test_write() { pair ib_write_bw -x 0 -F -n 200 -s 65536; }
test_write_latency() { pair ib_write_lat -x 0 -F -n 200 -s 64; }
test_read() { pair ib_read_bw -x 0 -F -n 200 -s 65536; }
test_read_latency() { pair ib_read_lat -x 0 -F -n 200 -s 64; }
test_fetch_and_add() { pair ib_atomic_bw -x 0 -F -n 200 -A FETCH_AND_ADD; }
test_compare_and_swap() { pair ib_atomic_lat -x 0 -F -n 200 -A CMP_AND_SWAP; }

need_adapter ionic
need_pair
tap_run "$@"
