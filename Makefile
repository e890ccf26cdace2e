# SPDX-License-Identifier: GPL-2.0
#
# Everything is built below $(OUT); the source tree stays clean. `make help` lists the targets.

ROOT	:= $(abspath $(dir $(lastword $(MAKEFILE_LIST))))
VM	:= $(ROOT)/selftests/vm

# The kernel whose headers the modules are built with, and where to.
KDIR	?= /lib/modules/$(shell uname -r)/build
OUT	?= $(ROOT)/build/host

# The guest's Debian release, and what to run in it.
SUITE	?= forky
PLANS	?=
# a kernel of the guest that is not the suite's own: cloud, backports, or a debug kernel, kasan, kcsan
KERNEL	?=
ADAPTERS ?= efa efa ionic

JOBS	?= $(shell nproc)

export ROOT

all: modules tools

help:
	@sed -n 's/^## //p' $(ROOT)/Makefile

## make                  modules for the running kernel, the library and the command dvq
## make modules          modules; KDIR= names other kernel headers, OUT= another directory (build/host);
##                       of clang if the kernel is (LLVM= names a version of it)
## make library          libdvq and its pkg-config file
## make tools            the command dvq
## make install          all of them, depmod and ldconfig; prefix= and DESTDIR= as usual (root)
##
## make demo             a guest with both adapters and the manual pages' calls (root)
## make check            style, native tests, tests in guests of SUITE= (forky); PLANS= picks some (root)
## make check-all        the same on every suite, and make against (root)
## make against          modules built for 7.3, the kernel of trixie-backports (root)
## make soak             adapters are pulled out a thousand times under load (root)
## make fuzz-uverbs      COUNT= (10000000) random uverbs calls on each kind of adapter (root)
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
##                       the kernel of SUITE=, or KERNEL=
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
	@cp -rsf $(ROOT)/Kbuild $(ROOT)/kernel $(ROOT)/include $(wildcard $(ROOT)/debian) $(TREE)/

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

tests: library tools
	$(MAKE) -C $(ROOT)/selftests OUT=$(OUT)

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

install: root modules tools
	$(kbuild) INSTALL_MOD_PATH=$(DESTDIR) modules_install
	$(MAKE) -C $(ROOT)/lib O=$(OUT)/lib install
	$(MAKE) -C $(ROOT)/tools O=$(OUT)/tools LIBDVQ=$(OUT)/lib install
	[ -n "$(DESTDIR)" ] || ldconfig

clean:
	rm -rf $(ROOT)/build

# ---- the lab ----------------------------------------------------------------------------------------

root:
	@[ "$$(id -u)" = 0 ] || { echo "run as root: make $(MAKECMDGOALS)" >&2; exit 1; }

deps: root
	@$(VM)/deps

# make in the suite's root tree, with its kernel's headers. One at a time: two would write the same files.
in_suite = @mkdir -p $(ROOT)/build && \
	release=$$(cat $$($(VM)/image $(SUITE))/release) && \
	flock $(ROOT)/build/$(SUITE).lock $(VM)/inroot $(SUITE) -- make -j $(JOBS) \
		KDIR=/lib/modules/$$release/build

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
	@for suite in $(notdir $(wildcard $(VM)/suites/*)); do \
		$(MAKE) check SUITE=$$suite || failed="$$failed $$suite"; \
	done; \
	$(MAKE) against || failed="$$failed against"; \
	[ -z "$$failed" ] || { echo "failed on:$$failed" >&2; exit 1; }

against: deps
	@$(VM)/against

shell: deps
	$(MAKE) -j $(JOBS) model
	$(MAKE) suite
	@$(VM)/run --suite $(SUITE) --cpus 4 --load dvq $(ADAPTERS:%=--adapter %) --shell

# What of the modules' source depends on the kernel outside kernel/compat.
leaks:
	@$(ROOT)/kernel/compat/leaks

# Not C=1: the headers lack the script by which it would find out that sparse works.
style: deps leaks
	@$(VM)/deps shellcheck
	shellcheck $$(grep -lrE '^#!/bin/(ba)?sh|^#!/bin/busybox' $(ROOT)/selftests $(ROOT)/kernel $(ROOT)/.ci)
	rm -rf $(ROOT)/build/style
	$(if $(KERNEL),$(in_kernel),$(in_suite)) OUT=/dvq/build/style W=1 KBUILD_CHECKSRC=1 KCFLAGS=-Werror \
		CF=-Wsparse-error modules

# Hostile guests, devices and kernels in one process. Not part of check, which plays what was found.
fuzz: fuzz-native fuzz-uverbs

fuzz-native: deps
	@$(VM)/deps clang libclang-rt-dev
	$(MAKE) -j $(JOBS) -C $(ROOT)/selftests/fuzz all fuzzers
	@$(ROOT)/selftests/fuzz/run

.PHONY: all help root tree modules planted library tests test_modules model native fuzz fuzz-native fuzz-uverbs install clean deps suite \
	check check-all check-oracle check-debug against demo shell soak style leaks
