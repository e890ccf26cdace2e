// SPDX-License-Identifier: GPL-2.0
/*
 * A hostile client of the transport: vfio-user messages that are right, nearly right or noise,
 * with descriptors that fit or do not, to an adapter that then works on the memory it was given.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "engine.h"
#include "fuzz_socket.h"
#include "vfu.h"

#define MEMORY	(16 * 4096)

static struct slot *slot;
static int memory_fd, event_fd, null_fd, pipe_fd;

static const struct fuzz_known known = {
	.value = { 0, 4096, MEMORY, 65536, 0x60, 16, 1ull << 32, ~0ull, 1ull << 63, 7, 2, 8, 0x54,
		   20, 32, 0x800 },
};

static void put(struct fuzz_client *c, const void *data, size_t len)
{
	memcpy(c->data + c->len, data, len);
	c->len += len;
}

static void put32(struct fuzz_client *c, uint32_t value)
{
	put(c, &value, sizeof(value));
}

static void put64(struct fuzz_client *c, uint64_t value)
{
	put(c, &value, sizeof(value));
}

static void map(struct fuzz_client *c)
{
	uint8_t how = fuzz8(c->f);

	put32(c, 32);
	put32(c, 3);
	put64(c, 0);
	put64(c, (uint64_t)(how & 15) * MEMORY);
	put64(c, how & 16 ? MEMORY : 4096);
	if (!(how & 32))
		c->fds[c->nfds++] = memory_fd;
}

static void unmap(struct fuzz_client *c)
{
	uint8_t how = fuzz8(c->f);

	put32(c, 24);
	put32(c, how & 32 ? 2 : 0);
	put64(c, how & 32 ? 0 : (uint64_t)(how & 15) * MEMORY);
	put64(c, how & 32 ? 0 : how & 16 ? MEMORY : 4096);
}

static void info(struct fuzz_client *c, unsigned int words)
{
	uint8_t index = fuzz8(c->f);

	put32(c, index & 0x80 ? 256 : 32);
	put32(c, 0);
	put32(c, index & 15);
	for (unsigned int i = 3; i < words; i++)
		put32(c, 0);
}

static void set_irqs(struct fuzz_client *c)
{
	uint8_t how = fuzz8(c->f), count = how >> 4;

	put32(c, 20);
	put32(c, how & 1 ? 0x21 : 0x24);
	put32(c, how & 2 ? 2 : fuzz8(c->f) & 7);
	put32(c, fuzz8(c->f));
	put32(c, count);
	while (count-- && how & 4)
		c->fds[c->nfds++] = how & 8 && count & 1 ? pipe_fd : event_fd;
}

static void access_region(struct fuzz_client *c, bool write)
{
	uint8_t how = fuzz8(c->f);
	uint32_t count = 1u << (how >> 3 & 7);

	put64(c, how & 0x40 ? fuzz16(c->f) : fuzz8(c->f));
	put32(c, how & 7);
	put32(c, count);
	if (!write)
		return;
	fuzz_bytes(c->f, c->data + c->len, count);
	c->len += count;
}

/* the payload of a right message */
static void payload(struct fuzz_client *c, uint16_t command)
{
	switch (command) {
	case 1:
		put32(c, 0);
		put(c, "{}", 3);
		break;
	case 2:
		map(c);
		break;
	case 3:
		unmap(c);
		break;
	case 4:
	case 7:
		info(c, 4);
		break;
	case 5:
		info(c, 8);
		break;
	case 8:
		set_irqs(c);
		break;
	case 9:
	case 10:
		access_region(c, command == 10);
		break;
	default:
		break;
	}
}

/* what the device does with what it was told, as the engine would let it */
static void work(void)
{
	engine_lock();
	if (slot->attached && slot->dev->config[4] & 4)
		for (unsigned int i = 0; i < 8 && slot->dev->ops->work(slot->dev); i++)
			;
	engine_unlock();
}

static bool next(struct fuzz_client *c)
{
	uint8_t how;
	uint16_t words[2] = { 0 };
	uint32_t tail[3] = { 0 };

	work();
	if (!fuzz_left(c->f))
		return false;
	how = fuzz8(c->f);
	words[0] = how;
	words[1] = how & 0x10 ? fuzz16(c->f) : (how & 15) % 14;
	c->len = 16;
	if (how & 0x20)
		fuzz_bytes(c->f, c->data + c->len, fuzz8(c->f) & 63), c->len += 32;
	else
		payload(c, words[1]);
	if (how & 0x40)
		fuzz_spoil(c->f, c->data + 16, c->len - 16 ? c->len - 16 : 1, &known);
	tail[0] = c->len;
	memcpy(c->data, words, sizeof(words));
	memcpy(c->data + 4, tail, sizeof(tail));
	if (how & 0x80) {
		static const unsigned int places[] = { 4, 8, 12, 0 };
		uint32_t value = fuzz_number(c->f, &known);
		uint8_t fds = fuzz8(c->f);

		memcpy(c->data + places[fds >> 6], &value, sizeof(value));
		for (unsigned int i = fds & 15; i && c->nfds < 20; i--)
			c->fds[c->nfds++] = i & 1 ? null_fd : event_fd;
		if (fds & 0x10)
			c->len = 1 + c->len / 2;
	}
	return true;
}

static void open_descriptors(void)
{
	int pipes[2];

	memory_fd = memfd_create("guest", MFD_CLOEXEC);
	FUZZ_CHECK(memory_fd >= 0 && !ftruncate(memory_fd, MEMORY));
	event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* one that nobody reads: the program ignores the signal of a write to it */
	FUZZ_CHECK(!pipe2(pipes, O_CLOEXEC));
	close(pipes[0]);
	pipe_fd = pipes[1];
	signal(SIGPIPE, SIG_IGN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *small[] = { "max_qp=16", "max_llq_size=4096", NULL }, *none[] = { NULL };
	struct fuzz f = { data, data + size };
	struct fuzz_client client = { .next = next, .f = &f };
	struct vfu *vfu;

	open_descriptors();
	FUZZ_CHECK(!loop_open());
	slot = fuzz8(&f) & 1 ? fuzz_slot(&ionic_type, "ionic", none) :
			       fuzz_slot(&efa_type, "efa", small);
	vfu = vfu_open(slot, fuzz_socket_path(), stderr);
	FUZZ_CHECK(vfu);
	fuzz_client_run(&client);
	/* nobody is there any more, and nothing of what it gave */
	FUZZ_CHECK(!slot->attached);
	vfu_close(vfu);
	slot_destroy(slot);
	loop_close();
	close(memory_fd);
	close(event_fd);
	close(null_fd);
	close(pipe_fd);
	return 0;
}
