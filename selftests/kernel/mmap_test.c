// SPDX-License-Identifier: GPL-2.0
/*
 * An mmap() of ring memory that does not come to its end: what it holds when the queue goes meanwhile.
 * lifetime_test says what to do by the parameters:
 *
 *	echo 1 > hold	the next mapping that this process makes keeps its reference of the mmap entry, as if
 *			it were still at work, and the pages that it inserts are remembered, not held
 *	cat pages	how many, and the least and greatest count of references of one
 *	echo 0 > hold	it lets go
 *	cat pages	the same, of what it has left behind
 */
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <rdma/ib_verbs.h>

#define MAX_PAGES	64

static DEFINE_MUTEX(lock);	/* protects @watching; the probes have the rest while it is set */
static bool watching;
static pid_t watched;
static struct rdma_user_mmap_entry *held;
static struct page *pages[MAX_PAGES];
static unsigned int num_pages;
static int least, most;

/* the last thing of an mmap(), be it done or not */
static int before_put(struct kprobe *probe, struct pt_regs *regs)
{
	struct rdma_user_mmap_entry *entry = (void *)regs_get_kernel_argument(regs, 0);

	if (current->tgid == watched && !held) {
		kref_get(&entry->ref);
		held = entry;
	}
	return 0;
}

static int before_insert(struct kprobe *probe, struct pt_regs *regs)
{
	struct page *page = (void *)regs_get_kernel_argument(regs, 2);

	if (current->tgid == watched && !held && num_pages < MAX_PAGES)
		pages[num_pages++] = page;
	return 0;
}

static struct kprobe put_probe = {
	.symbol_name = "rdma_user_mmap_entry_put", .pre_handler = before_put,
};
static struct kprobe insert_probe = {
	.symbol_name = "vm_insert_page", .pre_handler = before_insert,
};
static struct kprobe *probes[] = { &put_probe, &insert_probe };

static int watch(void)
{
	watched = current->tgid;
	num_pages = 0;
	return register_kprobes(probes, ARRAY_SIZE(probes));
}

static void count_references(void)
{
	unsigned int i;

	least = INT_MAX;
	most = 0;
	for (i = 0; i < num_pages; i++) {
		least = min(least, page_count(pages[i]));
		most = max(most, page_count(pages[i]));
	}
}

static void let_go(void)
{
	unsigned int i, kept = 0;

	unregister_kprobes(probes, ARRAY_SIZE(probes));
	/* Else they could be somebody else's by the time they are looked at. */
	while (kept < num_pages && get_page_unless_zero(pages[kept]))
		kept++;
	if (held)
		rdma_user_mmap_entry_put(held);
	held = NULL;
	count_references();
	least--;
	most--;
	for (i = 0; i < kept; i++)
		put_page(pages[i]);
	/* or they cannot be registered again, or would not work */
	put_probe.addr = NULL;
	put_probe.flags = 0;
	insert_probe.addr = NULL;
	insert_probe.flags = 0;
}

static int set_hold(const char *value, const struct kernel_param *param)
{
	bool want;
	int ret;

	ret = kstrtobool(value, &want);
	if (ret)
		return ret;
	mutex_lock(&lock);
	if (want && !watching)
		ret = watch();
	else if (!want && watching)
		let_go();
	if (!ret)
		watching = want;
	mutex_unlock(&lock);
	return ret;
}

static int get_hold(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%d\n", held ? 1 : 0);
}

static const struct kernel_param_ops hold_ops = { .set = set_hold, .get = get_hold };
module_param_cb(hold, &hold_ops, NULL, 0600);

static int get_pages_of_it(char *buffer, const struct kernel_param *param)
{
	if (watching)
		count_references();
	return sysfs_emit(buffer, "%u %d %d\n", num_pages, least, most);
}

static const struct kernel_param_ops pages_ops = { .get = get_pages_of_it };
module_param_cb(pages, &pages_ops, NULL, 0400);

static int __init mmap_test_init(void)
{
	return 0;
}

static void __exit mmap_test_exit(void)
{
	if (watching)
		let_go();
}

module_init(mmap_test_init);
module_exit(mmap_test_exit);

MODULE_DESCRIPTION("Tests of mappings that are being made");
MODULE_LICENSE("GPL");
