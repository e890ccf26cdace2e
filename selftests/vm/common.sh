# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the scripts of this directory share. Sourced, never run.

prog=${0##*/}
top=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd -P)
vm=$top/selftests/vm
cache=${DVQ_CACHE:-/var/cache/dvq}
build=$top/build

say()
{
	echo "$prog: $*" >&2
}

die()
{
	say "$*"
	exit 1
}

# A wrong command line is told apart from a failure of the thing asked for.
usage_error()
{
	say "$* (try $prog --help)"
	exit 2
}

# The comment block at the top of a script is its help text.
show_help()
{
	sed -n '3,/^$/s/^# \{0,1\}//p' "$0"
}

# need_root WHY
need_root()
{
	[ "$(id -u)" = 0 ] || die "run as root: $1"
}

# claim_log NAME: build/log/NAME, empty and ours alone until this script ends. Sets log.
claim_log()
{
	log=$build/log/$1
	mkdir -p "$build/log"
	exec 4> "$build/log/.$1.lock"
	flock --nonblock 4 || die "another $prog writes to build/log/$1"
	rm -rf "$log"
	mkdir "$log"
}

# Mirrors have bad minutes. retry TIMES COMMAND...
retry()
{
	local left=$1 pause=2

	shift
	until "$@"; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || return 1
		say "failed, trying again in $pause s: $*"
		sleep "$pause"
		pause=$((pause * 3))
	done
}

# Sets the variables that suites/NAME defines (they are explained in suites/forky) and image_dir.
# The directory's name carries a hash of everything the image is made from, so that a changed
# definition can never meet an old image.
load_suite()
{
	suite=$1
	case $suite in
	*[!a-z0-9.-]* | '')
		die "'$suite' is not a suite name"
		;;
	esac
	[ -f "$vm/suites/$suite" ] ||
		die "no suite '$suite'; there are: $(cd "$vm/suites" && ls -x)"
	codename='' packages='' linux_source='' qemu_suite=$suite arch=amd64 cross=''
	# shellcheck source=suites/forky
	. "$vm/suites/$suite"
	image_dir=$cache/$suite-$(image_hash)
}

# Comments do not count.
image_hash()
{
	local builder=$vm/image

	[ "$arch" = amd64 ] || builder+=-foreign
	sed '/^[[:space:]]*#/d' "$vm/suites/$suite" "$builder" "$vm/boot.sh" "$vm/initramfs-init" | sha256sum | cut -c1-12
}

# build_image: of the suite that is loaded, unless it is there; prints image_dir
build_image()
{
	local builder=$vm/image

	[ "$arch" = amd64 ] || builder+=-foreign
	"$builder" "$suite"
}

# suite_codename SUITE
suite_codename()
{
	sed -n 's/^codename=//p' "$vm/suites/$1"
}

kernel_names()
{
	local file

	for file in "$vm"/kernels/* "$vm"/debug.d/*.config; do
		file=${file##*/}
		[ "$file" = base.config ] || printf ' %s' "${file%.config}"
	done
}

# Kernels that are not the suite's own: of packages (kernels/NAME) or debug kernels (debug.d/NAME.config);
# '' is the image's. Sets kernel, debug (yes for a debug kernel), kernel_dir, where selftests/vm/kernel makes
# it, products, the directory below build/ of what is built for it, slow: how many times longer than a stock
# guest its guests may take, and shares, how they reach the host's files. After load_suite; the image must be
# there.
load_kernel()
{
	kernel=$1 debug='' slow=1 shares=9p kernel_dir=$image_dir products=$suite
	[ -n "$kernel" ] || return 0
	products=$suite-$kernel
	if [[ $kernel != base && -f $vm/debug.d/$kernel.config ]]; then
		debug=yes slow=4 kernel_dir=$cache/debug-$suite-$kernel-$(debug_hash)
	elif [[ $kernel != */* && -f $vm/kernels/$kernel ]]; then
		# shellcheck source=kernels/cloud
		. "$vm/kernels/$kernel"
		[[ -z $suites || " $suites " = *" $suite "* ]] || die "kernel $kernel is not for $suite, but for: $suites"
		archive=${archive:-$codename} kernel_dir=$cache/kernel-$suite-$kernel-$(packages_hash)
	else
		die "no kernel '$kernel'; there are:$(kernel_names)"
	fi
}

# The image has whatever versions the mirror had on its day.
debug_hash()
{
	{
		sed '/^[[:space:]]*#/{/ is not set$/!d}' "$vm/debug.d/compile" "$vm/debug.d/base.config" \
			"$vm/debug.d/$kernel.config" "$vm/initramfs-init"
		dpkg-query --admindir="$image_dir/root/var/lib/dpkg" --show "$linux_source" gcc
	} | sha256sum | cut -c1-12
}

packages_hash()
{
	sed '/^[[:space:]]*#/d' "$vm/kernels/$kernel" "$vm/kernel" "$vm/boot.sh" "$vm/initramfs-init" |
		sha256sum | cut -c1-12
}
