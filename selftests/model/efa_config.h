/* SPDX-License-Identifier: GPL-2.0 */
/* What a modelled EFA adapter is and how it behaves: one number per trait. */
#ifndef EFA_CONFIG_H
#define EFA_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define EFA_GID_SIZE	16

/*
 * How many packets may overtake one of an SRD sender by default. Enough that
 * messages posted together hardly ever arrive in order.
 */
#define EFA_REORDER_DEFAULT	4

/**
 * struct efa_config - traits of one adapter, all in host order
 *
 * The first part is what the adapter tells its driver (a column of table 8.3 of
 * Documentation/hw/efa.rst), the second how the model behaves. Every number can
 * be given as an option of the same name.
 */
struct efa_config {
	/* told by registers and features */
	uint64_t device_id;
	uint64_t version, ctrl_version;
	uint64_t reset_timeout, admin_timeout;	/* units of 100 ms */
	uint64_t dma_width;
	uint64_t features, page_size_cap;
	uint64_t fw_version, api_version, device_version;
	uint64_t db_bar, phys_width, virt_width;
	uint64_t device_caps, max_rdma_size, guid, link_gbps;
	uint64_t max_qp, max_sq_depth, min_sq_depth, max_rq_depth, max_llq_size;
	uint64_t max_cq, max_cq_depth, sub_cqs;
	uint64_t inline_size, inline_size_ex;
	uint64_t send_sges, recv_sges, rdma_sges, max_tx_batch;
	uint64_t max_mr, max_mr_pages, max_pd, max_ah;
	uint64_t ic_validity;		/* EFA_MR_IC_* that REG_MR tells */
	uint64_t mtu;
	uint64_t max_eq, max_eq_depth, eq_events, aenq_groups;
	uint64_t mmio_hint, watchdog_hint, admin_hint, poll_hint;	/* ms */
	uint64_t counter_events, max_counters, counter_max;

	/* not told */
	uint64_t vectors, max_uar;
	uint64_t total_pages;		/* page list entries of all MRs together */
	uint64_t network_stats;		/* statistics of type 4 are counted */
	uint64_t reset_on_ms, reset_off_ms; /* delay of both edges of the handshake */
	uint64_t keepalive_ms;
	uint64_t seed, reorder;
	uint64_t ack_ms, ack_tries;	/* retransmission; then the peer is given up */
	uint64_t rnr_ms;		/* wait of a sender whose peer was not ready */
	uint64_t rnr_default;		/* retries of a QP that was told none */
	uint64_t single_ah;		/* refuse a second AH of one PD and GID */
	uint64_t qpn_base, qpn_reuse;
	uint64_t flush_on_destroy;
	uint64_t cq_doorbells;		/* 0: only CQs in interrupt mode have one */
	uint64_t cq_overwrite;		/* 1: a full CQ loses the old entry, not the new */
	/*
	 * choice: UD receive buffers begin with the 40 bytes that verbs reserve for
	 * a routing header. No driver tells, but rdma-core's tests and libfabric
	 * count on it.
	 */
	uint64_t ud_grh;

	bool newest;			/* the later interface too */
	bool strict;			/* no mapped memory, every store is looked at */
	bool polled;			/* SQ and RQ doorbells are mapped */
	bool mbz;			/* reserved fields are checked */
	bool distinct_rkeys;
	uint8_t gid[EFA_GID_SIZE];
};

/**
 * efa_config_parse() - traits from "key=value" options
 *
 * Returns 0, or -EINVAL with one sentence in @err that says what would be right.
 */
int efa_config_parse(struct efa_config *config, const char *name, char **options, FILE *err);

/* changes one trait of a running adapter; only those that nothing was sized by */
int efa_config_set(struct efa_config *config, char **options, FILE *err);

/* writes what one trait is now; -EINVAL with one sentence if there is no such */
int efa_config_get(const struct efa_config *config, const char *key, FILE *out);

#endif /* EFA_CONFIG_H */
