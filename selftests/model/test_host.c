// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric.h"
#include "inject.h"
#include "test_host.h"

#define OPTIONS_MAX	32
#define START		(1000 * TEST_MS)
#define SLICES_MAX	10000000	/* more is a device that never comes to rest */

char test_answer[4096];

/* holes between all of them; the last one needs more than 32 bits */
static const uint64_t range_addr[TEST_RANGES] = { 0x10000000, 0x40000000, 0x580000000 };

static struct test_host *hosts;
static uint64_t now;

/* ---- memory ------------------------------------------------------------ */

/* MAP_SHARED: pages can be taken out again; MAP_PRIVATE costs less */
static void *map(size_t len, int how)
{
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS | MAP_NORESERVE,
			 -1, 0);

	if (mem == MAP_FAILED)
		abort();
	return mem;
}

void *test_mem(struct test_host *host, uint64_t addr, size_t len)
{
	for (unsigned int i = 0; i < TEST_RANGES; i++) {
		struct test_range *range = &host->range[i];

		if (addr >= range->addr && addr - range->addr < TEST_RANGE_SIZE &&
		    len <= TEST_RANGE_SIZE - (addr - range->addr))
			return range->mem + (addr - range->addr);
	}
	return NULL;
}

uint64_t test_hole(void)
{
	return 0x30000000;
}

uint64_t test_alloc(struct test_host *host, size_t len, size_t align)
{
	for (unsigned int i = 0; i < TEST_RANGES; i++) {
		struct test_range *range = &host->range[i];
		uint64_t at = (range->used + align - 1) & ~(align - 1);

		if (at + len > TEST_RANGE_SIZE)
			continue;
		range->used = at + len;
		return range->addr + at;
	}
	abort();
}

uint64_t test_alloc_apart(struct test_host *host, size_t len)
{
	test_alloc(host, TEST_PAGE, TEST_PAGE);
	return test_alloc(host, len, TEST_PAGE);
}

static int dma_read(struct model_host *base, uint64_t addr, void *buf, size_t len)
{
	struct test_host *host = (struct test_host *)base;
	void *mem = test_mem(host, addr, len);

	if (!mem || host->failing)
		return -EFAULT;
	memcpy(buf, mem, len);
	return 0;
}

static int dma_write(struct model_host *base, uint64_t addr, const void *buf, size_t len)
{
	struct test_host *host = (struct test_host *)base;
	void *mem = test_mem(host, addr, len);

	if (!mem || host->failing)
		return -EFAULT;
	host->writes[host->nwrites++ % TEST_WRITES_KEPT] =
		(struct test_write) { addr, len, host->barriers };
	memcpy(mem, buf, len);
	return 0;
}

static void wmb(struct model_host *base)
{
	((struct test_host *)base)->barriers++;
}

/* ---- the rest of a host ------------------------------------------------ */

static void irq(struct model_host *base, unsigned int vector)
{
	((struct test_host *)base)->irqs[vector]++;
}

static void kick(struct model_host *base)
{
	((struct test_host *)base)->kicked = true;
}

static void timer(struct model_host *base, uint64_t when)
{
	((struct test_host *)base)->timer = when;
}

static uint64_t host_now(struct model_host *base)
{
	(void)base;
	return now;
}

static void leave(struct model_host *base)
{
	((struct test_host *)base)->left = true;
}

static const struct model_host_ops host_ops = {
	.dma_read = dma_read, .dma_write = dma_write, .wmb = wmb, .irq = irq, .kick = kick,
	.timer = timer, .now = host_now, .leave = leave,
};

struct model_device *test_device(const struct model_type *type, const char *name,
				 const char *options)
{
	char *copy = strdup(options), *rest = NULL, *words[OPTIONS_MAX + 1] = { 0 };
	struct model_device *dev;
	unsigned int n = 0;

	for (char *word = strtok_r(copy, " ", &rest); word && n < OPTIONS_MAX;
	     word = strtok_r(NULL, " ", &rest))
		words[n++] = word;
	dev = type->create(name, words, stderr);
	free(copy);
	return dev;
}

void test_host_open(struct test_host *host, struct model_device *dev)
{
	memset(host, 0, sizeof(*host));
	/* a test does not depend on what was before it */
	if (!hosts)
		now = START;
	host->host.ops = &host_ops;
	host->dev = dev;
	dev->host = &host->host;
	for (unsigned int i = 0; i < TEST_RANGES; i++) {
		host->range[i].addr = range_addr[i];
		host->range[i].mem = map(TEST_RANGE_SIZE, MAP_PRIVATE);
	}
	for (unsigned int i = 0; i < MODEL_BARS; i++)
		if (dev->bar[i].backed)
			dev->bar[i].mem = map(dev->bar[i].size, MAP_SHARED);
	host->next = hosts;
	hosts = host;
	dev->ops->reset(dev);
}

void test_host_close(struct test_host *host)
{
	struct test_host **link = &hosts;
	struct model_bar bar[MODEL_BARS];

	while (*link != host)
		link = &(*link)->next;
	*link = host->next;
	memcpy(bar, host->dev->bar, sizeof(bar));
	model_device_destroy(host->dev);
	for (unsigned int i = 0; i < MODEL_BARS; i++)
		if (bar[i].backed)
			munmap(bar[i].mem, bar[i].size);
	for (unsigned int i = 0; i < TEST_RANGES; i++)
		munmap(host->range[i].mem, TEST_RANGE_SIZE);
}

/* ---- time -------------------------------------------------------------- */

uint64_t test_now(void)
{
	return now;
}

static bool due(const struct test_host *host)
{
	return host->kicked || (host->timer && host->timer <= now) ||
	       (host->dev->polled && host->dev->ops->poll(host->dev));
}

static bool slice(void)
{
	bool more = false;

	for (struct test_host *host = hosts; host; host = host->next) {
		if (!due(host))
			continue;
		host->kicked = false;
		if (host->timer <= now)
			host->timer = 0;
		if (host->dev->ops->work(host->dev))
			host->kicked = true;
		more = true;
	}
	if (fabric_pending()) {
		fabric_run(1);
		more = true;
	}
	return more;
}

void test_run(void)
{
	unsigned int slices = 0;

	while (slice())
		if (++slices == SLICES_MAX)
			abort();
}

void test_run_ms(uint64_t ms)
{
	uint64_t end = now + ms * TEST_MS;

	for (;;) {
		uint64_t next = end;

		test_run();
		for (struct test_host *host = hosts; host; host = host->next)
			if (host->timer && host->timer < next)
				next = host->timer;
		if (now == end)
			return;
		now = next;
	}
}

/* ---- control ----------------------------------------------------------- */

int test_control(struct model_device *dev, const char *line)
{
	FILE *out = fmemopen(test_answer, sizeof(test_answer), "w");
	char *copy = strdup(line), *rest = NULL, *argv[16] = { 0 };
	int argc = 0, err;

	if (!out || !copy)
		abort();
	for (char *word = strtok_r(copy, " ", &rest); word && argc < 15;
	     word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	if (!strcmp(argv[0], "inject"))
		err = inject_control(dev, argc, argv, out);
	else
		err = dev->ops->control(dev, argc, argv, out);
	fclose(out);
	free(copy);
	return err;
}

long long test_answer_number(const char *key)
{
	size_t len = strlen(key);

	for (const char *word = test_answer; word; word = strchr(word, ' ')) {
		word += *word == ' ';
		if (!strncmp(word, key, len) && word[len] == '=')
			return strtoll(word + len + 1, NULL, 0);
	}
	return -1;
}
