#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The modelled ionic adapter under the kernel's own Ethernet driver, ionic.ko: two adapters, the second
# one in a network namespace, so that what they say to each other goes over the modelled network. Adapters
# are told apart by their MAC addresses, which survive everything that happens here.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/ping.sh"

driver=/sys/bus/pci/drivers/ionic

model_present || skip_all 'needs the modelled adapters: real ones are not pulled on request'
[ -d $driver ] || modprobe ionic 2> /dev/null || skip_all 'no ionic.ko for this kernel'
mapfile -t functions < <(cd $driver && ls -d 0000:*)
[ ${#functions[@]} -ge 2 ] || skip_all 'needs two ionic adapters'
pci=${functions[0]}

# mac FUNCTION: the address it was made with
mac()
{
	cat "/sys/bus/pci/devices/$1"/net/*/address
}

self_mac=$(mac "$pci") peer_mac=$(mac "${functions[1]}")
self=$(model_of "$self_mac") peer=$(model_of "$peer_mac")
if [ -z "$self" ] || [ -z "$peer" ]; then
	skip_all 'the model does not know these adapters'
fi

netdev()
{
	local path

	for path in "/sys/bus/pci/devices/$pci"/net/*; do
		echo "${path##*/}"
	done
}

# up: the first adapter's netdev has its address again
up()
{
	local name

	name=$(netdev)
	ip address replace 10.77.0.1/24 dev "$name"
	ip link set "$name" up
}

reaches()
{
	ping -c 1 -W 2 "$@" 10.77.0.2 > /dev/null
}

check_quiet()
{
	equal 'violations' "$(model '*' violations | awk '{ print $1 }')" 0
}

carrier()
{
	[ "$(cat "/sys/class/net/$(netdev)/carrier")" = "$1" ]
}

auxiliary()
{
	[ "$(find "/sys/bus/pci/devices/$pci/" -maxdepth 1 -name 'ionic.rdma.*' | wc -l)" = "$1" ]
}

peer_name=$(ls "/sys/bus/pci/devices/${functions[1]}/net")
ip netns add peer
ip link set "$peer_name" netns peer
ip -n peer address add 10.77.0.2/24 dev "$peer_name"
ip -n peer link set "$peer_name" up
trap 'ip netns del peer' EXIT

# ---- frames ------------------------------------------------------------------------------------

test_ping()
{
	up
	soon 20 reaches || fail 'no answer to a ping'
	each_ping_is_answered 50 -i 0.01 -s 1400 10.77.0.2 || fail 'pings are lost'
	check_quiet
}

test_large_frames()
{
	ip link set "$(netdev)" mtu 9000
	ip -n peer link set "$peer_name" mtu 9000
	soon 20 reaches -s 8972 -M 'do' || fail 'no answer to a ping of 9000 bytes'
	[ "$(stat "$peer" eth_rx_sg)" -gt 0 ] || fail 'no frame was received into several buffers'
	check_quiet
}

# both answer: the namespace hides neither from the link
both_answer()
{
	ping -6 -c 2 "ff02::1%$(netdev)" | grep -q 'DUP\|duplicates'
}

test_multicast()
{
	# the peer does so once its address is known to be nobody else's
	soon 30 both_answer || fail 'the peer does not answer'
	check_quiet
}

# A stream exercises lists of buffers and check sums; what arrives is compared.
test_stream()
{
	local sums

	sums=$(timeout $((60 * slow)) python3 - "$peer_name" << 'END'
import hashlib, os, socket, subprocess, sys
receiver = '''
import hashlib, socket
with socket.create_server(("10.77.0.2", 7777)) as server:
    print("ready", flush=True)
    peer, _ = server.accept()
    digest = hashlib.sha256()
    while data := peer.recv(1 << 16):
        digest.update(data)
    print(digest.hexdigest())
'''
process = subprocess.Popen(["ip", "netns", "exec", "peer", sys.executable, "-c", receiver],
                           stdout=subprocess.PIPE, text=True)
process.stdout.readline()
data = os.urandom(4 << 20)
with socket.create_connection(("10.77.0.2", 7777)) as stream:
    stream.sendall(data)
print(hashlib.sha256(data).hexdigest(), process.stdout.read().strip())
END
	)
	equal 'what was received' "${sums#* }" "${sums% *}"
	[ ${#sums} = 129 ] || fail "two check sums of 64 digits are not '$sums'"
	[ "$(stat "$self" eth_tx_csums)" -gt 0 ] || fail 'no check sum was asked for'
	check_quiet
}

received()
{
	cat "/sys/class/net/$(netdev)/statistics/rx_packets"
}

# has_received PACKETS: or more
has_received()
{
	[ "$(received)" -ge "$1" ]
}

test_statistics()
{
	local before

	before=$(received)
	each_ping_is_answered 10 -i 0.01 10.77.0.2 || fail 'pings are lost'
	soon 20 has_received $((before + 10)) || fail "rx_packets went from $before to $(received) with ten answers"
}

# ---- link and addresses ------------------------------------------------------------------------

test_cable()
{
	model "$self" link down > /dev/null
	soon 20 carrier 0 || fail 'carrier stays'
	model "$self" link up > /dev/null
	soon 20 carrier 1 || fail 'no carrier'
	soon 20 reaches || fail 'no answer afterwards'
	check_quiet
}

test_another_address()
{
	ip link set "$(netdev)" address 02:00:00:00:77:77
	soon 20 reaches || fail 'no answer under another address'
	ip link set "$(netdev)" address "$self_mac"
	soon 20 reaches || fail 'no answer under the first address'
	check_quiet
}

test_close_and_open()
{
	local i

	for i in 1 2 3 4 5; do
		ip link set "$(netdev)" down
		up
	done
	soon 20 reaches || fail "no answer after $i times"
	check_quiet
}

# ---- resets ------------------------------------------------------------------------------------

test_firmware_death()
{
	auxiliary 1 || fail 'no auxiliary device'
	model "$self" fw down > /dev/null
	soon 20 auxiliary 0 || fail 'the auxiliary device is still there'
	model "$self" fw up > /dev/null
	soon 20 auxiliary 1 || fail 'the auxiliary device does not come back'
	soon 20 reaches || fail 'no answer afterwards'
	check_quiet
}

test_firmware_restart()
{
	model "$self" fw restart > /dev/null
	soon 20 auxiliary 0 || fail 'the restart was not noticed'
	soon 20 auxiliary 1 || fail 'the auxiliary device does not come back'
	soon 20 reaches || fail 'no answer afterwards'
	check_quiet
}

test_function_reset()
{
	echo 1 > "/sys/bus/pci/devices/$pci/reset"
	soon 20 auxiliary 1 || fail 'the auxiliary device does not come back'
	soon 20 reaches || fail 'no answer afterwards'
	check_quiet
}

test_unbind_and_bind()
{
	echo "$pci" > "$driver"/unbind
	echo "$pci" > "$driver"/bind
	equal 'address' "$(mac "$pci")" "$self_mac"
	up
	soon 20 reaches || fail 'no answer afterwards'
	check_quiet
}

test_surprise_removal()
{
	model "$self" gone > /dev/null
	soon 20 auxiliary 0 || fail 'the loss was not noticed'
	echo 1 > "/sys/bus/pci/devices/$pci/remove"
	model "$self" back > /dev/null
	echo 1 > /sys/bus/pci/rescan
	soon 20 auxiliary 1 || fail 'it was not found again'
	up
	soon 20 reaches || fail 'no answer afterwards'
	check_quiet
}

# A command that is refused once must not take the adapter with it.
test_refused_commands()
{
	local point

	for point in q_init lif_setattr rx_mode_set q_control; do
		ip link set "$(netdev)" down
		model "$self" inject op="$point" action=fail status=3 > /dev/null
		up 2> /dev/null
		ip link set "$(netdev)" down
		equal "what was to be refused, $point, and was not asked for" "$(model "$self" inject list)" ''
		model "$self" inject clear > /dev/null
		up
		soon 20 reaches || fail "no answer after $point was refused"
	done
	check_quiet
}

tap_run "$@"
