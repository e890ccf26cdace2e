// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Numbers of objects: the device leaves their choice to the driver. */
#include "dion.h"

#define QID_NONE	FIELD_MAX(IONIC_CQE_QID)	/* voids a completion; never a queue */

void dion_numbers_init(struct dion_numbers *numbers, u32 first, u32 last)
{
	ida_init(&numbers->used);
	numbers->first = first;
	numbers->last = last;
	numbers->next = first;
}

/* Fine on zeroed memory. */
void dion_numbers_cleanup(struct dion_numbers *numbers)
{
	if (numbers->last)
		ida_destroy(&numbers->used);
}

static int get_between(struct dion_numbers *numbers, u32 from, u32 to, gfp_t gfp)
{
	if (from > to)
		return -ENOSPC;
	return ida_alloc_range(&numbers->used, from, to, gfp);
}

/* Return: a number, or -ENOMEM: all are in use. */
int dion_numbers_get(struct dion_numbers *numbers, gfp_t gfp)
{
	u32 next = READ_ONCE(numbers->next);
	int number;

	number = get_between(numbers, next, numbers->last, gfp);
	if (number == -ENOSPC && next > numbers->first)
		number = get_between(numbers, numbers->first, next - 1, gfp);
	if (number < 0)
		return -ENOMEM;
	WRITE_ONCE(numbers->next, (u32)number < numbers->last ? number + 1 : numbers->first);
	return number;
}

void dion_numbers_put(struct dion_numbers *numbers, u32 number)
{
	ida_free(&numbers->used, number);
}

/* ---- queue ids --------------------------------------------------------------- */

/*
 * An id is, from its low bits up: the place in the group (shift bits), the pipeline (one
 * bit), the group. Without the pipeline that is a number within it.
 */
static u32 to_qid(const struct dion_qids *qids, u8 pipeline, u32 number)
{
	u32 group = number >> qids->shift;
	u32 place = number & (BIT(qids->shift) - 1);

	return qids->base + ((group << 1 | pipeline) << qids->shift | place);
}

static u32 to_number(const struct dion_qids *qids, u32 qid)
{
	u32 place = (qid - qids->base) & (BIT(qids->shift) - 1);
	u32 group = (qid - qids->base) >> qids->shift >> 1;

	return group << qids->shift | place;
}

u8 dion_qids_pipeline(const struct dion_qids *qids, u32 qid)
{
	return (qid - qids->base) >> qids->shift & 1;
}

/* Return: 0, or -ENODEV: not even one group for each pipeline. */
int dion_qids_init(struct dion_qids *qids, u32 base, u32 count, u8 shift)
{
	u32 numbers;
	unsigned int i;

	if (shift > 22 || !count || base > QID_NONE || count > QID_NONE - base)
		return -ENODEV;
	numbers = count >> shift >> 1 << shift;
	if (numbers < 2)
		return -ENODEV;
	qids->base = base;
	qids->shift = shift;
	for (i = 0; i < DION_PIPELINES; i++)
		dion_numbers_init(&qids->pipelines[i], 0, numbers - 1);
	atomic_set(&qids->rotor, 0);
	return 0;
}

void dion_qids_cleanup(struct dion_qids *qids)
{
	unsigned int i;

	for (i = 0; i < DION_PIPELINES; i++)
		dion_numbers_cleanup(&qids->pipelines[i]);
}

/* For ids that have a meaning. Before any other is given out. */
int dion_qids_reserve(struct dion_qids *qids, u32 qid)
{
	u32 number = to_number(qids, qid);
	struct dion_numbers *numbers = &qids->pipelines[dion_qids_pipeline(qids, qid)];
	int ret = get_between(numbers, number, number, GFP_KERNEL);

	return ret < 0 ? ret : 0;
}

/**
 * dion_qids_get() - take an id
 * @qids: of the kind of queue
 * @pipelines: mask of those that the queue may be on, not empty; they get queues in turn
 * @qid: where to put the id
 *
 * Return: 0, or -ENOMEM: all are in use.
 */
int dion_qids_get(struct dion_qids *qids, u8 pipelines, u32 *qid)
{
	u8 turn = (u32)atomic_inc_return(&qids->rotor) % DION_PIPELINES;
	int number = -ENOMEM;
	unsigned int i;
	u8 pipeline;

	for (i = 0; i < DION_PIPELINES && number < 0; i++) {
		pipeline = (turn + i) % DION_PIPELINES;
		if (pipelines & BIT(pipeline))
			number = dion_numbers_get(&qids->pipelines[pipeline], GFP_KERNEL);
	}
	if (number < 0)
		return number;
	*qid = to_qid(qids, pipeline, number);
	return 0;
}

void dion_qids_put(struct dion_qids *qids, u32 qid)
{
	dion_numbers_put(&qids->pipelines[dion_qids_pipeline(qids, qid)], to_number(qids, qid));
}
