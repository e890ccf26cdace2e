# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A hardware driver of dvq comes and goes, for tests in shell. Sourced behind tap.sh and adapter.sh.

# need_driver efa|ionic: skips the program unless the driver of these adapters can be unloaded. The rest
# is about that driver.
need_driver()
{
	need_kind "$1"
	driver=dvq_$1
	[ -d "/sys/module/$driver" ] || skip_all "$driver is not loaded"
	[ "$(cat "/sys/module/$driver/refcnt")" = 0 ] ||
		skip_all "$driver is in use: close what uses it"
}

load()
{
	if [ -n "${DVQ_BUILD:-}" ] && [ -f "$DVQ_BUILD/kernel/$driver.ko" ]; then
		[ -d /sys/module/dvq ] || insmod "$DVQ_BUILD/kernel/dvq.ko"
		insmod "$DVQ_BUILD/kernel/$driver.ko"
	else
		modprobe "$driver"
	fi
}

# dvq too, unless another driver needs it
unload()
{
	rmmod "$driver" || return
	[ "$(cat /sys/module/dvq/refcnt)" != 0 ] || rmmod dvq
}

reload()
{
	unload && load
}
