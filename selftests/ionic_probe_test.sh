#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every step of the ionic driver's probe fails once: it ends with the right error, leaves nothing behind
# and the adapter quiet, and the next attempt succeeds.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"
. "${BASH_SOURCE[0]%/*}/lib/fault.sh"

driver=/sys/bus/auxiliary/drivers/dvq_ionic.rdma

need_adapter ionic
model_present || skip_all "needs the modelled adapter's control channel: real ones do not fail on request"
pci=$(basename "$(readlink -f "/sys/class/infiniband/$self/device")")
[ -d "$driver" ] || skip_all "$self is not driven by dvq_ionic"
mac=$(cat "/sys/class/infiniband/$self/device/net"/*/address)
name=$(model_of "$mac")
[ -n "$name" ] || skip_all "the model has no adapter with the address of $self"

auxiliary()
{
	local device

	for device in "/sys/bus/pci/devices/$pci"/ionic.rdma.*; do
		[ ! -d "$device" ] || echo "${device##*/}"
	done
}

# What the shell says to the errno of a write.
bind()
{
	{ auxiliary > "$driver"/bind; } 2>&1 | sed 's/.*write error: //'
}

unbind()
{
	auxiliary > "$driver"/unbind || fail 'unbinding failed'
}

# the adapter knows nothing of RDMA
check_quiet()
{
	[ ! -e "/sys/bus/pci/devices/$pci/$(auxiliary)/driver" ] || fail 'it has a driver'
	[ -z "$(ls "/sys/bus/pci/devices/$pci/infiniband" 2> /dev/null)" ] ||
		fail 'the RDMA device is still there'
	! grep -q "dvq_ionic-.*$pci" /proc/interrupts || fail 'interrupts are still there'
	none_left "$name" eq cq qp mr ah
}

recover()
{
	local message=''

	model "$name" inject clear > /dev/null
	[ -e "/sys/bus/pci/devices/$pci/$(auxiliary)/driver" ] || message=$(bind)
	[ -n "$(ls "/sys/bus/pci/devices/$pci/infiniband_verbs" 2> /dev/null)" ] ||
		fail "it does not recover: $message"
	equal 'violations' "$(model "$name" violations | awk '{ print $1 }')" 0
}

# refused WANTED-MESSAGE INJECTION...
refused()
{
	local message=$1 have

	shift
	unbind
	model "$name" inject "$@" > /dev/null
	have=$(bind)
	[ "$have" = "$message" ] || fail "with '$*': '${have:-success}', wanted '$message'"
	check_quiet
	recover
}

invalid='Invalid argument'
missing='No such device'

test_no_rdma()
{
	refused 'Operation not supported' op=rdma_reset action=fail status=19
	refused "$invalid" op=rdma_reset action=fail status=14
}

test_f49_each_event_queue_refused()
{
	local n queues

	queues=$(grep -c "dvq_ionic-eq.*$pci" /proc/interrupts)
	[ "$queues" -ge 4 ] || fail "only $queues event queues"
	for ((n = 1; n <= queues; n++)); do
		refused 'No space left on device' op=rdma_create_eq nth="$n" action=fail status=15
	done
}

test_f49_each_admin_queue_refused()
{
	local n

	for n in 1 2 3 4; do
		refused "$invalid" op=rdma_create_cq nth="$n" action=fail status=14
		refused 'Cannot allocate memory' op=rdma_create_aq nth="$n" action=fail status=10
	done
}

test_f49_command_not_answered()
{
	refused 'Connection timed out' op=rdma_create_eq nth=2 action=drop
	refused 'Connection timed out' op=rdma_create_aq nth=1 action=drop
}

# Nothing depends on them.
test_f49_counters_refused()
{
	local op counters

	# the second time the core asks for values, to register the device
	for op in stats_vals stats_hdrs qp_stats_hdrs 'stats_vals nth=2'; do
		unbind
		# shellcheck disable=SC2086 # two words
		model "$name" inject op=$op action=fail status=5 > /dev/null
		equal "the answer to bind with $op" "$(bind)" ''
		recover
	done
	counters=$(echo "/sys/bus/pci/devices/$pci/infiniband"/*/ports/1/hw_counters)
	[ -n "$(ls "$counters")" ] || fail 'no port counters, of which the names were not refused'
	grep -qh '^[0-9]' "$counters"/* || fail 'counters cannot be read afterwards'
}

# That is the end of the RDMA side, so there is nothing to register.
test_f49_counters_not_answered()
{
	local op

	for op in stats_vals stats_hdrs qp_stats_hdrs 'stats_vals nth=2'; do
		# shellcheck disable=SC2086 # two words
		refused "$missing" op=$op action=drop
	done
}

# ---- identities that no driver can use, which ionic.ko reads when it probes ------------------------

# another OPTION=VALUE BACK: probe refuses, ionic.ko does not
another()
{
	model "$name" set "$1" > /dev/null
	echo "$pci" > /sys/bus/pci/drivers/ionic/unbind
	echo "$pci" > /sys/bus/pci/drivers/ionic/bind
	[ -n "$(auxiliary)" ] || fail "with $1: ionic.ko does not probe"
	check_quiet
	model "$name" set "$2" > /dev/null
	echo "$pci" > /sys/bus/pci/drivers/ionic/unbind
	echo "$pci" > /sys/bus/pci/drivers/ionic/bind
	recover
}

test_f49_version()
{
	another rdma_version=3 rdma_version=2
}

test_f49_stride()
{
	another max_stride=5 max_stride=9
}

test_f49_page_table()
{
	another page_table=1 page_table=65536
}

# ---- whatever comes next fails ----------------------------------------------------------------------

probe_fails()
{
	if [ -e "/sys/bus/pci/devices/$pci/$(auxiliary)/driver" ]; then
		[ -n "$(ls "/sys/bus/pci/devices/$pci/$made" 2> /dev/null)" ] || fail "it has a driver, but no $made"
		return 1
	fi
	check_quiet
}

test_nth_command_of_any_kind()
{
	local point

	for point in rdma_reset rdma_create_eq rdma_create_cq rdma_create_aq; do
		walk "$point" 10 14
	done
	for point in stats_vals stats_hdrs qp_stats_hdrs; do
		walk "$point" 1 5
	done
}

test_nth_allocation()
{
	walk_allocations "$(auxiliary)" "$driver"/bind
}

tap_run "$@"
