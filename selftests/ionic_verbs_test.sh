#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The verbs of the kernel, by a user of them that is a module of ours, selftests/kernel/verbs_test.c.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"

need_adapter ionic
module=${DVQ_BUILD:-}/test_modules/verbs_test.ko
[ -f "$module" ] || skip_all "no verbs_test.ko: it is built for guests only (make suite)"
modprobe ib_core
insmod "$module" self="$self" peer="$peer" || bail_out 'the module does not load: is it built for this kernel?'
trap 'rmmod verbs_test' EXIT
results=/sys/kernel/debug/dvq_verbs_test
[ -d $results ] || mount -t debugfs none /sys/kernel/debug

# run NAME: what the module has to say must be nothing, up to the line that it ends with
run()
{
	local line complaints=0 ended=no

	while read -r line; do
		[ "$line" != end ] || { ended=yes; continue; }
		complaints=$((complaints + 1))
		[ "$complaints" -gt 10 ] || fail "$line"
	# by cat, because the shell would go back in the file, which runs the test again
	done < <(cat "$results/$1" 2>&1)
	[ "$ended" = yes ] || fail "$1 did not run to its end"
}

# model_name DEVICE: what the model calls it
model_name()
{
	model_of "$(cat "/sys/class/infiniband/$1/device/net"/*/address)"
}

test_sends() { run sends; }
test_inline_data() { run inline_data; }
test_lists_of_buffers() { run lists_of_buffers; }
test_reads_and_writes() { run reads_and_writes; }

# The peer is so slow to answer that a send without the fence would be the first.
test_fence()
{
	! model_present || model "$(model_name "$peer")" delay ms=20 > /dev/null
	run fence
	! model_present || model "$(model_name "$peer")" delay ms=0 > /dev/null
}

test_atomics() { run atomics; }
test_global_key() { run global_key; }
test_registration() { run registration; }
test_registration_inside_pages() { run registration_inside_pages; }
test_registration_refused() { run registration_refused; }
test_refused_requests() { run refused_requests; }
test_refused_objects() { run refused_objects; }
test_full_queue() { run full_queue; }
test_posting_in_every_state() { run posting_in_every_state; }
test_flush() { run flush; }
test_local_error() { run local_error; }
test_drain() { run drain; }
test_reset() { run reset; }
test_wraps() { run wraps; }
test_arming() { run arming; }
test_both_pipelines() { run both_pipelines; }
test_armed_often() { run armed_often; }
test_worker_of_a_cq_that_goes() { run worker_of_a_cq_that_goes; }
test_datagrams() { run datagrams; }
test_send_queue_error() { run send_queue_error; }
test_flush_that_is_late() { run flush_that_is_late; }

# A completion comes twice: its QP goes to ERR, and its user hears of it.
test_completion_that_makes_no_sense()
{
	model_present || { skip "needs the modelled adapter's control channel"; return; }
	model "$(model_name "$self")" inject op=send_completion action=dup > /dev/null
	run nonsense
	model "$(model_name "$self")" inject clear > /dev/null
	# and only it
	run sends
}

# What says that the queue is flushed comes between the device's change of state and its answer.
test_failed_while_it_opens()
{
	local nth=7 # of the peer's changes: INIT, RTR, RTS, RESET, INIT, RTR, and it

	model_present || { skip "needs the modelled adapter's control channel"; return; }
	[ "$self" != "$peer" ] || nth=14
	model "$(model_name "$peer")" inject op=modify_qp "nth=$nth" action=delay ms=1500 > /dev/null
	run failed_while_it_opens
	model "$(model_name "$peer")" inject clear > /dev/null
	run sends
}

test_broken_while_it_goes()
{
	model_present || { skip "needs the modelled adapter's control channel"; return; }
	model "$(model_name "$self")" inject op=send_completion action=dup > /dev/null
	model "$(model_name "$self")" inject op=destroy_qp action=delay ms=4000 > /dev/null
	run broken_while_it_goes
	model "$(model_name "$self")" inject clear > /dev/null
	run sends
}

# rules_used_up NAME: what was to be spoilt has been
rules_used_up()
{
	[ -z "$(model "$1" inject list | tr -d ' ')" ]
}

# events_while_it_goes NAME: false if the CQ was gone before the adapter told of it
events_while_it_goes()
{
	local before number told=no

	before=" $(model "$1" cqs) "
	model "$1" inject op=destroy_cq action=delay ms=3000 > /dev/null
	{ run event_of_a_cq_that_goes; [ "$tap_failed" = 0 ]; } &
	# the rule is used up when the command has come
	soon 60 rules_used_up "$1" || fail 'no CQ is destroyed'
	for number in $(model "$1" cqs); do
		# in a shell of its own, whose failure counts nowhere: who is slow finds no CQ
		[[ $before == *" $number "* ]] ||
			! (exec {tap_tell}> /dev/null && model "$1" event cq="$number" code=0) > /dev/null 2>&1 || told=yes
	done
	wait $! || fail 'the module complains'
	[ "$told" = yes ]
}

# Events of a CQ come while the adapter is about to destroy it: nobody is told of it any more, as the worker
# that polls it was stopped before.
test_event_of_a_cq_that_goes()
{
	local name tries=10

	model_present || { skip "needs the modelled adapter's control channel"; return; }
	name=$(model_name "$self")
	until events_while_it_goes "$name"; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || { fail 'the adapter told of nothing'; return; }
	done
}

ionic_driver=/sys/bus/auxiliary/drivers/dvq_ionic.rdma

# fails NAME INJECTION...: the adapter is stopped for what was injected; then the driver begins again
fails()
{
	local device pci name=$1

	shift
	pci=$(readlink -f "/sys/class/infiniband/$self/device")
	device=$(basename "$pci"/ionic.rdma.*)
	model "$(model_name "$self")" inject "$@" > /dev/null
	run "$name"
	model "$(model_name "$self")" inject clear > /dev/null
	echo "$device" > "$ionic_driver/unbind"
	echo "$device" > "$ionic_driver/bind"
	soon 10 [ -d "$pci/infiniband/$self" ] || { fail "$self does not come back"; return; }
	port_up "$self"
	run sends
}

# unanswered NAME: an address handle is asked for in atomic context and never answered
unanswered()
{
	fails "$1" op=create_ah action=drop
}

need_dvq_and_model()
{
	model_present || { skip "needs the modelled adapter's control channel"; return 1; }
	[ -d "$ionic_driver" ] || { skip 'for dvq_ionic only'; return 1; }
}

# Everything ends.
test_address_handle_without_answer()
{
	need_dvq_and_model || return 0
	unanswered unanswered
}

# The watchdog comes before the device is stopped, and says nothing of a command that is no longer there.
test_address_handle_without_answer_and_a_late_stop()
{
	local log

	need_dvq_and_model || return 0
	need_kprobes || return 0
	log=$(dmesg | wc -l)
	unanswered unanswered_and_stopped_late
	equal 'commands that are said to be stuck' \
		"$(dmesg | tail -n +$((log + 1)) | grep -c 'no answer to command .* in slot')" 0
}

need_kprobes()
{
	[ ! -d /sys/kernel/debug/kprobes ] || return 0
	skip 'the kernel has no kprobes (CONFIG_KPROBES)'
	return 1
}

# A queue is about to be opened when the adapter dies. The probe takes locks, which a breakpoint must not.
test_queue_opened_after_the_stop()
{
	need_dvq_and_model && need_kprobes || return 0
	[ -e /sys/kernel/debug/tracing/available_filter_functions ] ||
		{ skip 'probes are breakpoints (CONFIG_FUNCTION_TRACER)'; return 0; }
	unanswered opened_too_late
}

# Two queue pairs break, and the second, which is the fourth change of each, cannot be told to the adapter.
test_broken_and_unanswered()
{
	need_dvq_and_model && need_kprobes || return 0
	model "$(model_name "$self")" inject op=send_completion count=2 action=dup > /dev/null
	fails broken_and_unanswered op=modify_qp nth=8 action=drop
}

# Whoever destroys objects may be somebody who frees memory, so nobody he waits for may need some.
test_refused_to_who_frees_memory()
{
	need_dvq_and_model || return 0
	fails refused_to_who_frees_memory op=destroy_cq count=2 action=fail status=3
	equal 'warnings of the workqueues' "$(dmesg | grep -c 'is flushing !WQ_MEM_RECLAIM')" 0
}

test_no_violation()
{
	expect_no_violation
}

tap_run "$@"
