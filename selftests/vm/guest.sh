# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A guest of a run: the files it reads, its QEMU, its outcome. Sourced by run.

# The module list with paths as the guest sees them.
write_modules()
{
	local module parameters file

	while read -r module parameters; do
		case $module in
		'' | \#*)
			continue
			;;
		*/*)
			file=build/$products/${module#\?}
			if [ -f "$top/$file" ]; then
				module=/dvq/$file
			elif [[ $module = \?* ]]; then
				continue
			else
				lab_failure "$file, which '--load $load' wants, is missing: run" \
					"'make suite${kernel:+ KERNEL=$kernel}'"
			fi
			;;
		esac
		echo "$module $parameters"
	done < "$vm/load/$load" > "$1/modules"
}

# write_guest N: the files that guest-init reads
write_guest()
{
	local dir=$log/guest$1 address='' peer='' ports='out exit klog'

	mkdir -p "$dir/out"
	write_modules "$dir"
	# for a kernel that boots itself again, which takes it as it was packed
	case " $append " in
	*' dvq.again '*)
		cp "$image_dir"/root/boot/vmlinuz-* "$dir/kernel"
		cp "$kernel_dir/initrd" "$dir/"
		;;
	esac
	[ ${#model_devices[@]} = 0 ] || ports+=' ctl'
	if [ "$guests" = 2 ]; then
		address=10.99.0.$(($1 + 1))
		peer=10.99.0.$((2 - $1))
	fi
	cat > "$dir/config" <<-END
		hostname=guest$1 address=$address peer=$peer interactive=$interactive debug=$debug ports='$ports'
	END
	cat > "$dir/command" <<-END
		export DVQ_GUEST=$1 DVQ_PEER=$peer DVQ_SUITE=$suite
		export DVQ_BUILD=/dvq/build/$products DVQ_SLOW=$slow DVQ_OUT=/out DVQ_CTL=/dev/virtio-ports/dvq.ctl
		cd /dvq
		${commands[$1]}
	END
}

# A /dev/kvm on a machine whose processor does not virtualize is not worth trying: it emulates, and
# stops at the first instruction it does not know.
accelerator()
{
	local accel=${DVQ_ACCEL:-tcg}

	if [ -z "${DVQ_ACCEL:-}" ] && [ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo; then
		accel=kvm
	fi
	case $arch-$accel in
	amd64-kvm) echo -accel kvm -cpu host ;;
	amd64-tcg) echo -accel tcg,thread=multi -cpu max ;;
	arm64-*) echo -accel tcg,thread=multi -cpu neoverse-n1 ;;
	*) lab_failure "DVQ_ACCEL is kvm or tcg, not '$accel'" ;;
	esac
}

# The machine, and its serial port as the kernel calls it. Without a PIT: on a busy host a kernel may find by it
# that the TSC is eighty times as slow as it is, and then all its clocks run away; the HPET is not misread.
# (Debug kernels have not been tried without one.)
machine()
{
	local options=memory-backend=mem,usb=off,sata=off,smbus=off,vmport=off,pit=off

	[ -z "$debug" ] || options=${options%,pit=off}
	case $arch in
	amd64) echo "qemu-system-x86_64 q35,$options ttyS0" ;;
	arm64) echo 'qemu-system-aarch64 virt,memory-backend=mem,gic-version=3,its=on ttyAMA0' ;;
	esac
}

# The words of the kernel's command line that make a debug kernel look closely. Objects of slabs without
# debugging hide leaks: the allocator's caches keep stale pointers to them. Any debugging of slabs turns those
# off, and consistency checks are the cheapest; the rest of it is KASAN's.
kernel_words()
{
	case $kernel in
	kasan) echo 'kasan_multi_shot slab_debug=F' ;;
	esac
}

# share N TAG PATH [OPTIONS OF 9P]: a directory of the root tree in guest N
share()
{
	local socket=/sockets/$2-$1.sock

	case $shares in
	9p)
		qemu+=(-fsdev "local,id=$2,path=$3,security_model=none${4:+,$4}"
			-device "virtio-9p-pci,fsdev=$2,mount_tag=$2")
		;;
	virtiofs)
		qemu+=(-chardev "socket,id=share-$2,path=$socket"
			-device "vhost-user-fs-pci,chardev=share-$2,tag=$2")
		start_virtiofsd "$2" "$3" "$socket" "${4:-}"
		;;
	esac
}

# start_virtiofsd TAG PATH SOCKET OPTIONS: serves one share, and ends when the guest does
start_virtiofsd()
{
	local options=() tries=200

	[[ $4 != *readonly=on* ]] || options=(--readonly)
	start "$vm/inroot" "$qemu_suite" --bind "$run_dir:/sockets" --bind "$kernel_dir:/mnt" -- \
		env LD_LIBRARY_PATH=/mnt/virtiofsd/usr/lib/x86_64-linux-gnu /mnt/virtiofsd/usr/libexec/virtiofsd \
		--socket-path="$3" --shared-dir="$2" --tag="$1" --sandbox=none --cache=auto "${options[@]}" \
		>> "$log/virtiofsd.log" 2>&1
	until [ -S "$run_dir/${3##*/}" ]; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || lab_failure "virtiofsd does not start: see $log/virtiofsd.log"
		sleep 0.05
	done
}

# qemu_arguments N: sets qemu; paths are those inside the root tree, where /sockets is run_dir, /image
# the image's directory and /mnt the kernel's, which may be the same
qemu_arguments()
{
	local dir=/dvq/build/log/$name/guest$1 port chassis=0 i
	local console=file,path=$dir/console.log program machine serial
	local disk=/image/root.img words="dvq.run=$dir" drive=readonly=on

	# A system of its own writes to its disk; that is forgotten.
	[ -z "$system" ] || disk=/mnt/root.img words='root=/dev/vda rw' drive=snapshot=on
	read -r program machine serial < <(machine)
	# shellcheck disable=SC2046 # words
	qemu=(env TMPDIR=/sockets "$program" -nodefaults -no-user-config -display none -no-reboot
		$(accelerator) -smp "$cpus" -m "$mem"
		-object "memory-backend-memfd,id=mem,size=$mem,share=on"
		-machine "$machine"
		-kernel /mnt/kernel -initrd /mnt/initrd
		-append "console=$serial quiet panic=-1 oops=panic mitigations=off tsc=reliable \
no_timer_check cryptomgr.notests audit=0 log_buf_len=4M \
$words $(kernel_words) $append"
		-drive "if=none,id=root,file=$disk,format=raw,$drive,cache=unsafe"
		-device virtio-blk-pci,drive=root
		-device virtio-serial-pci,max_ports=8
		-chardev "file,id=exit,path=$dir/status"
		-chardev "file,id=klog,path=$dir/dmesg.log"
		-chardev file,id=out,path=/dev/stdout)
	for port in out exit klog; do
		qemu+=(-device "virtserialport,chardev=$port,name=dvq.$port")
	done

	share "$1" dvq /dvq readonly=on,multidevs=remap
	share "$1" out "$dir/out"
	[ -z "$kernel" ] || share "$1" modules /mnt/modules readonly=on

	[ $interactive = no ] || console=stdio,signal=off
	qemu+=(-chardev "$console,id=console" -serial chardev:console)

	if [ ${#model_devices[@]} -gt 0 ]; then
		qemu+=(-chardev socket,id=ctl,path=/sockets/ctl.sock,server=off
			-device virtserialport,chardev=ctl,name=dvq.ctl)
	fi
	if [ "$guests" = 2 ]; then
		port=server=on
		[ "$1" = 0 ] || port=server=off,reconnect-ms=100
		qemu+=(-netdev "stream,id=peer,$port,addr.type=unix,addr.path=/sockets/peer.sock"
			-device "virtio-net-pci,netdev=peer,mac=52:54:00:99:00:0$1,romfile=")
	fi
	# Stores to two adapters keep their order, as those of a test that gives one a receive and the
	# other the send: QEMU would post the stores to an adapter without mapped memory (mode=strict).
	for i in "${!adapter_sockets[@]}"; do
		[ "${adapter_guests[$i]}" = "$1" ] || continue
		chassis=$((chassis + 1))
		qemu+=(-device "pcie-root-port,id=rp$chassis,bus=pcie.0,chassis=$chassis,x-speed=2_5"
			-device '{"driver":"vfio-user-pci","id":"adapter'"$i"'","bus":"rp'"$chassis"'","x-no-posted-writes":true,
				"socket":{"type":"unix","path":"/sockets/'"${adapter_sockets[$i]}"'"}}')
	done
}

# start_guest N
start_guest()
{
	local dir=$log/guest$1 out

	write_guest "$1"
	qemu_arguments "$1"
	# Two guests' lines would mix: theirs are shown at the end.
	if [ $quiet = no ] && [ "$guests" = 1 ]; then
		exec {out}> >(exec tee "$dir/output.log")
		tee_pid=$!
	else
		exec {out}> "$dir/output.log"
	fi
	start "$vm/inroot" "$qemu_suite" --bind "$run_dir:/sockets" --bind "$image_dir:/image" \
		--bind "$kernel_dir:/mnt" -- "${qemu[@]}" \
		>&"$out" 2> "$dir/qemu.log"
	guest_pids+=("$!")
	exec {out}>&-
}

# guest_status N: what the command ended with, or 125
guest_status()
{
	local status

	if read -r status < "$log/guest$1/status" && [ -n "$status" ]; then
		echo "$status"
	else
		echo 125
	fi
}
