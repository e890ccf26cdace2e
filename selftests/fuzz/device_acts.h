/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The DVQ_TRACE header of the library's targets: the device may act whenever the library looks
 * at a phase bit, also while it polls.
 */
#ifndef SELFTESTS_DEVICE_ACTS_H
#define SELFTESTS_DEVICE_ACTS_H

#include <stdint.h>

static void device_acts(uint64_t address);

#define dvq_trace_fence(name)			((void)0)
#define dvq_trace_store(address, bytes)		((void)0)
#define dvq_trace_doorbell(address, value)	((void)0)
#define dvq_trace_load(address)			device_acts(address)

#endif /* SELFTESTS_DEVICE_ACTS_H */
