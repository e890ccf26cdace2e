// SPDX-License-Identifier: GPL-2.0
/*
 * How many admin commands and register accesses making, changing and dropping an object takes: never more
 * than the in-tree drivers need, which `make bench` measures.
 */
#include "lib/adapter_test.h"
#include "lib/object.h"

#define TURNS	100	/* drivers look at their adapters now and then: one turn without that is enough */
#define MOST	16

/* what one object may cost */
struct price {
	unsigned int commands, accesses;
};

/* of @kind->n objects */
static void count(const struct object_kind *kind, enum object_act act, void **object, struct price *least)
{
	struct model_stats before, after;
	uint64_t commands, accesses;

	model_stats(self->model, &before);
	for (unsigned int i = 0; i < kind->n; i++)
		object_act(kind, act, &object[i], i);
	model_stats(self->model, &after);
	commands = object_commands(&after) - object_commands(&before);
	accesses = object_accesses(&after) - object_accesses(&before);
	if (commands < least->commands)
		least->commands = commands;
	if (accesses < least->accesses)
		least->accesses = accesses;
}

static bool affordable(const struct object_kind *kind, const struct price *price, const struct price *least)
{
	for (enum object_act act = 0; act < OBJECT_ACTS; act++)
		if (kind->act[act] && (least[act].accesses > price[act].accesses * kind->n ||
				       least[act].commands > price[act].commands * kind->n))
			return false;
	return true;
}

/* @price: of one of each act */
static void expect_price(const char *name, const struct price price[OBJECT_ACTS])
{
	const struct object_kind *kind = object_kind(name);
	struct price least[OBJECT_ACTS];
	void *object[MOST];

	need_model();
	if (!self->dvq)
		SKIP("is about dvq's drivers");
	LAB_NEED(kind->n <= MOST, "too many objects");
	memset(least, 0xff, sizeof(least));
	objects_begin(kind);
	for (unsigned int turn = 0; turn < TURNS && !affordable(kind, price, least); turn++)
		for (enum object_act act = 0; act < OBJECT_ACTS; act++)
			if (kind->act[act])
				count(kind, act, object, &least[act]);
	for (enum object_act act = 0; act < OBJECT_ACTS; act++) {
		if (!kind->act[act])
			continue;
		printf("# %s: %u commands, %u register accesses for %u\n", kind->act[act],
		       least[act].commands, least[act].accesses, kind->n);
		CHECK_EQ(least[act].commands, price[act].commands * kind->n);
		CHECK(least[act].accesses <= price[act].accesses * kind->n);
	}
}

/* EFA rings once for a command; ionic too, then takes its answer, arms and unmasks */
#define PRICE(n)	{ (n), self->kind == ADAPTER_EFA ? (n) : 4 * (n) }
#define SAME(n)		{ PRICE(n), PRICE(n), PRICE(n) }

#define OBJECT_TEST(test, name, efa, ionic)					\
	ADAPTER_TEST(test)							\
	{									\
		const unsigned int n = self->kind == ADAPTER_EFA ? (efa) : (ionic);	\
										\
		expect_price(name, (const struct price[])SAME(n));		\
	}

OBJECT_TEST(contexts, "context", 1, 0)
OBJECT_TEST(protection_domains, "PD", 1, 0)
/* ionic: of each pipeline */
OBJECT_TEST(completion_queues, "CQ", 1, 2)
OBJECT_TEST(address_handles, "AH", 1, 1)
OBJECT_TEST(regions_of_a_page, "MR of 4 KiB", 1, 1)
OBJECT_TEST(regions_of_many_pages, "MR of 64 MiB", 1, 1)

ADAPTER_TEST(queue_pairs)
{
	expect_price("QP", (const struct price[]){ PRICE(1), PRICE(3), PRICE(1) });
}

/* the sixteen of an EFA are one to the device */
ADAPTER_TEST(address_handles_of_one_peer)
{
	const struct object_kind *kind = object_kind("AH of one peer");
	struct price made = { ~0u, ~0u }, dropped = { ~0u, ~0u };
	void *object[MOST];

	need_efa();
	need_model();
	if (!self->dvq)
		SKIP("is about dvq's drivers");
	objects_begin(kind);
	for (unsigned int turn = 0; turn < TURNS && (made.commands > 1 || dropped.commands > 1); turn++) {
		count(kind, OBJECT_MAKE, object, &made);
		count(kind, OBJECT_DROP, object, &dropped);
	}
	CHECK_EQ(made.commands, 1);
	CHECK_EQ(dropped.commands, 1);
}

ADAPTER_TEST_MAIN(ADAPTER_ANY)
