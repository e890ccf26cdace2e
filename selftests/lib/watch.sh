# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A program that has the adapter under test open, and is told when it loses it. Sourced behind adapter.sh.

# skips the program unless an EFA adapter of dvq_efa may be taken away; $pci is where it is
need_watched()
{
	need_adapter efa
	need_leave
	pci=$(basename "$(readlink -f "/sys/class/infiniband/$self/device")")
	[ -e "/sys/bus/pci/drivers/dvq_efa/$pci" ] || skip_all "$self is not driven by dvq_efa"
}

# watch_start: from here on $watched says what it was told
watch_start()
{
	watched=$(mktemp)
	stdbuf -oL ibv_asyncwatch -d "$self" > "$watched" 2>&1 &
	watcher=$!
	wait_for 'ibv_asyncwatch to begin' grep -q 'async event FD' "$watched"
}

watch_end()
{
	kill "$watcher" 2> /dev/null
	wait "$watcher" 2> /dev/null
	rm -f "$watched"
}

# wait_for WHAT COMMAND...
wait_for()
{
	local what=$1

	shift
	soon 30 "$@" || { fail "waited in vain for $what"; return 1; }
}

# The adapter is there, and carries out a command.
works()
{
	ibv_devinfo -d "$self" 2> /dev/null | grep -q PORT_ACTIVE
}
