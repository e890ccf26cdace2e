#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The driver comes and goes: each time it leaves nothing behind, neither in the system nor in the kernel's
# memory. Unloads the dvq_efa module of the running system, so nobody may be using it.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"
. "${BASH_SOURCE[0]%/*}/lib/driver.sh"
. "${BASH_SOURCE[0]%/*}/lib/slab.sh"

loops=${DVQ_RELOADS:-100}

need_driver efa

adapters()
{
	find /sys/bus/pci/drivers/dvq_efa/ -name '????:??:??.?' | wc -l
}

adapters=$(adapters)
[ "$adapters" -gt 0 ] || skip_all 'dvq_efa drives no adapter'

check_loaded()
{
	local device

	for device in /sys/bus/pci/drivers/dvq_efa/????:??:??.?; do
		[ -d "$device/infiniband" ] || fail "${device##*/} has no RDMA device"
		# a driver whose uverbs description is wrong registers all the same, only without this
		[ -d "$device/infiniband_verbs" ] || fail "${device##*/} has no uverbs node"
	done
	equal 'adapters' "$(adapters)" "$adapters"
}

check_unloaded()
{
	equal 'RDMA devices' "$(find /sys/class/infiniband -name 'efa_*' | wc -l)" 0
	equal 'interrupts' "$(grep -c 'efa-' /proc/interrupts)" 0
	[ ! -e /sys/bus/pci/drivers/dvq_efa ] || fail 'the PCI driver is still there'
	equal 'regions' "$(grep -c dvq_efa /proc/iomem)" 0
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
	growth "$loops" reload
	[ "$grown" -lt "$slab_limit" ] || fail 'that is too much'
	check_loaded
}

test_it_still_works()
{
	local device

	for device in /sys/class/infiniband/efa_*; do
		ibv_devinfo -d "${device##*/}" > /dev/null || fail "${device##*/} does not work"
	done
}

tap_run "$@"
