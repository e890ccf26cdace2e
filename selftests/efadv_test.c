// SPDX-License-Identifier: GPL-2.0
/*
 * The direct-verbs calls of libdvq on an adapter, to the letter of their manual pages: every
 * published size of every struct, what is written and what is not, errors by sign, processing
 * hints in and out of place, the wrong device, and that nothing stays mapped. Where both answer,
 * the stock libefa of this machine is asked the same.
 */
#include <dvq/dvq.h>
#include <errno.h>
#include <infiniband/efadv.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/efa_test.h"
#include "lib/uverbs.h"

#define END_OF(type, field)	(offsetof(type, field) + sizeof(((type *)0)->field))
#define GUARD			0xa5
#define LONGER			64	/* more than any struct here */

/* room for a struct and more, every byte GUARD */
struct room {
	union {
		uint8_t byte[128];
		struct efadv_wq_attr wq;
		struct efadv_cq_attr cq;
		struct efadv_ah_attr ah;
		struct efadv_device_attr device;
	};
};

static struct room room_new(void)
{
	struct room room;

	memset(&room, GUARD, sizeof(room));
	return room;
}

/* nothing was written from @from on */
static void expect_untouched(const struct room *room, size_t from)
{
	for (size_t i = from; i < sizeof(room->byte); i++)
		if (room->byte[i] != GUARD) {
			lab_note(__FILE__, __LINE__, "byte %zu was written, %zu were given", i,
				 from);
			return;
		}
}

#define NEED_DVQ()								\
	do {									\
		if (!self->dvq)							\
			SKIP("needs the adapter to be driven by dvq_efa");	\
	} while (0)

/* ---- efadv_query_qp_wqs --------------------------------------------------------------- */

EFA_TEST(wqs_as_the_kernel_has_them)
{
	struct endpoint *e = endpoint_new(self, NULL);
	struct efadv_wq_attr sq = { 0 }, rq = { 0 };
	struct dvq_wq_info ksq, krq;
	struct dvq_qp_info info;

	NEED_DVQ();
	CHECK_EQ(efadv_query_qp_wqs(e->qp, &sq, &rq, sizeof(sq)), 0);
	REQUIRE(!dvq_qp_query(e->qp, &info, sizeof(info), &ksq, &krq, sizeof(ksq)));
	CHECK_EQ(sq.entry_size, ksq.entry_size);
	CHECK_EQ(sq.num_entries, ksq.entries);
	CHECK_EQ(sq.max_batch, ksq.max_batch);
	CHECK_EQ((uintptr_t)sq.buffer % 4096, ksq.ring_offset);
	CHECK_EQ((uintptr_t)sq.doorbell % 4096, ksq.db_offset);
	CHECK_EQ(rq.entry_size, 16);
	CHECK_EQ(rq.num_entries, krq.entries);
	CHECK_EQ(rq.max_batch, rq.num_entries);
	CHECK_EQ((uintptr_t)rq.doorbell % 4096, krq.db_offset);
	CHECK_EQ(rq.caps, 0);
	CHECK_EQ(sq.caps, ksq.caps & DVQ_WQ_64BIT_IDS ? EFADV_WQ_CAPS_64_BIT_REQ_ID : 0);
}

EFA_TEST(wqs_as_stock_has_them)
{
	int (*query)(struct ibv_qp *, struct efadv_wq_attr *, struct efadv_wq_attr *, uint32_t) =
		libefa_call("efadv_query_qp_wqs");
	struct endpoint *e = endpoint_new(self, NULL);
	struct efadv_wq_attr sq = { 0 }, rq = { 0 }, their_sq = { 0 }, their_rq = { 0 };

	if (!query)
		SKIP("this libefa has no efadv_query_qp_wqs");
	CHECK_EQ(efadv_query_qp_wqs(e->qp, &sq, &rq, sizeof(sq)), 0);
	CHECK_EQ(query(e->qp, &their_sq, &their_rq, sizeof(their_sq)), 0);
	CHECK(!memcmp(&sq, &their_sq, sizeof(sq)));
	CHECK(!memcmp(&rq, &their_rq, sizeof(rq)));
}

static void wqs_of_size(struct ibv_qp *qp, uint32_t inlen)
{
	const size_t written = inlen < sizeof(struct efadv_wq_attr) ? inlen :
							sizeof(struct efadv_wq_attr);
	struct room sq = room_new(), rq = room_new();

	CHECK_EQ(efadv_query_qp_wqs(qp, &sq.wq, &rq.wq, inlen), 0);
	CHECK_EQ(sq.wq.comp_mask, 0);
	CHECK_EQ(rq.wq.comp_mask, 0);
	CHECK(sq.wq.num_entries && sq.wq.num_entries < 1 << 16);
	expect_untouched(&sq, written);
	expect_untouched(&rq, written);
}

EFA_TEST(f14_wqs_of_every_published_size)
{
	struct endpoint *e = endpoint_new(self, NULL);

	/* up to max_batch; with reserved[4] or caps; from a header of the future */
	wqs_of_size(e->qp, END_OF(struct efadv_wq_attr, max_batch));
	wqs_of_size(e->qp, sizeof(struct efadv_wq_attr));
	wqs_of_size(e->qp, sizeof(struct efadv_wq_attr) + LONGER);
}

EFA_TEST(wqs_of_a_length_that_is_too_short)
{
	struct endpoint *e = endpoint_new(self, NULL);
	struct room sq = room_new(), rq = room_new();

	NEED_DVQ();
	for (uint32_t inlen = 0; inlen < END_OF(struct efadv_wq_attr, max_batch); inlen++)
		CHECK_EQ(efadv_query_qp_wqs(e->qp, &sq.wq, &rq.wq, inlen), EINVAL);
	expect_untouched(&sq, 0);
	expect_untouched(&rq, 0);
}

EFA_TEST(wqs_without_an_argument)
{
	struct endpoint *e = endpoint_new(self, NULL);
	struct efadv_wq_attr attr;

	CHECK_EQ(efadv_query_qp_wqs(NULL, &attr, &attr, sizeof(attr)), EINVAL);
	CHECK_EQ(efadv_query_qp_wqs(e->qp, NULL, &attr, sizeof(attr)), EINVAL);
	CHECK_EQ(efadv_query_qp_wqs(e->qp, &attr, NULL, sizeof(attr)), EINVAL);
}

EFA_TEST(wqs_in_every_state)
{
	struct endpoint *e = endpoint_new(self, &(struct endpoint_options){
						.state = ENDPOINT_RESET });
	struct efadv_wq_attr sq[3] = { 0 }, rq[3] = { 0 };

	CHECK_EQ(efadv_query_qp_wqs(e->qp, &sq[0], &rq[0], sizeof(sq[0])), 0);
	CHECK_EQ(endpoint_modify(e, IBV_QPS_RTS), 0);
	CHECK_EQ(efadv_query_qp_wqs(e->qp, &sq[1], &rq[1], sizeof(sq[0])), 0);
	CHECK_EQ(endpoint_modify(e, IBV_QPS_ERR), 0);
	CHECK_EQ(efadv_query_qp_wqs(e->qp, &sq[2], &rq[2], sizeof(sq[0])), 0);
	for (int i = 1; i < 3; i++) {
		CHECK(!memcmp(&sq[i], &sq[0], sizeof(sq[0])));
		CHECK(!memcmp(&rq[i], &rq[0], sizeof(rq[0])));
	}
}

/* ---- mappings -------------------------------------------------------------------------- */

static unsigned int uverbs_mappings(void)
{
	struct efadv_device_attr attr;
	unsigned int n = 0;
	char line[512];
	FILE *maps;

	/* what the library itself had mapped (take-over: one page of a context) goes with its next call */
	CHECK_EQ(efadv_query_device(self->context, &attr, sizeof(attr)), 0);
	maps = fopen("/proc/self/maps", "r");
	REQUIRE(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, "/dev/infiniband/uverbs") != NULL;
	fclose(maps);
	return n;
}

/* a whole life in a context of its own, asked about @times */
static void live(unsigned int times)
{
	struct adapter mine = *self;
	struct endpoint *e;

	adapter_open(&mine);
	e = endpoint_new(&mine, NULL);
	for (unsigned int i = 0; i < times; i++) {
		struct efadv_cq_attr cq = { 0 };
		struct efadv_wq_attr sq, rq;

		CHECK_EQ(efadv_query_qp_wqs(e->qp, &sq, &rq, sizeof(sq)), 0);
		CHECK_EQ(efadv_query_cq(e->qp->send_cq, &cq, sizeof(cq)), 0);
	}
	lab_drop_all();
	adapter_close(&mine);
}

EFA_TEST(f11_query_destroy_close_leaves_no_mapping)
{
	unsigned int before = uverbs_mappings();

	live(0);
	if (libefa_release() < 56 && uverbs_mappings() != before)
		SKIP("this libefa leaves mappings behind by itself");
	CHECK_EQ(uverbs_mappings(), before);
	live(1);
	CHECK_EQ(uverbs_mappings(), before);
	for (int i = 0; i < 20; i++)
		live(3);
	CHECK_EQ(uverbs_mappings(), before);
}

EFA_TEST(rings_opened_and_closed_leave_no_mapping)
{
	struct endpoint *e = endpoint_new(self, NULL);
	unsigned int before = uverbs_mappings();

	NEED_DVQ();
	for (int i = 0; i < 20; i++) {
		struct dvq_efa_sq sq;
		struct dvq_efa_rq rq;
		struct dvq_efa_cq cq;

		REQUIRE(!dvq_efa_sq_open(e->qp, &sq, sizeof(sq)));
		REQUIRE(!dvq_efa_rq_open(e->qp, &rq, sizeof(rq)));
		REQUIRE(!dvq_efa_cq_open(e->send_cq->cq, &cq, sizeof(cq)));
		CHECK(uverbs_mappings() > before);
		dvq_efa_cq_close(&cq);
		dvq_efa_rq_close(&rq);
		dvq_efa_sq_close(&sq);
		CHECK_EQ(uverbs_mappings(), before);
	}
}

/* ---- the other queries -------------------------------------------------------------------- */

EFA_TEST(f14_device_of_every_published_size)
{
	const uint32_t sizes[] = { END_OF(struct efadv_device_attr, inline_buf_size_ex), 32, 40 };
	struct efadv_device_attr full = { 0 };

	CHECK_EQ(efadv_query_device(self->context, &full, sizeof(full)), 0);
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct room room = room_new();

		CHECK_EQ(efadv_query_device(self->context, &room.device, sizes[i]), 0);
		CHECK_EQ(room.device.comp_mask, 0);
		CHECK_EQ(room.device.max_sq_wr, full.max_sq_wr);
		CHECK_EQ(room.device.inline_buf_size_ex, full.inline_buf_size_ex);
		for (uint32_t at = sizeof(full); at < sizes[i]; at++)
			CHECK_EQ(room.byte[at], 0);
		expect_untouched(&room, sizes[i]);
	}
}

/* an older libefa knows fewer capabilities, and one member is reserved there */
EFA_TEST(device_as_stock_has_it)
{
	struct efadv_device_attr mine = { 0 }, theirs = self->provider;

	CHECK_EQ(efadv_query_device(self->context, &mine, sizeof(mine)), 0);
	if (libefa_release() < 64) {
		CHECK(!(theirs.device_caps & ~mine.device_caps));
		mine.device_caps &= theirs.device_caps;
		if (!theirs.inline_buf_size_ex)
			mine.inline_buf_size_ex = 0;
	}
	CHECK(!memcmp(&mine, &theirs, sizeof(mine)));
	CHECK_EQ(efadv_query_device(NULL, &mine, sizeof(mine)), EINVAL);
	CHECK_EQ(efadv_query_device(self->context, NULL, sizeof(mine)), EINVAL);
	CHECK_EQ(efadv_query_device(self->context, &mine, 20), EINVAL);
}

/* IBV_QUERY_QP_DATA_IN_ORDER_*, which came after rdma-core 44 */
enum { IN_ORDER_RETURN_CAPS = 1, IN_ORDER_ALIGNED_128_BYTES = 2 };

/* Blocks of 128 bytes if the device promises it, whole messages never, whatever the operation. */
EFA_TEST(data_in_order)
{
	bool promised = raw_new(self)->device.device_caps & DVQ_EFA_DEVICE_DATA_POLLING_128;
	int want = promised ? IN_ORDER_ALIGNED_128_BYTES : 0;
	struct duo duo = duo_new(NULL);

	for (enum ibv_wr_opcode op = IBV_WR_RDMA_WRITE; op <= IBV_WR_RDMA_READ; op++) {
		CHECK_EQ(ibv_query_qp_data_in_order(duo.a->qp, op, IN_ORDER_RETURN_CAPS), want);
		CHECK_EQ(ibv_query_qp_data_in_order(duo.a->qp, op, 0), 0);
	}
}

EFA_TEST(f14_ah_of_every_published_size)
{
	struct duo duo = duo_new(NULL);
	const uint32_t sizes[] = { END_OF(struct efadv_ah_attr, ahn), 16, 16 + LONGER };

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct room room = room_new();

		CHECK_EQ(efadv_query_ah(duo.to_b.ah, &room.ah, sizes[i]), 0);
		CHECK_EQ(room.ah.comp_mask, 0);
		CHECK_EQ(room.ah.ahn, ah_number(duo.to_b.ah));
		expect_untouched(&room, sizes[i]);
	}
	CHECK_EQ(efadv_query_ah(duo.to_b.ah, &(struct efadv_ah_attr){ 0 }, 8), EINVAL);
	CHECK_EQ(efadv_query_ah(NULL, &(struct efadv_ah_attr){ 0 }, 16), EINVAL);
}

/* those that have no room for what came later */
static bool has_short_entries(void)
{
	return libefa_release() < 56;
}

EFA_TEST(f14_cq_of_every_published_size)
{
	struct endpoint *e = endpoint_new(self, NULL);
	const uint32_t sizes[] = { 24, 32, 32 + LONGER };

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct room room = room_new();

		CHECK_EQ(efadv_query_cq(e->send_cq->cq, &room.cq, sizes[i]), 0);
		CHECK_EQ(room.cq.comp_mask, 0);
		CHECK_EQ(room.cq.entry_size, has_short_entries() ? 16 : 32);
		CHECK_EQ(room.cq.num_entries, e->send_cq->cq->cqe);
		CHECK(room.cq.buffer);
		expect_untouched(&room, sizes[i] < 32 ? sizes[i] : 32);
	}
	CHECK_EQ(efadv_query_cq(e->send_cq->cq, &(struct efadv_cq_attr){ 0 }, 20), EINVAL);
	CHECK_EQ(efadv_query_cq(NULL, &(struct efadv_cq_attr){ 0 }, 32), EINVAL);
}

/* these two: a depth or a negative errno (F-40) */
EFA_TEST(f40_f51_depths)
{
	struct efadv_sq_depth_attr sq = { .max_send_sge = 1, .max_rdma_sge = 1 };
	struct efadv_rq_depth_attr rq = { .max_recv_sge = 1 };
	int one, depth;

	depth = efadv_get_max_sq_depth(self->context, &sq, sizeof(sq));
	CHECK(depth > 0 && !(depth & (depth - 1)));
	one = efadv_get_max_rq_depth(self->context, &rq, sizeof(rq));
	CHECK_EQ(one, self->efa.max_rq_wr);
	rq.max_recv_sge = self->efa.max_rq_sge;
	CHECK_EQ(efadv_get_max_rq_depth(self->context, &rq, sizeof(rq)),
		 self->efa.max_rq_wr / self->efa.max_rq_sge);

	sq.comp_mask = 1;
	CHECK_EQ(efadv_get_max_sq_depth(self->context, &sq, sizeof(sq)), -EINVAL);
	sq.comp_mask = 0;
	sq.max_send_sge = self->efa.max_sq_sge + 1;
	CHECK_EQ(efadv_get_max_sq_depth(self->context, &sq, sizeof(sq)), -EINVAL);
	sq.max_send_sge = 1;
	sq.max_inline_data = 4096;
	CHECK_EQ(efadv_get_max_sq_depth(self->context, &sq, sizeof(sq)), -EINVAL);
	rq.max_recv_sge = self->efa.max_rq_sge + 1;
	CHECK_EQ(efadv_get_max_rq_depth(self->context, &rq, sizeof(rq)), -EINVAL);
	CHECK_EQ(efadv_get_max_sq_depth(self->context, &sq, 8), -EINVAL);
	CHECK_EQ(efadv_get_max_rq_depth(self->context, &rq, 8), -EINVAL);
	CHECK_EQ(efadv_get_max_sq_depth(NULL, &sq, sizeof(sq)), -EINVAL);
}

EFA_TEST(f51_depth_of_wide_entries)
{
	struct efadv_sq_depth_attr narrow = { .max_send_sge = 1 }, wide = narrow;

	need_device_write();
	wide.flags = EFADV_SQ_DEPTH_ATTR_INLINE_WRITE;
	CHECK_EQ(efadv_get_max_sq_depth(self->context, &wide, sizeof(wide)) * 2,
		 efadv_get_max_sq_depth(self->context, &narrow, sizeof(narrow)));
}

/* no division by zero (F-05) */
EFA_TEST(f05_depth_of_receives_without_sges)
{
	struct efadv_rq_depth_attr rq = { .max_recv_sge = 0 };

	NEED_DVQ();
	CHECK_EQ(efadv_get_max_rq_depth(self->context, &rq, sizeof(rq)), self->efa.max_rq_wr);
}

EFA_TEST(depth_with_unknown_flags)
{
	struct efadv_sq_depth_attr sq = { .flags = 1u << 31 };

	NEED_DVQ();
	CHECK_EQ(efadv_get_max_sq_depth(self->context, &sq, sizeof(sq)), -EINVAL);
}

/* ---- creation ---------------------------------------------------------------------------- */

static struct ibv_qp_init_attr_ex init_attr(struct ibv_pd *pd, struct cq *cq)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = cq->cq, .recv_cq = cq->cq, .qp_type = IBV_QPT_DRIVER,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd, .send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
}

/* the errno of creating with @attr and @efa */
static int create(struct ibv_qp_init_attr_ex attr, struct efadv_qp_init_attr efa, uint32_t inlen)
{
	struct ibv_qp *qp = efadv_create_qp_ex(self->context, &attr, &efa, inlen);

	if (!qp)
		return errno;
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	return 0;
}

EFA_TEST(f14_qps_of_every_published_size)
{
	struct ibv_qp_init_attr_ex attr = init_attr(pd_new(self), cq_new(self, 64, NULL));
	struct {
		struct efadv_qp_init_attr attr;
		uint8_t tail[8];
	} longer = { .attr.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD };
	struct ibv_qp *qp;

	CHECK_EQ(create(attr, longer.attr, 16), 0);
	CHECK_EQ(create(attr, longer.attr, 24), 0);
	qp = efadv_create_qp_ex(self->context, &attr, &longer.attr, sizeof(longer));
	REQUIRE(qp);
	ibv_destroy_qp(qp);
	longer.tail[7] = 1;
	qp = efadv_create_qp_ex(self->context, &attr, &longer.attr, sizeof(longer));
	CHECK(!qp && errno == EINVAL);
	CHECK_EQ(create(attr, longer.attr, 4), EINVAL);
}

EFA_TEST(f30_f33_qps_that_are_refused)
{
	struct ibv_qp_init_attr_ex attr = init_attr(pd_new(self), cq_new(self, 64, NULL)), bad;
	const struct efadv_qp_init_attr srd = { .driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD };
	struct efadv_qp_init_attr efa;

	bad = attr;
	bad.qp_type = IBV_QPT_RC;
	CHECK_EQ(create(bad, srd, sizeof(srd)), EINVAL);
	efa = srd;
	efa.comp_mask = 1;
	CHECK_EQ(create(attr, efa, sizeof(efa)), EINVAL);
	efa = srd;
	efa.driver_qp_type = 7;
	CHECK_EQ(create(attr, efa, sizeof(efa)), EOPNOTSUPP);
	efa = srd;
	efa.reserved = 1;
	CHECK_EQ(create(attr, efa, sizeof(efa)), EINVAL);
	efa = srd;
	efa.flags = 1 << 15;
	CHECK_EQ(create(attr, efa, sizeof(efa)), EOPNOTSUPP);
	efa = srd;
	efa.wr_flags = 1 << 5;
	CHECK_EQ(create(attr, efa, sizeof(efa)), EOPNOTSUPP);
	bad = attr;
	bad.send_ops_flags |= IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	CHECK_EQ(create(bad, srd, sizeof(srd)), EOPNOTSUPP);
	bad = attr;
	bad.comp_mask &= ~IBV_QP_INIT_ATTR_PD;
	CHECK_EQ(create(bad, srd, sizeof(srd)), EINVAL);
	CHECK_EQ(create(attr, srd, sizeof(srd)), 0);
}

/* what was asked for can be built */
EFA_TEST(f33_builders_of_what_was_asked_for)
{
	struct ibv_qp_init_attr_ex attr = init_attr(pd_new(self), cq_new(self, 64, NULL));
	struct efadv_qp_init_attr efa = { .driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD };
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;

	need_read();
	need_write();
	attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
			      IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE |
			      IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	qp = efadv_create_qp_ex(self->context, &attr, &efa, sizeof(efa));
	REQUIRE(qp);
	ex = ibv_qp_to_qp_ex(qp);
	CHECK(ex->wr_start && ex->wr_complete && ex->wr_abort);
	CHECK(ex->wr_send && ex->wr_send_imm);
	CHECK(ex->wr_rdma_read && ex->wr_rdma_write && ex->wr_rdma_write_imm);
	CHECK(ex->wr_set_sge && ex->wr_set_sge_list && ex->wr_set_inline_data &&
	      ex->wr_set_inline_data_list && ex->wr_set_ud_addr);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
}

/*
 * F-05: no receives and no SGEs of receives. Upstream compatibility comes first: libefa makes a ring
 * of one descriptor then, so one receive may be taken.
 */
EFA_TEST(f05_qp_that_only_sends)
{
	struct cq *cq = cq_new(self, 64, NULL);
	struct ibv_pd *pd = pd_new(self);
	struct ibv_qp_init_attr_ex attr = init_attr(pd, cq);
	struct efadv_qp_init_attr efa = { .driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD };
	struct buffer *buffer = buffer_new(pd, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = buffer_sge(buffer, 0, 64);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1 };
	unsigned int posted = 0;
	struct ibv_qp *qp;
	int err;

	attr.cap.max_recv_wr = attr.cap.max_recv_sge = 0;
	qp = efadv_create_qp_ex(self->context, &attr, &efa, sizeof(efa));
	REQUIRE(qp);
	CHECK_EQ(ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			       IBV_QP_QKEY), 0);
	for (err = 0; !err && posted < 100; posted += !err)
		err = ibv_post_recv(qp, &wr, &bad);
	CHECK(err == ENOMEM || err == EINVAL);
	CHECK(bad == &wr);
	CHECK(posted <= 1);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
}

/* F-16: a parent domain stays while a QP is in it */
EFA_TEST(f16_parent_domain_in_use)
{
	struct ibv_td_init_attr none = { 0 };
	struct ibv_td *td = ibv_alloc_td(self->context, &none);
	struct ibv_parent_domain_init_attr init = { .pd = pd_new(self), .td = td };
	struct cq *cq = cq_new(self, 64, NULL);
	struct ibv_pd *domain = td ? ibv_alloc_parent_domain(self->context, &init) : NULL;
	struct ibv_qp_init_attr_ex attr;
	struct efadv_qp_init_attr efa = { .driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD };
	struct ibv_qp *qp;

	if (!domain) {
		REQUIRE(errno == EOPNOTSUPP && libefa_release() < 65);
		if (td)
			ibv_dealloc_td(td);
		SKIP("this libefa has no parent domains");
	}
	attr = init_attr(domain, cq);
	qp = efadv_create_qp_ex(self->context, &attr, &efa, sizeof(efa));
	REQUIRE(qp);
	CHECK_EQ(ibv_dealloc_pd(domain), EBUSY);
	CHECK_EQ(ibv_dealloc_td(td), EBUSY);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(ibv_dealloc_pd(domain), 0);
	CHECK_EQ(ibv_dealloc_td(td), 0);
}

/* ---- processing hints ----------------------------------------------------------------------- */

#define BURST	EFADV_WR_PROCESSING_HINT_BURST_PPS_SENSITIVE

/* posts a send; @hints are set one after the other, ended by -1 */
static void put_send(const struct duo *duo, struct efadv_qp *efa, const int *hints)
{
	struct ibv_qp_ex *qp = duo->a->ex;

	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	for (; *hints != -1; hints++)
		efadv_wr_set_processing_hints(efa, *hints);
	ibv_wr_set_ud_addr(qp, duo->to_b.ah, duo->to_b.qpn, duo->to_b.qkey);
	ibv_wr_set_inline_data(qp, NULL, 0);
}

#define HINTS(...)	((const int[]){ __VA_ARGS__, -1 })
#define NO_HINTS	((const int[]){ -1 })

static struct duo hinted_duo(uint64_t wr_flags)
{
	struct endpoint_options options = { .wr_flags = wr_flags };
	struct buffer *in;
	struct duo duo;

	if (!adapter_is_taken_over(self) && !endpoint_try(self, &options) && errno == EOPNOTSUPP &&
	    libefa_release() < 64)
		SKIP("libefa has no processing hints: that of rdma-core 64 has");
	duo = duo_new(&options);
	in = buffer_new(duo.b->pd, 64, IBV_ACCESS_LOCAL_WRITE);
	for (int i = 0; i < 8; i++)
		post_recv_one(duo.b, i, in, 0, 64);
	return duo;
}

/* posts what @sends say, and compares what the model saw */
static void expect_hints(const struct duo *duo, struct efadv_qp *efa, const int *const *sends,
			 unsigned int n, unsigned int hinted)
{
	struct model_stats before;

	model_stats(self->model, &before);
	ibv_wr_start(duo->a->ex);
	for (unsigned int i = 0; i < n; i++)
		put_send(duo, efa, sends[i]);
	CHECK_EQ(ibv_wr_complete(duo->a->ex), 0);
	cq_wait_many(duo->a->send_cq, n);
	CHECK_EQ(model_delta(self->model, &before, "wqe_hint1"), hinted);
	CHECK_EQ(model_delta(self->model, &before, "wqe_hint0"), n - hinted);
	CHECK_EQ(model_delta(self->model, &before, "wqe_hint2"), 0);
	CHECK_EQ(model_delta(self->model, &before, "wqe_hint3"), 0);
}

#define EXPECT_HINTS(duo, efa, hinted, ...)					\
	do {									\
		const int *const sends_[] = { __VA_ARGS__ };			\
										\
		expect_hints(duo, efa, sends_, sizeof(sends_) / sizeof(sends_[0]), hinted); \
	} while (0)

EFA_TEST(f41_hints_stay_in_their_request)
{
	struct duo duo = hinted_duo(EFADV_WR_EX_WITH_PROCESSING_HINTS);
	struct efadv_qp *efa = efadv_qp_from_ibv_qp_ex(duo.a->ex);

	need_model();
	REQUIRE(efa);
	EXPECT_HINTS(&duo, efa, 1, HINTS(BURST), NO_HINTS, NO_HINTS);
	EXPECT_HINTS(&duo, efa, 1, NO_HINTS, HINTS(BURST), NO_HINTS);
}

EFA_TEST(hints_set_twice_the_last_wins)
{
	struct duo duo = hinted_duo(EFADV_WR_EX_WITH_PROCESSING_HINTS);
	struct efadv_qp *efa = efadv_qp_from_ibv_qp_ex(duo.a->ex);

	need_model();
	EXPECT_HINTS(&duo, efa, 2, HINTS(0, BURST), HINTS(BURST, 0), HINTS(BURST, BURST));
}

EFA_TEST(f41_hints_of_unknown_bits_are_dropped)
{
	struct duo duo = hinted_duo(EFADV_WR_EX_WITH_PROCESSING_HINTS);
	struct efadv_qp *efa = efadv_qp_from_ibv_qp_ex(duo.a->ex);

	need_model();
	EXPECT_HINTS(&duo, efa, 1, HINTS(0x40000000 | BURST), HINTS(0x40000000), NO_HINTS);
}

EFA_TEST(f41_hints_on_a_qp_without_the_flag)
{
	struct duo duo = hinted_duo(0);
	struct efadv_qp *efa = efadv_qp_from_ibv_qp_ex(duo.a->ex);

	need_model();
	EXPECT_HINTS(&duo, efa, 0, HINTS(BURST), NO_HINTS);
	efadv_wr_set_processing_hints(NULL, BURST);
}

/* after ibv_wr_complete(): too late for the request that is gone, too early for the next */
EFA_TEST(hints_set_late)
{
	struct duo duo = hinted_duo(EFADV_WR_EX_WITH_PROCESSING_HINTS);
	struct efadv_qp *efa = efadv_qp_from_ibv_qp_ex(duo.a->ex);

	need_model();
	EXPECT_HINTS(&duo, efa, 0, NO_HINTS);
	efadv_wr_set_processing_hints(efa, BURST);
	EXPECT_HINTS(&duo, efa, 0, NO_HINTS);
}

/* nothing is written to a request that has failed, nor does it crash (F-41) */
EFA_TEST(f41_hints_after_an_error_in_the_block)
{
	struct duo duo = hinted_duo(EFADV_WR_EX_WITH_PROCESSING_HINTS);
	struct efadv_qp *efa = efadv_qp_from_ibv_qp_ex(duo.a->ex);

	need_model();
	ibv_wr_start(duo.a->ex);
	duo.a->ex->wr_flags = 0;	/* unsignalled: refused */
	ibv_wr_send(duo.a->ex);
	efadv_wr_set_processing_hints(efa, BURST);
	CHECK_EQ(ibv_wr_complete(duo.a->ex), EINVAL);
	EXPECT_HINTS(&duo, efa, 0, NO_HINTS);
}

/* ---- completions ------------------------------------------------------------------------------ */

EFA_TEST(f38_cq_calls_without_their_flags)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16 };
	struct efadv_cq_init_attr efa = { 0 };
	struct efadv_cq *cq;
	union ibv_gid gid;
	struct ibv_cq_ex *ex = efadv_create_cq(self->context, &attr, &efa, sizeof(efa));

	REQUIRE(ex);
	cq = efadv_cq_from_ibv_cq_ex(ex);
	CHECK_EQ(efadv_wc_read_sgid(cq, &gid), -EOPNOTSUPP);
	CHECK(!efadv_wc_is_unsolicited(cq));
	CHECK_EQ(efadv_wc_read_sgid(NULL, &gid), -EOPNOTSUPP);
	CHECK(!efadv_wc_is_unsolicited(NULL));
	CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
}

/* ---- the wrong device --------------------------------------------------------------------------- */

/* a device that is no EFA: rdma_rxe over the loopback interface, for as long as the test runs */
static int drop_rxe(void *unused)
{
	(void)unused;
	return system("rdma link delete dvq_rxe") ? EIO : 0;
}

static struct ibv_context *open_rxe(void)
{
	struct ibv_context *context = NULL;
	struct ibv_device **list;
	int n;

	if (system("modprobe rdma_rxe 2>/dev/null && "
		   "rdma link add dvq_rxe type rxe netdev lo 2>/dev/null"))
		SKIP("needs rdma_rxe and the right to add a link");
	lab_hold(drop_rxe, (void *)"dvq_rxe");
	list = ibv_get_device_list(&n);
	for (int i = 0; i < n && !context; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "dvq_rxe"))
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	LAB_NEED(context, "dvq_rxe is not among the devices");
	return context;
}

EFA_TEST(calls_on_the_wrong_device)
{
	struct ibv_context *context = open_rxe();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
		.cap = { 4, 4, 1, 1, 0 },
	};
	struct ibv_qp_init_attr_ex attr_ex = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_DRIVER,
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd,
	};
	struct efadv_qp_init_attr efa = { 0 };
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 4 };
	struct efadv_cq_init_attr efa_cq = { 0 };
	struct efadv_sq_depth_attr depth = { 0 };
	struct efadv_rq_depth_attr rq_depth = { 0 };
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);
	struct room room = room_new(), other = room_new();
	struct dvq_efa_sq sq;

	REQUIRE(pd && cq && qp);
	CHECK_EQ(efadv_query_qp_wqs(qp, &room.wq, &other.wq, sizeof(room.wq)), EOPNOTSUPP);
	CHECK_EQ(efadv_query_cq(cq, &room.cq, sizeof(room.cq)), EOPNOTSUPP);
	CHECK_EQ(efadv_query_device(context, &room.device, sizeof(room.device)), EOPNOTSUPP);
	expect_untouched(&room, 0);
	CHECK_EQ(efadv_get_max_sq_depth(context, &depth, sizeof(depth)), -EOPNOTSUPP);
	CHECK_EQ(efadv_get_max_rq_depth(context, &rq_depth, sizeof(rq_depth)), -EOPNOTSUPP);
	CHECK(!efadv_create_qp_ex(context, &attr_ex, &efa, sizeof(efa)) && errno == EOPNOTSUPP);
	CHECK(!efadv_create_driver_qp(pd, &attr, 0) && errno == EOPNOTSUPP);
	CHECK(!efadv_create_cq(context, &cq_attr, &efa_cq, sizeof(efa_cq)) &&
	      errno == EOPNOTSUPP);
	CHECK(!efadv_qp_from_ibv_qp_ex(NULL));
	CHECK_EQ(dvq_efa_sq_open(qp, &sq, sizeof(sq)), EOPNOTSUPP);
	CHECK(strlen(dvq_reason()) > 0);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
}

EFA_TEST_MAIN
