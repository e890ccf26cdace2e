// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Protection domains: a number that the device compares, nothing that it knows of. */
#include <rdma/uverbs_ioctl.h>

#include "dion.h"

int dion_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct dion_pd *pd = to_dion_pd(ibpd);
	int ret;

	ret = ib_no_udata_io(udata);
	if (ret)
		return ret;
	ret = dion_numbers_get(&to_dion_dev(ibpd->device)->pds, GFP_KERNEL);
	if (ret < 0)
		return ret;
	pd->id = ret;
	atomic_set(&pd->windows_made, 0);
	atomic_set(&pd->windows_gone, 0);
	dvq_pd_init(&pd->dvq);
	return 0;
}

int dion_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct dion_pd *pd = to_dion_pd(ibpd);

	dvq_pd_cleanup(&pd->dvq);
	dion_numbers_put(&to_dion_dev(ibpd->device)->pds, pd->id);
	return 0;
}
