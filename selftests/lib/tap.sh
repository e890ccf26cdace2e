# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# TAP for tests in shell, and the model's control channel. A test is a function whose name begins with
# test_; the description is the rest of it. It fails when it says so (fail SENTENCE) or returns non-zero.
#
#	. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
#	test_it_loads() { ... }
#	tap_run
#
# Exit status: 0, 1 if a test failed, 4 if the whole program is skipped (skip_all).

port=/dev/virtio-ports/dvq.ctl

tap_failed=0
# What a subshell does to a variable is lost: it tells by a line in this file, which has no name any more.
tap_told=$(mktemp)
exec {tap_tell}>> "$tap_told"
rm "$tap_told"
tap_told=/proc/$$/fd/$tap_tell

# How many times slower than a stock one this system is: a debug kernel is.
slow=${DVQ_SLOW:-1}

note()
{
	echo "# $*"
}

# Notes a failure and goes on. In a subshell, whose output may be what somebody asked for, on standard error.
fail()
{
	tap_failed=1
	if [ "$BASHPID" = $$ ]; then
		note "$*"
	else
		note "$*" >&2
		echo failed >&"$tap_tell"
	fi
}

has_failed()
{
	[ $tap_failed = 1 ] || [ -s "$tap_told" ]
}

# skips the running test: return after it
skip()
{
	tap_skip="$*"
}

# soon SECONDS COMMAND...: it succeeds within that time, or more on a slow system
soon()
{
	local end=$((SECONDS + $1 * slow))

	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.2
	done
}

bail_out()
{
	echo "Bail out! $*"
	exit 1
}

# skips the program; before its first test, then it is too late
skip_all()
{
	[ -z "${tap_name:-}" ] || bail_out "in $tap_name: $*"
	echo 'TAP version 13'
	echo "1..0 # SKIP $*"
	exit 4
}

# equal WHAT HAVE WANT
equal()
{
	[ "$2" = "$3" ] || fail "$1 is '$2', wanted '$3'"
}

# runs the functions named test_* in the order they are written, or those named by the arguments
tap_run()
{
	# a shell's local variables are seen by what it calls
	local tap_tests=("$@") tap_n=0 tap_status=0 tap_name

	[ ${#tap_tests[@]} -gt 0 ] ||
		mapfile -t tap_tests < <(sed -n 's/^test_\([a-z0-9_]*\)()\( {.*\)\{0,1\}$/\1/p' "$0")
	echo 'TAP version 13'
	echo "1..${#tap_tests[@]}"
	! has_failed || bail_out 'the first test cannot begin'
	for tap_name in "${tap_tests[@]}"; do
		tap_n=$((tap_n + 1)) tap_failed=0 tap_skip=''
		: > "$tap_told"
		"test_$tap_name" || fail "test_$tap_name returned $?"
		if has_failed; then
			echo "not ok $tap_n - $tap_name"
			tap_status=1
		elif [ -n "$tap_skip" ]; then
			echo "ok $tap_n - $tap_name # SKIP $tap_skip"
		else
			echo "ok $tap_n - $tap_name"
		fi
	done
	exit $tap_status
}

model_present()
{
	[ -n "${tap_port:-}" ]
}

# need_leave: for programs that may cut a machine off, or reset a bus. Modelled adapters are nobody's.
need_leave()
{
	model_present || [ "${DVQ_DISRUPTIVE:-}" = yes ] ||
		skip_all 'may cut this machine off from its network or reset its bus: DVQ_DISRUPTIVE=yes allows that'
}

# One process can have the channel open; children share this one.
[ ! -c $port ] || exec {tap_port}<> $port

# model TARGET VERB ARGUMENTS...: prints the answer without its first word, which must be ok. Who does not want the
# answer throws it away, but not why there is none.
model()
{
	local answer

	echo "$*" >&"$tap_port"
	IFS= read -r -t 20 -u "$tap_port" answer || { fail "the model does not answer '$*'" >&2; return 1; }
	case $answer in
	ok*) echo "${answer#ok}" ;;
	*) fail "the model says to '$*': $answer" >&2; return 1 ;;
	esac
}

# model_of ADDRESS: what the model calls the adapter with this MAC address, or this GID for EFA
model_of()
{
	model '*' list | tr ';' '\n' | awk -v address="$1" '$3 == address { print $1 }'
}

# none_left TARGET OBJECT...: the model has none of these
none_left()
{
	local object stats

	stats=" $(model "$1" stats) "
	shift
	for object; do
		[[ $stats =~ \ $object=([0-9]+)\  ]] || { fail "the model does not count ${object}s"; continue; }
		equal "the device's ${object}s" "${BASH_REMATCH[1]}" 0
	done
}

# stat TARGET KEY: one counter of the model
stat()
{
	model "$1" stats | tr ' ' '\n' | sed -n "s/^$2=//p"
}
