// SPDX-License-Identifier: GPL-2.0
/*
 * Object numbers. By default a number is not given out again until all others
 * had their turn, so that a driver that uses a stale one is found out; with
 * @lowest the number just freed comes back at once, which finds other mistakes.
 */
#include <stdlib.h>

#include "efa.h"

void efa_table_init(struct efa_table *table, unsigned int first, unsigned int size,
		    unsigned int limit, bool lowest)
{
	table->slot = calloc(size, sizeof(*table->slot));
	if (!table->slot)
		abort();
	table->first = first;
	table->size = size;
	table->limit = limit;
	table->used = 0;
	table->next = table->end = first;
	table->lowest = lowest;
}

void efa_table_free(struct efa_table *table)
{
	free(table->slot);
}

static unsigned int after(const struct efa_table *table, unsigned int number)
{
	return number + 1 < table->size ? number + 1 : table->first;
}

int efa_table_add(struct efa_table *table, void *object)
{
	unsigned int number = table->next;

	if (table->used >= table->limit || table->used >= table->size - table->first)
		return -1;
	while (table->slot[number])
		number = after(table, number);
	table->slot[number] = object;
	table->used++;
	table->next = after(table, number);
	if (number >= table->end)
		table->end = number + 1;
	return number;
}

void *efa_table_get(const struct efa_table *table, unsigned int number)
{
	return number < table->size ? table->slot[number] : NULL;
}

void efa_table_del(struct efa_table *table, unsigned int number)
{
	table->slot[number] = NULL;
	table->used--;
	if (table->lowest && number < table->next)
		table->next = number;
}

void *efa_table_next(const struct efa_table *table, unsigned int *from)
{
	while (*from < table->end) {
		void *object = table->slot[(*from)++];

		if (object)
			return object;
	}
	return NULL;
}
