# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Programs of the distribution, for tests in shell: what ibv_devinfo says, and a server and a client of
# one program that meet over TCP on this machine. Each has a time limit. Sourced behind adapter.sh.

. "${BASH_SOURCE[0]%/*}/program.sh"

limit=$((60 * slow))	# seconds for one program
tcp_port=18600
server_pid=''

# Only what was started here, by its process id.
clean_up()
{
	[ -z "$server_pid" ] || kill -KILL "$server_pid" 2> /dev/null
	rm -rf "$work"
}
trap clean_up EXIT

# ---- what the device says of itself ------------------------------------------

# expect_field FIELD PATTERN: a line of ibv_devinfo
expect_field()
{
	local value

	value=$(sed -n "s/^[[:space:]]*$1:[[:space:]]*//p" "$work/devinfo" | head -n 1)
	# shellcheck disable=SC2053 # a pattern
	[[ $value = $2 ]] || fail "$1 is '$value', wanted '$2'"
}

devinfo()
{
	timeout "$limit" ibv_devinfo -v -d "$self" > "$work/devinfo" 2>&1 && return
	show devinfo
	fail 'ibv_devinfo failed'
}

# ---- a server and a client ---------------------------------------------------

wait_for_server()
{
	local tries=$((300 * slow))

	until [ -n "$(ss -Hltn "sport = :$tcp_port")" ]; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] && kill -0 "$server_pid" 2> /dev/null || return 1
		sleep 0.1
	done
}

# duel SERVER-COMMAND -- CLIENT-COMMAND: both must end well. PORT in them stands for a TCP port of
# their own; the client's command ends with the server's address.
duel()
{
	local server=() server_status=0 client_status=0

	tcp_port=$((tcp_port + 1))
	while [ "$1" != -- ]; do
		server+=("${1/PORT/$tcp_port}")
		shift
	done
	shift
	timeout "$limit" "${server[@]}" > "$work/server" 2>&1 &
	server_pid=$!
	if wait_for_server; then
		timeout "$limit" "${@/PORT/$tcp_port}" 127.0.0.1 > "$work/client" 2>&1 ||
			client_status=$?
	else
		client_status='never started'
		kill -KILL "$server_pid" 2> /dev/null
	fi
	wait "$server_pid" || server_status=$?
	server_pid=''
	[ "$server_status$client_status" != 00 ] || return 0
	! refused server client || return 0
	show server
	show client
	fail "server: $server_status, client: $client_status (124 is the time limit)"
}

# pingpong PROGRAM ARGUMENTS...
pingpong()
{
	local program=$1

	shift
	need_command "$program" ibverbs-utils || return 0
	duel "$program" -g 0 -d "$peer" -p PORT "$@" -- "$program" -g 0 -d "$self" -p PORT "$@"
}

# perftest PROGRAM ARGUMENTS...
perftest()
{
	local program=$1

	shift
	need_command "$program" perftest || return 0
	duel "$program" -d "$peer" -p PORT -x 0 -F "$@" -- \
		"$program" -d "$self" -p PORT -x 0 -F "$@"
}
