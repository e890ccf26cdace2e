// SPDX-License-Identifier: GPL-2.0
/* Rings in controller memory, rung by doorbells and by the end of their slots. */
#include "tap.h"
#include "test_pair.h"

/* the slot @qp posts next, as its user has it: built elsewhere, then stored */
static uint8_t built[512];

static uint64_t word(const struct rqp *qp, unsigned int type, unsigned int slot)
{
	return (uint64_t)type << 48 | (uint64_t)qp->id << 24 | 0x580000 |
	       ((slot + 1) & ((1u << qp->log2) - 1));
}

static uint64_t sq_word(const struct rqp *qp)
{
	return word(qp, qp->rnic->nic.lif.rdma.sq.qtype, qp->sq_posted);
}

/* a write of 16 bytes from a's memory to the start of b's */
static void build_write(const struct rqp *qp, uint64_t ring)
{
	struct ionic_wqe_send *wqe = (struct ionic_wqe_send *)built;

	memset(built, 0, sizeof(built));
	wqe->header.id = htole64(qp->sq_posted);
	wqe->header.op = IONIC_V2_WRITE;
	wqe->header.flags = htobe16(IONIC_WQE_SIGNALED);
	wqe->header.num_sge = 1;
	wqe->length = htobe32(16);
	rwqe_remote(wqe, &bmr, 0);
	*(struct ionic_sge *)(wqe + 1) = rsge(&amr, 100 * (qp->sq_posted + 1), 16);
	ring = htole64(ring);
	memcpy(built + (1ul << qp->stride_log2) - 8, &ring, 8);
}

/* stores what was built, in pieces of 8 bytes from its beginning to its end */
static void store(struct rqp *qp, unsigned int window)
{
	uint64_t at = (uint64_t)window * IONIC_CMB_WINDOW + qp->sq +
		      ((uint64_t)qp->sq_posted << qp->stride_log2);

	for (unsigned int i = 0; i < 1u << qp->stride_log2; i += 8) {
		uint64_t value;

		memcpy(&value, built + i, 8);
		if (ionic_of(qp->rnic->nic.dev)->config.strict)
			qp->rnic->nic.dev->ops->bar_write(qp->rnic->nic.dev, IONIC_BAR_CMB,
							  at + i, 8, value);
		else
			memcpy(qp->rnic->nic.dev->bar[IONIC_BAR_CMB].mem + at + i, &value, 8);
	}
}

static void open_in_cmb(const char *options, unsigned int stride_log2)
{
	open_adapters(options);
	aqp.sq_cmb = true;
	aqp.sq = 0x10000;
	aqp.stride_log2 = stride_log2;
	rqp_open(&aqp);
	rqp_open(&bqp);
	rqp_connect(&aqp, &bqp);
	rqp_connect(&bqp, &aqp);
}

static void check_written(void)
{
	test_run();
	check_sent(&aqp, (aqp.sq_posted + 1) % 32);
	CHECK(!memcmp(mem_of(&b, &bmr), mem_of(&a, &amr) + 100 * (aqp.sq_posted + 1), 16));
	rqp_sent(&aqp);
}

static const char *const modes[] = { "mode=strict", "mode=fast" };

TEST(a_plain_ring_and_ordinary_doorbells)
{
	for (unsigned int mode = 0; mode < 2; mode++) {
		open_in_cmb(modes[mode], 7);
		CHECK_EQ(tally(&a, "cmb_pages"), 1);
		for (unsigned int i = 0; i < 40; i++) {
			rqp_write(&aqp, &amr, 100 * i, 16, &bmr, 0);
			test_run();
			check_sent(&aqp, (i + 1) % 32);
			CHECK(!memcmp(mem_of(&b, &bmr), mem_of(&a, &amr) + 100 * i, 16));
		}
		CHECK_EQ(raq_destroy(&a, IONIC_AQ_DESTROY_QP, aqp.id), 0);
		CHECK_EQ(tally(&a, "cmb_pages"), 0);
		CHECK(!a.nic.dev->polled);
		close_both();
	}
}

/* every stride by its window, lap after lap */
TEST(slots_ring_by_themselves)
{
	for (unsigned int mode = 0; mode < 2; mode++) {
		for (unsigned int stride = 6; stride < 10; stride++) {
			open_in_cmb(modes[mode], stride);
			CHECK_EQ(a.nic.dev->polled, mode == 1);
			for (unsigned int i = 0; i < 70; i++) {
				build_write(&aqp, sq_word(&aqp));
				store(&aqp, stride - 5);
				check_written();
			}
			CHECK_EQ(tally(&a, "doorbells_express"), 70);
			/* what is mapped is not seen */
			CHECK_EQ(tally(&a, "cmb_bytes"), mode ? 0 : 70ul << stride);
			CHECK_EQ(tally(&a, "doorbells_sq"), 0);
			close_both();
		}
	}
}

TEST(many_slots_before_anybody_looks)
{
	open_in_cmb("mode=fast", 7);
	for (unsigned int i = 0; i < 31; i++) {
		build_write(&aqp, sq_word(&aqp));
		store(&aqp, IONIC_CMB_EXPRESS_128);
		rqp_sent(&aqp);
	}
	test_run();
	for (unsigned int i = 0; i < 31; i++)
		check_sent(&aqp, (i + 1) % 32);
	close_both();
}

TEST(nothing_rings_before_the_end_of_a_slot)
{
	uint64_t value;

	open_in_cmb("mode=strict", 7);
	build_write(&aqp, sq_word(&aqp));
	for (unsigned int i = 0; i < 120; i += 8) {
		memcpy(&value, built + i, 8);
		a.nic.dev->ops->bar_write(a.nic.dev, IONIC_BAR_CMB,
					  2 * IONIC_CMB_WINDOW + aqp.sq + i, 8, value);
	}
	/* the end by the plain window is only memory */
	a.nic.dev->ops->bar_write(a.nic.dev, IONIC_BAR_CMB, aqp.sq + 120, 8, sq_word(&aqp));
	test_run();
	CHECK(!rcq_take(&acq));
	a.nic.dev->ops->bar_write(a.nic.dev, IONIC_BAR_CMB, 2 * IONIC_CMB_WINDOW + aqp.sq + 120,
				  8, sq_word(&aqp));
	check_written();
	close_both();
}

TEST(express_doorbells_out_of_rule)
{
	for (unsigned int mode = 0; mode < 2; mode++) {
		open_in_cmb(modes[mode], 7);
		build_write(&aqp, sq_word(&aqp) + 1);
		store(&aqp, IONIC_CMB_EXPRESS_128);
		test_run();
		CHECK_CONTAINS(nic_violation(&a.nic), "must be 0x0004000002580001");
		build_write(&aqp, sq_word(&aqp) + (1ull << 24));
		store(&aqp, IONIC_CMB_EXPRESS_128);
		test_run();
		CHECK_CONTAINS(nic_violation(&a.nic), "express doorbell 0x0004000003580001");
		CHECK(!rcq_take(&acq));
		close_both();
	}
	open_in_cmb("mode=strict", 7);
	rqp_sent(&aqp);
	build_write(&aqp, sq_word(&aqp));
	store(&aqp, IONIC_CMB_EXPRESS_128);
	CHECK_CONTAINS(nic_violation(&a.nic), "slot 1 of the send queue of QP 2, whose next is 0");
	aqp.sq_posted = 0;
	a.nic.dev->ops->bar_write(a.nic.dev, IONIC_BAR_CMB, 3 * IONIC_CMB_WINDOW + aqp.sq, 8, 0);
	CHECK_CONTAINS(nic_violation(&a.nic), "a queue of another stride lives");
	a.nic.dev->ops->bar_write(a.nic.dev, IONIC_BAR_CMB, 2 * IONIC_CMB_WINDOW, 8, 0);
	CHECK_CONTAINS(nic_violation(&a.nic), "no queue lives");
	close_both();
}

/* a user posts to a QP that has failed, as often as he likes: his library flushes it */
TEST(slots_that_ring_in_vain)
{
	for (unsigned int mode = 0; mode < 2; mode++) {
		open_in_cmb(modes[mode], 7);
		CHECK_EQ(rqp_modify(&aqp, IONIC_QPA_STATE, IONIC_QPS_ERR), 0);
		check_flushed(&aqp);
		for (unsigned int i = 0; i < 3; i++) {
			build_write(&aqp, sq_word(&aqp));
			store(&aqp, IONIC_CMB_EXPRESS_128);
			rqp_sent(&aqp);
			test_run();
		}
		CHECK(!rcq_take(&acq));
		close_both();
	}
}

/* what the last owner left in the memory of a window must not ring for the next */
TEST(f74_a_recycled_ring_is_silent)
{
	open_in_cmb("mode=fast", 7);
	build_write(&aqp, sq_word(&aqp));
	store(&aqp, IONIC_CMB_EXPRESS_128);
	/* nobody has looked yet */
	CHECK_EQ(raq_destroy(&a, IONIC_AQ_DESTROY_QP, aqp.id), 0);
	while (rcq_take(&acq))
		;
	rcq_told(&acq);
	rqp_init(&aqp, &a, 2, IONIC_QPT_RC, &acq);
	aqp.sq_cmb = true;
	aqp.sq = 0x10000;
	rqp_open(&aqp);
	rqp_connect(&aqp, &bqp);
	test_run();
	CHECK(!rcq_take(&acq));
	close_both();
}

TEST(receive_queues_ring_too)
{
	for (unsigned int mode = 0; mode < 2; mode++) {
		struct ionic_wqe_recv *wqe = (struct ionic_wqe_recv *)built;
		uint64_t ring, at;

		open_adapters(modes[mode]);
		bqp.rq_cmb = true;
		bqp.rq = 0x20000;
		rqp_open(&aqp);
		rqp_open(&bqp);
		rqp_connect(&aqp, &bqp);
		rqp_connect(&bqp, &aqp);
		memset(built, 0, sizeof(built));
		wqe->header.num_sge = 1;
		wqe->header.imm_key_length = htobe32(100);
		*(struct ionic_sge *)(wqe + 1) = rsge(&bmr, 0, 100);
		ring = htole64(word(&bqp, b.nic.lif.rdma.rq.qtype, 0));
		memcpy(built + 120, &ring, 8);
		at = IONIC_CMB_EXPRESS_128 * (uint64_t)IONIC_CMB_WINDOW + bqp.rq;
		for (unsigned int i = 0; i < 128; i += 8) {
			memcpy(&ring, built + i, 8);
			b.nic.dev->ops->bar_write(b.nic.dev, IONIC_BAR_CMB, at + i, 8, ring);
		}
		rqp_send(&aqp, &amr, 0, 100);
		test_run();
		check_received(&bqp, IONIC_RECV_SEND, 100);
		check_sent(&aqp, 1);
		close_both();
	}
}

/* an adapter that has express doorbells for one kind of queue does not look at the other */
TEST(kinds_that_have_none)
{
	open_in_cmb("mode=strict expdb=rq", 7);
	build_write(&aqp, sq_word(&aqp));
	store(&aqp, IONIC_CMB_EXPRESS_128);
	test_run();
	CHECK(a.nic.dev->violations);
	CHECK(!rcq_take(&acq));
	model_violations_clear(a.nic.dev);
	close_both();
	open_in_cmb("mode=fast expdb=rq", 7);
	CHECK(!a.nic.dev->polled);
	close_both();
}

static void check_create(const struct rqp *qp, const char *why)
{
	struct ionic_aq_create_qp cmd = rqp_command(qp);

	CHECK_EQ(raq(&a, &cmd, IONIC_AQ_CREATE_QP, sizeof(cmd)), IONIC_AQ_BAD_ATTR);
	CHECK_CONTAINS(nic_violation(&a.nic), why);
}

TEST(places_out_of_rule)
{
	struct ionic_aq_create_qp cmd;
	struct rqp other;

	open_in_cmb("mode=strict", 7);
	rqp_init(&other, &a, 5, IONIC_QPT_RC, &acq);
	other.sq_cmb = true;
	other.rq = test_alloc_apart(&a.nic.host, 4096);
	other.sq = 0x10000;
	check_create(&other, "0x10000 is that of QP 2");
	other.sq = IONIC_CMB_WINDOW - 2048;
	check_create(&other, "which has 8388608");
	other.sq = IONIC_CMB_WINDOW;
	check_create(&other, "which has 8388608");
	other.sq = 0x20800;
	check_create(&other, "at 0x20800");
	other.sq = other.rq = 0x20000;
	other.rq_cmb = true;
	check_create(&other, "both queues are at one place");
	other.rq = 0x21000;
	cmd = rqp_command(&other);
	CHECK_EQ(raq(&a, &cmd, IONIC_AQ_CREATE_QP, sizeof(cmd)), 0);
	CHECK_EQ(tally(&a, "cmb_pages"), 3);
	/* the host's memory has other addresses, though they may look the same */
	rqp_init(&other, &a, 6, IONIC_QPT_RC, &acq);
	other.sq_cmb = true;
	other.sq = 0x30000;
	other.rq = 0x30800;
	cmd = rqp_command(&other);
	CHECK_EQ(raq(&a, &cmd, IONIC_AQ_CREATE_QP, sizeof(cmd)), 0);
	close_both();
}

TAP_MAIN
