#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# dvq doctor names the layer that is at fault: nothing is, then one after the other is made to be. The command
# is $DVQ_BUILD/tools/dvq, or else the one in the path. For modelled adapters only: drivers are unloaded, and
# files of the system are covered by others.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"
. "${BASH_SOURCE[0]%/*}/lib/driver.sh"

need_adapter any
model_present || skip_all "needs the modelled adapter's control channel: it breaks the machine's set-up"
dvq=${DVQ_BUILD:+$DVQ_BUILD/tools/}dvq
command -v "$dvq" > /dev/null || skip_all 'needs the command dvq: build it, or name the build directory in DVQ_BUILD'
pci=$(basename "$(readlink -f "/sys/class/infiniband/$self/device")")
uverbs=$(basename /sys/bus/pci/devices/"$pci"/infiniband_verbs/uverbs*)
driver=dvq_$kind

need_dvq()
{
	[ -d "/sys/module/$driver" ] && return
	skip "needs $driver"
	return 1
}

# as_nobody KIB COMMAND...: as somebody who has no privileges and may lock so much memory
as_nobody()
{
	local kib=$1

	shift
	(ulimit -l "$kib" && exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
		--bounding-set=-all "$@")
}

# names LAYER TEXT [COMMAND...]: the verdict, in both forms, with a piece of advice
names()
{
	local layer=$1 text=$2 status=0 report

	shift 2
	report=$("$@" "$dvq" doctor 2> /dev/null) || status=$?
	equal 'status' "$status" 1
	[[ $report = *"verdict: $layer: "*"$text"*$'\n''what to do: '?* ]] || {
		fail "no verdict on '$layer' with '$text':"
		printf '#   %s\n' "${report//$'\n'/$'\n#   '}"
	}
	"$@" "$dvq" doctor --json 2> /dev/null | python3 -c '
import json, sys
verdict = json.load(sys.stdin)["verdict"]
sys.exit(not (verdict and verdict["layer"] == sys.argv[1] and sys.argv[2] in verdict["text"] and verdict["advice"]))
' "$layer" "$text" || fail 'the verdict of --json is another one'
}

expect_health()
{
	local status=0 report

	report=$("$dvq" doctor) || status=$?
	equal 'status' "$status" 0
	[[ $report = *'verdict: everything is as it should be' ]] || {
		fail 'the adapter is well and the doctor is not content:'
		printf '#   %s\n' "${report//$'\n'/$'\n#   '}"
	}
}

# cover PATH [WITH]: the file or directory, by an empty one or WITH; until uncover
cover()
{
	local empty

	if [ $# = 2 ]; then
		mount --bind "$2" "$1"
	elif [ -d "$1" ]; then
		empty=$(mktemp -d)
		mount --bind "$empty" "$1"
	else
		mount --bind /dev/null "$1"
	fi
}

uncover()
{
	umount "$1"
}

test_all_is_well()
{
	local layers

	need_dvq || return 0
	expect_health
	layers=$("$dvq" doctor --json | python3 -c '
import json, sys
print(*[f["layer"] for f in json.load(sys.stdin)["findings"] if f["subject"] == sys.argv[1]])' "$pci")
	equal 'the layers looked at' "${layers/ethernet /}" \
		'adapter kernel module driver uverbs abi provider device methods'
}

test_wrong_usage()
{
	local status=0

	"$dvq" doctor --jsno 2> /dev/null || status=$?
	equal 'status' "$status" 2
}

test_module_not_installed()
{
	need_dvq || return 0
	[ -f "${DVQ_BUILD:-}/kernel/$driver.ko" ] || { skip 'the module is installed on this machine'; return; }
	unload || { fail 'cannot unload the driver'; return; }
	names module "$driver is not installed"
	load
	expect_again
}

# advises TEXT: what the verdict says to do has TEXT
advises()
{
	[[ $("$dvq" doctor 2> /dev/null) = *$'\n''what to do: '*"$1"* ]] || fail "no advice with '$1'"
}

# DKMS can only build what somebody has given it, and dvq_ionic not for every kernel.
test_module_and_its_sources()
{
	local package=dvq-dkms sources=/usr/src/dvq-0.0.0

	need_dvq || return 0
	[ "$kind" = efa ] || { package=dvq-ionic-dkms sources=/usr/src/dvq-ionic-0.0.0; }
	! compgen -G "/usr/src/dvq-*" > /dev/null || { skip 'sources are installed on this machine'; return; }
	[ -f "${DVQ_BUILD:-}/kernel/$driver.ko" ] || { skip 'the module is installed on this machine'; return; }
	unload || { fail 'cannot unload the driver'; return; }
	advises "$package"
	mkdir -p "$sources/kernel/ionic"
	: > "$sources/dkms.conf"
	advises 'dkms autoinstall'
	if [ "$kind" = ionic ] && [ -e "/lib/modules/$(uname -r)/build/Makefile" ]; then
		# shellcheck disable=SC2016 # the script's own argument
		echo 'echo "for $2 it cannot be, and this is why"' > "$sources/kernel/ionic/ethernet.sh"
		names module "cannot be built for this kernel: for $(uname -r) it cannot be, and this is why"
	fi
	rm -r "$sources"
	load
	expect_again
}

test_f82_module_of_another_kernel()
{
	local dir=/lib/modules/6.0.0-other/updates/dkms

	need_dvq || return 0
	[ -f "${DVQ_BUILD:-}/kernel/$driver.ko" ] || { skip 'the module is installed on this machine'; return; }
	unload || { fail 'cannot unload the driver'; return; }
	mkdir -p "$dir"
	: > "$dir/$driver.ko.xz"
	names module "$driver is built for 6.0.0-other, not for this kernel, $(uname -r)"
	rm -r "${dir%/updates/dkms}"
	load
	expect_again
}

test_module_not_loaded()
{
	local list dep

	need_dvq || return 0
	list=/lib/modules/$(uname -r)/modules.dep
	dep=$(mktemp)
	(cat "$list" && echo "updates/$driver.ko: updates/dvq.ko") > "$dep"
	unload || { fail 'cannot unload the driver'; return; }
	cover "$list" "$dep"
	names module "$driver is installed, but not loaded"
	uncover "$list"
	load
	expect_again
}

# install_other MODULE [FIELD VALUE]: a module of the build, with VALUE in place of as many bytes of that field, into
# the directory $modules.
install_other()
{
	mkdir -p "$modules/updates"
	cp "$DVQ_BUILD/kernel/$1.ko" "$modules/updates"
	[ $# = 1 ] || python3 - "$2" "$3" "$modules/updates/$1.ko" << 'END' || fail "$1 cannot be made another one"
import re, sys
_, field, value, path = sys.argv
data = open(path, 'rb').read()
# in .modinfo, where each field ends with a zero and none is part of another's name
data, n = re.subn(rb'(?<![a-z])%b=[^\0]{%d}' % (field.encode(), len(value)), f'{field}={value}'.encode(), data, count=1)
open(path, 'wb').write(data)
sys.exit(n != 1)
END
	depmod "$(uname -r)" 2> /dev/null
}

# says STATE TEXT [ADVICE]: the module's line, in both forms. The adapter works, so there is nothing to blame.
says()
{
	local status=0 report

	report=$("$dvq" doctor) || status=$?
	equal 'status' "$status" 0
	[[ $report$'\n' = *"module    $1"*" $pci: $2${3:+: $3}"$'\n'*'verdict: everything is as it should be'$'\n' ]] || {
		fail "no line of the module with '$1', '$2' and '${3:-}':"
		printf '#   %s\n' "${report//$'\n'/$'\n#   '}"
	}
	"$dvq" doctor --json | python3 -c '
import json, sys
report = json.load(sys.stdin)
_, pci, state, text, advice = sys.argv
line, = [f for f in report["findings"] if f["layer"] == "module" and f["subject"] == pci]
sys.exit(report["verdict"] is not None or (line["state"], line["text"], line["advice"]) != (state, text, advice))
' "$pci" "$1" "$2" "${3:-}" || fail 'the line of --json is another one'
}

# What was loaded before an upgrade stays; the one on the disk may have another version, or other sources only.
test_module_older_than_installed()
{
	local modules version other reload

	need_dvq || return 0
	[ -f "${DVQ_BUILD:-}/kernel/$driver.ko" ] || { skip 'the module is installed on this machine'; return; }
	modules=/lib/modules/$(uname -r)
	version=$(cat "/sys/module/$driver/version")
	other=9${version:1}
	reload="rmmod $driver dvq && modprobe $driver"
	[ ! -d /sys/module/dvq_efa ] || [ ! -d /sys/module/dvq_ionic ] ||
		reload='rmmod dvq_efa dvq_ionic dvq && modprobe -a dvq_efa dvq_ionic'
	reload="reboot, or stop what uses the adapters, then $reload"
	# nothing but such modules is installed for this kernel meanwhile
	cover "$modules"
	install_other dvq
	install_other "$driver"
	says ok "$driver $version is loaded"
	install_other "$driver" version "$other"
	says note "$driver $version is loaded, $other is installed" "$reload"
	install_other "$driver" srcversion 0000
	says note "$driver $version is loaded, another build of it is installed" "$reload"
	install_other "$driver"
	install_other dvq version "$other"
	says note "dvq $version is loaded, $other is installed" "$reload"
	uncover "$modules"
	expect_health
}

# after the driver has come again
expect_again()
{
	soon 10 test -d "/sys/bus/pci/devices/$pci/infiniband"
	for self in /sys/bus/pci/devices/*/infiniband/*; do
		port_up "${self##*/}"
	done
	self=$(ls "/sys/bus/pci/devices/$pci/infiniband")
	uverbs=$(basename /sys/bus/pci/devices/"$pci"/infiniband_verbs/uverbs*)
	expect_health
}

bus_device()
{
	if [ "$kind" = efa ]; then
		echo "/sys/bus/pci/drivers/$driver $pci"
	else
		echo "/sys/bus/auxiliary/drivers/$driver.rdma $(basename "/sys/bus/pci/devices/$pci"/ionic.rdma.*)"
	fi
}

test_no_driver()
{
	local dir device

	need_dvq || return 0
	read -r dir device < <(bus_device)
	echo "$device" > "$dir/unbind"
	names driver 'no driver has taken'
	echo "$device" > "$dir/bind"
	expect_again
}

test_another_driver()
{
	[ "$kind" = efa ] || { skip 'there is no other driver for an auxiliary device'; return; }
	modprobe pci-stub 2> /dev/null || { skip 'the kernel has no pci-stub'; return; }
	need_dvq || return 0
	echo "$pci" > "/sys/bus/pci/drivers/$driver/unbind"
	echo pci-stub > "/sys/bus/pci/devices/$pci/driver_override"
	echo "$pci" > /sys/bus/pci/drivers_probe
	names driver 'another driver, pci-stub, has it'
	echo "$pci" > /sys/bus/pci/drivers/pci-stub/unbind
	echo > "/sys/bus/pci/devices/$pci/driver_override"
	echo "$pci" > "/sys/bus/pci/drivers/$driver/bind"
	expect_again
}

test_in_tree_driver()
{
	[ ! -d "/sys/module/$driver" ] || { skip "needs the kernel's own driver (make check-oracle)"; return; }
	names driver "the kernel's own driver"
	# before there is a module the adapter stays with whom it has
	[[ $("$dvq" doctor) = *'what to do: '*"build $driver for this kernel"*", and then rmmod "* ]] ||
		fail "the advice is not to build $driver first"
}

test_no_permission()
{
	local node=/dev/infiniband/$uverbs

	need_dvq || return 0
	chmod 600 "$node"
	names uverbs "no permission to open $node" as_nobody unlimited
	chmod 666 "$node"
	expect_health
}

test_no_node()
{
	local node=/dev/infiniband/$uverbs

	need_dvq || return 0
	mv "$node" "$node.away"
	names uverbs "$node cannot be opened"
	mv "$node.away" "$node"
	expect_health
}

test_f84_another_abi()
{
	local file=/sys/bus/pci/devices/$pci/infiniband_verbs/$uverbs/abi_version other

	need_dvq || return 0
	other=$(mktemp)
	echo 4 > "$other"
	cover "$file" "$other"
	names abi 'version 4'
	uncover "$file"
	expect_health
}

providers=$(dirname "$(find /usr/lib /usr/lib64 -name "lib$kind-rdmav*.so" 2> /dev/null | head -n 1)")

test_no_providers()
{
	need_dvq || return 0
	cover "$providers"
	names provider "there is no lib$kind in"
	uncover "$providers"
	expect_health
}

test_provider_not_configured()
{
	local file=/etc/libibverbs.d/$kind.driver

	need_dvq || return 0
	# whatever its name is, libibverbs would read it there
	mv "$file" "/tmp/$kind.driver"
	names provider "$file is missing"
	mv "/tmp/$kind.driver" "$file"
	expect_health
}

test_provider_that_is_none()
{
	local file target

	need_dvq || return 0
	file=$(find "$providers" -name "lib$kind-rdmav*.so")
	target=$(readlink -f "$file")
	cover "$target"
	names provider 'cannot be loaded'
	uncover "$target"
	expect_health
}

# the model's name of the adapter, which is told by its address
name=$(model '*' list | tr ';' '\n' | python3 -c '
import ipaddress, sys
def same(a, b):
    try:
        return ipaddress.ip_address(a) == ipaddress.ip_address(b)
    except ValueError:
        return a == b
print(*[line.split()[0] for line in sys.stdin if same(line.split()[2], sys.argv[1])])' \
	"$(cat "/sys/bus/pci/devices/$pci"/net/*/address 2> /dev/null ||
		cat "/sys/class/infiniband/$self/ports/1/gids/0")")

test_gone()
{
	model "$name" gone > /dev/null
	names adapter 'does not answer on the PCI bus'
	echo 1 > "/sys/bus/pci/devices/$pci/remove"
	model "$name" back > /dev/null
	echo 1 > /sys/bus/pci/rescan
	expect_again
}

# Takes as long as the adapter is given to answer (an EFA model's option admin_timeout). What the doctor says then is done,
# and of an ionic leaves the network alone.
test_device_does_not_answer()
{
	local netdev='' before='' advice

	need_dvq || return 0
	[ "$kind" = efa ] || { netdev=$(netdev_of "$self"); before=$(cat "/sys/class/net/$netdev/ifindex"); }
	model "$name" inject "op=$([ "$kind" = efa ] && echo '*' || echo create_cq)" count=1000 action=drop > /dev/null
	names device 'does not answer'
	model "$name" inject clear > /dev/null
	advice=$("$dvq" doctor 2> /dev/null | sed -n 's/^what to do: .*; bind it again: //p')
	[ -n "$advice" ] || fail 'it is not said how to bind it again'
	(eval "$advice") || fail "'$advice' fails"
	[ "$kind" = efa ] || equal 'the interface' "$(cat "/sys/class/net/$netdev/ifindex")" "$before"
	expect_again
}

# in_group DIR COMMAND...: in that cgroup
in_group()
{
	# shellcheck disable=SC2016 # for that shell
	sh -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "$@"
}

# The adapter has nothing to do with it.
test_cgroup_is_full()
{
	local group

	need_dvq || return 0
	group=$(mktemp -d)
	if ! mount -t cgroup2 none "$group" || ! echo +rdma > "$group/cgroup.subtree_control"; then
		skip 'needs a kernel with CONFIG_CGROUP_RDMA, and cgroups of version 2'
		return
	fi
	mkdir "$group/full"
	echo "$self hca_object=1" > "$group/full/rdma.max"
	names device 'nothing can be made' in_group "$group/full"
	[[ $(in_group "$group/full" "$dvq" doctor) = *'what to do: raise rdma.max '* ]] ||
		fail 'the limit is not what the advice is about'
	rmdir "$group/full"
	umount "$group"
	rmdir "$group"
}

has_rdma_side()
{
	compgen -G "/sys/bus/pci/devices/$pci/ionic.rdma.*" > /dev/null
}

has_no_rdma_side()
{
	! has_rdma_side
}

test_firmware_down()
{
	[ "$kind" = ionic ] || { skip 'is about ionic'; return; }
	model "$name" fw down > /dev/null
	soon 20 has_no_rdma_side
	names ethernet 'offers no RDMA side'
	model "$name" fw up > /dev/null
	soon 20 has_rdma_side
	[ ! -d "/sys/module/$driver" ] || expect_again
}

test_little_memory_to_lock()
{
	need_dvq || return 0
	names limits 'only 64 KiB of memory may be locked' as_nobody 64
}

test_interface_down()
{
	local netdev

	[ "$kind" = ionic ] || { skip 'is about ionic'; return; }
	need_dvq || return 0
	netdev=$(netdev_of "$self")
	ip link set "$netdev" down
	names device 'the port is'
	port_up "$self"
	expect_health
}

test_no_type_information()
{
	[ "$kind" = ionic ] || { skip 'is about ionic'; return; }
	cover /sys/kernel/btf
	names ethernet 'carries no type information'
	uncover /sys/kernel/btf
}

test_no_adapter()
{
	cover /sys/bus/pci/devices
	names adapter 'there is neither an EFA nor an ionic adapter'
	uncover /sys/bus/pci/devices
}

# F-39: one of the vendor's next ones is named; beside others it is no fault
test_f39_unknown_adapter()
{
	local id device text hidden=()

	id=$(mktemp)
	[ "$kind" = efa ] && echo 0xefa5 > "$id" || echo 0x1010 > "$id"
	for device in /sys/bus/pci/devices/*/device; do
		grep -qE '^0x(efa|1002)' "$device" || continue
		cover "$device" "$id"
		hidden+=("$device")
	done
	text="$(sed 's/0x/:/' "$id") is none that this dvq knows"
	names adapter "$text"
	for device in "${hidden[@]:1}"; do
		uncover "$device"
	done
	[[ $("$dvq" doctor 2> /dev/null) = *" note "*"$text"* ]] ||
		fail 'it is not told beside another adapter'
	uncover "${hidden[0]}"
	rm "$id"
}

tap_run "$@"
