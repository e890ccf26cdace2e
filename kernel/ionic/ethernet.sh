#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# usage: kernel/ionic/ethernet.sh --check RELEASE OBJTREE
#        kernel/ionic/ethernet.sh RELEASE OBJTREE > ethernet_btf.h
#
# What dvq_ionic.ko has to know of the private side of ionic.ko, the Ethernet driver
# that it sits on: where the members that ethernet.c reads are, and the functions
# that it calls. There is no header for that, but the module's type information
# (BTF) has it all. RELEASE is the kernel's release, OBJTREE where its headers and
# their vmlinux are.
#
# --check says in one line, on its output, why it cannot be done for that kernel; no
# output: it can. IONIC_KO in the environment names the module, which otherwise is
# looked for under /lib/modules/RELEASE.

set -eu

# where bpftool and modinfo are, if it is no root who builds
PATH=$PATH:/usr/sbin:/sbin

structs='ionic_aux_dev ionic_lif ionic ionic_dev ionic_dev_bar ionic_devinfo ionic_qtype_info
	ionic_intr_info ionic_admin_ctx'
members='
	ionic_aux_dev:lif ionic_aux_dev:adev
	ionic_lif:ionic ionic_lif:netdev ionic_lif:index ionic_lif:hw_index ionic_lif:kern_pid
	ionic_lif:kern_dbpage ionic_lif:dbid_count ionic_lif:qtype_info ionic_lif:identity
	ionic:pdev ionic:idev ionic:bars ionic:num_bars ionic:neqs_per_lif
	ionic_dev:intr_ctrl ionic_dev:dev_info ionic_dev:phy_cmb_pages ionic_dev:cmb_npages
	ionic_dev:phy_cmb_expdb64_pages ionic_dev:phy_cmb_expdb128_pages
	ionic_dev:phy_cmb_expdb256_pages ionic_dev:phy_cmb_expdb512_pages
	ionic_dev_bar:bus_addr ionic_dev_bar:len
	ionic_devinfo:asic_rev ionic_devinfo:fw_version
	ionic_qtype_info:features
	ionic_intr_info:index ionic_intr_info:vector
	ionic_admin_ctx:work ionic_admin_ctx:cmd ionic_admin_ctx:comp'
# pahole leaves a function out when the compiler moved its arguments about inside; then
# this is what it is.
known_prototypes='int ionic_adminq_post_wait(struct ionic_lif * lif, struct ionic_admin_ctx * ctx);
void ionic_request_rdma_reset(struct ionic_lif * lif);
int ionic_intr_alloc(struct ionic_lif * lif, struct ionic_intr_info * intr);
void ionic_intr_free(struct ionic_lif * lif, int index);
int ionic_get_cmb(struct ionic_lif *, u32 *, phys_addr_t *, int order, u8 stride_log2, bool *);
void ionic_put_cmb(struct ionic_lif * lif, u32 page, int order);'
functions=$(echo "$known_prototypes" | sed 's/(.*//; s/.*[ *]//')
# of the kernel itself: the reference count that ethernet.c gives back
kernel_structs='btf'
kernel_members='btf:refcnt'

# Called where the output goes to a file, too.
exec 3>&1
cannot()
{
	[ "$check" ] && echo "$*" >&3 && exit 0
	echo "${0##*/}: $*" >&2
	exit 1
}

check=
if [ "${1:-}" = --check ]; then
	check=yes
	shift
fi
release=$1
objtree=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The module that modprobe would load, of the kernel's package or one that was installed beside it.
find_module()
{
	if [ "${IONIC_KO:-}" ]; then
		found=$IONIC_KO
		[ -f "$found" ] || cannot "there is no $found"
		return
	fi
	found=$(modinfo -k "$release" -F filename ionic 2> /dev/null) || found=
	[ -f "$found" ] && return
	# before depmod, or without kmod
	for found in "/lib/modules/$release"/updates/dkms/ionic.ko* \
		"/lib/modules/$release"/kernel/drivers/net/ethernet/pensando/ionic/ionic.ko*; do
		[ -f "$found" ] && return
	done
	cannot "no ionic.ko for kernel $release: the Ethernet driver of the adapter is not there"
}

unpack_module()
{
	case $found in
	*.xz) xz -dc "$found" ;;
	*.zst) zstd -dcq "$found" ;;
	*.gz) gzip -dc "$found" ;;
	*) cat "$found" ;;
	esac > "$work/ionic.ko" || cannot "cannot unpack $found"
}

# Type information of a module refers to that of its kernel.
find_base()
{
	base=$objtree/vmlinux
	[ -f "$base" ] && return
	base=/sys/kernel/btf/vmlinux
	[ "$(uname -r)" = "$release" ] && [ -f "$base" ] && return
	cannot "no vmlinux with type information (BTF) for kernel $release, neither in $objtree" \
		"nor running"
}

# Struct by struct: "struct NAME", "member NAME INDEX OFFSET SIZE"..., "end SIZE MEMBERS".
# Members of anonymous structs inside count as one.
parse_structs()
{
	awk '
	/^struct .* \{$/ { print "struct", $2; depth = 1; index_ = 0; next }
	!depth { next }
	/\{$/ { depth++; next }
	/^\t+\}.*;/ { depth-- }
	/^\t\/\* size: / {
		size = $3; members = $7
		gsub(/[^0-9]/, "", size); gsub(/[^0-9]/, "", members)
		if (members == "") { members = $5; gsub(/[^0-9]/, "", members) }
		print "end", size, members, index_; next
	}
	/^\};/ { depth = 0; next }
	depth == 1 && /;[ \t]*\/\*.*[0-9]+ \*\/$/ {
		text = $0; sub(/;[ \t]*\/\*.*$/, "", text); sub(/(\[[0-9]*\])+$/, "", text)
		n = split(text, word, /[ \t*]+/)
		numbers = $0; sub(/^.*\/\*/, "", numbers); sub(/\*\/.*$/, "", numbers)
		k = split(numbers, number, /[ :]+/)
		print "member", word[n], index_++, number[2], number[k - 1]
	}'
}

# "PARAMETERS POINTERS": how many there are, and a mask of those that are pointers
parse_prototype()
{
	awk '{
		sub(/^[^(]*\(/, ""); sub(/\);.*$/, "")
		n = $0 == "void" ? 0 : split($0, parameter, /,/)
		mask = 0
		for (i = 1; i <= n; i++)
			if (index(parameter[i], "*"))
				mask += 2 ^ (i - 1)
		printf "%d, 0x%x\n", n, mask
	}'
}

comma_list()
{
	echo "$*" | tr ' ' ,
}

# What pfunct would say of $functions, from bpftool's list of all types.
print_prototypes()
{
	awk -v wanted="$(echo "$functions" | tr '\n' ' ')" -v quote="'" '
	BEGIN { n = split(wanted, name, " "); for (i = 1; i <= n; i++) is_wanted[name[i]] }
	/^\[/ {
		id = substr($1, 2) + 0; kind[id] = $2; count[id] = 0
		split($0, part, quote); title[id] = part[2]
		if (match($0, / (ret_)?type_id=[0-9]+/))
			to[id] = substr($0, RSTART, RLENGTH)
		sub(/.*=/, "", to[id])
		if ($2 == "FUNC" && part[2] in is_wanted)
			prototype[part[2]] = to[id]
		next
	}
	kind[id] == "FUNC_PROTO" {
		split($0, part, quote); sub(/.*type_id=/, "")
		parameter[id, ++count[id]] = part[2]; type[id, count[id]] = $1
	}
	function text(id)
	{
		if (id == 0 || kind[id] == "FUNC_PROTO") return "void"
		if (kind[id] == "PTR") return text(to[id]) " *"
		if (kind[id] == "CONST") return "const " text(to[id])
		if (kind[id] ~ /^(VOLATILE|RESTRICT|TYPE_TAG)$/) return text(to[id])
		if (kind[id] ~ /^(STRUCT|UNION|ENUM)$/) return tolower(kind[id]) " " title[id]
		return (kind[id] == "FWD" ? "struct " : "") title[id]
	}
	END {
		for (i = 1; i <= n; i++) {
			if (!(name[i] in prototype))
				continue
			id = prototype[name[i]]; list = count[id] ? "" : "void"
			for (k = 1; k <= count[id]; k++)
				list = list (k > 1 ? ", " : "") text(type[id, k]) " " parameter[id, k]
			print text(to[id]), name[i] "(" list ");"
		}
	}'
}

read_types()
{
	# shellcheck disable=SC2086 # lists
	pahole --btf_base="$base" -C "$(comma_list $structs)" "$work/ionic.ko" 2> /dev/null |
		parse_structs > "$work/types"
	# shellcheck disable=SC2086
	pahole -C "$(comma_list $kernel_structs)" "$base" 2> /dev/null |
		parse_structs > "$work/kernel-types"
	for name in $functions; do
		pfunct -F btf --btf_base="$base" -P -f "$name" "$work/ionic.ko" 2> /dev/null || true
	done > "$work/prototypes"
	# before dwarves 1.32 there may be no --btf_base
	if [ ! -s "$work/prototypes" ] && command -v bpftool > /dev/null; then
		{ bpftool btf dump file "$base" format raw &&
			bpftool --base-btf "$base" btf dump file "$work/ionic.ko" format raw; } 2> /dev/null |
			print_prototypes > "$work/prototypes"
	fi
	[ -s "$work/prototypes" ] ||
		cannot "pfunct finds no function in the BTF of $found: that of dwarves 1.32 does;" \
			"with an older one install bpftool"
}

# One line "X(a, b, ...) \" for each struct
emit_structs()
{
	for name in $1; do
		awk -v name="$name" '
		$1 == "struct" { here = $2 == name }
		here && $1 == "end" && $3 == $4 {
			printf "\tX(%s, %d, %d) \\\n", name, $2, $3; found = 1; exit
		}
		END { exit !found }' "$2" || cannot "$3 has no usable struct $name in its BTF"
	done
}

emit_members()
{
	for pair in $1; do
		awk -v name="${pair%:*}" -v member="${pair#*:}" '
		$1 == "struct" { here = $2 == name }
		here && $1 == "member" && $2 == member {
			printf "\tX(%s, %s, %d, %d, %d) \\\n", name, member, $3, $4, $5
			found = 1; exit
		}
		END { exit !found }' "$2" ||
			cannot "struct ${pair%:*} of $3 has no member ${pair#*:}: not a driver" \
				"that dvq_ionic knows"
	done
}

emit_functions()
{
	for name in $functions; do
		prototype=$(grep "[ *]$name(" "$work/prototypes") || continue
		printf '\tX(%s, %s) \\\n' "$name" "$(echo "$prototype" | parse_prototype)"
	done
}

emit_prototypes()
{
	for name in $functions; do
		grep "[ *]$name(" "$work/prototypes" || echo "$known_prototypes" | grep "[ *]$name("
	done
}

emit()
{
	cat <<- END
		/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
		/* Made by kernel/ionic/ethernet.sh from $found. */
		#ifndef DION_ETHERNET_BTF_H
		#define DION_ETHERNET_BTF_H

		/* X(struct, bytes, members); the kernel's own first */
		#define DION_BTF_STRUCTS(X) \\
	END
	emit_structs "$kernel_structs" "$work/kernel-types" "$base"
	emit_structs "$structs" "$work/types" "$found"
	printf '\n/* X(struct, member, index, offset, bytes) */\n#define DION_BTF_MEMBERS(X) \\\n'
	emit_members "$kernel_members" "$work/kernel-types" "$base"
	emit_members "$members" "$work/types" "$found"
	printf '\n/* X(function, parameters, mask of pointers) */\n'
	printf '#define DION_BTF_FUNCTIONS(X) \\\n'
	emit_functions
	printf '\nstruct ionic_lif;\nstruct ionic_intr_info;\nstruct ionic_admin_ctx;\n\n'
	emit_prototypes
	printf '\n#endif /* DION_ETHERNET_BTF_H */\n'
}

# Before 6.18 ionic.ko had nothing for an RDMA driver.
find_exports()
{
	for name in $functions bpf_find_btf_id; do
		grep -q "[[:space:]]${name}[[:space:]]" "$objtree/Module.symvers" 2> /dev/null ||
			cannot "kernel $release does not export $name, which an RDMA driver needs"
	done
}

find_exports
for tool in pahole pfunct; do
	command -v $tool > /dev/null || cannot "$tool is missing (Debian: apt-get install dwarves)"
done
find_module
find_base
unpack_module
LC_ALL=C grep -q '\.BTF' "$work/ionic.ko" || cannot "$found has no type information (BTF)"
read_types
emit > "$work/header"
[ "$check" ] || cat "$work/header"
