# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Test plans: one file in plan/ per guest. Sourced by check (host) and guest-tests (guest).
#
# A plan is lines of a keyword and its value; '#' begins a comment line.
#
#   adapter, cpus, mem, load, guests, append, timeout
#                 as the options of selftests/vm/run
#   suites        the suites it is for; without this line, all
#   group         it is not run with the others, but when this group is asked for (check --group)
#   seconds       how long each of its programs may take, if not what selftests/settings says
#   test          a program of selftests/ with arguments; VARIABLE=VALUE words before it go to its
#                 environment. They run in this order, in each guest of the plan
#   may-skip      a program, as reports name it, and where it may be skipped as a whole: the suite, or SUITE-KERNEL
#                 (patterns). Anywhere else this is a failure

# plan_values PLAN KEYWORD: the values of all its lines, one per line
plan_values()
{
	sed -n "s/^$2[[:space:]]\{1,\}//p" "$vm/plan/$1"
}

# plan_tests PLAN: per test its name for reports and files (of its words without VARIABLE=), then the words
plan_tests()
{
	local line word name
	local -A seen=()

	while read -r line; do
		name=''
		for word in $line; do
			name+=${name:+ }${word#*=}
		done
		name=$(tr -c 'A-Za-z0-9_.\n' - <<< "$name")
		seen[$name]=$((${seen[$name]:-0} + 1))
		[ "${seen[$name]}" = 1 ] || name+=-${seen[$name]}
		echo "$name $line"
	done < <(plan_values "$1" test)
}

# plan_may_skip PLAN PRODUCTS: the programs that may be skipped on what is built for that
plan_may_skip()
{
	local name where pattern

	while read -r name where; do
		set -f	# patterns are not for files
		for pattern in $where; do
			# shellcheck disable=SC2053 # a pattern
			[[ $2 != $pattern ]] || echo "$name"
		done
		set +f
	done < <(plan_values "$1" may-skip)
}

plan_check()
{
	local keyword value number=0 name where names

	[ -f "$vm/plan/$1" ] || die "no plan '$1'; there are: $(cd "$vm/plan" && ls -x)"
	while read -r keyword value; do
		number=$((number + 1))
		case $keyword in
		'' | \#*) ;;
		adapter | cpus | mem | load | guests | append | timeout | suites | group | seconds | test | may-skip)
			[ -n "$value" ] || die "plan/$1:$number: '$keyword' has no value"
			;;
		*) die "plan/$1:$number: unknown keyword '$keyword'" ;;
		esac
	done < "$vm/plan/$1"
	[ -n "$(plan_values "$1" test)" ] || die "plan/$1 has no test"
	names=" $(plan_tests "$1" | cut -d ' ' -f 1 | tr '\n' ' ')"
	while read -r name where; do
		[[ $names = *" $name "* ]] || die "plan/$1: may-skip names '$name', which is no test of it; there are:$names"
		[ -n "$where" ] || die "plan/$1: may-skip $name does not say where"
	done < <(plan_values "$1" may-skip)
}

# run_test DIRECTORY NAME SECONDS COMMAND...: leaves NAME.tap and, when it has ended, NAME.status
run_test()
{
	local dir=$1 name=$2 seconds=$3 status=0

	shift 3
	timeout --kill-after=5 "$seconds" "$@" > "$dir/$name.tap" 2>&1 < /dev/null || status=$?
	echo $status > "$dir/$name.status"
}
