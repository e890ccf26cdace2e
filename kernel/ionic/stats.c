// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counters. The device tells once what they are called and where in a page it puts the
 * value of each; a query has it fill such a page. It has one set for the port and one
 * for each QP; the latter are summed up over the QPs that a counter of `rdma statistic`
 * is bound to. A device that does not answer at probe has no counters.
 *
 * The core wants one list for both: to the port's value of each it adds those of all
 * counters. So the list is the port's names and then the QPs'; the port has no values of
 * the second part, and counters have none of the first.
 */
#include <linux/ctype.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "dion.h"

#define PAGE_OF_VALUES	PAGE_SIZE
#define MAX_COUNTERS	(PAGE_SIZE / sizeof(struct ionic_stats_header))
#define NO_VALUE	U64_MAX
#define NUMBERED_NAME	"counter_"

/* ---- a page that the device fills -------------------------------------------- */

struct filled_page {
	u8 *bytes;
	dma_addr_t addr;
};

static int page_get(struct dion_dev *dev, struct filled_page *page, enum ionic_aq_op op, u32 qp)
{
	int ret;

	page->bytes = dma_alloc_coherent(dion_dma_device(dev), PAGE_OF_VALUES, &page->addr,
					 GFP_KERNEL);
	if (!page->bytes)
		return -ENOMEM;
	ret = dion_admin_exec_stats(dev, op, qp, page->addr, PAGE_OF_VALUES);
	if (ret)
		dma_free_coherent(dion_dma_device(dev), PAGE_OF_VALUES, page->bytes, page->addr);
	return ret;
}

static void page_put(struct dion_dev *dev, struct filled_page *page)
{
	dma_free_coherent(dion_dma_device(dev), PAGE_OF_VALUES, page->bytes, page->addr);
}

static u32 value_bytes(u32 type)
{
	static const u8 bytes[] = {
		[IONIC_STATS_U8] = 1,
		[IONIC_STATS_LE16] = 2,
		[IONIC_STATS_LE32] = 4,
		[IONIC_STATS_LE64] = 8,
		[IONIC_STATS_BE16] = 2,
		[IONIC_STATS_BE32] = 4,
		[IONIC_STATS_BE64] = 8,
	};

	return type < ARRAY_SIZE(bytes) ? bytes[type] : 0;
}

/* The place of a value comes from the device. */
static u64 value_at(const struct filled_page *page, u32 place)
{
	u32 offset = FIELD_GET(IONIC_STATS_OFFSET, place);
	u32 type = FIELD_GET(IONIC_STATS_TYPE, place);
	u32 bytes = value_bytes(type);
	const u8 *at = page->bytes + offset;

	if (!bytes || offset % bytes || offset > PAGE_OF_VALUES - bytes)
		return NO_VALUE;
	switch (type) {
	case IONIC_STATS_U8:
		return *at;
	case IONIC_STATS_LE16:
		return get_unaligned_le16(at);
	case IONIC_STATS_LE32:
		return get_unaligned_le32(at);
	case IONIC_STATS_LE64:
		return get_unaligned_le64(at);
	case IONIC_STATS_BE16:
		return get_unaligned_be16(at);
	case IONIC_STATS_BE32:
		return get_unaligned_be32(at);
	default:
		return get_unaligned_be64(at);
	}
}

/* ---- names ------------------------------------------------------------------- */

static void free_names(struct dion_stats *stats)
{
	unsigned int i;

	for (i = 0; i < stats->count; i++)
		kfree(stats->descs[i].name);
	kfree(stats->descs);
	kfree(stats->places);
	*stats = (struct dion_stats) {};
}

static unsigned int count_names(const struct filled_page *page)
{
	const struct ionic_stats_header *headers = (const struct ionic_stats_header *)page->bytes;
	unsigned int n = 0;

	while (n < MAX_COUNTERS &&
	       FIELD_GET(IONIC_STATS_TYPE, be32_to_cpu(headers[n].type_offset)) != IONIC_STATS_END)
		n++;
	return n;
}

static bool is_taken(const struct dion_stats *stats, const char *name)
{
	unsigned int i;

	for (i = 0; i < stats->count; i++)
		if (!strcmp(stats->descs[i].name, name))
			return true;
	return false;
}

/* The core has a file "lifespan" beside them. */
static bool is_file_name(const char *name)
{
	const char *c;

	for (c = name; *c; c++)
		if (!isprint(*c) || *c == '/')
			return false;
	return name[0] && name[0] != '.' && strcmp(name, "lifespan");
}

/* They become files, so each has to be a name, and different: one that is not is numbered. */
static char *new_name(const struct dion_stats *stats, const u8 *text)
{
	char name[IONIC_STATS_NAME];

	strscpy(name, text, sizeof(name));
	if (is_file_name(name) && !strstarts(name, NUMBERED_NAME) && !is_taken(stats, name))
		return kstrdup(name, GFP_KERNEL);
	return kasprintf(GFP_KERNEL, NUMBERED_NAME "%u", stats->count);
}

static int copy_names(struct dion_stats *stats, const struct filled_page *page, unsigned int n)
{
	const struct ionic_stats_header *header = (const struct ionic_stats_header *)page->bytes;
	char *name;

	for (; n; n--, header++) {
		name = new_name(stats, header->name);
		if (!name)
			return -ENOMEM;
		stats->descs[stats->count].name = name;
		stats->places[stats->count] = be32_to_cpu(header->type_offset);
		stats->count++;
	}
	return 0;
}

/* A device may have no counters, but a device that has failed is not to be registered. */
static int without_names(struct dion_dev *dev, enum ionic_aq_op op, int ret)
{
	ibdev_dbg(&dev->dvq.ibdev, "no counters by command %u: %d\n", op, ret);
	return ret == -ENOMEM || ret == -ENODEV ? ret : 0;
}

/* Return: 0, and there may be none; -ENOMEM or -ENODEV. */
static int read_names(struct dion_dev *dev, enum ionic_aq_op op)
{
	struct filled_page page;
	int ret;

	ret = page_get(dev, &page, op, 0);
	if (ret)
		return without_names(dev, op, ret);
	ret = copy_names(&dev->stats, &page, count_names(&page));
	page_put(dev, &page);
	return ret;
}

/* Registration fails without values, so names without values are none. */
static int read_port_names(struct dion_dev *dev)
{
	struct filled_page page;
	int ret;

	ret = page_get(dev, &page, IONIC_AQ_STATS_VALS, 0);
	if (ret)
		return without_names(dev, IONIC_AQ_STATS_VALS, ret);
	page_put(dev, &page);
	return read_names(dev, IONIC_AQ_STATS_HDRS);
}

static int read_all_names(struct dion_dev *dev)
{
	u16 sets = le16_to_cpu(dev->eth.rdma.stats);
	struct dion_stats *stats = &dev->stats;
	int ret = 0;

	stats->descs = kcalloc(2 * MAX_COUNTERS, sizeof(*stats->descs), GFP_KERNEL);
	stats->places = kcalloc(2 * MAX_COUNTERS, sizeof(*stats->places), GFP_KERNEL);
	if (!stats->descs || !stats->places)
		return -ENOMEM;
	if (sets & IONIC_RDMA_STATS_PORT)
		ret = read_port_names(dev);
	stats->of_port = stats->count;
	if (!ret && sets & IONIC_RDMA_STATS_QP)
		ret = read_names(dev, IONIC_AQ_QP_STATS_HDRS);
	return ret;
}

void dion_stats_cleanup(struct dion_dev *dev)
{
	free_names(&dev->stats);
	dion_numbers_cleanup(&dev->counters);
}

/* Also says which ops the device gets. Return: 0, -ENOMEM or -ENODEV. */
int dion_stats_init(struct dion_dev *dev)
{
	int ret;

	dion_numbers_init(&dev->counters, 1, U16_MAX);
	ret = read_all_names(dev);
	if (ret) {
		dion_stats_cleanup(dev);
		return ret;
	}
	if (dev->stats.count)
		ib_set_device_ops(&dev->dvq.ibdev, &dion_port_stats_ops);
	if (dev->stats.count > dev->stats.of_port)
		ib_set_device_ops(&dev->dvq.ibdev, &dion_qp_stats_ops);
	return 0;
}

/* ---- of the port --------------------------------------------------------------- */

static struct rdma_hw_stats *alloc_stats(struct dion_dev *dev)
{
	return rdma_alloc_hw_stats_struct(dev->stats.descs, dev->stats.count,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static struct rdma_hw_stats *alloc_hw_port_stats(struct ib_device *ibdev, u32 port)
{
	return alloc_stats(to_dion_dev(ibdev));
}

/*
 * The core asks for values when it registers the device, too. It leaks what it keeps them in if they fail then
 * (Linux 7.2), and nothing depends on them: they are zeros. ibdev_register() sees a device that has died of it.
 */
static int get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *out, u32 port, int index)
{
	struct dion_dev *dev = to_dion_dev(ibdev);
	struct filled_page page;
	unsigned int i;
	int ret;

	if (dev->stats.of_port) {
		ret = page_get(dev, &page, IONIC_AQ_STATS_VALS, 0);
		if (ret)
			return READ_ONCE(dev->registered) ? ret : dev->stats.count;
		for (i = 0; i < dev->stats.of_port; i++)
			out->value[i] = value_at(&page, dev->stats.places[i]);
		page_put(dev, &page);
	}
	return dev->stats.count;
}

const struct ib_device_ops dion_port_stats_ops = {
	.alloc_hw_port_stats = alloc_hw_port_stats,
	.get_hw_stats = get_hw_stats,
};

/* ---- of QPs: the core calls these under the counter's lock ------------------------ */

static struct dion_counter *to_dion_counter(struct rdma_counter *counter)
{
	return container_of(counter, struct dion_counter, counter);
}

static void counter_init(struct rdma_counter *counter)
{
	xa_init(&to_dion_counter(counter)->qps);
}

static struct rdma_hw_stats *counter_alloc_stats(struct rdma_counter *counter)
{
	return alloc_stats(to_dion_dev(counter->device));
}

static unsigned int values_of_qp(const struct dion_stats *stats)
{
	return stats->count - stats->of_port;
}

/* One that is less than before has begun again; choice: so has one of fewer than 64 bits that wraps. */
static u64 counted(u64 now, u64 since)
{
	return now >= since ? now - since : now;
}

/* To @sums: what has been counted for the QP since it had @since, or NULL: ever. */
static int add_qp(struct dion_dev *dev, u64 *sums, u32 qp, const u64 *since)
{
	const struct dion_stats *stats = &dev->stats;
	struct filled_page page;
	unsigned int i;
	u64 now;
	int ret;

	ret = page_get(dev, &page, IONIC_AQ_QP_STATS_VALS, qp);
	if (ret)
		return ret;
	for (i = 0; i < values_of_qp(stats); i++) {
		now = value_at(&page, stats->places[stats->of_port + i]);
		sums[i] += counted(now, since ? since[i] : 0);
	}
	page_put(dev, &page);
	return 0;
}

/* What was counted before it was bound belongs to nobody, or to the counter that it was bound to. */
static int counter_add_qp(struct dion_counter *counter, struct ib_qp *ibqp)
{
	struct dion_dev *dev = to_dion_dev(ibqp->device);
	u64 *since;
	int ret;

	since = kcalloc(values_of_qp(&dev->stats), sizeof(*since), GFP_KERNEL);
	if (!since)
		return -ENOMEM;
	ret = add_qp(dev, since, ibqp->qp_num, NULL);
	if (!ret)
		ret = xa_err(xa_store(&counter->qps, ibqp->qp_num, since, GFP_KERNEL));
	if (ret)
		kfree(since);
	return ret;
}

/* The core frees a counter whose first QP could not be bound without counter_dealloc(). */
static int counter_bind_first_qp(struct rdma_counter *counter, struct ib_qp *ibqp)
{
	struct dion_counter *own = to_dion_counter(counter);
	struct dion_dev *dev = to_dion_dev(counter->device);
	int number, ret;

	number = dion_numbers_get(&dev->counters, GFP_KERNEL);
	if (number < 0)
		return number;
	own->past = kcalloc(values_of_qp(&dev->stats), sizeof(*own->past), GFP_KERNEL);
	ret = own->past ? counter_add_qp(own, ibqp) : -ENOMEM;
	if (ret)
		goto err_put_number;
	counter->id = number;
	return 0;

err_put_number:
	kfree(own->past);
	own->past = NULL;
	dion_numbers_put(&dev->counters, number);
	return ret;
}

static int counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp, u32 port)
{
	int ret;

	if (counter->id)
		ret = counter_add_qp(to_dion_counter(counter), ibqp);
	else
		ret = counter_bind_first_qp(counter, ibqp);
	if (!ret)
		ibqp->counter = counter;
	return ret;
}

/*
 * The QP still is, but may go next, so this cannot fail; a device that does not answer any more costs
 * the values. Of a counter without QPs the core asks for values once more, and keeps them for the port.
 */
static int counter_unbind_qp(struct ib_qp *ibqp, u32 port)
{
	struct dion_counter *counter;
	u64 *since;
	int ret;

	if (!ibqp->counter)
		return 0;
	counter = to_dion_counter(ibqp->counter);
	since = xa_erase(&counter->qps, ibqp->qp_num);
	ret = add_qp(to_dion_dev(ibqp->device), counter->past, ibqp->qp_num, since);
	if (ret)
		ibdev_dbg(ibqp->device, "values of QP %u are lost: %d\n", ibqp->qp_num, ret);
	kfree(since);
	ibqp->counter = NULL;
	return 0;
}

static int counter_dealloc(struct rdma_counter *counter)
{
	struct dion_counter *own = to_dion_counter(counter);

	xa_destroy(&own->qps);
	kfree(own->past);
	dion_numbers_put(&to_dion_dev(counter->device)->counters, counter->id);
	return 0;
}

static int counter_update_stats(struct rdma_counter *counter)
{
	struct dion_dev *dev = to_dion_dev(counter->device);
	struct dion_counter *own = to_dion_counter(counter);
	u64 *out = counter->stats->value;
	unsigned long qp;
	u64 *since;
	int ret;

	memset(out, 0, dev->stats.of_port * sizeof(*out));
	out += dev->stats.of_port;
	memcpy(out, own->past, values_of_qp(&dev->stats) * sizeof(*out));
	xa_for_each(&own->qps, qp, since) {
		ret = add_qp(dev, out, qp, since);
		if (ret)
			return ret;
	}
	return 0;
}

const struct ib_device_ops dion_qp_stats_ops = {
	.counter_alloc_stats = counter_alloc_stats,
	.counter_bind_qp = counter_bind_qp,
	.counter_dealloc = counter_dealloc,
	.counter_init = counter_init,
	.counter_unbind_qp = counter_unbind_qp,
	.counter_update_stats = counter_update_stats,

	INIT_RDMA_OBJ_SIZE(rdma_counter, dion_counter, counter),
};
