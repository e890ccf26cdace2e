# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Programs of the distribution between two machines, for tests in shell that both run: DVQ_GUEST is 0 on
# one, which serves, and 1 on the other; DVQ_PEER is the other's address, as selftests/vm/run sets them.
# Sourced behind adapter.sh.

. "${BASH_SOURCE[0]%/*}/program.sh"

limit=$((90 * slow))	# seconds for one test; the other side may still be busy with the one before
tcp_port=18700
trap 'rm -rf "$work"' EXIT

# The server may not be there yet: then the client ends at once, and tries again. When it was and the program
# is too old, it is gone.
client()
{
	local end=$((SECONDS + limit)) status=0

	until timeout "$limit" "$@" "$DVQ_PEER" > "$work/output" 2>&1; do
		status=$?
		[ "$SECONDS" -lt "$end" ] || return "$status"
		! refused output || return "$status"
		sleep 0.5
	done
}

# pair PROGRAM ARGUMENTS...
pair()
{
	local status=0 run=client

	need_command "$1" 'perftest and ibverbs-utils' || return 0
	tcp_port=$((tcp_port + 1))
	[ "$DVQ_GUEST" = 1 ] || run="timeout $limit"
	# shellcheck disable=SC2086 # words
	$run "$@" -d "$self" -p $tcp_port > "$work/output" 2>&1 || status=$?
	[ "$status" != 0 ] || return 0
	! refused output || return 0
	show output
	fail "$1 ended with status $status (124 is the time limit)"
}

# behind need_adapter
need_pair()
{
	[ -n "${DVQ_PEER:-}${DVQ_GUEST:-}" ] ||
		skip_all 'needs a second machine: set DVQ_GUEST to 0 or 1 and DVQ_PEER to its address'
	case "${DVQ_GUEST:-}" in
	0|1) ;;
	*) bail_out "DVQ_GUEST must be 0 on one machine and 1 on the other, not '${DVQ_GUEST:-}'" ;;
	esac
	[[ ${DVQ_PEER:-} =~ ^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$ ]] ||
		bail_out "DVQ_PEER must be the other machine's IPv4 address, not '${DVQ_PEER:-}'"
}
