#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Another kernel is booted from the running one below traffic: the device is reset before that, so that it
# no longer reaches memory that is the other kernel's, and is found in order by it. Runs twice: in the first
# kernel it boots the second, which starts everything anew, and tells.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"

here=${BASH_SOURCE[0]%/*}
word=dvq.kexec
run=$(sed -n 's/.*dvq\.run=\([^ ]*\).*/\1/p' /proc/cmdline)
resets=${DVQ_OUT:-/nowhere}/resets

model_present || skip_all 'boots another kernel: that is for modelled adapters only'
[ -d "${DVQ_OUT:-/nowhere}" ] || skip_all 'needs a directory that outlives the kernel: run it by selftests/vm/run'
need_adapter any
case $kind in
efa)
	address=$(cat "/sys/class/infiniband/$self/ports/1/gids/0")
	large_writes='rdma_test write_of_64_mib' send='data_test send_by_wr_srd' writes=rdma_write_wrs
	;;
ionic)
	address=$(cat "/sys/class/net/$(netdev_of "$self")/address")
	large_writes='ionic_rdma_test many_megabytes' send='ionic_data_test all_signalled' writes=wqes_write
	;;
esac
name=$(model_of "$address")
[ -n "$name" ] || skip_all "the model has no adapter with the address of $self"

# Large writes in both directions, as fast as they go, for as long as there is a kernel.
traffic()
{
	while :; do
		# shellcheck disable=SC2086 # program and test
		"$DVQ_BUILD"/selftests/$large_writes
	done > /dev/null 2>&1
}

# as the kernel tells, for the channel to the model is the traffic's
has_written()
{
	[ "$(cat "/sys/class/infiniband/$self/ports/1/hw_counters/$writes")" -gt "$1" ]
}

# A rule that does nothing is used up by the second reset of an ionic adapter's RDMA side.
count_resets()
{
	case $kind in
	efa) stat "$name" resets > "$resets" ;;
	ionic) model "$name" inject op=rdma_reset nth=2 action=delay ms=0 > /dev/null ;;
	esac
}

# The timer by which a kernel finds out how fast its clock runs is not as it was at power-on.
clock()
{
	dmesg | awk '/tsc: (Detected|Refined TSC clocksource calibration:) [0-9.]+ MHz/ {
		for (i = 1; i < NF; i++)
			if ($(i + 1) ~ /^MHz/)
				khz = $i * 1000
	}
	END {
		if (khz)
			printf "tsc_early_khz=%d", khz
	}'
}

first_kernel()
{
	[ -r "$run/initrd" ] || skip_all 'has no kernel to boot: run the guest with --append dvq.again; a debug kernel is not packed'
	cp "$run/initrd" "$run/kernel" /run/
	count_resets
	# traffic takes the control channel, and gives it back to nobody
	exec {tap_port}>&-
	written=$(cat "/sys/class/infiniband/$self/ports/1/hw_counters/$writes")
	traffic &
	soon 60 has_written "$written" || fail 'there is no traffic'
	"$here/lib/kexec.py" /run/kernel /run/initrd "$(cat /proc/cmdline) $word $(clock)"
	bail_out 'the kernel does not boot another one'
}

grep -qw $word /proc/cmdline || first_kernel

# One reset by the kernel that ended, one by this one's probe.
test_f54_reset_before_the_next_kernel()
{
	case $kind in
	efa) equal 'resets' "$(($(stat "$name" resets) - $(cat "$resets")))" 2 ;;
	ionic) equal 'resets not done' "$(model "$name" inject list | tr -d ' ')" '' ;;
	esac
	[ "$(stat "$name" wqes_write)" -gt 0 ] || fail 'there was no traffic'
}

test_no_violation() { expect_no_violation; }

# The last one, as the channel to the model is one program's at a time.
test_f54_next_kernel_finds_it_in_order()
{
	local device

	for device in $(adapters_of "$kind"); do
		ibv_devinfo -d "$device" > /dev/null || fail "$device does not work"
	done
	exec {tap_port}>&-
	# shellcheck disable=SC2086 # program and test
	"$DVQ_BUILD"/selftests/$send > "$DVQ_OUT/send.log" || {
		sed 's/^/# /' "$DVQ_OUT/send.log"
		fail 'a send does not arrive'
	}
}

tap_run "$@"
