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
	codename='' packages='' linux_source='' qemu_suite=$suite
	# shellcheck source=suites/forky
	. "$vm/suites/$suite"
	image_dir=$cache/$suite-$(image_hash)
}

# Comments do not count.
image_hash()
{
	sed '/^[[:space:]]*#/d' "$vm/suites/$suite" "$vm/image" "$vm/initramfs-init" |
		sha256sum | cut -c1-12
}

# Debug kernels (debug.d/NAME.config); '' is the stock one, which is the image's. Sets kernel, kernel_dir,
# where selftests/vm/debug builds it, products, the directory below build/ of what is built for it, and slow:
# how many times longer than a stock guest its guests may take. After load_suite; the image must be there.
load_kernel()
{
	kernel=$1 slow=1 kernel_dir=$image_dir products=$suite
	[ -n "$kernel" ] || return 0
	[[ $kernel != base && -f $vm/debug.d/$kernel.config ]] || die "no kernel '$kernel'; there are: kasan kcsan"
	slow=4 kernel_dir=$cache/debug-$suite-$kernel-$(kernel_hash) products=$suite-$kernel
}

# The image has whatever versions the mirror had on its day.
kernel_hash()
{
	{
		sed '/^[[:space:]]*#/{/ is not set$/!d}' "$vm/debug.d/compile" "$vm/debug.d/base.config" \
			"$vm/debug.d/$kernel.config" "$vm/initramfs-init"
		dpkg-query --admindir="$image_dir/root/var/lib/dpkg" --show "$linux_source" gcc
	} | sha256sum | cut -c1-12
}
