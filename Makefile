# SPDX-License-Identifier: GPL-2.0
#
# Everything is built below $(OUT); the source tree stays clean. `make help` lists the targets.

ROOT	:= $(abspath $(dir $(lastword $(MAKEFILE_LIST))))
VM	:= $(ROOT)/selftests/vm

VERSION	:= $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' $(ROOT)/dkms.conf)

# The kernel whose headers the modules are built with, and where to.
KDIR	?= /lib/modules/$(shell uname -r)/build
OUT	?= $(ROOT)/build/host

# The guest's Debian release, and what to run in it.
SUITE	?= forky
PLANS	?=
BENCH	?=
# what make check-all is to check, all if empty: SUITE, SUITE:KERNEL or packages
ROWS	?=
# a kernel of the guest that is not the suite's own: cloud, backports, or a debug kernel, kasan, kcsan
KERNEL	?=
ADAPTERS ?= efa efa ionic

JOBS	?= $(shell nproc)

export ROOT

# What writes the manual pages, if it is there. All is made before make install, which is root and would leave what
# others cannot remove.
rst2man	= $(shell command -v rst2man || command -v rst2man.py)

all: modules tools $(if $(rst2man),man)

help:
	@sed -n 's/^## //p' $(ROOT)/Makefile

## make                  modules for the running kernel, the library and the command dvq, manual pages if there is rst2man
## make modules          modules; KDIR= names other kernel headers, OUT= another directory (build/host);
##                       of clang if the kernel is (LLVM= names a version of it)
## make library          libdvq and its pkg-config file
## make tools            the command dvq
## make man              the manual pages
## make install          all of them and the manual pages, depmod, ldconfig; prefix= and DESTDIR= as usual (root)
## make uninstall        removes what make install has put there, of modules those for KDIR's kernel (root)
## make install-programs the library and dvq of these, without modules; install-man, install-modprobe: the rest (root)
## make install-dkms     the modules' sources for DKMS, into /usr/src (root)
## make deb              Debian packages, into build/deb
##
## make demo             a guest with both adapters and the manual pages' calls (root)
## make check            style, native tests, tests in guests of SUITE= (forky); PLANS= picks some (root)
## make check-all        the same on every suite and kernel that dvq is for, then check-packages; ROWS="trixie
##                       bookworm:cloud" picks (root)
## make against          modules built for 7.3, the kernel of trixie-backports, as make style does (root)
## make check-packages   Debian packages are installed, booted, upgraded and purged on each suite; SUITE= picks one (root)
## make soak             adapters are pulled out a thousand times under load (root)
## make fuzz-uverbs      COUNT= (10000000) random uverbs calls on each kind of adapter (root)
## make bench            figures of speed and memory, a table and build/bench.json; BENCH= ("post control memory
##                       traffic") picks parts (root)
## make check-oracle     the models under the in-tree drivers (root)
## make check-debug      tests in guests whose kernels watch for misused memory, locks, leaks, races (root)
## make shell            a guest with ADAPTERS= ("efa efa ionic") and a prompt (root)
## make deps             installs the packages that the lab needs on this machine (root)
##
## make suite            modules, library and tests for SUITE=, into build/SUITE (root); with KERNEL=kasan or
##                       kcsan also the modules for that debug kernel, into build/SUITE-KERNEL
## make model            the model process, build/model/dvq-model
## make native           the tests that need no guest
## make fuzz             fuzzers, all that there are; those that need no guest: make fuzz-native, each target
##                       for FUZZ_SECONDS= (600)
## make style            shellcheck, sparse and the compiler's further warnings, all of them errors (root); for
##                       the kernel of SUITE=, or KERNEL=; of forky also by headers that look like older ones
## make leaks            what depends on the kernel outside kernel/compat: nothing may
## make clean            removes build/ (images of guests stay in /var/cache/dvq)
##
## Tests on hardware: make -C selftests run_tests DVQ_DEV=NAME (Documentation/selftests.rst)

# ---- building ---------------------------------------------------------------------------------------

# Kbuild writes next to the sources (a directory of its own it knows only from 6.13 on): so they are
# links in a directory of ours. Links to files that are gone go.
TREE	:= $(OUT)/kernel

# A kernel that clang has built takes modules of clang only. LLVM= says which clang, as of the kernel's own
# make (LLVM=1, LLVM=-19).
ifeq ($(origin LLVM),undefined)
LLVM	:= $(shell grep -sqx CONFIG_CC_IS_CLANG=y $(KDIR)/include/config/auto.conf && echo 1)
endif
kbuild	= $(MAKE) -C $(KDIR) M=$(TREE) $(if $(LLVM),LLVM=$(LLVM))

tree:
	@[ -e $(KDIR)/Makefile ] || { \
		echo "no kernel headers in $(KDIR): install linux-headers-$$(uname -r), or set KDIR=" >&2; \
		exit 1; }
	@mkdir -p $(TREE)
	@find $(TREE) -xtype l -delete
	@cp -rsf $(ROOT)/Kbuild $(ROOT)/kernel $(ROOT)/include $(ROOT)/dkms.conf $(TREE)/

modules: tree
	$(kbuild) modules

# Mistakes on purpose, for debug kernels: never installed.
planted:
	@mkdir -p $(OUT)/planted
	@cp -rsf $(VM)/planted/Kbuild $(VM)/planted/planted.c $(OUT)/planted/
	$(MAKE) -C $(KDIR) M=$(OUT)/planted modules

library:
	$(MAKE) -C $(ROOT)/lib O=$(OUT)/lib

tools: library
	$(MAKE) -C $(ROOT)/tools O=$(OUT)/tools LIBDVQ=$(OUT)/lib

man:
	$(MAKE) -C $(ROOT)/Documentation/man O=$(OUT)/man

tests: library tools
	$(MAKE) -C $(ROOT)/selftests OUT=$(OUT)

benches: library
	$(MAKE) -C $(ROOT)/selftests OUT=$(OUT) benches

# Tests that are modules: only for guests.
TEST_TREE := $(OUT)/test_modules

test_modules: tree
	@mkdir -p $(TEST_TREE)
	@cp -rsf $(ROOT)/selftests/kernel/. $(TEST_TREE)/
	$(MAKE) -C $(KDIR) M=$(TEST_TREE) modules

model:
	$(MAKE) -C $(ROOT)/selftests/model

native: model
	$(MAKE) -C $(ROOT)/selftests/model tests
	$(MAKE) -C $(ROOT)/selftests/native
	$(MAKE) -C $(ROOT)/selftests/fuzz

# ---- installing -------------------------------------------------------------------------------------

prefix	?= /usr/local
modprobedir ?= $(prefix)/lib/modprobe.d
srcdir	?= /usr/src

in_lib	= $(MAKE) -C $(ROOT)/lib O=$(OUT)/lib
in_tools = $(MAKE) -C $(ROOT)/tools O=$(OUT)/tools LIBDVQ=$(OUT)/lib
in_man	= $(MAKE) -C $(ROOT)/Documentation/man O=$(OUT)/man
# Debian 12 has another one in kernel.release.
release	= $(or $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h 2> /dev/null),$(shell uname -r))
is_live	= [ -n "$(DESTDIR)" ] ||

install: $(if $(DESTDIR),,root) modules install-programs install-modprobe
	$(kbuild) INSTALL_MOD_PATH=$(DESTDIR) INSTALL_MOD_DIR=updates modules_install
	@$(if $(rst2man),$(MAKE) install-man,echo "no manual pages: install rst2man (python3-docutils), then make install-man")
	$(is_live) depmod $(release)

install-programs: tools
	$(in_lib) install
	$(in_tools) install
	$(is_live) ldconfig

install-man:
	$(in_man) install

# which driver comes first where the kernel has one of its own
install-modprobe:
	install -d $(DESTDIR)$(modprobedir)
	install -m 644 $(ROOT)/kernel/efa/modprobe.conf $(DESTDIR)$(modprobedir)/dvq_efa.conf
	install -m 644 $(ROOT)/kernel/ionic/modprobe.conf $(DESTDIR)$(modprobedir)/dvq_ionic.conf

# What DKMS calls modules: dvq, and dvq-ionic, each with all that it takes to build them.
install-dkms: $(if $(DESTDIR),,root)
	$(call dkms_sources,dvq,efa,dkms.conf)
	$(call dkms_sources,dvq-ionic,ionic,kernel/ionic/dkms.conf)

define dkms_sources
	rm -rf $(DESTDIR)$(srcdir)/$1-$(VERSION)
	install -d $(DESTDIR)$(srcdir)/$1-$(VERSION)
	cd $(ROOT) && cp -r --parents Kbuild kernel/core kernel/compat kernel/$2 include/hw include/uapi \
		$(DESTDIR)$(srcdir)/$1-$(VERSION)
	cd $(DESTDIR)$(srcdir)/$1-$(VERSION)/kernel && rm -f $2/dkms.conf $2/modprobe.conf compat/leaks
	install -m 644 $(ROOT)/$3 $(DESTDIR)$(srcdir)/$1-$(VERSION)/dkms.conf
endef

uninstall: $(if $(DESTDIR),,root)
	rm -f $(foreach name,dvq dvq_efa dvq_ionic,$(DESTDIR)/lib/modules/$(release)/updates/$(name).ko \
		$(DESTDIR)/lib/modules/$(release)/updates/$(name).ko.*)
	rmdir $(DESTDIR)/lib/modules/$(release)/updates 2> /dev/null || true	# unless others have modules there
	rm -f $(DESTDIR)$(modprobedir)/dvq_efa.conf $(DESTDIR)$(modprobedir)/dvq_ionic.conf
	$(in_tools) uninstall
	$(in_lib) uninstall
	$(in_man) uninstall
	$(is_live) { [ ! -d /lib/modules/$(release) ] || depmod $(release); }	# a container has none
	$(is_live) ldconfig

# Beside a copy of the source tree, as dpkg-buildpackage leaves what it makes one directory further up.
DEB	:= $(ROOT)/build/deb
deb:
	@command -v dpkg-checkbuilddeps > /dev/null && cd $(ROOT) && dpkg-checkbuilddeps || { \
		echo "make deb needs more packages: run 'apt-get build-dep $(ROOT)' as root" >&2; exit 1; }
	rm -rf $(DEB)
	mkdir -p $(DEB)/dvq-$(VERSION)
	tar -C $(ROOT) --exclude=./build --exclude=./.git -c . | tar -C $(DEB)/dvq-$(VERSION) -x
	cd $(DEB)/dvq-$(VERSION) && env -u MAKEFLAGS -u MAKEOVERRIDES -u MFLAGS -u ROOT dpkg-buildpackage --build=binary --no-sign
	rm -rf $(DEB)/dvq-$(VERSION)
	@ls $(DEB)/*.deb

clean:
	rm -rf $(ROOT)/build

# ---- the lab ----------------------------------------------------------------------------------------

root:
	@[ "$$(id -u)" = 0 ] || { echo "run as root: make $(MAKECMDGOALS)" >&2; exit 1; }

deps: root
	@$(VM)/deps

# make in the suite's root tree, with its kernel's headers. One at a time: two would write the same files.
in_suite = @mkdir -p $(ROOT)/build && \
	flock $(ROOT)/build/$(SUITE).lock $(VM)/inroot $(SUITE) -- \
		sh -euc '$(cross-$(arch)) exec make -j $(JOBS) KDIR=$$(echo /lib/modules/*/build) "$$@"' make

# A suite of another architecture than this machine's has its compiler in the root tree and its own tree below it.
arch := $(shell sed -n 's/^arch=//p' $(VM)/suites/$(SUITE) 2>/dev/null)
cross-arm64 = export IONIC_KO=$$(echo /foreign/usr/lib/modules/*/$(ionic_ko:modules/%=%)); \
	set -- ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- AR=aarch64-linux-gnu-ar \
		CC="aarch64-linux-gnu-gcc --sysroot=/foreign" "$$@";

# make against the kernel KERNEL; with the suite's compiler, whichever the headers name.
ionic_ko = modules/kernel/drivers/net/ethernet/pensando/ionic/ionic.ko
in_kernel = @kernel=$$($(VM)/kernel $(KERNEL) $(SUITE)) && \
	flock $(ROOT)/build/$(SUITE)-$(KERNEL).lock flock --shared $$kernel/release \
		$(VM)/inroot $(SUITE) --bind $$kernel:/mnt $$([ ! -d $$kernel/src ] || echo --bind $$kernel/src:/usr/src) -- \
			env IONIC_KO=/mnt/$(ionic_ko) make -j $(JOBS) CC=gcc KDIR=/mnt/build

suite: deps
	$(in_suite) OUT=/dvq/build/$(SUITE) modules tests test_modules
	$(if $(KERNEL),$(in_kernel) OUT=/dvq/build/$(SUITE)-$(KERNEL) modules test_modules $(if $(wildcard $(VM)/debug.d/$(KERNEL).config),planted))
	$(if $(KERNEL),@cd $(ROOT)/build/$(SUITE)-$(KERNEL) && ln -sfn -t . ../$(SUITE)/lib ../$(SUITE)/selftests \
		../$(SUITE)/tools)

demo: deps
	$(MAKE) -j $(JOBS) model
	$(MAKE) suite
	@$(VM)/demo $(SUITE)

check: deps
	@$(VM)/deps python3-docutils man-db
	$(MAKE) style
	$(MAKE) -j $(JOBS) native
	$(MAKE) suite
	@$(VM)/check --suite $(SUITE) $(PLANS)

# The plans whose modules are the oracle's.
check-oracle: deps
	$(MAKE) -j $(JOBS) model
	$(MAKE) suite
	@$(VM)/oracle $(SUITE)
	@$(VM)/check --suite $(SUITE) --oracle

check-packages: deps
	$(MAKE) -j $(JOBS) model
	@$(VM)/packages $(if $(filter-out file default,$(origin SUITE)),$(SUITE))

# With the in-tree drivers, with which dvq is compared.
bench: deps
	$(MAKE) -j $(JOBS) model
	$(in_suite) OUT=/dvq/build/$(SUITE) modules benches
	@$(VM)/oracle $(SUITE)
	@$(ROOT)/selftests/bench/run --suite $(SUITE) $(BENCH)

soak: deps
	$(MAKE) -j $(JOBS) model
	$(MAKE) suite
	@$(VM)/check --suite $(SUITE) --group soak

fuzz-uverbs: deps
	$(MAKE) -j $(JOBS) model
	$(MAKE) suite KERNEL=kasan
	@$(VM)/fuzz --suite $(SUITE) $(if $(COUNT),--count $(COUNT)) $(if $(DVQ_SEED),--seed $(DVQ_SEED))

# Every plan on a kernel that watches, and those with races on one that finds them.
check-debug: deps
	$(MAKE) -j $(JOBS) model
	$(MAKE) suite KERNEL=kasan
	$(MAKE) suite KERNEL=kcsan
	@$(VM)/check --suite $(SUITE) --debug $(PLANS)

check-all: deps
	$(MAKE) -j $(JOBS) model native
	@$(VM)/check-all $(ROWS)

against:
	$(MAKE) style-modules KERNEL=backports

shell: deps
	$(MAKE) -j $(JOBS) model
	$(MAKE) suite
	@$(VM)/run --suite $(SUITE) --cpus 4 --load dvq $(ADAPTERS:%=--adapter %) --shell

# What of the modules' source depends on the kernel outside kernel/compat.
leaks:
	@$(ROOT)/kernel/compat/leaks

style: deps leaks style-modules $(if $(filter forky,$(SUITE)$(KERNEL)),style-older)
	@$(VM)/deps shellcheck
	shellcheck $$(grep -lrE '^#!/bin/(ba)?sh|^#!/bin/busybox' $(ROOT)/selftests $(ROOT)/kernel $(ROOT)/debian $(ROOT)/.ci)

# Not C=1: the headers lack the script by which it would find out that sparse works. The sparse of Debian 13 cannot
# read the headers of 7.3 (no __typeof_unqual__); that of testing does, for the same kernel (KERNEL=backports).
row := $(SUITE)$(if $(KERNEL),-$(KERNEL))
sparse := $(if $(filter trixie-backports,$(row)),,KBUILD_CHECKSRC=1 CF=-Wsparse-error)

style-modules: deps
	rm -rf $(ROOT)/build/style/$(row)
	$(if $(KERNEL),$(in_kernel),$(in_suite)) OUT=/dvq/build/style/$(row) W=1 KCFLAGS=-Werror $(sparse) modules

# What nobody has a kernel for: 6.18 to 7.1, by headers that look like theirs.
style-older: deps
	rm -rf $(ROOT)/build/style/older
	@mkdir -p $(ROOT)/build && flock $(ROOT)/build/forky.lock $(VM)/inroot forky -- /dvq/selftests/vm/older \
		make -j $(JOBS) OUT=/dvq/build/style/older W=1 KCFLAGS=-Werror KBUILD_CHECKSRC=1 CF=-Wsparse-error modules

# Hostile guests, devices and kernels in one process. Not part of check, which plays what was found.
fuzz: fuzz-native fuzz-uverbs

fuzz-native: deps
	@$(VM)/deps clang libclang-rt-dev
	$(MAKE) -j $(JOBS) -C $(ROOT)/selftests/fuzz all fuzzers
	@$(ROOT)/selftests/fuzz/run

.PHONY: all help root tree modules planted library tools man tests benches test_modules model native fuzz fuzz-native fuzz-uverbs \
	install install-programs install-man install-modprobe install-dkms uninstall deb clean deps suite \
	check check-all check-packages check-oracle check-debug against bench demo shell soak style style-modules style-older leaks
