// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Before 7.3 there are no completion counters. */
#include <rdma/uverbs_ioctl.h>

#include "../efa/efa.h"

void efa_set_comp_cntr_ops(struct efa_dev *dev)
{
}

const struct uapi_definition efa_comp_cntr_defs[] = {
	{},
};
