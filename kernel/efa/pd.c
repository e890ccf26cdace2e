// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Protection domains. */
#include <rdma/uverbs_ioctl.h>

#include "cmd.h"
#include "efa.h"

static_assert(sizeof(struct dvq_efa_pd_resp) == 8);

int efa_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct efa_dev *dev = to_efa_dev(ibpd->device);
	struct efa_pd *pd = to_efa_pd(ibpd);
	struct dvq_efa_pd_resp resp = {};
	int ret;

	ret = ib_is_udata_in_empty(udata);
	if (ret)
		goto err_count;
	ret = efa_cmd_alloc_pd(dev, &pd->pdn);
	if (ret)
		goto err_count;
	dvq_pd_init(&pd->dvq);
	mutex_init(&pd->ah_lock);
	pd->ahs = RB_ROOT;

	resp.pdn = pd->pdn;
	ret = udata ? ib_respond_udata(udata, resp) : 0;
	if (ret)
		goto err_dealloc;
	return 0;

err_dealloc:
	efa_cmd_dealloc_pd(dev, pd->pdn);
err_count:
	efa_count_error(dev, EFA_STAT_ALLOC_PD);
	return ret;
}

/*
 * In this and the other destroy ops @udata is not read from: when the core takes back
 * what it has just created, it is that of the creation.
 */
int efa_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct efa_pd *pd = to_efa_pd(ibpd);

	efa_cmd_dealloc_pd(to_efa_dev(ibpd->device), pd->pdn);
	mutex_destroy(&pd->ah_lock);
	dvq_pd_cleanup(&pd->dvq);
	return 0;
}
