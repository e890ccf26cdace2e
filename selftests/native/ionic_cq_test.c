// SPDX-License-Identifier: GPL-2.0
/*
 * Ionic completions: numbered messages and single requests, order, flushes, errors, wraps,
 * pipelines, queues that are gone, events.
 */
/* what the adapter does while the library polls */
#define DVQ_TRACE "../fuzz/device_acts.h"

#include "dice.h"
#include "ionic_rings.h"

static struct ionic_rings *open_rings(void)
{
	return ionic_rings_at(HOST, 64);
}

static struct dvq_ionic_wr message(uint32_t flags)
{
	struct dvq_ionic_wr wr = ionic_send();

	dvq_ionic_wr_set_flags(&wr, flags);
	return wr;
}

static struct dvq_ionic_wr local(uint32_t flags)
{
	struct dvq_ionic_wr wr;

	dvq_ionic_wr_local_inv(&wr, 5);
	dvq_ionic_wr_set_flags(&wr, flags);
	return wr;
}

/* "m" a message, "l" local, "M" and "L" not signaled; ids are their places */
static void post(struct ionic_rings *r, const char *what)
{
	for (uint64_t i = 0; what[i]; i++) {
		const uint32_t flags = what[i] >= 'a' ? DVQ_IONIC_SIGNALED : 0;
		struct dvq_ionic_wr wr = what[i] == 'm' || what[i] == 'M' ? message(flags) :
					 local(flags);

		CHECK_EQ(ionic_post(r, &wr, i), 0);
	}
	ionic_publish(r);
}

/* polls @most; ids and statuses as text, "0 1:4" is id 0 well and id 1 with status 4 */
static const char *polled(struct ionic_rings *r, uint32_t most)
{
	static char text[256];
	struct dvq_ionic_wc wc[16];
	uint32_t n = ionic_poll(r, wc, most);

	text[0] = 0;
	for (uint32_t i = 0; i < n; i++) {
		size_t used = strlen(text);

		CHECK_EQ(wc[i].qp_num, RINGS_QP_NUM);
		used += snprintf(text + used, sizeof(text) - used, "%s%d", i ? " " : "",
				 (int)wc[i].wr_id);
		if (wc[i].status)
			snprintf(text + used, sizeof(text) - used, ":%u", wc[i].status);
	}
	return text;
}

/* called with each look at a color; NULL: the adapter is quiet */
static void (*look)(uint64_t address);

static void device_acts(uint64_t address)
{
	if (look)
		look(address);
}

/* ---- sends -------------------------------------------------------------------------- */

TEST(messages_complete_by_number)
{
	struct ionic_rings *r = open_rings();

	post(r, "mmm");
	CHECK_STR(polled(r, 16), "");
	ionic_msn(r, 1, 0);
	CHECK_STR(polled(r, 16), "0");
	ionic_msn(r, 3, 0);
	CHECK_STR(polled(r, 16), "1 2");
	CHECK_EQ(dvq_ionic_sq_room(&r->sq), 7);
	ionic_rings_free(r);
}

TEST(local_requests_complete_one_by_one_but_in_order)
{
	struct ionic_rings *r = open_rings();

	post(r, "lmlm");
	ionic_npg(r, 2, 0);
	ionic_msn(r, 2, 0);
	CHECK_STR(polled(r, 16), "");
	CHECK_EQ(dvq_ionic_sq_room(&r->sq), 3);
	ionic_npg(r, 0, 0);
	CHECK_STR(polled(r, 16), "0 1 2 3");
	CHECK_EQ(dvq_ionic_sq_room(&r->sq), 7);
	ionic_rings_free(r);
}

TEST(unsignaled_requests_give_room_and_no_report)
{
	struct ionic_rings *r = open_rings();

	post(r, "MLMm");
	ionic_npg(r, 1, 0);
	ionic_msn(r, 2, 0);
	CHECK_STR(polled(r, 16), "");
	CHECK_EQ(dvq_ionic_sq_room(&r->sq), 6);
	ionic_msn(r, 3, 0);
	CHECK_STR(polled(r, 16), "3");
	ionic_rings_free(r);
}

TEST(contents_of_a_sends_completion)
{
	static const struct { uint32_t opcode, length; } want[] = {
		{ IBV_WC_SEND, 100 }, { IBV_WC_RDMA_READ, 7 }, { IBV_WC_RDMA_WRITE, 3 },
		{ IBV_WC_COMP_SWAP, 8 }, { IBV_WC_FETCH_ADD, 8 }, { IBV_WC_LOCAL_INV, 0 },
		{ IBV_WC_BIND_MW, 0 },
	};
	struct dvq_ionic_bind bind = { .rkey = 0x100, .new_rkey = 0x101, .type = 1 };
	struct ionic_rings *r = open_rings();
	struct dvq_ionic_wc wc[8];
	struct dvq_ionic_wr wr;

	wr = ionic_send();
	CHECK_EQ(ionic_post(r, &wr, 0), 0);
	dvq_ionic_wr_rdma_read(&wr, 1, 2);
	dvq_ionic_wr_set_sge(&wr, 1, 2, 7);
	CHECK_EQ(ionic_post(r, &wr, 1), 0);
	dvq_ionic_wr_rdma_write_imm(&wr, 1, 2, 3);
	dvq_ionic_wr_set_inline(&wr, "abc", 3);
	CHECK_EQ(ionic_post(r, &wr, 2), 0);
	dvq_ionic_wr_cmp_swap(&wr, 1, 2, 3, 4);
	dvq_ionic_wr_set_sge(&wr, 1, 2, 8);
	CHECK_EQ(ionic_post(r, &wr, 3), 0);
	dvq_ionic_wr_fetch_add(&wr, 1, 2, 3);
	dvq_ionic_wr_set_sge(&wr, 1, 2, 8);
	CHECK_EQ(ionic_post(r, &wr, 4), 0);
	wr = local(DVQ_IONIC_SIGNALED);
	CHECK_EQ(ionic_post(r, &wr, 5), 0);
	dvq_ionic_wr_bind_mw(&wr, &bind);
	CHECK_EQ(ionic_post(r, &wr, 6), 0);
	ionic_publish(r);
	ionic_msn(r, 5, 0);
	ionic_npg(r, 5, 0);
	ionic_npg(r, 6, 0);
	memset(wc, 0xee, sizeof(wc));
	CHECK_EQ(ionic_poll(r, wc, 8), 7);
	for (uint32_t i = 0; i < 7; i++) {
		CHECK_EQ(wc[i].wr_id, i);
		CHECK_EQ(wc[i].opcode, want[i].opcode);
		CHECK_EQ(wc[i].byte_len, want[i].length);
		CHECK_EQ(dvq_ionic_wc_status(&wc[i]), IBV_WC_SUCCESS);
		CHECK_EQ(wc[i].flags, 0);
		CHECK_EQ(wc[i].src_qp, 0);
	}
	ionic_rings_free(r);
}

/* datagrams are told one by one */
TEST(datagrams)
{
	struct ionic_rings *r = open_rings();
	struct dvq_ionic_wr wr = ionic_send();

	r->ud = true;
	ionic_rings_open(r);
	dvq_ionic_wr_set_dest(&wr, 1, 2, 3);
	CHECK_EQ(ionic_post(r, &wr, 0), 0);
	CHECK_EQ(ionic_post(r, &wr, 1), 0);
	ionic_publish(r);
	ionic_npg(r, 1, 0);
	ionic_msn(r, 1, 0);
	CHECK_STR(polled(r, 16), "");
	CHECK_EQ(r->cq.bad, 1);
	ionic_npg(r, 0, 0);
	CHECK_STR(polled(r, 16), "0 1");
	ionic_rings_free(r);
}

TEST(more_to_report_than_room)
{
	struct ionic_rings *r = open_rings();

	post(r, "mmmmm");
	ionic_msn(r, 4, 0);
	CHECK_STR(polled(r, 0), "");
	CHECK_STR(polled(r, 2), "0 1");
	CHECK_STR(polled(r, 1), "2");
	ionic_msn(r, 5, 0);
	CHECK_STR(polled(r, 2), "3 4");
	CHECK_STR(polled(r, 2), "");
	CHECK_EQ(r->cq.list, 0);
	ionic_rings_free(r);
}

/* numbers and colors go round together with the rings, for long */
TEST(rings_wrap)
{
	struct ionic_rings *r = open_rings();
	uint32_t messages = 0;

	for (int turn = 0; turn < 200; turn++) {
		post(r, "mMlm");
		messages += 3;
		ionic_npg(r, (turn * 4 + 2) % 8, 0);
		ionic_msn(r, messages % 8, 0);
		CHECK_STR(polled(r, 16), "0 2 3");
	}
	CHECK_EQ(r->cq.bad, 0);
	CHECK_EQ(r->cq.stale, 0);
	ionic_rings_free(r);
}

/* ---- entries that cannot be --------------------------------------------------------- */

TEST(numbers_that_cannot_be)
{
	struct ionic_rings *r = open_rings();

	post(r, "mml");
	ionic_msn(r, 0, 0);
	ionic_msn(r, 3, 0);
	ionic_npg(r, 3, 0);
	ionic_npg(r, 7, 0);
	ionic_recv(r, 0, 1, 0);
	CHECK_STR(polled(r, 16), "");
	CHECK_EQ(r->cq.bad, 5);
	ionic_npg(r, 2, 0);
	ionic_npg(r, 2, 0);
	CHECK_STR(polled(r, 16), "");
	CHECK_EQ(r->cq.bad, 6);
	ionic_msn(r, 2, 0);
	CHECK_STR(polled(r, 16), "0 1 2");
	ionic_rings_free(r);
}

TEST(entries_of_others)
{
	struct ionic_rings *r = open_rings();
	struct ionic_cqe cqe = {};

	post(r, "m");
	/* another QP, one that shares the row, a voided one, types that are not for users */
	ionic_cqe(r, 0, cqe, 1, IONIC_CQE_SEND_NPG, false);
	ionic_cqe(r, 0, cqe, RINGS_QP_NUM ^ 0x10, IONIC_CQE_SEND_NPG, false);
	ionic_cqe(r, 0, cqe, 0xffffff, IONIC_CQE_RECV, false);
	CHECK_STR(polled(r, 16), "");
	CHECK_EQ(r->cq.stale, 3);
	ionic_cqe(r, 0, cqe, RINGS_QP_NUM, IONIC_CQE_ADMIN, false);
	ionic_cqe(r, 0, cqe, RINGS_QP_NUM, IONIC_CQE_RECV_INDIRECT, false);
	CHECK_STR(polled(r, 16), "");
	CHECK_EQ(r->cq.bad, 2);
	CHECK_EQ(r->cq.ring[0].consumed, 5);
	ionic_rings_free(r);
}

/* F-07, F-22: the number of a QP that is gone comes again */
TEST(f07_f08_f22_queues_that_are_gone)
{
	struct ionic_rings *r = open_rings();

	post(r, "mm");
	CHECK_EQ(ionic_post_recv(r, 9), 0);
	ionic_publish(r);
	ionic_msn(r, 1, 0);
	ionic_recv(r, 0, 5, 0);
	CHECK_EQ(dvq_ionic_cq_detach(&r->cq, RINGS_QP_NUM), 0);
	CHECK_EQ(dvq_ionic_cq_detach(&r->cq, RINGS_QP_NUM), DVQ_IONIC_EINVAL);
	/* its successor */
	dvq_ionic_reqs_init(&r->sq.wq.reqs, 8, RINGS_QP_NUM, false, false);
	dvq_ionic_reqs_init(&r->rq.wq.reqs, 8, RINGS_QP_NUM, true, false);
	CHECK_EQ(dvq_ionic_sq_set_slots(&r->sq, r->sends), 0);
	CHECK_EQ(dvq_ionic_rq_set_slots(&r->rq, r->recvs), 0);
	CHECK_EQ(dvq_ionic_cq_attach(&r->cq, &r->sq, &r->rq), 0);
	post(r, "m");
	CHECK_STR(polled(r, 16), "");
	CHECK_EQ(r->cq.stale, 2);
	ionic_msn(r, 1, 0);
	CHECK_STR(polled(r, 16), "0");
	ionic_rings_free(r);
}

TEST(detached_while_it_had_more_to_report)
{
	struct ionic_rings *r = open_rings();

	post(r, "mmm");
	ionic_msn(r, 3, 0);
	CHECK_STR(polled(r, 1), "0");
	CHECK(r->cq.list);
	CHECK_EQ(dvq_ionic_cq_detach(&r->cq, RINGS_QP_NUM), 0);
	CHECK_EQ(r->cq.list, 0);
	CHECK_STR(polled(r, 16), "");
	ionic_rings_free(r);
}

/* a ring full of entries, all of one that is gone */
TEST(detached_with_a_full_ring)
{
	struct ionic_rings *r = open_rings();
	struct ionic_cqe cqe = {};

	for (int i = 0; i < 16; i++)
		ionic_cqe(r, 0, cqe, RINGS_QP_NUM, IONIC_CQE_SEND_NPG, false);
	CHECK_EQ(dvq_ionic_cq_detach(&r->cq, RINGS_QP_NUM), 0);
	CHECK_STR(polled(r, 16), "");
	CHECK_EQ(r->cq.stale, 16);
	ionic_rings_free(r);
}

TEST(table)
{
	struct ionic_rings *r = open_rings();
	struct dvq_ionic_sq other = r->sq;

	CHECK_EQ(dvq_ionic_cq_attach(&r->cq, &r->sq, NULL), DVQ_IONIC_EEXIST);
	CHECK_EQ(dvq_ionic_cq_attach(&r->cq, NULL, NULL), DVQ_IONIC_EINVAL);
	other.wq.reqs.qp_num++;
	CHECK_EQ(dvq_ionic_cq_attach(&r->cq, &other, &r->rq), DVQ_IONIC_EINVAL);
	CHECK_EQ(dvq_ionic_cq_attach(&r->cq, &other, NULL), 0);
	other.wq.reqs.qp_num += 16;
	CHECK_EQ(dvq_ionic_cq_attach(&r->cq, &other, NULL), DVQ_IONIC_EEXIST);
	CHECK_EQ(dvq_ionic_cq_set_qps(&r->cq, r->qps, 0), DVQ_IONIC_EINVAL);
	CHECK_EQ(dvq_ionic_cq_set_qps(&r->cq, r->qps, 12), DVQ_IONIC_EINVAL);
	r->cq.qps = 0;
	CHECK_EQ(dvq_ionic_cq_attach(&r->cq, &r->sq, NULL), DVQ_IONIC_EINVAL);
	CHECK_EQ(dvq_ionic_cq_detach(&r->cq, RINGS_QP_NUM), DVQ_IONIC_EINVAL);
	CHECK_EQ(dvq_ionic_cq_flush_qp(&r->cq, RINGS_QP_NUM), DVQ_IONIC_EINVAL);
	ionic_rings_free(r);
}

/* ---- errors and flushes ------------------------------------------------------------- */

TEST(error_of_a_message)
{
	struct ionic_rings *r = open_rings();

	post(r, "MmLmm");
	ionic_npg(r, 2, 0);
	/* of the third message, which is at 3 */
	ionic_msn(r, 3, IONIC_IO_REMOTE_ACCESS);
	CHECK_STR(polled(r, 16), "1 3:9 4:4");
	CHECK_EQ(dvq_ionic_sq_room(&r->sq), 7);
	/* what is posted now is flushed, too, signaled or not */
	post(r, "ML");
	CHECK_STR(polled(r, 16), "0:4 1:4");
	ionic_rings_free(r);
}

TEST(error_of_one_request)
{
	struct ionic_rings *r = open_rings();

	post(r, "mLm");
	ionic_npg(r, 1, IONIC_IO_MEM_MGMT);
	/* the message before it is not done, and never will be */
	CHECK_STR(polled(r, 16), "0:4 1:5 2:4");
	ionic_rings_free(r);
}

/* an unsignaled failure is reported, and a message may fail by its slot */
TEST(error_of_an_unsignaled_message)
{
	struct ionic_rings *r = open_rings();

	post(r, "mMm");
	ionic_msn(r, 1, 0);
	ionic_npg(r, 1, IONIC_IO_LOCAL_PROT);
	CHECK_STR(polled(r, 1), "0");
	CHECK_STR(polled(r, 1), "1:3");
	CHECK_STR(polled(r, 1), "2:4");
	CHECK_STR(polled(r, 1), "");
	ionic_rings_free(r);
}

TEST(entries_behind_an_error_are_nothing)
{
	struct ionic_rings *r = open_rings();

	post(r, "mmm");
	ionic_msn(r, 1, IONIC_IO_RETRY_EXCEEDED);
	ionic_msn(r, 2, 0);
	ionic_npg(r, 2, IONIC_IO_FLUSHED);
	CHECK_STR(polled(r, 16), "0:11 1:4 2:4");
	CHECK_EQ(r->cq.bad, 0);
	ionic_rings_free(r);
}

/* flush entries end no request; what else is on the rings comes first */
TEST(flush_entries)
{
	struct ionic_rings *r = open_rings();

	post(r, "mm");
	CHECK_EQ(ionic_post_recv(r, 5), 0);
	CHECK_EQ(ionic_post_recv(r, 6), 0);
	ionic_publish(r);
	ionic_npg(r, 0, IONIC_IO_FLUSHED);
	ionic_recv(r, 0, 3, 0);
	ionic_recv(r, 0, 0, IONIC_IO_FLUSHED);
	CHECK_STR(polled(r, 1), "5");
	CHECK_STR(polled(r, 16), "6:4 0:4 1:4");
	CHECK_EQ(ionic_post_recv(r, 7), 0);
	ionic_publish(r);
	CHECK_STR(polled(r, 16), "7:4");
	ionic_rings_free(r);
}

TEST(flush_with_nothing_out)
{
	struct ionic_rings *r = open_rings();

	ionic_npg(r, 0, IONIC_IO_FLUSHED);
	ionic_recv(r, 0, 0, IONIC_IO_FLUSHED);
	CHECK_STR(polled(r, 16), "");
	/* not published: not out */
	CHECK_EQ(ionic_post_recv(r, 1), 0);
	CHECK_STR(polled(r, 16), "");
	ionic_publish(r);
	CHECK_STR(polled(r, 16), "1:4");
	ionic_rings_free(r);
}

TEST(flush_by_the_program)
{
	struct ionic_rings *r = open_rings();

	post(r, "mm");
	CHECK_EQ(ionic_post_recv(r, 5), 0);
	ionic_publish(r);
	ionic_msn(r, 1, 0);
	CHECK_EQ(dvq_ionic_cq_flush_qp(&r->cq, 1), DVQ_IONIC_EINVAL);
	CHECK_STR(polled(r, 16), "0");
	CHECK_EQ(dvq_ionic_cq_flush_qp(&r->cq, RINGS_QP_NUM), 0);
	CHECK_STR(polled(r, 16), "5:4 1:4");
	ionic_rings_free(r);
}

/* what came before is no flush */
TEST(flush_by_the_program_behind_what_has_come)
{
	struct ionic_rings *r = open_rings();

	post(r, "mm");
	CHECK_EQ(ionic_post_recv(r, 5), 0);
	ionic_publish(r);
	ionic_msn(r, 1, 0);
	ionic_recv(r, 0, 5, 0);
	CHECK_EQ(dvq_ionic_cq_flush_qp(&r->cq, RINGS_QP_NUM), 0);
	CHECK_STR(polled(r, 1), "0");
	CHECK_STR(polled(r, 16), "5 1:4");
	ionic_rings_free(r);
}

static struct ionic_rings *arriving;
static uint32_t looks, arrivals;
static bool at_once;

/* an entry comes when the library has looked for it once, or at once: nobody's, and the last a receive's */
static void arrive(uint64_t address)
{
	const uint32_t n = arriving->produced[0] % arriving->cq_info[0].entries;

	if (address - (uintptr_t)arriving->cq_ring[0] !=
	    n * sizeof(struct ionic_cqe) + DVQ_IONIC_CQE_COLOR_BYTE || (++looks % 2 && !at_once) || !arrivals)
		return;
	if (arrivals-- == 1)
		ionic_recv(arriving, 0, 5, 0);
	else
		ionic_cqe(arriving, 0, (struct ionic_cqe){ 0 }, RINGS_QP_NUM + 1, IONIC_CQE_SEND_MSN,
			  false);
}

/* what comes after the rings were read, and before they are seen to be empty, puts no flush off */
TEST(entries_that_come_before_a_flush)
{
	struct ionic_rings *r = open_rings();

	arriving = r;
	post(r, "mmm");
	CHECK_EQ(ionic_post_recv(r, 5), 0);
	ionic_publish(r);
	CHECK_EQ(dvq_ionic_cq_flush_qp(&r->cq, RINGS_QP_NUM), 0);
	look = arrive;
	looks = 0;
	arrivals = 4;
	CHECK_STR(polled(r, 16), "5 0:4 1:4 2:4");
	CHECK_EQ(arrivals, 0);
	CHECK_EQ(r->cq.stale, 3);
	/* a poll ends, whatever the adapter does */
	post(r, "m");
	arrivals = 100000;
	at_once = true;
	CHECK_STR(polled(r, 16), "");
	CHECK(arrivals > 0);
	look = NULL;
	CHECK_STR(polled(r, 16), "0:4");
	ionic_rings_free(r);
}

TEST(flushes_spare_what_is_done)
{
	struct ionic_rings *r = open_rings();

	post(r, "lmm");
	ionic_msn(r, 1, 0);
	CHECK_STR(polled(r, 16), "");
	ionic_npg(r, 0, IONIC_IO_FLUSHED);
	CHECK_STR(polled(r, 16), "0:4 1 2:4");
	ionic_rings_free(r);

	r = open_rings();
	post(r, "mll");
	ionic_npg(r, 1, 0);
	ionic_npg(r, 0, IONIC_IO_FLUSHED);
	CHECK_STR(polled(r, 16), "0:4 1 2:4");
	ionic_rings_free(r);
}

/* an entry with the mark of an error, whatever its status */
static const char *marked(enum ionic_cqe_type type, uint32_t status)
{
	struct ionic_rings *r = open_rings();
	struct ionic_cqe cqe = { .status_length = htobe32(status) };
	const char *text;

	post(r, "mmm");
	CHECK_EQ(ionic_post_recv(r, 5), 0);
	ionic_publish(r);
	if (type == IONIC_CQE_SEND_MSN)
		cqe.u.send.msn = htobe32(2);
	ionic_cqe(r, 0, cqe, RINGS_QP_NUM, type, true);
	text = polled(r, 16);
	ionic_rings_free(r);
	return text;
}

TEST(errors_are_never_successes)
{
	CHECK_STR(marked(IONIC_CQE_SEND_MSN, 0), "0 1:255 2:4");
	CHECK_STR(marked(IONIC_CQE_SEND_MSN, 0x100), "0 1:255 2:4");
	CHECK_STR(marked(IONIC_CQE_SEND_MSN, IONIC_IO_FLUSHED), "0 1:4 2:4");
	CHECK_STR(marked(IONIC_CQE_RECV, 0), "5:255");
}

TEST(attached_again_after_a_failure)
{
	struct ionic_rings *r = open_rings();

	post(r, "mm");
	ionic_npg(r, 0, IONIC_IO_FLUSHED);
	CHECK_STR(polled(r, 16), "0:4 1:4");
	CHECK_EQ(dvq_ionic_cq_detach(&r->cq, RINGS_QP_NUM), 0);
	CHECK_EQ(dvq_ionic_cq_attach(&r->cq, &r->sq, &r->rq), 0);
	post(r, "mm");
	CHECK_STR(polled(r, 16), "0:4 1:4");
	ionic_rings_free(r);
}

TEST(without_a_table)
{
	struct ionic_rings *r = open_rings();

	post(r, "m");
	ionic_msn(r, 1, 0);
	r->cq.qps = 0;
	r->cq.qp_mask = 0;
	CHECK_STR(polled(r, 16), "");
	ionic_rings_free(r);
}

TEST(f25_statuses)
{
	static const uint32_t want[] = {
		IBV_WC_SUCCESS, IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR,
		IBV_WC_WR_FLUSH_ERR, IBV_WC_MW_BIND_ERR, IBV_WC_BAD_RESP_ERR,
		IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR,
		IBV_WC_REM_OP_ERR, IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR,
		IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR,
	};
	struct dvq_ionic_wc wc;

	for (uint32_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		wc.status = i;
		CHECK_EQ(dvq_ionic_wc_status(&wc), want[i]);
	}
}

/* ---- receives ----------------------------------------------------------------------- */

TEST(receives_in_any_order)
{
	struct ionic_rings *r = open_rings();

	for (int i = 0; i < 3; i++)
		CHECK_EQ(ionic_post_recv(r, 10 + i), 0);
	ionic_publish(r);
	ionic_recv(r, 1, 3, 0);
	CHECK_STR(polled(r, 16), "11");
	/* room is given back in order */
	CHECK_EQ(dvq_ionic_rq_room(&r->rq), 4);
	ionic_recv(r, 1, 3, 0);
	ionic_recv(r, 3, 3, 0);
	CHECK_STR(polled(r, 16), "");
	CHECK_EQ(r->cq.bad, 2);
	ionic_recv(r, 0, 3, 0);
	CHECK_STR(polled(r, 16), "10");
	CHECK_EQ(dvq_ionic_rq_room(&r->rq), 6);
	ionic_recv(r, 2, 3, 0);
	CHECK_STR(polled(r, 16), "12");
	ionic_rings_free(r);
}

TEST(error_of_a_receive)
{
	struct ionic_rings *r = open_rings();

	for (int i = 0; i < 4; i++)
		CHECK_EQ(ionic_post_recv(r, i), 0);
	ionic_publish(r);
	ionic_recv(r, 2, 3, 0);
	ionic_recv(r, 0, 0, IONIC_IO_LOCAL_LEN);
	CHECK_STR(polled(r, 16), "2 0:1 1:4 3:4");
	CHECK_EQ(dvq_ionic_rq_room(&r->rq), 7);
	ionic_rings_free(r);
}

static struct dvq_ionic_wc one_recv(bool ud, struct ionic_cqe cqe)
{
	struct ionic_rings *r = open_rings();
	struct dvq_ionic_wc wc;

	r->ud = ud;
	ionic_rings_open(r);
	CHECK_EQ(ionic_post_recv(r, 42), 0);
	ionic_publish(r);
	memset(&wc, 0xee, sizeof(wc));
	cqe.status_length = htobe32(1234);
	ionic_cqe(r, 0, cqe, RINGS_QP_NUM, IONIC_CQE_RECV, false);
	CHECK_EQ(ionic_poll(r, &wc, 1), 1);
	ionic_rings_free(r);
	CHECK_EQ(wc.wr_id, 42);
	CHECK_EQ(wc.byte_len, 1234);
	CHECK_EQ(wc.status, 0);
	return wc;
}

TEST(contents_of_a_receives_completion)
{
	struct ionic_cqe cqe = { .u.recv.src_qpn_op = htobe32(0xabcdef),
				 .u.recv.imm_rkey = htobe32(0x12345678),
				 .u.recv.vlan = htobe16(0xa123),
				 .u.recv.src_mac = { 1, 2, 3, 4, 5, 6 } };
	static const uint8_t mac[6] = { 1, 2, 3, 4, 5, 6 };
	struct dvq_ionic_wc wc = one_recv(false, cqe);

	CHECK_EQ(wc.opcode, IBV_WC_RECV);
	CHECK_EQ(wc.src_qp, 0xabcdef);
	CHECK_EQ(wc.flags, 0);
	CHECK_EQ(wc.imm, 0);
	/* the priority counts without a VLAN, too */
	CHECK_EQ(wc.sl, 5);
	CHECK(!memcmp(wc.src_mac, mac, 6));
	cqe.u.recv.src_qpn_op = htobe32(1 << 24 | 1);
	wc = one_recv(false, cqe);
	CHECK_EQ(wc.flags, DVQ_IONIC_WC_INV);
	CHECK_EQ(wc.imm, 0x12345678);
	cqe.u.recv.src_qpn_op = htobe32(2 << 24 | 1);
	wc = one_recv(false, cqe);
	CHECK_EQ(wc.flags, DVQ_IONIC_WC_IMM);
	CHECK_EQ(wc.opcode, IBV_WC_RECV);
	cqe.u.recv.src_qpn_op = htobe32(3 << 24 | 1);
	wc = one_recv(false, cqe);
	CHECK_EQ(wc.flags, DVQ_IONIC_WC_IMM);
	CHECK_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK_EQ(wc.imm, 0x12345678);
	/* a datagram over IPv4 with a VLAN tag */
	cqe.u.recv.src_qpn_op = htobe32(0xc0000001);
	wc = one_recv(true, cqe);
	CHECK_EQ(wc.flags, DVQ_IONIC_WC_GRH | DVQ_IONIC_WC_VLAN | DVQ_IONIC_WC_IPV4);
	CHECK_EQ(wc.vlan, 0x123);
	CHECK_EQ(wc.sl, 5);
}

/* ---- rings, doorbells, events ------------------------------------------------------- */

TEST(both_pipelines_in_turn)
{
	struct ionic_rings *r = open_rings();
	struct dvq_ionic_sq other = r->sq;
	struct dvq_ionic_req slots[8];
	struct dvq_ionic_wr wr = ionic_send();
	struct ionic_cqe cqe = { .u.send.msn = htobe32(1) };
	struct dvq_ionic_wc wc;

	/* one QP on each pipeline */
	other.wq.reqs.qp_num = 7;
	other.wq.ring = (uintptr_t)r->sq_cmb;
	CHECK_EQ(dvq_ionic_sq_set_slots(&other, slots), 0);
	CHECK_EQ(dvq_ionic_cq_attach(&r->cq, &other, NULL), 0);
	for (int i = 0; i < 2; i++) {
		post(r, "m");
		CHECK_EQ(dvq_ionic_sq_post(&other, &wr, 100), 0);
		dvq_ionic_sq_publish(&other);
		cqe.u.send.msn = htobe32(i + 1);
		ionic_msn(r, i + 1, 0);
		ionic_cqe(r, 1, cqe, 7, IONIC_CQE_SEND_MSN, false);
	}
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(ionic_poll(r, &wc, 1), 1);
		CHECK_EQ(wc.qp_num, i % 2 ? 7 : RINGS_QP_NUM);
	}
	CHECK_EQ(ionic_poll(r, &wc, 1), 0);
	ionic_rings_free(r);
}

TEST(cq_on_one_pipeline)
{
	struct ionic_rings *r = open_rings();
	struct dvq_ionic_wc wc;
	struct ionic_cqe cqe = { .u.send.msn = htobe32(1) };

	r->cq_info[0].entries = 0;
	ionic_rings_open(r);
	post(r, "m");
	ionic_cqe(r, 1, cqe, RINGS_QP_NUM, IONIC_CQE_SEND_MSN, false);
	CHECK_EQ(ionic_poll(r, &wc, 1), 1);
	dvq_ionic_cq_arm(&r->cq, true);
	CHECK_EQ(r->cq_db, 6 << 24 | 2 << 16 | 1);
	ionic_rings_free(r);
}

/* the adapter hears of the room at least once in 64 entries, or in half a ring */
TEST(room_is_told)
{
	struct ionic_rings *r = ionic_rings_new();

	r->cq_info[0].entries = 1024;
	ionic_rings_open(r);
	for (int i = 1; i <= 640; i++) {
		r->cq_db = ~0ull;
		post(r, "m");
		ionic_msn(r, i % 8, 0);
		CHECK_STR(polled(r, 16), "0");
		CHECK_EQ(r->cq_db, i % 64 ? ~0ull : 5ull << 24 | i);
	}
	ionic_rings_free(r);
	r = open_rings();
	for (int i = 1; i <= 64; i++) {
		r->cq_db = ~0ull;
		post(r, "m");
		ionic_msn(r, i % 8, 0);
		CHECK_STR(polled(r, 16), "0");
		CHECK_EQ(r->cq_db, i % 8 ? ~0ull : 5ull << 24 | i % 16);
	}
	ionic_rings_free(r);
}

/* the last number is that of entries which are nobody's; beyond it a key would be another's */
TEST(numbers_that_no_qp_has)
{
	struct ionic_rings *r = open_rings();
	const uint32_t bad[] = { DVQ_IONIC_NO_QP, 0x1000000 | RINGS_QP_NUM };

	ionic_rings_open(r);
	CHECK_EQ(dvq_ionic_cq_detach(&r->cq, RINGS_QP_NUM), 0);
	for (int i = 0; i < 2; i++) {
		r->sq.wq.reqs.qp_num = r->rq.wq.reqs.qp_num = bad[i];
		CHECK_EQ(dvq_ionic_cq_attach(&r->cq, &r->sq, &r->rq), DVQ_IONIC_EINVAL);
		CHECK_EQ(dvq_ionic_cq_detach(&r->cq, bad[i]), DVQ_IONIC_EINVAL);
	}
	ionic_rings_free(r);
}

static void complete_one(struct ionic_rings *r, uint32_t i)
{
	post(r, "m");
	ionic_msn(r, i % 8, 0);
}

TEST(arming)
{
	struct ionic_rings *r = open_rings();

	r->cq_info[1].entries = 0;
	ionic_rings_open(r);
	for (uint32_t i = 1; i <= 40; i++) {
		dvq_ionic_cq_arm(&r->cq, false);
		CHECK_EQ(r->cq_db, 5 << 24 | 1 << 16 | i % 16);
		if (i % 2 == 0) {
			/* counted apart */
			dvq_ionic_cq_arm(&r->cq, true);
			CHECK_EQ(r->cq_db, 5 << 24 | 2 << 16 | i / 2 % 16);
		}
		complete_one(r, i);
		CHECK_STR(polled(r, 16), "0");
	}
	ionic_rings_free(r);
}

/* the adapter would take as many as the ring has entries for none */
TEST(arms_of_a_quiet_ring_are_not_written)
{
	struct ionic_rings *r = open_rings();

	r->cq_info[1].entries = 0;
	ionic_rings_open(r);
	for (uint32_t solicited = 0; solicited < 2; solicited++) {
		const uint64_t doorbell = 5 << 24 | (1 + solicited) << 16;

		dvq_ionic_cq_arm(&r->cq, solicited);
		CHECK_EQ(r->cq_db, doorbell | 1);
		r->cq_db = ~0ull;
		for (int i = 0; i < 100; i++)
			dvq_ionic_cq_arm(&r->cq, solicited);
		CHECK_EQ(r->cq_db, ~0ull);
		/* an entry that is there may have answered */
		complete_one(r, 1 + solicited);
		dvq_ionic_cq_arm(&r->cq, solicited);
		CHECK_EQ(r->cq_db, doorbell | 2);
		/* one that was taken, too; be the adapter told or not */
		CHECK_STR(polled(r, 16), "0");
		dvq_ionic_cq_arm(&r->cq, solicited);
		CHECK_EQ(r->cq_db, doorbell | 3);
	}
	for (uint32_t i = 3; i < 3 + 8; i++) {
		complete_one(r, i);
		CHECK_STR(polled(r, 16), "0");
	}
	dvq_ionic_cq_arm(&r->cq, false);
	CHECK_EQ(r->cq_db, 5 << 24 | 1 << 16 | 4);
	ionic_rings_free(r);
}

/* ---- the common entries go a short way, which ends where the long one does ------------- */

static uint64_t thrown = 20261130;

/* @both[1] knows no short way */
static void open_both(struct ionic_rings *both[2], bool ud)
{
	for (int i = 0; i < 2; i++) {
		both[i] = ionic_rings_new();
		both[i]->ud = ud;
		both[i]->cq_info[1].entries = 0;
		ionic_rings_open(both[i]);
	}
	both[1]->qps[RINGS_QP_NUM % 16].send_key |= DVQ_IONIC_KEY_SLOW;
	both[1]->qps[RINGS_QP_NUM % 16].recv_key |= DVQ_IONIC_KEY_SLOW;
}

static void post_to_both(struct ionic_rings *both[2], uint64_t wr_id)
{
	struct dvq_ionic_wr wr = dice_one_in(&thrown, 5) ? local(dice_one_in(&thrown, 2) ? DVQ_IONIC_SIGNALED : 0) :
			     message(dice_one_in(&thrown, 4) ? 0 : DVQ_IONIC_SIGNALED);
	const bool send = dice_one_in(&thrown, 2), publish = !dice_one_in(&thrown, 8);

	if (both[0]->ud) {
		wr = ionic_send();
		dvq_ionic_wr_set_dest(&wr, 1, 2, 3);
	}
	for (int i = 0; i < 2; i++) {
		if (send)
			ionic_post(both[i], &wr, wr_id);
		else
			ionic_post_recv(both[i], wr_id);
		if (publish) {
			ionic_publish(both[i]);
			dvq_ionic_rq_publish(&both[i]->rq);
		}
	}
}

/* mostly what comes next, now and then anything */
static void complete_both(struct ionic_rings *both[2])
{
	const struct dvq_ionic_reqs *sq = &both[0]->sq.wq.reqs, *rq = &both[0]->rq.wq.reqs;
	const uint32_t type = dice_one_in(&thrown, 40) ? dice(&thrown) % 8 : 1 + dice(&thrown) % 3;
	const uint32_t qp_num = dice_one_in(&thrown, 30) ? dice(&thrown) & 0xffffff : RINGS_QP_NUM;
	const bool error = dice_one_in(&thrown, 60);
	struct ionic_cqe cqe;

	for (uint32_t i = 0; i < sizeof(cqe.u); i++)
		cqe.u.bytes[i] = dice_one_in(&thrown, 3) ? dice(&thrown) : 0;
	if (type == IONIC_CQE_RECV)
		cqe.u.recv.id = htole64(rq->retired + (dice_one_in(&thrown, 4) ? dice(&thrown) % 4 : 0));
	else if (type == IONIC_CQE_SEND_MSN)
		cqe.u.send.msn = htobe32((sq->done + (dice_one_in(&thrown, 4) ? dice(&thrown) % 5 : 1)) % 8);
	else
		cqe.u.send.id = htole64(sq->retired + (dice_one_in(&thrown, 4) ? dice(&thrown) % 4 : 0));
	cqe.status_length = htobe32(error ? dice(&thrown) % 16 : dice(&thrown) % 1000);
	for (int i = 0; i < 2; i++)
		ionic_cqe(both[i], 0, cqe, qp_num, type, error);
}

static void check_same(struct ionic_rings *both[2], const struct dvq_ionic_reqs *a,
		       const struct dvq_ionic_reqs *b)
{
	CHECK_EQ(a->retired, b->retired);
	CHECK_EQ(a->retired_messages, b->retired_messages);
	CHECK_EQ(a->done, b->done);
	CHECK_EQ(a->waiting, b->waiting);
	CHECK_EQ(a->state, b->state);
	CHECK_EQ(both[0]->cq.bad, both[1]->cq.bad);
	CHECK_EQ(both[0]->cq.stale, both[1]->cq.stale);
	CHECK_EQ(both[0]->cq.ring[0].consumed, both[1]->cq.ring[0].consumed);
}

static uint32_t poll_both(struct ionic_rings *both[2])
{
	static struct dvq_ionic_wc wc[2][16];
	const uint32_t most = 1 + dice(&thrown) % 16;
	uint32_t n[2];

	for (int i = 0; i < 2; i++) {
		memset(wc[i], 0xee, sizeof(wc[i]));
		n[i] = ionic_poll(both[i], wc[i], most);
	}
	CHECK_EQ(n[0], n[1]);
	CHECK(!memcmp(wc[0], wc[1], sizeof(wc[0])));
	check_same(both, &both[0]->sq.wq.reqs, &both[1]->sq.wq.reqs);
	check_same(both, &both[0]->rq.wq.reqs, &both[1]->rq.wq.reqs);
	return n[0];
}

TEST(short_way_and_long_way_agree)
{
	uint32_t reports = 0;

	for (uint32_t round = 0; round < 400 && !tap.failures; round++) {
		struct ionic_rings *both[2];

		open_both(both, round % 4 == 3);
		for (uint64_t step = 0; step < 100; step++) {
			for (uint32_t i = dice(&thrown) % 6; i; i--)
				post_to_both(both, step << 8 | i);
			for (uint32_t i = dice(&thrown) % 5; i; i--)
				complete_both(both);
			reports += poll_both(both);
		}
		ionic_rings_free(both[0]);
		ionic_rings_free(both[1]);
	}
	printf("# %u completions\n", reports);
	CHECK(reports > 10000);
}

TAP_MAIN
