// SPDX-License-Identifier: GPL-2.0
/*
 * Mistakes on purpose, one of each kind that a debug kernel is there to report. A word written to
 * /sys/module/planted/parameters/bug makes the mistake of that name. For selftests/vm/planted/test; never
 * installed.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/vmalloc.h>

#define SIZE	48	/* bytes of an object */

/* the optimizer does not see through it */
static volatile unsigned int zero;

static void planted_use_after_free(void)
{
	char *object = kzalloc(SIZE, GFP_KERNEL);

	if (!object)
		return;
	kfree(object);
	WRITE_ONCE(object[zero], 1);
}

static void planted_out_of_bounds(void)
{
	char *object = kzalloc(SIZE, GFP_KERNEL);

	if (!object)
		return;
	WRITE_ONCE(object[SIZE + zero], 1);
	kfree(object);
}

static void planted_out_of_vmalloc(void)
{
	char *object = vmalloc(SIZE);

	if (!object)
		return;
	WRITE_ONCE(object[SIZE + zero], 1);
	vfree(object);
}

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

/* One after the other, so that nobody ever waits: only the order is wrong. */
static void planted_lock_order(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);

	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static DEFINE_SPINLOCK(lock);

static void planted_sleep_in_atomic(void)
{
	spin_lock(&lock);
	might_sleep();
	spin_unlock(&lock);
}

/* Several: a stale pointer on some stack may hide one. */
static void planted_leak(void)
{
	int i;

	for (i = 0; i < 8; i++) {
		char *object = kmalloc(SIZE, GFP_KERNEL);

		if (object)
			WRITE_ONCE(object[0], 'l');
	}
}

static void planted_shift(void)
{
	pr_info("shifted: %d\n", 1 << (40 + zero));
}

static void planted_expired(struct timer_list *timer)
{
}

static void planted_active_timer(void)
{
	struct timer_list *timer = kzalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, planted_expired, 0);
	mod_timer(timer, jiffies + HZ);
	kfree(timer);
}

/* Half of it is given back. */
static void planted_dma_size(void)
{
	struct platform_device *pdev = platform_device_register_simple("planted", PLATFORM_DEVID_NONE, NULL, 0);
	void *buffer = kzalloc(PAGE_SIZE, GFP_KERNEL);
	dma_addr_t addr;

	if (!IS_ERR(pdev) && buffer) {
		addr = dma_map_single(&pdev->dev, buffer, PAGE_SIZE, DMA_TO_DEVICE);
		if (!dma_mapping_error(&pdev->dev, addr))
			dma_unmap_single(&pdev->dev, addr, PAGE_SIZE / 2, DMA_TO_DEVICE);
	}
	kfree(buffer);
	if (!IS_ERR(pdev))
		platform_device_unregister(pdev);
}

static unsigned long shared;

static int planted_writer(void *stop)
{
	while (!kthread_should_stop()) {
		shared++;
		cond_resched();
	}
	return 0;
}

/* Two threads, one variable, no lock: until it is noticed, or for a while. */
static void planted_race(void)
{
	struct task_struct *threads[2];
	int i;

	for (i = 0; i < ARRAY_SIZE(threads); i++)
		threads[i] = kthread_run(planted_writer, NULL, "planted/%d", i);
	msleep(20 * MSEC_PER_SEC);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		if (!IS_ERR(threads[i]))
			kthread_stop(threads[i]);
	pr_info("shared: %lu\n", shared);
}

static const struct {
	const char *name;
	void (*make)(void);
} bugs[] = {
	{ "use_after_free",	planted_use_after_free },
	{ "out_of_bounds",	planted_out_of_bounds },
	{ "out_of_vmalloc",	planted_out_of_vmalloc },
	{ "lock_order",		planted_lock_order },
	{ "sleep_in_atomic",	planted_sleep_in_atomic },
	{ "leak",		planted_leak },
	{ "shift",		planted_shift },
	{ "active_timer",	planted_active_timer },
	{ "dma_size",		planted_dma_size },
	{ "race",		planted_race },
};

static int set_bug(const char *value, const struct kernel_param *param)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(bugs); i++) {
		if (!sysfs_streq(value, bugs[i].name))
			continue;
		pr_info("planting %s\n", bugs[i].name);
		bugs[i].make();
		return 0;
	}
	return -EINVAL;
}

static const struct kernel_param_ops bug_ops = { .set = set_bug };
module_param_cb(bug, &bug_ops, NULL, 0200);
MODULE_PARM_DESC(bug, "name of a mistake to make now");

static int __init planted_init(void)
{
	return 0;
}
module_init(planted_init);

static void __exit planted_exit(void)
{
}
module_exit(planted_exit);

MODULE_DESCRIPTION("Mistakes on purpose, for the debug kernels");
MODULE_LICENSE("GPL");
