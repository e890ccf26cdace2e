// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lab.h"

struct held {
	struct held *next;
	int (*drop)(void *object);
	void *object;
};

static struct held *held;	/* newest first */

void lab_hold(int (*drop)(void *object), void *object)
{
	struct held *entry = malloc(sizeof(*entry));

	LAB_NEED(entry, "no memory");
	*entry = (struct held) { .next = held, .drop = drop, .object = object };
	held = entry;
}

static struct held **find(void *object)
{
	struct held **link = &held;

	while (*link && (*link)->object != object)
		link = &(*link)->next;
	LAB_NEED(*link, "object %p is not held", object);
	return link;
}

static void unlink_entry(struct held **link)
{
	struct held *entry = *link;

	*link = entry->next;
	free(entry);
}

int lab_drop(void *object)
{
	struct held **link = find(object);
	int err = (*link)->drop(object);

	if (!err)
		unlink_entry(link);
	return err;
}

void lab_forget(void *object)
{
	unlink_entry(find(object));
}

void lab_drop_all(void)
{
	while (held) {
		int err = held->drop(held->object);

		if (err)
			lab_note(__FILE__, __LINE__, "cannot clean up: %s", strerror(err));
		unlink_entry(&held);
	}
}

void lab_forget_all(void)
{
	while (held)
		unlink_entry(&held);
}

unsigned int lab_slow(void)
{
	const char *slow = getenv("DVQ_SLOW");
	int times = slow ? atoi(slow) : 1;

	return times > 1 ? times : 1;
}

uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

void sleep_ms(unsigned int ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l };

	while (nanosleep(&left, &left))
		;
}

uint32_t lab_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}
