// SPDX-License-Identifier: GPL-2.0
/*
 * Two guests that do not know what they are doing: random accesses to all BARs,
 * random commands, work requests and frames. What comes of it is of no interest,
 * as long as the model stays within its memory and comes to rest; the sanitizers
 * watch. IONIC_FUZZ_SEED gives another seed.
 */
#include <stdlib.h>

#include "dice.h"
#include "tap.h"
#include "test_pair.h"

#define ROUNDS	3000

static uint64_t state;

static uint32_t rnd(void)
{
	return dice(&state);
}

static uint32_t below(uint32_t n)
{
	return rnd() % n;
}

static uint64_t rnd64(void)
{
	return (uint64_t)rnd() << 33 | (uint64_t)rnd() << 2 | below(4);
}

/* small numbers, bits and pages of memory are more interesting than noise */
static uint64_t number(struct rnic *rnic)
{
	switch (below(5)) {
	case 0:
		return below(16);
	case 1:
		return 1ull << below(64);
	case 2:
		return rnic->aq_ring + below(64) * 4096ull;
	case 3:
		return rnic->nic.lif_info;
	default:
		return rnd64();
	}
}

static void access_bar(struct rnic *rnic)
{
	static const unsigned int bars[] = { 0, 0, 2, 4 };
	unsigned int bar = bars[below(4)], size = 1u << below(4);
	struct model_device *dev = rnic->nic.dev;
	uint64_t off;

	if (!dev->bar[bar].size)
		return;
	off = rnd64() % dev->bar[bar].size & ~(uint64_t)(size - 1);
	if (bar == 0 && off >= IONIC_MSIX_TABLE)
		return;		/* these never reach the device */
	if (below(4))
		dev->ops->bar_write(dev, bar, off, size,
				    number(rnic) & (UINT64_MAX >> (64 - 8 * size)));
	else if (bar != 2)
		dev->ops->bar_read(dev, bar, off, size);
}

/* fields of a block of bytes are replaced, more of them the less sane the caller wants it */
static void spoil(struct rnic *rnic, void *data, size_t len, unsigned int fields)
{
	uint8_t *bytes = data;

	while (fields--) {
		size_t size = 1ul << below(4);
		uint64_t value = number(rnic);

		if (size > len)
			continue;
		memcpy(bytes + below(len - size + 1), &value, size);
	}
}

static void admin_command(struct rnic *rnic)
{
	static const uint8_t opcodes[] = { 0, 23, 24, 30, 31, 32, 40, 41, 50, 51, 52, 53, 99 };
	uint8_t req[IONIC_REQ_SIZE] = { opcodes[below(sizeof(opcodes))] };

	/* a reset now and then is enough */
	if (req[0] == IONIC_OP_RDMA_RESET && below(20))
		return;
	spoil(rnic, req + 1, sizeof(req) - 1, below(6));
	nic_admin_post(&rnic->nic, req);
	nic_admin_ring(&rnic->nic);
}

static void device_command(struct rnic *rnic)
{
	static const uint8_t opcodes[] = { 0, 1, 2, 10, 11, 12, 14, 20, 21, 39, 40, 80, 252, 61 };
	uint8_t req[IONIC_REQ_SIZE] = { opcodes[below(sizeof(opcodes))] };

	spoil(rnic, req + 1, sizeof(req) - 1, below(6));
	nic_devcmd(&rnic->nic, req);
}

/* commands as they should be, with some fields that are not */
static void rdma_command(struct rnic *rnic, struct rqp *qp, struct rcq *cq, struct rmr *mr)
{
	union raq_command cmd = { .bytes = { 0 } };
	unsigned int op = below(IONIC_AQ_OPS), size = raq_size(op);

	if (op == IONIC_AQ_CREATE_CQ)
		cmd.cq = rcq_command(cq, 2);
	else if (op == IONIC_AQ_CREATE_QP)
		cmd.qp = rqp_command(qp);
	else if (op == IONIC_AQ_CREATE_MR)
		cmd.mr = rmr_command(mr, RNIC_ALL_ACCESS);
	else if (op == IONIC_AQ_MODIFY_QP)
		cmd.modify = rqp_modify_command(qp, 1u << below(26) | 1, below(7));
	/* the numbers of destroyed objects are small */
	if (size == sizeof(cmd.destroy))
		cmd.destroy.id = htole32(below(8));
	else
		spoil(rnic, cmd.bytes + 4, size - 4, below(4));
	raq_post(rnic, &cmd, op, below(50) ? size : 4 + below(100));
	raq_ring(rnic);
}

static void work_request(struct rnic *rnic, struct rqp *qp, struct rmr *mr, struct rmr *remote)
{
	static const uint8_t opcodes[] = {
		0x20, 0xa0, 0x60, 0x02, 0x21, 0x61, 0x04, 0x05, 0x06, 0x07, 0x08, 0x33,
	};
	struct ionic_wqe_send *wqe;

	if (below(2)) {
		wqe = rqp_recv_slot(qp);
		wqe->header.num_sge = 1;
		wqe->header.imm_key_length = htobe32(1000);
		*(struct ionic_sge *)(wqe + 1) = rsge(mr, below(5000), 1000);
		spoil(rnic, wqe, 64, below(10) ? 0 : 3);
		rqp_received(qp);
		rqp_ring_recv(qp);
		return;
	}
	wqe = rqp_begin(qp, 0, opcodes[below(sizeof(opcodes))], mr, below(5000), below(20000));
	if (below(8))
		rwqe_remote(wqe, remote, below(5000));
	spoil(rnic, wqe, 128, below(5) ? 0 : 3);
	rqp_end(qp);
}

static void frame(struct rnic *from, struct rnic *to)
{
	uint8_t bytes[300] = { 0 };

	rnic_template(from, to, bytes);
	bytes[RNIC_HDR_LEN - 4] = 0;
	bytes[RNIC_HDR_LEN - 3] = 100;
	bytes[RNIC_HDR_LEN] = below(32) | below(4) << 5;
	bytes[RNIC_HDR_LEN + 2] = bytes[RNIC_HDR_LEN + 3] = 0xff;
	bytes[RNIC_HDR_LEN + 7] = below(5);
	bytes[RNIC_HDR_LEN + 11] = rnd();
	spoil(from, bytes + RNIC_HDR_LEN + 4, 100, 3);
	if (!below(4))
		spoil(from, bytes, 80, 2);
	fabric_send(&ionic_of(from->nic.dev)->net, nic_mac(&to->nic), bytes, 20 + below(280));
}

/* queues that are alive again, so that there is something to spoil */
static void revive(void)
{
	nic_close(&b.nic);
	nic_close(&a.nic);
	open_both(below(2) ? "mode=strict" : "mode=fast reorder=2");
}

static void round_of(struct rnic *rnic, struct rnic *other, struct rqp *qp, struct rcq *cq,
		     struct rmr *mr, struct rmr *remote)
{
	switch (below(8)) {
	case 0:
		access_bar(rnic);
		break;
	case 1:
		admin_command(rnic);
		break;
	case 2:
		device_command(rnic);
		break;
	case 3:
		rdma_command(rnic, qp, cq, mr);
		break;
	case 4:
		frame(rnic, other);
		break;
	default:
		work_request(rnic, qp, mr, remote);
	}
}

TEST(nonsense)
{
	const char *seed = getenv("IONIC_FUZZ_SEED");

	state = seed ? strtoull(seed, NULL, 0) : 1;
	open_both("");
	for (unsigned int i = 0; i < ROUNDS; i++) {
		round_of(&a, &b, &aqp, &acq, &amr, &bmr);
		round_of(&b, &a, &bqp, &bcq, &bmr, &amr);
		test_run_ms(below(3));
		model_violations_clear(a.nic.dev);
		model_violations_clear(b.nic.dev);
		while (rcq_take(&acq))
			;
		while (rcq_take(&bcq))
			;
		if (!below(40))
			revive();
	}
	/* after all that they work as on the first day */
	revive();
	rqp_recv(&bqp, &bmr, 0, 100);
	rqp_send(&aqp, &amr, 0, 100);
	test_run();
	check_received(&bqp, IONIC_RECV_SEND, 100);
	check_sent(&aqp, 1);
	close_both();
}

TAP_MAIN
