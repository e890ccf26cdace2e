/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A host for one device without a guest: memory in ranges with holes, interrupts
 * that are counted, time that stands still unless it is moved. Every open host
 * and the fabric are pumped together, by hand, so that a test decides what
 * happens when, and the same test does the same every time.
 */
#ifndef MODEL_TEST_HOST_H
#define MODEL_TEST_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "device.h"

#define TEST_RANGES		3
#define TEST_RANGE_SIZE		(24ul << 20)
#define TEST_PAGE		4096ul
#define TEST_MS			1000000ull
#define TEST_WRITES_KEPT	64

struct test_range {
	uint64_t addr;
	uint64_t used;
	uint8_t *mem;
};

/* one write of the device to memory */
struct test_write {
	uint64_t addr;
	size_t len;
	unsigned int barriers;	/* wmb calls before it */
};

/**
 * struct test_host - what a device is plugged into
 *
 * @irqs: interrupts raised, by vector
 * @writes: the last TEST_WRITES_KEPT of @nwrites writes
 * @failing: DMA fails while set
 */
struct test_host {
	struct model_host host;		/* first */
	struct model_device *dev;
	struct test_host *next;
	struct test_range range[TEST_RANGES];
	unsigned int irqs[256];
	struct test_write writes[TEST_WRITES_KEPT];
	unsigned int nwrites, barriers;
	bool kicked, failing;
	bool left;			/* the device wants to be pulled */
	uint64_t timer;
};

/* what a test builds on; without it nothing that follows means anything */
#define MUST(condition)									\
	do {										\
		if (!(condition)) {							\
			printf("Bail out! %s:%d: %s\n", __FILE__, __LINE__, #condition);	\
			exit(1);							\
		}									\
	} while (0)

/* a device with options as they stand on a command line, between spaces; NULL if it refuses them */
struct model_device *test_device(const struct model_type *type, const char *name,
				 const char *options);

/* plugs the device in: BAR memory, first reset */
void test_host_open(struct test_host *host, struct model_device *dev);
/* destroys the device, frees everything */
void test_host_close(struct test_host *host);

/* guest memory of the first range that has room, zeroed; @align a power of two */
uint64_t test_alloc(struct test_host *host, size_t len, size_t align);
/* the same, beginning in a page that is not the neighbour of the last one given */
uint64_t test_alloc_apart(struct test_host *host, size_t len);
/* NULL unless all @len bytes are memory of one range */
void *test_mem(struct test_host *host, uint64_t addr, size_t len);
/* an address of which nothing is memory */
uint64_t test_hole(void);

/* until nobody has anything to do at the present time */
void test_run(void);
/* the same, and on to later times until @ms have passed */
void test_run_ms(uint64_t ms);
uint64_t test_now(void);

/* runs a control verb; its answer is in test_answer, its result returned */
int test_control(struct model_device *dev, const char *line);
extern char test_answer[4096];
/* the number behind "key=" in test_answer, or -1 */
long long test_answer_number(const char *key);

#endif /* MODEL_TEST_HOST_H */
