// SPDX-License-Identifier: GPL-2.0
/*
 * What objects of an adapter cost, by the verbs alone and so under any driver: admin commands and register
 * accesses, as the model counts them, and time; and the kernel's memory. One round of it.
 *
 *	object_bench efa|ionic control|memory SUBJECT
 *
 * Documentation/performance.rst
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/object.h"
#include "../lib/pci.h"
#include "../lib/show.h"
#include "bench.h"

#define OBJECTS		256
#define WARM_UP		16

static const char *part, *subject;
static void *object[OBJECTS];

/* ---- control path ------------------------------------------------------------------- */

struct cost {
	double commands, accesses, us;
};

static struct cost do_all(const struct object_kind *kind, enum object_act act)
{
	struct model_stats before, after;
	double us[OBJECTS];

	model_stats(self->model, &before);
	for (unsigned int i = 0; i < kind->n; i++) {
		uint64_t start = bench_now();

		object_act(kind, act, &object[i], i);
		us[i] = (double)(bench_now() - start) / 1000;
	}
	model_stats(self->model, &after);
	return (struct cost) {
		.commands = (double)(object_commands(&after) - object_commands(&before)) / kind->n,
		.accesses = (double)(object_accesses(&after) - object_accesses(&before)) / kind->n,
		.us = bench_median(us, kind->n),
	};
}

static void say_cost(const struct object_kind *kind, const char *act, const struct cost *cost)
{
	char name[80];
	const struct bench_case what = {
		.part = part, .adapter = self->kind == ADAPTER_EFA ? "efa" : "ionic", .name = name,
	};

	snprintf(name, sizeof(name), "%s, %s", kind->name, act);
	bench_say(&what, "admin commands", subject, cost->commands);
	bench_say(&what, "register accesses", subject, cost->accesses);
	bench_say(&what, "us", subject, cost->us);
}

#define TURNS	3	/* drivers look at their adapters now and then: the lowest count has none of that */

static void lower(struct cost *least, const struct cost *cost)
{
	least->commands = cost->commands < least->commands ? cost->commands : least->commands;
	least->accesses = cost->accesses < least->accesses ? cost->accesses : least->accesses;
	least->us = cost->us < least->us ? cost->us : least->us;
}

static void control_of(const struct object_kind *kind)
{
	struct cost least[OBJECT_ACTS];

	objects_begin(kind);
	for (unsigned int turn = 0; turn < TURNS; turn++) {
		for (enum object_act act = 0; act < OBJECT_ACTS; act++) {
			struct cost cost;

			if (!kind->act[act])
				continue;
			cost = do_all(kind, act);
			if (!turn)
				least[act] = cost;
			lower(&least[act], &cost);
		}
	}
	for (enum object_act act = 0; act < OBJECT_ACTS; act++)
		if (kind->act[act])
			say_cost(kind, kind->act[act], &least[act]);
	lab_drop_all();
}

static void control(void)
{
	for (const struct object_kind *kind = object_kinds; kind->name; kind++)
		control_of(kind);
}

/* ---- memory ------------------------------------------------------------------------- */

#define CACHES	64

/* objects of the kernel by their size; caches of the same size count as one */
struct slabs {
	struct slab {
		char name[32];
		double active, size;
	} slab[CACHES * 8];
	unsigned int n;
};

/* "kmalloc-rnd-05-1k", "kmalloc-cg-1k": "kmalloc-1k" */
static void plain_name(char *name)
{
	char *size = strrchr(name, '-');

	if (!strncmp(name, "kmalloc-", 8) && size > name + 7)
		memmove(name + 7, size, strlen(size) + 1);
}

static void shrink_slabs(void)
{
	glob_t found;

	sleep(1);
	if (glob("/sys/kernel/slab/*/shrink", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		sysfs_write(found.gl_pathv[i], "1");
	globfree(&found);
}

static void read_slabs(struct slabs *slabs)
{
	FILE *file = fopen("/proc/slabinfo", "r");
	char line[512], name[64];
	double active, all, size;

	LAB_NEED(file, "/proc/slabinfo: %s", strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		unsigned int i;

		if (sscanf(line, "%63s %lf %lf %lf", name, &active, &all, &size) != 4)
			continue;
		plain_name(name);
		for (i = 0; i < slabs->n && strcmp(slabs->slab[i].name, name); i++)
			;
		if (i == sizeof(slabs->slab) / sizeof(slabs->slab[0]))
			continue;
		if (i == slabs->n)
			snprintf(slabs->slab[slabs->n++].name, sizeof(slabs->slab[0].name), "%.31s", name);
		slabs->slab[i].active += active;
		slabs->slab[i].size = size;
	}
	fclose(file);
}

static void look(struct slabs *slabs)
{
	memset(slabs, 0, sizeof(*slabs));
	shrink_slabs();
	read_slabs(slabs);
}

/* by how many objects a cache grew */
static double growth(const struct slabs *before, const struct slab *after)
{
	for (unsigned int i = 0; i < before->n; i++)
		if (!strcmp(before->slab[i].name, after->name))
			return after->active - before->slab[i].active;
	return after->active;
}

static void say_growth(const struct object_kind *kind, const struct slabs *before, const struct slabs *after)
{
	const struct bench_case what = {
		.part = part, .adapter = self->kind == ADAPTER_EFA ? "efa" : "ionic", .name = kind->name,
	};
	double bytes = 0, largest = 0, n = OBJECTS;
	char why[512] = "";
	size_t used = 0;

	for (unsigned int i = 0; i < after->n; i++) {
		const struct slab *slab = &after->slab[i];
		double each = growth(before, slab) / n;

		if (each < 0.5)
			continue;
		bytes += each * slab->size;
		if (slab->size > largest)
			largest = slab->size;
		if (used < sizeof(why))
			used += (size_t)snprintf(why + used, sizeof(why) - used, "%s%.1f of %s",
						 used ? ", " : "", each, slab->name);
	}
	bench_say_why(&what, "slab bytes", subject, bytes, why);
	bench_say(&what, "largest slab object", subject, largest);
}

static void act_on(const struct object_kind *kind, enum object_act act, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		object_act(kind, act, &object[i], i);
}

static void memory_of(const struct object_kind *kind)
{
	static struct slabs before, after;

	objects_begin(kind);
	act_on(kind, OBJECT_MAKE, WARM_UP);
	act_on(kind, OBJECT_DROP, WARM_UP);
	look(&before);
	act_on(kind, OBJECT_MAKE, OBJECTS);
	look(&after);
	act_on(kind, OBJECT_DROP, OBJECTS);
	say_growth(kind, &before, &after);
	lab_drop_all();
}

int main(int argc, char **argv)
{
	char why[200];

	if (argc != 4) {
		fprintf(stderr, "usage: object_bench efa|ionic control|memory SUBJECT\n");
		return 2;
	}
	LAB_NEED(adapters_find(strcmp(argv[1], "efa") ? ADAPTER_IONIC : ADAPTER_EFA, why, sizeof(why)), "%s",
		 why);
	peer = self;
	adapters_open();
	LAB_NEED(self->model[0], "%s is no model: only models count commands", adapter_name(self));
	part = argv[2];
	subject = argv[3];
	if (!strcmp(part, "control")) {
		control();
	} else {
		memory_of(object_kind("CQ"));
		memory_of(object_kind("QP"));
	}
	adapters_close();
	return 0;
}
