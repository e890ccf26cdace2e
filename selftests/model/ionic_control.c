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
		{ "devcmds", t->devcmds }, { "admin", t->admin }, { "cmd_errors", t->cmd_errors },
		{ "doorbells_admin", t->doorbells[IONIC_Q_ADMIN] },
		{ "doorbells_rx", t->doorbells[IONIC_Q_RX] },
		{ "doorbells_tx", t->doorbells[IONIC_Q_TX] },
		{ "tx_frames", t->tx_frames }, { "tx_csums", t->tx_csums }, { "tx_sg", t->tx_sg },
		{ "rx_frames", t->rx_frames }, { "rx_sg", t->rx_sg }, { "rx_drops", t->rx_drops },
		{ "notify_events", t->notify_events }, { "intr_messages", t->irqs },
		{ "resets", t->resets }, { "stats_writes", t->stats_writes },
	};

	(void)argv;
	if (argc != 1)
		return wrong_use("stats", out);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(out, "%s%s=%" PRIu64, i ? " " : "", rows[i].name, rows[i].value);
	if (ionic->rdma)
		ionic_rdma_control_stats(ionic, out);
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
	{ "help", verb_help, NULL },
};

#define VERBS	(sizeof(verbs) / sizeof(verbs[0]))

static int verb_help(struct ionic *ionic, int argc, char **argv, FILE *out)
{
	const char *separator = "";

	(void)ionic;
	(void)argc;
	(void)argv;
	for (unsigned int i = 0; i < VERBS; i++) {
		if (!verbs[i].usage)
			continue;
		fprintf(out, "%s%s", separator, verbs[i].usage);
		separator = "; ";
	}
	return 0;
}

int ionic_control(struct model_device *dev, int argc, char **argv, FILE *out)
{
	for (unsigned int i = 0; i < VERBS; i++)
		if (!strcmp(verbs[i].name, argv[0]))
			return verbs[i].run(ionic_of(dev), argc, argv, out);
	return -ENOSYS;
}
