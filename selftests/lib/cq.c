// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "cq.h"
#include "lab.h"
#include "model.h"

static int drop(void *object)
{
	struct cq *cq = object;
	int err = ibv_destroy_cq(cq->cq);

	if (!err)
		free(cq);
	return err;
}

static struct ibv_cq_ex *create_efa(struct cq *cq, struct ibv_cq_init_attr_ex *attr)
{
	struct efadv_cq_init_attr efa = {};

	cq->sgid = adapter_data_path_can(cq->adapter, EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID);
	cq->unsolicited = adapter_data_path_can(cq->adapter, EFADV_DEVICE_ATTR_CAPS_UNSOLICITED_WRITE_RECV);
	if (cq->sgid)
		efa.wc_flags |= EFADV_WC_EX_WITH_SGID;
	if (cq->unsolicited)
		efa.wc_flags |= EFADV_WC_EX_WITH_IS_UNSOLICITED;
	return efadv_create_cq(cq->adapter->context, attr, &efa, sizeof(efa));
}

struct cq *cq_new(const struct adapter *adapter, unsigned int depth,
		  const struct cq_options *options)
{
	static const struct cq_options usual;
	struct ibv_cq_init_attr_ex attr = { .cqe = depth, .wc_flags = CQ_WC_FLAGS };
	struct cq *cq = calloc(1, sizeof(*cq));

	LAB_NEED(cq, "no memory");
	options = options ?: &usual;
	attr.channel = options->channel;
	attr.comp_vector = options->vector;
	attr.cq_context = cq;
	cq->adapter = adapter;
	if (options->kind == CQ_PLAIN) {
		cq->cq = ibv_create_cq(adapter->context, depth, cq, options->channel,
				       options->vector);
	} else {
		cq->ex = options->kind == CQ_EFA ? create_efa(cq, &attr) :
			 ibv_create_cq_ex(adapter->context, &attr);
		if (cq->ex)
			cq->cq = ibv_cq_ex_to_cq(cq->ex);
		if (cq->ex && options->kind == CQ_EFA)
			cq->efa = efadv_cq_from_ibv_cq_ex(cq->ex);
	}
	LAB_NEED(cq->cq, "creating a CQ of %u entries: %s", depth, strerror(errno));
	lab_hold(drop, cq);
	return cq;
}

int cq_destroy(struct cq *cq)
{
	return lab_drop(cq);
}

static void read_efa(struct cq *cq, struct completion *completion)
{
	completion->sgid_result = 1;
	if (cq->sgid)
		completion->sgid_result = efadv_wc_read_sgid(cq->efa, &completion->sgid);
	if (cq->unsolicited)
		completion->unsolicited = efadv_wc_is_unsolicited(cq->efa);
}

static void read_extended(struct cq *cq, struct completion *completion)
{
	struct ibv_cq_ex *ex = cq->ex;

	*completion = (struct completion) {
		.id = ex->wr_id, .status = ex->status,
		.vendor_err = ibv_wc_read_vendor_err(ex),
		.qp_num = ibv_wc_read_qp_num(ex), .sgid_result = 1,
	};
	if (ex->status != IBV_WC_SUCCESS)
		return;
	completion->opcode = ibv_wc_read_opcode(ex);
	completion->flags = ibv_wc_read_wc_flags(ex);
	completion->byte_len = ibv_wc_read_byte_len(ex);
	completion->imm = ntohl(ibv_wc_read_imm_data(ex));
	completion->src_qp = ibv_wc_read_src_qp(ex);
	completion->slid = ibv_wc_read_slid(ex);
	completion->sl = ibv_wc_read_sl(ex);
	completion->dlid_path_bits = ibv_wc_read_dlid_path_bits(ex);
	if (cq->efa)
		read_efa(cq, completion);
}

static bool take_extended(struct cq *cq, struct completion *completion)
{
	struct ibv_poll_cq_attr attr = {};
	int err = ibv_start_poll(cq->ex, &attr);

	if (err == ENOENT)
		return false;
	LAB_NEED(!err, "ibv_start_poll: %s", strerror(err));
	read_extended(cq, completion);
	ibv_end_poll(cq->ex);
	return true;
}

static bool take_plain(struct cq *cq, struct completion *completion)
{
	struct ibv_wc wc = {};
	int n = ibv_poll_cq(cq->cq, 1, &wc);

	LAB_NEED(n >= 0, "ibv_poll_cq: %d", n);
	if (!n)
		return false;
	*completion = (struct completion) {
		.id = wc.wr_id, .status = wc.status, .opcode = wc.opcode,
		.vendor_err = wc.vendor_err, .flags = wc.wc_flags, .byte_len = wc.byte_len,
		.imm = ntohl(wc.imm_data), .qp_num = wc.qp_num, .src_qp = wc.src_qp,
		.slid = wc.slid, .sl = wc.sl, .dlid_path_bits = wc.dlid_path_bits,
		.sgid_result = 1,
	};
	return true;
}

bool cq_take(struct cq *cq, struct completion *completion)
{
	return cq->ex ? take_extended(cq, completion) : take_plain(cq, completion);
}

/**
 * struct search - how a completion was looked for, should it not come
 *
 * @gap_ms: the longest time between two looks
 */
struct search {
	uint64_t looks, gap_ms;
};

static bool take_within(struct cq *cq, struct completion *completion, unsigned int ms, struct search *search)
{
	uint64_t last = now_ms(), end = last + ms;

	while (!cq_take(cq, completion)) {
		uint64_t now = now_ms();

		search->looks++;
		if (now - last > search->gap_ms)
			search->gap_ms = now - last;
		if (now >= end)
			return false;
		last = now;
		sched_yield();
	}
	cq->taken++;
	return true;
}

void cq_wait(struct cq *cq, struct completion *completion)
{
	struct search search = {};

	if (take_within(cq, completion, PATIENCE_MS, &search))
		return;
	model_note(cq->adapter->model);
	lab_fail(__FILE__, __LINE__, "no completion came, after %llu of this CQ, in %llu looks that were %llu ms apart "
		 "at most", (unsigned long long)cq->taken, (unsigned long long)search.looks,
		 (unsigned long long)search.gap_ms);
}

void completion_expect_success(const struct completion *completion)
{
	if (completion->status != IBV_WC_SUCCESS)
		lab_note(__FILE__, __LINE__, "completion of %llu on QP %u: %s, vendor error %u",
			 (unsigned long long)completion->id, completion->qp_num,
			 ibv_wc_status_str(completion->status), completion->vendor_err);
}

void cq_wait_many(struct cq *cq, unsigned int n)
{
	struct completion completion;

	while (n--) {
		cq_wait(cq, &completion);
		completion_expect_success(&completion);
	}
}

bool cq_quiet(struct cq *cq, unsigned int ms)
{
	struct completion completion;
	struct search search = {};

	return !take_within(cq, &completion, ms, &search);
}

bool cq_event(struct cq *cq, unsigned int ms)
{
	struct pollfd pollfd = { .fd = cq->cq->channel->fd, .events = POLLIN };
	struct ibv_cq *from;
	void *context;

	if (poll(&pollfd, 1, ms) <= 0)
		return false;
	LAB_NEED(!ibv_get_cq_event(cq->cq->channel, &from, &context), "ibv_get_cq_event: %s",
		 strerror(errno));
	LAB_NEED(from == cq->cq && context == cq, "the event is for another CQ");
	ibv_ack_cq_events(cq->cq, 1);
	return true;
}

static int drop_channel(void *object)
{
	return ibv_destroy_comp_channel(object);
}

struct ibv_comp_channel *channel_new(const struct adapter *adapter)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(adapter->context);

	LAB_NEED(channel, "ibv_create_comp_channel: %s", strerror(errno));
	lab_hold(drop_channel, channel);
	return channel;
}
