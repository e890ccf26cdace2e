// SPDX-License-Identifier: GPL-2.0
/*
 * Register file (BAR 0). A driver only stores; the four registers that it needs
 * to read are asked for through MMIO_REG_READ and answered by DMA.
 */
#include <endian.h>
#include <string.h>

#include "efa.h"

#define REG(efa, off)	((efa)->regs.word[(off) / 4])

static const char *const names[EFA_REG_COUNT] = {
#define NAME(reg)	[EFA_REG_##reg / 4] = #reg
	NAME(VERSION), NAME(CONTROLLER_VERSION), NAME(CAPS),
	NAME(AQ_BASE_LO), NAME(AQ_BASE_HI), NAME(AQ_CAPS),
	NAME(ACQ_BASE_LO), NAME(ACQ_BASE_HI), NAME(ACQ_CAPS), NAME(AQ_PROD_DB),
	NAME(AENQ_CAPS), NAME(AENQ_BASE_LO), NAME(AENQ_BASE_HI), NAME(AENQ_CONS_DB),
	NAME(INTR_MASK), NAME(DEV_CTL), NAME(DEV_STS), NAME(MMIO_REG_READ),
	NAME(MMIO_RESP_LO), NAME(MMIO_RESP_HI), NAME(EQ_DB),
};

static bool read_only(uint64_t off)
{
	return off == EFA_REG_VERSION || off == EFA_REG_CONTROLLER_VERSION ||
	       off == EFA_REG_CAPS || off == EFA_REG_DEV_STS;
}

void efa_regs_reset(struct efa *efa)
{
	struct efa_regs *regs = &efa->regs;

	memset(regs->word, 0, sizeof(regs->word));
	/* choice: silent until the driver says otherwise */
	REG(efa, EFA_REG_INTR_MASK) = EFA_INTR_MASK_EN;
	regs->resp_addr = 0;
	regs->nreads = 0;
	regs->status = EFA_DEV_STS_READY;
	regs->reset = EFA_RESET_IDLE;
	regs->reset_when = 0;
}

static uint32_t caps(const struct efa_config *config)
{
	return HW_PREP(EFA_CAPS_RESET_TIMEOUT, (uint32_t)config->reset_timeout) |
	       HW_PREP(EFA_CAPS_DMA_WIDTH, (uint32_t)config->dma_width) |
	       HW_PREP(EFA_CAPS_ADMIN_TIMEOUT, (uint32_t)config->admin_timeout);
}

static uint32_t reg_value(struct efa *efa, uint32_t off)
{
	switch (off) {
	case EFA_REG_VERSION:
		return efa->config.version;
	case EFA_REG_CONTROLLER_VERSION:
		return efa->config.ctrl_version;
	case EFA_REG_CAPS:
		return caps(&efa->config);
	case EFA_REG_DEV_STS:
		return efa->regs.not_ready ? efa->regs.status & ~EFA_DEV_STS_READY :
					     efa->regs.status;
	}
	model_violation(&efa->dev, "register read of 0x%x: only VERSION, CONTROLLER_VERSION, CAPS "
			"and DEV_STS can be read", off);
	return 0xffffffff;
}

/* the id is what the driver polls, so it comes last: pairs with its dma_rmb() */
static void answer_read(struct efa *efa, uint64_t to, const struct efa_mmio_resp *resp)
{
	const size_t id = sizeof(resp->req_id);

	if (model_dma_write(&efa->dev, to + id, (const char *)resp + id, sizeof(*resp) - id))
		goto fault;
	model_wmb(&efa->dev);
	if (!model_dma_write(&efa->dev, to, &resp->req_id, id))
		return;
fault:
	model_violation(&efa->dev, "MMIO_RESP at 0x%llx is not memory: register reads need an "
			"8-byte buffer of the guest", (unsigned long long)to);
}

static void do_read(struct efa *efa, uint32_t word)
{
	uint32_t off = HW_GET(EFA_MMIO_READ_REG_OFF, word);
	struct efa_mmio_resp resp = {
		.req_id = htole16(HW_GET(EFA_MMIO_READ_REQ_ID, word)),
		.reg_off = htole16(off),
		.reg_val = htole32(reg_value(efa, off)),
	};
	struct inject_hit hit;

	efa->tally.reg_reads++;
	if (inject_match(&efa->dev, "reg_read", &hit)) {
		if (hit.action == INJECT_DROP)
			return;
		if (hit.action == INJECT_CORRUPT)
			resp.reg_off = htole16(off + 4);
		if (hit.action == INJECT_FAIL)
			resp.reg_val = htole32(hit.status);
	}
	answer_read(efa, efa->regs.resp_addr, &resp);
}

static void want_read(struct efa *efa, uint32_t word)
{
	struct efa_regs *regs = &efa->regs;

	if (!regs->resp_addr) {
		model_violation(&efa->dev, "MMIO_REG_READ without MMIO_RESP: a reset clears the "
				"address, write it again first");
		return;
	}
	if (regs->nreads == EFA_READS_MAX)
		return;		/* a driver that gave up waiting; so do we */
	regs->reads[regs->nreads++] = word;
	model_kick(&efa->dev);
}

static void set_resp_addr(struct efa *efa, uint32_t lo)
{
	uint64_t addr = (uint64_t)REG(efa, EFA_REG_MMIO_RESP_HI) << 32 | lo;

	if (addr % sizeof(struct efa_mmio_resp)) {
		model_violation(&efa->dev, "MMIO_RESP 0x%llx is not a multiple of 8",
				(unsigned long long)addr);
		addr = 0;
	}
	efa->regs.resp_addr = addr;
}

static void begin_reset(struct efa *efa)
{
	struct efa_regs *regs = &efa->regs;
	uint32_t ctl = REG(efa, EFA_REG_DEV_CTL);

	efa->tally.resets++;
	efa->tally.reset_reason = HW_GET(EFA_DEV_CTL_RESET_REASON, ctl);
	efa_forget_all(efa);
	memset(regs->word, 0, sizeof(regs->word));
	REG(efa, EFA_REG_INTR_MASK) = EFA_INTR_MASK_EN;
	REG(efa, EFA_REG_DEV_CTL) = ctl;
	regs->resp_addr = 0;
	regs->nreads = 0;
	regs->status &= EFA_DEV_STS_FATAL_ERROR;
	regs->reset = EFA_RESET_ENTERING;
	regs->reset_when = model_now(&efa->dev) + efa->config.reset_on_ms * EFA_NS_PER_MS;
}

static void write_dev_ctl(struct efa *efa, uint32_t old, uint32_t value)
{
	struct efa_regs *regs = &efa->regs;

	if (value & ~(EFA_DEV_CTL_RESET | EFA_DEV_CTL_RESET_REASON)) {
		model_violation(&efa->dev, "DEV_CTL = 0x%x: only dev_reset and reset_reason have a "
				"meaning", value);
		/* or the next store of dev_reset would be none */
		REG(efa, EFA_REG_DEV_CTL) = old;
		return;
	}
	if (value & ~old & EFA_DEV_CTL_RESET) {
		begin_reset(efa);
	} else if (old & ~value & EFA_DEV_CTL_RESET) {
		regs->reset = EFA_RESET_LEAVING;
		regs->reset_when = model_now(&efa->dev) + efa->config.reset_off_ms * EFA_NS_PER_MS;
	}
	model_kick(&efa->dev);
}

/* the edges of the handshake that are due; returns when the next one is */
static uint64_t reset_work(struct efa *efa)
{
	struct efa_regs *regs = &efa->regs;
	uint64_t now = model_now(&efa->dev);

	if (regs->reset == EFA_RESET_ENTERING && !regs->stuck_off) {
		if (now < regs->reset_when)
			return regs->reset_when;
		regs->status |= EFA_DEV_STS_RESET_BUSY;
		regs->reset = EFA_RESET_HELD;
	}
	if (regs->reset == EFA_RESET_LEAVING && !regs->stuck_on) {
		if (now < regs->reset_when)
			return regs->reset_when;
		regs->status = EFA_DEV_STS_READY | EFA_DEV_STS_RESET_DONE;
		regs->reset = EFA_RESET_IDLE;
	}
	return 0;
}

uint64_t efa_regs_work(struct efa *efa)
{
	struct efa_regs *regs = &efa->regs;
	uint64_t when = reset_work(efa);
	unsigned int n = regs->nreads;

	regs->nreads = 0;
	for (unsigned int i = 0; i < n; i++)
		do_read(efa, regs->reads[i]);
	return when;
}

static void dispatch(struct efa *efa, uint64_t off, uint32_t old, uint32_t value)
{
	switch (off) {
	case EFA_REG_AQ_CAPS:
		efa_admin_start_aq(efa);
		break;
	case EFA_REG_ACQ_CAPS:
		efa_admin_start_acq(efa);
		break;
	case EFA_REG_AENQ_CAPS:
		efa_admin_start_aenq(efa);
		break;
	case EFA_REG_AQ_PROD_DB:
		efa_admin_doorbell(efa, value);
		break;
	case EFA_REG_AENQ_CONS_DB:
		efa_aenq_doorbell(efa, value);
		break;
	case EFA_REG_INTR_MASK:
		if (value & ~EFA_INTR_MASK_EN)
			model_violation(&efa->dev, "INTR_MASK = 0x%x: only bit 0 is defined",
					value);
		break;
	case EFA_REG_DEV_CTL:
		write_dev_ctl(efa, old, value);
		break;
	case EFA_REG_MMIO_REG_READ:
		want_read(efa, value);
		break;
	case EFA_REG_MMIO_RESP_LO:
		set_resp_addr(efa, value);
		break;
	case EFA_REG_EQ_DB:
		efa_eq_doorbell(efa, value);
		break;
	}
}

void efa_reg_write(struct efa *efa, uint64_t off, unsigned int size, uint64_t value)
{
	uint32_t old;

	if (size != 4 || off % 4) {
		model_violation(&efa->dev, "%u-byte store to register offset 0x%llx: registers "
				"take aligned 4-byte stores", size, (unsigned long long)off);
		return;
	}
	if (off >= EFA_REGS_SIZE || !names[off / 4]) {
		model_violation(&efa->dev, "store of 0x%x to 0x%llx: there is no register",
				(uint32_t)value, (unsigned long long)off);
		return;
	}
	if (read_only(off)) {
		model_violation(&efa->dev, "store of 0x%x to %s, which is read-only",
				(uint32_t)value, names[off / 4]);
		return;
	}
	old = efa->regs.word[off / 4];
	efa->regs.word[off / 4] = value;
	dispatch(efa, off, old, value);
}
