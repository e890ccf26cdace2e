// SPDX-License-Identifier: GPL-2.0
/* What dvq doctor has found, of many adapters. */
#include "../../tools/report.c"
#include "tap.h"

/* the one fault is the last of what 100 adapters have */
TEST(nothing_is_left_out)
{
	char subject[16];

	for (unsigned int i = 0; i < 100; i++) {
		snprintf(subject, sizeof(subject), "adapter%u", i);
		for (unsigned int layer = LAYER_ADAPTER; layer < LAYER_LIMITS; layer++)
			report(layer, STATE_OK, subject, NULL, "fine");
	}
	CHECK(!verdict());
	report(LAYER_LIMITS, STATE_BAD, "memlock", "more", "too little");
	CHECK(report_is_bad("memlock"));
	CHECK(verdict() == &findings[used - 1]);
	CHECK_EQ(used, 100 * LAYER_LIMITS + 1);
	free(findings);
}

TAP_MAIN
