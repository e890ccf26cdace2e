// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab.h"
#include "model.h"

static int port = -1;
static bool off_limits;
static char answer[65536];

/* another program of the same script may be about to close it */
static void open_port(void)
{
	uint64_t end = now_ms() + PATIENCE_MS;

	while (port < 0) {
		port = open(MODEL_PORT, O_RDWR | O_CLOEXEC);
		LAB_NEED(port >= 0 || (errno == EBUSY && now_ms() < end), "%s: %s", MODEL_PORT,
			 strerror(errno));
		if (port < 0)
			sleep_ms(20);
	}
}

bool model_present(void)
{
	return !off_limits && (port >= 0 || !access(MODEL_PORT, F_OK));
}

void model_leave(void)
{
	off_limits = true;
}

static void read_line(const char *request)
{
	struct pollfd pollfd = { .fd = port, .events = POLLIN };
	uint64_t end = now_ms() + PATIENCE_MS;
	size_t len = 0;

	for (;;) {
		int left = (int)(end - now_ms());
		ssize_t n;

		LAB_NEED(left > 0 && poll(&pollfd, 1, left) > 0, "no answer to '%s'", request);
		n = read(port, answer + len, sizeof(answer) - 1 - len);
		LAB_NEED(n > 0, "%s: the other end is closed", MODEL_PORT);
		len += n;
		answer[len] = 0;
		if (answer[len - 1] == '\n')
			break;
		LAB_NEED(len < sizeof(answer) - 1, "the answer to '%s' is too long", request);
	}
	answer[len - 1] = 0;
}

__attribute__((format(printf, 2, 0)))
static bool ask(const char *target, const char *fmt, va_list args)
{
	char request[1024];
	int len = snprintf(request, sizeof(request), "%s ", target);

	len += vsnprintf(request + len, sizeof(request) - len, fmt, args);
	LAB_NEED(len < (int)sizeof(request) - 1, "request too long");
	LAB_NEED(!off_limits, "a child asks the model");
	open_port();
	request[len] = '\n';
	LAB_NEED(write(port, request, len + 1) == len + 1, "%s: %s", MODEL_PORT, strerror(errno));
	request[len] = 0;
	read_line(request);
	if (!strncmp(answer, "ok", 2))
		return true;
	LAB_NEED(!strncmp(answer, "err", 3), "'%s' was answered '%s'", request, answer);
	return false;
}

static const char *behind_word(const char *text)
{
	text += strcspn(text, " ");
	return *text ? text + 1 : text;
}

const char *model_ask(const char *target, const char *fmt, ...)
{
	va_list args;
	bool ok;

	va_start(args, fmt);
	ok = ask(target, fmt, args);
	va_end(args);
	LAB_NEED(ok, "the model refuses '%s ...' for %s: %s", fmt, target, behind_word(answer));
	return behind_word(answer);
}

bool model_try(const char *target, const char **text, const char *fmt, ...)
{
	va_list args;
	bool ok;

	va_start(args, fmt);
	ok = ask(target, fmt, args);
	va_end(args);
	if (text)
		*text = behind_word(answer);
	return ok;
}

/* bytes of an address as the model writes it: a GID, a MAC address, or 0 */
static size_t parse_address(const char *text, uint8_t *address)
{
	if (inet_pton(AF_INET6, text, address) == 1)
		return 16;
	return sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &address[0], &address[1],
		      &address[2], &address[3], &address[4], &address[5]) == 6 ? 6 : 0;
}

bool model_name(const void *address, size_t len, char *name, unsigned int size)
{
	char *list = strdup(model_ask("*", "list"));
	char *rest = list;
	bool found = false;

	LAB_NEED(list, "no memory");
	/* "efa0 efa fe80:...:1 attached; ionic0 ionic 02:...:01 attached; ..." */
	while (rest && !found) {
		char *device = strsep(&rest, ";"), type[64], text[64], word[64];
		uint8_t bytes[16];

		if (sscanf(device, "%63s %63s %63s", word, type, text) != 3 ||
		    parse_address(text, bytes) != len || memcmp(bytes, address, len))
			continue;
		snprintf(name, size, "%s", word);
		found = true;
	}
	free(list);
	return found;
}

void model_stats(const char *target, struct model_stats *stats)
{
	const char *text = model_ask(target, "stats");

	LAB_NEED(strlen(text) < sizeof(stats->text), "statistics too long");
	strcpy(stats->text, text);
}

unsigned int model_new(const char *target, const char *list, const char *before, unsigned int *numbers,
		       unsigned int max)
{
	char all[4096 + 2], word[16], now[4096], *rest = now, *number;
	unsigned int n = 0;

	snprintf(all, sizeof(all), " %s ", before);
	snprintf(now, sizeof(now), "%s", model_ask(target, "%s", list));
	while ((number = strsep(&rest, " "))) {
		snprintf(word, sizeof(word), " %.8s ", number);
		if (!*number || strstr(all, word))
			continue;
		LAB_NEED(n < max, "more than %u new %s", max, list);
		numbers[n++] = strtoul(number, NULL, 10);
	}
	return n;
}

bool model_find(const char *text, const char *key, uint64_t *value)
{
	size_t len = strlen(key);

	for (; *text; text += strcspn(text, " "), text += strspn(text, " ")) {
		if (strncmp(text, key, len) || text[len] != '=')
			continue;
		*value = strtoull(text + len + 1, NULL, 0);
		return true;
	}
	return false;
}

uint64_t model_stat(const struct model_stats *stats, const char *key)
{
	uint64_t value = 0;

	LAB_NEED(model_find(stats->text, key, &value) || !strncmp(key, "admin_", 6),
		 "the model counts no '%s'", key);
	return value;
}

uint64_t model_delta(const char *target, const struct model_stats *before, const char *key)
{
	struct model_stats now;

	model_stats(target, &now);
	return model_stat(&now, key) - model_stat(before, key);
}

unsigned int model_drop(const char *target, unsigned int skip, unsigned int count)
{
	const char *said = model_ask(target, "drop skip=%u count=%u", skip, count);
	uint64_t left;

	LAB_NEED(model_find(said, "left", &left), "the model does not say what it has lost: %s", said);
	return left;
}

struct request {
	char target[32], text[200];
};

static int request_ask(void *object)
{
	struct request *request = object;

	model_ask(request->target, "%s", request->text);
	free(request);
	return 0;
}

void model_at_end(const char *target, const char *fmt, ...)
{
	struct request *request = malloc(sizeof(*request));
	va_list args;

	LAB_NEED(request, "no memory");
	snprintf(request->target, sizeof(request->target), "%s", target);
	va_start(args, fmt);
	vsnprintf(request->text, sizeof(request->text), fmt, args);
	va_end(args);
	lab_hold(request_ask, request);
}

void model_set(const char *target, const char *key, const char *value)
{
	model_at_end(target, "set %s=%s", key, model_ask(target, "get %s", key));
	model_ask(target, "set %s=%s", key, value);
}

uint64_t model_wait_delta(const char *target, const struct model_stats *before, const char *key,
			  uint64_t want)
{
	uint64_t end = now_ms() + PATIENCE_MS, delta;

	while ((delta = model_delta(target, before, key)) < want && now_ms() < end)
		sleep_ms(5);
	return delta;
}

void model_note(const char *target)
{
	char qps[4096], *rest = qps, *number;
	const char *text;

	if (!target[0] || !model_present())
		return;
	if (model_try(target, &text, "stats"))
		lab_note(__FILE__, __LINE__, "%s: %s", target, text);
	if (!model_try(target, &text, "qps"))
		return;
	snprintf(qps, sizeof(qps), "%s", text);
	while ((number = strsep(&rest, " ")))
		if (number[0] && model_try(target, &text, "qp %s", number))
			lab_note(__FILE__, __LINE__, "%s: QP %s: %s", target, number, text);
}
