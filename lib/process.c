// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Which process this is. A child of fork() has none of the library's mappings, so nothing of its
 * parent's is its business; and another thread of the parent may have held a lock. There is no
 * hook of forks, which would be everybody's: who comes first in a child sees that it is
 * one, by a page that the kernel hands to children as zeros. A child that shares the memory
 * of its parent, as that of vfork() does, is no other process in this.
 */
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

enum seen {
	UNSEEN,		/* zero, as the kernel leaves it */
	BEING_SEEN,
	SEEN,
};

static uint32_t *page;

/* NULL: there is no such memory, and children are not told apart */
static uint32_t *make_page(void)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	uint32_t *mine, *old = NULL;

	mine = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mine == MAP_FAILED)
		return NULL;
	*mine = SEEN;
	if (!madvise(mine, size, MADV_WIPEONFORK) &&
	    __atomic_compare_exchange_n(&page, &old, mine, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return mine;
	munmap(mine, size);
	return old;
}

void dvq_see_process(void)
{
	uint32_t *seen = __atomic_load_n(&page, __ATOMIC_ACQUIRE);
	uint32_t before = UNSEEN;

	if (!seen)
		seen = make_page();
	if (!seen || __atomic_load_n(seen, __ATOMIC_ACQUIRE) == SEEN)
		return;
	if (__atomic_compare_exchange_n(seen, &before, BEING_SEEN, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED)) {
		dvq_mapping_in_child();
		dvq_takeover_in_child();
		dvq_ionic_wq_in_child();
		dvq_ionic_dv_in_child();
		dvq_stock_in_child();
		dvq_efadv_in_child();
		__atomic_store_n(seen, SEEN, __ATOMIC_RELEASE);
	}
	/* another thread of the child is at it */
	while (__atomic_load_n(seen, __ATOMIC_ACQUIRE) != SEEN)
		sched_yield();
}
