# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The adapters under test, for tests in shell: as lib/adapter.h chooses them. Sourced behind tap.sh.

# adapter_kind DEVICE: efa, ionic, or nothing
adapter_kind()
{
	local vendor

	read -r vendor 2> /dev/null < "/sys/class/infiniband/$1/device/vendor" || return 0
	case $vendor in
	0x1d0f) echo efa ;;
	0x1dd8) echo ionic ;;
	esac
}

# adapters_of KIND: the names of all RDMA devices of that kind
adapters_of()
{
	local dir

	for dir in /sys/class/infiniband/*; do
		[ "$(adapter_kind "${dir##*/}")" != "$1" ] || echo "${dir##*/}"
	done
}

netdev_of()
{
	local netdev

	for netdev in "/sys/class/infiniband/$1/device/net"/*; do
		echo "${netdev##*/}"
	done
}

# Peers resolve the link-local address, of which the first GID is made, so it must not be tentative.
port_is_up()
{
	local port=/sys/class/infiniband/$1/ports/1

	grep -q '^4:' "$port/state" && grep -q '^fe80' "$port/gids/0" &&
		[ -z "$(ip -6 -o address show dev "$(netdev_of "$1")" tentative)" ]
}

# port_up DEVICE: what an administrator does
port_up()
{
	local tries=$((100 * slow))

	[ "$(adapter_kind "$1")" = ionic ] || return 0
	ip link set "$(netdev_of "$1")" up || bail_out "cannot set the interface of $1 up"
	until port_is_up "$1"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || bail_out "the port of $1 does not come up: is there a cable?"
		sleep 0.1
	done
}

# Without an adapter there is nothing to test, but one that was named should be there.
need_named()
{
	local variable

	for variable in DVQ_DEV DVQ_PEER_DEV; do
		[ -z "${!variable:-}" ] || [ -d "/sys/class/infiniband/${!variable}" ] ||
			bail_out "no RDMA device ${!variable}: ibv_devices lists those there are; set $variable to one"
	done
}

# need_kind efa|ionic: skips the program if $DVQ_DEV names an adapter of the other kind.
need_kind()
{
	need_named
	[ -z "${DVQ_DEV:-}" ] || [ "$(adapter_kind "$DVQ_DEV")" = "$1" ] ||
		skip_all "$DVQ_DEV is no $1 adapter: set DVQ_DEV to one"
}

# need_adapter efa|ionic|any: sets self and peer, names of RDMA devices ($DVQ_DEV and $DVQ_PEER_DEV, or the
# first two adapters found, or one twice), and kind; their ports are up. Without one it skips the program.
need_adapter()
{
	local found other

	need_named
	kind=$1
	[ "$kind" != any ] || kind=$(adapter_kind "${DVQ_DEV:-}")
	mapfile -t found < <(adapters_of "${kind:-efa}")
	[ -n "$kind" ] || [ ${#found[@]} != 0 ] || mapfile -t found < <(adapters_of ionic)
	self=${DVQ_DEV:-${found[0]:-}}
	[ -n "$self" ] ||
		skip_all "no adapter: load dvq_${kind:-efa or dvq_ionic}, or name a device in DVQ_DEV"
	kind=$(adapter_kind "$self")
	[ "$1" = any ] || need_kind "$1"
	peer=$self
	for other in "${found[@]}"; do
		[ "$peer" != "$self" ] || peer=$other
	done
	peer=${DVQ_PEER_DEV:-$peer}
	port_up "$self"
	port_up "$peer"
}

# A test of its own, to be the last one: neither a driver nor a program did what a correct one would
# not.
expect_no_violation()
{
	local answer

	model_present || { skip "needs the modelled adapter's control channel"; return; }
	answer=$(model '*' violations)
	model '*' violations clear > /dev/null
	[ "$answer" = ' 0' ] || fail "the model objects:$answer"
}
