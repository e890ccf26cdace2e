# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# How much the kernel's memory grows, for tests in shell that do one thing many times. Sourced behind
# tap.sh.

warm_up=10
slab_limit=$((64 * 1024))
slab_tries=5

# Bytes of the kernel's objects, without what the last moments and the allocator's caches hold. Counting
# objects instead of pages leaves out how they happen to lie.
slab()
{
	local cache

	sync
	sleep 1
	echo 3 > /proc/sys/vm/drop_caches
	sleep 1
	for cache in /sys/kernel/slab/*/shrink; do
		echo 1 > "$cache"
	done
	awk 'NR > 2 { sum += $2 * $4 } END { print sum }' /proc/slabinfo
}

# growth ROUNDS COMMAND...: sets grown to the bytes that the kernel's objects grew by in ROUNDS of COMMAND,
# which must succeed, after some that do not count. The caches that grew most are noted.
growth()
{
	local rounds=$1 before round

	shift
	for ((round = 0; round < warm_up; round++)); do
		"$@" || { fail "round $round to warm up failed"; return; }
	done
	before=$(slab)
	awk 'NR > 2 { print $1, $2 * $4 }' /proc/slabinfo | sort > /tmp/dvq-slab.before
	for ((round = 0; round < rounds; round++)); do
		"$@" || { fail "round $round failed"; return; }
	done
	grown=$(($(slab) - before))
	note "the kernel's objects grew by $grown bytes in $rounds rounds"
	awk 'NR > 2 { print $1, $2 * $4 }' /proc/slabinfo | sort | join /tmp/dvq-slab.before - |
		awk '$3 - $2 >= 4096 { print "# " $1 ": " $3 - $2 }' | sort -k 3 -n -r | head -n 6
}

# no_growth ROUNDS OTHERS COMMAND...: fails if the kernel's objects grow by slab_limit more than the OTHERS
# bytes that are not the tested driver's. A leak grows each time. What the system and the allocator happen to
# keep does not (processes that end late, objects a processor has at hand), so what looks too much is measured
# again.
no_growth()
{
	local rounds=$1 others=$2 try

	shift 2
	# That they gave some back, which they had by chance, is no debt of the driver's.
	[ "$others" -ge 0 ] || others=0
	for ((try = 0; try < slab_tries; try++)); do
		growth "$rounds" "$@"
		[ "$others" = 0 ] || note "of which $((grown - others)) bytes are not others'"
		[ $((grown - others)) -ge "$slab_limit" ] || return 0
	done
	fail 'that is too much'
}
