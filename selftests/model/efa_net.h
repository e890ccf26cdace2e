/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What goes between two modelled EFA adapters, and who sends it.
 *
 *	efa_peer.c	what an adapter knows of another one; the duplicate filter
 *	efa_transfer.c	requester: WRs under way, retransmission
 *	efa_target.c	responder: what arriving requests do
 *
 * SRD as the model does it (choice: the protocol of real adapters is not known).
 * A WR under way is a transfer of one or more segments, each of them a packet
 * of its own, in no order. The responder answers every segment. A segment that
 * is not answered in time is sent again; sends and writes carry a transaction
 * number, by which the responder knows what it has done already and does nothing
 * twice. Reads change nothing at the responder, so they need none.
 *
 * Transaction numbers rise over the whole adapter. With each packet the
 * requester tells the oldest number it still waits for at that peer; the
 * responder forgets what lies before.
 */
#ifndef EFA_NET_H
#define EFA_NET_H

#include "efa.h"

#define EFA_SEGMENT	32768	/* payload bytes of a packet, at most */
#define EFA_WINDOW	16	/* segments of one transfer on the wire */
#define EFA_TRANSFERS		1024	/* transfers of one adapter under way */
#define EFA_TIDS	65536	/* span of transaction numbers open at one peer */

enum efa_pkt_type {
	/* requests */
	EFA_PKT_DATAGRAM,	/* UD: no answer */
	EFA_PKT_SEND,		/* answer: ACK */
	EFA_PKT_WRITE,		/* answer: ACK */
	EFA_PKT_READ,		/* answer: DATA, or ACK with an error */
	/* answers */
	EFA_PKT_ACK,
	EFA_PKT_DATA,
};

#define EFA_PKT_MAGIC	0x31616665	/* "efa1" */

/* all packets; host order, for both ends are this program */
struct efa_pkt {
	uint32_t magic;
	uint8_t type;		/* enum efa_pkt_type */
	uint8_t status;		/* ACK: enum efa_io_status */
	uint8_t has_imm;
	uint8_t reserved;
	uint32_t payload;	/* bytes behind this header */
	uint16_t src_qp, dst_qp;
	uint64_t epoch;		/* of the requester: changes with its resets */
	uint64_t serial;	/* of the transfer; answers repeat it */
	uint32_t slot;		/* where the requester keeps it; answers repeat it */
	uint32_t segment;	/* which one; answers repeat it */
	uint64_t tid, oldest;	/* SEND, WRITE */
	uint32_t qkey, imm;
	uint32_t length;	/* of the whole transfer */
	uint32_t rkey;		/* WRITE, READ */
	uint64_t remote;	/* WRITE, READ: address of the whole transfer */
};

/* ---- requester --------------------------------------------------------- */

/* a send WR taken apart */
struct efa_wr {
	unsigned int op;	/* enum efa_op */
	uint64_t req_id;
	uint16_t dest_qp, ah;
	uint32_t qkey, imm;
	bool has_imm, is_inline;
	unsigned int bufs;
	struct {
		uint64_t addr;
		uint32_t length, lkey;
	} buf[EFA_WQE_SEND_SGES];
	uint32_t length;	/* of the message or transfer */
	uint32_t rkey;
	uint64_t remote;
	uint8_t data[EFA_WQE_INLINE_WIDE];
	struct efa_fast_reg fast_reg;
};

/* the send WR in WQE number @count of the QP; a completion status */
enum efa_io_status efa_wqe_parse(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				 const uint8_t *wqe, struct efa_wr *wr);
uint64_t efa_wqe_req_id(const struct efa_qp *qp, const struct efa_wqe_meta *meta);

struct efa_transfer {
	struct efa_qp *qp;		/* NULL: slot is free */
	struct efa_ah *ah;
	struct efa_peer *peer;
	struct efa_wr wr;
	TAILQ_ENTRY(efa_transfer) qp_link;
	TAILQ_ENTRY(efa_transfer) send_link;	/* while @sending */
	TAILQ_ENTRY(efa_transfer) peer_link;	/* while @open: by rising @tid */
	TAILQ_ENTRY(efa_transfer) free_link;
	bool sending, open;
	bool not_ready;			/* waits before it tries again (RNR) */
	uint64_t serial, tid;
	/* segments: all before @base are answered, @acked tells of those behind */
	uint32_t segments, base, next;
	uint64_t acked;
	unsigned int tries, rnr_tries;
	uint64_t deadline;		/* 0: none */
};

struct efa_net {
	struct efa_transfer transfers[EFA_TRANSFERS];
	TAILQ_HEAD(, efa_transfer) free_transfers;
	TAILQ_HEAD(, efa_transfer) sending;
	TAILQ_HEAD(, efa_peer) peers;
	uint64_t epoch, serial, tid;	/* last ones used */
	uint64_t next_deadline;		/* none is sooner; 0: none */
	uint64_t blocked_until;		/* a destination's queue was full; 0: not */
	bool starved;			/* a WQE waits for a free slot */
	uint64_t packet[FABRIC_PACKET_MAX / 8]; /* room to build one in */
};

void efa_net_init(struct efa *efa);
void efa_net_reset(struct efa *efa);
void efa_net_free(struct efa *efa);
/* sends, times out; true if there is more to do now. *when: the time it wants next, 0: none */
bool efa_net_work(struct efa *efa, uint64_t *when);
void efa_net_receive(struct model_device *dev, const uint8_t *from, const void *data, size_t len);

/* sends @wr as a datagram; the status of its completion */
enum efa_io_status efa_net_datagram(struct efa *efa, struct efa_qp *qp, struct efa_ah *ah,
				    const struct efa_wr *wr);
/* puts @wr under way; false if there is no room now */
bool efa_transfer_start(struct efa *efa, struct efa_qp *qp, struct efa_ah *ah,
			const struct efa_wr *wr);
/* the QP forgets what it has under way, without completions */
void efa_transfer_cancel_all(struct efa *efa, struct efa_qp *qp);
/* flushes one transfer of the QP; false if there is none */
bool efa_transfer_flush_one(struct efa *efa, struct efa_qp *qp);
/* flushes what goes to an address handle that is about to go */
void efa_net_flush_ah(struct efa *efa, struct efa_ah *ah);
/* a packet with something in it goes out */
void efa_net_count_sent(struct efa *efa, const struct efa_pkt *pkt);
/* an ACK or DATA packet */
void efa_transfer_answered(struct efa *efa, struct efa_peer *peer, const struct efa_pkt *pkt,
		     const void *payload);
static inline uint32_t efa_segments(uint32_t length)
{
	return length ? (length + EFA_SEGMENT - 1) / EFA_SEGMENT : 1;
}
static inline uint32_t efa_segment_length(uint32_t length, uint32_t segment)
{
	uint32_t rest = length - segment * EFA_SEGMENT;

	return rest < EFA_SEGMENT ? rest : EFA_SEGMENT;
}
/* marks a segment in the window that begins at *base; false if it was marked before */
bool efa_window_mark(uint32_t *base, uint64_t *marked, uint32_t segment);

/* ---- peers ------------------------------------------------------------- */

/* a write from a peer that is not complete */
struct efa_inbound {
	TAILQ_ENTRY(efa_inbound) link;
	uint64_t tid;
	uint32_t base;
	uint64_t got;
};

struct efa_peer {
	TAILQ_ENTRY(efa_peer) link;
	uint8_t gid[EFA_GID_SIZE];
	unsigned int refs;		/* AHs and transfers */
	LIST_HEAD(, efa_ah) ahs;
	TAILQ_HEAD(, efa_transfer) open;	/* what it has not answered in full */
	bool answered;			/* ever, since our reset */
	/* the peer as requester; forgotten when its epoch changes */
	uint64_t epoch;
	uint64_t base;			/* transactions before it are over */
	uint8_t *seen;			/* EFA_TIDS entries from @base on, by tid: EFA_TID_* */
	TAILQ_HEAD(, efa_inbound) inbound;
};

#define EFA_TID_NEW	0
#define EFA_TID_BEGUN	1
#define EFA_TID_DONE	2		/* plus the status that was answered */

struct efa_peer *efa_peer_get(struct efa *efa, const uint8_t *gid);
void efa_peer_put(struct efa *efa, struct efa_peer *peer);
void efa_peer_free(struct efa *efa, struct efa_peer *peer);
/* what is known of the packet's transaction: EFA_TID_*, or -1 if it is over */
int efa_peer_seen(struct efa_peer *peer, const struct efa_pkt *pkt);
void efa_peer_mark(struct efa_peer *peer, const struct efa_pkt *pkt, unsigned int mark);
struct efa_inbound *efa_peer_inbound(struct efa_peer *peer, uint64_t tid, bool create);
void efa_peer_inbound_end(struct efa_peer *peer, struct efa_inbound *inbound);

/* ---- responder --------------------------------------------------------- */

void efa_target_request(struct efa *efa, struct efa_peer *peer, const struct efa_pkt *pkt,
			const void *payload);

#endif /* EFA_NET_H */
