#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The distribution's programs over its own libionic on two ionic adapters, whichever driver has them:
# pingpongs and perftest. Link-local GIDs need no address resolution, so one machine is enough.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"

limit=60	# seconds for one program
tcp_port=18700
work=$(mktemp -d /tmp/dvq-ionic.XXXXXX)
server_pid=''

# Only what was started here, by its process id.
clean_up()
{
	[ -z "$server_pid" ] || kill -KILL "$server_pid" 2> /dev/null
	rm -rf "$work"
}
trap clean_up EXIT

mapfile -t devices < <(grep -lx 0x1dd8 /sys/class/infiniband/*/device/vendor 2> /dev/null | cut -d / -f 5)
self=${DVQ_DEV:-${devices[0]:-}}
peer=${DVQ_PEER_DEV:-${devices[1]:-$self}}
[ -n "$self" ] || skip_all 'no ionic RDMA device: load a driver, or name one in DVQ_DEV'

# port_up DEVICE: its netdev is up and has a link-local address, so the first GID is there
port_up()
{
	local path=/sys/class/infiniband/$1 tries=50

	ip link set "$(ls "$path/device/net")" up
	until grep -q '^4:' "$path/ports/1/state" && grep -q '^fe80' "$path/ports/1/gids/0"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || skip_all "the port of $1 does not come up"
		sleep 0.2
	done
}

port_up "$self"
port_up "$peer"

show()
{
	tail -n 8 "$work/$1" | sed "s/^/# $1: /"
}

check_quiet()
{
	! model_present || equal 'violations' "$(model '*' violations | awk '{ print $1 }')" 0
}

# the server takes connections, or has ended
listening()
{
	local tries=200

	until ss -ltnH "sport = :$tcp_port" | grep -q . || ! kill -0 "$server_pid" 2> /dev/null; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return
		sleep 0.1
	done
}

# meet PROGRAM DEVICE-OPTION ARGUMENTS...: a server on the peer, a client here
meet()
{
	local program=$1 port_option=$2

	shift 2
	tcp_port=$((tcp_port + 1))
	command -v "$program" > /dev/null || { skip "no $program"; return; }
	timeout "$limit" "$program" -d "$peer" "$port_option" "$tcp_port" "$@" > "$work/server" 2>&1 &
	server_pid=$!
	listening
	if ! timeout "$limit" "$program" -d "$self" "$port_option" "$tcp_port" "$@" 127.0.0.1 \
		> "$work/client" 2>&1; then
		show client
		show server
		fail "$program $*: the client failed"
	fi
	if ! wait "$server_pid"; then
		show server
		fail "$program $*: the server failed"
	fi
	server_pid=''
	check_quiet
}

pingpong()
{
	meet "$1" -p -g 0 -n 200 "${@:2}"
}

perftest()
{
	meet "$1" -p -x 0 -F -n 200 "${@:2}"
}

test_rc_pingpong()
{
	pingpong ibv_rc_pingpong
}

# -c compares what was received
test_rc_pingpong_checked()
{
	pingpong ibv_rc_pingpong -s 100000 -c
}

test_ud_pingpong()
{
	pingpong ibv_ud_pingpong -s 1000
}

test_send()
{
	perftest ib_send_bw -s 65536
}

test_send_inline()
{
	perftest ib_send_lat -s 32 -I 32
}

test_write()
{
	perftest ib_write_bw -s 100000
}

test_write_many_queues()
{
	perftest ib_write_bw -s 4096 -q 8
}

test_read()
{
	perftest ib_read_bw -s 100000
}

test_fetch_and_add()
{
	perftest ib_atomic_bw -A FETCH_AND_ADD
}

test_compare_and_swap()
{
	perftest ib_atomic_bw -A CMP_AND_SWAP
}

test_datagrams()
{
	perftest ib_send_bw -c UD -s 1000
}

tap_run "$@"
