#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# dvq_ionic reads private structs of ionic.ko, so it refuses an ionic.ko of another build, with one sentence,
# before it reads anything. Other builds are made of the one there is by changing what its type information
# says. Unloads modules of the running system, so nobody may be using them.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"
. "${BASH_SOURCE[0]%/*}/lib/driver.sh"

here=${BASH_SOURCE[0]%/*}

model_present || skip_all 'loads changed Ethernet drivers: that is for modelled adapters only'
need_driver ionic
ionic=$(modinfo -n ionic) || skip_all 'ionic is not a module'
work=$(mktemp -d /tmp/dvq-build.XXXXXX)
trap 'rm -rf "$work"' EXIT
case $ionic in
*.xz) xz -dc "$ionic" > "$work/ionic.ko" ;;
*.zst) zstd -dc "$ionic" > "$work/ionic.ko" ;;
*) cp "$ionic" "$work/ionic.ko" ;;
esac

devices()
{
	find /sys/class/infiniband -name 'ionic_*' | wc -l
}

before=$(devices)
functions=$(find /sys/bus/pci/drivers/ionic/ -name '????:??:??.?' | wc -l)

# refused WHAT-DIFFERS CHANGE...
refused()
{
	local what=$1 since

	shift
	rmmod dvq_ionic || fail 'dvq_ionic cannot be unloaded'
	rmmod ionic || fail 'ionic cannot be unloaded'
	"$here/lib/other_ionic.py" "$work/ionic.ko" "$work/other.ko" "$@" || fail "cannot change $*"
	since=$(dmesg | wc -l)
	if insmod "$work/other.ko"; then
		load || fail 'dvq_ionic cannot be loaded'
	else
		fail 'the other ionic.ko cannot be loaded'
	fi
	equal "with $*: RDMA devices" "$(devices)" 0
	dmesg | tail -n +$((since + 1)) > "$work/messages"
	equal "with $*: sentences" "$(grep -c "is not the one that dvq_ionic was compiled for ($what differs): rebuild" \
		"$work/messages")" "$functions"
	rmmod dvq_ionic ionic
	modprobe ionic
	load
	equal 'RDMA devices of the right one' "$(devices)" "$before"
}

test_struct_of_another_size() { refused 'struct ionic_lif' size ionic_lif; }
test_struct_read_by_value() { refused 'struct ionic_admin_ctx' size ionic_admin_ctx; }
test_member_elsewhere() { refused 'struct ionic_lif' member ionic_lif hw_index; }
test_member_of_another_struct() { refused 'struct ionic_dev' member ionic_dev phy_cmb_pages; }
test_function_missing() { refused 'function ionic_get_cmb' function ionic_get_cmb; }

# What is not read may differ.
test_member_that_does_not_matter()
{
	rmmod dvq_ionic ionic
	"$here/lib/other_ionic.py" "$work/ionic.ko" "$work/other.ko" size ionic_queue
	if insmod "$work/other.ko"; then
		load
	else
		fail 'the other ionic.ko cannot be loaded'
	fi
	equal 'RDMA devices' "$(devices)" "$before"
	rmmod dvq_ionic ionic
	modprobe ionic
	load
}

tap_run "$@"
