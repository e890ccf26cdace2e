#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An ionic adapter and a kernel that cannot carry its RDMA part: before 6.18 the Ethernet driver makes no
# auxiliary device for it, and some distributions build no Ethernet driver. dvq_ionic is not built there; the
# command says why.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"

dvq=${DVQ_BUILD:+$DVQ_BUILD/tools/}dvq
pci=''
for device in /sys/bus/pci/devices/*; do
	[ "$(cat "$device/vendor" "$device/device" | tr -d '\n')" != 0x1dd80x1002 ] || pci=${device##*/}
done
[ -n "$pci" ] || skip_all 'no ionic adapter'
! modprobe ionic 2> /dev/null || udevadm settle 2> /dev/null || sleep 1
! compgen -G "/sys/bus/pci/devices/$pci/ionic.rdma.*" > /dev/null ||
	skip_all 'the kernel makes an auxiliary device for RDMA'

test_module_is_not_built()
{
	[ -f "$DVQ_BUILD/kernel/dvq.ko" ] || fail 'no modules at all'
	[ ! -e "$DVQ_BUILD/kernel/dvq_ionic.ko" ] || fail 'dvq_ionic was built for a kernel that it cannot work with'
}

test_ethernet_is_there()
{
	modinfo ionic > /dev/null 2>&1 || { skip 'this kernel has no ionic.ko'; return; }
	[ -d "/sys/bus/pci/drivers/ionic/$pci" ] || fail 'ionic has not taken the adapter'
	compgen -G "/sys/bus/pci/devices/$pci/net/*" > /dev/null || fail 'no network interface'
}

test_doctor_names_the_kernel()
{
	local status=0 report

	report=$("$dvq" doctor 2>&1) || status=$?
	equal status "$status" 1
	[[ $report = *"verdict: kernel: "*"Linux $(uname -r) is too old for dvq_ionic: 6.18 is the first"* ]] || {
		fail 'another verdict:'
		printf '#   %s\n' "${report//$'\n'/$'\n#   '}"
	}
	"$dvq" doctor --json 2> /dev/null | python3 -c '
import json, sys
verdict = json.load(sys.stdin)["verdict"]
sys.exit(not (verdict and verdict["layer"] == "kernel" and verdict["advice"]))' ||
		fail 'the verdict of --json is another one'
}

tap_run "$@"
