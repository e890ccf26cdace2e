/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Amazon EFA adapter: PCI identity and register file (BAR 0).
 *
 * One copy for driver, library and model. All registers are 32 bits wide and
 * little-endian; offsets are bytes from the start of BAR 0. A mask names the
 * bits of a field; its shift is the position of its lowest bit, so FIELD_GET()
 * in the kernel and HW_GET() elsewhere take it as it is.
 *
 * Source of every fact: Documentation/hw/efa.rst.
 */
#ifndef DVQ_HW_EFA_REGS_H
#define DVQ_HW_EFA_REGS_H

#define EFA_PCI_VENDOR			0x1d0f
#define EFA_PCI_DEVICE_EFA0		0xefa0
#define EFA_PCI_DEVICE_EFA1		0xefa1
#define EFA_PCI_DEVICE_EFA2		0xefa2
#define EFA_PCI_DEVICE_EFA3		0xefa3
#define EFA_PCI_DEVICE_EFA4		0xefa4

#define EFA_BAR_REGS			0	/* this file */
#define EFA_BAR_LLQ			2	/* send rings of all QPs */
/* the doorbell BAR's index is told by the DEVICE_ATTR feature */

/* register offsets, bytes */
#define EFA_REG_VERSION			0x00	/* read by MMIO_REG_READ only */
#define EFA_REG_CONTROLLER_VERSION	0x04	/* read by MMIO_REG_READ only */
#define EFA_REG_CAPS			0x08	/* read by MMIO_REG_READ only */
#define EFA_REG_AQ_BASE_LO		0x10
#define EFA_REG_AQ_BASE_HI		0x14
#define EFA_REG_AQ_CAPS			0x18
#define EFA_REG_ACQ_BASE_LO		0x20
#define EFA_REG_ACQ_BASE_HI		0x24
#define EFA_REG_ACQ_CAPS		0x28
#define EFA_REG_AQ_PROD_DB		0x2c
#define EFA_REG_AENQ_CAPS		0x34
#define EFA_REG_AENQ_BASE_LO		0x38
#define EFA_REG_AENQ_BASE_HI		0x3c
#define EFA_REG_AENQ_CONS_DB		0x40
#define EFA_REG_INTR_MASK		0x4c
#define EFA_REG_DEV_CTL			0x54
#define EFA_REG_DEV_STS			0x58	/* read by MMIO_REG_READ only */
#define EFA_REG_MMIO_REG_READ		0x5c
#define EFA_REG_MMIO_RESP_LO		0x60
#define EFA_REG_MMIO_RESP_HI		0x64
#define EFA_REG_EQ_DB			0x68

/* VERSION */
#define EFA_VERSION_MINOR		0x000000ff
#define EFA_VERSION_MAJOR		0x0000ff00
#define EFA_VERSION_MIN			0x0001	/* 0.1: oldest admin interface */
#define EFA_VERSION_CHECKSUM		0x0002	/* 0.2: completions carry a CRC */

/* CONTROLLER_VERSION */
#define EFA_CTRL_VERSION_SUBMINOR	0x000000ff
#define EFA_CTRL_VERSION_MINOR		0x0000ff00
#define EFA_CTRL_VERSION_MAJOR		0x00ff0000
#define EFA_CTRL_VERSION_IMPL		0xff000000
#define EFA_CTRL_VERSION_MIN		0x000001 /* 0.0.1, without the impl byte */

/* CAPS */
#define EFA_CAPS_CONTIG_QUEUES		0x00000001
#define EFA_CAPS_RESET_TIMEOUT		0x0000003e	/* units of 100 ms, 0 invalid */
#define EFA_CAPS_DMA_WIDTH		0x0000ff00	/* address bits, 32..64 */
#define EFA_CAPS_ADMIN_TIMEOUT		0x000f0000	/* units of 100 ms, 0: driver default */
#define EFA_TIMEOUT_UNIT_MS		100

/* AQ_CAPS, ACQ_CAPS, AENQ_CAPS: depth in entries, entry size in bytes */
#define EFA_AQ_CAPS_DEPTH		0x0000ffff
#define EFA_AQ_CAPS_ENTRY_SIZE		0xffff0000
#define EFA_ACQ_CAPS_DEPTH		0x0000ffff
#define EFA_ACQ_CAPS_ENTRY_SIZE		0x00ff0000
#define EFA_ACQ_CAPS_VECTOR		0xff000000	/* MSI-X table index */
#define EFA_AENQ_CAPS_DEPTH		0x0000ffff
#define EFA_AENQ_CAPS_ENTRY_SIZE	0x00ff0000
#define EFA_AENQ_CAPS_VECTOR		0xff000000	/* MSI-X table index */

/* INTR_MASK */
#define EFA_INTR_MASK_EN		0x00000001	/* 1: vector 0 is silent */

/* DEV_CTL */
#define EFA_DEV_CTL_RESET		0x00000001
#define EFA_DEV_CTL_AQ_RESTART		0x00000002
#define EFA_DEV_CTL_RESET_REASON	0xf0000000

enum efa_reset_reason {
	EFA_RESET_NORMAL		= 0,
	EFA_RESET_KEEP_ALIVE		= 1,
	EFA_RESET_ADMIN_TIMEOUT		= 2,
	EFA_RESET_INIT_ERROR		= 3,
	EFA_RESET_INVALID_STATE		= 4,
	EFA_RESET_OS_TRIGGER		= 5,
	EFA_RESET_SHUTDOWN		= 6,
	EFA_RESET_USER_TRIGGER		= 7,
	EFA_RESET_GENERIC		= 8,
};

/* DEV_STS */
#define EFA_DEV_STS_READY		0x00000001
#define EFA_DEV_STS_AQ_RESTART_BUSY	0x00000002
#define EFA_DEV_STS_AQ_RESTART_DONE	0x00000004
#define EFA_DEV_STS_RESET_BUSY		0x00000008
#define EFA_DEV_STS_RESET_DONE		0x00000010
#define EFA_DEV_STS_FATAL_ERROR		0x00000020

/* MMIO_REG_READ */
#define EFA_MMIO_READ_REQ_ID		0x0000ffff
#define EFA_MMIO_READ_REG_OFF		0xffff0000	/* bytes */

/* EQ_DB */
#define EFA_EQ_DB_EQN			0x0000ffff
#define EFA_EQ_DB_ARM			0x80000000

#endif /* DVQ_HW_EFA_REGS_H */
