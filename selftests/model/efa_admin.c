// SPDX-License-Identifier: GPL-2.0
/*
 * The three rings of the management interface: commands (AQ), their completions
 * (ACQ) and events (AENQ).
 *
 * Commands are executed one at a time in ring order; a long one (a page list)
 * goes on over several slices. Answers leave in the same order unless an
 * injection holds one back.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "efa.h"

#define COMMANDS_PER_SLICE	4
#define REG(efa, off)		((efa)->regs.word[(off) / 4])

static uint64_t reg64(struct efa *efa, unsigned int lo, unsigned int hi)
{
	return (uint64_t)REG(efa, hi) << 32 | REG(efa, lo);
}

void efa_admin_reset(struct efa *efa)
{
	struct efa_admin *admin = &efa->admin;
	struct efa_late *late;

	while ((late = TAILQ_FIRST(&admin->late))) {
		TAILQ_REMOVE(&admin->late, late, link);
		free(late);
	}
	if (admin->job.running && admin->job.mr)
		efa_mr_free(efa, admin->job.mr);
	memset(admin, 0, sizeof(*admin));
	TAILQ_INIT(&admin->late);
}

/* what all three rings must fulfil; @caps is told as the driver wrote it */
static bool ring_ok(struct efa *efa, const char *name, uint64_t base, uint32_t depth,
		    uint32_t entry_size, unsigned int vector)
{
	uint64_t bytes = (uint64_t)depth * EFA_ADMIN_ENTRY_SIZE;
	char owner[64];

	if (!efa_ready(efa))
		model_violation(&efa->dev, "%s set up while DEV_STS.ready is 0", name);
	else if (entry_size != EFA_ADMIN_ENTRY_SIZE || !efa_power_of_two(depth))
		model_violation(&efa->dev, "%s_CAPS: depth %u, entry size %u; want a power of two "
				"and %u", name, depth, entry_size, EFA_ADMIN_ENTRY_SIZE);
	else if (vector >= efa->dev.vectors)
		model_violation(&efa->dev, "%s_CAPS: vector %u of %u", name, vector,
				efa->dev.vectors);
	else if (!base)
		model_violation(&efa->dev, "%s_CAPS written before %s_BASE", name, name);
	else if (efa_ring_taken(efa, base, bytes, owner, sizeof(owner)))
		model_violation(&efa->dev, "%s at 0x%" PRIx64 " overlaps the ring of %s", name,
				base, owner);
	else
		return true;
	return false;
}

void efa_admin_start_aq(struct efa *efa)
{
	struct efa_admin *admin = &efa->admin;
	uint32_t caps = REG(efa, EFA_REG_AQ_CAPS);
	uint64_t base = reg64(efa, EFA_REG_AQ_BASE_LO, EFA_REG_AQ_BASE_HI);
	uint32_t depth = HW_GET(EFA_AQ_CAPS_DEPTH, caps);

	admin->aq_depth = 0;
	if (!ring_ok(efa, "AQ", base, depth, HW_GET(EFA_AQ_CAPS_ENTRY_SIZE, caps), 0))
		return;
	admin->aq_base = base;
	admin->aq_depth = depth;
	admin->aq_posted = 0;
	admin->aq_taken = 0;
}

void efa_admin_start_acq(struct efa *efa)
{
	struct efa_admin *admin = &efa->admin;
	uint32_t caps = REG(efa, EFA_REG_ACQ_CAPS);
	uint64_t base = reg64(efa, EFA_REG_ACQ_BASE_LO, EFA_REG_ACQ_BASE_HI);
	uint32_t depth = HW_GET(EFA_ACQ_CAPS_DEPTH, caps);
	unsigned int vector = HW_GET(EFA_ACQ_CAPS_VECTOR, caps);

	admin->acq_depth = 0;
	if (!ring_ok(efa, "ACQ", base, depth, HW_GET(EFA_ACQ_CAPS_ENTRY_SIZE, caps), vector))
		return;
	admin->acq_base = base;
	admin->acq_depth = depth;
	admin->acq_vector = vector;
	admin->acq_produced = 0;
	/* what is out goes to the new ring, if at all, and is nobody's there */
	admin->flying = 0;
	memset(admin->in_flight, 0, sizeof(admin->in_flight));
}

void efa_admin_start_aenq(struct efa *efa)
{
	struct efa_admin *admin = &efa->admin;
	uint32_t caps = REG(efa, EFA_REG_AENQ_CAPS);
	uint64_t base = reg64(efa, EFA_REG_AENQ_BASE_LO, EFA_REG_AENQ_BASE_HI);
	uint32_t depth = HW_GET(EFA_AENQ_CAPS_DEPTH, caps);
	unsigned int vector = HW_GET(EFA_AENQ_CAPS_VECTOR, caps);

	admin->aenq_depth = 0;
	if (!ring_ok(efa, "AENQ", base, depth, HW_GET(EFA_AENQ_CAPS_ENTRY_SIZE, caps), vector))
		return;
	admin->aenq_base = base;
	admin->aenq_depth = depth;
	admin->aenq_vector = vector;
	admin->aenq_produced = 0;
	/* no room until AENQ_CONS_DB says so */
	admin->aenq_consumed = 0 - depth;
}

void efa_admin_doorbell(struct efa *efa, uint32_t value)
{
	struct efa_admin *admin = &efa->admin;
	uint16_t ahead = value - admin->aq_taken;

	if (!admin->aq_depth || !admin->acq_depth) {
		model_violation(&efa->dev, "AQ_PROD_DB before AQ_CAPS and ACQ_CAPS");
		return;
	}
	if (value > UINT16_MAX) {
		model_violation(&efa->dev, "AQ_PROD_DB = 0x%x: the count has 16 bits", value);
		return;
	}
	if (ahead > admin->aq_depth || ahead < (uint16_t)(admin->aq_posted - admin->aq_taken)) {
		model_violation(&efa->dev, "AQ_PROD_DB = %u: %u entries posted and %u taken before "
				"this store, depth %u", value, admin->aq_posted, admin->aq_taken,
				admin->aq_depth);
		return;
	}
	admin->aq_posted = value;
	model_kick(&efa->dev);
}

void efa_aenq_doorbell(struct efa *efa, uint32_t value)
{
	struct efa_admin *admin = &efa->admin;

	if (!admin->aenq_depth) {
		model_violation(&efa->dev, "AENQ_CONS_DB before AENQ_CAPS");
		return;
	}
	/* from the last count told to that of the events: neither back nor ahead */
	if (value - admin->aenq_consumed > admin->aenq_produced - admin->aenq_consumed &&
	    !admin->aenq_overrun) {
		model_violation(&efa->dev, "AENQ_CONS_DB = %u after %u, but %u events were written",
				value, admin->aenq_consumed, admin->aenq_produced);
		return;
	}
	admin->aenq_consumed = value;
}

void efa_admin_irq(struct efa *efa, unsigned int vector)
{
	struct inject_hit hit;

	if (!vector && REG(efa, EFA_REG_INTR_MASK) & EFA_INTR_MASK_EN)
		return;
	if (inject_match(&efa->dev, "admin_irq", &hit) && hit.action == INJECT_DROP)
		return;
	model_irq(&efa->dev, vector);
}

/* ---- completions ------------------------------------------------------- */

static uint16_t crc16(const void *data, size_t len)
{
	const uint8_t *byte = data;
	uint16_t crc = EFA_ACQ_CRC_INIT;

	while (len--) {
		crc ^= *byte++;
		for (unsigned int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xa001 : 0);
	}
	return crc ^ EFA_ACQ_CRC_XOR;
}

/* phase and checksum are filled in here, the id and status are the caller's */
static void put_answer(struct efa *efa, struct efa_acq_entry *resp, bool corrupt)
{
	struct efa_admin *admin = &efa->admin;
	const size_t head = offsetof(struct efa_acq_hdr, checksum);
	uint32_t count;
	uint64_t to;

	if (!admin->acq_depth) {
		model_violation(&efa->dev, "an answer has no place: ACQ_CAPS was stored to while "
				"command id 0x%x was out", le16toh(resp->hdr.command_id));
		return;
	}
	count = admin->acq_produced++;
	to = admin->acq_base + (uint64_t)(count % admin->acq_depth) * sizeof(*resp);
	resp->hdr.flags = count / admin->acq_depth & 1 ? 0 : EFA_ACQ_PHASE;
	resp->hdr.checksum = 0;
	if (efa->config.version >= EFA_VERSION_CHECKSUM)
		resp->hdr.checksum = htole16(crc16(resp, sizeof(*resp)));
	if (corrupt)
		resp->hdr.checksum ^= htole16(0xffff);

	/* the phase byte comes last: pairs with the driver's dma_rmb() behind its test */
	if (model_dma_write(&efa->dev, to + head, (char *)resp + head, sizeof(*resp) - head))
		goto fault;
	model_wmb(&efa->dev);
	if (model_dma_write(&efa->dev, to, resp, head))
		goto fault;
	efa_admin_irq(efa, admin->acq_vector);
	return;
fault:
	model_violation(&efa->dev, "ACQ entry at 0x%" PRIx64 " is not memory of the guest", to);
}

void efa_admin_doubt(struct efa *efa, enum efa_doubt doubt)
{
	if (efa->admin.doubt < doubt)
		efa->admin.doubt = doubt;
}

static bool is_in_flight(const struct efa_admin *admin, unsigned int id)
{
	return admin->in_flight[id / 64] >> id % 64 & 1;
}

/* @holds_id: a command that was refused for its id must not set free that of another one */
static void landed(struct efa_admin *admin, unsigned int id, bool holds_id)
{
	if (holds_id)
		admin->in_flight[id / 64] &= ~(1ull << id % 64);
	if (admin->flying)
		admin->flying--;
}

/* under another id: with other upper bits, or with the bits inverted that a rule names */
static void inject_id(struct efa *efa, struct efa_acq_entry *resp)
{
	unsigned int bits = 0xfe0;
	struct inject_hit hit;

	if (!inject_match(&efa->dev, "answer_id", &hit))
		return;
	if (hit.action == INJECT_FAIL)
		bits = hit.status & EFA_ADMIN_CMD_ID;
	/* with its own upper bits it is nobody's, else perhaps taken for that of another command */
	efa_admin_doubt(efa, hit.action == INJECT_FAIL ? EFA_DOUBT_LIED : EFA_DOUBT_LOST);
	resp->hdr.command_id ^= htole16(bits);
}

/* a device that lies: its answer is whole, but what it says is nonsense */
static void inject_body(struct efa *efa, struct efa_acq_entry *resp)
{
	struct inject_hit hit;

	if (!inject_match(&efa->dev, "answer_body", &hit))
		return;
	efa_admin_doubt(efa, EFA_DOUBT_LIED);
	if (hit.action == INJECT_FAIL)
		memset(resp->body, hit.status, sizeof(resp->body));
	for (unsigned int i = 0; hit.action == INJECT_CORRUPT && i < sizeof(resp->body); i++)
		resp->body[i] ^= 0xff;
}

static void answer(struct efa *efa, struct efa_acq_entry *resp, bool holds_id, bool corrupt)
{
	struct efa_admin *admin = &efa->admin;
	unsigned int id = le16toh(resp->hdr.command_id) & EFA_ADMIN_CMD_ID;

	landed(admin, id, holds_id);
	inject_id(efa, resp);
	inject_body(efa, resp);
	put_answer(efa, resp, corrupt);
}

static void stray(struct efa *efa, unsigned int id, unsigned int status)
{
	struct efa_acq_entry resp = {
		.hdr.command_id = htole16(id),
		.hdr.status = status,
	};

	if (!efa->admin.acq_depth)
		return;
	put_answer(efa, &resp, false);
}

void efa_admin_stray(struct efa *efa, unsigned int id, unsigned int status)
{
	/* a driver may be waiting for just this one, also with an entry that was not taken yet */
	efa_admin_doubt(efa, EFA_DOUBT_LIED);
	stray(efa, id, status);
}

/* the right context with the wrong upper id bits, or any id that a rule names */
static void inject_stray(struct efa *efa, unsigned int id)
{
	unsigned int other = id ^ 0xfe0;
	struct inject_hit hit;

	if (!inject_match(&efa->dev, "stray_answer", &hit))
		return;
	/* nobody's, unless a driver has that one out as well */
	if (hit.action == INJECT_CORRUPT && !is_in_flight(&efa->admin, other))
		stray(efa, other, EFA_ADMIN_SUCCESS);
	else if (hit.action == INJECT_CORRUPT)
		efa_admin_stray(efa, other, EFA_ADMIN_SUCCESS);
	else if (hit.action == INJECT_FAIL)
		efa_admin_stray(efa, hit.status & EFA_ADMIN_CMD_ID, EFA_ADMIN_SUCCESS);
}

static void hold_back(struct efa *efa, const struct efa_acq_entry *resp, uint32_t ms)
{
	struct efa_late *late = malloc(sizeof(*late));

	if (!late)
		abort();
	late->resp = *resp;
	late->when = model_now(&efa->dev) + ms * EFA_NS_PER_MS;
	TAILQ_INSERT_TAIL(&efa->admin.late, late, link);
}

static void finish(struct efa *efa, struct efa_job *job, int status)
{
	unsigned int id = le16toh(job->cmd.hdr.command_id) & EFA_ADMIN_CMD_ID;

	job->running = false;
	job->resp.hdr.command_id = htole16(id);
	job->resp.hdr.status = status;
	if (status) {
		memset(job->resp.body, 0, sizeof(job->resp.body));
		efa->tally.admin_errors++;
	}
	inject_stray(efa, id);
	if (!job->injected || job->hit.action == INJECT_FAIL) {
		answer(efa, &job->resp, job->holds_id, false);
		return;
	}
	switch (job->hit.action) {
	case INJECT_DELAY:
		efa_admin_doubt(efa, EFA_DOUBT_LOST);
		hold_back(efa, &job->resp, job->hit.ms);
		break;
	case INJECT_DUP:
		answer(efa, &job->resp, true, false);
		put_answer(efa, &job->resp, false);
		break;
	default: /* INJECT_CORRUPT */
		efa_admin_doubt(efa, EFA_DOUBT_LOST);
		answer(efa, &job->resp, true, true);
	}
}

static uint64_t send_late(struct efa *efa)
{
	struct efa_late *late, *next;
	uint64_t now = model_now(&efa->dev), soonest = 0;

	for (late = TAILQ_FIRST(&efa->admin.late); late; late = next) {
		next = TAILQ_NEXT(late, link);
		if (late->when > now) {
			if (!soonest || late->when < soonest)
				soonest = late->when;
			continue;
		}
		TAILQ_REMOVE(&efa->admin.late, late, link);
		answer(efa, &late->resp, true, false);
		free(late);
	}
	return soonest;
}

/* ---- commands ---------------------------------------------------------- */

/* the entry as such, before anything in it is believed; a status */
static int check_entry(struct efa *efa, struct efa_job *job, uint16_t count)
{
	struct efa_admin *admin = &efa->admin;
	const struct efa_aq_hdr *hdr = &job->cmd.hdr;
	unsigned int phase = count / admin->aq_depth & 1 ? 0 : EFA_AQ_PHASE;
	unsigned int id = le16toh(hdr->command_id);

	if ((hdr->flags & EFA_AQ_PHASE) != phase)
		return efa_refuse(efa, job, EFA_ADMIN_MALFORMED,
				  "AQ entry %u has phase %u on lap %u", count,
				  hdr->flags & EFA_AQ_PHASE, count / admin->aq_depth);
	if (id & ~EFA_ADMIN_CMD_ID)
		return efa_refuse(efa, job, EFA_ADMIN_MALFORMED,
				  "command id 0x%x has more than 12 bits", id);
	if (is_in_flight(admin, id))
		return efa_refuse_stale(efa, job, EFA_ADMIN_MALFORMED,
					"command id 0x%x is still in flight", id);
	admin->in_flight[id / 64] |= 1ull << id % 64;
	job->holds_id = true;
	if (admin->flying > admin->acq_depth)
		return efa_refuse_stale(efa, job, EFA_ADMIN_MALFORMED,
					"more commands in flight than the ACQ has entries (%u)",
					admin->acq_depth);
	return EFA_ADMIN_SUCCESS;
}

/* 0 is no opcode */
static void count_command(struct efa_tally *tally, unsigned int opcode)
{
	tally->admin[opcode < sizeof(tally->admin) / sizeof(tally->admin[0]) ? opcode : 0]++;
}

/* false if the entry could not be read */
static bool take_entry(struct efa *efa, struct efa_job *job)
{
	struct efa_admin *admin = &efa->admin;
	uint16_t count = admin->aq_taken++;
	uint64_t from = admin->aq_base +
			(uint64_t)(count % admin->aq_depth) * sizeof(job->cmd);
	int status;

	memset(job, 0, sizeof(*job));
	if (efa_dma_fails(efa, "dma_command")) {
		efa_admin_doubt(efa, EFA_DOUBT_LOST);
		return false;
	}
	if (model_dma_read(&efa->dev, from, &job->cmd, sizeof(job->cmd))) {
		model_violation(&efa->dev, "AQ entry at 0x%" PRIx64 " is not memory of the guest",
				from);
		return false;
	}
	job->running = true;
	admin->flying++;
	count_command(&efa->tally, job->cmd.hdr.opcode);
	status = check_entry(efa, job, count);
	if (status) {
		finish(efa, job, status);
		return true;
	}
	job->injected = inject_match(&efa->dev, efa_cmd_name(job->cmd.hdr.opcode), &job->hit);
	if (job->injected && job->hit.action == INJECT_FAIL) {
		/* the driver gets this answer, but it may have to do without the object */
		if (efa_cmd_removes(job->cmd.hdr.opcode))
			efa_admin_doubt(efa, EFA_DOUBT_KEPT);
		finish(efa, job, job->hit.status);
	} else if (job->injected && job->hit.action == INJECT_DROP) {
		efa_admin_doubt(efa, EFA_DOUBT_LOST);
		job->running = false;
		landed(admin, le16toh(job->cmd.hdr.command_id), true);
	}
	return true;
}

static uint64_t keepalive(struct efa *efa)
{
	struct efa_admin *admin = &efa->admin;
	uint64_t period = efa->config.keepalive_ms * EFA_NS_PER_MS;
	uint64_t now = model_now(&efa->dev);

	if (!period || !(admin->aenq_enabled & 1u << EFA_AENQ_KEEP_ALIVE))
		return 0;
	if (!admin->keepalive_when) {
		admin->keepalive_when = now + period;
	} else if (admin->keepalive_when <= now) {
		efa_aenq_event(efa, EFA_AENQ_KEEP_ALIVE, 0);
		admin->keepalive_when = now + period;
	}
	return admin->keepalive_when;
}

/* a bounded number of commands, or a slice of a long one; true if there is more */
static bool do_commands(struct efa *efa)
{
	struct efa_admin *admin = &efa->admin;
	struct efa_job *job = &admin->job;

	for (unsigned int i = 0; i < COMMANDS_PER_SLICE; i++) {
		int status;

		if (!job->running) {
			if (!admin->aq_depth || !admin->acq_depth ||
			    admin->aq_taken == admin->aq_posted)
				return false;
			if (!take_entry(efa, job) || !job->running)
				continue;
		}
		status = efa_cmd_run(efa, job);
		if (status == EFA_JOB_MORE)
			return true;
		finish(efa, job, status);
	}
	return job->running || admin->aq_taken != admin->aq_posted;
}

bool efa_admin_work(struct efa *efa, uint64_t *when)
{
	bool more = do_commands(efa);

	/* after the commands: they may start a clock */
	*when = efa_sooner(keepalive(efa), send_late(efa));
	return more;
}

/* ---- events ------------------------------------------------------------ */

static bool put_event(struct efa *efa, unsigned int group, unsigned int syndrome)
{
	struct efa_admin *admin = &efa->admin;
	const size_t flags = offsetof(struct efa_aenq_entry, flags);
	uint64_t now = model_now(&efa->dev);
	struct efa_aenq_entry event = {
		.group = htole16(group),
		.syndrome = htole16(syndrome),
		.timestamp_lo = htole32(now),
		.timestamp_hi = htole32(now >> 32),
	};
	uint32_t count = admin->aenq_produced;
	uint64_t to;

	to = admin->aenq_base + (uint64_t)(count % admin->aenq_depth) * sizeof(event);
	admin->aenq_produced++;
	efa->tally.aenq_events++;

	/* phase last, as for completions */
	if (model_dma_write(&efa->dev, to, &event, flags) ||
	    model_dma_write(&efa->dev, to + flags + 1, (char *)&event + flags + 1,
			    sizeof(event) - flags - 1))
		goto fault;
	model_wmb(&efa->dev);
	event.flags = count / admin->aenq_depth & 1 ? 0 : EFA_AENQ_PHASE;
	if (model_dma_write(&efa->dev, to + flags, &event.flags, 1))
		goto fault;
	efa_admin_irq(efa, admin->aenq_vector);
	return true;
fault:
	model_violation(&efa->dev, "AENQ entry at 0x%" PRIx64 " is not memory of the guest", to);
	return false;
}

bool efa_aenq_event(struct efa *efa, unsigned int group, unsigned int syndrome)
{
	struct efa_admin *admin = &efa->admin;

	if (!admin->aenq_depth || (group < 32 && !(admin->aenq_enabled >> group & 1)))
		return false;
	if (admin->aenq_produced - admin->aenq_consumed >= admin->aenq_depth) {
		efa->tally.aenq_dropped++;
		return false;
	}
	return put_event(efa, group, syndrome);
}

bool efa_aenq_overrun(struct efa *efa, unsigned int group, unsigned int syndrome)
{
	struct efa_admin *admin = &efa->admin;

	if (!admin->aenq_depth || !put_event(efa, group, syndrome))
		return false;
	/* so that the count which the driver gives back next is not found impossible */
	if (admin->aenq_produced - admin->aenq_consumed > admin->aenq_depth)
		admin->aenq_overrun = true;
	return true;
}
