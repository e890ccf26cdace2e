#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A user of RDMA in the kernel: NVMe over Fabrics, both ends of it, over one ionic adapter to itself. A RAM
# disk is written and read through it, which takes fast registrations, remote and local invalidation, RDMA
# reads and writes, and draining; then the adapter goes away below it in every way.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"

need_adapter ionic
need_leave
for module in nvmet_rdma nvme_rdma; do
	modprobe $module 2> /dev/null || skip_all "no $module: the kernel was built without it"
done
[ ! -e /dev/ram0 ] || skip_all '/dev/ram0 is in use: unload brd'
modprobe brd rd_nr=1 rd_size=16384 || skip_all 'no brd: the kernel was built without it'
[ -d /sys/kernel/config/nvmet ] || mount -t configfs none /sys/kernel/config
target=/sys/kernel/config/nvmet
netdev=$(netdev_of "$self")
pci=$(basename "$(readlink -f "/sys/class/infiniband/$self/device")")
work=$(mktemp -d /tmp/dvq-ulp.XXXXXX)
# The target may go before the host, which then waits for its own time-outs: 30 seconds for reads and writes, and 60 for a
# command of its own in between.
NVME_GIVES_UP=150
ulimit -c 0

# ---- the target --------------------------------------------------------------

target_up()
{
	mkdir $target/subsystems/dvq
	echo 1 > $target/subsystems/dvq/attr_allow_any_host
	mkdir $target/subsystems/dvq/namespaces/1
	echo -n /dev/ram0 > $target/subsystems/dvq/namespaces/1/device_path
	echo 1 > $target/subsystems/dvq/namespaces/1/enable
	mkdir $target/ports/78
	echo rdma > $target/ports/78/addr_trtype
	echo ipv4 > $target/ports/78/addr_adrfam
	echo 10.78.0.1 > $target/ports/78/addr_traddr
	echo 4420 > $target/ports/78/addr_trsvcid
	ln -s $target/subsystems/dvq $target/ports/78/subsystems/dvq
}

target_down()
{
	rm -f "$target"/ports/78/subsystems/dvq
	rmdir "$target"/ports/78
	echo 0 > "$target"/subsystems/dvq/namespaces/1/enable
	rmdir "$target"/subsystems/dvq/namespaces/1 "$target"/subsystems/dvq
}

# ---- the host ----------------------------------------------------------------

controller()
{
	local subsystem

	for subsystem in /sys/class/nvme/nvme*/subsysnqn; do
		[ -f "$subsystem" ] || continue
		[ "$(cat "$subsystem")" = dvq ] || continue
		subsystem=${subsystem%/subsysnqn}
		echo "${subsystem##*/}"
	done
}

disk()
{
	local name

	for name in "/sys/class/nvme/$(controller)"/nvme*n1 /sys/class/nvme-subsystem/*/nvme*n1; do
		[ -b "/dev/${name##*/}" ] && echo "/dev/${name##*/}" && return
	done
	return 1
}

connect()
{
	local id=11111111-2222-3333-4444-555555555555

	timeout 60 bash -c "echo '$1,transport=rdma,traddr=10.78.0.1,trsvcid=4420,nqn=dvq,hostid=$id,$(
		)hostnqn=nqn.2014-08.org.nvmexpress:uuid:$id' > /dev/nvme-fabrics" 2> "$work/connect" ||
		{ fail "cannot connect: $(cat "$work/connect")"; return 1; }
	soon 20 disk > /dev/null || { fail 'there is no disk'; return 1; }
}

disconnected()
{
	[ -z "$(controller)" ]
}

disconnect()
{
	echo 1 > "/sys/class/nvme/$(controller)/delete_controller"
	soon 20 disconnected || fail 'the host does not let go'
}

# The last tests may have left it in any state.
restore()
{
	local name

	name=$(controller)
	[ -z "$name" ] || echo 1 > "/sys/class/nvme/$name/delete_controller"
	[ ! -d "$target"/subsystems/dvq ] || target_down
	ip address del 10.78.0.1/24 dev "$netdev" 2> /dev/null
	rmmod brd
	rm -rf "$work"
}
trap restore EXIT

# of queue pairs of the kernel's users
no_queue_pairs()
{
	! rdma resource show qp link "$self/1" | grep -q 'type RC'
}

compare()
{
	local from

	from=$(disk)
	dd if="$work/data" of="$from" bs="$1" oflag=direct 2> "$work/dd" || fail "write: $(cat "$work/dd")"
	# what was written is in the RAM disk, byte for byte
	cmp "$work/data" <(dd if=/dev/ram0 bs=1M count=8 iflag=direct 2> /dev/null) ||
		fail 'something else was written'
	dd if="$from" of="$work/back" bs="$2" count=$((8388608 / $2)) \
		iflag=direct 2> "$work/dd" || fail "read: $(cat "$work/dd")"
	cmp "$work/data" "$work/back" || fail 'something else was read'
}

ip link set lo up
ip address replace 10.78.0.1/24 dev "$netdev"
head -c 8388608 /dev/urandom > "$work/data"
target_up || skip_all 'cannot make a target'

# ---- data --------------------------------------------------------------------

has_gid()
{
	grep -q ffff:0a4e:0001 "/sys/class/infiniband/$self/ports/1/gids"/*
}

pipelines()
{
	rdma resource show qp link "$self/1" | sed -n 's/.* lqpn \([0-9]*\) .*type RC.*/\1/p' |
		awk '{ print int($1 / 8) % 2 }' | sort -u | wc -l
}

test_data()
{
	soon 10 has_gid || fail 'no GID for the IPv4 address'
	connect nr_io_queues=2 || return
	compare 1048576 65536
	compare 4096 8388608
	[ "$(pipelines)" = 2 ] || fail 'not both pipelines are used'
	disconnect
	soon 20 no_queue_pairs || fail 'queue pairs are left'
}

test_what_it_took()
{
	local name local_before reads_before writes_before

	model_present || { skip "needs the modelled adapter's control channel"; return; }
	name=$(model_name)
	local_before=$(stat "$name" wqes_local)
	reads_before=$(stat "$name" wqes_read)
	writes_before=$(stat "$name" wqes_write)
	connect nr_io_queues=1 || return
	compare 1048576 1048576
	disconnect
	# a registration and an invalidation or more for each megabyte either way
	[ $(($(stat "$name" wqes_local) - local_before)) -ge 16 ] || fail 'no fast registrations'
	[ $(($(stat "$name" wqes_read) - reads_before)) -ge 8 ] || fail 'no RDMA reads'
	[ $(($(stat "$name" wqes_write) - writes_before)) -ge 8 ] || fail 'no RDMA writes'
}

test_many_connections()
{
	local i

	for i in 1 2 3 4 5; do
		connect nr_io_queues=4 || return
		disconnect
	done
	soon 20 no_queue_pairs || fail "queue pairs are left after $i times"
}

# ---- ends --------------------------------------------------------------------

model_name()
{
	model_of "$(cat "/sys/class/net/$netdev/address")"
}

busy_pids=()

start_busy()
{
	local to

	connect nr_io_queues=2,ctrl_loss_tmo=0,reconnect_delay=1 || return
	to=$(disk)
	while dd if="$work/data" of="$to" bs=65536 oflag=direct; do :; done > /dev/null 2>&1 &
	busy_pids+=($!)
	while dd if="$to" of=/dev/null bs=65536 iflag=direct; do :; done > /dev/null 2>&1 &
	busy_pids+=($!)
	soon 60 is_busy "$to" || fail 'nobody reads and writes'
}

# is_busy DISK: it has been read and written by more than who looked what is on it
is_busy()
{
	awk '{ exit !($1 > 64 && $5 > 64) }' "/sys/class/block/${1#/dev/}/stat"
}

# both end when their disk is gone
stop_busy()
{
	soon "$NVME_GIVES_UP" disconnected || { fail 'the host does not give up'; disconnect; }
	wait "${busy_pids[@]}"
	busy_pids=()
}

rdma_device()
{
	[ -n "$(ls "/sys/bus/pci/devices/$pci/infiniband" 2> /dev/null)" ]
}

expect_works()
{
	soon 30 rdma_device || { fail 'the RDMA device does not come back'; return; }
	self=$(ls "/sys/bus/pci/devices/$pci/infiniband")
	netdev=$(netdev_of "$self")
	ip address replace 10.78.0.1/24 dev "$netdev"
	port_up "$self"
	soon 10 has_gid || fail 'no GID for the IPv4 address'
	# a listener does not survive its device
	target_down
	target_up
	connect nr_io_queues=2 || return
	compare 1048576 65536
	disconnect
	soon 20 no_queue_pairs || fail 'queue pairs are left'
}

auxiliary_driver=/sys/bus/auxiliary/drivers/dvq_ionic.rdma

test_driver_taken_away()
{
	local device

	[ -d "$auxiliary_driver" ] || { skip 'for dvq_ionic only'; return; }
	device=$(basename "/sys/bus/pci/devices/$pci"/ionic.rdma.*)
	start_busy
	timeout "$NVME_GIVES_UP" bash -c "echo $device > $auxiliary_driver/unbind" || fail 'removal hangs'
	! rdma_device || fail 'the RDMA device is still there'
	stop_busy
	echo "$device" > "$auxiliary_driver"/bind
	expect_works
}

test_firmware_restart()
{
	model_present || { skip "needs the modelled adapter's control channel"; return; }
	start_busy
	model "$(model_name)" fw restart > /dev/null
	stop_busy
	expect_works
}

# an admin command is never answered: the RDMA side fails, and everybody who has it open is flushed
test_failure()
{
	local name

	model_present || { skip "needs the modelled adapter's control channel"; return; }
	[ -d "$auxiliary_driver" ] || { skip 'for dvq_ionic only'; return; }
	name=$(model_name)
	start_busy
	model "$name" inject op=stats_vals action=drop > /dev/null
	cat "/sys/class/infiniband/$self/ports/1/hw_counters/"* > /dev/null 2>&1
	stop_busy
	model "$name" inject clear > /dev/null
	basename "/sys/bus/pci/devices/$pci"/ionic.rdma.* > "$auxiliary_driver"/unbind
	basename "/sys/bus/pci/devices/$pci"/ionic.rdma.* > "$auxiliary_driver"/bind
	expect_works
}

test_no_violation()
{
	expect_no_violation
}

tap_run "$@"
