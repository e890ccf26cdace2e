# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The model process of a run: its command line, its start, its verdict. Sourced by run.

model_pid=''
model_devices=()	# arguments of the model
adapter_sockets=()	# per adapter: its socket in run_dir
adapter_guests=()	# and the guest it belongs to

# Sorts the words of each "TYPE,KEY=VALUE..." of --adapter into the above.
sort_adapters()
{
	local spec type words word guest adapter rest
	local -A count=()

	for spec in "${adapters[@]}"; do
		IFS=, read -r -a words <<< "$spec"
		type=${words[0]} guest=0 adapter='' rest=''
		for word in "${words[@]:1}"; do
			case $word in
			guest=[01]) guest=${word#guest=} ;;
			guest=*) usage_error "--adapter $spec: guest is 0 or 1" ;;
			socket=*) usage_error "--adapter $spec: the socket is not yours to choose" ;;
			name=*) adapter=${word#name=} ;;
			*) rest+=,$word ;;
			esac
		done
		[ "$guest" -lt "$guests" ] || usage_error "--adapter $spec: that guest needs --guests 2"
		: "${adapter:=$type${count[$type]:-0}}"
		count[$type]=$((${count[$type]:-0} + 1))
		adapter_sockets+=("$adapter.sock")
		adapter_guests+=("$guest")
		model_devices+=(--device "$type,name=$adapter,socket=$run_dir/$adapter.sock$rest")
	done
}

# QEMU does not try twice: the model's sockets must be there before it starts.
start_model()
{
	local model=$build/model/dvq-model tries=200

	[ -x "$model" ] || lab_failure "$model is missing: run 'make model' first"
	start "$model" --control "$run_dir/ctl.sock" "${model_devices[@]}" > "$log/model.log" 2>&1
	model_pid=$!
	until grep -qx ready "$log/model.log"; do
		tries=$((tries - 1))
		if [ $tries = 0 ] || ! kill -0 "$model_pid" 2> /dev/null; then
			tail -n 5 "$log/model.log" >&2
			lab_failure "the model did not start: see $log/model.log"
		fi
		sleep 0.05
	done
}

# A violation is an access that a correct driver would not make.
check_model()
{
	local answer

	answer=$("$vm/ctl" "$run_dir/ctl.sock" '*' violations) || {
		say "the model does not tell its violations ($answer): see $log/model.log"
		return 1
	}
	[ "$answer" = "ok 0" ] || {
		say "the model recorded violations: ${answer#ok }"
		return 1
	}
}
