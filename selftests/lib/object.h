/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects of an adapter in many: each kind with how it is made, changed and dropped by the verbs alone, so
 * that what that costs can be counted under any driver.
 */
#ifndef SELFTESTS_OBJECT_H
#define SELFTESTS_OBJECT_H

#include "adapter.h"
#include "model.h"

enum object_act { OBJECT_MAKE, OBJECT_CHANGE, OBJECT_DROP, OBJECT_ACTS };

/**
 * struct object_kind - objects of the adapter under test
 *
 * @act: what is done to them, in words; NULL: it is not
 * @n: how many make a fair sample
 * @bytes: memory that they are about
 * @make: the @i-th of them; NULL and errno if that fails
 * @change, @drop: 0 or an errno
 */
struct object_kind {
	const char *name;
	const char *act[OBJECT_ACTS];
	unsigned int n;
	size_t bytes;
	void *(*make)(unsigned int i);
	int (*change)(void *object);
	int (*drop)(void *object);
};

/* ended by one without a name */
extern const struct object_kind object_kinds[];
/* must be there */
const struct object_kind *object_kind(const char *name);

/* what objects of a kind are made of; must succeed; undone at the end of the test */
void objects_begin(const struct object_kind *kind);
/* must succeed; *@object is what OBJECT_MAKE made */
void object_act(const struct object_kind *kind, enum object_act act, void **object, unsigned int i);

/* commands that the model was given, and accesses to registers that it saw, doorbells included */
uint64_t object_commands(const struct model_stats *stats);
uint64_t object_accesses(const struct model_stats *stats);

#endif /* SELFTESTS_OBJECT_H */
