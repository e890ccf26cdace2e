#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Errors of the bus above an EFA adapter, as the kernel's own aer_inject pretends them: a program that has the
# adapter open is told, and after the kernel has reset the bus the driver takes the adapter back by itself.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"
. "${BASH_SOURCE[0]%/*}/lib/watch.sh"

need_watched
bridge=$(basename "$(dirname "$(readlink -f "/sys/bus/pci/devices/$pci")")")
modprobe aer_inject 2> /dev/null
[ -c /dev/aer_inject ] || skip_all 'the kernel has no aer_inject (CONFIG_PCIEAER_INJECT)'
[ -e "/sys/bus/pci/devices/$bridge/aer_rootport_total_err_fatal" ] ||
	skip_all "$bridge, above the adapter, does not report errors to the kernel"

# inject UNCORRECTABLE CORRECTABLE: what the bridge's error registers shall say. The words of the kernel's
# struct aer_error_inj: bus, device, function; the two registers; the header log; the domain.
inject()
{
	local domain bus slot function

	IFS=:. read -r domain bus slot function <<< "$bridge"
	perl -e 'print pack("C4 L7", hex $ARGV[0], hex $ARGV[1], $ARGV[2], 0, hex $ARGV[3], hex $ARGV[4],
		0, 0, 0, 0, hex $ARGV[5])' "$bus" "$slot" "$function" "$1" "$2" "$domain" > /dev/aer_inject
}

fatal=00000010		# data link protocol error
nonfatal=00001000	# poisoned TLP
bad_tlp=00000040	# correctable

resets()
{
	dmesg | grep -c "$bridge.*device recovery successful"
}

recovered()
{
	[ "$(resets)" -gt "$1" ]
}

unread_registers()
{
	dmesg | grep -c "$pci: reading register"
}

# errors that were corrected, of which the bridge has told the kernel
corrected()
{
	cat "/sys/bus/pci/devices/$bridge/aer_rootport_total_err_cor"
}

has_corrected()
{
	[ "$(corrected)" -gt "$1" ]
}

test_error_that_the_kernel_recovers_from_by_a_reset()
{
	local before

	before=$(resets)
	watch_start
	inject "$fatal" 0
	wait_for 'recovery' recovered "$before"
	wait_for 'the adapter' works
	wait_for 'the event' grep -q FATAL "$watched"
	watch_end
	[ -e "/sys/bus/pci/devices/$pci/driver" ] || fail 'the driver has lost the adapter'
	grep -q "efa-mgmnt@pci:$pci" /proc/interrupts || fail 'it has no interrupt'
}

test_error_without_consequences()
{
	local before

	before=$(resets)
	watch_start
	inject "$nonfatal" 0
	wait_for 'recovery' recovered "$before"
	kill -0 "$watcher" || fail 'the program that had the adapter open is gone'
	! grep -q FATAL "$watched" || fail 'it was told that the adapter is gone'
	before=$(corrected)
	inject 0 "$bad_tlp"
	wait_for 'the corrected error' has_corrected "$before"
	sleep 1
	! grep -q FATAL "$watched" || fail 'it was told that the adapter is gone'
	watch_end
	wait_for 'the adapter' works
}

# The error alone would cost nothing, but another function below the bridge wants the reset, and all get it.
test_reset_that_another_function_wants()
{
	local before mute module=${DVQ_BUILD:-}/test_modules/vote_test.ko

	[ -e "$module" ] || {
		skip 'no vote_test.ko: it is built for guests only (make suite), with kprobes (CONFIG_KPROBES)'
		return
	}
	insmod "$module" || { fail 'cannot be loaded'; return; }
	before=$(resets)
	mute=$(unread_registers)
	watch_start
	inject "$nonfatal" 0
	wait_for 'recovery' recovered "$before"
	# before anybody has asked the adapter for anything
	wait_for 'the event' grep -q FATAL "$watched"
	wait_for 'the adapter' works
	watch_end
	rmmod vote_test || fail 'cannot be unloaded'
	grep -q "efa-mgmnt@pci:$pci" /proc/interrupts || fail 'it has no interrupt'
	[ "$(unread_registers)" = "$mute" ] || fail 'the driver has waited for an adapter that could not answer'
}

# Before, in the middle of or after the recovery, as it happens. Without a driver nobody gives the adapter its
# addresses back, so it is taken out and found anew.
test_adapter_in_error_is_unbound()
{
	inject "$fatal" 0
	echo "$pci" > /sys/bus/pci/drivers/dvq_efa/unbind || fail 'unbinding failed'
	[ ! -e "/sys/bus/pci/devices/$pci/driver" ] || fail 'the adapter has a driver'
	sleep 2
	echo 1 > "/sys/bus/pci/devices/$pci/remove"
	echo 1 > /sys/bus/pci/rescan
	wait_for 'the adapter' works
}

test_no_violation()
{
	expect_no_violation
}

tap_run "$@"
