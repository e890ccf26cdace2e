// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit queues in turn, one frame per descriptor. What a descriptor may ask
 * for was settled by the features that the driver was granted; segmentation and
 * VLAN insertion never are.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "ionic.h"

#define FRAMES_PER_SLICE	16u
#define RETRY_NS		100000u	/* when the network was full */
#define FRAME_MIN		60u	/* on the wire, without FCS */
#define HEADER_SIZE		14u
#define FRAME_OVERHEAD		18u	/* with a VLAN tag */
#define BUFFERS_MAX		(1 + IONIC_TX_SG_MAX)

/* a descriptor taken apart */
struct frame {
	unsigned int opcode, flags, nsg;
	uint16_t csum_start, csum_offset;
	struct {
		uint64_t addr;
		uint32_t len;
	} buf[BUFFERS_MAX];
	size_t len;
};

/* under the model lock one is enough; the largest frame fits */
static uint8_t bytes[UINT16_MAX + 1];

static uint16_t sum16(const uint8_t *data, size_t len)
{
	uint64_t sum = 0;

	for (size_t i = 0; i + 1 < len; i += 2)
		sum += data[i] << 8 | data[i + 1];
	if (len & 1)
		sum += data[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* the field holds the sum of the pseudo header, so it takes part */
static void insert_checksum(uint8_t *frame, const struct frame *f)
{
	uint8_t *field = frame + f->csum_start + f->csum_offset;
	uint16_t sum = ~sum16(frame + f->csum_start, f->len - f->csum_start);

	if (!sum)
		sum = 0xffff;	/* 0 would say that there is none (UDP) */
	field[0] = sum >> 8;
	field[1] = sum;
}

static int read_list(struct ionic *ionic, const struct ionic_queue *q, struct frame *f)
{
	struct ionic_sg list[IONIC_TX_SG_MAX];

	if (ionic_read(ionic, q->sg_ring + q->head * IONIC_TX_SG_SLOT, list,
		       f->nsg * sizeof(list[0]), "transmit SG list"))
		return -EFAULT;
	for (unsigned int i = 0; i < f->nsg; i++) {
		f->buf[i + 1].addr = le64toh(list[i].addr);
		f->buf[i + 1].len = le16toh(list[i].len);
	}
	return 0;
}

/* 0, or -EFAULT if the descriptor or its list is not in memory */
static int parse(struct ionic *ionic, struct ionic_queue *q, struct frame *f)
{
	struct ionic_tx_desc desc;
	uint64_t cmd;

	if (ionic_queue_read(ionic, q, &desc, sizeof(desc)))
		return -EFAULT;
	cmd = le64toh(desc.cmd);
	*f = (struct frame){
		.flags = HW_GET(IONIC_TX_FLAGS, cmd), .opcode = HW_GET(IONIC_TX_OPCODE, cmd),
		.nsg = HW_GET(IONIC_TX_NSG, cmd),
		.csum_start = le16toh(desc.csum_start), .csum_offset = le16toh(desc.csum_offset),
		.buf[0] = { HW_GET(IONIC_TX_ADDR, cmd), le16toh(desc.len) },
	};
	if (f->nsg && q->sg && read_list(ionic, q, f))
		return -EFAULT;
	for (unsigned int i = 0; i <= f->nsg; i++)
		f->len += f->buf[i].len;
	return 0;
}

/* what is wrong with it, or NULL */
static const char *fault(const struct ionic *ionic, const struct ionic_queue *q,
			 const struct frame *f)
{
	uint64_t features = ionic->lif.features;

	if (f->flags & ~IONIC_TX_ENCAP)
		return "asks for VLAN insertion or segmentation, which was not granted";
	if (f->opcode > IONIC_TX_CSUM)
		return "has an opcode whose feature was not granted";
	if (f->opcode == IONIC_TX_CSUM && !(features & IONIC_FEAT_TX_CSUM))
		return "asks for a checksum, which was not granted";
	if (f->nsg && (!q->sg || !(features & IONIC_FEAT_TX_SG)))
		return "has an SG list, which was not granted or has no ring";
	for (unsigned int i = 0; i <= f->nsg; i++)
		if (!f->buf[i].len)
			return "has an empty buffer";
	if (f->len < HEADER_SIZE || f->len > ionic->config.mtu + FRAME_OVERHEAD)
		return "is shorter than an Ethernet header or longer than the port takes";
	if (f->opcode == IONIC_TX_CSUM && f->csum_start + f->csum_offset + 2u > f->len)
		return "wants its checksum behind its end";
	return NULL;
}

static int gather(struct ionic *ionic, const struct frame *f)
{
	size_t at = 0;

	for (unsigned int i = 0; i <= f->nsg; i++) {
		if (ionic_read(ionic, f->buf[i].addr, bytes + at, f->buf[i].len,
			       "frame to transmit"))
			return -EFAULT;
		at += f->buf[i].len;
	}
	if (f->opcode == IONIC_TX_CSUM)
		insert_checksum(bytes, f);
	if (at < FRAME_MIN)
		memset(bytes + at, 0, FRAME_MIN - at);
	return 0;
}

static size_t wire_length(const struct frame *f)
{
	return f->len < FRAME_MIN ? FRAME_MIN : f->len;
}

static void complete(struct ionic *ionic, struct ionic_queue *q, enum ionic_status status)
{
	struct ionic_tx_comp comp = { .status = status };

	ionic_queue_complete(ionic, q, ionic_queue_take(q), &comp);
}

static void sent(struct ionic *ionic, const struct frame *f, int err)
{
	if (err) {
		ionic_stats_drop(ionic, bytes, true);
		return;
	}
	ionic->tally.tx_frames++;
	ionic->tally.tx_csums += f->opcode == IONIC_TX_CSUM;
	ionic->tally.tx_sg += f->nsg != 0;
	ionic_stats_frame(ionic, bytes, wire_length(f), true);
}

/* one descriptor; false if the network takes no more now */
static bool transmit(struct ionic *ionic, struct ionic_queue *q)
{
	const char *why;
	struct frame f;
	int err;

	if (parse(ionic, q, &f)) {
		ionic_stats_add(ionic, IONIC_STAT_TX_DESC_FETCH_ERRORS, 1);
		complete(ionic, q, IONIC_EFAULT);
		return true;
	}
	why = fault(ionic, q, &f);
	if (why) {
		model_violation(&ionic->dev, "descriptor %u of transmit queue %u (%zu bytes) %s",
				q->head, q->index, f.len, why);
		ionic_stats_add(ionic, IONIC_STAT_TX_DESC_DATA_ERRORS, 1);
		complete(ionic, q, IONIC_EINVAL);
		return true;
	}
	if (gather(ionic, &f)) {
		ionic_stats_add(ionic, IONIC_STAT_TX_DMA_ERRORS, 1);
		complete(ionic, q, IONIC_EFAULT);
		return true;
	}
	err = ionic_net_send(ionic, bytes, wire_length(&f));
	if (err == -ENOBUFS)
		return false;
	sent(ionic, &f, err);
	complete(ionic, q, IONIC_SUCCESS);
	return true;
}

/* the next queue in turn that has something to send, or NULL */
static struct ionic_queue *next_queue(struct ionic *ionic)
{
	struct ionic_lif *lif = &ionic->lif;

	for (unsigned int i = 0; i < ionic->config.queues; i++) {
		struct ionic_queue *q = &lif->txq[(lif->tx_turn + i) % ionic->config.queues];

		if (!ionic_queue_ready(q))
			continue;
		lif->tx_turn = (q->index + 1) % ionic->config.queues;
		return q;
	}
	return NULL;
}

bool ionic_tx_work(struct ionic *ionic, uint64_t *when)
{
	struct ionic_queue *q = NULL;

	if (ionic->lif.tx_when > model_now(&ionic->dev)) {
		*when = ionic->lif.tx_when;
		return false;
	}
	ionic->lif.tx_when = 0;
	for (unsigned int i = 0; i < FRAMES_PER_SLICE; i++) {
		q = next_queue(ionic);
		if (!q)
			return false;
		if (!transmit(ionic, q)) {
			ionic->lif.tx_when = model_now(&ionic->dev) + RETRY_NS;
			*when = ionic->lif.tx_when;
			return false;
		}
	}
	return true;
}
