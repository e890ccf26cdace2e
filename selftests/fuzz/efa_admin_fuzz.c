// SPDX-License-Identifier: GPL-2.0
/*
 * A hostile driver of the EFA model: registers, rings of commands, and commands that are
 * right, nearly right or noise, on an adapter that was probed as it should be.
 */
#include "fuzz_efa.h"

#define AREA	(256ul << 10)	/* guest memory for rings and page lists */

struct game {
	struct fuzz *f;
	struct drv drv;
	struct fuzz_known known;
	uint64_t area;
};

static struct game game;

/* what a driver would send, with names of objects that may exist */
static void right_command(struct game *g, uint8_t opcode, uint8_t *cmd, uint8_t *flags)
{
	const uint32_t name = g->known.value[fuzz8(g->f) & 15];
	const uint64_t ring = g->area + (fuzz8(g->f) & 63ull) * TEST_PAGE;
	unsigned int depth = 16u << (fuzz8(g->f) & 3), subs = le16toh(g->drv.queue.sub_cqs_per_cq);

#define COMMAND(type) struct type *c = (void *)cmd
	switch (opcode) {
	case EFA_ADMIN_CREATE_QP: {
		COMMAND(efa_create_qp_cmd);

		c->qp_type = 1 + (name & 1);
		c->pd = htole16(g->drv.pd);
		c->uar = htole16(g->drv.uar);
		c->rq_base = htole64(ring);
		c->sq_depth = c->rq_depth = htole32(depth);
		c->sq_ring_size = htole32(depth * 64);
		c->rq_ring_size = htole32(depth * EFA_RX_DESC_SIZE);
		break;
	}
	case EFA_ADMIN_MODIFY_QP: {
		COMMAND(efa_modify_qp_cmd);
		uint8_t states = fuzz8(g->f);

		c->modify_mask = htole32(EFA_MODIFY_QP_STATE | EFA_MODIFY_QP_CUR_STATE |
					 (states & 0x0f ? 0 : EFA_MODIFY_QP_QKEY) |
					 (states == 0x32 ? EFA_MODIFY_QP_SQ_PSN : 0));
		c->qp_handle = htole32(name);
		c->qp_state = htole32(states >> 4 & 7);
		c->cur_qp_state = htole32(states & 7);
		break;
	}
	case EFA_ADMIN_CREATE_AH: {
		COMMAND(efa_create_ah_cmd);

		memcpy(c->dest_addr, g->drv.gid, sizeof(c->dest_addr));
		c->dest_addr[15] ^= name & 3;
		c->pd = htole16(g->drv.pd);
		break;
	}
	case EFA_ADMIN_DESTROY_AH: {
		COMMAND(efa_destroy_ah_cmd);

		c->ah = htole16(name);
		c->pd = htole16(g->drv.pd);
		break;
	}
	case EFA_ADMIN_REG_MR: {
		COMMAND(efa_reg_mr_cmd);
		unsigned int pages = fuzz8(g->f);

		c->pd = htole16(g->drv.pd);
		c->length = htole64(pages * TEST_PAGE);
		c->flags = 12;
		c->permissions = EFA_MR_LOCAL_WRITE;
		c->iova = htole64(0x7f0000000000);
		if (pages <= EFA_REG_MR_INLINE_PAGES) {
			for (unsigned int i = 0; i < pages; i++)
				c->u.pages[i] = htole64(g->area + i * TEST_PAGE);
			break;
		}
		c->u.list.length = htole32(8 * pages);
		c->u.list.addr_lo = htole32(ring);
		c->u.list.addr_hi = htole32(ring >> 32);
		*flags |= EFA_AQ_CTRL_DATA;
		break;
	}
	case EFA_ADMIN_CREATE_CQ: {
		COMMAND(efa_create_cq_cmd);

		c->caps2 = name & 1 ? EFA_CQE_SIZE / 4 : EFA_CQE_SIZE_EX / 4;
		c->sub_cq_depth = htole16(depth);
		c->base_lo = htole32(ring);
		c->base_hi = htole32(ring >> 32);
		c->num_sub_cqs = htole16(subs);
		c->uar = htole16(g->drv.uar);
		break;
	}
	case EFA_ADMIN_CREATE_EQ: {
		COMMAND(efa_create_eq_cmd);

		c->depth = htole16(depth);
		c->vector = 1;
		c->caps = EFA_EQE_SIZE / 4;
		c->event_bitmask = htole32(EFA_EQ_EVENT_COMPLETION);
		c->base_lo = htole32(ring);
		c->base_hi = htole32(ring >> 32);
		break;
	}
	default: {
		uint32_t word = htole32(name);

		/* most of the others begin with what they are about */
		memcpy(cmd + 4, &word, sizeof(word));
	}
	}
#undef COMMAND
}

static void command(struct game *g)
{
	uint8_t cmd[64] = { 0 }, how = fuzz8(g->f), flags = 0;
	uint8_t opcode = how & 0x1f;

	if (how & 0x20)
		fuzz_bytes(g->f, cmd + 4, fuzz8(g->f) % 61);
	else
		right_command(g, opcode, cmd, &flags);
	if (how & 0x40)
		fuzz_spoil(g->f, cmd, sizeof(cmd), &g->known);
	if (how & 0x80)
		flags = fuzz8(g->f);
	drv_submit(&g->drv, cmd, sizeof(cmd), opcode, flags & ~EFA_AQ_PHASE);
}

/* answers are taken, and what they name is learned */
static void answers(struct game *g)
{
	struct efa_acq_entry resp;
	uint32_t words[2];

	test_run();
	for (unsigned int i = 0; i < DRV_AQ_DEPTH && drv_answer(&g->drv, &resp); i++) {
		memcpy(words, resp.body, sizeof(words));
		if (resp.hdr.status || !words[0])
			continue;
		fuzz_learn(&g->known, words[0]);
		fuzz_learn(&g->known, words[1]);
	}
}

static void act(struct game *g)
{
	switch (fuzz8(g->f) % 16) {
	case 0:
	case 1:
		fuzz_access(g->f, g->drv.dev, &g->known);
		break;
	case 2:
		drv_write(&g->drv, (fuzz8(g->f) & 31) * 4, fuzz_number(g->f, &g->known));
		break;
	case 3:
		fuzz_scribble(g->f, &g->drv.host, &g->known);
		break;
	case 4:
		fuzz_inject(g->f, g->drv.dev);
		break;
	case 5:
		test_run_ms(fuzz8(g->f));
		break;
	case 6:
		g->drv.host.failing = fuzz8(g->f) & 1;
		break;
	case 7:
		drv_reset(&g->drv, fuzz8(g->f) & 15);
		drv_start_queues(&g->drv);
		break;
	case 8:
		command(g);
		break;
	default:
		command(g);
		answers(g);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { data, data + size };

	memset(&game, 0, sizeof(game));
	game.f = &f;
	drv_open(&game.drv, "efa", efa_options_of(&f));
	game.area = test_alloc(&game.drv.host, AREA, TEST_PAGE);
	fuzz_learn(&game.known, game.area);
	fuzz_learn(&game.known, game.drv.aq);
	fuzz_learn(&game.known, game.drv.acq);
	fuzz_learn(&game.known, game.drv.resp);
	while (fuzz_left(&f))
		act(&game);
	efa_recovers(&game.drv);
	test_host_close(&game.drv.host);
	return 0;
}
