/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The modelled ionic adapter, inside: its objects and how its files meet.
 *
 *	ionic.c			creation, reset, BAR dispatch, the slice of work
 *	ionic_profile.c		traits and options
 *	ionic_fw.c		device information registers, firmware status
 *	ionic_devcmd.c		device command registers
 *	ionic_cmd.c		table of commands
 *	ionic_identity.c	what the identify commands answer
 *	ionic_intr.c		interrupt registers, credits
 *	ionic_port.c		port commands, link
 *	ionic_lif.c		LIF commands and attributes
 *	ionic_filter.c		receive filters
 *	ionic_queue.c		Q_INIT, Q_CONTROL, doorbells of Ethernet queues
 *	ionic_doorbell.c	doorbell BAR
 *	ionic_adminq.c		admin queue
 *	ionic_notifyq.c		notify queue
 *	ionic_tx.c, ionic_rx.c	frames
 *	ionic_net.c		the switch between adapters
 *	ionic_stats.c		statistics in host memory
 *	ionic_cmb.c		controller memory
 *	ionic_control.c		verbs of the control channel
 *	ionic_rdma*.c		RDMA, see ionic_rdma.h
 *
 * Everything runs under the model lock (device.h). Register and doorbell stores
 * note what is wanted; guest memory is touched in a device's slice of work, when a
 * packet is delivered, and by control verbs.
 */
#ifndef IONIC_H
#define IONIC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hw/field.h>
#include <hw/ionic_cmd.h>
#include <hw/ionic_eth.h>
#include <hw/ionic_identity.h>
#include <hw/ionic_regs.h>
#include "device.h"
#include "fabric.h"
#include "inject.h"
#include "ionic_config.h"

/* BAR 0: registers, then the MSI-X table and PBA in pages of their own */
#define IONIC_REGS_SIZE		IONIC_BAR_REGS_MIN
#define IONIC_MSIX_TABLE	0x6000
#define IONIC_MSIX_PBA		0x7000

/* places of doorbells within a page: Ethernet queues take the numbers of enum ionic_qtype */
enum {
	IONIC_DB_RDMA_SQ = 4,
	IONIC_DB_RDMA_RQ = 5,
	IONIC_DB_RDMA_CQ = 6,
	IONIC_DB_RDMA_EQ = 7,
	IONIC_DB_RDMA_AQ = 8,
};

#define IONIC_NO_INTR		UINT16_MAX
#define IONIC_NS_PER_MS		1000000ull

struct ionic;
struct ionic_rdma;

/* ---- commands --------------------------------------------------------------------- */

/* a command under execution; the two channels differ in where it came from */
struct ionic_job {
	struct ionic_req req;
	struct ionic_resp resp;
	bool devcmd;			/* by registers; else by the admin queue */
	bool injected;
	struct inject_hit hit;
};

/*
 * The device command registers. From the store to the doorbell to the answer, and
 * then only, @state is not idle, and req and data belong to the firmware.
 *
 * @rung: when the doorbell was stored to
 * @answer_when: of an executed command whose answer an injection holds back; 0:
 *	there will be none
 */
struct ionic_devcmd {
	uint8_t req[IONIC_REQ_SIZE];
	uint8_t resp[IONIC_RESP_SIZE];
	uint8_t data[IONIC_DEVCMD_DATA_SIZE];
	uint32_t done;
	enum { IONIC_DEVCMD_IDLE, IONIC_DEVCMD_WAITS, IONIC_DEVCMD_EXECUTED } state;
	uint64_t rung, answer_when;
	struct ionic_job job;
};

/* ---- interrupts ------------------------------------------------------------------- */

/*
 * @credits: entries written and not given back; signed, because a driver may
 *	give one back before it was counted
 * @pending: an event was written since the last message. RDMA event queues do
 *	not give credits back in full, so this is what counts for them.
 */
struct ionic_intr {
	uint32_t coal_init;
	uint32_t mask, mask_assert;
	int16_t credits;
	bool pending;
};

/* ---- queues ----------------------------------------------------------------------- */

/*
 * A queue of the LIF. Indices are wrapped to the ring. @posted comes with
 * doorbells; slots from @head to @posted wait for the device. The next completion
 * goes to @comp of a ring of the same size, with @color.
 */
struct ionic_queue {
	enum ionic_qtype type;
	unsigned int index;
	bool live, enabled;
	bool sg;
	uint16_t intr;			/* IONIC_NO_INTR: none */
	unsigned int size_log2;
	uint64_t ring, cq, sg_ring;
	uint16_t posted, head, comp;
	bool color;
	uint64_t event_id;		/* notify queue: of the last event */
};

/* admin queue: what has been taken from the ring and is not answered */
struct ionic_adminq {
	struct ionic_queue q;
	struct ionic_job job;
	bool running;
	uint64_t answer_when;		/* as in struct ionic_devcmd */
};

/* ---- LIF -------------------------------------------------------------------------- */

struct ionic_filter {
	uint32_t id;
	uint8_t mac[IONIC_MAC_SIZE];
};

struct ionic_lif {
	bool live;
	uint64_t info;			/* address of struct ionic_lif_info */
	uint64_t features;		/* granted */
	uint8_t mac[IONIC_MAC_SIZE];
	uint16_t rx_mode;
	struct ionic_filter *filters;	/* config.filters of them at most */
	unsigned int nfilters;
	uint32_t next_filter;
	struct ionic_adminq adminq;
	struct ionic_queue notifyq;
	struct ionic_queue *rxq, *txq;	/* config.queues of each */
	bool link;			/* as told to the driver */
	uint16_t link_downs;
	uint64_t stats[IONIC_STATS];
	uint64_t stats_when;		/* when they go to host memory, 0: nothing new */
	uint64_t tx_when;		/* when sending goes on after the network was full */
	unsigned int tx_turn;		/* queue that sends next */
};

/* ---- device ----------------------------------------------------------------------- */

struct ionic_port {
	bool live;
	uint64_t info;			/* address of struct ionic_port_info */
	struct ionic_port_config config;
	bool cable;
	uint16_t link_downs;
	bool link;			/* as told to the driver */
};

struct ionic_fw {
	bool down;
	unsigned int generation;
	bool stuck;			/* heartbeat stands at @beat */
	uint32_t beat;
};

/* counted since creation; control verb "stats" */
struct ionic_tally {
	uint64_t devcmds, admin, cmd_errors;
	uint64_t doorbells[IONIC_Q_TYPES];	/* by logical type */
	uint64_t tx_frames, tx_csums, tx_sg, rx_frames, rx_sg, rx_drops;
	uint64_t notify_events, irqs, resets, stats_writes;
};

struct ionic {
	struct model_device dev;	/* first */
	struct ionic_config config;
	struct ionic *next;		/* ionic_net.c */
	struct fabric_port net;
	struct ionic_fw fw;
	bool ready;			/* INIT seen since power-up */
	struct ionic_devcmd devcmd;
	struct ionic_intr *intr;	/* config.vectors of them */
	struct ionic_port port;
	struct ionic_lif lif;
	struct ionic_rdma *rdma;	/* NULL: not offered */
	/*
	 * Until the next RESET the driver's view of what exists may differ from ours through no
	 * fault of its own: an answer was lost or forged by injection, or the firmware died.
	 */
	bool excused;
	struct ionic_tally tally;
};

static inline struct ionic *ionic_of(struct model_device *dev)
{
	return (struct ionic *)dev;
}

/* does a register access of @size bytes at @off lie in [@start, @start + @len)? */
static inline bool ionic_within(uint64_t off, unsigned int size, uint64_t start, uint64_t len)
{
	return off >= start && size <= len && off - start <= len - size;
}

/* the earlier of two times, of which 0 is none */
static inline uint64_t ionic_earlier(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return a ? a : b;
	return a < b ? a : b;
}

/* ---- ionic.c ---------------------------------------------------------------------- */

/* queues, filters, addresses and interrupts forgotten; RESET, power-up, firmware death */
void ionic_forget_all(struct ionic *ionic);
/* both ends of a block of guest memory can be reached */
bool ionic_reachable(struct ionic *ionic, uint64_t addr, uint64_t bytes);

/*
 * DMA to or from what the driver named; if it is not guest memory that is a
 * violation. @what says what it is. 0 or -EFAULT.
 */
int ionic_read(struct ionic *ionic, uint64_t addr, void *buf, size_t len, const char *what);
int ionic_write(struct ionic *ionic, uint64_t addr, const void *buf, size_t len, const char *what);
/* the same for an entry whose last 8 bytes say that it is there: they become visible last */
int ionic_write_entry(struct ionic *ionic, uint64_t addr, const void *entry, size_t len,
		      const char *what);

/* ---- ionic_fw.c ------------------------------------------------------------------- */

uint64_t ionic_info_read(struct ionic *ionic, uint64_t off, unsigned int size);
/* running, or dead with everything forgotten; coming back it has the next generation */
void ionic_fw_set(struct ionic *ionic, bool running);
/* the heartbeat moves, or stands where it is */
void ionic_fw_beat(struct ionic *ionic, bool running);

/* ---- ionic_devcmd.c --------------------------------------------------------------- */

void ionic_devcmd_reset(struct ionic *ionic);
uint64_t ionic_devcmd_read(struct ionic *ionic, uint64_t off, unsigned int size);
void ionic_devcmd_write(struct ionic *ionic, uint64_t off, unsigned int size, uint64_t value);
/* executes a command that waits for it; returns the time it wants next, 0: none */
uint64_t ionic_devcmd_work(struct ionic *ionic);

/* ---- ionic_cmd.c ------------------------------------------------------------------ */

extern const struct inject_point ionic_inject_points[];

/* is there a command that must wait for ionic_work() because it uses DMA? */
bool ionic_cmd_uses_dma(unsigned int opcode);
/* executes a job and fills its answer; asks for injections first */
void ionic_cmd_run(struct ionic *ionic, struct ionic_job *job);

/* records what is wrong with the command @name of a @kind */
void ionic_object(struct ionic *ionic, const char *kind, const char *name, const char *fmt,
		  va_list args);
/* answers @status to a command that no correct driver sends; a violation, unless it is excused */
int ionic_refuse(struct ionic *ionic, const struct ionic_job *job, int status, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* ---- the commands: each returns a status and may fill the answer ------------------ */

int ionic_cmd_nop(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_identify(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_init(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_reset(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_port_identify(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_port_init(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_port_reset(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_port_setattr(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_lif_identify(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_lif_init(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_lif_reset(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_lif_getattr(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_lif_setattr(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_rx_mode_set(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_rx_filter_add(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_rx_filter_del(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_q_identify(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_q_init(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_q_control(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_discover_cmb(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_fw_update(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_rdma_reset(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_rdma_create_eq(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_rdma_create_cq(struct ionic *ionic, struct ionic_job *job);
int ionic_cmd_rdma_create_aq(struct ionic *ionic, struct ionic_job *job);

/* ---- ionic_intr.c ----------------------------------------------------------------- */

void ionic_intr_reset(struct ionic *ionic);
uint64_t ionic_intr_read(struct ionic *ionic, uint64_t off, unsigned int size);
void ionic_intr_write(struct ionic *ionic, uint64_t off, unsigned int size, uint64_t value);
/* an entry was written to a queue with this interrupt (IONIC_NO_INTR: without) */
void ionic_intr_credit(struct ionic *ionic, uint16_t index);
/* the same for event queues of RDMA, which give no credits back */
void ionic_intr_event(struct ionic *ionic, uint16_t index);

/* ---- ionic_port.c ----------------------------------------------------------------- */

void ionic_port_default(struct ionic *ionic, struct ionic_port_config *config);
void ionic_port_forget(struct ionic *ionic);
/* speed in Mb/s */
uint32_t ionic_port_speed(const struct ionic *ionic);
bool ionic_port_link(const struct ionic *ionic);
/* tells the driver if the link has changed */
void ionic_port_work(struct ionic *ionic);

/* ---- ionic_lif.c ------------------------------------------------------------------ */

void ionic_lif_forget(struct ionic *ionic);
/* tells the driver if the link has changed */
void ionic_lif_work(struct ionic *ionic);

/* ---- ionic_filter.c --------------------------------------------------------------- */

void ionic_filter_forget(struct ionic *ionic);
/* is this an address of the adapter, whatever the receive mode? */
bool ionic_filter_is_mine(const struct ionic *ionic, const uint8_t *mac);
/* does the receive mode let a frame to this address in? */
bool ionic_filter_accepts(const struct ionic *ionic, const uint8_t *mac);

static inline bool ionic_is_multicast(const uint8_t *mac)
{
	return mac[0] & 1;
}

bool ionic_is_broadcast(const uint8_t *mac);

/* ---- ionic_queue.c ---------------------------------------------------------------- */

/* NULL if there is no such queue */
struct ionic_queue *ionic_queue_get(struct ionic *ionic, unsigned int type, unsigned int index);
void ionic_queue_forget(struct ionic_queue *q);
void ionic_queue_doorbell(struct ionic *ionic, unsigned int type, uint64_t value);

static inline unsigned int ionic_queue_mask(const struct ionic_queue *q)
{
	return (1u << q->size_log2) - 1;
}

/* is there a descriptor that the device may take? */
static inline bool ionic_queue_ready(const struct ionic_queue *q)
{
	return q->live && q->enabled && q->head != q->posted;
}

/* reads the descriptor at the head; 0 or -EFAULT (recorded) */
int ionic_queue_read(struct ionic *ionic, struct ionic_queue *q, void *desc, size_t size);
/* the descriptor at the head is done with; the slot it was in */
uint16_t ionic_queue_take(struct ionic_queue *q);
/* writes a completion (16 bytes) for the descriptor @index, which is filled in like the color */
void ionic_queue_complete(struct ionic *ionic, struct ionic_queue *q, uint16_t index, void *comp);

/* ---- ionic_doorbell.c ------------------------------------------------------------- */

void ionic_doorbell_write(struct ionic *ionic, uint64_t off, unsigned int size, uint64_t value);

/* ---- ionic_adminq.c, ionic_notifyq.c ---------------------------------------------- */

/* a slice; true if there is more to do now; *when: the time it wants next, 0: none */
bool ionic_adminq_work(struct ionic *ionic, uint64_t *when);
void ionic_adminq_forget(struct ionic *ionic);
/* fills in the id; nothing happens while there is no notify queue */
void ionic_notify(struct ionic *ionic, struct ionic_notify_event *event);

/* ---- ionic_tx.c, ionic_rx.c ------------------------------------------------------- */

bool ionic_tx_work(struct ionic *ionic, uint64_t *when);
/* a frame from the network */
void ionic_rx_frame(struct ionic *ionic, const uint8_t *frame, size_t len);

/* ---- ionic_net.c ------------------------------------------------------------------ */

int ionic_net_attach(struct ionic *ionic);
void ionic_net_detach(struct ionic *ionic);
/* up while the LIF lives and the link is up */
void ionic_net_update(struct ionic *ionic);
/* 0; -ENOBUFS: try again later; another errno: the frame is lost */
int ionic_net_send(struct ionic *ionic, const uint8_t *frame, size_t len);

/* ---- ionic_stats.c ---------------------------------------------------------------- */

void ionic_stats_add(struct ionic *ionic, enum ionic_lif_stat stat, uint64_t n);
/* a frame to @mac was sent (@tx) or received, or dropped: counted by the kind of its address */
void ionic_stats_frame(struct ionic *ionic, const uint8_t *mac, size_t len, bool tx);
void ionic_stats_drop(struct ionic *ionic, const uint8_t *mac, bool tx);
/* writes them to host memory if that is due; returns the time it wants next, 0: none */
uint64_t ionic_stats_work(struct ionic *ionic);

/* ---- ionic_cmb.c ------------------------------------------------------------------ */

/* size and mapped parts of BAR 4 */
void ionic_cmb_bar(const struct ionic_config *config, struct model_bar *bar);
uint64_t ionic_cmb_read(struct ionic *ionic, uint64_t off, unsigned int size);
void ionic_cmb_write(struct ionic *ionic, uint64_t off, unsigned int size, uint64_t value);

/* ---- ionic_rdma.c ----------------------------------------------------------------- */

int ionic_rdma_open(struct ionic *ionic);
void ionic_rdma_close(struct ionic *ionic);
/* every object gone; RDMA_RESET, the LIF's end */
void ionic_rdma_forget(struct ionic *ionic);
/* is the frame for RDMA? Then it has been dealt with */
bool ionic_rdma_frame(struct ionic *ionic, const uint8_t *frame, size_t len);
/* false: there is no such type of queue */
bool ionic_rdma_doorbell(struct ionic *ionic, uint16_t pid, unsigned int type, uint64_t value);
bool ionic_rdma_work(struct ionic *ionic, uint64_t *when);

/* ---- ionic_control.c -------------------------------------------------------------- */

int ionic_control(struct model_device *dev, int argc, char **argv, FILE *out);

#endif /* IONIC_H */
