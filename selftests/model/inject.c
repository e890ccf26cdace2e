// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "inject.h"
#include "option.h"

#define RULES_MAX	64	/* per device */

struct inject_rule {
	struct inject_rule *next;
	char *op;
	uint32_t skip;		/* passages before it fires */
	uint32_t count;		/* times it fires yet; 0: used up */
	struct inject_hit hit;
};

static const char *const action_names[] = {
	[INJECT_FAIL] = "fail",
	[INJECT_DROP] = "drop",
	[INJECT_DELAY] = "delay",
	[INJECT_DUP] = "dup",
	[INJECT_CORRUPT] = "corrupt",
	[INJECT_GONE] = "gone",
};

#define ACTIONS	(sizeof(action_names) / sizeof(action_names[0]))

static void free_rule(struct inject_rule *rule)
{
	free(rule->op);
	free(rule);
}

void inject_clear(struct model_device *dev)
{
	while (dev->inject_rules) {
		struct inject_rule *rule = dev->inject_rules;

		dev->inject_rules = rule->next;
		free_rule(rule);
	}
}

/* takes used-up rules out of the list */
static void sweep(struct model_device *dev)
{
	struct inject_rule **link = &dev->inject_rules;

	while (*link) {
		struct inject_rule *rule = *link;

		if (rule->count) {
			link = &rule->next;
			continue;
		}
		*link = rule->next;
		free_rule(rule);
	}
}

static const struct inject_point *find_point(const struct model_device *dev, const char *op)
{
	const struct inject_point *point = dev->inject_points;

	while (point->name && strcmp(point->name, op))
		point++;
	return point->name ? point : NULL;
}

static bool goes_with(const struct inject_point *point, enum inject_action action)
{
	return action == INJECT_GONE || point->actions >> action & 1;
}

static bool applies(const struct model_device *dev, const struct inject_rule *rule, const char *op)
{
	const struct inject_point *point;

	if (strcmp(rule->op, "*"))
		return !strcmp(rule->op, op);
	point = find_point(dev, op);
	return point && goes_with(point, rule->hit.action);
}

bool inject_match(struct model_device *dev, const char *op, struct inject_hit *hit)
{
	bool fired = false;

	for (struct inject_rule *rule = dev->inject_rules; rule; rule = rule->next) {
		if (!applies(dev, rule, op))
			continue;
		if (rule->skip) {
			rule->skip--;
			continue;
		}
		if (fired)
			continue;
		rule->count--;
		*hit = rule->hit;
		fired = true;
	}
	if (!fired)
		return false;
	sweep(dev);
	if (hit->action == INJECT_GONE) {
		hit->action = INJECT_DROP;
		model_leave(dev);
	}
	return true;
}

static int parse_action(const char *name, struct inject_hit *hit, FILE *out)
{
	for (unsigned int i = 0; i < ACTIONS; i++) {
		if (!strcmp(action_names[i], name)) {
			hit->action = i;
			return 0;
		}
	}
	fprintf(out, "action must be fail, drop, delay, dup, corrupt or gone, not '%s'", name);
	return -EINVAL;
}

/* what belongs to an action must be there, and nothing that does not */
static int check_action(const struct inject_hit *hit, const char *status, const char *ms, FILE *out)
{
	const char *name = action_names[hit->action];

	if ((hit->action == INJECT_FAIL) != !!status) {
		fprintf(out, "action=%s goes with%s status=N", name, status ? "out" : "");
		return -EINVAL;
	}
	if ((hit->action == INJECT_DELAY) != !!ms) {
		fprintf(out, "action=%s goes with%s ms=N", name, ms ? "out" : "");
		return -EINVAL;
	}
	return 0;
}

/* an action that means nothing at this point would be used up and do nothing */
static int check_point(const struct model_device *dev, const char *op, enum inject_action action,
		       FILE *out)
{
	const struct inject_point *point = find_point(dev, op);

	if (!point || goes_with(point, action))
		return 0;
	fprintf(out, "op=%s goes with action=", op);
	for (unsigned int i = 0; i < INJECT_GONE; i++)
		if (goes_with(point, i))
			fprintf(out, "%s, ", action_names[i]);
	fprintf(out, "gone, not %s", action_names[action]);
	return -EINVAL;
}

static int add_rule(struct model_device *dev, const char *op, uint32_t nth, uint32_t count,
		    const struct inject_hit *hit, FILE *out)
{
	struct inject_rule **end = &dev->inject_rules;
	struct inject_rule *rule;
	unsigned int rules = 0;

	for (; *end; end = &(*end)->next)
		rules++;
	if (rules == RULES_MAX) {
		fprintf(out, "a device keeps at most %u rules; clear some", RULES_MAX);
		return -ENOSPC;
	}
	rule = malloc(sizeof(*rule));
	if (!rule || !(rule->op = strdup(op))) {
		free(rule);
		fputs("no memory for the rule", out);
		return -ENOMEM;
	}
	rule->next = NULL;
	rule->skip = nth - 1;
	rule->count = count;
	rule->hit = *hit;
	*end = rule;
	return 0;
}

static void print_points(const struct model_device *dev, FILE *out)
{
	for (const struct inject_point *point = dev->inject_points; point->name; point++)
		fprintf(out, "%s, ", point->name);
	fputc('*', out);
}

static int parse_rule(struct model_device *dev, char **words, FILE *out)
{
	enum { OP, NTH, COUNT, ACTION, STATUS, MS };
	struct option_key keys[] = {
		[OP] = { .key = "op" }, [NTH] = { .key = "nth" }, [COUNT] = { .key = "count" },
		[ACTION] = { .key = "action" }, [STATUS] = { .key = "status" },
		[MS] = { .key = "ms" }, { .key = NULL },
	};
	uint64_t nth = 1, count = 1, status = 0, ms = 0;
	struct inject_hit hit;

	if (option_parse(keys, words, out) ||
	    option_number(&keys[NTH], UINT32_MAX, &nth, out) ||
	    option_number(&keys[COUNT], UINT32_MAX, &count, out) ||
	    option_number(&keys[STATUS], UINT32_MAX, &status, out) ||
	    option_number(&keys[MS], UINT32_MAX, &ms, out))
		return -EINVAL;
	if (!keys[OP].value || (strcmp(keys[OP].value, "*") && !find_point(dev, keys[OP].value))) {
		fputs("op must be one of ", out);
		print_points(dev, out);
		return -EINVAL;
	}
	if (!nth || !count) {
		fputs("nth and count start at 1", out);
		return -EINVAL;
	}
	if (!keys[ACTION].value) {
		fputs("a rule needs action=fail, drop, delay, dup, corrupt or gone", out);
		return -EINVAL;
	}
	if (parse_action(keys[ACTION].value, &hit, out) ||
	    check_action(&hit, keys[STATUS].value, keys[MS].value, out) ||
	    check_point(dev, keys[OP].value, hit.action, out))
		return -EINVAL;
	hit.status = status;
	hit.ms = ms;
	return add_rule(dev, keys[OP].value, nth, count, &hit, out);
}

static void print_rule(const struct inject_rule *rule, FILE *out)
{
	fprintf(out, "op=%s nth=%llu count=%u action=%s", rule->op, rule->skip + 1ull, rule->count,
		action_names[rule->hit.action]);
	if (rule->hit.action == INJECT_FAIL)
		fprintf(out, " status=%u", rule->hit.status);
	if (rule->hit.action == INJECT_DELAY)
		fprintf(out, " ms=%u", rule->hit.ms);
}

static void print_rules(const struct model_device *dev, FILE *out)
{
	const char *separator = "";

	for (struct inject_rule *rule = dev->inject_rules; rule; rule = rule->next) {
		fputs(separator, out);
		print_rule(rule, out);
		separator = "; ";
	}
}

int inject_control(struct model_device *dev, int argc, char **argv, FILE *out)
{
	if (!dev->inject_points) {
		fputs("this device has no injection points", out);
		return -EOPNOTSUPP;
	}
	if (argc == 2 && !strcmp(argv[1], "list")) {
		print_rules(dev, out);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "clear")) {
		inject_clear(dev);
		return 0;
	}
	return parse_rule(dev, argv + 1, out);
}
