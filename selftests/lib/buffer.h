/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registered memory with a guard on both sides. The guards belong to the memory
 * region, so that an adapter that writes too much is found out instead of being
 * stopped. Contents are patterns: every byte depends on a seed and its place.
 */
#ifndef SELFTESTS_BUFFER_H
#define SELFTESTS_BUFFER_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUFFER_GUARD	256

struct buffer {
	uint8_t *data;
	size_t size;
	struct ibv_mr *mr;
	uint8_t *memory;	/* data and guards */
};

/* must succeed; undone at the end of the test. @access: IBV_ACCESS_* */
struct buffer *buffer_new(struct ibv_pd *pd, size_t size, unsigned int access);
/* no longer registered (the MR was destroyed by the test) */
void buffer_lose_mr(struct buffer *buffer);

/* [off, off + len) as an SGE */
struct ibv_sge buffer_sge(const struct buffer *buffer, size_t off, size_t len);
uint64_t buffer_addr(const struct buffer *buffer, size_t off);

uint8_t pattern(uint32_t seed, size_t i);
void fill(void *data, size_t len, uint32_t seed);
/* the first place that is not as fill() left it, or @len */
size_t first_difference(const void *data, size_t len, uint32_t seed);

void buffer_fill(struct buffer *buffer, uint32_t seed);
/* all of it back to how it was made: zero, guards intact */
void buffer_clear(struct buffer *buffer);

/* notes a failure that says where, unless [off, off + len) is the beginning of @seed's pattern */
void buffer_expect(const struct buffer *buffer, size_t off, size_t len, uint32_t seed);
/* the same for zeros: nothing was written there */
void buffer_expect_clear(const struct buffer *buffer, size_t off, size_t len);
/* notes a failure if a guard was touched */
void buffer_expect_guards(const struct buffer *buffer);

#endif /* SELFTESTS_BUFFER_H */
