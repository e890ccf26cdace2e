// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>

#include "device.h"
#include "inject.h"
#include "tap.h"

static const struct inject_point points[] = {
	{ "create_cq", INJECT_COMMAND },
	{ "create_qp", INJECT_COMMAND },
	{ "irq", INJECT_CAN(DROP) },
	{ 0 }
};

static struct model_device dev;
static unsigned int left;

static void leave(struct model_host *host)
{
	(void)host;
	left++;
}

static const struct model_host_ops host_ops = { .leave = leave };
static struct model_host host = { .ops = &host_ops };

static char answer[512];

/* runs "inject" with the words of @line; the text goes to answer */
static int command(const char *line)
{
	char *copy = strdup(line), *argv[16] = { "inject" };
	FILE *out = fmemopen(answer, sizeof(answer), "w");
	int argc = 1, ret;

	answer[0] = 0;	/* a stream without a byte writes no end */
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	ret = inject_control(&dev, argc, argv, out);
	fclose(out);
	free(copy);
	return ret;
}

static void set_up(void)
{
	memset(&dev, 0, sizeof(dev));
	dev.inject_points = points;
	dev.host = &host;
	left = 0;
	memset(answer, 0, sizeof(answer));
}

static bool fires(const char *op)
{
	struct inject_hit hit;

	return inject_match(&dev, op, &hit);
}

TEST(no_rule_no_fault)
{
	set_up();
	CHECK(!fires("create_cq"));
}

TEST(fails_the_next_one_once)
{
	struct inject_hit hit = { 0 };

	set_up();
	CHECK_EQ(command("op=create_cq action=fail status=5"), 0);
	CHECK(!fires("create_qp"));
	CHECK(inject_match(&dev, "create_cq", &hit));
	CHECK_EQ(hit.action, INJECT_FAIL);
	CHECK_EQ(hit.status, 5);
	CHECK(!fires("create_cq"));
	CHECK(!dev.inject_rules);
}

TEST(nth_and_count)
{
	set_up();
	CHECK_EQ(command("op=create_cq nth=3 count=2 action=drop"), 0);
	CHECK(!fires("create_cq"));
	CHECK(!fires("create_cq"));
	CHECK(fires("create_cq"));
	CHECK(fires("create_cq"));
	CHECK(!fires("create_cq"));
}

TEST(every_action)
{
	struct inject_hit hit = { 0 };

	set_up();
	CHECK_EQ(command("op=create_cq action=delay ms=0x10"), 0);
	CHECK_EQ(command("op=create_cq action=dup"), 0);
	CHECK_EQ(command("op=create_cq action=corrupt"), 0);
	CHECK(inject_match(&dev, "create_cq", &hit));
	CHECK_EQ(hit.action, INJECT_DELAY);
	CHECK_EQ(hit.ms, 16);
	CHECK(inject_match(&dev, "create_cq", &hit));
	CHECK_EQ(hit.action, INJECT_DUP);
	CHECK(inject_match(&dev, "create_cq", &hit));
	CHECK_EQ(hit.action, INJECT_CORRUPT);
	CHECK(!fires("create_cq"));
}

/* to the device a point at which it is pulled is one where nothing is done any more */
TEST(pulled_at_a_point)
{
	struct inject_hit hit = { 0 };

	set_up();
	CHECK_EQ(command("op=create_cq nth=2 action=gone"), 0);
	CHECK_EQ(command("list"), 0);
	CHECK_STR(answer, "op=create_cq nth=2 count=1 action=gone");
	CHECK(!fires("create_cq"));
	CHECK_EQ(left, 0);
	CHECK(inject_match(&dev, "create_cq", &hit));
	CHECK_EQ(hit.action, INJECT_DROP);
	CHECK_EQ(left, 1);
	CHECK(!fires("create_cq"));
	CHECK_EQ(left, 1);
}

/* both count each passage; one fires, the other waits its turn */
TEST(rules_beside_each_other)
{
	struct inject_hit hit = { 0 };

	set_up();
	CHECK_EQ(command("op=create_cq nth=2 action=fail status=1"), 0);
	CHECK_EQ(command("op=* nth=2 action=fail status=2"), 0);
	CHECK(!fires("create_cq"));
	CHECK(inject_match(&dev, "create_cq", &hit));
	CHECK_EQ(hit.status, 1);
	CHECK(inject_match(&dev, "create_qp", &hit));
	CHECK_EQ(hit.status, 2);
	CHECK(!fires("create_cq"));
}

/* nor is a rule for all points used up where it means nothing; leaving goes everywhere */
TEST(actions_that_do_not_go_with_a_point)
{
	struct inject_hit hit = { 0 };

	set_up();
	CHECK_EQ(command("op=* nth=2 action=dup"), 0);
	CHECK_EQ(command("op=irq action=drop"), 0);
	CHECK(!fires("create_cq"));
	CHECK(inject_match(&dev, "irq", &hit));
	CHECK_EQ(hit.action, INJECT_DROP);
	CHECK(!fires("irq"));
	CHECK(inject_match(&dev, "create_qp", &hit));
	CHECK_EQ(hit.action, INJECT_DUP);
	CHECK_EQ(command("op=irq action=gone"), 0);
	CHECK(fires("irq"));
	CHECK_EQ(left, 1);
}

TEST(list_and_clear)
{
	set_up();
	CHECK_EQ(command("op=create_cq nth=2 count=7 action=fail status=9"), 0);
	CHECK_EQ(command("op=create_qp action=delay ms=3"), 0);
	fires("create_cq");
	CHECK_EQ(command("list"), 0);
	CHECK_STR(answer, "op=create_cq nth=1 count=7 action=fail status=9; "
			  "op=create_qp nth=1 count=1 action=delay ms=3");
	CHECK_EQ(command("clear"), 0);
	CHECK_EQ(command("list"), 0);
	CHECK_STR(answer, "");
	CHECK(!fires("create_cq"));
}

TEST(mistakes_are_told)
{
	static const struct {
		const char *line, *text;
	} cases[] = {
		{ "", "op must be one of create_cq, create_qp, irq, *" },
		{ "op=create_xy action=drop",
		  "op must be one of create_cq, create_qp, irq, *" },
		{ "op=create_cq", "a rule needs action=" },
		{ "op=create_cq action=explode", "not 'explode'" },
		{ "op=create_cq action=fail", "action=fail goes with status=N" },
		{ "op=create_cq action=drop status=1", "action=drop goes without status=N" },
		{ "op=create_cq action=delay", "action=delay goes with ms=N" },
		{ "op=create_cq action=gone status=1", "action=gone goes without status=N" },
		{ "op=create_cq action=dup ms=1", "action=dup goes without ms=N" },
		{ "op=irq action=corrupt", "op=irq goes with action=drop, gone, not corrupt" },
		{ "op=irq action=delay ms=1", "op=irq goes with action=drop, gone, not delay" },
		{ "op=create_cq action=drop nth=0", "start at 1" },
		{ "op=create_cq action=drop count=0", "start at 1" },
		{ "op=create_cq action=drop nth=two", "nth must be a number" },
		{ "op=create_cq action=drop nth=-1", "nth must be a number" },
		{ "op=create_cq action=drop count=4294967296", "count must be a number" },
		{ "op=create_cq op=create_cq action=drop", "op must be given once" },
		{ "op=create_cq action=drop color=red", "'color=red' must be key=value" },
		{ "op=create_cq action=drop list", "'list' must be key=value" },
	};

	set_up();
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_EQ(command(cases[i].line), -EINVAL);
		CHECK_CONTAINS(answer, cases[i].text);
		CHECK(!dev.inject_rules);
	}
}

TEST(limits)
{
	set_up();
	for (int i = 0; i < 64; i++)
		CHECK_EQ(command("op=create_cq action=drop"), 0);
	CHECK_EQ(command("op=create_cq action=drop"), -ENOSPC);
	inject_clear(&dev);
	dev.inject_points = NULL;
	CHECK_EQ(command("op=create_cq action=drop"), -EOPNOTSUPP);
}

TAP_MAIN
