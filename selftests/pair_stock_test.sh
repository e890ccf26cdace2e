#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# perftest and ibv_ud_pingpong between two machines with an adapter each. Both run this script;
# DVQ_GUEST is 0 on one, which serves, and 1 on the other; DVQ_PEER is the other's address, as
# selftests/vm/run sets them.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"

limit=90	# seconds for one test; the other side may still be busy with the one before
tcp_port=18700
work=$(mktemp -d /tmp/dvq-pair.XXXXXX)
trap 'rm -rf "$work"' EXIT

# The server may not be there yet: then the client ends at once, and tries again.
client()
{
	local end=$((SECONDS + limit)) status=0

	until timeout "$limit" "$@" "$DVQ_PEER" > "$work/output" 2>&1; do
		status=$?
		[ "$SECONDS" -lt "$end" ] || return "$status"
		sleep 0.5
	done
}

# pair PROGRAM ARGUMENTS...
pair()
{
	local status=0 run=client

	command -v "$1" > /dev/null || { skip "no $1: install perftest and ibverbs-utils"; return; }
	tcp_port=$((tcp_port + 1))
	[ "$DVQ_GUEST" = 1 ] || run="timeout $limit"
	# shellcheck disable=SC2086 # words
	$run "$@" -d "$self" -p $tcp_port > "$work/output" 2>&1 || status=$?
	[ "$status" != 0 ] || return 0
	tail -n 15 "$work/output" | sed 's/^/# /'
	fail "$1 ended with status $status (124 is the time limit)"
}

test_ud_pingpong() { pair ibv_ud_pingpong -g 0 -n 100 -s 1024 -c; }
test_send_lat_ud() { pair ib_send_lat -x 0 -F -c UD -n 200 -s 64; }
test_send_lat_srd() { pair ib_send_lat -x 0 -F -c SRD -n 200 -s 64; }
test_send_bw_srd() { pair ib_send_bw -x 0 -F -c SRD -n 200 -s 4096; }
test_write_bw_srd() { pair ib_write_bw -x 0 -F -c SRD -n 200 -s 65536; }
test_read_bw_srd() { pair ib_read_bw -x 0 -F -c SRD -n 200 -s 65536; }

need_adapter efa
[ -n "${DVQ_PEER:-}" ] ||
	skip_all 'needs a second machine: set DVQ_GUEST to 0 or 1 and DVQ_PEER to its address'
tap_run "$@"
