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

# sets opened to the number of a file: the first adapter's
open_adapter()
{
	local node name

	for node in /sys/class/infiniband_verbs/uverbs*; do
		[ -f "$node/ibdev" ] || continue
		read -r name < "$node/ibdev"
		[ "$(adapter_kind "$name")" = "${driver#dvq_}" ] || continue
		exec {opened}<> "/dev/infiniband/${node##*/}"
		return
	done
	return 1
}

# A test: a file that is open does not keep the driver, and can be closed when it has gone. check_loaded and
# check_unloaded are the caller's.
unload_with_open_file()
{
	local opened

	open_adapter || { fail 'no file to open'; return; }
	unload || fail 'an open file keeps the driver'
	check_unloaded
	exec {opened}>&-
	open_adapter && fail 'the file is there without the driver'
	load || fail 'loading failed'
	check_loaded
	# closed when the driver has come back meanwhile
	open_adapter || fail 'no file to open'
	reload || fail 'reloading failed'
	exec {opened}>&-
	check_loaded
}
