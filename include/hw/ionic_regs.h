/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * AMD Pensando ionic adapter: PCI identity, registers (BAR 0) and doorbells.
 *
 * One copy for driver, library and model. Registers are little-endian; offsets
 * are bytes. A mask names the bits of a field; its shift is the position of its
 * lowest bit, so FIELD_GET() in the kernel and HW_GET() elsewhere take it as it
 * is.
 *
 * Source of every fact: Documentation/hw/ionic.rst.
 */
#ifndef DVQ_HW_IONIC_REGS_H
#define DVQ_HW_IONIC_REGS_H

#define IONIC_PCI_VENDOR		0x1dd8
#define IONIC_PCI_DEVICE_PF		0x1002
#define IONIC_PCI_DEVICE_VF		0x1003

/* PCI numbers of the three 64-bit BARs */
#define IONIC_BAR_REGS			0	/* this file */
#define IONIC_BAR_DOORBELLS		2	/* a page per LIF and process id */
#define IONIC_BAR_CMB			4	/* controller memory, optional */
#define IONIC_BAR_REGS_MIN		0x8000	/* smaller ones are refused */

/* ---- device information, read-only ------------------------------------------------ */

#define IONIC_REG_SIGNATURE		0x0000	/* 32 bits */
#define IONIC_REG_INFO_VERSION		0x0004	/* 8 bits */
#define IONIC_REG_ASIC_TYPE		0x0005	/* 8 bits */
#define IONIC_REG_ASIC_REV		0x0006	/* 8 bits */
#define IONIC_REG_FW_STATUS		0x0007	/* 8 bits */
#define IONIC_REG_FW_HEARTBEAT		0x0008	/* 32 bits; constant 0: none */
#define IONIC_REG_FW_VERSION		0x000c	/* text, zero-padded */
#define IONIC_REG_SERIAL		0x002c	/* text, zero-padded */
#define IONIC_REG_TEXT_SIZE		32
#define IONIC_REG_INFO_END		0x0800

#define IONIC_SIGNATURE			0x44455649

enum ionic_asic {
	IONIC_ASIC_NONE			= 0,
	IONIC_ASIC_CAPRI		= 1,
	IONIC_ASIC_ELBA			= 2,
	IONIC_ASIC_GIGLIO		= 3,
	IONIC_ASIC_SALINA		= 4,
};

/* FW_STATUS; all ones is a failed read */
#define IONIC_FW_RUNNING		0x01
#define IONIC_FW_GENERATION		0xf0	/* another value: restarted */

/* ---- device command --------------------------------------------------------------- */

#define IONIC_REG_DEVCMD_DOORBELL	0x0800	/* 1 starts the command, 0 does nothing */
#define IONIC_REG_DEVCMD_DONE		0x0804
#define IONIC_REG_DEVCMD_REQ		0x0808	/* struct ionic_req */
#define IONIC_REG_DEVCMD_RESP		0x0848	/* struct ionic_resp */
#define IONIC_REG_DEVCMD_DATA		0x0888	/* side data both ways */
#define IONIC_REG_DEVCMD_END		0x1000
#define IONIC_DEVCMD_DATA_SIZE		1912

#define IONIC_DEVCMD_DONE_BIT		0x00000001

/* ---- interrupts ------------------------------------------------------------------- */

#define IONIC_REG_INTR_STATUS		0x1000	/* 64 bits, not used */

/* one set of registers per interrupt */
#define IONIC_REG_INTR(index)		(0x2000 + IONIC_INTR_STRIDE * (index))
#define IONIC_INTR_STRIDE		32
#define IONIC_INTR_COAL_INIT		0x00	/* device units, 0: none */
#define IONIC_INTR_MASK			0x04	/* 1: masked */
#define IONIC_INTR_CREDITS		0x08
#define IONIC_INTR_MASK_ASSERT		0x0c	/* goes to MASK when the interrupt fires */
#define IONIC_INTR_COAL			0x10	/* time left */

#define IONIC_INTR_COAL_MAX		0x3f
/* CREDITS: read, the entries not yet given back; written, those given back */
#define IONIC_INTR_CREDIT_COUNT		0x0000ffff /* signed */
#define IONIC_INTR_UNMASK		0x00010000
#define IONIC_INTR_RESET_COAL		0x00020000

/* ---- doorbells: 64-bit stores to BAR 2 -------------------------------------------- */

/*
 * The page says for which LIF and process id (pid), the place within the page
 * for which type of queue: page (hw_lif * pages_per_lif + pid), bytes 8 * qtype.
 * Pages have the size of the host's.
 */
#define IONIC_DB_STRIDE			8
#define IONIC_DB_INDEX			0x000000000000ffffull /* wrapped to the ring size */
#define IONIC_DB_RING			0x0000000000070000ull
#define IONIC_DB_SCHED			0x0000000000780000ull /* express only */
#define IONIC_DB_QID			0x0000ffffff000000ull
#define IONIC_DB_QTYPE			0x00ff000000000000ull /* express only */

#define IONIC_DB_SCHED_EXPRESS		0xb	/* scheduler: set; producer index: set */

/* IONIC_DB_RING */
#define IONIC_DB_RING_PROD		0	/* queue: producer; CQ: where the host reads */
#define IONIC_DB_RING_CQ_ARM		1	/* count of arms for any completion */
#define IONIC_DB_RING_CQ_ARM_SOL	2	/* count of arms for solicited completions */

#endif /* DVQ_HW_IONIC_REGS_H */
