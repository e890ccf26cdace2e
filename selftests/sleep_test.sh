#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An EFA adapter in use is put to sleep and woken by its bus, as when the whole system sleeps (after which a guest of the
# lab does not end). A program that has the adapter open is told that it is gone; the driver takes it back by itself.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"
. "${BASH_SOURCE[0]%/*}/lib/watch.sh"

need_watched
module=${DVQ_BUILD:-}/test_modules/sleep_test.ko
[ -e "$module" ] || skip_all 'no sleep_test.ko: it is built for guests only (make suite)'
grep -qw freeze /sys/power/state 2> /dev/null || skip_all 'the kernel does not sleep (CONFIG_SUSPEND)'

sleep_and_wake()
{
	insmod "$module" "device=$pci" || { fail 'it does not sleep'; return; }
	rmmod sleep_test
}

test_sleep()
{
	local round

	for round in 1 2; do
		watch_start
		sleep_and_wake
		# before anybody has asked the adapter for anything
		wait_for 'the event' grep -q FATAL "$watched"
		wait_for 'the adapter' works
		watch_end
		grep -q "efa-mgmnt@pci:$pci" /proc/interrupts || fail "it has no interrupt after sleep $round"
	done
}

# What has no driver sleeps, too.
test_sleep_without_a_driver()
{
	echo "$pci" > /sys/bus/pci/drivers/dvq_efa/unbind || fail 'unbinding failed'
	sleep_and_wake
	echo "$pci" > /sys/bus/pci/drivers/dvq_efa/bind || fail 'binding failed'
	wait_for 'the adapter' works
}

test_no_violation()
{
	expect_no_violation
}

tap_run "$@"
