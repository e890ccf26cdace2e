// SPDX-License-Identifier: GPL-2.0
/*
 * The four adapters of table 8.3 of Documentation/hw/efa.rst, and the options
 * that change any of their numbers.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <hw/efa_admin.h>
#include <hw/efa_io.h>
#include <hw/efa_regs.h>
#include "device.h"
#include "efa_config.h"
#include "option.h"

#define FEATURE(id)	(1u << EFA_FEATURE_##id)
#define FEATURES_BASE	(FEATURE(DEVICE_ATTR) | FEATURE(AENQ_CONFIG) | FEATURE(NETWORK_ATTR) | \
			 FEATURE(QUEUE_ATTR_1) | FEATURE(HW_HINTS) | FEATURE(HOST_INFO))
#define FEATURES_EQ	(FEATURES_BASE | FEATURE(EVENT_QUEUE_ATTR))
#define FEATURES_WIDE	(FEATURES_EQ | FEATURE(QUEUE_ATTR_2))

#define CAPS_EFA1	(EFA_DEV_CAP_RDMA_READ | EFA_DEV_CAP_RNR_RETRY | EFA_DEV_CAP_RDMA_WRITE)
#define CAPS_EFA2	(CAPS_EFA1 | EFA_DEV_CAP_DATA_POLLING_128 | EFA_DEV_CAP_UNSOLICITED)
#define CAPS_EFA3	(CAPS_EFA1 | EFA_DEV_CAP_UNSOLICITED)

/* same in every column */
#define COMMON								\
	.ctrl_version = 0x01000001, .reset_timeout = 10,		\
	.page_size_cap = 0xfffff000,					\
	.fw_version = 1, .api_version = 1, .device_version = 1,		\
	.db_bar = 4, .max_qp = 256,					\
	.max_rq_depth = 32768, .max_llq_size = 262144,			\
	.max_cq = 512, .max_cq_depth = 32768, .inline_size = 32,	\
	.send_sges = 2, .recv_sges = 3, .rdma_sges = 1,			\
	.max_pd = 256, .max_ah = 1024, .mtu = 8928,			\
	.aenq_groups = EFA_AENQ_GROUPS,					\
	.vectors = 33, .max_uar = 256, .keepalive_ms = 1000,		\
	.reorder = EFA_REORDER_DEFAULT,					\
	.ack_ms = 50, .ack_tries = 8, .rnr_ms = 1,			\
	.qpn_base = 1, .cq_doorbells = 1, .ud_grh = 1, .mbz = true

#define COMMON_EQ							\
	.max_eq = 32, .max_eq_depth = 1024, .eq_events = EFA_EQ_EVENT_COMPLETION, \
	.max_rdma_size = 1u << 30, .network_stats = 1

static const struct efa_profile {
	const char *name;
	struct efa_config config;
} profiles[] = {
	{ "efa0", {
		COMMON,
		.device_id = EFA_PCI_DEVICE_EFA0, .version = 1, .dma_width = 48,
		.features = FEATURES_BASE, .phys_width = 48, .virt_width = 48,
		.link_gbps = 100, .sub_cqs = 1, .max_sq_depth = 4096,
		.max_mr = 262144, .max_mr_pages = 25165824,
	} },
	{ "efa1", {
		COMMON, COMMON_EQ,
		.device_id = EFA_PCI_DEVICE_EFA1, .version = 1, .dma_width = 48,
		.features = FEATURES_EQ, .phys_width = 48, .virt_width = 48,
		.device_caps = CAPS_EFA1, .link_gbps = 100, .sub_cqs = 2, .max_sq_depth = 4096,
		.max_mr = 262144, .max_mr_pages = 25165824,
	} },
	{ "efa2", {
		COMMON, COMMON_EQ,
		.device_id = EFA_PCI_DEVICE_EFA2, .version = 1, .dma_width = 52,
		.features = FEATURES_EQ, .phys_width = 52, .virt_width = 57,
		.device_caps = CAPS_EFA2, .guid = 1, .link_gbps = 200, .sub_cqs = 2,
		.max_sq_depth = 4096, .max_mr = 262144, .max_mr_pages = 50331648,
		.max_tx_batch = 16, .ic_validity = 7,
	} },
	{ "efa3", {
		COMMON, COMMON_EQ,
		.device_id = EFA_PCI_DEVICE_EFA3, .version = EFA_VERSION_CHECKSUM,
		.dma_width = 52, .features = FEATURES_WIDE,
		.phys_width = 52, .virt_width = 57,
		.device_caps = CAPS_EFA3, .guid = 1, .link_gbps = 400, .sub_cqs = 1,
		.max_sq_depth = 2048, .min_sq_depth = 32,
		.inline_size_ex = EFA_WQE_INLINE_WIDE, .max_mr = 524288,
		.max_mr_pages = 50331648, .max_tx_batch = 16, .ic_validity = 7,
	} },
};

/*
 * Every number, its name and the largest value that the layouts or the model
 * can carry. A value that makes no sense to a driver is welcome: that is how
 * drivers are tested.
 */
static const struct trait {
	const char *key;
	size_t offset;
	uint64_t max;
	bool live;		/* may be changed later */
} traits[] = {
#define TRAIT(field, max)	{ #field, offsetof(struct efa_config, field), max, false }
#define LIVE(field, max)	{ #field, offsetof(struct efa_config, field), max, true }
	TRAIT(device_id, 0xffff),
	LIVE(version, 0xffff), LIVE(ctrl_version, 0xffffffff),
	LIVE(reset_timeout, 31), LIVE(admin_timeout, 15), LIVE(dma_width, 255),
	LIVE(features, UINT64_MAX), LIVE(page_size_cap, UINT64_MAX),
	LIVE(fw_version, 0xffffffff), LIVE(api_version, 0xffffffff),
	LIVE(device_version, 0xffffffff),
	LIVE(db_bar, 0xffff), TRAIT(phys_width, 255), TRAIT(virt_width, 255),
	LIVE(device_caps, 0xffffffff), TRAIT(max_rdma_size, 0xffffffff),
	TRAIT(guid, UINT64_MAX), LIVE(link_gbps, 0xffff),
	TRAIT(max_qp, 512), TRAIT(max_sq_depth, 16384), TRAIT(min_sq_depth, 16384),
	TRAIT(max_rq_depth, 32768), TRAIT(max_llq_size, 1 << 20),
	TRAIT(max_cq, 1024), TRAIT(max_cq_depth, 65536), TRAIT(sub_cqs, 8),
	TRAIT(inline_size, 32), TRAIT(inline_size_ex, 80),
	TRAIT(send_sges, 2), TRAIT(recv_sges, 16), TRAIT(rdma_sges, 0xffff),
	TRAIT(max_tx_batch, 0xffff),
	TRAIT(max_mr, (1 << 20) - 1), TRAIT(max_mr_pages, 0xffffffff),
	TRAIT(max_pd, 65535), TRAIT(max_ah, 65535),
	TRAIT(ic_validity, 7), TRAIT(mtu, 16384),
	TRAIT(max_eq, 255), TRAIT(max_eq_depth, 65536), TRAIT(eq_events, 0xffffffff),
	LIVE(aenq_groups, 0xffffffff),
	LIVE(mmio_hint, 0xffff), LIVE(watchdog_hint, 0xffff),
	LIVE(admin_hint, 0xffff), LIVE(poll_hint, 0xffff),
	TRAIT(counter_events, 0xffffffff), TRAIT(max_counters, 4096),
	TRAIT(counter_max, UINT64_MAX),
	TRAIT(vectors, 256), TRAIT(max_uar, 512), TRAIT(total_pages, 1ull << 32),
	LIVE(network_stats, 1),
	LIVE(reset_on_ms, 60000), LIVE(reset_off_ms, 60000),
	LIVE(keepalive_ms, 3600000),
	TRAIT(seed, UINT64_MAX), TRAIT(reorder, 64),
	LIVE(ack_ms, 60000), LIVE(ack_tries, 1000),
	LIVE(rnr_ms, 60000), LIVE(rnr_default, 7),
	LIVE(single_ah, 1), TRAIT(qpn_base, 0xffff), TRAIT(qpn_reuse, 1),
	LIVE(flush_on_destroy, 1), TRAIT(cq_doorbells, 1), LIVE(cq_overwrite, 1),
	LIVE(ud_grh, 1),
};

#define TRAITS	(sizeof(traits) / sizeof(traits[0]))

enum text_key { PROFILE, NEWEST, MODE, DOORBELL, MBZ, RKEY, GID, TEXT_KEYS };

static const char *const text_keys[TEXT_KEYS] = {
	[PROFILE] = "profile", [NEWEST] = "newest", [MODE] = "mode", [DOORBELL] = "doorbell",
	[MBZ] = "mbz", [RKEY] = "rkey", [GID] = "gid",
};

static uint64_t *number(struct efa_config *config, const struct trait *trait)
{
	return (uint64_t *)((char *)config + trait->offset);
}

/* what the later interface adds (appendix B of the sheet) */
static void add_newest(struct efa_config *config)
{
	config->features |= FEATURE(QUEUE_ATTR_2);
	config->device_caps |= EFA_DEV_CAP_64BIT_IDS | EFA_DEV_CAP_EVENT_COUNTERS;
	config->counter_events = 0x3ff;
	config->max_counters = 128;
	config->counter_max = UINT64_MAX;
	if (!config->inline_size_ex)
		config->inline_size_ex = config->inline_size;
}

/* FNV-1a: names differ in their last letters, so must all bits of the result */
static uint64_t hash_name(const char *name)
{
	uint64_t hash = 0xcbf29ce484222325;

	while (*name)
		hash = (hash ^ (uint8_t)*name++) * 0x100000001b3;
	return hash ^ hash >> 29;
}

/* link-local, with the suffix an Ethernet address would give: the U/L bit and ff:fe */
static void default_gid(struct efa_config *config, const char *name)
{
	uint64_t hash = hash_name(name);
	uint8_t *gid = config->gid;

	memset(gid, 0, EFA_GID_SIZE);
	gid[0] = 0xfe;
	gid[1] = 0x80;
	for (unsigned int i = 0; i < 8; i++)
		gid[8 + i] = hash >> 8 * i;
	gid[8] = (gid[8] & ~1) | 2;
	gid[11] = 0xff;
	gid[12] = 0xfe;
}

/* one of two words, or not given: *@value stays */
static int choice(const struct option_key *key, const char *no, const char *yes, bool *value,
		  FILE *err)
{
	if (!key->value)
		return 0;
	if (strcmp(key->value, no) && strcmp(key->value, yes)) {
		fprintf(err, "%s must be %s or %s, not '%s'", key->key, no, yes, key->value);
		return -EINVAL;
	}
	*value = !strcmp(key->value, yes);
	return 0;
}

static const struct efa_profile *find_profile(const char *name, FILE *err)
{
	const unsigned int n = sizeof(profiles) / sizeof(profiles[0]);

	if (!name)
		return &profiles[n - 1];
	for (unsigned int i = 0; i < n; i++)
		if (!strcmp(profiles[i].name, name))
			return &profiles[i];
	fprintf(err, "profile must be efa0, efa1, efa2 or efa3, not '%s'", name);
	return NULL;
}

static int parse_gid(struct efa_config *config, const char *text, const char *name, FILE *err)
{
	default_gid(config, name);
	if (text && inet_pton(AF_INET6, text, config->gid) != 1) {
		fprintf(err, "gid must be an IPv6 address, not '%s'", text);
		return -EINVAL;
	}
	return 0;
}

static bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* what the model itself cannot be without */
static int check(const struct efa_config *config, FILE *err)
{
	if (!config->max_qp || !config->max_cq || !config->max_uar || !config->max_pd ||
	    !config->max_ah || !config->max_mr || !config->sub_cqs || !config->vectors ||
	    !config->mtu || !config->ack_ms || !config->ack_tries || !config->rnr_ms) {
		fputs("max_qp, max_cq, max_uar, max_pd, max_ah, max_mr, sub_cqs, vectors, mtu, "
		      "ack_ms, ack_tries and rnr_ms must be at least 1", err);
		return -EINVAL;
	}
	if (config->max_llq_size && (!power_of_two(config->max_llq_size) ||
				     config->max_llq_size < EFA_WQE_SIZE)) {
		fputs("max_llq_size must be 0 or a power of two from 64", err);
		return -EINVAL;
	}
	if (config->polled && config->db_bar != 0 && config->db_bar != 2 && config->db_bar != 4) {
		fputs("doorbell=poll needs a doorbell BAR: db_bar 0, 2 or 4", err);
		return -EINVAL;
	}
	if (config->strict && config->polled) {
		fputs("doorbell=poll maps the doorbells, mode=strict maps nothing: "
		      "one of them", err);
		return -EINVAL;
	}
	return 0;
}

int efa_config_parse(struct efa_config *config, const char *name, char **options, FILE *err)
{
	struct option_key keys[TRAITS + TEXT_KEYS + 1] = { 0 };
	struct option_key *text = keys + TRAITS;
	const struct efa_profile *profile;

	for (unsigned int i = 0; i < TRAITS; i++)
		keys[i].key = traits[i].key;
	for (unsigned int i = 0; i < TEXT_KEYS; i++)
		text[i].key = text_keys[i];
	if (option_parse(keys, options, err))
		return -EINVAL;

	profile = find_profile(text[PROFILE].value, err);
	if (!profile)
		return -EINVAL;
	*config = profile->config;
	if (parse_gid(config, text[GID].value, name, err) ||
	    choice(&text[NEWEST], "0", "1", &config->newest, err) ||
	    choice(&text[MODE], "fast", "strict", &config->strict, err) ||
	    choice(&text[DOORBELL], "trap", "poll", &config->polled, err) ||
	    choice(&text[MBZ], "lax", "strict", &config->mbz, err) ||
	    choice(&text[RKEY], "same", "distinct", &config->distinct_rkeys, err))
		return -EINVAL;

	config->seed = hash_name(name);
	if (config->guid)
		config->guid = hash_name(name) | 2;
	if (config->newest)
		add_newest(config);
	for (unsigned int i = 0; i < TRAITS; i++)
		if (option_number(&keys[i], traits[i].max, number(config, &traits[i]), err))
			return -EINVAL;
	if (!config->total_pages)
		config->total_pages = config->max_mr_pages;
	return check(config, err);
}

int efa_config_set(struct efa_config *config, char **options, FILE *err)
{
	struct option_key keys[TRAITS + 1] = { 0 };
	unsigned int n = 0;

	for (unsigned int i = 0; i < TRAITS; i++)
		if (traits[i].live)
			keys[n++].key = traits[i].key;
	if (option_parse(keys, options, err))
		return -EINVAL;
	n = 0;
	for (unsigned int i = 0; i < TRAITS; i++)
		if (traits[i].live &&
		    option_number(&keys[n++], traits[i].max, number(config, &traits[i]), err))
			return -EINVAL;
	return check(config, err);
}

int efa_config_get(const struct efa_config *config, const char *key, FILE *out)
{
	struct efa_config copy = *config;

	for (unsigned int i = 0; key && i < TRAITS; i++) {
		if (!strcmp(traits[i].key, key)) {
			fprintf(out, "%" PRIu64, *number(&copy, &traits[i]));
			return 0;
		}
	}
	fputs("want the name of one option that is a number", out);
	return -EINVAL;
}
