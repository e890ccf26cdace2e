// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile drivers of two ionic models on one cable: device commands, the admin queue, and
 * Ethernet queues that were made as they should be; right, nearly right or noise.
 */
#include <endian.h>

#include <hw/field.h>
#include "fuzz_model.h"
#include "test_ionic.h"

/* few objects: making and forgetting tables is most of what an input costs */
#define SMALL	" qps=64 mrs=64 ahs=64 page_table=64"

static const char *const options[] = {
	"mode=fast" SMALL, "mode=strict" SMALL, "profile=ethernet", "profile=giglio" SMALL,
	"queues=2 filters=3" SMALL, "features=0" SMALL, "notifyq=0 rdma=0",
	"dbpages=8 hw_lif=1" SMALL,
};

static struct nic nics[2];
static struct fuzz_known known;

static void device_command(struct fuzz *f, struct nic *nic)
{
	static const uint8_t opcodes[] = {
		0, 1, 2, 10, 11, 12, 14, 20, 21, 22, 39, 40, 50, 61, 62, 80, 252, 253,
	};
	uint8_t req[IONIC_REQ_SIZE] = { 0 }, how = fuzz8(f);

	req[0] = how & 0x80 ? fuzz8(f) : opcodes[(how & 31) % sizeof(opcodes)];
	if (how & 0x40)
		fuzz_bytes(f, req + 1, fuzz8(f) & 31);
	fuzz_spoil(f, req, sizeof(req), &known);
	nic_devcmd(nic, req);
}

/* what a driver would send to the admin queue */
static void right_command(struct fuzz *f, struct nic *nic, uint8_t *bytes)
{
	const unsigned int number = fuzz8(f);
	struct nic_queue q = number & 1 ? nic->rx : nic->tx;

#define REQUEST(type) struct type *req = (void *)bytes
	switch (bytes[0]) {
	case IONIC_OP_Q_INIT: {
		struct ionic_q_init_req init;

		q.index = number >> 4;
		init = nic_queue_req(&q);
		memcpy(bytes, &init, sizeof(init));
		break;
	}
	case IONIC_OP_Q_CONTROL: {
		REQUEST(ionic_q_control_req);

		req->type = q.type;
		req->index = htole32(number >> 4);
		req->oper = number >> 2 & 3;
		break;
	}
	case IONIC_OP_LIF_SETATTR:
	case IONIC_OP_LIF_GETATTR:
		bytes[1] = number & 7;
		if (bytes[1] == IONIC_LIF_ATTR_RSS) {
			REQUEST(ionic_lif_setattr_req);

			req->value.rss.types = htole16(number);
			req->value.rss.table_addr = htole64(nic->lif_info);
		} else {
			fuzz_bytes(f, bytes + 4, 8);
		}
		break;
	case IONIC_OP_RX_MODE_SET:
		bytes[4] = number;
		break;
	case IONIC_OP_RX_FILTER_ADD: {
		REQUEST(ionic_filter_add_req);

		req->match = htole16(number & 3);
		memcpy(req->value.mac, nic_mac(nic), 6);
		req->value.mac[5] ^= number >> 2;
		break;
	}
	case IONIC_OP_RX_FILTER_DEL:
		bytes[4] = number;
	}
#undef REQUEST
}

static void admin_command(struct fuzz *f, struct nic *nic)
{
	static const uint8_t opcodes[] = { 0, 23, 24, 25, 30, 31, 32, 40, 41, 50, 51, 52, 53 };
	uint8_t req[IONIC_REQ_SIZE] = { 0 }, how = fuzz8(f);

	req[0] = how & 0x80 ? fuzz8(f) : opcodes[(how & 15) % sizeof(opcodes)];
	if (how & 0x40)
		fuzz_bytes(f, req + 1, fuzz8(f) & 63);
	else
		right_command(f, nic, req);
	if (how & 0x20)
		fuzz_spoil(f, req, sizeof(req), &known);
	nic_admin_post(nic, req);
	if (how & 0x10)
		return;
	nic_admin_ring(nic);
	test_run();
	while (nic_admin_answer(nic, NULL) != NIC_NO_ANSWER)
		;
}

/* a frame that may cause anything, with a list of pieces that may be anywhere */
static void transmit(struct fuzz *f, struct nic *nic, struct nic *to)
{
	struct nic_queue *q = &nic->tx;
	unsigned int at = q->posted;
	struct ionic_tx_desc *desc = test_mem(&nic->host, q->ring + at * sizeof(*desc),
					      sizeof(*desc));
	struct ionic_sg *sg = test_mem(&nic->host, q->sg + at * IONIC_TX_SG_SLOT,
				       IONIC_TX_SG_SLOT);
	uint8_t how = fuzz8(f), frame[NIC_FRAME];
	unsigned int pieces = how & 0x20 ? fuzz8(f) & 15 : 0;

	nic_frame(frame, nic_mac(to), nic_mac(nic), how);
	if (how & 0x10)
		fuzz_bytes(f, frame + 12, fuzz8(f) & 31);
	for (unsigned int i = 0; i < pieces; i++)
		sg[i] = (struct ionic_sg){
			.addr = htole64(q->buffers + fuzz8(f)), .len = htole16(fuzz16(f) & 2047),
		};
	nic_post(nic, frame, sizeof(frame));
	desc->cmd |= htole64(HW_PREP(IONIC_TX_OPCODE, (uint64_t)how & 3) |
			     HW_PREP(IONIC_TX_NSG, (uint64_t)pieces) |
			     HW_PREP(IONIC_TX_FLAGS, (uint64_t)how >> 2 & 3));
	if (how & 3) {
		desc->csum_start = htole16(fuzz8(f));
		desc->csum_offset = htole16(fuzz16(f));
	}
	if (how & 0x40)
		fuzz_spoil(f, desc, sizeof(*desc), &known);
	if (how & 0x80)
		fuzz_spoil(f, sg, 64, &known);
}

static void buffers(struct fuzz *f, struct nic *nic)
{
	struct nic_queue *q = &nic->rx;
	unsigned int at = fuzz8(f) & ((1u << q->log2) - 1);
	uint8_t *desc = test_mem(&nic->host, q->ring + at * sizeof(struct ionic_rx_desc),
				 sizeof(struct ionic_rx_desc));
	uint8_t *sg = test_mem(&nic->host, q->sg + at * IONIC_RX_SG_SLOT, IONIC_RX_SG_SLOT);

	fuzz_spoil(f, desc, sizeof(struct ionic_rx_desc), &known);
	fuzz_spoil(f, sg, 64, &known);
	q->posted = at;
	nic_queue_ring(q);
}

static void doorbell(struct fuzz *f, struct nic *nic)
{
	uint8_t how = fuzz8(f);

	nic_ring(nic, how >> 4 & 1, how & 7, fuzz_number(f, &known));
}

static void receive(struct nic *nic)
{
	size_t len;

	test_run();
	for (unsigned int i = 0; i < 64 && nic_receive(nic, &len); i++)
		;
	for (unsigned int i = 0; i < 64 && nic_queue_take(&nic->tx); i++)
		;
}

static void act(struct fuzz *f)
{
	uint8_t what = fuzz8(f);
	struct nic *nic = &nics[what >> 7], *other = &nics[!(what >> 7)];

	switch (what & 15) {
	case 0:
		fuzz_access(f, nic->dev, &known);
		break;
	case 1:
	case 2:
		device_command(f, nic);
		break;
	case 3:
		doorbell(f, nic);
		break;
	case 4:
		test_run_ms(fuzz8(f));
		break;
	case 5:
		fuzz_scribble(f, &nic->host, &known);
		break;
	case 6:
		fuzz_inject(f, nic->dev);
		break;
	case 7:
		nic->dev->ops->link(nic->dev, fuzz8(f) & 1);
		break;
	case 8:
		nic->host.failing = fuzz8(f) & 1;
		break;
	case 9:
		buffers(f, nic);
		break;
	case 10:
		receive(nic);
		break;
	case 11:
	case 12:
		transmit(f, nic, other);
		break;
	default:
		admin_command(f, nic);
	}
}

static void open_one(struct nic *nic, const char *name, const char *with)
{
	nic_open(nic, name, with);
	nic_up(nic);
	fuzz_learn(&known, nic->rx.ring);
	fuzz_learn(&known, nic->tx.ring);
	fuzz_learn(&known, nic->rx.sg);
	fuzz_learn(&known, nic->admin.ring);
	fuzz_learn(&known, nic->lif_info);
	fuzz_learn(&known, nic->tx.buffers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { data, data + size };
	const char *with = options[fuzz8(&f) % (sizeof(options) / sizeof(options[0]))];

	memset(&known, 0, sizeof(known));
	open_one(&nics[0], "a", with);
	open_one(&nics[1], "b", with);
	while (fuzz_left(&f))
		act(&f);
	/* from wherever they are to working adapters: each step must succeed */
	for (unsigned int i = 0; i < 2; i++)
		fuzz_calm(&nics[i].host, 20);
	for (unsigned int i = 0; i < 2; i++) {
		nic_start(&nics[i]);
		nic_up(&nics[i]);
	}
	nic_close(&nics[0]);
	nic_close(&nics[1]);
	return 0;
}
