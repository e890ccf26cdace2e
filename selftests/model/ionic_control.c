// SPDX-License-Identifier: GPL-2.0
/* Verbs of the control channel that only this adapter has. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ionic_rdma.h"
#include "option.h"

static int wrong_use(const char *usage, FILE *out)
{
	fprintf(out, "usage: %s", usage);
	return -EINVAL;
}

static int verb_stats(struct ionic *ionic, int argc, char **argv, FILE *out)
{
	const struct ionic_tally *t = &ionic->tally;
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{ "eth_devcmds", t->devcmds }, { "eth_admin", t->admin },
		{ "eth_errors", t->cmd_errors },
		{ "eth_doorbells_admin", t->doorbells[IONIC_Q_ADMIN] },
		{ "eth_doorbells_rx", t->doorbells[IONIC_Q_RX] },
		{ "eth_doorbells_tx", t->doorbells[IONIC_Q_TX] },
		{ "eth_tx_frames", t->tx_frames }, { "eth_tx_csums", t->tx_csums },
		{ "eth_tx_sg", t->tx_sg },
		{ "eth_rx_frames", t->rx_frames }, { "eth_rx_sg", t->rx_sg },
		{ "eth_rx_drops", t->rx_drops },
		{ "notify_events", t->notify_events }, { "intr_messages", t->irqs },
		{ "resets", t->resets }, { "stats_writes", t->stats_writes },
	};

	(void)argv;
	if (argc != 1)
		return wrong_use("stats", out);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(out, "%s%s=%" PRIu64, i ? " " : "", rows[i].name, rows[i].value);
	if (ionic->rdma)
		ionic_rdma_print_stats(ionic, out);
	return 0;
}

static int verb_fw(struct ionic *ionic, int argc, char **argv, FILE *out)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (!strcmp(what, "down")) {
		ionic_fw_set(ionic, false);
	} else if (!strcmp(what, "up")) {
		ionic_fw_set(ionic, true);
	} else if (!strcmp(what, "restart")) {
		ionic_fw_set(ionic, false);
		ionic_fw_set(ionic, true);
	} else {
		return wrong_use("fw down|up|restart", out);
	}
	return 0;
}

static int verb_heartbeat(struct ionic *ionic, int argc, char **argv, FILE *out)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (strcmp(what, "stop") && strcmp(what, "run"))
		return wrong_use("heartbeat stop|run", out);
	ionic_fw_beat(ionic, !strcmp(what, "run"));
	return 0;
}

static int verb_notify(struct ionic *ionic, int argc, char **argv, FILE *out)
{
	struct option_key keys[] = { { "code", NULL }, { 0 } };
	struct ionic_notify_event event = { 0 };
	uint64_t code = 0;

	if (argc != 2)
		return wrong_use("notify code=N", out);
	if (option_parse(keys, argv + 1, out) || option_number(&keys[0], UINT16_MAX, &code, out))
		return -EINVAL;
	if (!ionic->lif.notifyq.live) {
		fputs("the driver has made no notify queue yet", out);
		return -ENODEV;
	}
	event.code = htole16(code);
	ionic_notify(ionic, &event);
	return 0;
}

static int verb_set(struct ionic *ionic, int argc, char **argv, FILE *out)
{
	if (argc < 2)
		return wrong_use("set KEY=VALUE...", out);
	return ionic_config_set(&ionic->config, argv + 1, out);
}

static int verb_help(struct ionic *ionic, int argc, char **argv, FILE *out);

static const struct verb {
	const char *name;
	int (*run)(struct ionic *ionic, int argc, char **argv, FILE *out);
	const char *usage;
} verbs[] = {
	{ "stats", verb_stats, NULL },	/* the slot describes it */
	{ "fw", verb_fw, "fw down|up|restart" },
	{ "heartbeat", verb_heartbeat, "heartbeat stop|run" },
	{ "notify", verb_notify, "notify code=N" },
	{ "set", verb_set, "set KEY=VALUE..." },
	{ "help", verb_help, NULL },
};

#define VERBS	(sizeof(verbs) / sizeof(verbs[0]))

static int verb_help(struct ionic *ionic, int argc, char **argv, FILE *out)
{
	const char *separator = "";

	(void)argc;
	(void)argv;
	for (unsigned int i = 0; i < VERBS; i++) {
		if (!verbs[i].usage)
			continue;
		fprintf(out, "%s%s", separator, verbs[i].usage);
		separator = "; ";
	}
	if (ionic->rdma)
		ionic_rdma_print_usage(out);
	return 0;
}

int ionic_control(struct model_device *dev, int argc, char **argv, FILE *out)
{
	for (unsigned int i = 0; i < VERBS; i++)
		if (!strcmp(verbs[i].name, argv[0]))
			return verbs[i].run(ionic_of(dev), argc, argv, out);
	if (!ionic_of(dev)->rdma)
		return -ENOSYS;
	return ionic_rdma_control(ionic_of(dev), argc, argv, out);
}
