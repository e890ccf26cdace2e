// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * QPs and CQs of user space by uid.
 *
 * A library that keeps something about an object of another library asks here whether the
 * object is still there. By handle it would hold the object while it asks, and the
 * ibv_destroy_qp() of another thread would fail with EBUSY.
 */
#include <linux/atomic.h>
#include <linux/hashtable.h>
#include <linux/spinlock.h>

#include "core.h"

static DEFINE_SPINLOCK(lock);	/* protects the table */
static DEFINE_HASHTABLE(table, 8);

/* Of all devices together: a uid names one object, whichever device it is of. */
void dvq_uid_init(struct dvq_uid *uid, struct dvq_ucontext *ctx)
{
	static atomic64_t last;

	uid->number = atomic64_inc_return(&last);
	uid->ctx = ctx;
	/* Nobody asks for the kernel's. */
	INIT_HLIST_NODE(&uid->node);
	if (!ctx)
		return;
	spin_lock(&lock);
	hash_add(table, &uid->node, uid->number);
	spin_unlock(&lock);
}

void dvq_uid_cleanup(struct dvq_uid *uid)
{
	spin_lock(&lock);
	hash_del(&uid->node);
	spin_unlock(&lock);
}

bool dvq_uid_is_alive(u64 number, const struct dvq_ucontext *ctx)
{
	const struct dvq_uid *uid;
	bool alive = false;

	spin_lock(&lock);
	hash_for_each_possible(table, uid, node, number) {
		if (uid->number == number && uid->ctx == ctx) {
			alive = true;
			break;
		}
	}
	spin_unlock(&lock);
	return alive;
}
