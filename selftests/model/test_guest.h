/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What QEMU is to the model: a vfio-user client with some memory. It writes
 * messages byte by byte as the protocol lays them down and shares no definition
 * with vfu.c, so that a mistake there is not repeated here.
 */
#ifndef MODEL_TEST_GUEST_H
#define MODEL_TEST_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUEST_PAGES	64
#define GUEST_SIZE	(GUEST_PAGES * 4096ul)

enum {
	CMD_VERSION = 1, CMD_DMA_MAP = 2, CMD_DMA_UNMAP = 3, CMD_INFO = 4, CMD_REGION_INFO = 5,
	CMD_IRQ_INFO = 7, CMD_SET_IRQS = 8, CMD_READ = 9, CMD_WRITE = 10, CMD_RESET = 13,
	CMD_FEATURE = 16,
};

#define REGION_CONFIG	7

/* results beside errnos */
#define GUEST_CLOSED	(-1)	/* the server has closed the connection */
#define GUEST_SILENT	(-2)	/* no answer for five seconds */
#define GUEST_WRONG	(-3)	/* an answer that breaks the rules */

/**
 * struct guest - one connection
 *
 * @memory: GUEST_SIZE bytes, file @memory_fd
 * @reply: payload of the last answer, @reply_len bytes; @reply_fd came with it
 *	(-1: none), and is closed at the next answer
 */
struct guest {
	int fd;
	uint16_t id;
	uint8_t *memory;
	int memory_fd;
	uint8_t reply[80000];
	size_t reply_len;
	int reply_fd;
};

/* memory only; a guest can connect several times */
void guest_open(struct guest *g);
void guest_close(struct guest *g);
bool guest_connect(struct guest *g, const char *path);
void guest_disconnect(struct guest *g);

void guest_send_raw(struct guest *g, const void *data, size_t len, const int *fds,
		    unsigned int nfds);
/* a request as it should be; @flags beside the type */
void guest_send(struct guest *g, uint16_t command, uint32_t flags, const void *payload, size_t len,
		const int *fds, unsigned int nfds);
/* 0, the errno of an error reply, or a GUEST_ value */
int guest_receive(struct guest *g, uint16_t command);
int guest_call(struct guest *g, uint16_t command, const void *payload, size_t len, const int *fds,
	       unsigned int nfds);

/* numbers of the last answer */
uint32_t guest_u32(const struct guest *g, size_t off);
uint64_t guest_u64(const struct guest *g, size_t off);

/* requests of one kind; results as above */
int guest_version(struct guest *g, const char *json);
int guest_map(struct guest *g, uint64_t addr, uint64_t len, uint32_t flags, int fd,
	      uint64_t offset);
int guest_unmap(struct guest *g, uint64_t addr, uint64_t len, uint32_t flags);
int guest_region_info(struct guest *g, uint32_t index, uint32_t argsz);
int guest_irq_info(struct guest *g, uint32_t index);
int guest_set_irqs(struct guest *g, uint32_t flags, uint32_t index, uint32_t start, uint32_t count,
		   const int *fds, unsigned int nfds);
int guest_read(struct guest *g, uint32_t region, uint64_t off, uint32_t count);
int guest_write(struct guest *g, uint32_t region, uint64_t off, uint32_t count, uint64_t value);

/* value of a register of up to 8 bytes; all ones if it cannot be read */
uint64_t guest_get(struct guest *g, uint32_t region, uint64_t off, uint32_t count);

/* version, memory at 0, bus mastering on: ready to be driven */
bool guest_boot(struct guest *g, const char *path);

/* waits at most five seconds for a 32-bit word of memory to become non-zero */
bool guest_sees(struct guest *g, uint64_t addr);
/* waits at most @ms for an eventfd to be signalled; times it was */
uint64_t guest_interrupts(int eventfd, int ms);

#endif /* MODEL_TEST_GUEST_H */
