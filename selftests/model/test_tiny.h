/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The smallest adapter that uses everything its host offers, and a model process
 * in a thread that serves two of them. For the tests of the transport and of the
 * control channel.
 */
#ifndef MODEL_TEST_TINY_H
#define MODEL_TEST_TINY_H

#include "device.h"
#include "fabric.h"
#include "slot.h"

/* BAR 0, 32-bit, trapped */
#define TINY_REGS_SIZE		0x2000
#define TINY_SCRATCH		0x00	/* 64 bits, reads back what was written */
#define TINY_RESETS		0x08	/* 32 bits, read-only: resets so far */
#define TINY_VECTOR		0x10	/* 32 bits: what a job raises */
#define TINY_JOB		0x18	/* 64 bits: does the job at this address */
#define TINY_BAD_WRITE		0x20	/* records a violation */
#define TINY_TIMER		0x28	/* 32 bits: the last job again, in so many ms */
#define TINY_POLLED		0x30	/* 32 bits: look at the doorbell in BAR 1, or do not */
#define TINY_LOG		0x100	/* accesses from here on go to tiny.log only */

/* BAR 1, 32-bit, backed and mapped in whole; its first word is a doorbell while polled */
#define TINY_WHOLE_SIZE		0x2000
/* BAR 2, 64-bit, backed, mapped in two parts */
#define TINY_PARTS_SIZE		0x10000
#define TINY_PART0		0x1000
#define TINY_PART0_SIZE		0x2000
#define TINY_PART1		0x8000
#define TINY_PART1_SIZE		0x1000
/* BAR 4, 32-bit: MSI-X, PBA at 0x800 */
#define TINY_MSIX_SIZE		0x1000
#define TINY_PBA		0x800

#define TINY_VECTORS		5
#define TINY_LOG_MAX		64

/*
 * A job reads 64 bytes at its address, writes them inverted behind, then a 1 as
 * a 32-bit word behind that, and raises the vector.
 */
#define TINY_JOB_SIZE		64
#define TINY_JOB_DONE		128

struct tiny_access {
	bool write;
	unsigned int bar, size;
	uint64_t off, value;
};

/**
 * struct tiny - the device; look at it only under the model lock
 */
struct tiny {
	struct model_device dev;
	struct fabric_port port;
	uint64_t scratch;
	uint32_t resets, vector;
	uint64_t job;
	bool job_wanted, timed;
	unsigned int jobs_failed, packets;
	uint32_t doorbell;
	bool link_up;
	struct tiny_access log[TINY_LOG_MAX];
	unsigned int log_len;
};

#define TINIES	2

/* a served process: devices tiny0 and tiny1, and the control channel */
struct tiny_model {
	struct tiny *tiny[TINIES];
	struct slot *slot[TINIES];
	char dir[32];
	char *socket[TINIES];
	char *control;
};

extern struct tiny_model tiny_model;

void tiny_start(void);
void tiny_stop(void);

#endif /* MODEL_TEST_TINY_H */
