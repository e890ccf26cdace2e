#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# perftest and ibv_ud_pingpong between two machines with an EFA adapter each. Both run this script.

. "${BASH_SOURCE[0]%/*}/lib/tap.sh"
. "${BASH_SOURCE[0]%/*}/lib/adapter.sh"
. "${BASH_SOURCE[0]%/*}/lib/pair.sh"

test_ud_pingpong() { pair ibv_ud_pingpong -g 0 -n 100 -s 1024 -c; }
test_send_lat_ud() { pair ib_send_lat -x 0 -F -c UD -n 200 -s 64; }
test_send_lat_srd() { pair ib_send_lat -x 0 -F -c SRD -n 200 -s 64; }
test_send_bw_srd() { pair ib_send_bw -x 0 -F -c SRD -n 200 -s 4096; }
test_write_bw_srd() { pair ib_write_bw -x 0 -F -c SRD -n 200 -s 65536; }
test_read_bw_srd() { pair ib_read_bw -x 0 -F -c SRD -n 200 -s 65536; }

need_adapter efa
need_pair
tap_run "$@"
