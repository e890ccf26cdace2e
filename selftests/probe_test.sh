#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every step of the EFA driver's probe fails once: it ends with the right error, leaves nothing behind
# and the device quiet, and the next attempt succeeds.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"
. "${BASH_SOURCE[0]%/*}/lib/fault.sh"

device=${DVQ_DEV:-efa_0}
driver=/sys/bus/pci/drivers/dvq_efa

need_named
[ -d "/sys/class/infiniband/$device" ] ||
	skip_all "no RDMA device $device: load dvq_efa.ko, or name one in DVQ_DEV"
model_present || skip_all "needs the modelled adapter's control channel: real ones do not fail on request"
pci=$(basename "$(readlink -f "/sys/class/infiniband/$device/device")")
[ -e "$driver/$pci" ] || skip_all "$device is not driven by dvq_efa"
gid=$(cat "/sys/class/infiniband/$device/ports/1/gids/0")
name=$(model_of "$gid")
[ -n "$name" ] || skip_all "the model has no adapter with the GID of $device"

admin_timeout=$(model "$name" get admin_timeout)
admin_timeout=${admin_timeout# }

# Older interfaces and slower answers would do as well, but these are known to work.
features=0x2fe

# What the shell says to the errno of a write.
bind()
{
	{ echo "$pci" > "$driver"/bind; } 2>&1 | sed 's/.*write error: //'
}

# 1 if the device may reach memory
bus_master()
{
	local command

	command=$(od -A n -t u1 -j 4 -N 1 "/sys/bus/pci/devices/$pci/config")
	echo $((command >> 2 & 1))
}

check_quiet()
{
	[ ! -e "/sys/bus/pci/devices/$pci/driver" ] || fail 'the device has a driver'
	[ ! -e "/sys/bus/pci/devices/$pci/infiniband" ] || fail 'the RDMA device is still there'
	! grep -q "efa-.*$pci" /proc/interrupts || fail 'interrupts are still there'
	[ "$(find "/sys/bus/pci/devices/$pci/msi_irqs" 2> /dev/null | wc -l)" = 0 ] ||
		fail 'vectors are still there'
	equal 'bus mastering' "$(bus_master)" 0
}

# A probe that was deferred may have been tried again by itself. A short time limit is for faults, not for this.
recover()
{
	local message=''

	model "$name" inject clear > /dev/null
	model "$name" set admin_timeout="$admin_timeout" > /dev/null
	[ -e "$driver/$pci" ] || message=$(bind)
	[ -d "/sys/bus/pci/devices/$pci/infiniband_verbs" ] || fail "it does not recover: $message"
	equal 'violations' "$(model "$name" violations | awk '{ print $1 }')" 0
}

# refused WANTED-MESSAGE RESETS FAULT...: the fault is a request to the model
refused()
{
	local message=$1 resets=$2 before have reason=3

	# an init error, unless the device was given up before: for a command that it did not answer
	[ "$message" != 'Timer expired' ] || reason=2
	shift 2
	echo "$pci" > "$driver"/unbind || { fail 'unbinding failed'; return; }
	before=$(stat "$name" resets)
	model "$name" "$@" > /dev/null
	have=$(bind)
	[ "$have" = "$message" ] || fail "with '$*': '${have:-success}', wanted '$message'"
	equal "with '$*': resets" "$(($(stat "$name" resets) - before))" "$resets"
	# the second one, after a failure, says that it was one
	[ "$resets" != 2 ] || equal "with '$*': reason" "$(stat "$name" reset_reason)" "$reason"
	check_quiet
}

# bound FAULT...: it is none
bound()
{
	echo "$pci" > "$driver"/unbind || { fail 'unbinding failed'; return; }
	model "$name" "$@" > /dev/null
	equal "the answer to bind with '$*'" "$(bind)" ''
	recover
}

# survives FAULT...: whatever the driver makes of it, it ends, and the device is bound again afterwards
survives()
{
	local before=$SECONDS

	echo "$pci" > "$driver"/unbind || { fail 'unbinding failed'; return; }
	model "$name" "$@" > /dev/null
	bind > /dev/null
	[ $((SECONDS - before)) -lt $((60 * slow)) ] || fail "with '$*' it takes $((SECONDS - before)) s"
	model "$name" back > /dev/null
	model "$name" inject clear > /dev/null
	if [ -e "$driver/$pci" ]; then
		echo "$pci" > "$driver"/unbind || fail "with '$*': unbinding failed"
	fi
	check_quiet
	recover
}

invalid='Invalid argument'
unsupported='Operation not supported'
missing='No such device'
later='Resource temporarily unavailable'
timeout='Connection timed out'

test_f49_registers_not_answered()
{
	refused "$timeout" 0 inject op=reg_read action=drop
	recover
	# the offset in the answer is not that of the question
	refused 'Input/output error' 0 inject op=reg_read action=corrupt
	recover
}

# Those of the reset, of the versions and of the readiness. The two in between watch the reset, which a
# read that fails does not end.
test_f49_each_register()
{
	local n resets

	for n in 1 2 5 6 7; do
		resets=$((n > 2))
		refused "$timeout" "$resets" inject op=reg_read nth="$n" action=drop
		recover
		refused 'Input/output error' "$resets" inject op=reg_read nth="$n" action=corrupt
		recover
		refused "$missing" "$resets" inject op=reg_read nth="$n" action=fail status=0xffffffff
		recover
	done
	# the reset has time for a read that waits in vain, also on a slow system
	model "$name" set reset_timeout=31 > /dev/null
	for n in 3 4; do
		bound inject op=reg_read nth="$n" action=drop
		bound inject op=reg_read nth="$n" action=corrupt
		bound inject op=reg_read nth="$n" action=fail status=0xffffffff
	done
	model "$name" set reset_timeout=10 > /dev/null
}

test_f49_reset()
{
	refused "$invalid" 0 ready 0
	model "$name" ready 1 > /dev/null
	recover
	refused "$invalid" 0 set reset_timeout=0
	model "$name" set reset_timeout=10 > /dev/null
	recover
	refused "$later" 1 reset stuck=off
	model "$name" reset stuck=none > /dev/null
	recover
	refused "$later" 1 reset stuck=on
	model "$name" reset stuck=none > /dev/null
	recover
}

test_f49_versions()
{
	refused "$unsupported" 1 set version=0
	model "$name" set version=2 > /dev/null
	recover
	# the implementation's number is no version
	refused "$unsupported" 1 set ctrl_version=0x01000000
	model "$name" set ctrl_version=0x01000001 > /dev/null
	recover
}

test_f49_dma_width()
{
	local width

	for width in 0 31 65; do
		refused "$invalid" 1 set dma_width="$width"
		model "$name" set dma_width=52 > /dev/null
		recover
	done
}

test_f49_attributes()
{
	refused "$invalid" 2 set api_version=0
	model "$name" set api_version=1 > /dev/null
	recover
	refused "$unsupported" 2 set page_size_cap=0xffffe000
	model "$name" set page_size_cap=0xfffff000 > /dev/null
	recover
}

test_f49_missing_features()
{
	local bit

	for bit in 2 3 4 5; do
		refused "$unsupported" 2 set features=$((features & ~(1 << bit)))
		model "$name" set features="$features" > /dev/null
		recover
	done
}

test_f49_missing_event_groups()
{
	refused "$unsupported" 2 set aenq_groups=0x1c
	model "$name" set aenq_groups=0x1e > /dev/null
	recover
}

test_f49_doorbell_bar()
{
	local bar

	# the upper half of a wide BAR; beyond the last; more than 8 bits
	for bar in 5 6 0x104; do
		refused "$missing" 2 set db_bar="$bar"
		model "$name" set db_bar=4 > /dev/null
		recover
	done
}

test_f49_each_query_refused()
{
	local n

	for n in 1 2 3 4 5 6 7; do
		refused "$invalid" 2 inject op=get_feature nth="$n" action=fail status=5
		recover
	done
	refused "$invalid" 2 inject op=set_feature action=fail status=5
	recover
}

# Nothing depends on the host information, not even that it arrives.
test_f49_host_information_refused()
{
	echo "$pci" > "$driver"/unbind
	model "$name" inject op=set_feature nth=2 action=fail status=5 > /dev/null
	equal 'the answer to bind' "$(bind)" ''
	recover
}

test_f49_each_event_queue_refused()
{
	local n vectors

	vectors=$(grep -c "efa-comp.*$pci" /proc/interrupts)
	[ "$vectors" -gt 0 ] || { skip 'the adapter has no event queues'; return; }
	for ((n = 1; n <= vectors; n++)); do
		refused 'Cannot allocate memory' 2 inject op=create_eq nth="$n" action=fail status=1
		recover
	done
}

# Somebody has forbidden the device interrupts.
test_f49_no_interrupt_vectors()
{
	local msi=/sys/bus/pci/devices/$pci/msi_bus

	echo "$pci" > "$driver"/unbind || { fail 'unbinding failed'; return; }
	echo 0 > "$msi" || fail 'interrupts cannot be forbidden'
	equal 'the answer to bind' "$(bind)" "$invalid"
	check_quiet
	echo 1 > "$msi"
	recover
}

test_f49_query_not_answered()
{
	model "$name" set admin_timeout=2 > /dev/null
	refused 'Timer expired' 2 inject op=get_feature nth=2 action=drop
	recover
	model "$name" set admin_timeout=2 > /dev/null
	refused 'Timer expired' 2 inject op=create_eq nth=1 action=drop
	recover
}

# within MORE LESS COMMAND...: it takes at least MORE seconds and less than LESS
within()
{
	local more=$1 less=$2 before=$SECONDS took

	shift 2
	"$@" > /dev/null 2>&1
	took=$((SECONDS - before))
	if [ "$took" -lt "$more" ] || [ "$took" -ge "$less" ]; then
		fail "'$*' takes $took s, wanted $more to $less s"
	fi
}

rebind()
{
	echo "$pci" > "$driver"/unbind || fail 'unbinding failed'
	equal 'the answer to bind' "$(bind)" ''
}

# What the device advises, in milliseconds each: the time of a command, where else it would be 30 s; of
# looking for an answer without an interrupt, else 0.1 s; of a register read, else 0.5 s.
test_hints()
{
	local before

	model "$name" set admin_timeout=0 admin_hint=2000 > /dev/null
	rebind
	model "$name" inject op=alloc_uar action=drop > /dev/null
	within 1 28 ibv_devinfo -d "$device"
	model "$name" set admin_hint=0 poll_hint=4000 keepalive_ms=0 > /dev/null
	rebind
	sleep 1.5	# a keep-alive may be under way
	model "$name" inject op=admin_irq action=drop > /dev/null
	within 3 $((30 * slow)) ibv_devinfo -d "$device"
	model "$name" set poll_hint=0 keepalive_ms=1000 mmio_hint=3000 > /dev/null
	rebind
	model "$name" inject op=reg_read action=drop > /dev/null
	before=$SECONDS
	echo "$pci" > "$driver"/unbind
	[ $((SECONDS - before)) -ge 2 ] || fail "a register read takes $((SECONDS - before)) s"
	model "$name" set mmio_hint=0 > /dev/null
	recover
}

# The device leaves the bus at each step, and comes back.
test_f49_f79_gone_at_each_step()
{
	local n

	for n in 1 2 3 4 5 6 7; do
		survives inject op=reg_read nth="$n" action=gone
		survives inject op=get_feature nth="$n" action=gone
	done
	survives inject op=set_feature nth=1 action=gone
	survives inject op=set_feature nth=2 action=gone
	survives inject op=create_eq nth=1 action=gone
	survives inject op=create_eq nth=2 action=gone
	survives inject op=get_stats nth=1 action=gone
}

# Each answer is nonsense in turn, with a checksum that is right.
test_lies()
{
	local n lie

	for n in 1 2 3 4 5 6 7 8; do
		for lie in 'fail status=0' 'fail status=255' 'fail status=0x5a' corrupt; do
			model "$name" set admin_timeout=2 > /dev/null
			# shellcheck disable=SC2086
			survives inject op=answer_body nth="$n" action=$lie
		done
	done
}

# Without a single interrupt of the admin queue, which is then polled.
test_no_admin_interrupts()
{
	echo "$pci" > "$driver"/unbind || { fail 'unbinding failed'; return; }
	model "$name" inject op=admin_irq count=1000000 action=drop > /dev/null
	equal 'the answer to bind' "$(bind)" ''
	ibv_devinfo -d "$device" 2> /dev/null | grep -q PORT_ACTIVE || fail 'the device does not work'
	recover
}

# Interrupts without a reason, on all vectors, before there is anything to tell and all the while.
test_interrupts_without_a_reason()
{
	local i vector flood

	for ((i = 0; i < 5; i++)); do
		for vector in 0 1 2 0 1 2 0 1 2 0 1 2; do
			model "$name" irq vector="$vector" count=5 > /dev/null
		done &
		flood=$!
		echo "$pci" > "$driver"/unbind || fail 'unbinding failed'
		[ -z "$(bind)" ] || fail 'it does not come back'
		# before it has ended nobody else may ask the model
		wait "$flood"
		[ "$tap_failed" = 0 ] || break
	done
	recover
}

# Events that come while the device is reset: what is under way then rings a device that knows nothing
# of it. Each round meets the moment or not.
test_let_go_among_events()
{
	local round i flood

	for ((round = 0; round < 20; round++)); do
		for ((i = 0; i < 30; i++)); do model "$name" aenq group=4 count=2 > /dev/null; done &
		flood=$!
		sleep 0.05
		echo "$pci" > "$driver"/unbind || fail 'unbinding failed'
		wait "$flood"
		[ "$tap_failed" = 0 ] || break
		[ -z "$(bind)" ] || { fail 'it does not come back'; break; }
	done
	equal 'violations' "$(model "$name" violations | awk '{ print $1 }')" 0
}

# Speeds that have no pair of lanes and speed per lane, and none at all.
test_f62_link_speed()
{
	local gbps want fastest='1600 Gb/sec (8X XDR)'

	# 6.7 is the first kernel that knows XDR
	case $(uname -r) in
	6.[0-6].*) fastest='800 Gb/sec (8X NDR)' ;;
	esac
	while read -r gbps want; do
		echo "$pci" > "$driver"/unbind || { fail 'unbinding failed'; break; }
		model "$name" set link_gbps="$gbps" > /dev/null
		[ -z "$(bind)" ] || { fail 'it does not come back'; break; }
		equal "rate of $gbps Gb/s" "$(cat "/sys/bus/pci/devices/$pci/infiniband"/*/ports/1/rate)" "$want"
	done <<- END
		65535 $fastest
		0 100 Gb/sec (4X EDR)
		100 100 Gb/sec (4X EDR)
		200 200 Gb/sec (4X HDR)
		400 400 Gb/sec (8X HDR)
		250 200 Gb/sec (4X HDR)
		99 60 Gb/sec (12X DDR)
		29 25 Gb/sec (1X EDR)
		1 25 Gb/sec (1X EDR)
	END
	model "$name" set link_gbps=400 > /dev/null
}

# Nothing depends on the port's counters, which the core asks for when it registers the device.
test_f49_counters_refused()
{
	local n

	for n in 1 2 3 4 5; do
		bound inject op=get_stats nth="$n" action=fail status=1
	done
	grep -q '^[0-9]' "/sys/class/infiniband/$device/ports/1/hw_counters/rx_bytes" ||
		fail 'no counters afterwards'
}

# That is the end of it, so there is nothing to register.
test_f49_counters_not_answered()
{
	echo "$pci" > "$driver"/unbind || fail 'unbinding failed'
	model "$name" inject op=get_stats action=drop > /dev/null
	equal 'the answer to bind' "$(bind)" "$missing"
	check_quiet
	recover
}

# ---- whatever comes next fails ----------------------------------------------------------------------

unbind()
{
	echo "$pci" > "$driver"/unbind || fail 'unbinding failed'
}

probe_fails()
{
	if [ -e "$driver/$pci" ]; then
		[ -d "/sys/bus/pci/devices/$pci/$made" ] || fail "it has a driver, but no $made"
		return 1
	fi
	check_quiet
	none_left "$name" pd uar eq cq qp mr ah
}

test_nth_command_of_any_kind()
{
	local point

	for point in get_feature set_feature create_eq get_stats; do
		walk "$point" 1 5 7
	done
}

test_nth_allocation()
{
	walk_allocations "$pci" "$driver"/bind
}

tap_run "$@"
