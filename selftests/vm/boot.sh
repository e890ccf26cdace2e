# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What a guest boots from, and the directories of the cache that it is kept in. Sourced by image, image-foreign,
# kernel and debug; hashed into the names of what they make, as these scripts are.

# ---- directories ------------------------------------------------------------------------------------

# A directory of the cache is $cache/NAME-HASH. It appears whole or not at all, and older ones of its name go when
# a new one is complete.

# claim NAME: until the script ends no other one makes a directory of that name
claim()
{
	mkdir -p "$cache"
	exec 9> "$cache/.lock-$1"
	flock -n 9 || { say "another process is making it: waiting for it"; flock 9; }
}

# begin NAME DIRECTORY: sets tmp, what is to become the directory
begin()
{
	tmp=$2.tmp
	rm -rf "$cache/$1"-????????????.tmp
	mkdir "$tmp"
	trap 'rm -rf "$tmp"' EXIT
	trap 'exit 130' INT TERM
}

# finish NAME DIRECTORY: an older one stays while a command runs in it: inroot holds a shared lock on its release file
finish()
{
	local dir

	mv "$tmp" "$2"
	for dir in "$cache/$1"-????????????; do
		[ "$dir" = "$2" ] ||
			flock --nonblock "$dir/release" rm -rf "$dir" ||
			say "$dir is in use: it stays"
	done
}

# ---- the root ---------------------------------------------------------------------------------------

# Kernel drivers that no guest of ours has a device for.
# shellcheck disable=SC2034
no_drivers=(drivers/gpu drivers/media drivers/iio drivers/staging drivers/hid drivers/usb
	drivers/net/wireless drivers/net/can drivers/bluetooth drivers/isdn sound)

# Under TCG a guest spends 0.1 s on unpacking each compressed module it loads.
unpack_modules()
{
	find "$1" -name '*.ko.xz' -print0 | xargs -0 -r -n 64 -P 2 xz -d
	find "$1" -name '*.ko.zst' -print0 | xargs -0 -r -n 64 -P 2 zstd -q -d --rm
}

# make_root_image TREE FILE DIRECTORY...: an ext4 image of the tree without those directories: each is hidden under
# an empty mount, so nothing is copied. The mounts live in a mount namespace of their own and go with it.
make_root_image()
{
	# shellcheck disable=SC2016 # the inner shell expands it
	unshare --mount bash -eu -c '
		root=$1 image=$2
		shift 2
		for dir; do
			[ ! -d "$root/$dir" ] || mount -t tmpfs -o ro dvq-hidden "$root/$dir"
		done
		kilobytes=$(du -sk "$root" | cut -f1)
		mke2fs -q -F -t ext4 -O ^has_journal,^resize_inode -m 0 -E lazy_itable_init=1 \
			-L dvq-root -d "$root" "$image" "$((kilobytes * 11 / 10 + 32768))k" > /dev/null
	' make_root_image "$@"
}

# ---- the kernel -------------------------------------------------------------------------------------

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

# ---- the initramfs ----------------------------------------------------------------------------------

# What reaches the root tree, and the host's directories if they are shared by 9p.
# shellcheck disable=SC2034
root_modules=(virtio_pci virtio_blk ext4 overlay) share_modules=(9pnet_virtio 9p)

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
