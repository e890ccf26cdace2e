# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Packages of any Debian archive, without the host's apt knowing of it. Sourced, never run.

mirror()
{
	local uri=${DVQ_MIRROR:-}

	[ -n "$uri" ] || uri=$(apt-get indextargets --format "\$(REPO_URI)" 'Created-By: Packages' \
		'Origin: Debian' 'Label: Debian' 'Component: main' | head -n 1)
	[ -n "$uri" ] || die "apt knows no Debian mirror: run 'apt-get update', or set DVQ_MIRROR"
	echo "$uri"
}

# use_archive ARCHIVE DIRECTORY ARCHITECTURE: from here on apt knows the packages of that archive, and keeps
# its lists in DIRECTORY
use_archive()
{
	local uri

	mkdir -p "$2/lists/partial" "$2/archives/partial"
	unset APT_CONFIG
	uri=$(mirror)
	cat > "$2/conf" <<-END
		Dir::State "$2";
		Dir::State::status "$2/status";
		Dir::State::Lists "$2/lists";
		Dir::Cache "$2";
		Dir::Etc::sourcelist "$2/sources.list";
		Dir::Etc::sourceparts "/nonexistent";
		APT::Architecture "$3";
		APT::Architectures "$3";
		APT::Sandbox::User "root";
		Acquire::Check-Valid-Until "false";
		Acquire::Languages "none";
		Acquire::Retries "5";
	END
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $1 main" > "$2/sources.list"
	: > "$2/status"
	export APT_CONFIG=$2/conf
	retry 3 apt-get -q -q update || die "no package lists of $1"
}

# get_packages DIRECTORY PACKAGE...: unpacked there; their scripts do not run
get_packages()
{
	local dir=$1 deb

	shift
	mkdir -p "$dir"
	(
		cd "$dir"
		retry 3 apt-get -q -q download "$@"
		for deb in ./*.deb; do
			dpkg-deb --extract "$deb" .
		done
		rm ./*.deb
	)
}
