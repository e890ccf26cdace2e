/* SPDX-License-Identifier: GPL-2.0 */
/* What both targets of the EFA model share: its forms, and getting well again. */
#ifndef SELFTESTS_FUZZ_EFA_H
#define SELFTESTS_FUZZ_EFA_H

#include <endian.h>

#include "fuzz_model.h"
#include "test_efa.h"

static inline const char *efa_options_of(struct fuzz *f)
{
	static const char *const options[] = {
		"", "mode=strict", "doorbell=poll", "newest=1", "profile=efa1",
		"mbz=lax newest=1", "mbz=lax mode=strict qpn_reuse=1 flush_on_destroy=1",
		"profile=efa2 cq_doorbells=0",
	};

	return options[fuzz8(f) % (sizeof(options) / sizeof(options[0]))];
}

/* from wherever it is to a working adapter with nothing left of what was */
static inline void efa_recovers(struct drv *drv)
{
	static const char *const gone[] = { "qp", "cq", "mr", "mr_pages", "ah", "pd",
					     "uar", "eq", "counter" };

	fuzz_calm(&drv->host, 2000);
	drv_set_resp(drv);
	FUZZ_CHECK(drv_reset(drv, EFA_RESET_GENERIC));
	FUZZ_CHECK(!test_control(drv->dev, "stats"));
	for (unsigned int i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		FUZZ_CHECK(!test_answer_number(gone[i]));
	drv_start_queues(drv);
	FUZZ_CHECK(!drv_alloc_pd(drv, &drv->pd));
}

#endif /* SELFTESTS_FUZZ_EFA_H */
