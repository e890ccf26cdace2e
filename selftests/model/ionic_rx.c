// SPDX-License-Identifier: GPL-2.0
/* Receive queues: one frame per descriptor, into its buffers in order. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ionic.h"

#define HEADER_SIZE	14u
#define BUFFERS_MAX	(1 + IONIC_RX_SG_MAX)

/* a descriptor taken apart */
struct buffers {
	struct {
		uint64_t addr;
		uint32_t len;
	} buf[BUFFERS_MAX];
	unsigned int count;
	size_t room;
};

static void add(struct buffers *b, uint64_t addr, uint32_t len)
{
	b->buf[b->count].addr = addr;
	b->buf[b->count].len = len;
	b->count++;
	b->room += len;
}

static int read_list(struct ionic *ionic, const struct ionic_queue *q, struct buffers *b)
{
	struct ionic_sg list[IONIC_RX_SG_MAX];

	if (ionic_read(ionic, q->sg_ring + q->head * IONIC_RX_SG_SLOT, list, sizeof(list),
		       "receive SG list"))
		return -EFAULT;
	for (unsigned int i = 0; i < IONIC_RX_SG_MAX && list[i].addr && list[i].len; i++)
		add(b, le64toh(list[i].addr), le16toh(list[i].len));
	return 0;
}

/* 0, or -EFAULT if the descriptor is no good (recorded) */
static int parse(struct ionic *ionic, struct ionic_queue *q, struct buffers *b)
{
	struct ionic_rx_desc desc;

	b->count = 0;
	b->room = 0;
	if (ionic_queue_read(ionic, q, &desc, sizeof(desc)))
		return -EFAULT;
	if (desc.opcode > IONIC_RX_SG || (desc.opcode == IONIC_RX_SG && !q->sg) || !desc.len ||
	    !desc.addr) {
		model_violation(&ionic->dev, "descriptor %u of receive queue %u: opcode %u, %u "
				"bytes; must have a buffer, and a list only with an SG ring",
				q->head, q->index, desc.opcode, le16toh(desc.len));
		return -EFAULT;
	}
	add(b, le64toh(desc.addr), le16toh(desc.len));
	return desc.opcode == IONIC_RX_SG ? read_list(ionic, q, b) : 0;
}

/* elements of the list that were used, or -EFAULT */
static int scatter(struct ionic *ionic, const struct buffers *b, const uint8_t *frame, size_t len)
{
	unsigned int i;

	for (i = 0; len; i++) {
		size_t part = len < b->buf[i].len ? len : b->buf[i].len;

		if (ionic_write(ionic, b->buf[i].addr, frame, part, "receive buffer"))
			return -EFAULT;
		frame += part;
		len -= part;
	}
	return i - 1;
}

/* ones' complement sum of little-endian words, not inverted */
static uint16_t checksum(const uint8_t *data, size_t len)
{
	uint64_t sum = 0;

	for (size_t i = 0; i + 1 < len; i += 2)
		sum += data[i] | data[i + 1] << 8;
	if (len & 1)
		sum += data[len - 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* frames between two stations stay in one queue and so in order; NULL: all are disabled */
static struct ionic_queue *choose_queue(struct ionic *ionic, const uint8_t *frame)
{
	unsigned int enabled = 0, hash = 0;

	for (unsigned int i = 0; i < ionic->config.queues; i++)
		enabled += ionic->lif.rxq[i].live && ionic->lif.rxq[i].enabled;
	if (!enabled)
		return NULL;
	for (unsigned int i = 0; i < 2 * IONIC_MAC_SIZE; i++)
		hash = hash * 31 + frame[i];
	hash %= enabled;
	for (unsigned int i = 0;; i++) {
		struct ionic_queue *q = &ionic->lif.rxq[i];

		if (q->live && q->enabled && !hash--)
			return q;
	}
}

static void complete(struct ionic *ionic, struct ionic_queue *q, const uint8_t *frame, size_t len,
		     int nsg)
{
	struct ionic_rx_comp comp = { .len = htole16(len) };

	if (nsg < 0) {
		comp.status = IONIC_EFAULT;
	} else {
		comp.nsg = nsg;
		if (ionic->lif.features & IONIC_FEAT_RX_CSUM) {
			comp.csum_flags = IONIC_RX_CSUM;
			comp.csum = htole16(checksum(frame + HEADER_SIZE, len - HEADER_SIZE));
		}
	}
	ionic_queue_complete(ionic, q, ionic_queue_take(q), &comp);
}

static void drop(struct ionic *ionic, const uint8_t *frame, enum ionic_lif_stat why)
{
	ionic->tally.rx_drops++;
	ionic_stats_add(ionic, why, 1);
	ionic_stats_drop(ionic, frame, false);
}

void ionic_rx_frame(struct ionic *ionic, const uint8_t *frame, size_t len)
{
	struct ionic_queue *q;
	struct buffers b;
	int nsg;

	if (!ionic_filter_accepts(ionic, frame))
		return;
	q = choose_queue(ionic, frame);
	if (!q) {
		drop(ionic, frame, IONIC_STAT_RX_QUEUE_DISABLED);
		return;
	}
	if (!ionic_queue_ready(q)) {
		drop(ionic, frame, IONIC_STAT_RX_QUEUE_EMPTY);
		return;
	}
	if (parse(ionic, q, &b)) {
		drop(ionic, frame, IONIC_STAT_RX_DESC_FETCH_ERRORS);
		complete(ionic, q, frame, 0, -EFAULT);
		return;
	}
	/* choice: a frame that does not fit costs no descriptor */
	if (len > b.room) {
		drop(ionic, frame, IONIC_STAT_RX_DESC_DATA_ERRORS);
		return;
	}
	nsg = scatter(ionic, &b, frame, len);
	if (nsg < 0) {
		drop(ionic, frame, IONIC_STAT_RX_DMA_ERRORS);
	} else {
		ionic->tally.rx_frames++;
		ionic->tally.rx_sg += nsg > 0;
		ionic_stats_frame(ionic, frame, len, false);
	}
	complete(ionic, q, frame, len, nsg);
}
