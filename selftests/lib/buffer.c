// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "lab.h"

#define GUARD_BYTE	0xa5

uint8_t pattern(uint32_t seed, size_t i)
{
	uint32_t mix = (seed + 1) * 2654435761u + (uint32_t)(i >> 2) * 40503u;

	return mix >> (8 * (i & 3)) ^ mix >> 13;
}

void fill(void *data, size_t len, uint32_t seed)
{
	uint8_t *byte = data;

	for (size_t i = 0; i < len; i++)
		byte[i] = pattern(seed, i);
}

size_t first_difference(const void *data, size_t len, uint32_t seed)
{
	const uint8_t *byte = data;
	size_t i = 0;

	while (i < len && byte[i] == pattern(seed, i))
		i++;
	return i;
}

static int drop(void *object)
{
	struct buffer *buffer = object;
	int err = buffer->mr ? ibv_dereg_mr(buffer->mr) : 0;

	if (err)
		return err;
	free(buffer->memory);
	free(buffer);
	return 0;
}

struct buffer *buffer_new(struct ibv_pd *pd, size_t size, unsigned int access)
{
	struct buffer *buffer = calloc(1, sizeof(*buffer));

	LAB_NEED(buffer, "no memory");
	buffer->size = size;
	buffer->memory = malloc(size + 2 * BUFFER_GUARD);
	LAB_NEED(buffer->memory, "no memory for a buffer of %zu bytes", size);
	buffer->data = buffer->memory + BUFFER_GUARD;
	buffer_clear(buffer);
	buffer->mr = ibv_reg_mr(pd, buffer->memory, size + 2 * BUFFER_GUARD, access);
	LAB_NEED(buffer->mr, "ibv_reg_mr of %zu bytes, access 0x%x: %s", size, access,
		 strerror(errno));
	lab_hold(drop, buffer);
	return buffer;
}

void buffer_lose_mr(struct buffer *buffer)
{
	buffer->mr = NULL;
}

struct ibv_sge buffer_sge(const struct buffer *buffer, size_t off, size_t len)
{
	return (struct ibv_sge) {
		.addr = buffer_addr(buffer, off), .length = len, .lkey = buffer->mr->lkey,
	};
}

uint64_t buffer_addr(const struct buffer *buffer, size_t off)
{
	return (uintptr_t)buffer->data + off;
}

void buffer_fill(struct buffer *buffer, uint32_t seed)
{
	fill(buffer->data, buffer->size, seed);
}

void buffer_clear(struct buffer *buffer)
{
	memset(buffer->memory, GUARD_BYTE, buffer->size + 2 * BUFFER_GUARD);
	memset(buffer->data, 0, buffer->size);
}

void buffer_expect(const struct buffer *buffer, size_t off, size_t len, uint32_t seed)
{
	size_t at = first_difference(buffer->data + off, len, seed);

	if (at < len)
		lab_note(__FILE__, __LINE__,
			 "byte %zu of %zu (at %zu of the buffer) is 0x%02x, wanted 0x%02x", at, len,
			 off + at, buffer->data[off + at], pattern(seed, at));
}

static void expect_all(const uint8_t *data, size_t len, uint8_t want, const char *where)
{
	size_t i = 0;

	while (i < len && data[i] == want)
		i++;
	if (i < len)
		lab_note(__FILE__, __LINE__, "byte %zu of %s was written: 0x%02x", i, where,
			 data[i]);
}

void buffer_expect_clear(const struct buffer *buffer, size_t off, size_t len)
{
	expect_all(buffer->data + off, len, 0, "memory that no message was for");
}

void buffer_expect_guards(const struct buffer *buffer)
{
	expect_all(buffer->memory, BUFFER_GUARD, GUARD_BYTE, "the guard before a buffer");
	expect_all(buffer->data + buffer->size, BUFFER_GUARD, GUARD_BYTE,
		   "the guard behind a buffer");
}
