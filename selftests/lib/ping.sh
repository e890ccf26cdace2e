# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Pings of which none may be lost, for tests in shell. Sourced behind tap.sh.

# each_ping_is_answered COUNT ARGUMENTS...: however late. ping's own status only says that one was; with -w it goes on
# until as many answers have come as it was asked for, so those to later ones do not count.
each_ping_is_answered()
{
	local count=$1

	shift
	# shellcheck disable=SC2154 # slow is tap.sh's
	LC_ALL=C ping -n -c "$count" -w $((60 * slow)) "$@" | awk -v count="$count" '
	match($0, /icmp_seq=[0-9]+ ttl/) {
		n = substr($0, RSTART + 9, RLENGTH - 13) + 0
		if (n <= count && !seen[n]++)
			answered++
	}
	END {
		exit answered != count
	}'
}
