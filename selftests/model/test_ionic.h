/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The driver's side of an ionic adapter, as small as it can be: for tests of the
 * model, which include tap.h before it. It does what a correct driver does unless
 * a test does otherwise, and keeps indices and colors of its own.
 */
#ifndef MODEL_TEST_IONIC_H
#define MODEL_TEST_IONIC_H

#include <stdbool.h>
#include <stdint.h>

#include <hw/ionic_cmd.h>
#include <hw/ionic_eth.h>
#include <hw/ionic_identity.h>
#include <hw/ionic_regs.h>
#include "test_host.h"

#define NIC_ADMIN_LOG2	4
#define NIC_NOTIFY_LOG2	6
#define NIC_RING_LOG2	4
#define NIC_NO_ANSWER	(-1)
#define NIC_BUFFER	2048
#define NIC_FRAME	64	/* bytes of a frame that nic_frame() makes */

/* a ring with completions, as the driver sees it */
struct nic_queue {
	struct nic *nic;
	uint8_t type;
	uint32_t index;
	uint16_t intr;
	unsigned int log2;
	uint64_t ring, cq, sg;
	uint16_t posted, comp;
	uint8_t color;
	uint64_t buffers;	/* NIC_BUFFER bytes for each descriptor */
};

/**
 * struct nic - an adapter and its driver
 *
 * @device, @lif: what the adapter told at nic_open()
 * @event_id: last event taken from the notify queue
 */
struct nic {
	struct test_host host;
	struct model_device *dev;
	struct ionic_device_identity device;
	struct ionic_lif_identity lif;
	uint16_t hw_lif;
	uint64_t port_info, lif_info;
	struct nic_queue admin;
	uint64_t notify;
	uint64_t event_id;
	struct nic_queue rx, tx;
};

/* ---- adapter ---------------------------------------------------------------------- */

/* makes it and plugs it in; options as words with blanks between */
void nic_plug(struct nic *nic, const char *name, const char *options);
/* nic_plug(), then all a driver does until the admin and the notify queue work */
void nic_open(struct nic *nic, const char *name, const char *options);
/* what nic_open() does after nic_plug() */
void nic_start(struct nic *nic);
/* receive and transmit queue 0 made, filled and enabled; everything for this station let in */
void nic_up(struct nic *nic);
void nic_close(struct nic *nic);

/* the text of the only violation since the last look, "" if there was none, or what is wrong */
const char *nic_violation(struct nic *nic);

/* ---- registers -------------------------------------------------------------------- */

uint64_t nic_get(struct nic *nic, uint64_t off, unsigned int size);
void nic_set(struct nic *nic, uint64_t off, unsigned int size, uint64_t value);
uint32_t nic_intr_get(struct nic *nic, unsigned int index, unsigned int reg);
void nic_intr_set(struct nic *nic, unsigned int index, unsigned int reg, uint32_t value);
/* one 64-bit store to the word of @type in page @pid of the LIF */
void nic_ring(struct nic *nic, unsigned int pid, unsigned int type, uint64_t value);

/* ---- commands --------------------------------------------------------------------- */

void nic_write_req(struct nic *nic, const void *req);
/* the status, or NIC_NO_ANSWER if there is none at once */
int nic_devcmd(struct nic *nic, const void *req);
void nic_devcmd_resp(struct nic *nic, void *resp);
void nic_data_read(struct nic *nic, void *data, size_t len);
void nic_data_write(struct nic *nic, const void *data, size_t len);
/* a command that is an opcode and some bytes behind it */
int nic_simple(struct nic *nic, unsigned int opcode, uint8_t byte1, uint8_t byte2);

/* by the admin queue; @resp may be NULL */
int nic_admin(struct nic *nic, const void *req, void *resp);
/* puts a command in the ring without ringing */
void nic_admin_post(struct nic *nic, const void *req);
void nic_admin_ring(struct nic *nic);
/* the next answer: its status, or NIC_NO_ANSWER */
int nic_admin_answer(struct nic *nic, void *resp);

/* ---- queues ----------------------------------------------------------------------- */

/* memory for a ring of 2^@log2 entries and what a correct Q_INIT says of it */
void nic_queue_alloc(struct nic *nic, struct nic_queue *q, unsigned int type, unsigned int index,
		     unsigned int log2);
struct ionic_q_init_req nic_queue_req(const struct nic_queue *q);
int nic_queue_init(struct nic_queue *q);
int nic_queue_control(struct nic_queue *q, unsigned int oper);
void nic_queue_ring(struct nic_queue *q);
/* the next completion, or NULL; taken */
const void *nic_queue_take(struct nic_queue *q);
/* descriptors for the whole ring but one, announced */
void nic_fill(struct nic_queue *q);
/* the next event of the notify queue, or NULL; taken */
const struct ionic_notify_event *nic_event(struct nic *nic);

/* ---- frames ----------------------------------------------------------------------- */

const uint8_t *nic_mac(const struct nic *nic);
int nic_filter_add(struct nic *nic, const uint8_t *mac, uint32_t *id);
int nic_rx_mode(struct nic *nic, unsigned int mode);
/* a frame of NIC_FRAME bytes with its payload made from @seed */
void nic_frame(uint8_t *frame, const uint8_t *to, const uint8_t *from, uint8_t seed);
/* posts and announces one frame in one buffer; test_run() sends it */
void nic_post(struct nic *nic, const uint8_t *frame, size_t len);
/* the same, sent and its completion taken: true if it completed well */
bool nic_send(struct nic *nic, const uint8_t *frame, size_t len);
/* the next received frame: its bytes and length, or NULL */
const uint8_t *nic_receive(struct nic *nic, size_t *len);

/* statistics as the adapter wrote them to the LIF's block */
uint64_t nic_stat(struct nic *nic, enum ionic_lif_stat stat);

#endif /* MODEL_TEST_IONIC_H */
