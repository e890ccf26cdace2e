# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What comes next fails, for tests in shell of a driver's probe: an admin command, or, on a kernel that can do
# that, an allocation. Sourced behind tap.sh. The test has set name, the model's of the adapter, and defines
# unbind, bind and recover, and probe_fails: true if there is no driver, and it has looked that nothing is left; else
# that the function's directory has what $made names.

debug=/sys/kernel/debug
made=infiniband_verbs

# walk POINT STATUS...: the first passage of the point fails, the second, and so on, with each status, until
# there is none left
walk()
{
	local point=$1 status n failed

	shift
	# shellcheck disable=SC2154 # name is the test's
	for status; do
		for ((n = 1, failed = 0; ; n++)); do
			unbind
			model "$name" inject op="$point" nth="$n" action=fail status="$status" > /dev/null
			bind > /dev/null
			! probe_fails || failed=$((failed + 1))
			[ -z "$(model "$name" inject list | tr -d ' ')" ] || break
			recover
		done
		recover
		note "probe, $point with $status: $((n - 1)) failure points, $failed end it"
		[ "$n" -gt 1 ] || fail "the probe has no $point"
	done
}

# allocations_can_fail: prepares for it, or sets why_not
allocations_can_fail()
{
	why_not='needs a kernel with CONFIG_FAULT_INJECTION: make check-debug has one'
	[ -e /proc/thread-self/fail-nth ] || return 1
	[ -d $debug/failslab ] || mount -t debugfs debugfs $debug || return 1
	# else only what may not wait fails
	echo N > $debug/failslab/ignore-gfp-wait
	echo N > $debug/fail_page_alloc/ignore-gfp-wait
	echo 0 > $debug/fail_page_alloc/min-order
	# a stack for each would look like a fault in the kernel's log
	echo 0 > $debug/failslab/verbose
	echo 0 > $debug/fail_page_alloc/verbose
	echo 0 > $debug/fail_usercopy/verbose
	# for selftests/vm/klog; an error, so that it is on the console, too
	echo '<3>dvq-test: allocations fail from here on' > /dev/kmsg
}

# fail_nths TEXT FILE: for each N that is read writes TEXT to FILE while the Nth allocation of that fails. Prints 0,
# or what is left of N: there are not as many. One process for all, as Python takes longer to start than a probe.
fail_nths()
{
	python3 -c '
import os, sys

text = sys.argv[1].encode()
nth = os.open("/proc/thread-self/fail-nth", os.O_RDWR)
for line in sys.stdin:
    to = os.open(sys.argv[2], os.O_WRONLY)
    number = line.strip().encode()
    os.write(nth, number)
    try:
        os.write(to, text)
    except OSError:
        pass
    try:
        left = os.pread(nth, 16, 0).decode().strip()
    except OSError:
        left = "1"  # to read is to pass one more, and so is to write
    try:
        os.pwrite(nth, b"0", 0)
    except OSError:
        os.pwrite(nth, b"0", 0)
    os.close(to)
    print(left, flush=True)
' "$@"
}

# walk_allocations DEVICE FILE: each allocation of what writing the device's name to the file does; the task that
# binds carries the faults. The attempt after one that failed is the next one's, which has its own fault further on.
# DVQ_POINTS=FIRST-LAST is a part of them, so that a long walk can be several tests; FIRST- is the rest.
walk_allocations()
{
	# the core passes over a client, such as uverbs, that has no memory for the device
	local n left=1 failed=0 first=1 last='' fewest=20 FAULT FAULT_PID made=infiniband

	allocations_can_fail || { skip "$why_not"; return; }
	[ -z "${DVQ_POINTS:-}" ] || { first=${DVQ_POINTS%-*} last=${DVQ_POINTS#*-}; }
	unbind
	coproc FAULT { fail_nths "$@"; }
	for ((n = first; !last || n <= last; n++)); do
		echo "$n" >&"${FAULT[1]}"
		read -r left <&"${FAULT[0]}" || { fail 'nothing can be made to fail'; break; }
		if probe_fails; then
			failed=$((failed + 1))
		else
			unbind
		fi
		[ "$left" = 0 ] || break
		[ $((n % 50)) != 0 ] || note "$((n - first + 1)) allocations from $first on, $failed end it"
	done
	exec {FAULT[1]}>&-
	wait "$FAULT_PID"
	recover
	note "probe: allocation failure points $first to $((n - 1)), $failed end it$([ "$left" = 0 ] || echo '; there are no more')"
	# None at all are to be believed of the rest only, of which another kernel may have nothing.
	[ -n "$last" ] || [ "$first" = 1 ] || fewest=0
	[ -z "$last" ] || [ $((last - first + 1)) -ge $fewest ] || fewest=$((last - first + 1))
	[ $((n - first)) -ge "$fewest" ] || fail 'these are too few to believe'
}
