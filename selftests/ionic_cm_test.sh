#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The RDMA connection manager of the kernel over ionic: programs of the distribution that connect by
# rdma_cm. The peer's interface is in a network namespace, so that what the two say to each other goes
# over the network.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"
. "${BASH_SOURCE[0]%/*}/lib/stock.sh"

need_adapter ionic
need_leave
[ "$self" != "$peer" ] || skip_all 'needs two adapters: the peer is in another network namespace'
modprobe rdma_ucm 2> /dev/null || skip_all 'no rdma_ucm: the kernel was built without it'
pci=$(basename "$(readlink -f "/sys/class/infiniband/$self/device")")
self_netdev=$(netdev_of "$self") peer_netdev=$(netdev_of "$peer")
there=10.78.0.2 there6=fd00:78::2

# as it was before
restore()
{
	clean_up
	ip netns pids dvq-peer 2> /dev/null | xargs -r kill -KILL
	ip netns del dvq-peer
	ip address del 10.78.0.1/24 dev "$self_netdev"
	ip address del fd00:78::1/64 dev "$self_netdev"
}

ip netns add dvq-peer || skip_all 'cannot make a network namespace'
trap restore EXIT
ip link set "$peer_netdev" netns dvq-peer
ip address add 10.78.0.1/24 dev "$self_netdev"
ip address add fd00:78::1/64 dev "$self_netdev" nodad
ip -n dvq-peer address add "$there/24" dev "$peer_netdev"
ip -n dvq-peer address add "$there6/64" dev "$peer_netdev" nodad
ip -n dvq-peer link set lo up
ip -n dvq-peer link set "$peer_netdev" up

in_peer()
{
	ip netns exec dvq-peer "$@"
}

reaches()
{
	ping -c 1 -W 2 "$there" > /dev/null && ping -c 1 -W 2 "$there6" > /dev/null
}

has_gid()
{
	grep -q "$2" "/sys/class/infiniband/$1/ports/1/gids"/*
}

soon 30 reaches || skip_all 'the two interfaces do not reach each other: are they on one network?'
soon 30 has_gid "$self" ffff:0a4e:0001 || bail_out "$self has no GID for its IPv4 address"
soon 30 has_gid "$peer" ffff:0a4e:0002 || bail_out "$peer has no GID for its IPv4 address"

listens()
{
	rdma resource show cm_id | grep -q 'state LISTEN' || [ ! -d "/proc/$server_pid" ]
}

idle()
{
	! rdma resource show cm_id | grep -qv 'state LISTEN' &&
		! rdma resource show qp | grep -q 'type RC\|type UD'
}

# cm_pair SERVER-COMMAND -- CLIENT-COMMAND: both must end well, and leave nothing behind.
cm_pair()
{
	local server=() server_status=0 client_status=0

	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	need_command "$1" 'rdmacm-utils and perftest' || return 0
	timeout "$limit" ip netns exec dvq-peer "${server[@]}" > "$work/server" 2>&1 &
	server_pid=$!
	soon 20 listens || fail 'the server does not listen'
	timeout "$limit" "$@" > "$work/client" 2>&1 || client_status=$?
	wait "$server_pid" || server_status=$?
	server_pid=''
	if [ "$server_status$client_status" != 00 ]; then
		show server
		show client
		fail "server: $server_status, client: $client_status (124 is the time limit)"
	fi
	soon 20 idle || fail "left behind: $(rdma resource show cm_id; rdma resource show qp)"
}

# what both printed; a program may end well after it has failed
expect_output()
{
	grep -q "$2" "$work/$1" && return
	show "$1"
	fail "the $1 did not print '$2'"
}

# ---- the queue pair of the manager -------------------------------------------

test_there_is_one_gsi()
{
	local line

	line=$(rdma resource show qp link "$self/1" | grep 'type GSI')
	[[ $line == *'lqpn 1 '* && $line == *'state RTS'* ]] || fail "the GSI is '$line'"
	equal 'GSIs' "$(rdma resource show qp link "$self/1" | grep -c 'type GSI')" 1
}

# nobody listens: a rejection is a datagram there and one back
test_rejected()
{
	timeout "$limit" rping -c -a "$there" -p 7999 -C 1 > "$work/client" 2>&1 &&
		fail 'connected to a port that nobody listens on'
	expect_output client REJECTED
	soon 20 idle || fail 'something is left behind'
}

# ---- programs of rdma-core ---------------------------------------------------

rping_pair()
{
	cm_pair rping -s -a "$1" "${@:2}" -- rping -c -a "$1" "${@:2}"
	expect_output client 'ESTABLISHED\|ping data'
}

test_rping() { rping_pair "$there" -v -V -C 20; }
test_rping_ipv6() { rping_pair "$there6" -v -V -C 20; }
test_rping_large() { rping_pair "$there" -v -V -C 5 -S 65000; }
test_rping_own_queue_pair() { rping_pair "$there" -q -v -V -C 10; }

test_send_between_rdma_server_and_client()
{
	cm_pair rdma_server -p 7461 -- rdma_client -s "$there" -p 7461
	expect_output client 'rdma_client: end 0'
	expect_output server 'rdma_server: end 0'
}

test_many_connections()
{
	cm_pair ucmatose -b "$there" -c 20 -C 10 -S 2000 -- ucmatose -s "$there" -c 20 -C 10 -S 2000
	expect_output client 'return status 0'
	expect_output server 'return status 0'
}

test_datagrams()
{
	cm_pair udaddy -b "$there" -c 4 -C 10 -S 1000 -- udaddy -s "$there" -c 4 -C 10 -S 1000
	expect_output client 'return status 0'
	expect_output server 'return status 0'
}

# Not rsockets: rstream makes a thousand transfers of each size, minutes in an emulated guest. By hand,
# "rstream -T b -I 20 -S 5000" ends well on both sides.

# ---- perftest ----------------------------------------------------------------

cm_perftest()
{
	cm_pair "$@" -R -F -n 100 -- "$@" -R -F -n 100 "$there"
}

test_perftest_send() { cm_perftest ib_send_bw -s 5000; }
test_perftest_write() { cm_perftest ib_write_bw -s 65536 -q 2; }
test_perftest_read() { cm_perftest ib_read_lat -s 1000; }
test_perftest_atomic() { cm_perftest ib_atomic_bw; }
test_perftest_datagrams() { cm_perftest ib_send_lat -c UD -s 500; }

# ---- ends --------------------------------------------------------------------

connected()
{
	rdma resource show cm_id | grep -q 'state CONNECT'
}

# one side is killed: the other hears of it
test_disconnect()
{
	timeout "$limit" ip netns exec dvq-peer rping -s -a "$there" -v > "$work/server" 2>&1 &
	server_pid=$!
	soon 20 listens || fail 'the server does not listen'
	rping -c -a "$there" -v > "$work/client" 2>&1 &
	soon 20 connected || fail 'no connection'
	kill -KILL $!
	wait $! 2> /dev/null
	wait "$server_pid"
	[ $? != 124 ] || fail 'the server has not heard that the client is gone'
	server_pid=''
	# the client's memory goes before its connection: a read that is under way may be what the server hears first
	expect_output server 'DISCONNECT EVENT\|cq completion failed status 10'
	soon 30 idle || fail 'something is left behind'
}

# another address of the interface is in the packets at once
test_another_address()
{
	local before

	before=$(cat "/sys/class/net/$self_netdev/address")
	ip link set "$self_netdev" address 02:00:00:00:78:78
	soon 30 reaches || fail 'no answer under another address'
	rping_pair "$there" -v -V -C 3
	ip link set "$self_netdev" address "$before"
	soon 30 reaches || fail 'no answer under the first address'
}

rdma_device()
{
	[ -n "$(ls "/sys/bus/pci/devices/$pci/infiniband" 2> /dev/null)" ]
}

# the driver goes below a connection: the program that has it hears of that, the kernel lets go
test_driver_taken_away()
{
	local driver=/sys/bus/auxiliary/drivers/dvq_ionic.rdma device client

	[ -d "$driver" ] || { skip 'for dvq_ionic only'; return; }
	device=$(basename "/sys/bus/pci/devices/$pci"/ionic.rdma.*)
	timeout "$limit" ip netns exec dvq-peer rping -s -a "$there" -v > "$work/server" 2>&1 &
	server_pid=$!
	soon 20 listens || fail 'the server does not listen'
	timeout "$limit" rping -c -a "$there" -v > "$work/client" 2>&1 &
	client=$!
	soon 20 connected || fail 'no connection'
	timeout 60 bash -c "echo $device > $driver/unbind" || fail 'removal hangs'
	! rdma_device || fail 'the RDMA device is still there'
	soon 30 grep -q 'DEVICE_REMOVAL\|device removal' "$work/client" ||
		fail 'the client has not heard of the removal'
	kill -TERM "$client" "$server_pid" 2> /dev/null
	wait "$client" "$server_pid"
	server_pid=''
	echo "$device" > "$driver"/bind
	soon 20 rdma_device || { fail 'the RDMA device does not come back'; return; }
	self=$(ls "/sys/bus/pci/devices/$pci/infiniband")
	soon 30 has_gid "$self" ffff:0a4e:0001 || fail 'no GID for the IPv4 address'
	rping_pair "$there" -v -V -C 3
}

test_no_violation()
{
	expect_no_violation
}

tap_run "$@"
