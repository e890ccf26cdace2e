# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The EFA adapters under test, for tests in shell: as lib/adapter.h chooses them. Sourced behind
# tap.sh.
#
# need_adapter sets self and peer, names of RDMA devices: $DVQ_DEV and $DVQ_PEER_DEV, or the first
# two adapters found, or one twice. It skips the program if there is none.

efa_adapters()
{
	local dir vendor

	for dir in /sys/class/infiniband/*; do
		read -r vendor 2> /dev/null < "$dir/device/vendor" || continue
		[ "$vendor" != 0x1d0f ] || echo "${dir##*/}"
	done
}

need_adapter()
{
	local found other

	mapfile -t found < <(efa_adapters)
	self=${DVQ_DEV:-${found[0]:-}}
	[ -n "$self" ] || skip_all 'no EFA adapter: load dvq_efa.ko, or name a device in DVQ_DEV'
	[ -d "/sys/class/infiniband/$self" ] ||
		skip_all "no RDMA device $self: ibv_devices lists them; set DVQ_DEV to one"
	peer=$self
	for other in "${found[@]}"; do
		[ "$peer" != "$self" ] || peer=$other
	done
	peer=${DVQ_PEER_DEV:-$peer}
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
