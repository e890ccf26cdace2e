#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The ionic driver comes and goes, alone and with the Ethernet driver below it: each time it leaves nothing
# behind, neither in the system nor in the kernel's memory. What the Ethernet driver leaves by itself is
# measured, too. Unloads modules of the running system, so nobody may be using them.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"
. "${BASH_SOURCE[0]%/*}/lib/driver.sh"
. "${BASH_SOURCE[0]%/*}/lib/slab.sh"

loops=${DVQ_RELOADS:-$((100 / slow))}

need_driver ionic

auxiliary=/sys/bus/auxiliary/drivers/dvq_ionic.rdma

adapters()
{
	find "$auxiliary"/ -name 'ionic.rdma.*' | wc -l
}

adapters=$(adapters)
[ "$adapters" -gt 0 ] || skip_all 'dvq_ionic drives no adapter'

check_loaded()
{
	local device function

	for device in "$auxiliary"/ionic.rdma.*; do
		function=$(readlink -f "$device")/..
		[ -d "$function/infiniband" ] || fail "${device##*/} has no RDMA device"
		# a driver whose uverbs description is wrong registers all the same, only without this
		[ -d "$function/infiniband_verbs" ] || fail "${device##*/} has no uverbs node"
	done
	equal 'adapters' "$(adapters)" "$adapters"
}

check_unloaded()
{
	equal 'RDMA devices' "$(find /sys/class/infiniband -name 'ionic_*' | wc -l)" 0
	equal 'interrupts' "$(grep -c 'dvq_ionic-' /proc/interrupts)" 0
	[ ! -e "$auxiliary" ] || fail 'the auxiliary driver is still there'
}

reload_ethernet()
{
	rmmod ionic && modprobe ionic
}

reload_both()
{
	unload && reload_ethernet && load
}

test_unload_and_load()
{
	check_loaded
	unload || fail 'unloading failed'
	check_unloaded
	load || fail 'loading failed'
	check_loaded
}

test_unload_with_open_file()
{
	unload_with_open_file
}

test_memory_of_many_rounds()
{
	no_growth "$loops" 0 reload
	check_loaded
}

# With the Ethernet driver, whose own growth is not ours.
test_memory_with_ethernet()
{
	model_present || { skip 'takes the network away: that is for modelled adapters only'; return; }
	unload || fail 'unloading failed'
	growth "$loops" reload_ethernet
	load || fail 'loading failed'
	no_growth "$loops" "$grown" reload_both
	check_loaded
}

test_it_still_works()
{
	local device

	for device in /sys/class/infiniband/ionic_*; do
		ibv_devinfo -d "${device##*/}" > /dev/null || fail "${device##*/} does not work"
	done
}

tap_run "$@"
