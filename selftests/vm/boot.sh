# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What a guest boots from, for kernels that are not an image's own. Sourced by kernel and debug. (image has the
# like of it inside: it is hashed whole into the images' names.)

# Kernel drivers that no guest of ours has a device for.
# shellcheck disable=SC2034
no_drivers=(drivers/gpu drivers/media drivers/iio drivers/staging drivers/hid drivers/usb
	drivers/net/wireless drivers/net/can drivers/bluetooth drivers/isdn sound)

# number FILE OFFSET BYTES: a little-endian number in a file
number()
{
	od -An -j "$(($2))" -N "$3" -t "u$3" "$1" | tr -d ' '
}

# unpack PACKED OFFSET LENGTH FILE: what is packed there
unpack()
{
	local payload=$4.payload

	tail -c "+$(($2 + 1))" "$1" | head -c "$3" > "$payload" || [ $? = 141 ]
	case $(od -An -N 4 -t x1 "$payload" | tr -d ' ') in
	28b52ffd) zstd -q -d -c "$payload" ;;
	fd377a58) xz -d -c "$payload" ;;
	1f8b*) gzip -d -c "$payload" ;;
	02214c18)
		env -u APT_CONFIG "$vm/deps" lz4
		lz4 -q -d -c "$payload"
		;;
	*) die "$1 is packed in a way that is not known here" ;;
	esac > "$4"
	rm "$payload"
}

has_pvh_entry()
{
	readelf --notes "$1" | grep -q 'Xen .*(0x00000012)'
}

# unpack_kernel VMLINUZ FILE: as QEMU starts it. On x86 that is an ELF file with a PVH entry; the packed one
# says in its header where its payload begins, and 4 bytes of length follow that. On arm64 it is an Image, in an
# EFI program that says where it is.
unpack_kernel()
{
	case $arch in
	amd64)
		unpack "$1" "$((($(number "$1" 0x1f1 1) + 1) * 512 + $(number "$1" 0x248 4)))" \
			"$(($(number "$1" 0x24c 4) - 4))" "$2"
		has_pvh_entry "$2" || die "${1##*/} has no PVH entry point"
		;;
	arm64)
		if [ "$(head -c 8 "$1" | tail -c 4)" = zimg ]; then
			unpack "$1" "$(number "$1" 8 4)" "$(number "$1" 12 4)" "$2"
		else
			cp "$1" "$2"
		fi
		[ "$(head -c 60 "$2" | tail -c 4)" = ARMd ] || die "${1##*/} holds no arm64 kernel"
		;;
	esac
}

# pack_initrd FILE BUSYBOX INIT [MODULE...]: not compressed, the guest would pay for it at each boot
pack_initrd()
{
	local file=$1 dir=$1.tree module

	mkdir -p "$dir/bin" "$dir/modules" "$dir/dev" "$dir/proc" "$dir/root"
	cp "$2" "$dir/bin/busybox"
	cp "$3" "$dir/init"
	chmod 755 "$dir/init"
	shift 3
	for module; do
		cp "$module" "$dir/modules/"
		echo "/modules/${module##*/}"
	done > "$dir/modules/order"
	(cd "$dir" && find . | cpio --quiet -o -H newc) > "$file"
	rm -rf "$dir"
}
