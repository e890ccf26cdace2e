// SPDX-License-Identifier: GPL-2.0
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "control.h"
#include "engine.h"
#include "inject.h"
#include "loop.h"
#include "pci.h"
#include "test_tiny.h"
#include "vfu.h"

struct tiny_model tiny_model;

static struct vfu *vfus[TINIES];
static struct control *control;
static struct loop_source stop_source;
static pthread_t thread;

static const struct inject_point points[] = { { "job", INJECT_COMMAND }, { 0 } };

static struct tiny *to_tiny(struct model_device *dev)
{
	return (struct tiny *)dev;
}

static void tiny_reset(struct model_device *dev)
{
	struct tiny *t = to_tiny(dev);

	/* a job that is wanted is forgotten by the host, which calls ->work() no more for it */
	t->resets++;
	t->scratch = 0;
	t->vector = 0;
	t->dev.polled = false;
	model_bar_clear(dev, 1);
	model_bar_clear(dev, 2);
}

static void log_access(struct tiny *t, struct tiny_access access)
{
	if (t->log_len < TINY_LOG_MAX)
		t->log[t->log_len++] = access;
}

static uint64_t tiny_read(struct model_device *dev, unsigned int bar, uint64_t off,
			  unsigned int size)
{
	struct tiny *t = to_tiny(dev);
	uint64_t value = 0;

	if (bar)
		memcpy(&value, dev->bar[bar].mem + off, size);
	else if (off >= TINY_LOG)
		value = 0x1122334455667788;
	else if (off == TINY_SCRATCH)
		value = t->scratch;
	else if (off == TINY_RESETS)
		value = t->resets;
	log_access(t, (struct tiny_access) { false, bar, size, off, value });
	return value;
}

static void write_register(struct tiny *t, uint64_t off, uint64_t value)
{
	switch (off) {
	case TINY_SCRATCH:
		t->scratch = value;
		break;
	case TINY_VECTOR:
		t->vector = value;
		break;
	case TINY_JOB:
		t->job = value;
		t->job_wanted = true;
		model_kick(&t->dev);
		break;
	case TINY_BAD_WRITE:
		model_violation(&t->dev, "wrote %llu to a register that must not be written",
				(unsigned long long)value);
		break;
	case TINY_TIMER:
		t->timed = true;
		model_timer(&t->dev, model_now(&t->dev) + value * 1000000);
		break;
	case TINY_POLLED:
		t->dev.polled = value;
		break;
	}
}

static void tiny_write(struct model_device *dev, unsigned int bar, uint64_t off, unsigned int size,
		       uint64_t value)
{
	struct tiny *t = to_tiny(dev);

	log_access(t, (struct tiny_access) { true, bar, size, off, value });
	if (bar)
		memcpy(dev->bar[bar].mem + off, &value, size);
	else
		write_register(t, off, value);
}

static int do_job(struct tiny *t)
{
	uint8_t data[TINY_JOB_SIZE];
	uint32_t done = 1;

	if (model_dma_read(&t->dev, t->job, data, sizeof(data)))
		return -EFAULT;
	for (unsigned int i = 0; i < sizeof(data); i++)
		data[i] ^= 0xff;
	if (model_dma_write(&t->dev, t->job + TINY_JOB_SIZE, data, sizeof(data)))
		return -EFAULT;
	model_wmb(&t->dev);
	if (model_dma_write(&t->dev, t->job + TINY_JOB_DONE, &done, sizeof(done)))
		return -EFAULT;
	model_irq(&t->dev, t->vector);
	return 0;
}

static bool tiny_work(struct model_device *dev)
{
	struct tiny *t = to_tiny(dev);

	if (!t->job_wanted && !t->timed)
		return false;
	t->job_wanted = t->timed = false;
	if (do_job(t))
		t->jobs_failed++;
	return false;
}

static bool tiny_poll(struct model_device *dev)
{
	struct tiny *t = to_tiny(dev);
	uint32_t now = __atomic_load_n((uint32_t *)dev->bar[1].mem, __ATOMIC_RELAXED);

	if (now == t->doorbell)
		return false;
	t->doorbell = now;
	t->job_wanted = now != 0;
	return t->job_wanted;
}

static int tiny_control(struct model_device *dev, int argc, char **argv, FILE *out)
{
	struct tiny *t = to_tiny(dev);

	if (!strcmp(argv[0], "stats")) {
		fprintf(out, "resets=%u", t->resets);
		return 0;
	}
	if (!strcmp(argv[0], "help")) {
		fputs("echo WORD...", out);
		return 0;
	}
	if (!strcmp(argv[0], "reset") && !strcmp(argv[1], "slowly")) {
		fputs("so be it", out);
		return 0;
	}
	if (!strcmp(argv[0], "echo")) {
		for (int i = 1; i < argc; i++)
			fprintf(out, "%s%s", i > 1 ? "\n" : "", argv[i]);
		return argc > 1 ? 0 : -EINVAL;
	}
	return -ENOSYS;
}

static void tiny_link(struct model_device *dev, bool up)
{
	to_tiny(dev)->link_up = to_tiny(dev)->port.up = up;
}

static void tiny_receive(struct model_device *dev, const uint8_t *from, const void *data,
			 size_t len)
{
	(void)from;
	(void)data;
	(void)len;
	to_tiny(dev)->packets++;
}

static void tiny_destroy(struct model_device *dev)
{
	fabric_detach(&to_tiny(dev)->port);
	free(dev);
}

static const struct model_device_ops tiny_ops = {
	.reset = tiny_reset,
	.bar_read = tiny_read,
	.bar_write = tiny_write,
	.work = tiny_work,
	.poll = tiny_poll,
	.control = tiny_control,
	.link = tiny_link,
	.destroy = tiny_destroy,
};

static void make_bars(struct model_device *dev)
{
	dev->bar[0] = (struct model_bar) { .size = TINY_REGS_SIZE };
	dev->bar[1] = (struct model_bar) {
		.size = TINY_WHOLE_SIZE, .backed = true,
		.areas = { { 0, TINY_WHOLE_SIZE } }, .nareas = 1,
	};
	dev->bar[2] = (struct model_bar) {
		.size = TINY_PARTS_SIZE, .backed = true, .is64 = true, .prefetch = true,
		.areas = { { TINY_PART0, TINY_PART0_SIZE }, { TINY_PART1, TINY_PART1_SIZE } },
		.nareas = 2,
	};
	dev->bar[4] = (struct model_bar) { .size = TINY_MSIX_SIZE };
	dev->vectors = TINY_VECTORS;
	dev->msix_bar = 4;
	dev->msix_pba = TINY_PBA;
}

static struct model_device *tiny_create(unsigned int number)
{
	static const struct pci_ids ids = {
		.vendor = 0x1234, .device = 0x5678, .class_code = 0xff0000,
	};
	struct tiny *t = calloc(1, sizeof(*t));

	assert(t);
	t->dev.ops = &tiny_ops;
	t->dev.inject_points = points;
	snprintf(t->dev.name, sizeof(t->dev.name), "tiny%u", number);
	make_bars(&t->dev);
	pci_init(&t->dev, &ids);
	pci_add_pm(&t->dev);
	pci_add_pcie(&t->dev);
	pci_add_msix(&t->dev);

	t->port = (struct fabric_port) {
		.addr = { 2, 0, 0, 0, 0, number }, .addr_len = 6, .up = true,
		.dev = &t->dev, .receive = tiny_receive,
	};
	assert(!fabric_attach(&t->port));
	return &t->dev;
}

static void stop_ready(struct loop_source *source, uint32_t events)
{
	(void)source;
	(void)events;
	loop_quit();
}

static void *run(void *unused)
{
	loop_run();
	return unused;
}

void tiny_start(void)
{
	struct tiny_model *m = &tiny_model;

	memset(m, 0, sizeof(*m));
	strcpy(m->dir, "/tmp/dvq-tiny-XXXXXX");
	assert(mkdtemp(m->dir));
	assert(!loop_open());
	for (int i = 0; i < TINIES; i++) {
		struct model_device *dev = tiny_create(i);

		m->tiny[i] = to_tiny(dev);
		m->slot[i] = slot_create(dev, "tiny", stderr);
		assert(asprintf(&m->socket[i], "%s/%s", m->dir, dev->name) > 0);
		vfus[i] = vfu_open(m->slot[i], m->socket[i], stderr);
		assert(vfus[i]);
	}
	m->slot[0]->next = m->slot[1];
	assert(asprintf(&m->control, "%s/control", m->dir) > 0);
	control = control_open(m->slot[0], m->control, stderr);
	assert(control);

	stop_source = (struct loop_source) { eventfd(0, EFD_CLOEXEC), stop_ready };
	assert(!loop_add(&stop_source, EPOLLIN));
	assert(!engine_start());
	assert(!pthread_create(&thread, NULL, run, NULL));
}

void tiny_stop(void)
{
	struct tiny_model *m = &tiny_model;
	uint64_t one = 1;

	assert(write(stop_source.fd, &one, sizeof(one)) == sizeof(one));
	pthread_join(thread, NULL);
	engine_stop();
	control_close(control);
	for (int i = 0; i < TINIES; i++)
		vfu_close(vfus[i]);
	for (int i = 0; i < TINIES; i++) {
		slot_destroy(m->slot[i]);
		free(m->socket[i]);
	}
	free(m->control);
	loop_remove(&stop_source);
	close(stop_source.fd);
	loop_close();
	/* fails, and says so, if a socket file was left behind */
	if (rmdir(m->dir))
		perror(m->dir);
}
