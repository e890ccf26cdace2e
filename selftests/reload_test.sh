#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The driver comes and goes: each time it leaves nothing behind, neither in the system nor in the kernel's
# memory. Modules that were compiled for another kernel are refused. Unloads the dvq_efa module of the running
# system, so nobody may be using it.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"
. "${BASH_SOURCE[0]%/*}/lib/driver.sh"
. "${BASH_SOURCE[0]%/*}/lib/slab.sh"

loops=${DVQ_RELOADS:-$((100 / slow))}

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
	no_growth "$loops" 0 reload
	check_loaded
}

# The modules as they lie in the build, or as modprobe finds them.
module()
{
	if [ -n "${DVQ_BUILD:-}" ]; then
		echo "$DVQ_BUILD/kernel/$1.ko"
	else
		modinfo -n "$1"
	fi
}

# Nothing of a GPU's driver: its memory comes as a dma-buf, through the RDMA core.
test_f60_needs_only_the_rdma_core()
{
	local name file needs

	for name in dvq dvq_efa dvq_ionic; do
		file=$(module "$name")
		[ -f "$file" ] || continue
		for needs in $(modinfo -F depends "$file" | tr ',' ' '); do
			case $needs in
			ib_core|ib_uverbs|ib_uverbs_support|crc16|dvq) ;;
			ionic) [ "$name" = dvq_ionic ] || fail "$name needs $needs" ;;
			*) fail "$name needs $needs" ;;
			esac
		done
	done
}

test_f89_modules_tell_what_they_are()
{
	local name file field

	for name in dvq dvq_efa dvq_ionic; do
		file=$(module "$name")
		[ -f "$file" ] || continue
		for field in license description version vermagic; do
			[ -n "$(modinfo -F "$field" "$file")" ] || fail "$name has no $field"
		done
	done
	[ ! -f "$file" ] || equal "the namespace of ionic's symbols" "$(modinfo -F import_ns "$file")" NET_IONIC
}

# refused MODULE WHY: loading it fails, the kernel says why in one line and goes on
refused()
{
	local log

	log=$(dmesg | wc -l)
	if insmod "$1" 2> /dev/null; then
		fail "$1 was loaded"
		rmmod "$(basename "$1" .ko)"
	fi
	equal "lines with '$2'" "$(dmesg | tail -n +$((log + 1)) | grep -c "$2")" 1
}

# The headers of another kernel, or of another core that has a function more. A kernel with CONFIG_MODVERSIONS
# (Debian 12, 13) does not compare releases but the checksums of prototypes, which lie before the names.
test_f82_compiled_with_other_headers()
{
	local work built layout

	built=$(module dvq_efa)
	[ "${built%.ko}" != "$built" ] || { skip "changes a module, and $built is compressed"; return; }
	work=$(mktemp -d /tmp/dvq-other.XXXXXX)
	rmmod dvq_efa || fail 'unloading failed'
	sed 's/dvq_mmap_insert/dvq_mmap_absent/g' "$built" > "$work/dvq_efa.ko"
	refused "$work/dvq_efa.ko" 'Unknown symbol dvq_mmap_absent'
	if modprobe --dump-modversions "$built" 2> /dev/null | grep -qw module_layout; then
		layout=$(grep -abo module_layout "$built" | head -n 1 | cut -d : -f 1)
		cp "$built" "$work/dvq_efa.ko"
		head -c 4 /dev/zero | dd of="$work/dvq_efa.ko" bs=1 seek=$((layout - 8)) conv=notrunc status=none
		refused "$work/dvq_efa.ko" 'disagrees about version of symbol module_layout'
	else
		sed "s/vermagic=$(uname -r)/vermagic=$(uname -r | tr 0-9 1-90)/" "$built" > "$work/dvq_efa.ko"
		refused "$work/dvq_efa.ko" 'version magic'
	fi
	rm -rf "$work"
	load || fail 'the right one cannot be loaded'
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
