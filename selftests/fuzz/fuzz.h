/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all targets share: the bytes of an input, taken from the front as the operands of a
 * small language. Behind its end all bytes are zero, so that a target need not ask at each
 * step; its loop ends when fuzz_left() says so.
 *
 * A target is one function, LLVMFuzzerTestOneInput(). It must leave nothing behind: the same
 * input does the same, whatever came before.
 */
#ifndef SELFTESTS_FUZZ_H
#define SELFTESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz {
	const uint8_t *at, *end;
};

/* what must be true whatever the input says */
#define FUZZ_CHECK(condition)								\
	do {										\
		if (!(condition)) {							\
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);	\
			abort();							\
		}									\
	} while (0)

static inline bool fuzz_left(const struct fuzz *f)
{
	return f->at != f->end;
}

static inline void fuzz_bytes(struct fuzz *f, void *to, size_t len)
{
	size_t have = (size_t)(f->end - f->at) < len ? (size_t)(f->end - f->at) : len;

	if (have)
		memcpy(to, f->at, have);
	memset((uint8_t *)to + have, 0, len - have);
	f->at += have;
}

static inline uint8_t fuzz8(struct fuzz *f)
{
	return fuzz_left(f) ? *f->at++ : 0;
}

static inline uint16_t fuzz16(struct fuzz *f)
{
	uint16_t value;

	fuzz_bytes(f, &value, sizeof(value));
	return value;
}

static inline uint32_t fuzz32(struct fuzz *f)
{
	uint32_t value;

	fuzz_bytes(f, &value, sizeof(value));
	return value;
}

static inline uint64_t fuzz64(struct fuzz *f)
{
	uint64_t value;

	fuzz_bytes(f, &value, sizeof(value));
	return value;
}

/* numbers that mean something where the input is played: addresses, names of objects */
struct fuzz_known {
	uint64_t value[16];
	unsigned int next;
};

static inline void fuzz_learn(struct fuzz_known *known, uint64_t value)
{
	known->value[known->next++ % 16] = value;
}

static inline uint64_t fuzz_number(struct fuzz *f, const struct fuzz_known *known)
{
	uint8_t kind = fuzz8(f);

	switch (kind >> 5) {
	case 0:
		return kind & 31;
	case 1:
		return fuzz8(f);
	case 2:
		return fuzz16(f);
	case 3:
		return kind & 1 ? fuzz64(f) : fuzz32(f);
	case 4:
		return known->value[kind & 15] + fuzz16(f);
	case 5:
		return 1ull << (fuzz8(f) % 64);
	case 6:
		return -(uint64_t)(kind & 31);
	default:
		return known->value[kind & 15];
	}
}

/* up to three fields of a block of bytes, which was right so far, become something else */
static inline void fuzz_spoil(struct fuzz *f, void *data, size_t len,
			      const struct fuzz_known *known)
{
	for (unsigned int fields = fuzz8(f) % 4; fields && len; fields--) {
		size_t at = fuzz8(f), size = 1ul << (at >> 6);
		uint64_t value = fuzz_number(f, known);

		at = (at & 63) | (len > 64 ? (size_t)fuzz8(f) << 6 : 0);
		at %= len;
		memcpy((uint8_t *)data + at, &value, size < len - at ? size : len - at);
	}
}

#endif /* SELFTESTS_FUZZ_H */
