// SPDX-License-Identifier: GPL-2.0
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "test_guest.h"

#define HEADER		16
#define REPLY		1u
#define ERROR		0x20u

static void put16(uint8_t *p, uint16_t value)
{
	memcpy(p, &value, sizeof(value));
}

static void put32(uint8_t *p, uint32_t value)
{
	memcpy(p, &value, sizeof(value));
}

static void put64(uint8_t *p, uint64_t value)
{
	memcpy(p, &value, sizeof(value));
}

void guest_open(struct guest *g)
{
	memset(g, 0, sizeof(*g));
	g->fd = g->reply_fd = -1;
	g->memory_fd = memfd_create("guest", MFD_CLOEXEC);
	assert(g->memory_fd >= 0 && !ftruncate(g->memory_fd, GUEST_SIZE));
	g->memory = mmap(NULL, GUEST_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, g->memory_fd, 0);
	assert(g->memory != MAP_FAILED);
}

void guest_disconnect(struct guest *g)
{
	if (g->fd >= 0)
		close(g->fd);
	if (g->reply_fd >= 0)
		close(g->reply_fd);
	g->fd = g->reply_fd = -1;
}

void guest_close(struct guest *g)
{
	guest_disconnect(g);
	munmap(g->memory, GUEST_SIZE);
	close(g->memory_fd);
}

bool guest_connect(struct guest *g, const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = 5 };

	strncpy(addr.sun_path, path, sizeof(addr.sun_path) - 1);
	g->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert(g->fd >= 0);
	setsockopt(g->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return !connect(g->fd, (struct sockaddr *)&addr, sizeof(addr));
}

void guest_send_raw(struct guest *g, const void *data, size_t len, const int *fds,
		    unsigned int nfds)
{
	uint8_t control[CMSG_SPACE(32 * sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov = { .iov_base = (void *)data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds) {
		struct cmsghdr *cmsg;

		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, nfds * sizeof(int));
	}
	/* fails when the server has closed; the answer then tells */
	if (sendmsg(g->fd, &msg, MSG_NOSIGNAL) != (ssize_t)len)
		return;
}

void guest_send(struct guest *g, uint16_t command, uint32_t flags, const void *payload, size_t len,
		const int *fds, unsigned int nfds)
{
	uint8_t *message = calloc(1, HEADER + len);

	assert(message);
	put16(message, ++g->id);
	put16(message + 2, command);
	put32(message + 4, HEADER + len);
	put32(message + 8, flags);
	if (len)
		memcpy(message + HEADER, payload, len);
	guest_send_raw(g, message, HEADER + len, fds, nfds);
	free(message);
}

static void take_fd(struct guest *g, struct msghdr *msg)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);

	if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS)
		return;
	assert(cmsg->cmsg_len == CMSG_LEN(sizeof(int)));
	memcpy(&g->reply_fd, CMSG_DATA(cmsg), sizeof(int));
}

/* as QEMU does it: the header must come in one piece */
static int receive_header(struct guest *g, uint8_t *header)
{
	uint8_t control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov = { .iov_base = header, .iov_len = HEADER };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(g->fd, &msg, MSG_CMSG_CLOEXEC);

	if (n == HEADER) {
		take_fd(g, &msg);
		return 0;
	}
	if (!n || (n < 0 && errno == ECONNRESET))
		return GUEST_CLOSED;
	return n < 0 ? GUEST_SILENT : GUEST_WRONG;
}

int guest_receive(struct guest *g, uint16_t command)
{
	uint8_t header[HEADER];
	uint16_t words[2];
	uint32_t size, flags, error;
	int err;

	if (g->reply_fd >= 0)
		close(g->reply_fd);
	g->reply_fd = -1;
	g->reply_len = 0;
	err = receive_header(g, header);
	if (err)
		return err;
	memcpy(words, header, 4);
	memcpy(&size, header + 4, 4);
	memcpy(&flags, header + 8, 4);
	memcpy(&error, header + 12, 4);
	if (words[0] != g->id || words[1] != command || size < HEADER ||
	    size > HEADER + sizeof(g->reply))
		return GUEST_WRONG;
	g->reply_len = size - HEADER;
	if (g->reply_len &&
	    recv(g->fd, g->reply, g->reply_len, MSG_WAITALL) != (ssize_t)g->reply_len)
		return GUEST_WRONG;
	if (flags == (REPLY | ERROR))
		return size == HEADER && error ? (int)error : GUEST_WRONG;
	return flags == REPLY && !error ? 0 : GUEST_WRONG;
}

int guest_call(struct guest *g, uint16_t command, const void *payload, size_t len, const int *fds,
	       unsigned int nfds)
{
	guest_send(g, command, 0, payload, len, fds, nfds);
	return guest_receive(g, command);
}

uint32_t guest_u32(const struct guest *g, size_t off)
{
	uint32_t value = 0xdeadbeef;

	if (off + sizeof(value) <= g->reply_len)
		memcpy(&value, g->reply + off, sizeof(value));
	return value;
}

uint64_t guest_u64(const struct guest *g, size_t off)
{
	uint64_t value = 0xdeadbeefdeadbeef;

	if (off + sizeof(value) <= g->reply_len)
		memcpy(&value, g->reply + off, sizeof(value));
	return value;
}

int guest_version(struct guest *g, const char *json)
{
	uint8_t payload[512] = { 0 };
	size_t len = 4;

	if (json) {
		assert(strlen(json) < sizeof(payload) - len);
		strcpy((char *)payload + len, json);
		len += strlen(json) + 1;
	}
	return guest_call(g, CMD_VERSION, payload, len, NULL, 0);
}

int guest_map(struct guest *g, uint64_t addr, uint64_t len, uint32_t flags, int fd, uint64_t offset)
{
	uint8_t payload[32];

	put32(payload, sizeof(payload));
	put32(payload + 4, flags);
	put64(payload + 8, offset);
	put64(payload + 16, addr);
	put64(payload + 24, len);
	return guest_call(g, CMD_DMA_MAP, payload, sizeof(payload), &fd, fd >= 0);
}

int guest_unmap(struct guest *g, uint64_t addr, uint64_t len, uint32_t flags)
{
	uint8_t payload[24];

	put32(payload, sizeof(payload));
	put32(payload + 4, flags);
	put64(payload + 8, addr);
	put64(payload + 16, len);
	return guest_call(g, CMD_DMA_UNMAP, payload, sizeof(payload), NULL, 0);
}

int guest_region_info(struct guest *g, uint32_t index, uint32_t argsz)
{
	uint8_t payload[32] = { 0 };

	put32(payload, argsz);
	put32(payload + 8, index);
	return guest_call(g, CMD_REGION_INFO, payload, sizeof(payload), NULL, 0);
}

int guest_irq_info(struct guest *g, uint32_t index)
{
	uint8_t payload[16] = { 0 };

	put32(payload, sizeof(payload));
	put32(payload + 8, index);
	return guest_call(g, CMD_IRQ_INFO, payload, sizeof(payload), NULL, 0);
}

int guest_set_irqs(struct guest *g, uint32_t flags, uint32_t index, uint32_t start, uint32_t count,
		   const int *fds, unsigned int nfds)
{
	uint8_t payload[20];

	put32(payload, sizeof(payload));
	put32(payload + 4, flags);
	put32(payload + 8, index);
	put32(payload + 12, start);
	put32(payload + 16, count);
	return guest_call(g, CMD_SET_IRQS, payload, sizeof(payload), fds, nfds);
}

static void put_access(uint8_t *payload, uint32_t region, uint64_t off, uint32_t count)
{
	put64(payload, off);
	put32(payload + 8, region);
	put32(payload + 12, count);
}

int guest_read(struct guest *g, uint32_t region, uint64_t off, uint32_t count)
{
	uint8_t payload[16];
	int err;

	put_access(payload, region, off, count);
	err = guest_call(g, CMD_READ, payload, sizeof(payload), NULL, 0);
	if (err)
		return err;
	return g->reply_len == sizeof(payload) + (size_t)count &&
	       !memcmp(payload, g->reply, sizeof(payload)) ? 0 : GUEST_WRONG;
}

int guest_write(struct guest *g, uint32_t region, uint64_t off, uint32_t count, uint64_t value)
{
	uint8_t payload[24];

	assert(count <= sizeof(value));
	put_access(payload, region, off, count);
	put64(payload + 16, value);
	return guest_call(g, CMD_WRITE, payload, 16 + count, NULL, 0);
}

uint64_t guest_get(struct guest *g, uint32_t region, uint64_t off, uint32_t count)
{
	uint64_t value = 0;

	if (guest_read(g, region, off, count))
		return UINT64_MAX;
	memcpy(&value, g->reply + 16, count);
	return value;
}

bool guest_boot(struct guest *g, const char *path)
{
	return guest_connect(g, path) && !guest_version(g, NULL) &&
	       !guest_map(g, 0, GUEST_SIZE, 3, g->memory_fd, 0) &&
	       !guest_write(g, REGION_CONFIG, 4, 2, 6);
}

bool guest_sees(struct guest *g, uint64_t addr)
{
	for (int tries = 0; tries < 5000; tries++) {
		struct timespec ms = { .tv_nsec = 1000000 };

		/* pairs with the model's wmb() before this word */
		if (__atomic_load_n((uint32_t *)(g->memory + addr), __ATOMIC_ACQUIRE))
			return true;
		nanosleep(&ms, NULL);
	}
	return false;
}

uint64_t guest_interrupts(int eventfd, int ms)
{
	struct pollfd pollfd = { .fd = eventfd, .events = POLLIN };
	uint64_t count = 0;

	if (poll(&pollfd, 1, ms) == 1 && read(eventfd, &count, sizeof(count)) != sizeof(count))
		return 0;
	return count;
}
