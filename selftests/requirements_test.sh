#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The commands of Documentation/requirements.rst, on the adapters of this machine: each ends well and says
# something.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"

page=${BASH_SOURCE[0]%/*}/../Documentation/requirements.rst
[ -z "${DVQ_BUILD-}" ] || PATH=$DVQ_BUILD/tools:$PATH
[ -f "$page" ] || skip_all "the source tree is not there: no Documentation/requirements.rst"
command -v dvq > /dev/null || skip_all "needs the command dvq: build it, or name the build directory in DVQ_BUILD"
[ -e /sys/module/dvq ] || skip_all "needs an adapter that dvq drives (modprobe dvq_efa or dvq_ionic)"

# the commands below the heading that begins with $1
commands()
{
	awk -v heading="$1" '
		/^====+$/ { if (last ~ "^" heading) inside = 1; else if (last != "") inside = 0 }
		inside && /^    \$ / { print substr($0, 7) }
		{ last = $0 }' "$page"
}

# run_section HEADING DEVICE
run_section()
{
	local command count=0

	while read -r command; do
		count=$((count + 1))
		note "$command"
		bash -c "${command//DEV/$2}" > "$work" 2>&1 || fail "status $?: $(cat "$work")"
		[ -s "$work" ] || fail 'it says nothing'
	done < <(commands "$1")
	[ "$count" -ge 2 ] || fail "the page has $count commands below '$1'"
}

# of_kind KIND: an adapter that dvq drives; or skips
of_kind()
{
	local device driver

	for device in $(adapters_of "$1"); do
		driver=$(readlink "/sys/class/infiniband/$device/device/driver/module")
		[ "${driver##*/}" != "ionic" ] || driver=$([ -e "/sys/class/infiniband/$device/sq_placement" ] && echo dvq_ionic)
		case ${driver##*/} in
		dvq*) echo "$device"; return ;;
		esac
	done
}

test_f93_any_adapter()
{
	run_section 'Any adapter' ''
}

test_f93_efa()
{
	local device

	device=$(of_kind efa)
	[ -n "$device" ] || { skip 'needs an EFA adapter that dvq_efa drives'; return; }
	run_section 'EFA: posting oneself' "$device"
}

test_f93_ionic()
{
	local device

	device=$(of_kind ionic)
	[ -n "$device" ] || { skip 'needs an ionic adapter that dvq_ionic drives'; return; }
	run_section 'ionic: queues in controller memory' "$device"
}

work=$(mktemp)
trap 'rm -f "$work"' EXIT
tap_run "$@"
