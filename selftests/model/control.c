// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control.h"
#include "fabric.h"
#include "inject.h"
#include "log.h"
#include "loop.h"
#include "option.h"
#include "slot.h"

#define WORDS_MAX	64

/*
 * Verbs. Each writes its part of the answer, one line without the newline, and
 * returns 0 or a negative errno (then what it wrote is the reason).
 */

static int wrong_use(const char *usage, FILE *out)
{
	fprintf(out, "usage: %s", usage);
	return -EINVAL;
}

static unsigned int violations_kept(const struct model_device *dev)
{
	return dev->violations < MODEL_VIOLATIONS_KEPT ? dev->violations : MODEL_VIOLATIONS_KEPT;
}

static const char *violation_text(const struct model_device *dev, unsigned int i)
{
	return dev->violation_text[i] ?: "(text lost)";
}

static void print_violations_lost(const struct model_device *dev, FILE *out)
{
	if (dev->violations > MODEL_VIOLATIONS_KEPT)
		fprintf(out, "; and %" PRIu64 " more", dev->violations - MODEL_VIOLATIONS_KEPT);
}

static int verb_violations(struct slot *slot, int argc, char **argv, FILE *out)
{
	struct model_device *dev = slot->dev;

	if (argc == 2 && !strcmp(argv[1], "clear")) {
		model_violations_clear(dev);
		return 0;
	}
	if (argc != 1)
		return wrong_use("violations [clear]", out);
	fprintf(out, "%" PRIu64, dev->violations);
	for (unsigned int i = 0; i < violations_kept(dev); i++)
		fprintf(out, "%s%s", i ? "; " : " ", violation_text(dev, i));
	print_violations_lost(dev, out);
	return 0;
}

/* of all devices: the sum, and each text behind its device's name */
static int list_violations(struct slot *slots, FILE *out)
{
	const char *separator = " ";
	uint64_t sum = 0;

	for (struct slot *slot = slots; slot; slot = slot->next)
		sum += slot->dev->violations;
	fprintf(out, "%" PRIu64, sum);
	for (struct slot *slot = slots; slot; slot = slot->next) {
		for (unsigned int i = 0; i < violations_kept(slot->dev); i++) {
			fprintf(out, "%s%s: %s", separator, slot->dev->name,
				violation_text(slot->dev, i));
			separator = "; ";
		}
		print_violations_lost(slot->dev, out);
	}
	return 0;
}

static int verb_gone(struct slot *slot, int argc, char **argv, FILE *out)
{
	if (argc != 1)
		return wrong_use(argv[0], out);
	slot_set_gone(slot, !strcmp(argv[0], "gone"));
	return 0;
}

static int verb_stop(struct slot *slot, int argc, char **argv, FILE *out)
{
	if (argc != 1)
		return wrong_use(argv[0], out);
	slot_set_stopped(slot, !strcmp(argv[0], "stop"));
	return 0;
}

static int verb_link(struct slot *slot, int argc, char **argv, FILE *out)
{
	bool up = argc == 2 && !strcmp(argv[1], "up");
	bool down = argc == 2 && !strcmp(argv[1], "down");

	if (!up && !down)
		return wrong_use("link up|down", out);
	if (!slot->dev->ops->link) {
		fputs("this device has no link", out);
		return -EOPNOTSUPP;
	}
	slot->dev->ops->link(slot->dev, up);
	return 0;
}

static int verb_drop(struct slot *slot, int argc, char **argv, FILE *out)
{
	enum { SKIP, COUNT };
	struct option_key keys[] = { { "skip", NULL }, { "count", NULL }, { 0 } };
	struct fabric_port *port = fabric_find(slot->dev);
	uint64_t skip = 0, count = 1;

	(void)argc;
	if (option_parse(keys, argv + 1, out) ||
	    option_number(&keys[SKIP], UINT32_MAX, &skip, out) ||
	    option_number(&keys[COUNT], UINT32_MAX, &count, out))
		return -EINVAL;
	if (!port) {
		fputs("this device has no port on the network now", out);
		return -ENODEV;
	}
	fprintf(out, "left=%u", fabric_drop(port, skip, count));
	return 0;
}

static int verb_delay(struct slot *slot, int argc, char **argv, FILE *out)
{
	struct option_key keys[] = { { "ms", NULL }, { 0 } };
	uint64_t ms;

	if (argc != 2)
		return wrong_use("delay ms=N", out);
	if (option_parse(keys, argv + 1, out) || option_number(&keys[0], 60000, &ms, out))
		return -EINVAL;
	slot->task.delay_ms = ms;
	return 0;
}

static int verb_inject(struct slot *slot, int argc, char **argv, FILE *out)
{
	return inject_control(slot->dev, argc, argv, out);
}

static int ask_device(struct slot *slot, int argc, char **argv, FILE *out)
{
	if (!slot->dev->ops->control)
		return -ENOSYS;
	return slot->dev->ops->control(slot->dev, argc, argv, out);
}

/* with words behind it, it is about how the device resets itself */
static int verb_reset(struct slot *slot, int argc, char **argv, FILE *out)
{
	int ret;

	if (argc != 1) {
		ret = ask_device(slot, argc, argv, out);
		return ret == -ENOSYS ? wrong_use(argv[0], out) : ret;
	}
	slot_reset(slot);
	return 0;
}

/* the device's own, then those of the slot */
static int verb_stats(struct slot *slot, int argc, char **argv, FILE *out)
{
	int ret = ask_device(slot, argc, argv, out);

	if (ret && ret != -ENOSYS)
		return ret;
	if (ret == -ENOSYS && argc != 1)
		return wrong_use("stats", out);
	if (!ret)
		fputc(' ', out);
	slot_stats(slot, out);
	return 0;
}

static const struct verb {
	const char *name;
	int (*run)(struct slot *slot, int argc, char **argv, FILE *out);
	const char *usage;
} verbs[] = {
	{ "violations", verb_violations, "violations [clear]" },
	{ "stats", verb_stats, "stats" },
	{ "inject", verb_inject,
	  "inject op=NAME [nth=N] [count=N] action=fail status=N|drop|delay ms=N|dup|corrupt|"
	  "gone" },
	{ "inject", verb_inject, "inject list|clear" },
	{ "gone", verb_gone, "gone" },
	{ "back", verb_gone, "back" },
	{ "stop", verb_stop, "stop" },
	{ "cont", verb_stop, "cont" },
	{ "delay", verb_delay, "delay ms=N" },
	{ "reset", verb_reset, "reset" },
	{ "link", verb_link, "link up|down" },
	{ "drop", verb_drop, "drop [skip=N] [count=N]" },
};

#define VERBS	(sizeof(verbs) / sizeof(verbs[0]))

static int run_verb(struct slot *slot, int argc, char **argv, FILE *out)
{
	int ret;

	for (unsigned int i = 0; i < VERBS; i++)
		if (!strcmp(verbs[i].name, argv[0]))
			return verbs[i].run(slot, argc, argv, out);
	ret = ask_device(slot, argc, argv, out);
	if (ret == -ENOSYS)
		fprintf(out, "%s has no verb '%s'; '%s help' lists those it has", slot->dev->name,
			argv[0], slot->dev->name);
	return ret;
}

/* what is typed for one device, or for "*" with what only that has */
static int help(struct slot *slot, FILE *out)
{
	char *argv[] = { "help", NULL };

	fputs("list; help", out);
	for (unsigned int i = 0; i < VERBS; i++)
		fprintf(out, "; %s", verbs[i].usage);
	if (slot && slot->dev->ops->control) {
		fputs("; ", out);
		if (ask_device(slot, 1, argv, out))
			fputs("(this device describes no verbs of its own)", out);
	}
	return 0;
}

static void print_address(const struct fabric_port *port, FILE *out)
{
	/* as GIDs and MAC addresses are written */
	unsigned int group = port->addr_len == 16 ? 2 : 1;

	for (unsigned int i = 0; i < port->addr_len; i++)
		fprintf(out, "%s%02x", i && i % group == 0 ? ":" : "", port->addr[i]);
}

static const char *state(const struct slot *slot)
{
	if (slot->gone)
		return "gone";
	if (slot->stopped)
		return "stopped";
	return slot->attached ? "attached" : "detached";
}

static void print_slot(const struct slot *slot, FILE *out)
{
	const struct fabric_port *port = fabric_find(slot->dev);

	fprintf(out, "%s %s ", slot->dev->name, slot->type);
	if (port)
		print_address(port, out);
	else
		fputc('-', out);
	fprintf(out, " %s", state(slot));
}

static int list(struct slot *first, bool all, FILE *out)
{
	for (struct slot *slot = first; slot; slot = all ? slot->next : NULL) {
		if (slot != first)
			fputs("; ", out);
		print_slot(slot, out);
	}
	return 0;
}

/* every device, each part of the answer behind its device's name */
static int run_for_all(struct slot *slots, int argc, char **argv, FILE *out)
{
	int ret = 0;

	for (struct slot *slot = slots; slot; slot = slot->next) {
		int err;

		fprintf(out, "%s%s: ", slot == slots ? "" : "; ", slot->dev->name);
		err = run_verb(slot, argc, argv, out);
		ret = ret ?: err;
	}
	return ret;
}

static struct slot *find_slot(struct slot *slots, const char *name)
{
	while (slots && strcmp(slots->dev->name, name))
		slots = slots->next;
	return slots;
}

static int run_words(struct slot *slots, int argc, char **argv, FILE *out)
{
	bool all = !strcmp(argv[0], "*");
	struct slot *slot = all ? slots : find_slot(slots, argv[0]);

	if (!slot) {
		fprintf(out, "there is no device '%s'; '* list' names those there are", argv[0]);
		return -ENODEV;
	}
	if (argc < 2) {
		fputs("a target is followed by a verb; '* help' lists them", out);
		return -EINVAL;
	}
	if (argc == 2 && !strcmp(argv[1], "list"))
		return list(slot, all, out);
	if (argc == 2 && !strcmp(argv[1], "help"))
		return help(all ? NULL : slot, out);
	if (all && argc == 2 && !strcmp(argv[1], "violations"))
		return list_violations(slots, out);
	if (all)
		return run_for_all(slots, argc - 1, argv + 1, out);
	return run_verb(slot, argc - 1, argv + 1, out);
}

/* cuts a line at blanks; the number of words, or WORDS_MAX if there are more than fit */
static int cut(char *line, char **words)
{
	char *word = strtok(line, " \t\r");
	int count = 0;

	for (; word && count < WORDS_MAX - 1; word = strtok(NULL, " \t\r"))
		words[count++] = word;
	words[count] = NULL;
	return word ? WORDS_MAX : count;
}

/* an answer is one line whatever a device wrote */
static void write_answer(int ret, char *text, FILE *out)
{
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ' ';
	fprintf(out, "%s%s%s\n", ret ? "err" : "ok", *text ? " " : "", text);
}

void control_execute(struct slot *slots, char *line, FILE *out)
{
	char *words[WORDS_MAX], *text = NULL;
	int argc = cut(line, words), ret;
	size_t len;
	FILE *answer;

	if (!argc)
		return;
	if (argc == WORDS_MAX) {
		fprintf(out, "err a line has fewer than %d words\n", WORDS_MAX);
		return;
	}
	answer = open_memstream(&text, &len);
	if (!answer) {
		fputs("err there is no memory for the answer\n", out);
		return;
	}
	engine_lock();
	ret = run_words(slots, argc, words, answer);
	engine_unlock();
	fclose(answer);
	write_answer(ret, text, out);
	free(text);
}

/**
 * struct client - one connection
 *
 * @line: received so far; @too_long: more than that came, and is thrown away up
 *	to the newline
 * @answer: not yet sent, from @sent to @answer_len; nothing is read meanwhile
 */
struct client {
	struct loop_source source;
	struct control *control;
	struct client *next;
	char line[CONTROL_LINE_MAX + 1];
	size_t len;
	bool too_long;
	char *answer;
	size_t answer_len, sent;
};

struct control {
	struct loop_source listener;
	struct slot *slots;
	struct client *clients;
	char *path;
};

static void free_client(struct client *client)
{
	loop_remove(&client->source);
	close(client->source.fd);
	free(client->answer);
	free(client);
}

static void drop_client(struct client *client)
{
	struct client **link = &client->control->clients;

	while (*link != client)
		link = &(*link)->next;
	*link = client->next;
	free_client(client);
}

static void end_of_line(struct client *client, FILE *out)
{
	client->line[client->len] = 0;
	if (client->too_long) {
		fprintf(out, "err a line has at most %d bytes\n", CONTROL_LINE_MAX);
	} else if (memchr(client->line, 0, client->len)) {
		fputs("err a line has no NUL bytes\n", out);
	} else {
		log_trace("control", "%s", client->line);
		control_execute(client->control->slots, client->line, out);
	}
	client->len = 0;
	client->too_long = false;
}

static void take(struct client *client, const char *data, size_t len, FILE *out)
{
	for (; len; data++, len--) {
		if (*data == '\n')
			end_of_line(client, out);
		else if (client->len < CONTROL_LINE_MAX)
			client->line[client->len++] = *data;
		else
			client->too_long = true;
	}
}

/* 0, or a negative errno: -EAGAIN if some is left */
static int send_answer(struct client *client)
{
	while (client->sent < client->answer_len) {
		ssize_t n = send(client->source.fd, client->answer + client->sent,
				 client->answer_len - client->sent, MSG_NOSIGNAL);

		if (n < 0)
			return -errno;
		client->sent += n;
	}
	free(client->answer);
	client->answer = NULL;
	client->answer_len = client->sent = 0;
	return 0;
}

/* 0, or a negative errno: -EAGAIN if there is nothing to read */
static int read_lines(struct client *client)
{
	char data[4096];
	ssize_t n = recv(client->source.fd, data, sizeof(data), 0);
	FILE *out;

	if (n <= 0)
		return n ? -errno : -ECONNRESET;
	out = open_memstream(&client->answer, &client->answer_len);
	if (!out)
		return -ENOMEM;
	take(client, data, n, out);
	fclose(out);
	return send_answer(client);
}

static void client_ready(struct loop_source *source, uint32_t events)
{
	struct client *client = (struct client *)source;
	int err = send_answer(client);

	(void)events;	/* the calls find out themselves */
	if (!err)
		err = read_lines(client);
	if (err && err != -EAGAIN)
		drop_client(client);
	else
		loop_change(source, client->answer_len ? EPOLLOUT : EPOLLIN);
}

static void listener_ready(struct loop_source *source, uint32_t events)
{
	struct control *control = (struct control *)source;
	int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *client = fd < 0 ? NULL : calloc(1, sizeof(*client));

	(void)events;
	if (client) {
		client->source = (struct loop_source) { .fd = fd, .ready = client_ready };
		client->control = control;
		if (!loop_add(&client->source, EPOLLIN)) {
			client->next = control->clients;
			control->clients = client;
			return;
		}
	}
	free(client);
	if (fd >= 0)
		close(fd);
}

struct control *control_open(struct slot *slots, const char *path, FILE *err)
{
	struct control *control = calloc(1, sizeof(*control));

	if (!control || !(control->path = strdup(path))) {
		fprintf(err, "there must be memory for the socket %s\n", path);
		goto free_control;
	}
	control->slots = slots;
	control->listener.ready = listener_ready;
	control->listener.fd = loop_listen(path, err);
	if (control->listener.fd < 0)
		goto free_path;
	if (loop_add(&control->listener, EPOLLIN)) {
		fprintf(err, "there must be room for one more socket, %s\n", path);
		goto close_listener;
	}
	return control;

close_listener:
	close(control->listener.fd);
	unlink(path);
free_path:
	free(control->path);
free_control:
	free(control);
	return NULL;
}

void control_close(struct control *control)
{
	while (control->clients)
		drop_client(control->clients);
	loop_remove(&control->listener);
	close(control->listener.fd);
	unlink(control->path);
	free(control->path);
	free(control);
}
