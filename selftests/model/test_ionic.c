// SPDX-License-Identifier: GPL-2.0
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hw/field.h>
#include "ionic.h"
#include "test_ionic.h"

#define COMP_SIZE	16

/* ---- adapter ---------------------------------------------------------------------- */

void nic_plug(struct nic *nic, const char *name, const char *options)
{
	memset(nic, 0, sizeof(*nic));
	nic->dev = test_device(&ionic_type, name, options);
	MUST(nic->dev);
	test_host_open(&nic->host, nic->dev);
	nic->port_info = test_alloc(&nic->host, TEST_PAGE, TEST_PAGE);
	nic->lif_info = test_alloc(&nic->host, TEST_PAGE, TEST_PAGE);
}

static void identify(struct nic *nic)
{
	struct ionic_driver_identity driver = { .os_type = htole32(IONIC_OS_LINUX) };

	nic_data_write(nic, &driver, sizeof(driver));
	MUST(!nic_simple(nic, IONIC_OP_IDENTIFY, IONIC_IDENTIFY_VERSION, 0));
	nic_data_read(nic, &nic->device, sizeof(nic->device));
	MUST(!nic_simple(nic, IONIC_OP_LIF_IDENTIFY, 0, IONIC_LIF_IDENTIFY_VERSION));
	nic_data_read(nic, &nic->lif, sizeof(nic->lif));
}

static void start_port(struct nic *nic)
{
	struct ionic_port_init_req init = {
		.opcode = IONIC_OP_PORT_INIT, .info_addr = htole64(nic->port_info),
	};
	struct ionic_port_setattr_req up = {
		.opcode = IONIC_OP_PORT_SETATTR, .attr = IONIC_PORT_ATTR_STATE,
		.value.byte = IONIC_PORT_UP,
	};
	struct ionic_port_identity identity;

	MUST(!nic_simple(nic, IONIC_OP_PORT_IDENTIFY, 0, 0));
	nic_data_read(nic, &identity, sizeof(identity));
	nic_data_write(nic, &identity.config, sizeof(identity.config));
	MUST(!nic_devcmd(nic, &init));
	MUST(!nic_devcmd(nic, &up));
}

static void start_lif(struct nic *nic)
{
	struct ionic_lif_init_req init = {
		.opcode = IONIC_OP_LIF_INIT, .info_addr = htole64(nic->lif_info),
	};
	struct ionic_lif_init_resp resp;

	MUST(!nic_devcmd(nic, &init));
	nic_devcmd_resp(nic, &resp);
	nic->hw_lif = le16toh(resp.hw_lif);
}

static void start_queues(struct nic *nic)
{
	struct nic_queue notify = { 0 };
	struct ionic_q_init_req req;

	nic_queue_alloc(nic, &nic->admin, IONIC_Q_ADMIN, 0, NIC_ADMIN_LOG2);
	MUST(!nic_queue_init(&nic->admin));
	nic_intr_set(nic, 0, IONIC_INTR_MASK_ASSERT, 1);
	nic_intr_set(nic, 0, IONIC_INTR_MASK, 0);
	if (!nic->lif.eth.config.queues[IONIC_Q_NOTIFY])
		return;
	nic_queue_alloc(nic, &notify, IONIC_Q_NOTIFY, 0, NIC_NOTIFY_LOG2);
	req = nic_queue_req(&notify);
	MUST(!nic_admin(nic, &req, NULL));
	nic->notify = notify.ring;
	nic->event_id = 0;
}

static void ask_for_features(struct nic *nic)
{
	struct ionic_lif_setattr_req req = {
		.opcode = IONIC_OP_LIF_SETATTR, .attr = IONIC_LIF_ATTR_FEATURES,
		.value.features = htole64(0x1ffb7),
	};

	MUST(!nic_admin(nic, &req, NULL));
}

void nic_start(struct nic *nic)
{
	MUST(!nic_simple(nic, IONIC_OP_RESET, 0, 0));
	identify(nic);
	MUST(!nic_simple(nic, IONIC_OP_INIT, 0, 0));
	start_port(nic);
	start_lif(nic);
	start_queues(nic);
	ask_for_features(nic);
}

void nic_open(struct nic *nic, const char *name, const char *options)
{
	nic_plug(nic, name, options);
	nic_start(nic);
}

void nic_up(struct nic *nic)
{
	uint32_t id;

	nic_queue_alloc(nic, &nic->rx, IONIC_Q_RX, 0, NIC_RING_LOG2);
	nic_queue_alloc(nic, &nic->tx, IONIC_Q_TX, 0, NIC_RING_LOG2);
	MUST(!nic_queue_init(&nic->tx));
	MUST(!nic_queue_init(&nic->rx));
	MUST(!nic_filter_add(nic, nic_mac(nic), &id));
	MUST(!nic_rx_mode(nic, IONIC_RX_UNICAST | IONIC_RX_MULTICAST | IONIC_RX_BROADCAST));
	nic_fill(&nic->rx);
	MUST(!nic_queue_control(&nic->rx, IONIC_Q_ENABLE));
	MUST(!nic_queue_control(&nic->tx, IONIC_Q_ENABLE));
	nic_intr_set(nic, 1, IONIC_INTR_MASK_ASSERT, 1);
	nic_intr_set(nic, 1, IONIC_INTR_MASK, 0);
}

void nic_close(struct nic *nic)
{
	test_host_close(&nic->host);
}

const char *nic_violation(struct nic *nic)
{
	static char text[512];

	snprintf(text, sizeof(text), "%s",
		 nic->dev->violations > 1 ? "more than one violation" :
		 nic->dev->violations ? nic->dev->violation_text[0] : "");
	model_violations_clear(nic->dev);
	return text;
}

/* ---- registers -------------------------------------------------------------------- */

uint64_t nic_get(struct nic *nic, uint64_t off, unsigned int size)
{
	return nic->dev->ops->bar_read(nic->dev, IONIC_BAR_REGS, off, size);
}

void nic_set(struct nic *nic, uint64_t off, unsigned int size, uint64_t value)
{
	nic->dev->ops->bar_write(nic->dev, IONIC_BAR_REGS, off, size, value);
}

uint32_t nic_intr_get(struct nic *nic, unsigned int index, unsigned int reg)
{
	return nic_get(nic, IONIC_REG_INTR(index) + reg, 4);
}

void nic_intr_set(struct nic *nic, unsigned int index, unsigned int reg, uint32_t value)
{
	nic_set(nic, IONIC_REG_INTR(index) + reg, 4, value);
}

void nic_ring(struct nic *nic, unsigned int pid, unsigned int type, uint64_t value)
{
	uint64_t page = (uint64_t)nic->hw_lif * le32toh(nic->device.dbpages_per_lif) + pid;

	nic->dev->ops->bar_write(nic->dev, IONIC_BAR_DOORBELLS,
				 page * TEST_PAGE + IONIC_DB_STRIDE * type, 8, value);
}

/* ---- commands --------------------------------------------------------------------- */

/* block copies are 32-bit accesses */
static void write_words(struct nic *nic, uint64_t off, const void *data, size_t len)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < len; i += 4) {
		uint32_t word = 0;

		memcpy(&word, bytes + i, len - i < 4 ? len - i : 4);
		nic_set(nic, off + i, 4, word);
	}
}

static void read_words(struct nic *nic, uint64_t off, void *data, size_t len)
{
	uint8_t *bytes = data;

	for (size_t i = 0; i < len; i += 4) {
		uint32_t word = nic_get(nic, off + i, 4);

		memcpy(bytes + i, &word, len - i < 4 ? len - i : 4);
	}
}

void nic_write_req(struct nic *nic, const void *req)
{
	write_words(nic, IONIC_REG_DEVCMD_REQ, req, IONIC_REQ_SIZE);
}

int nic_devcmd(struct nic *nic, const void *req)
{
	static const uint8_t zero[IONIC_REQ_SIZE];
	int status;

	nic_write_req(nic, req);
	nic_set(nic, IONIC_REG_DEVCMD_DONE, 4, 0);
	nic_set(nic, IONIC_REG_DEVCMD_DOORBELL, 4, 1);
	test_run();
	if (!(nic_get(nic, IONIC_REG_DEVCMD_DONE, 4) & IONIC_DEVCMD_DONE_BIT))
		return NIC_NO_ANSWER;
	status = nic_get(nic, IONIC_REG_DEVCMD_RESP, 1);
	if (!status) {
		nic_set(nic, IONIC_REG_DEVCMD_DOORBELL, 4, 0);
		nic_write_req(nic, zero);
	}
	return status;
}

void nic_devcmd_resp(struct nic *nic, void *resp)
{
	read_words(nic, IONIC_REG_DEVCMD_RESP, resp, IONIC_RESP_SIZE);
}

void nic_data_read(struct nic *nic, void *data, size_t len)
{
	read_words(nic, IONIC_REG_DEVCMD_DATA, data, len);
}

void nic_data_write(struct nic *nic, const void *data, size_t len)
{
	write_words(nic, IONIC_REG_DEVCMD_DATA, data, len);
}

int nic_simple(struct nic *nic, unsigned int opcode, uint8_t byte1, uint8_t byte2)
{
	uint8_t req[IONIC_REQ_SIZE] = { opcode, byte1, byte2 };

	return nic_devcmd(nic, req);
}

void nic_admin_post(struct nic *nic, const void *req)
{
	struct nic_queue *q = &nic->admin;

	memcpy(test_mem(&nic->host, q->ring + q->posted * IONIC_REQ_SIZE, IONIC_REQ_SIZE), req,
	       IONIC_REQ_SIZE);
	q->posted = (q->posted + 1) & ((1u << q->log2) - 1);
}

void nic_admin_ring(struct nic *nic)
{
	nic_queue_ring(&nic->admin);
}

int nic_admin_answer(struct nic *nic, void *resp)
{
	const struct ionic_resp *answer = nic_queue_take(&nic->admin);

	if (!answer)
		return NIC_NO_ANSWER;
	if (resp)
		memcpy(resp, answer, sizeof(*answer));
	return answer->status;
}

int nic_admin(struct nic *nic, const void *req, void *resp)
{
	nic_admin_post(nic, req);
	nic_admin_ring(nic);
	test_run();
	return nic_admin_answer(nic, resp);
}

/* ---- queues ----------------------------------------------------------------------- */

static size_t desc_size(unsigned int type)
{
	return type == IONIC_Q_ADMIN ? IONIC_REQ_SIZE : 16;
}

void nic_queue_alloc(struct nic *nic, struct nic_queue *q, unsigned int type, unsigned int index,
		     unsigned int log2)
{
	size_t depth = 1ul << log2;

	*q = (struct nic_queue){ .nic = nic, .type = type, .index = index, .log2 = log2 };
	q->color = IONIC_COMP_COLOR;
	if (type == IONIC_Q_NOTIFY) {
		q->ring = test_alloc_apart(&nic->host, IONIC_NOTIFY_EVENTS +
					   depth * sizeof(struct ionic_notify_event));
		return;
	}
	q->ring = test_alloc_apart(&nic->host, depth * desc_size(type));
	q->cq = test_alloc_apart(&nic->host, depth * COMP_SIZE);
	if (type == IONIC_Q_ADMIN)
		return;
	q->intr = 1;
	q->sg = test_alloc_apart(&nic->host, depth * (type == IONIC_Q_TX ? IONIC_TX_SG_SLOT :
						      IONIC_RX_SG_SLOT));
	q->buffers = test_alloc_apart(&nic->host, depth * NIC_BUFFER);
}

struct ionic_q_init_req nic_queue_req(const struct nic_queue *q)
{
	return (struct ionic_q_init_req){
		.opcode = IONIC_OP_Q_INIT, .type = q->type,
		.version = q->type == IONIC_Q_TX, .index = htole32(q->index),
		.intr = htole16(q->intr), .size_log2 = q->log2,
		.flags = htole16(IONIC_Q_IRQ | (q->type <= IONIC_Q_NOTIFY ? IONIC_Q_ENABLED :
						IONIC_Q_SG)),
		.ring_addr = htole64(q->ring), .cq_addr = htole64(q->cq),
		.sg_addr = htole64(q->sg),
	};
}

int nic_queue_init(struct nic_queue *q)
{
	struct ionic_q_init_req req = nic_queue_req(q);

	q->posted = q->comp = 0;
	q->color = IONIC_COMP_COLOR;
	if (q->cq)
		memset(test_mem(&q->nic->host, q->cq, COMP_SIZE << q->log2), 0,
		       COMP_SIZE << q->log2);
	if (q->type == IONIC_Q_ADMIN)
		return nic_devcmd(q->nic, &req);
	return nic_admin(q->nic, &req, NULL);
}

int nic_queue_control(struct nic_queue *q, unsigned int oper)
{
	struct ionic_q_control_req req = {
		.opcode = IONIC_OP_Q_CONTROL, .type = q->type, .index = htole32(q->index),
		.oper = oper,
	};

	return nic_admin(q->nic, &req, NULL);
}

void nic_queue_ring(struct nic_queue *q)
{
	nic_ring(q->nic, 0, q->type,
		 HW_PREP(IONIC_DB_QID, (uint64_t)q->index) |
		 HW_PREP(IONIC_DB_INDEX, (uint64_t)q->posted));
}

const void *nic_queue_take(struct nic_queue *q)
{
	const uint8_t *comp = test_mem(&q->nic->host, q->cq + q->comp * COMP_SIZE, COMP_SIZE);

	if ((comp[COMP_SIZE - 1] & IONIC_COMP_COLOR) != q->color)
		return NULL;
	q->comp = (q->comp + 1) & ((1u << q->log2) - 1);
	if (!q->comp)
		q->color ^= IONIC_COMP_COLOR;
	return comp;
}

static void post_buffer(struct nic_queue *q)
{
	struct ionic_rx_desc *desc = test_mem(&q->nic->host, q->ring + q->posted * sizeof(*desc),
					      sizeof(*desc));

	*desc = (struct ionic_rx_desc){
		.len = htole16(NIC_BUFFER),
		.addr = htole64(q->buffers + q->posted * NIC_BUFFER),
	};
	q->posted = (q->posted + 1) & ((1u << q->log2) - 1);
}

void nic_fill(struct nic_queue *q)
{
	for (unsigned int i = 0; i < (1u << q->log2) - 1; i++)
		post_buffer(q);
	nic_queue_ring(q);
}

const struct ionic_notify_event *nic_event(struct nic *nic)
{
	uint64_t slot = nic->event_id % (1u << NIC_NOTIFY_LOG2);
	const struct ionic_notify_event *event =
		test_mem(&nic->host, nic->notify + IONIC_NOTIFY_EVENTS + slot * sizeof(*event),
			 sizeof(*event));

	if ((int64_t)(le64toh(event->id) - nic->event_id) <= 0)
		return NULL;
	nic->event_id = le64toh(event->id);
	return event;
}

/* ---- frames ----------------------------------------------------------------------- */

const uint8_t *nic_mac(const struct nic *nic)
{
	return nic->lif.eth.config.mac;
}

int nic_filter_add(struct nic *nic, const uint8_t *mac, uint32_t *id)
{
	struct ionic_filter_add_req req = {
		.opcode = IONIC_OP_RX_FILTER_ADD, .match = htole16(IONIC_FILTER_MAC),
	};
	struct ionic_filter_add_resp resp = { 0 };
	int status;

	memcpy(req.value.mac, mac, IONIC_MAC_SIZE);
	status = nic_admin(nic, &req, &resp);
	*id = le32toh(resp.filter);
	return status;
}

int nic_rx_mode(struct nic *nic, unsigned int mode)
{
	struct ionic_rx_mode_req req = { .opcode = IONIC_OP_RX_MODE_SET, .mode = htole16(mode) };

	return nic_admin(nic, &req, NULL);
}

void nic_frame(uint8_t *frame, const uint8_t *to, const uint8_t *from, uint8_t seed)
{
	memcpy(frame, to, IONIC_MAC_SIZE);
	memcpy(frame + IONIC_MAC_SIZE, from, IONIC_MAC_SIZE);
	frame[12] = 0x88;	/* an EtherType for experiments */
	frame[13] = 0xb5;
	for (unsigned int i = 14; i < NIC_FRAME; i++)
		frame[i] = seed + i;
}

void nic_post(struct nic *nic, const uint8_t *frame, size_t len)
{
	struct nic_queue *q = &nic->tx;
	uint64_t buffer = q->buffers + q->posted * NIC_BUFFER;
	struct ionic_tx_desc *desc = test_mem(&nic->host, q->ring + q->posted * sizeof(*desc),
					      sizeof(*desc));

	memcpy(test_mem(&nic->host, buffer, len), frame, len);
	*desc = (struct ionic_tx_desc){
		.cmd = htole64(HW_PREP(IONIC_TX_ADDR, buffer)), .len = htole16(len),
	};
	q->posted = (q->posted + 1) & ((1u << q->log2) - 1);
	nic_queue_ring(q);
}

bool nic_send(struct nic *nic, const uint8_t *frame, size_t len)
{
	uint16_t index = nic->tx.posted;
	const struct ionic_tx_comp *comp;

	nic_post(nic, frame, len);
	test_run();
	comp = nic_queue_take(&nic->tx);
	return comp && !comp->status && le16toh(comp->comp_index) == index;
}

const uint8_t *nic_receive(struct nic *nic, size_t *len)
{
	const struct ionic_rx_comp *comp = nic_queue_take(&nic->rx);

	if (!comp || comp->status)
		return NULL;
	*len = le16toh(comp->len);
	post_buffer(&nic->rx);
	nic_queue_ring(&nic->rx);
	return test_mem(&nic->host, nic->rx.buffers + le16toh(comp->comp_index) * NIC_BUFFER, *len);
}

uint64_t nic_stat(struct nic *nic, enum ionic_lif_stat stat)
{
	const struct ionic_lif_info *info = test_mem(&nic->host, nic->lif_info, sizeof(*info));

	return le64toh(info->stats[stat]);
}
