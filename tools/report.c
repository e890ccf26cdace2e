// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

struct finding {
	enum layer layer;
	enum state state;
	char subject[64];
	char text[320];
	char advice[320];
};

static struct finding *findings;
static unsigned int used, room;

static const char *const layer_names[LAYERS] = {
	[LAYER_ADAPTER] = "adapter", [LAYER_KERNEL] = "kernel", [LAYER_ETHERNET] = "ethernet",
	[LAYER_MODULE] = "module", [LAYER_DRIVER] = "driver", [LAYER_UVERBS] = "uverbs",
	[LAYER_ABI] = "abi", [LAYER_PROVIDER] = "provider", [LAYER_DEVICE] = "device",
	[LAYER_METHODS] = "methods", [LAYER_LIMITS] = "limits",
};

static const char *const state_names[] = {
	[STATE_OK] = "ok", [STATE_NOTE] = "note", [STATE_BAD] = "BAD",
};

/* A machine may have dozens of adapters: none is left out. */
static struct finding *new_finding(void)
{
	if (used == room) {
		room = room ? 2 * room : 64;
		findings = realloc(findings, room * sizeof(*findings));
		if (!findings) {
			fprintf(stderr, "dvq: no memory for what was found\n");
			exit(1);
		}
	}
	return &findings[used++];
}

void report(enum layer layer, enum state state, const char *subject, const char *advice,
	    const char *fmt, ...)
{
	struct finding *finding = new_finding();
	va_list args;

	finding->layer = layer;
	finding->state = state;
	snprintf(finding->subject, sizeof(finding->subject), "%s", subject);
	snprintf(finding->advice, sizeof(finding->advice), "%s", advice ? advice : "");
	va_start(args, fmt);
	vsnprintf(finding->text, sizeof(finding->text), fmt, args);
	va_end(args);
}

bool report_is_bad(const char *subject)
{
	for (unsigned int i = 0; i < used; i++)
		if (findings[i].state == STATE_BAD && !strcmp(findings[i].subject, subject))
			return true;
	return false;
}

/* the lowest layer counts, of these the first finding; NULL: all is well */
static const struct finding *verdict(void)
{
	const struct finding *lowest = NULL;

	for (unsigned int i = 0; i < used; i++)
		if (findings[i].state == STATE_BAD &&
		    (!lowest || findings[i].layer < lowest->layer))
			lowest = &findings[i];
	return lowest;
}

static void print_text(const struct finding *worst)
{
	for (unsigned int i = 0; i < used; i++) {
		const struct finding *finding = &findings[i];

		/* what to do about a fault is said once, below */
		printf("%-9s %-4s  %s: %s%s%s\n", layer_names[finding->layer],
		       state_names[finding->state], finding->subject, finding->text,
		       finding->state == STATE_NOTE && finding->advice[0] ? ": " : "",
		       finding->state == STATE_NOTE ? finding->advice : "");
	}
	if (!worst) {
		printf("verdict: everything is as it should be\n");
		return;
	}
	printf("verdict: %s: %s: %s\n", layer_names[worst->layer], worst->subject, worst->text);
	printf("what to do: %s\n", worst->advice);
}

/* texts hold names of files and devices, so anything may be in them */
static void print_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		unsigned char c = *text;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void print_member(const char *name, const char *value, const char *behind)
{
	printf("\"%s\": ", name);
	print_string(value);
	printf("%s", behind);
}

static void print_finding(const struct finding *finding)
{
	putchar('{');
	print_member("layer", layer_names[finding->layer], ", ");
	print_member("state", finding->state == STATE_BAD ? "bad" : state_names[finding->state], ", ");
	print_member("subject", finding->subject, ", ");
	print_member("text", finding->text, ", ");
	print_member("advice", finding->advice, "}");
}

static void print_json(const struct finding *worst)
{
	printf("{\n  \"findings\": [");
	for (unsigned int i = 0; i < used; i++) {
		printf("%s\n    ", i ? "," : "");
		print_finding(&findings[i]);
	}
	printf("\n  ],\n  \"verdict\": ");
	if (worst)
		print_finding(worst);
	else
		printf("null");
	printf("\n}\n");
}

int report_print(bool json)
{
	const struct finding *worst = verdict();

	if (json)
		print_json(worst);
	else
		print_text(worst);
	return worst ? 1 : 0;
}
