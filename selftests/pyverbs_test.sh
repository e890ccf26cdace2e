#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# rdma-core's own Python tests, as the distribution packages them, on the adapter under test.
# Arguments are names of tests as they are printed, with "tests." before them.

here=${BASH_SOURCE[0]%/*}
. "$here/lib/tap.sh"
. "$here/lib/adapter.sh"

packaged=/usr/share/doc/rdma-core/tests

need_adapter any
[ -d "$packaged" ] || skip_all "no $packaged: install rdma-core with its documentation"
python3 -c 'import pyverbs' 2> /dev/null || skip_all 'no pyverbs: install python3-pyverbs'

# Some tests take huge pages if there are any.
[ ! -w /proc/sys/vm/nr_hugepages ] || echo 8 > /proc/sys/vm/nr_hugepages

# Distributions compress what they call documentation.
work=$(mktemp -d /tmp/dvq-pyverbs.XXXXXX)
trap 'rm -rf "$work"' EXIT
cp -r "$packaged" "$work/tests"
find "$work/tests" -name '*.gz' -exec gunzip {} +

"$here/lib/pyverbs_tap.py" "$work/tests" "$self" "$here/pyverbs-skips-$kind" --seed "${DVQ_SEED:-1}" "$@"
