/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers that look random; what @state begins with decides all of them, so that a run can be repeated. */
#ifndef SELFTESTS_DICE_H
#define SELFTESTS_DICE_H

#include <stdbool.h>
#include <stdint.h>

/* 31 bits; the low ones of the state itself would repeat soon */
static inline uint32_t dice(uint64_t *state)
{
	*state = *state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(*state >> 33);
}

static inline bool dice_one_in(uint64_t *state, uint32_t n)
{
	return !(dice(state) % n);
}

#endif /* SELFTESTS_DICE_H */
