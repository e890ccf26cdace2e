// SPDX-License-Identifier: GPL-2.0
/* The adapters that can be had by name, and the options that change any of their numbers. */
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <hw/ionic_cmd.h>
#include <hw/ionic_identity.h>
#include <hw/ionic_rdma_admin.h>
#include <hw/ionic_rdma_io.h>
#include "ionic_config.h"
#include "option.h"

/* choice: the sheets give no numbers of shipping adapters; these are the ones they suggest */
#define COMMON								\
	.device_id = IONIC_PCI_DEVICE_PF, .asic_rev = 1,		\
	.vectors = 64, .dbpages = 64, .coal_mult = 1, .coal_div = 5,	\
	.queues = 4, .notifyq = 1, .filters = 32, .rss_table = 128,	\
	.mtu = 9198,							\
	.features = IONIC_FEAT_TX_SG | IONIC_FEAT_TX_CSUM | IONIC_FEAT_RX_CSUM

#define COMMON_RDMA							\
	.rdma = 1, .qp_opcodes = IONIC_V1_OPS, .admin_opcodes = IONIC_AQ_OPS, \
	.page_table = 65536, .mrs = 4096, .ahs = 1024, .max_stride = 9,	\
	.pipeline_shift = 3, .aqs = 4, .qps = 1024, .cqs = 1024, .eqs = 16, \
	.rdma_stats = IONIC_RDMA_STATS_PORT | IONIC_RDMA_STATS_QP,	\
	.cmb = IONIC_CMB_WINDOW

static const struct ionic_profile {
	const char *name;
	struct ionic_config config;
} profiles[] = {
	/* the newest: v2 opcodes, express doorbells of every stride */
	{ "salina", {
		COMMON, COMMON_RDMA,
		.asic = IONIC_ASIC_SALINA, .link_gbps = 400,
		.rdma_version = 2, .rdma_minor = 1, .page_sizes = IONIC_RDMA_PAGE_SIZES,
		.expdb = IONIC_EXPRESS_SQ | IONIC_EXPRESS_RQ, .strides = 0xf,
	} },
	/* the one before: v1 opcodes, plain controller memory only */
	{ "giglio", {
		COMMON, COMMON_RDMA,
		.asic = IONIC_ASIC_GIGLIO, .link_gbps = 200, .rdma_version = 1,
	} },
	/* no RDMA, no controller memory */
	{ "ethernet", {
		COMMON, .asic = IONIC_ASIC_SALINA, .link_gbps = 100,
	} },
};

#define PROFILES	(sizeof(profiles) / sizeof(profiles[0]))

/*
 * Every number, its name and the largest value that the layouts or the model
 * can carry; and whether it may change while the adapter runs: a driver reads it
 * when it probes, and nothing was sized by it. A value that makes no sense to a
 * driver is welcome: that is how drivers are tested.
 */
static const struct trait {
	const char *key;
	size_t offset;
	uint64_t max;
	bool live;
} traits[] = {
#define TRAIT(field, max)	{ #field, offsetof(struct ionic_config, field), max, false }
#define LIVE(field, max)	{ #field, offsetof(struct ionic_config, field), max, true }
	TRAIT(device_id, 0xffff), LIVE(asic, 0xff), LIVE(asic_rev, 0xff),
	TRAIT(vectors, 256), TRAIT(dbpages, 1024),
	LIVE(coal_mult, UINT32_MAX), LIVE(coal_div, UINT32_MAX),
	TRAIT(queues, 64), LIVE(notifyq, 1), TRAIT(filters, 1024), LIVE(rss_table, 1024),
	LIVE(mtu, 9198), LIVE(link_gbps, 1000),
	LIVE(features, IONIC_FEAT_TX_SG | IONIC_FEAT_TX_CSUM | IONIC_FEAT_RX_CSUM),
	TRAIT(rdma, 1), LIVE(rdma_version, 0xff), LIVE(rdma_minor, 0xff),
	LIVE(qp_opcodes, 0xff), LIVE(admin_opcodes, 0xff),
	LIVE(page_table, UINT32_MAX), TRAIT(mrs, 1 << 20), TRAIT(ahs, 1 << 16),
	LIVE(max_stride, 12), TRAIT(pipeline_shift, 16), LIVE(page_sizes, UINT64_MAX),
	TRAIT(aqs, 16), TRAIT(qps, 1 << 16), TRAIT(cqs, 1 << 16), TRAIT(eqs, 256),
	LIVE(rdma_stats, 3),
	TRAIT(strides, 0xf),
	TRAIT(hw_lif, 7),
	TRAIT(seed, UINT64_MAX), TRAIT(reorder, 64), LIVE(routed, 1),
};

#define TRAITS	(sizeof(traits) / sizeof(traits[0]))

enum text_key { PROFILE, MODE, MAC, FW, SERIAL, CMB, EXPDB, TEXT_KEYS };

static const char *const text_keys[TEXT_KEYS] = {
	[PROFILE] = "profile", [MODE] = "mode", [MAC] = "mac", [FW] = "fw", [SERIAL] = "serial",
	[CMB] = "cmb", [EXPDB] = "expdb",
};

static const struct ionic_profile *find_profile(const char *name, FILE *err)
{
	if (!name)
		return &profiles[0];
	for (unsigned int i = 0; i < PROFILES; i++)
		if (!strcmp(profiles[i].name, name))
			return &profiles[i];
	fprintf(err, "profile must be one of");
	for (unsigned int i = 0; i < PROFILES; i++)
		fprintf(err, " %s", profiles[i].name);
	fprintf(err, ", not '%s'", name);
	return NULL;
}

static uint64_t *number(struct ionic_config *config, const struct trait *trait)
{
	return (uint64_t *)((char *)config + trait->offset);
}

/* FNV-1a: names differ in their last letters, so must all bits of the result */
static uint64_t hash_name(const char *name)
{
	uint64_t hash = 0xcbf29ce484222325;

	while (*name)
		hash = (hash ^ (uint8_t)*name++) * 0x100000001b3;
	return hash ^ hash >> 29;
}

/* a value of @key out of @words, which ends with NULL; its place in @index */
static int choice(const struct option_key *key, const char *const *words, unsigned int *index,
		  FILE *err)
{
	if (!key->value)
		return 0;
	for (unsigned int i = 0; words[i]; i++) {
		if (!strcmp(words[i], key->value)) {
			*index = i;
			return 0;
		}
	}
	fprintf(err, "%s must be one of", key->key);
	for (unsigned int i = 0; words[i]; i++)
		fprintf(err, " %s", words[i]);
	fprintf(err, ", not '%s'", key->value);
	return -EINVAL;
}

/* six hexadecimal pairs; a unicast address that is not zero */
static int parse_mac(struct ionic_config *config, const char *text, const char *name, FILE *err)
{
	unsigned int byte[IONIC_MAC_SIZE], any = 0;
	int end = 0;

	if (!text) {
		uint64_t hash = hash_name(name);

		memcpy(config->mac, &hash, IONIC_MAC_SIZE);
		config->mac[0] = 0x02;	/* locally administered */
		return 0;
	}
	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &byte[0], &byte[1], &byte[2], &byte[3],
		   &byte[4], &byte[5], &end) == IONIC_MAC_SIZE && !text[end]) {
		for (unsigned int i = 0; i < IONIC_MAC_SIZE; i++) {
			config->mac[i] = byte[i];
			any |= byte[i];
		}
		if (any && !(byte[0] & 1))
			return 0;
	}
	fprintf(err, "mac must be a unicast address such as 02:00:00:00:00:01, not '%s'", text);
	return -EINVAL;
}

static int parse_text(char *to, const struct option_key *key, const char *otherwise, FILE *err)
{
	const char *text = key->value ? key->value : otherwise;

	if (strlen(text) > IONIC_REG_TEXT_SIZE) {
		fprintf(err, "%s must have at most %d letters", key->key, IONIC_REG_TEXT_SIZE);
		return -EINVAL;
	}
	for (const char *c = text; *c; c++) {
		if (!isprint((unsigned char)*c)) {
			fprintf(err, "%s must be printable", key->key);
			return -EINVAL;
		}
	}
	strcpy(to, text);
	return 0;
}

/* "none", or pages in bytes with an optional K or M */
static int parse_cmb(struct ionic_config *config, const char *text, FILE *err)
{
	char *end;
	uint64_t size;

	if (!text)
		return 0;
	if (!strcmp(text, "none")) {
		config->cmb = config->strides = config->expdb = 0;
		return 0;
	}
	size = strtoull(text, &end, 10);
	if (*end == 'K' || *end == 'M')
		size <<= *end++ == 'K' ? 10 : 20;
	if (!isdigit((unsigned char)text[0]) || *end || !size || size % IONIC_PAGE ||
	    size > IONIC_CMB_WINDOW) {
		fprintf(err, "cmb must be none, or a multiple of 4K up to 8M, not '%s'", text);
		return -EINVAL;
	}
	config->cmb = size;
	/* drivers take windows of one size only */
	if (size != IONIC_CMB_WINDOW)
		config->strides = config->expdb = 0;
	return 0;
}

int ionic_config_set(struct ionic_config *config, char **words, FILE *err)
{
	struct option_key keys[TRAITS + 1] = { 0 };
	struct ionic_config changed = *config;
	unsigned int n = 0;

	for (unsigned int i = 0; i < TRAITS; i++)
		if (traits[i].live)
			keys[n++].key = traits[i].key;
	if (option_parse(keys, words, err))
		return -EINVAL;
	n = 0;
	for (unsigned int i = 0; i < TRAITS; i++) {
		if (traits[i].live && option_number(&keys[n++], traits[i].max,
						    number(&changed, &traits[i]), err))
			return -EINVAL;
	}
	*config = changed;
	return 0;
}

static int check(const struct ionic_config *config, FILE *err)
{
	if (config->strides && config->cmb != IONIC_CMB_WINDOW) {
		fprintf(err, "strides must be 0 unless cmb is 8M: drivers take no other window");
		return -EINVAL;
	}
	if (config->expdb && !config->strides) {
		fprintf(err, "expdb must be none unless cmb is 8M and strides is not 0");
		return -EINVAL;
	}
	if (!config->vectors || !config->queues) {
		fprintf(err, "vectors and queues must be at least 1");
		return -EINVAL;
	}
	return 0;
}

int ionic_config_parse(struct ionic_config *config, const char *name, char **options, FILE *err)
{
	static const char *const modes[] = { "fast", "strict", NULL };
	static const char *const express[] = { "none", "sq", "rq", "both", NULL };
	struct option_key keys[TRAITS + TEXT_KEYS + 1] = { 0 };
	struct option_key *text = keys + TRAITS;
	const struct ionic_profile *profile;
	unsigned int strict = 0, expdb;

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
	config->seed = hash_name(name);
	if (parse_cmb(config, text[CMB].value, err))
		return -EINVAL;
	expdb = config->expdb;
	if (choice(&text[MODE], modes, &strict, err) ||
	    choice(&text[EXPDB], express, &expdb, err) ||
	    parse_mac(config, text[MAC].value, name, err) ||
	    parse_text(config->fw, &text[FW], "1.0.0-dvq", err) ||
	    parse_text(config->serial, &text[SERIAL], name, err))
		return -EINVAL;
	config->strict = strict;
	config->expdb = expdb;
	for (unsigned int i = 0; i < TRAITS; i++)
		if (option_number(&keys[i], traits[i].max, number(config, &traits[i]), err))
			return -EINVAL;
	return check(config, err);
}
