# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Programs of the distribution, for tests in shell: whether they are there, what they said, and what those of
# an older release cannot do. Sourced by stock.sh and pair.sh; what a program says is in a file of $work.

work=$(mktemp -d /tmp/dvq-stock.XXXXXX)

show()
{
	tail -n 15 "$work/$1" | sed "s/^/# $1: /"
}

# false, and the test is skipped, if the program is not installed
need_command()
{
	command -v "$1" > /dev/null && return
	skip "no $1: install $2"
	return 1
}

# refused FILE...: true, and the test is skipped, if a program said there what one of its release does on no
# EFA adapter
refused()
{
	local sentence file

	for file in "${@/#/$work/}"; do
		[ -f "$file" ] || continue
		sentence=$(grep -xoE -m 1 ' *SRD (connection only possible in SEND/READ verbs|does not support events)' \
			"$file" | xargs)
		if [ -z "$sentence" ] && grep -q 'RDMA_Read .*Test' "$file" && grep -q 'ibv_wr\* API *: OFF' "$file"; then
			sentence='reads are posted by ibv_post_send(), by which libefa only sends'
		fi
		[ -n "$sentence" ] || continue
		skip "this perftest is too old: $sentence"
		return
	done
	return 1
}
