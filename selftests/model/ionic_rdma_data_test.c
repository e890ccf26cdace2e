// SPDX-License-Identifier: GPL-2.0
/* Work requests between two adapters: what arrives, and what is told of it. */
#include "tap.h"
#include "test_pair.h"

/* ---- reliable connections ------------------------------------------------------------ */

TEST(messages_of_any_length)
{
	static const size_t lengths[] = { 0, 1, 3, 1023, 1024, 1025, 2048, 4099, BIG };

	open_both("");
	for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		const struct ionic_cqe *cqe;

		memset(mem_of(&b, &bmr), 0xee, BIG);
		rqp_recv(&bqp, &bmr, 0, BIG);
		rqp_send(&aqp, &amr, 0, lengths[i]);
		test_run();
		cqe = check_received(&bqp, IONIC_RECV_SEND, lengths[i]);
		CHECK_EQ(le64toh(cqe->u.recv.id), i);
		CHECK_EQ(HW_GET(IONIC_CQE_SRC_QPN, be32toh(cqe->u.recv.src_qpn_op)), aqp.id);
		CHECK(!memcmp(mem_of(&b, &bmr), mem_of(&a, &amr), lengths[i]));
		CHECK(lengths[i] == BIG || mem_of(&b, &bmr)[lengths[i]] == 0xee);
		check_sent(&aqp, i + 1);
	}
	close_both();
}

TEST(both_numberings_of_opcodes)
{
	static const char *const options[] = { "rdma_version=1", "rdma_version=2" };

	for (unsigned int i = 0; i < 2; i++) {
		open_both(options[i]);
		rqp_write(&aqp, &amr, 0, 100, &bmr, 50);
		test_run();
		check_sent(&aqp, 1);
		CHECK(!memcmp(mem_of(&b, &bmr) + 50, mem_of(&a, &amr), 100));
		rqp_atomic(&aqp, true, 5, 0, &amr, 0, &bmr, 48);
		test_run();
		check_sent(&aqp, 2);
		CHECK_EQ(*(uint16_t *)mem_of(&a, &amr), 0xeeee);
		close_both();
	}
}

/* of one numbering in the other's adapter */
TEST(an_opcode_that_does_not_exist)
{
	const struct ionic_cqe *cqe;

	open_both("rdma_version=2");
	rqp_begin(&aqp, 0, IONIC_V1_WRITE_IMM + 0x10, &amr, 0, 8);
	rqp_end(&aqp);
	test_run();
	CHECK_CONTAINS(nic_violation(&a.nic), "opcode 0x15");
	cqe = rcq_take(&acq);
	REQUIRE(cqe);
	CHECK_EQ(rcqe_type(cqe), IONIC_CQE_SEND_NPG);
	CHECK_EQ(rcqe_value(cqe), IONIC_IO_LOCAL_QP_OP);
	CHECK_EQ(rqp_state(&aqp), IONIC_QPS_ERR);
	close_both();
}

TEST(many_under_way_at_once)
{
	open_both("");
	for (unsigned int i = 0; i < 31; i++) {
		rqp_recv(&bqp, &bmr, i * 3000, 3000);
		rqp_begin(&aqp, IONIC_V1_SEND, IONIC_V2_SEND, &amr, i * 3000, 3000);
		rqp_sent(&aqp);
	}
	rqp_ring(&aqp);
	test_run();
	for (unsigned int i = 0; i < 31; i++) {
		check_received(&bqp, IONIC_RECV_SEND, 3000);
		check_sent(&aqp, (i + 1) % 32);
	}
	CHECK(!memcmp(mem_of(&b, &bmr), mem_of(&a, &amr), 31 * 3000));
	close_both();
}

TEST(gathered_and_scattered)
{
	struct ionic_wqe_send *send;
	struct ionic_wqe_recv *recv;
	struct ionic_sge *sge;

	open_both("");
	recv = rqp_recv_slot(&bqp);
	recv->header.num_sge = 3;
	recv->header.imm_key_length = htobe32(3000);
	sge = (struct ionic_sge *)(recv + 1);
	sge[0] = rsge(&bmr, 0, 10);
	sge[1] = rsge(&bmr, 10, 0);
	sge[2] = rsge(&bmr, 10, 2990);
	rqp_received(&bqp);
	rqp_ring_recv(&bqp);
	send = rqp_begin(&aqp, IONIC_V1_SEND, IONIC_V2_SEND, &amr, 0, 0);
	send->header.num_sge = 6;
	send->length = htobe32(2100);
	sge = (struct ionic_sge *)(send + 1);
	for (unsigned int i = 0; i < 6; i++)
		sge[i] = rsge(&amr, i * 350, 350);
	rqp_end(&aqp);
	test_run();
	check_received(&bqp, IONIC_RECV_SEND, 2100);
	CHECK(!memcmp(mem_of(&b, &bmr), mem_of(&a, &amr), 2100));
	close_both();
}

/* lengths in front of the SGEs; they must agree */
TEST(the_spec_format)
{
	struct ionic_wqe_send *send;
	union ionic_spec *spec;
	struct ionic_sge *sge;

	open_adapters("");
	aqp.stride_log2 = 8;
	aqp.flags = IONIC_QP_SQ_SPEC;
	rqp_open(&aqp);
	rqp_open(&bqp);
	rqp_connect(&aqp, &bqp);
	rqp_connect(&bqp, &aqp);
	for (unsigned int round = 0; round < 3; round++) {
		rqp_recv(&bqp, &bmr, 0, 1000);
		send = rqp_begin(&aqp, IONIC_V1_SEND, IONIC_V2_SEND, &amr, 0, 0);
		send->header.num_sge = 4;
		send->length = htobe32(400);
		spec = (union ionic_spec *)(send + 1);
		sge = (struct ionic_sge *)(spec + 1);
		for (unsigned int i = 0; i < 4; i++) {
			sge[i] = rsge(&amr, 100 * i, 100);
			if (round == 1)
				spec->length16[i] = htobe16(100);
			else
				spec->length32[i] = htobe32(round == 2 && i == 3 ? 99 : 100);
		}
		send->header.flags |= htobe16(HW_PREP(IONIC_WQE_SPEC, round == 1 ? IONIC_SPEC16 :
							      IONIC_SPEC32));
		rqp_end(&aqp);
		test_run();
		if (round == 2)
			break;
		check_received(&bqp, IONIC_RECV_SEND, 400);
		CHECK(!memcmp(mem_of(&b, &bmr), mem_of(&a, &amr), 400));
	}
	CHECK_CONTAINS(nic_violation(&a.nic), "lengths in front that its SGEs do not have");
	close_both();
}

TEST(inline_data)
{
	struct ionic_wqe_send *send;

	open_both("");
	rqp_recv(&bqp, &bmr, 0, 1000);
	send = rqp_begin(&aqp, IONIC_V1_SEND, IONIC_V2_SEND, &amr, 0, 0);
	send->header.flags |= htobe16(IONIC_WQE_INLINE);
	send->length = htobe32(96);
	memset(send + 1, 0x5a, 96);
	rqp_end(&aqp);
	test_run();
	check_received(&bqp, IONIC_RECV_SEND, 96);
	CHECK_EQ(mem_of(&b, &bmr)[95], 0x5a);
	CHECK_EQ(mem_of(&b, &bmr)[96], 0xee);
	/* one byte more than the slot has */
	send = rqp_begin(&aqp, IONIC_V1_SEND, IONIC_V2_SEND, &amr, 0, 0);
	send->header.flags |= htobe16(IONIC_WQE_INLINE);
	send->length = htobe32(97);
	rqp_end(&aqp);
	test_run();
	CHECK_CONTAINS(nic_violation(&a.nic), "more inline data than fits");
	close_both();
}

TEST(immediate_data_goes_through_unchanged)
{
	const struct ionic_cqe *cqe;
	struct ionic_wqe_send *wqe;

	open_both("");
	rqp_recv(&bqp, &bmr, 0, 1000);
	wqe = rqp_begin(&aqp, IONIC_V1_SEND_IMM, IONIC_V2_SEND_IMM, &amr, 0, 10);
	wqe->header.imm_key_length = 0x04030201;
	rqp_end(&aqp);
	test_run();
	cqe = check_received(&bqp, IONIC_RECV_SEND_IMM, 10);
	CHECK_EQ(cqe->u.recv.imm_rkey, 0x04030201);

	rqp_recv(&bqp, &bmr, 0, 0);
	wqe = rqp_begin(&aqp, IONIC_V1_WRITE_IMM, IONIC_V2_WRITE_IMM, &amr, 0, 5000);
	wqe->header.imm_key_length = 0x0a0b0c0d;
	rwqe_remote(wqe, &bmr, 8);
	rqp_end(&aqp);
	test_run();
	cqe = check_received(&bqp, IONIC_RECV_WRITE_IMM, 5000);
	CHECK_EQ(cqe->u.recv.imm_rkey, 0x0a0b0c0d);
	CHECK_EQ(le64toh(cqe->u.recv.id), 1);
	CHECK(!memcmp(mem_of(&b, &bmr) + 8, mem_of(&a, &amr), 5000));
	close_both();
}

TEST(remote_writes_and_reads)
{
	open_both("");
	rqp_write(&aqp, &amr, 0, BIG, &bmr, 0);
	test_run();
	check_sent(&aqp, 1);
	CHECK(!memcmp(mem_of(&b, &bmr), mem_of(&a, &amr), BIG));
	memset(mem_of(&a, &amr), 0, BIG);
	rqp_read(&aqp, &amr, 1, BIG - 1, &bmr, 1);
	test_run();
	check_sent(&aqp, 2);
	CHECK_EQ(mem_of(&a, &amr)[0], 0);
	CHECK(!memcmp(mem_of(&b, &bmr) + 1, mem_of(&a, &amr) + 1, BIG - 1));
	rqp_read(&aqp, &amr, 0, 0, &bmr, 0);
	test_run();
	check_sent(&aqp, 3);
	CHECK(!rcq_take(&bcq));
	close_both();
}

/* more than either side allows at once; they wait for each other */
TEST(reads_and_atomics_in_a_row)
{
	uint64_t *counter;

	open_both("");
	counter = (uint64_t *)mem_of(&b, &bmr);
	*counter = htole64(100);
	for (unsigned int i = 0; i < 10; i++) {
		rqp_read(&aqp, &amr, 1000 * i, 1000, &bmr, 1000 * i);
		rqp_atomic(&aqp, true, 1, 0, &amr, 100000 + 8 * i, &bmr, 0);
		rqp_write(&aqp, &amr, 200000, 10, &bmr, 200000);
	}
	test_run();
	for (unsigned int i = 0; i < 30; i++)
		check_sent(&aqp, i + 1);
	for (unsigned int i = 0; i < 10; i++)
		CHECK_EQ(le64toh(((uint64_t *)(mem_of(&a, &amr) + 100000))[i]), 100 + i);
	CHECK_EQ(le64toh(*counter), 110);
	close_both();
}

TEST(compare_and_swap)
{
	uint64_t *there, *here;

	open_both("");
	there = (uint64_t *)(mem_of(&b, &bmr) + 16);
	here = (uint64_t *)mem_of(&a, &amr);
	*there = htole64(0x1122334455667788);
	rqp_atomic(&aqp, false, 42, 1, &amr, 0, &bmr, 16);
	test_run();
	CHECK_EQ(le64toh(*here), 0x1122334455667788);
	CHECK_EQ(le64toh(*there), 0x1122334455667788);
	rqp_atomic(&aqp, false, 42, 0x1122334455667788, &amr, 0, &bmr, 16);
	test_run();
	CHECK_EQ(le64toh(*there), 42);
	close_both();
}

TEST(two_queues_of_one_adapter)
{
	struct rqp other;

	open_adapters("");
	rqp_init(&other, &a, 5, IONIC_QPT_RC, &acq);
	rqp_open(&aqp);
	rqp_open(&other);
	rqp_connect(&aqp, &other);
	rqp_connect(&other, &aqp);
	rqp_recv(&other, &amr, 5000, 100);
	rqp_send(&aqp, &amr, 0, 100);
	test_run();
	check_received(&other, IONIC_RECV_SEND, 100);
	CHECK(!memcmp(mem_of(&a, &amr) + 5000, mem_of(&a, &amr), 100));
	check_sent(&aqp, 1);
	close_both();
}

/* what is behind a fence leaves when the reads before it are answered */
TEST(a_fence_waits_for_reads)
{
	for (unsigned int fenced = 0; fenced < 2; fenced++) {
		struct ionic_wqe_send *wqe;

		open_both("");
		rqp_recv(&bqp, &bmr, 0, 100);
		ionic_of(a.nic.dev)->net.held = true;	/* answers do not arrive */
		rqp_read(&aqp, &amr, 0, 5000, &bmr, 0);
		wqe = rqp_begin(&aqp, IONIC_V1_SEND, IONIC_V2_SEND, &amr, 8000, 100);
		wqe->header.flags |= htobe16(fenced ? IONIC_WQE_FENCE : 0);
		rqp_end(&aqp);
		test_run();
		CHECK_EQ(rcq_take(&bcq) != NULL, !fenced);
		ionic_of(a.nic.dev)->net.held = false;
		test_run();
		check_sent(&aqp, 1);
		check_sent(&aqp, 2);
		close_both();
	}
}

/* the host needs an entry for each, signaled or not, to free what is behind */
TEST(unsignaled_work_is_completed_too)
{
	struct ionic_wqe_send *wqe;

	open_both("");
	wqe = rqp_begin(&aqp, IONIC_V1_WRITE, IONIC_V2_WRITE, &amr, 0, 8);
	wqe->header.flags = 0;
	rwqe_remote(wqe, &bmr, 0);
	rqp_end(&aqp);
	test_run();
	check_sent(&aqp, 1);
	close_both();
}

TEST(solicited_arms)
{
	unsigned int type, code, qid;
	struct ionic_wqe_send *wqe;

	open_both("");
	rqp_recv(&bqp, &bmr, 0, 100);
	rqp_recv(&bqp, &bmr, 0, 100);
	rcq_arm(&bcq, true);
	rqp_send(&aqp, &amr, 0, 10);
	test_run();
	check_received(&bqp, IONIC_RECV_SEND, 10);
	CHECK(!req_event(&b, 3, &type, &code, &qid));
	wqe = rqp_begin(&aqp, IONIC_V1_SEND, IONIC_V2_SEND, &amr, 0, 10);
	wqe->header.flags |= htobe16(IONIC_WQE_SOLICITED);
	rqp_end(&aqp);
	test_run();
	CHECK(req_event(&b, 3, &type, &code, &qid));
	CHECK_EQ(qid, bcq.id);
	CHECK(!req_event(&b, 3, &type, &code, &qid));
	close_both();
}

TEST(the_first_packet_is_an_event)
{
	unsigned int type, code, qid;

	open_adapters("");
	rqp_open(&aqp);
	rqp_open(&bqp);
	rqp_connect(&aqp, &bqp);
	rqp_to_rtr(&bqp, &aqp);
	rqp_write(&aqp, &amr, 0, 0, &bmr, 0);
	test_run();
	CHECK(req_event(&b, 0, &type, &code, &qid));
	CHECK_EQ(type, IONIC_EQE_QP);
	CHECK_EQ(code, IONIC_EQE_COMM_EST);
	CHECK_EQ(qid, bqp.id);
	rqp_write(&aqp, &amr, 0, 0, &bmr, 0);
	test_run();
	CHECK(!req_event(&b, 0, &type, &code, &qid));
	close_both();
}

/* ---- memory management ------------------------------------------------------------ */

/* a local operation has ended in a's queue */
static void check_local(unsigned int slot, enum ionic_io_status status)
{
	const struct ionic_cqe *cqe = rcq_take(&acq);

	REQUIRE(cqe);
	CHECK_EQ(rcqe_type(cqe), IONIC_CQE_SEND_NPG);
	CHECK_EQ(le64toh(cqe->u.send.id), slot);
	CHECK_EQ(rcqe_is_error(cqe), status != IONIC_IO_OK);
	CHECK_EQ(rcqe_value(cqe), status);
	rcq_told(&acq);
}

/* a key for work requests, and a table of two pages for them; where that is */
static uint64_t open_fast(struct rmr *mr, uint64_t **entries)
{
	uint64_t table = test_alloc(&a.nic.host, 16, 8);

	rmr_open(mr, &a, 9, 0, IONIC_MR_USER_KEY | IONIC_MR_INVALIDATE);
	*entries = rnic_mem(&a, table, 16);
	return table;
}

static struct ionic_wqe_reg_mr *reg_wqe(const struct rmr *mr, uint64_t addr, uint32_t pages,
					uint64_t len, uint8_t page_log2)
{
	struct ionic_wqe_reg_mr *wqe = rqp_send_slot(&aqp);

	wqe->header.op = rop(&aqp, IONIC_V1_REG_MR, IONIC_V2_REG_MR);
	wqe->header.imm_key_length = htobe32(mr->key);
	wqe->va = htobe64(mr->va);
	wqe->length = htobe64(len);
	wqe->addr = htobe64(addr);
	wqe->pages = htobe32(pages);
	wqe->page_log2 = page_log2;
	return wqe;
}

static void post_reg(struct rmr *mr, uint64_t addr, uint32_t pages, uint64_t offset, size_t len,
		     uint8_t tag)
{
	struct ionic_wqe_reg_mr *wqe = reg_wqe(mr, addr, pages, len, 12);

	wqe->header.num_sge = tag;
	wqe->offset = htobe64(offset);
	wqe->flags = htobe16(RNIC_ALL_ACCESS);
	rqp_end(&aqp);
	test_run();
	mr->key = (mr->key & ~0xffu) | tag;
}

static void post_invalidate(uint32_t key)
{
	struct ionic_wqe_header *wqe = rqp_send_slot(&aqp);

	wqe->op = rop(&aqp, IONIC_V1_LOCAL_INV, IONIC_V2_LOCAL_INV);
	wqe->imm_key_length = htobe32(key);
	rqp_end(&aqp);
	test_run();
}

/* a region whose pages come with a work request; b writes to it, until it is invalid */
TEST(fast_registration)
{
	uint64_t table, *entries;
	struct rmr fast;

	open_both("");
	table = open_fast(&fast, &entries);
	entries[0] = htole64(test_alloc_apart(&a.nic.host, 4096));
	entries[1] = htole64(test_alloc_apart(&a.nic.host, 4096));
	fast.va = 0x5000100;
	post_reg(&fast, table, 2, 0x100, 5000, 0x21);
	check_local(0, IONIC_IO_OK);
	rqp_write(&bqp, &bmr, 0, 5000, &fast, 0);
	test_run();
	check_sent(&bqp, 1);
	CHECK(!memcmp(rnic_mem(&a, le64toh(entries[0]) + 0x100, 3840), mem_of(&b, &bmr), 3840));
	CHECK(!memcmp(rnic_mem(&a, le64toh(entries[1]), 1160), mem_of(&b, &bmr) + 3840, 1160));
	post_invalidate(fast.key);
	check_local(1, IONIC_IO_OK);
	/* again, in one piece and under another key */
	post_reg(&fast, le64toh(entries[0]), 1, 0, 64, 0x22);
	check_local(2, IONIC_IO_OK);
	rqp_write(&bqp, &bmr, 0, 64, &fast, 0);
	test_run();
	check_sent(&bqp, 2);
	/* not while it is registered */
	post_reg(&fast, le64toh(entries[0]), 1, 0, 64, 0x23);
	check_local(3, IONIC_IO_MEM_MGMT);
	check_flushed(&aqp);
	close_both();
}

/* what could not be registered has no pages, whoever looks at it or gives it back */
TEST(a_registration_that_fails)
{
	for (unsigned int hole = 0; hole < 2; hole++) {
		uint64_t used;
		struct rmr fast;

		open_both("");
		used = tally(&a, "mr_pages");
		rmr_open(&fast, &a, 9, 0, IONIC_MR_USER_KEY | IONIC_MR_INVALIDATE);
		fast.va = 0;
		/* no such table, or no such size of pages */
		if (hole)
			reg_wqe(&fast, test_hole(), 2, 8192, 12);
		else
			reg_wqe(&fast, amr.addr, 2, 8192, 3);
		rqp_end(&aqp);
		test_run();
		check_local(0, IONIC_IO_MEM_MGMT);
		CHECK_EQ(test_control(a.nic.dev, "mr 0x907"), 0);
		CHECK_EQ(test_answer_number("valid"), 0);
		CHECK_EQ(test_answer_number("pages"), 0);
		CHECK_EQ(raq_destroy(&a, IONIC_AQ_DESTROY_MR, fast.key), 0);
		CHECK_EQ(tally(&a, "mr_pages"), used);
		close_both();
	}
}

/* the same as by command */
TEST(registrations_out_of_rule)
{
	static const struct {
		uint64_t va, length;
		uint32_t pages;
		uint8_t page_log2;
	} bad[] = {
		{ 0x10000, 16384, 2, 13 },	/* no size that the adapter offers */
		{ 0x10000, 0, 1, 12 },
		{ UINT64_MAX - 10, 12, 1, 12 },
	};

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t table, *entries;
		struct rmr fast;

		open_both("");
		table = open_fast(&fast, &entries);
		entries[0] = htole64(0x10000);
		entries[1] = htole64(0x12000);
		fast.va = bad[i].va;
		reg_wqe(&fast, table, bad[i].pages, bad[i].length, bad[i].page_log2);
		rqp_end(&aqp);
		test_run();
		check_local(0, IONIC_IO_MEM_MGMT);
		check_flushed(&aqp);
		close_both();
	}
}

TEST(a_send_can_invalidate)
{
	const struct ionic_cqe *cqe;
	struct ionic_wqe_send *wqe;
	struct rmr fast;

	open_both("");
	rmr_open(&fast, &a, 9, 0, IONIC_MR_USER_KEY | IONIC_MR_INVALIDATE);
	fast.va = 0x5000000;
	post_reg(&fast, test_alloc_apart(&a.nic.host, 4096), 1, 0, 4096, 0x21);
	check_local(0, IONIC_IO_OK);
	rqp_recv(&aqp, &amr, 0, 100);
	wqe = rqp_begin(&bqp, IONIC_V1_SEND_INV, IONIC_V2_SEND_INV, &bmr, 0, 10);
	wqe->header.imm_key_length = htobe32(fast.key);
	rqp_end(&bqp);
	test_run();
	cqe = check_received(&aqp, IONIC_RECV_SEND_INV, 10);
	CHECK_EQ(be32toh(cqe->u.recv.imm_rkey), fast.key);
	check_sent(&bqp, 1);
	/* gone */
	post_invalidate(fast.key);
	check_local(1, IONIC_IO_MEM_MGMT);
	check_flushed(&aqp);
	close_both();
}

static void post_bind(struct rmr *mw, const struct rmr *mr, size_t off, size_t len,
		      uint16_t flags, uint8_t tag)
{
	struct ionic_wqe_bind_mw *wqe = rqp_send_slot(&aqp);

	wqe->header.op = rop(&aqp, IONIC_V1_BIND_MW, IONIC_V2_BIND_MW);
	wqe->header.num_sge = tag;
	wqe->header.imm_key_length = htobe32(mw->key);
	wqe->va = htobe64(len ? mr->va + off : 0);
	wqe->length = htobe64(len);
	wqe->lkey = htobe32(mr->key);
	wqe->flags = htobe16(flags);
	rqp_end(&aqp);
	test_run();
	mw->key = (mw->key & ~0xffu) | tag;
	mw->va = mr->va + off;
}

TEST(windows_show_a_part)
{
	const uint16_t type1 = IONIC_MR_WINDOW, type2 = IONIC_MR_WINDOW | IONIC_MR_INVALIDATE;

	for (unsigned int i = 0; i < 2; i++) {
		uint16_t type = i ? type2 : type1;
		struct rmr mr, mw;

		open_both("");
		rmr_open(&mr, &a, 5, 8192, IONIC_MR_LOCAL_WRITE | IONIC_MR_MW_BIND);
		rmr_open(&mw, &a, 6, 0, type | IONIC_MR_USER_KEY);
		post_bind(&mw, &mr, 1000, 500, type | IONIC_MR_REMOTE_WRITE, 0x31);
		check_local(0, IONIC_IO_OK);
		rqp_write(&bqp, &bmr, 0, 500, &mw, 0);
		test_run();
		check_sent(&bqp, 1);
		CHECK(!memcmp(rnic_mem(&a, mr.addr + 1000, 500), mem_of(&b, &bmr), 500));
		/* the region cannot go while it is shown */
		CHECK_EQ(raq_destroy(&a, IONIC_AQ_DESTROY_MR, mr.key), IONIC_AQ_BAD_STATE);
		if (i) {
			post_invalidate(mw.key);
			check_local(1, IONIC_IO_OK);
		} else {
			post_bind(&mw, &mr, 0, 0, type, 0x32);
			check_local(1, IONIC_IO_OK);
		}
		CHECK_EQ(raq_destroy(&a, IONIC_AQ_DESTROY_MR, mr.key), 0);
		rqp_write(&bqp, &bmr, 0, 8, &mw, 0);
		test_run();
		check_failed(&bqp, IONIC_CQE_SEND_MSN, IONIC_IO_REMOTE_ACCESS);
		close_both();
	}
}

TEST(windows_have_edges_and_permissions)
{
	struct rmr mr, mw;

	open_both("");
	rmr_open(&mr, &a, 5, 8192, IONIC_MR_LOCAL_WRITE | IONIC_MR_MW_BIND);
	rmr_open(&mw, &a, 6, 0, IONIC_MR_WINDOW | IONIC_MR_USER_KEY);
	post_bind(&mw, &mr, 8000, 192, IONIC_MR_WINDOW | IONIC_MR_REMOTE_READ, 0x31);
	check_local(0, IONIC_IO_OK);
	/* beyond the region */
	post_bind(&mw, &mr, 8000, 193, IONIC_MR_WINDOW | IONIC_MR_REMOTE_READ, 0x32);
	check_local(1, IONIC_IO_MEM_MGMT);
	check_flushed(&aqp);
	close_both();

	open_both("");
	rmr_open(&mr, &a, 5, 8192, IONIC_MR_LOCAL_WRITE | IONIC_MR_MW_BIND);
	rmr_open(&mw, &a, 6, 0, IONIC_MR_WINDOW | IONIC_MR_USER_KEY);
	post_bind(&mw, &mr, 8000, 192, IONIC_MR_WINDOW | IONIC_MR_REMOTE_READ, 0x31);
	rcq_take(&acq);
	rcq_told(&acq);
	rqp_read(&bqp, &bmr, 0, 192, &mw, 0);
	test_run();
	check_sent(&bqp, 1);
	rqp_write(&bqp, &bmr, 0, 1, &mw, 0);
	test_run();
	check_failed(&bqp, IONIC_CQE_SEND_MSN, IONIC_IO_REMOTE_ACCESS);
	close_both();
}

/* all of memory, for those whom the driver trusts */
TEST(key_0)
{
	struct rmr all;

	open_adapters("");
	aqp.flags = IONIC_QP_PRIVILEGED;
	bqp.flags = IONIC_QP_REMOTE_PRIV;
	rqp_open(&aqp);
	rqp_open(&bqp);
	rqp_connect(&aqp, &bqp);
	rqp_connect(&bqp, &aqp);
	all = (struct rmr){ .key = 0, .va = bmr.addr };
	amr.key = 0;
	amr.va = amr.addr;
	rqp_write(&aqp, &amr, 0, 3000, &all, 0);
	test_run();
	check_sent(&aqp, 1);
	CHECK(!memcmp(mem_of(&b, &bmr), mem_of(&a, &amr), 3000));
	/* b may not, at home */
	all.key = 0;
	rqp_write(&bqp, &all, 0, 8, &amr, 0);
	test_run();
	check_failed(&bqp, IONIC_CQE_SEND_NPG, IONIC_IO_LOCAL_PROT);
	close_both();
}

/* addresses of a zero based region begin at 0, its pages where they are */
TEST(zero_based_regions)
{
	struct ionic_aq_create_mr cmd;
	struct rmr mr;

	open_both("");
	mr = (struct rmr){ .key = 0x707, .va = 0x12345678, .len = 500 };
	mr.addr = test_alloc_apart(&b.nic.host, 500);
	cmd = rmr_command(&mr, RNIC_ALL_ACCESS | IONIC_MR_ZERO_BASED);
	CHECK_EQ(raq(&b, &cmd, IONIC_AQ_CREATE_MR, sizeof(cmd)), 0);
	mr.va = 0;
	rqp_write(&aqp, &amr, 0, 400, &mr, 100);
	test_run();
	check_sent(&aqp, 1);
	CHECK(!memcmp(rnic_mem(&b, mr.addr + 100, 400), mem_of(&a, &amr), 400));
	close_both();
}

/* ---- datagrams -------------------------------------------------------------------- */

static void datagram(struct rqp *to, size_t len, uint32_t qkey)
{
	struct ionic_wqe_send *wqe = rqp_begin(&aqp, IONIC_V1_SEND, IONIC_V2_SEND, &amr, 0, len);

	rwqe_datagram(wqe, 1, to->id, qkey);
	rqp_end(&aqp);
	test_run();
}

TEST(f77_datagrams_come_with_their_header)
{
	const struct ionic_cqe *cqe;
	const uint8_t *got;

	open_datagrams("");
	rqp_recv(&bqp, &bmr, 0, 5000);
	datagram(&bqp, 777, RNIC_QKEY);
	cqe = check_received(&bqp, IONIC_RECV_SEND, 777 + 40);
	CHECK_EQ(HW_GET(IONIC_CQE_SRC_QPN, be32toh(cqe->u.recv.src_qpn_op)), aqp.id);
	CHECK(!(be32toh(cqe->u.recv.src_qpn_op) & (IONIC_CQE_IPV4 | IONIC_CQE_HAS_VLAN)));
	CHECK(!memcmp(cqe->u.recv.src_mac, nic_mac(&a.nic), 6));
	got = mem_of(&b, &bmr);
	CHECK_EQ(got[0] >> 4, 6);
	CHECK(!memcmp(got + 8 + 10, nic_mac(&a.nic), 6));
	CHECK(!memcmp(got + 40, mem_of(&a, &amr), 777));
	check_local(0, IONIC_IO_OK);
	close_both();
}

TEST(datagrams_of_strangers_are_dropped)
{
	open_datagrams("");
	rqp_recv(&bqp, &bmr, 0, 5000);
	datagram(&bqp, 10, 0x22222222);
	CHECK(!rcq_take(&bcq));
	check_local(0, IONIC_IO_OK);
	/* bit 31: the sender's own key */
	datagram(&bqp, 10, 0x80000000);
	check_received(&bqp, IONIC_RECV_SEND, 50);
	check_local(1, IONIC_IO_OK);
	/* nothing posted: lost, and the sender does not know */
	datagram(&bqp, 10, RNIC_QKEY);
	CHECK(!rcq_take(&bcq));
	check_local(2, IONIC_IO_OK);
	CHECK_EQ(tally(&b, "drops"), 2);
	close_both();
}

/* where a message is lost (F-73): what each hop has counted so far */
struct hops {
	uint64_t posted, packets, sent, lost, received, taken, untaken, completed;
};

static struct hops hops_from(struct rnic *from, struct rnic *to)
{
	const struct fabric_port *out = fabric_find(from->nic.dev);

	return (struct hops) {
		.posted = tally(from, "wqes_send"), .packets = tally(from, "tx_packets"),
		.sent = out->sent, .lost = out->dropped,
		.received = fabric_find(to->nic.dev)->received,
		.taken = tally(to, "rx_packets"), .untaken = tally(to, "drops"),
		.completed = tally(to, "completions"),
	};
}

TEST(f73_every_hop_of_datagrams)
{
	struct hops was, is;

	open_datagrams("");
	was = hops_from(&a, &b);
	for (uint32_t i = 0; i < 50; i++) {
		memcpy(mem_of(&a, &amr), &i, sizeof(i));
		rqp_recv(&bqp, &bmr, 0, 5000);
		datagram(&bqp, 100, RNIC_QKEY);
		check_received(&bqp, IONIC_RECV_SEND, 140);
		CHECK(!memcmp(mem_of(&b, &bmr) + 40, &i, sizeof(i)));
		check_local(i % 32, IONIC_IO_OK);
	}
	is = hops_from(&a, &b);
	CHECK_EQ(is.posted - was.posted, 50);
	CHECK_EQ(is.packets - was.packets, 50);
	CHECK_EQ(is.sent - was.sent, 50);
	CHECK_EQ(is.lost - was.lost, 0);
	CHECK_EQ(is.received - was.received, 50);
	CHECK_EQ(is.taken - was.taken, 50);
	CHECK_EQ(is.untaken - was.untaken, 0);
	CHECK_EQ(is.completed - was.completed, 50);

	/* one is lost on the wire, one is taken by nobody: each is told at its hop */
	was = is;
	rqp_recv(&bqp, &bmr, 0, 5000);
	fabric_drop(fabric_find(a.nic.dev), 0, 1);
	datagram(&bqp, 100, RNIC_QKEY);
	is = hops_from(&a, &b);
	CHECK_EQ(is.sent - was.sent, 1);
	CHECK_EQ(is.lost - was.lost, 1);
	CHECK_EQ(is.received - was.received, 0);
	was = is;
	datagram(&bqp, 100, 0x22222222);
	is = hops_from(&a, &b);
	CHECK_EQ(is.lost - was.lost, 0);
	CHECK_EQ(is.received - was.received, 1);
	CHECK_EQ(is.untaken - was.untaken, 1);
	CHECK_EQ(is.completed - was.completed, 0);
	close_both();
}

TEST(f73_every_hop_of_a_connection)
{
	struct hops was, is;

	open_both("");
	for (unsigned int lost = 0; lost <= 1; lost++) {
		was = hops_from(&a, &b);
		if (lost)
			fabric_drop(fabric_find(a.nic.dev), 3, 1);
		for (uint32_t i = 0; i < 20; i++) {
			memcpy(mem_of(&a, &amr), &i, sizeof(i));
			rqp_recv(&bqp, &bmr, 0, 5000);
			rqp_send(&aqp, &amr, 0, 100);
			test_run_ms(500);
			check_received(&bqp, IONIC_RECV_SEND, 100);
			CHECK(!memcmp(mem_of(&b, &bmr), &i, sizeof(i)));
			check_sent(&aqp, (20 * lost + i + 1) % 32);
		}
		is = hops_from(&a, &b);
		CHECK_EQ(is.posted - was.posted, 20);
		CHECK_EQ(is.lost - was.lost, lost);
		/* sent again; nothing is lost anywhere else */
		CHECK_EQ(is.packets - was.packets, 20 + lost);
		CHECK_EQ(is.received - was.received, 20);
		CHECK_EQ(is.taken - was.taken, 20);
		CHECK_EQ(is.untaken - was.untaken, 0);
		CHECK_EQ(is.completed - was.completed, 20);
	}
	close_both();
}

/* across a router a packet with one hop is lost, and its sender does not know */
TEST(f76_a_router_takes_a_hop)
{
	struct ionic_wqe_send *wqe;

	open_datagrams("");
	for (unsigned int hops = 1; hops <= 2; hops++)
		CHECK_EQ(rah_create_hops(&a, 10 + hops, &b, hops), 0);
	for (unsigned int routed = 0; routed <= 1; routed++)
		for (unsigned int hops = 1; hops <= 2; hops++) {
			CHECK_EQ(test_control(b.nic.dev, routed ? "set routed=1" : "set routed=0"), 0);
			rqp_recv(&bqp, &bmr, 0, 5000);
			wqe = rqp_begin(&aqp, IONIC_V1_SEND, IONIC_V2_SEND, &amr, 0, 10);
			rwqe_datagram(wqe, 10 + hops, bqp.id, RNIC_QKEY);
			rqp_end(&aqp);
			test_run();
			check_local(2 * routed + hops - 1, IONIC_IO_OK);
			if (routed && hops == 1)
				CHECK(!rcq_take(&bcq));
			else
				check_received(&bqp, IONIC_RECV_SEND, 50);
		}
	CHECK_EQ(tally(&b, "hop_drops"), 1);
	CHECK_EQ(tally(&b, "drops"), 0);
	close_both();
}

/* the send queue stops, the receive queue does not; RTS again starts it */
TEST(a_bad_datagram_stops_the_send_queue)
{
	struct ionic_wqe_send *wqe;

	open_datagrams("");
	CHECK_EQ(rah_create(&b, 1, &a), 0);
	wqe = rqp_begin(&aqp, IONIC_V1_SEND, IONIC_V2_SEND, &amr, 0, 10);
	rwqe_datagram(wqe, 99, bqp.id, RNIC_QKEY);
	rqp_end(&aqp);
	test_run();
	check_failed(&aqp, IONIC_CQE_SEND_NPG, IONIC_IO_LOCAL_QP_OP);
	check_failed(&aqp, IONIC_CQE_SEND_NPG, IONIC_IO_FLUSHED);
	CHECK_EQ(rqp_state(&aqp), IONIC_QPS_SQE);
	/* the host flushes this one */
	datagram(&bqp, 10, RNIC_QKEY);
	CHECK(!rcq_take(&acq));
	rqp_recv(&aqp, &amr, 0, 5000);
	rwqe_datagram(rqp_begin(&bqp, IONIC_V1_SEND, IONIC_V2_SEND, &bmr, 0, 10), 1, aqp.id,
		      RNIC_QKEY);
	rqp_end(&bqp);
	test_run();
	check_received(&aqp, IONIC_RECV_SEND, 50);
	CHECK_EQ(rqp_modify(&aqp, IONIC_QPA_STATE, IONIC_QPS_RTS), 0);
	rqp_recv(&bqp, &bmr, 0, 5000);
	rcq_take(&bcq);
	rcq_told(&bcq);
	datagram(&bqp, 10, RNIC_QKEY);
	check_received(&bqp, IONIC_RECV_SEND, 50);
	check_local(2, IONIC_IO_OK);
	close_both();
}

TEST(a_datagram_has_one_packet)
{
	open_datagrams("");
	rqp_recv(&bqp, &bmr, 0, 5000);
	datagram(&bqp, 4096, RNIC_QKEY);
	check_received(&bqp, IONIC_RECV_SEND, 4096 + 40);
	check_local(0, IONIC_IO_OK);
	datagram(&bqp, 4097, RNIC_QKEY);
	check_local(1, IONIC_IO_LOCAL_LEN);
	close_both();
}

TEST(addresses_belong_to_a_domain)
{
	struct ionic_aq_create_qp cmd;
	struct rqp other;

	open_datagrams("");
	rqp_init(&other, &a, 5, IONIC_QPT_UD, &acq);
	other.sq = test_alloc_apart(&a.nic.host, 4096);
	other.rq = test_alloc_apart(&a.nic.host, 4096);
	cmd = rqp_command(&other);
	cmd.pd = htole32(RNIC_PD + 1);
	CHECK_EQ(raq(&a, &cmd, IONIC_AQ_CREATE_QP, sizeof(cmd)), 0);
	rqp_to_rts(&other);
	rwqe_datagram(rqp_begin(&other, IONIC_V1_SEND, IONIC_V2_SEND, &amr, 0, 0), 1, bqp.id,
		      RNIC_QKEY);
	rqp_end(&other);
	test_run();
	check_failed(&other, IONIC_CQE_SEND_NPG, IONIC_IO_LOCAL_QP_OP);
	close_both();
}

/* ---- unreliable connections ------------------------------------------------------- */

static void open_unreliable(void)
{
	open_adapters("");
	aqp.type = bqp.type = IONIC_QPT_UC;
	rqp_open(&aqp);
	rqp_open(&bqp);
	rqp_connect(&aqp, &bqp);
	rqp_connect(&bqp, &aqp);
}

TEST(unreliable_messages)
{
	open_unreliable();
	rqp_recv(&bqp, &bmr, 0, 10000);
	rqp_send(&aqp, &amr, 0, 5000);
	rqp_write(&aqp, &amr, 0, 3000, &bmr, 20000);
	test_run();
	check_received(&bqp, IONIC_RECV_SEND, 5000);
	check_sent(&aqp, 1);
	check_sent(&aqp, 2);
	CHECK(!memcmp(mem_of(&b, &bmr), mem_of(&a, &amr), 5000));
	CHECK(!memcmp(mem_of(&b, &bmr) + 20000, mem_of(&a, &amr), 3000));
	rqp_read(&aqp, &amr, 0, 8, &bmr, 0);
	test_run();
	check_failed(&aqp, IONIC_CQE_SEND_NPG, IONIC_IO_LOCAL_QP_OP);
	close_both();
}

TEST(unreliable_messages_with_a_gap_are_lost)
{
	open_unreliable();
	rqp_recv(&bqp, &bmr, 0, 10000);
	rqp_recv(&bqp, &bmr, 0, 10000);
	fabric_drop(&ionic_of(a.nic.dev)->net, 2, 1);
	rqp_send(&aqp, &amr, 0, 5000);
	rqp_send(&aqp, &amr, 0, 6000);
	test_run();
	/* the receive WQE of the lost one is still there */
	CHECK_EQ(le64toh(check_received(&bqp, IONIC_RECV_SEND, 6000)->u.recv.id), 0);
	CHECK(!rcq_take(&bcq));
	check_sent(&aqp, 1);
	check_sent(&aqp, 2);
	rqp_send(&aqp, &amr, 0, 10);
	test_run();
	CHECK_EQ(le64toh(check_received(&bqp, IONIC_RECV_SEND, 10)->u.recv.id), 1);
	check_sent(&aqp, 3);
	close_both();
}

TAP_MAIN
