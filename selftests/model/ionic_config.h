/* SPDX-License-Identifier: GPL-2.0 */
/* What a modelled ionic adapter is and how it behaves: one number per trait. */
#ifndef IONIC_CONFIG_H
#define IONIC_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <hw/ionic_regs.h>

#define IONIC_MAC_SIZE		6
#define IONIC_PAGE		4096
#define IONIC_CMB_WINDOW	(8u << 20)	/* bytes of a window that drivers discover */

/* queue kinds whose slots in controller memory ring by themselves; option expdb */
#define IONIC_EXPRESS_SQ	1
#define IONIC_EXPRESS_RQ	2

/**
 * struct ionic_config - traits of one adapter
 *
 * The first part is told to the driver by registers and identities, the second
 * is not. Every number can be given as an option of the same name.
 *
 * @queues: pairs of transmit and receive queues
 * @dbpages: doorbell pages of the LIF
 * @cmb: bytes of plain controller memory, 0: no BAR 4
 * @strides: bit n: there is an express window for slots of 64 << n bytes
 * @hw_lif: the number that doorbell pages are counted from
 * @page_table: page table entries for MRs; @mrs, @ahs, @aqs, @qps, @cqs, @eqs:
 *	as many of them
 * @routed: there is a router between this adapter and the others
 * @strict: no mapped memory, every store to controller memory is looked at
 */
struct ionic_config {
	uint64_t device_id, asic, asic_rev;
	uint64_t vectors, dbpages, coal_mult, coal_div;
	uint64_t queues, notifyq, filters, rss_table, mtu, link_gbps;
	uint64_t features;
	uint64_t rdma, rdma_version, rdma_minor, qp_opcodes, admin_opcodes;
	uint64_t page_table, mrs, ahs, max_stride, pipeline_shift, page_sizes;
	uint64_t aqs, qps, cqs, eqs, rdma_stats;
	uint64_t cmb, expdb, strides;

	uint64_t hw_lif;
	uint64_t seed, reorder, routed;

	bool strict;
	uint8_t mac[IONIC_MAC_SIZE];
	char fw[IONIC_REG_TEXT_SIZE + 1];
	char serial[IONIC_REG_TEXT_SIZE + 1];
};

/* are there express windows, so that the driver has to ask for the layout? */
static inline bool ionic_has_windows(const struct ionic_config *config)
{
	return config->cmb && config->strides;
}

/**
 * ionic_config_parse() - traits from "key=value" options
 *
 * Returns 0, or -EINVAL with one sentence in @err that says what would be right.
 */
int ionic_config_parse(struct ionic_config *config, const char *name, char **options, FILE *err);

/* changes traits that may change while the adapter runs; all or none of them */
int ionic_config_set(struct ionic_config *config, char **words, FILE *err);

#endif /* IONIC_CONFIG_H */
