#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What happens to the adapter while programs use it: its firmware restarts, its cable is pulled, it is
# reset, it disappears, its driver is taken away. Programs may fail then, the kernel may not, and afterwards
# everything works again. Two adapters; the first one suffers.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"
. "${BASH_SOURCE[0]%/*}/lib/stock.sh"

need_adapter ionic
model_present || skip_all "needs the modelled adapter's control channel: real ones do not fail on request"
[ "$self" != "$peer" ] || skip_all 'needs two adapters'
pci=$(basename "$(readlink -f "/sys/class/infiniband/$self/device")")
peer_pci=$(basename "$(readlink -f "/sys/class/infiniband/$peer/device")")
mac=$(cat "/sys/class/infiniband/$self/device/net"/*/address)
name=$(model_of "$mac")

rdma_device()
{
	ls "/sys/bus/pci/devices/$1/infiniband" 2> /dev/null
}

has_rdma_device()
{
	[ -n "$(rdma_device "$1")" ]
}

# the devices may have other names than before
expect_works()
{
	soon 20 has_rdma_device "$pci" || { fail 'the RDMA device does not come back'; return; }
	self=$(rdma_device "$pci")
	peer=$(rdma_device "$peer_pci")
	port_up "$self"
	port_up "$peer"
	pingpong ibv_rc_pingpong -n 20 -s 5000 -c
	equal 'violations' "$(model '*' violations | awk '{ print $1 }')" 0
}

has_no_rdma_device()
{
	[ -z "$(rdma_device "$1")" ]
}

has_written()
{
	[ "$(stat "$name" wqes_write)" -ge "$1" ]
}

traffic_pids=()

# programs of both sides that go on for ever
start_traffic()
{
	local port=$((tcp_port += 2)) n before

	before=$(stat "$name" wqes_write)
	self=$(rdma_device "$pci") peer=$(rdma_device "$peer_pci")
	for n in 0 1; do
		timeout "$limit" ib_write_bw -d "$peer" -x 0 -F -p $((port + n)) --run_infinitely \
			-s 20000 -D 2 > "$work/traffic-server$n" 2>&1 &
		traffic_pids+=($!)
		server_pid=$!
		tcp_port=$((port + n))
		wait_for_server || fail 'the traffic does not start'
		timeout "$limit" ib_write_bw -d "$self" -x 0 -F -p $((port + n)) --run_infinitely \
			-s 20000 -D 2 127.0.0.1 > "$work/traffic-client$n" 2>&1 &
		traffic_pids+=($!)
	done
	server_pid=''
	soon 20 has_written $((before + 100)) || fail 'there is no traffic'
}

stop_traffic()
{
	local pid

	for pid in "${traffic_pids[@]}"; do
		kill -TERM "$pid" 2> /dev/null
		wait "$pid" 2> /dev/null
	done
	traffic_pids=()
}

test_firmware_restart()
{
	local i

	for i in 1 2 3; do
		start_traffic
		model "$name" fw restart > /dev/null
		soon 20 has_no_rdma_device "$pci" || fail 'the restart was not noticed'
		soon 20 has_rdma_device "$pci" || fail 'the RDMA device does not come back'
		stop_traffic
		expect_works
	done
}

test_f79_firmware_death()
{
	start_traffic
	model "$name" fw down > /dev/null
	soon 20 has_no_rdma_device "$pci" || fail 'the death was not noticed'
	stop_traffic
	model "$name" fw up > /dev/null
	expect_works
}

test_link_flaps()
{
	local i

	start_traffic
	for i in 1 2 3 4 5 6 7 8 9 10; do
		model "$name" link down > /dev/null
		sleep 0.05
		model "$name" link up > /dev/null
		sleep 0.05
	done
	stop_traffic
	expect_works
}

test_interface_down()
{
	local i netdev

	netdev=$(netdev_of "$self")
	start_traffic
	for i in 1 2 3; do
		ip link set "$netdev" down
		ip link set "$netdev" up
	done
	stop_traffic
	expect_works
}

test_function_reset()
{
	start_traffic
	echo 1 > "/sys/bus/pci/devices/$pci/reset"
	stop_traffic
	expect_works
}

test_driver_taken_away()
{
	start_traffic
	basename "/sys/bus/pci/devices/$pci"/ionic.rdma.* \
		> /sys/bus/auxiliary/drivers/dvq_ionic.rdma/unbind
	! has_rdma_device "$pci" || fail 'the RDMA device is still there'
	# with programs that still have it open
	echo "$pci" > /sys/bus/pci/drivers/ionic/unbind
	echo "$pci" > /sys/bus/pci/drivers/ionic/bind
	soon 20 has_rdma_device "$pci" || fail 'the RDMA device does not come back'
	stop_traffic
	expect_works
}

test_f79_surprise_removal()
{
	local i

	for i in 1 2; do
		start_traffic
		model "$name" gone > /dev/null
		# at once, or when it has been noticed
		[ "$i" = 1 ] || soon 20 has_no_rdma_device "$pci" || fail 'the loss was not noticed'
		echo 1 > "/sys/bus/pci/devices/$pci/remove"
		model "$name" back > /dev/null
		echo 1 > /sys/bus/pci/rescan
		soon 20 has_rdma_device "$pci" || fail 'it was not found again'
		stop_traffic
		expect_works
	done
}

# a program that only waits, with everything open
test_f79_removal_below_a_sleeper()
{
	self=$(rdma_device "$pci")
	tcp_port=$((tcp_port + 1))
	timeout "$limit" ibv_rc_pingpong -d "$self" -g 0 -p "$tcp_port" > "$work/sleeper" 2>&1 &
	traffic_pids=($!)
	server_pid=$!
	# it has opened everything by then
	wait_for_server || { fail 'the sleeper does not listen'; show sleeper; }
	server_pid=''
	model "$name" gone > /dev/null
	echo 1 > "/sys/bus/pci/devices/$pci/remove"
	model "$name" back > /dev/null
	echo 1 > /sys/bus/pci/rescan
	kill -0 "${traffic_pids[0]}" || fail 'the sleeper has ended'
	stop_traffic
	expect_works
}

tap_run "$@"
