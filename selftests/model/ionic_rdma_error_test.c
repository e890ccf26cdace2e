// SPDX-License-Identifier: GPL-2.0
/* What goes wrong on the way, at the other end and at home, and how it is told. */
#include "tap.h"
#include "test_pair.h"

/* ---- loss ------------------------------------------------------------------------- */

/* every packet of both ways is lost once, one at a time */
TEST(lost_packets_are_sent_again)
{
	static const unsigned int packets[] = { 11, 10 };

	for (unsigned int way = 0; way < 2; way++) {
		for (unsigned int lost = 0; lost < packets[way]; lost++) {
			struct rnic *from = way ? &b : &a;

			open_both("");
			rqp_recv(&bqp, &bmr, 0, 5000);
			fabric_drop(&ionic_of(from->nic.dev)->net, lost, 1);
			rqp_send(&aqp, &amr, 0, 5000);
			rqp_write(&aqp, &amr, 5000, 3000, &bmr, 5000);
			rqp_read(&aqp, &amr, 100000, 4000, &bmr, 0);
			rqp_atomic(&aqp, true, 1, 0, &amr, 200000, &bmr, 200000);
			rqp_write(&aqp, &amr, 8000, 10, &bmr, 8000);
			test_run_ms(2000);
			/* it was lost */
			CHECK_EQ(ionic_of(from->nic.dev)->net.drop_count, 0);
			check_received(&bqp, IONIC_RECV_SEND, 5000);
			for (unsigned int i = 0; i < 5; i++)
				check_sent(&aqp, i + 1);
			CHECK(!memcmp(mem_of(&b, &bmr), mem_of(&a, &amr), 8010));
			CHECK(!memcmp(mem_of(&a, &amr) + 100000, mem_of(&b, &bmr), 4000));
			/* done once, however often it was asked for */
			CHECK_EQ(le64toh(*(uint64_t *)(mem_of(&b, &bmr) + 200000)),
				 0xeeeeeeeeeeeeeeef);
			close_both();
		}
	}
}

TEST(packets_that_overtake_are_put_in_order)
{
	static const char *const options[] = { "reorder=8 seed=1", "reorder=8 seed=2",
					       "reorder=8 seed=3" };

	for (unsigned int i = 0; i < 3; i++) {
		open_both(options[i]);
		rqp_recv(&bqp, &bmr, 0, 100000);
		rqp_send(&aqp, &amr, 0, 100000);
		rqp_read(&aqp, &amr, 150000, 100000, &bmr, 0);
		test_run_ms(20000);
		check_received(&bqp, IONIC_RECV_SEND, 100000);
		check_sent(&aqp, 1);
		check_sent(&aqp, 2);
		CHECK(!memcmp(mem_of(&b, &bmr), mem_of(&a, &amr), 100000));
		CHECK(!memcmp(mem_of(&a, &amr) + 150000, mem_of(&b, &bmr), 100000));
		CHECK(tally(&a, "retries") > 0);
		close_both();
	}
}

/* timeout 14: 67 ms; the first time and three more */
TEST(a_peer_that_is_gone)
{
	open_both("");
	ionic_of(b.nic.dev)->net.gone = true;
	rqp_send(&aqp, &amr, 0, 10);
	test_run_ms(4 * 67);
	CHECK(!rcq_take(&acq));
	CHECK_EQ(tally(&a, "timeouts"), 3);
	test_run_ms(2);
	check_failed(&aqp, IONIC_CQE_SEND_MSN, IONIC_IO_RETRY_EXCEEDED);
	check_flushed(&aqp);
	close_both();
}

TEST(without_a_timeout_nobody_gives_up)
{
	open_adapters("");
	aqp.timeout = 0;
	rqp_open(&aqp);
	rqp_open(&bqp);
	rqp_connect(&aqp, &bqp);
	rqp_connect(&bqp, &aqp);
	fabric_drop(&ionic_of(a.nic.dev)->net, 0, 1);
	rqp_recv(&bqp, &bmr, 0, 10);
	rqp_send(&aqp, &amr, 0, 10);
	test_run_ms(60000);
	CHECK(!rcq_take(&acq));
	/* the next message shows the gap */
	rqp_recv(&bqp, &bmr, 0, 10);
	rqp_send(&aqp, &amr, 0, 10);
	test_run();
	check_sent(&aqp, 1);
	check_sent(&aqp, 2);
	close_both();
}

/* until the network takes more from b than @packets, all that a receives waits */
static void hold_answers(unsigned int packets)
{
	uint8_t byte = 0;

	ionic_of(a.nic.dev)->net.held = true;
	for (unsigned int i = packets; i < FABRIC_QUEUE_MAX; i++)
		CHECK(!fabric_send(&ionic_of(b.nic.dev)->net, nic_mac(&a.nic), &byte, 1));
}

/*
 * An answer is late, so it is asked for again. The requester takes the first one and goes on
 * with its next request, which the responder must have a place for although it has not
 * given the answer again.
 */
TEST(answers_given_again_take_no_place)
{
	for (unsigned int atomic = 0; atomic < 2; atomic++) {
		open_adapters("");
		aqp.rrq_log2 = bqp.rsq_log2 = 1;	/* one at a time */
		rqp_open(&aqp);
		rqp_open(&bqp);
		rqp_connect(&aqp, &bqp);
		rqp_connect(&bqp, &aqp);
		hold_answers(20);
		rqp_read(&aqp, &amr, 0, 40 * 1024, &bmr, 0);
		if (atomic)
			rqp_atomic(&aqp, true, 1, 0, &amr, 200000, &bmr, 200000);
		else
			rqp_read(&aqp, &amr, 200000, 40 * 1024, &bmr, 200000);
		test_run_ms(68);
		CHECK_EQ(tally(&b, "duplicates"), 1);
		/* the other half of the first answer */
		ionic_of(a.nic.dev)->net.held = false;
		test_run();
		hold_answers(20);
		test_run_ms(1);
		ionic_of(a.nic.dev)->net.held = false;
		test_run_ms(100);
		check_sent(&aqp, 1);
		check_sent(&aqp, 2);
		CHECK_EQ(mem_of(&a, &amr)[40 * 1024 - 1], 0xee);
		CHECK_EQ(mem_of(&a, &amr)[200007], 0xee);
		CHECK_EQ(tally(&b, "naks"), 0);
		close_both();
	}
}

/* the network refuses for a while; nothing is lost by that */
TEST(a_full_network_is_waited_for)
{
	uint8_t byte = 0;

	open_both("");
	ionic_of(b.nic.dev)->net.held = true;
	while (!fabric_send(&ionic_of(a.nic.dev)->net, nic_mac(&b.nic), &byte, 1))
		;
	rqp_recv(&bqp, &bmr, 0, 10);
	rqp_send(&aqp, &amr, 0, 10);
	test_run_ms(1);
	CHECK_EQ(tally(&a, "tx_packets"), 0);
	ionic_of(b.nic.dev)->net.held = false;
	test_run_ms(1);
	check_received(&bqp, IONIC_RECV_SEND, 10);
	check_sent(&aqp, 1);
	CHECK_EQ(tally(&a, "retries"), 0);
	close_both();
}

/* ---- not ready -------------------------------------------------------------------- */

/* timer code 12: 0.64 ms */
TEST(f78_not_ready_is_tried_again)
{
	open_both("");
	rqp_send(&aqp, &amr, 0, 10);
	test_run_ms(100);
	CHECK(!rcq_take(&acq));
	CHECK(tally(&b, "rnr") > 100);
	rqp_recv(&bqp, &bmr, 0, 10);
	test_run_ms(1);
	check_received(&bqp, IONIC_RECV_SEND, 10);
	check_sent(&aqp, 1);
	close_both();
}

TEST(f78_retries_when_not_ready_are_counted)
{
	for (unsigned int retries = 0; retries < 4; retries++) {
		open_adapters("");
		aqp.rnr_retry = retries;
		rqp_open(&aqp);
		rqp_open(&bqp);
		rqp_connect(&aqp, &bqp);
		rqp_connect(&bqp, &aqp);
		rqp_send(&aqp, &amr, 0, 10);
		rqp_send(&aqp, &amr, 0, 10);
		test_run_ms(100);
		CHECK_EQ(tally(&b, "rnr"), retries + 1);
		check_failed(&aqp, IONIC_CQE_SEND_MSN, IONIC_IO_RNR_EXCEEDED);
		check_flushed(&aqp);
		/* and nothing comes later */
		rqp_recv(&bqp, &bmr, 0, 10);
		test_run_ms(100);
		CHECK(!rcq_take(&bcq));
		close_both();
	}
}

/* a write with immediate data needs a receive WQE, and is not executed without one */
TEST(an_immediate_that_finds_no_receiver)
{
	struct ionic_wqe_send *wqe;

	open_both("");
	wqe = rqp_begin(&aqp, IONIC_V1_WRITE_IMM, IONIC_V2_WRITE_IMM, &amr, 0, 10);
	rwqe_remote(wqe, &bmr, 0);
	rqp_end(&aqp);
	test_run();
	CHECK_EQ(mem_of(&b, &bmr)[0], 0xee);
	rqp_recv(&bqp, &bmr, 0, 0);
	test_run_ms(1);
	check_received(&bqp, IONIC_RECV_WRITE_IMM, 10);
	CHECK(!memcmp(mem_of(&b, &bmr), mem_of(&a, &amr), 10));
	check_sent(&aqp, 1);
	close_both();
}

/* ---- refused at the other end ------------------------------------------------------- */

static void check_event(struct rnic *rnic, unsigned int code, unsigned int qid)
{
	unsigned int type, got, id;

	REQUIRE(req_event(rnic, 0, &type, &got, &id));
	CHECK_EQ(type, IONIC_EQE_QP);
	CHECK_EQ(got, code);
	CHECK_EQ(id, qid);
}

/* what a posts is refused by b for lack of access; both end in the error state */
static void check_access_refused(void)
{
	test_run();
	check_failed(&aqp, IONIC_CQE_SEND_MSN, IONIC_IO_REMOTE_ACCESS);
	check_flushed(&aqp);
	check_flushed(&bqp);
	check_event(&b, IONIC_EQE_QP_ACCESS, bqp.id);
	close_both();
}

TEST(a_key_that_does_not_exist)
{
	open_both("");
	bmr.key++;
	rqp_write(&aqp, &amr, 0, 10, &bmr, 0);
	check_access_refused();
}

/* the host may not have seen that a QP has failed, until it says so itself */
TEST(a_change_of_state_that_comes_too_late)
{
	open_both("");
	bmr.key++;
	rqp_write(&aqp, &amr, 0, 10, &bmr, 0);
	test_run();
	CHECK_EQ(rqp_state(&aqp), IONIC_QPS_ERR);
	CHECK_EQ(rqp_modify(&aqp, IONIC_QPA_STATE, IONIC_QPS_SQD), IONIC_AQ_BAD_STATE);
	CHECK_STR(nic_violation(&a.nic), "");
	CHECK_EQ(rqp_modify(&aqp, IONIC_QPA_STATE, IONIC_QPS_ERR), 0);
	CHECK_EQ(rqp_modify(&aqp, IONIC_QPA_STATE, IONIC_QPS_SQD), IONIC_AQ_BAD_STATE);
	CHECK_CONTAINS(nic_violation(&a.nic), "from state 6 to 4");
	close_both();
}

TEST(a_range_that_is_too_long)
{
	open_both("");
	rqp_write(&aqp, &amr, 0, 11, &bmr, BIG - 10);
	test_run();
	CHECK_EQ(mem_of(&b, &bmr)[BIG - 10], 0xee);
	check_access_refused();
}

TEST(a_read_that_is_not_allowed)
{
	struct rmr mr;

	open_both("");
	rmr_open(&mr, &b, 9, 4096, IONIC_MR_LOCAL_WRITE | IONIC_MR_REMOTE_WRITE);
	rqp_read(&aqp, &amr, 0, 10, &mr, 0);
	check_access_refused();
}

TEST(an_atomic_that_is_not_allowed)
{
	struct rmr mr;

	open_both("");
	rmr_open(&mr, &b, 9, 4096, IONIC_MR_LOCAL_WRITE | IONIC_MR_REMOTE_WRITE);
	rqp_atomic(&aqp, true, 1, 0, &amr, 0, &mr, 0);
	check_access_refused();
}

TEST(a_queue_that_does_not_allow_it)
{
	struct ionic_aq_modify_qp cmd;

	open_both("");
	cmd = rqp_modify_command(&bqp, IONIC_QPA_ACCESS, IONIC_QPS_RTS);
	cmd.flags = htobe16(IONIC_QP_REMOTE_READ);
	CHECK_EQ(raq(&b, &cmd, IONIC_AQ_MODIFY_QP, sizeof(cmd)), 0);
	rqp_write(&aqp, &amr, 0, 10, &bmr, 0);
	check_access_refused();
}

TEST(memory_of_another_domain)
{
	struct ionic_aq_create_mr cmd;

	open_both("");
	CHECK_EQ(raq_destroy(&b, IONIC_AQ_DESTROY_MR, bmr.key), 0);
	cmd = rmr_command(&bmr, RNIC_ALL_ACCESS);
	cmd.pd = htole32(RNIC_PD + 1);
	CHECK_EQ(raq(&b, &cmd, IONIC_AQ_CREATE_MR, sizeof(cmd)), 0);
	rqp_write(&aqp, &amr, 0, 10, &bmr, 0);
	check_access_refused();
}

TEST(an_atomic_across_words)
{
	open_both("");
	rqp_atomic(&aqp, true, 1, 0, &amr, 0, &bmr, 4);
	test_run();
	check_failed(&aqp, IONIC_CQE_SEND_MSN, IONIC_IO_REMOTE_INV_REQ);
	check_event(&b, IONIC_EQE_QP_REQUEST, bqp.id);
	close_both();
}

TEST(a_message_longer_than_its_buffer)
{
	open_both("");
	rqp_recv(&bqp, &bmr, 0, 1999);
	rqp_send(&aqp, &amr, 0, 2000);
	test_run();
	check_failed(&bqp, IONIC_CQE_RECV, IONIC_IO_LOCAL_LEN);
	check_failed(&aqp, IONIC_CQE_SEND_MSN, IONIC_IO_REMOTE_INV_REQ);
	check_flushed(&aqp);
	check_flushed(&bqp);
	CHECK_EQ(mem_of(&b, &bmr)[1999], 0xee);
	close_both();
}

/* which write, of those since they are counted, shows that entry of a CQ: that of its color */
static unsigned int shown(const struct rcq *cq, unsigned int entry)
{
	const struct test_host *host = &cq->rnic->nic.host;
	uint64_t end = cq->ring + (entry + 1) * IONIC_CQE_SIZE;

	REQUIRE(host->nwrites <= TEST_WRITES_KEPT);
	for (unsigned int i = host->nwrites; i--;)
		if (host->writes[i].addr + host->writes[i].len == end)
			return i;
	REQUIRE(!"the entry was written");
	return 0;
}

/* choice: whoever sees an error sees the flush, too */
TEST(an_error_is_shown_after_its_flush)
{
	open_both("");
	a.nic.host.nwrites = b.nic.host.nwrites = 0;
	rqp_recv(&bqp, &bmr, 0, 1999);
	rqp_send(&aqp, &amr, 0, 2000);
	test_run();
	CHECK(shown(aqp.cq, 0) > shown(aqp.cq, 1));
	CHECK(shown(aqp.cq, 0) > shown(aqp.cq, 2));
	CHECK(shown(bqp.cq, 0) > shown(bqp.cq, 1));
	CHECK(shown(bqp.cq, 0) > shown(bqp.cq, 2));
	CHECK(a.nic.host.writes[shown(aqp.cq, 0)].barriers > a.nic.host.writes[shown(aqp.cq, 1)].barriers);
	close_both();
}

/* b refuses a message and cannot say so */
static void refuse_without_a_word(void)
{
	uint8_t byte = 0;

	ionic_of(a.nic.dev)->net.held = true;
	while (!fabric_send(&ionic_of(b.nic.dev)->net, nic_mac(&a.nic), &byte, 1))
		;
	rqp_recv(&bqp, &bmr, 0, 1999);
	rqp_send(&aqp, &amr, 0, 2000);
	test_run_ms(1);
	CHECK(!rcq_take(bqp.cq));
}

/* and so it is however long it takes the queue to get there */
TEST(a_failed_receive_is_shown_when_its_queue_has_failed)
{
	unsigned int type, code, id;

	open_both("");
	rcq_arm(bqp.cq, false);
	refuse_without_a_word();
	CHECK(!req_event(&b, 3, &type, &code, &id));
	ionic_of(a.nic.dev)->net.held = false;
	test_run_ms(1);
	REQUIRE(req_event(&b, 3, &type, &code, &id));
	CHECK_EQ(type, IONIC_EQE_CQ);
	CHECK_EQ(id, bcq.id);
	check_failed(&bqp, IONIC_CQE_RECV, IONIC_IO_LOCAL_LEN);
	check_flushed(&bqp);
	close_both();
}

TEST(a_failed_receive_is_shown_when_its_queue_goes)
{
	open_both("");
	refuse_without_a_word();
	CHECK_EQ(raq_destroy(&b, IONIC_AQ_DESTROY_QP, bqp.id), 0);
	check_failed(&bqp, IONIC_CQE_RECV, IONIC_IO_LOCAL_LEN);
	ionic_of(a.nic.dev)->net.held = false;
	close_both();
}

TEST(a_receive_buffer_with_a_wrong_key)
{
	open_both("");
	bmr.key++;
	rqp_recv(&bqp, &bmr, 0, 2000);
	rqp_send(&aqp, &amr, 0, 100);
	test_run();
	check_failed(&bqp, IONIC_CQE_RECV, IONIC_IO_LOCAL_PROT);
	check_failed(&aqp, IONIC_CQE_SEND_MSN, IONIC_IO_REMOTE_OP);
	close_both();
}

/* the answer to what came before the bad request arrives first */
TEST(earlier_requests_are_answered)
{
	open_both("");
	rqp_read(&aqp, &amr, 0, 50000, &bmr, 0);
	rqp_write(&aqp, &amr, 0, 10, &bmr, BIG);
	test_run();
	check_sent(&aqp, 1);
	check_failed(&aqp, IONIC_CQE_SEND_MSN, IONIC_IO_REMOTE_ACCESS);
	CHECK_EQ(mem_of(&a, &amr)[49999], 0xee);
	close_both();
}

/* memory that goes away while it is read */
TEST(a_region_that_goes_away)
{
	open_both("");
	rqp_read(&aqp, &amr, 0, BIG, &bmr, 0);
	for (unsigned int i = 0; i < 3; i++) {
		a.nic.dev->ops->work(a.nic.dev);
		fabric_run(4);
		b.nic.dev->ops->work(b.nic.dev);
	}
	CHECK_EQ(raq_destroy(&b, IONIC_AQ_DESTROY_MR, bmr.key), 0);
	CHECK_EQ(mem_of(&a, &amr)[0], 0xee);
	check_failed(&aqp, IONIC_CQE_SEND_MSN, IONIC_IO_REMOTE_ACCESS);
	CHECK(mem_of(&a, &amr)[BIG - 1] != 0xee);
	check_event(&b, IONIC_EQE_QP_ACCESS, bqp.id);
	CHECK_EQ(tally(&b, "naks"), 1);
	close_both();
}

/* ---- wrong at home ------------------------------------------------------------------ */

TEST(a_local_key_that_does_not_exist)
{
	open_both("");
	rqp_recv(&bqp, &bmr, 0, 2000);
	rqp_send(&aqp, &amr, 0, 100);
	amr.key++;
	rqp_send(&aqp, &amr, 0, 100);
	amr.key--;
	rqp_send(&aqp, &amr, 0, 100);
	test_run();
	/* what came before is finished; the third is for the host to flush */
	check_received(&bqp, IONIC_RECV_SEND, 100);
	check_sent(&aqp, 1);
	check_failed(&aqp, IONIC_CQE_SEND_NPG, IONIC_IO_LOCAL_PROT);
	check_flushed(&aqp);
	CHECK(!rcq_take(&bcq));
	close_both();
}

TEST(a_read_into_memory_that_may_not_be_written)
{
	struct rmr mr;

	open_both("");
	rmr_open(&mr, &a, 9, 4096, IONIC_MR_REMOTE_READ);
	rqp_read(&aqp, &mr, 0, 10, &bmr, 0);
	test_run();
	check_failed(&aqp, IONIC_CQE_SEND_NPG, IONIC_IO_LOCAL_PROT);
	close_both();
}

static void check_wqe(const char *why)
{
	rqp_end(&aqp);
	test_run();
	CHECK_CONTAINS(nic_violation(&a.nic), why);
	check_failed(&aqp, IONIC_CQE_SEND_NPG, IONIC_IO_LOCAL_QP_OP);
	CHECK_EQ(rqp_state(&aqp), IONIC_QPS_ERR);
	close_both();
}

/* a new pair with the beginning of a send */
static struct ionic_wqe_send *begin_wqe(void)
{
	open_both("");
	return rqp_begin(&aqp, IONIC_V1_SEND, IONIC_V2_SEND, &amr, 0, 100);
}

TEST(work_requests_out_of_rule)
{
	struct ionic_wqe_send *wqe;

	begin_wqe()->header.id = htole64(5);
	check_wqe("another slot's id");
	begin_wqe()->header.flags |= htobe16(0x0100);
	check_wqe("flags that do not exist");
	begin_wqe()->header.num_sge = 7;
	check_wqe("more SGEs than there is room for");
	begin_wqe()->length = htobe32(99);
	check_wqe("not the sum of its SGEs");
	begin_wqe()->header.flags |= htobe16(HW_PREP(IONIC_WQE_SPEC, IONIC_SPEC32));
	check_wqe("format that the queue was not made for");
	begin_wqe()->header.flags |= htobe16(IONIC_WQE_INLINE);
	check_wqe("is inline and has SGEs");
	wqe = begin_wqe();
	wqe->header.op = rop(&aqp, IONIC_V1_READ, IONIC_V2_READ);
	wqe->header.flags |= htobe16(IONIC_WQE_INLINE);
	check_wqe("inline but sends nothing");
	wqe = begin_wqe();
	wqe->header.op = rop(&aqp, IONIC_V1_FETCH_ADD, IONIC_V2_FETCH_ADD);
	wqe->header.num_sge = 2;
	check_wqe("has not one SGE");
}

TEST(receive_work_requests_out_of_rule)
{
	static const char *const why[] = {
		"id that is not below", "opcode or flags", "opcode or flags",
		"not the sum of its SGEs",
	};

	for (unsigned int i = 0; i < 4; i++) {
		struct ionic_wqe_recv *wqe;

		open_both("");
		wqe = rqp_recv_slot(&bqp);
		switch (i) {
		case 0:
			wqe->header.id = htole64(32);
			break;
		case 1:
			wqe->header.op = 1;
			break;
		case 2:
			wqe->header.flags = htobe16(IONIC_WQE_FENCE);
			break;
		default:
			wqe->header.imm_key_length = htobe32(1);
		}
		rqp_received(&bqp);
		rqp_ring_recv(&bqp);
		rqp_send(&aqp, &amr, 0, 0);
		test_run();
		CHECK_CONTAINS(nic_violation(&b.nic), why[i]);
		check_failed(&aqp, IONIC_CQE_SEND_MSN, IONIC_IO_REMOTE_OP);
		close_both();
	}
}

/* tokens come back as they were given, in any order */
TEST(receive_tokens)
{
	const struct ionic_cqe *cqe;

	open_both("");
	for (unsigned int i = 0; i < 3; i++) {
		struct ionic_wqe_recv *wqe = rqp_recv_slot(&bqp);

		wqe->header.id = htole64(31 - i);
		rqp_received(&bqp);
	}
	rqp_ring_recv(&bqp);
	for (unsigned int i = 0; i < 3; i++) {
		rqp_send(&aqp, &amr, 0, 0);
		test_run();
		cqe = check_received(&bqp, IONIC_RECV_SEND, 0);
		CHECK_EQ(le64toh(cqe->u.recv.id), 31 - i);
	}
	close_both();
}

TEST(doorbells_out_of_rule)
{
	unsigned int type;

	open_adapters("");
	type = a.nic.lif.rdma.sq.qtype;
	rqp_open(&aqp);
	rqp_ring(&aqp);
	CHECK_CONTAINS(nic_violation(&a.nic), "state 0, too early");
	rqp_ring_recv(&aqp);
	CHECK_CONTAINS(nic_violation(&a.nic), "receive queue of QP 2 in state 0, too early");
	rqp_open(&bqp);
	rqp_connect(&aqp, &bqp);
	nic_ring(&a.nic, 0, type, HW_PREP(IONIC_DB_QID, 2ull) | 32);
	CHECK_CONTAINS(nic_violation(&a.nic), "index must be 0 to 31");
	nic_ring(&a.nic, 0, type, HW_PREP(IONIC_DB_QID, 2ull) | 1ull << 60);
	CHECK_CONTAINS(nic_violation(&a.nic), "other bits 0");
	nic_ring(&a.nic, 1, type, HW_PREP(IONIC_DB_QID, 2ull));
	CHECK_CONTAINS(nic_violation(&a.nic), "must be in its own, 0");
	nic_ring(&a.nic, 0, type, HW_PREP(IONIC_DB_QID, 50ull));
	CHECK_CONTAINS(nic_violation(&a.nic), "QP 50, which does not exist");
	for (unsigned int i = 0; i < 31; i++) {
		rqp_recv_slot(&aqp);
		rqp_received(&aqp);
	}
	rqp_ring_recv(&aqp);
	rqp_received(&aqp);
	rqp_ring_recv(&aqp);
	CHECK_CONTAINS(nic_violation(&a.nic), "overruns the ring");
	close_both();
}

/* one thread rings, another has its queue reset or destroyed: both in their own rights */
TEST(doorbells_that_come_too_late)
{
	const unsigned int page = 3;
	struct ionic_aq_create_qp cmd;
	unsigned int sq, rq;

	open_adapters("");
	sq = a.nic.lif.rdma.sq.qtype;
	rq = a.nic.lif.rdma.rq.qtype;
	aqp.sq = test_alloc_apart(&a.nic.host, 4096);
	aqp.rq = test_alloc_apart(&a.nic.host, 4096);
	cmd = rqp_command(&aqp);
	cmd.pid = htole16(page);
	CHECK_EQ(raq(&a, &cmd, IONIC_AQ_CREATE_QP, sizeof(cmd)), 0);
	nic_ring(&a.nic, page, sq, HW_PREP(IONIC_DB_QID, 2ull) | 1);
	nic_ring(&a.nic, page, rq, HW_PREP(IONIC_DB_QID, 2ull) | 1);
	test_run();
	CHECK_EQ(test_control(a.nic.dev, "qp 2"), 0);
	CHECK_EQ(test_answer_number("sq_posted"), 0);
	CHECK_EQ(test_answer_number("rq_posted"), 0);
	CHECK_EQ(tally(&a, "doorbells_stray"), 2);
	CHECK_EQ(raq_destroy(&a, IONIC_AQ_DESTROY_QP, 2), 0);
	nic_ring(&a.nic, page, sq, HW_PREP(IONIC_DB_QID, 2ull) | 1);
	nic_ring(&a.nic, page, a.nic.lif.rdma.cq.qtype, HW_PREP(IONIC_DB_QID, 50ull));
	CHECK_EQ(tally(&a, "doorbells_stray"), 4);
	/* nobody but the kernel has an admin queue */
	nic_ring(&a.nic, page, a.nic.lif.rdma.aq.qtype, HW_PREP(IONIC_DB_QID, 3ull));
	CHECK_CONTAINS(nic_violation(&a.nic), "admin queue 3, which does not exist");
	close_both();
}

/* ---- states ------------------------------------------------------------------------- */

TEST(an_error_by_command_flushes)
{
	open_both("");
	rqp_recv(&bqp, &bmr, 0, 100);
	CHECK_EQ(rqp_modify(&bqp, IONIC_QPA_STATE, IONIC_QPS_ERR), 0);
	check_flushed(&bqp);
	/* posting goes on, the device does not listen */
	rqp_recv(&bqp, &bmr, 0, 100);
	rqp_send(&bqp, &bmr, 0, 100);
	rqp_send(&aqp, &amr, 0, 100);
	test_run_ms(1000);
	CHECK(!rcq_take(&bcq));
	check_failed(&aqp, IONIC_CQE_SEND_MSN, IONIC_IO_RETRY_EXCEEDED);
	close_both();
}

TEST(reset_starts_over)
{
	open_both("");
	rqp_recv(&bqp, &bmr, 0, 100);
	rqp_send(&aqp, &amr, 0, 100);
	test_run();
	check_sent(&aqp, 1);
	check_received(&bqp, IONIC_RECV_SEND, 100);
	CHECK_EQ(rqp_modify(&aqp, IONIC_QPA_STATE, IONIC_QPS_RESET), 0);
	CHECK_EQ(rqp_modify(&bqp, IONIC_QPA_STATE, IONIC_QPS_RESET), 0);
	aqp.sq_posted = aqp.rq_posted = bqp.sq_posted = bqp.rq_posted = 0;
	rqp_connect(&aqp, &bqp);
	rqp_connect(&bqp, &aqp);
	rqp_recv(&bqp, &bmr, 0, 100);
	rqp_send(&aqp, &amr, 0, 100);
	test_run();
	check_sent(&aqp, 1);
	CHECK_EQ(le64toh(check_received(&bqp, IONIC_RECV_SEND, 100)->u.recv.id), 0);
	close_both();
}

TEST(draining)
{
	const uint32_t sqd = IONIC_QPA_STATE | IONIC_QPA_SQD_NOTIFY;
	unsigned int type, code, qid;

	open_both("");
	rqp_send(&aqp, &amr, 0, 100);	/* finds nobody ready */
	test_run();
	CHECK_EQ(rqp_modify(&aqp, sqd, IONIC_QPS_SQD), 0);
	rqp_send(&aqp, &amr, 0, 100);	/* waits for RTS */
	test_run_ms(10);
	CHECK(!req_event(&a, 0, &type, &code, &qid));
	rqp_recv(&bqp, &bmr, 0, 100);
	rqp_recv(&bqp, &bmr, 0, 100);
	test_run_ms(10);
	check_sent(&aqp, 1);
	check_event(&a, IONIC_EQE_SQ_DRAINED, aqp.id);
	CHECK(!rcq_take(&acq));
	CHECK_EQ(rqp_modify(&aqp, IONIC_QPA_STATE, IONIC_QPS_RTS), 0);
	test_run();
	check_sent(&aqp, 2);
	close_both();
}

static bool is_draining(struct rqp *qp)
{
	return be16toh(rqp_query(qp)->flags) & IONIC_QP_SQ_DRAINING;
}

TEST(draining_that_is_given_up)
{
	unsigned int type, code, qid;

	open_both("");
	rqp_send(&aqp, &amr, 0, 100);	/* finds nobody ready */
	test_run();
	CHECK_EQ(rqp_modify(&aqp, IONIC_QPA_STATE | IONIC_QPA_SQD_NOTIFY, IONIC_QPS_SQD), 0);
	CHECK(is_draining(&aqp));
	CHECK_EQ(rqp_modify(&aqp, IONIC_QPA_STATE, IONIC_QPS_RTS), 0);
	CHECK(!is_draining(&aqp));
	rqp_recv(&bqp, &bmr, 0, 100);
	test_run_ms(10);
	check_sent(&aqp, 1);
	CHECK(!req_event(&a, 0, &type, &code, &qid));
	close_both();
}

/* the next owner of the number begins anew, though something was under way */
TEST(destroy_with_work_under_way)
{
	unsigned int writes;

	open_both("");
	rqp_send(&aqp, &amr, 0, 100);
	rqp_read(&bqp, &bmr, 0, BIG, &amr, 0);
	b.nic.dev->ops->work(b.nic.dev);
	CHECK_EQ(raq_destroy(&a, IONIC_AQ_DESTROY_QP, aqp.id), 0);
	writes = a.nic.host.nwrites;
	test_run_ms(30);
	/* statistics are written, nothing else */
	for (unsigned int i = writes; i < a.nic.host.nwrites; i++)
		CHECK_EQ(a.nic.host.writes[i % TEST_WRITES_KEPT].addr & ~0xfffull,
			 a.nic.lif_info);
	rqp_init(&aqp, &a, 2, IONIC_QPT_RC, &acq);
	rqp_open(&aqp);
	CHECK_EQ(rqp_state(&aqp), IONIC_QPS_RESET);
	close_both();
}

TEST(a_completion_queue_that_overruns)
{
	unsigned int type, code, qid;
	struct rcq small;

	open_adapters("");
	rcq_open(&small, &a, 1, 2, 2);
	aqp.cq = &small;
	rqp_open(&aqp);
	rqp_open(&bqp);
	rqp_connect(&aqp, &bqp);
	rqp_connect(&bqp, &aqp);
	while (req_event(&a, 2, &type, &code, &qid))
		;
	for (unsigned int i = 0; i < 4; i++)
		rqp_write(&aqp, &amr, 0, 8, &bmr, 0);
	test_run();
	REQUIRE(req_event(&a, 2, &type, &code, &qid));
	CHECK_EQ(type, IONIC_EQE_CQ);
	CHECK_EQ(code, IONIC_EQE_CQ_ERROR);
	CHECK_EQ(qid, small.id);
	CHECK(!req_event(&a, 2, &type, &code, &qid));
	CHECK_EQ(tally(&a, "cq_overruns"), 1);
	/* nothing more is written, whatever room there is, nor is it told of again */
	while (rcq_take(&small))
		;
	rcq_told(&small);
	rqp_write(&aqp, &amr, 0, 8, &bmr, 0);
	test_run();
	CHECK(!rcq_take(&small));
	CHECK(!req_event(&a, 2, &type, &code, &qid));
	CHECK_EQ(tally(&a, "cq_overruns"), 2);
	close_both();
}

/* ---- faults on request -------------------------------------------------------------- */

TEST(completions_by_injection)
{
	const struct ionic_cqe *cqe;

	open_both("");
	CHECK_EQ(test_control(a.nic.dev, "inject op=send_completion action=drop"), 0);
	rqp_write(&aqp, &amr, 0, 8, &bmr, 0);
	test_run();
	CHECK(!rcq_take(&acq));
	CHECK_EQ(test_control(a.nic.dev, "inject op=send_completion action=dup"), 0);
	rqp_write(&aqp, &amr, 0, 8, &bmr, 0);
	test_run();
	check_sent(&aqp, 2);
	check_sent(&aqp, 2);
	CHECK_EQ(test_control(a.nic.dev, "inject op=send_completion action=corrupt"), 0);
	rqp_write(&aqp, &amr, 0, 8, &bmr, 0);
	test_run();
	cqe = rcq_take(&acq);
	REQUIRE(cqe);
	CHECK_EQ(rcqe_qid(cqe), 0xffffff & ~aqp.id);
	rcq_told(&acq);
	CHECK_EQ(test_control(b.nic.dev, "inject op=recv_completion action=fail status=14"), 0);
	rqp_recv(&bqp, &bmr, 0, 8);
	rqp_send(&aqp, &amr, 0, 8);
	test_run();
	check_failed(&bqp, IONIC_CQE_RECV, IONIC_IO_LOCAL_SGL);
	check_sent(&aqp, 4);
	close_both();
}

TEST(completions_by_verb)
{
	open_both("");
	CHECK_EQ(test_control(a.nic.dev, "complete qp=2 status=10"), 0);
	rqp_write(&aqp, &amr, 0, 8, &bmr, 0);
	test_run();
	check_failed(&aqp, IONIC_CQE_SEND_MSN, IONIC_IO_REMOTE_OP);
	check_flushed(&aqp);
	CHECK(test_control(a.nic.dev, "complete qp=9 status=10") < 0);
	CHECK_CONTAINS(test_answer, "qp= of a live QP");
	CHECK(test_control(a.nic.dev, "complete qp=2") < 0);
	close_both();
}

TEST(events_by_injection)
{
	unsigned int type, code, qid;

	open_both("");
	CHECK_EQ(test_control(a.nic.dev, "event qp=2 code=10"), 0);
	check_event(&a, IONIC_EQE_QP_ACCESS, 2);
	CHECK_EQ(a.nic.host.irqs[RNIC_FIRST_VECTOR], 1);
	nic_intr_set(&a.nic, RNIC_FIRST_VECTOR, IONIC_INTR_CREDITS, IONIC_INTR_UNMASK);
	CHECK_EQ(test_control(a.nic.dev, "inject op=eq_irq action=drop"), 0);
	CHECK_EQ(test_control(a.nic.dev, "event qp=2 code=10"), 0);
	check_event(&a, IONIC_EQE_QP_ACCESS, 2);
	CHECK_EQ(a.nic.host.irqs[RNIC_FIRST_VECTOR], 1);
	CHECK_EQ(test_control(a.nic.dev, "inject op=eq_entry action=drop"), 0);
	CHECK_EQ(test_control(a.nic.dev, "event qp=2 code=10"), 0);
	CHECK(!req_event(&a, 0, &type, &code, &qid));
	CHECK_EQ(test_control(a.nic.dev, "inject op=eq_entry action=corrupt"), 0);
	CHECK_EQ(test_control(a.nic.dev, "event cq=0 code=8"), 0);
	REQUIRE(req_event(&a, 2, &type, &code, &qid));
	CHECK_EQ(code, IONIC_EQE_CQ_ERROR);
	CHECK_EQ(qid, 0xffffff);
	CHECK_EQ(test_control(a.nic.dev, "event cq=0 code=8 type=5"), 0);
	REQUIRE(req_event(&a, 2, &type, &code, &qid));
	CHECK_EQ(type, 5);
	CHECK(test_control(a.nic.dev, "event qp=2 code=8 type=5") < 0);
	CHECK(test_control(a.nic.dev, "event qp=77 code=1") < 0);
	close_both();
}

/* also while it is masked */
TEST(interrupts_by_verb)
{
	open_both("");
	CHECK_EQ(test_control(a.nic.dev, "irq eq=1 count=3"), 0);
	CHECK_EQ(a.nic.host.irqs[RNIC_FIRST_VECTOR], 0);
	CHECK_EQ(a.nic.host.irqs[RNIC_FIRST_VECTOR + 1], 3);
	CHECK_EQ(test_control(a.nic.dev, "irq"), 0);
	CHECK_EQ(a.nic.host.irqs[RNIC_FIRST_VECTOR], 1);
	CHECK_EQ(a.nic.host.irqs[RNIC_FIRST_VECTOR + 1], 4);
	CHECK(test_control(a.nic.dev, "irq eq=77") < 0);
	CHECK_CONTAINS(test_answer, "there is no EQ 77");
	close_both();
}

TEST(objects_can_be_looked_at)
{
	open_both("");
	CHECK_EQ(test_control(a.nic.dev, "qps"), 0);
	CHECK_STR(test_answer, "2");
	CHECK_EQ(test_control(a.nic.dev, "cqs"), 0);
	CHECK_STR(test_answer, "0 1023");
	CHECK_EQ(test_control(a.nic.dev, "qp 2"), 0);
	CHECK_CONTAINS(test_answer, "type=rc state=rts");
	CHECK_EQ(test_answer_number("dest"), 3);
	CHECK_EQ(test_answer_number("sq_depth"), 32);
	CHECK_EQ(test_answer_number("rq_stride"), 128);
	CHECK_EQ(test_answer_number("sq_addr"), aqp.sq);
	CHECK_EQ(test_control(a.nic.dev, "cq 0"), 0);
	CHECK_EQ(test_answer_number("attached"), 2);
	CHECK_EQ(test_answer_number("depth"), 256);
	CHECK_EQ(test_control(a.nic.dev, "mr 0x107"), 0);
	CHECK_EQ(test_answer_number("length"), BIG);
	CHECK_EQ(test_control(a.nic.dev, "ah 502"), 0);
	CHECK_CONTAINS(test_answer, "ipv4=0 header=");
	CHECK(test_control(a.nic.dev, "qp 3") < 0);
	CHECK_CONTAINS(test_answer, "there is no QP 3");
	CHECK(test_control(a.nic.dev, "cq") < 0);
	CHECK_EQ(tally(&a, "qp"), 1);
	CHECK_EQ(tally(&a, "mr"), 1);
	CHECK_EQ(tally(&a, "admin_create_qp"), 1);
	CHECK_EQ(tally(&a, "admin_modify_qp"), 3);
	close_both();
}

TAP_MAIN
