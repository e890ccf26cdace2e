/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A kernel for the library's tests: it answers the uverbs ioctls of one device from
 * records that the test fills, and its file can be mapped at any key. Tests are linked
 * so that the library's ioctl() and what it calls of the verbs come here.
 */
#ifndef SELFTESTS_FAKE_KERNEL_H
#define SELFTESTS_FAKE_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/dvq-abi.h>
#include <rdma/dvq-efa-abi.h>

#define FAKE_OBJECTS	8
#define FAKE_FILE_BYTES	(1 << 20)
#define FAKE_REGION	5

enum fake_driver {
	FAKE_DVQ,	/* dvq drives an EFA adapter */
	FAKE_DVQ_OLD,	/* the same with a module that only knows QUERY_DEVICE */
	FAKE_IN_TREE,	/* the in-tree driver of EFA */
	FAKE_IONIC,	/* dvq drives an ionic adapter */
	FAKE_IONIC_IN_TREE, /* the in-tree driver of ionic */
	FAKE_OTHER,	/* some other adapter */
};

struct fake_qp {
	bool exists;
	int error;			/* what it answers; 0: the truth */
	struct dvq_qp_info info;
	struct dvq_wq_info sq, rq;
};

struct fake_cq {
	bool exists;
	struct dvq_cq_info info;	/* the ring on its first pipeline */
	struct dvq_cq_info second;	/* on pipeline 1, if info is on 0; no entries: none */
};

struct fake_kernel {
	enum fake_driver driver;
	struct dvq_device_info device;
	struct dvq_efa_device_resp abi;
	struct dvq_context_info context;
	struct fake_qp qps[FAKE_OBJECTS];	/* by handle */
	struct fake_cq cqs[FAKE_OBJECTS];
	struct dvq_ah_info ahs[FAKE_OBJECTS];
	struct dvq_pd_policy policy;
	unsigned int policies;			/* times that it was set */
	uint32_t pool;				/* handle of the region that it names */
	struct dvq_cmb_info region;		/* of handle FAKE_REGION; no length: there is none */
	uint16_t mr[4];
	/* rings of an ionic adapter, which are the process's own memory */
	uint8_t memory[4][8192] __attribute__((aligned(64)));
	/* what every call of an object answers; 0: the truth */
	int error;
	unsigned int passes;	/* but so many before it */
	unsigned int failures;	/* and so many times only; 0: always */
	unsigned int calls;
	unsigned int held;	/* calls about a QP or CQ by handle: nobody could have destroyed it meanwhile */
	unsigned int destroyed;	/* QPs and CQs that the library destroyed; each is one piece of memory */
	void (*hook)(void);	/* every call comes by here, before anything else; NULL: not */
	/* the last call as it came */
	uint16_t object, method;
	uint32_t lengths;	/* of its attributes, added up */
};

extern struct fake_kernel fake_kernel;

/* a device under @driver with a QP and a CQ at handle 1, and a context of it */
struct ibv_context *fake_open(enum fake_driver driver);
void fake_close(struct ibv_context *context);

/* mappings that the process has of the fake files */
unsigned int fake_mappings(void);

/* called each time before the loader is asked where an address is, if there is one */
extern void (*fake_loader_asked)(void);

#endif /* SELFTESTS_FAKE_KERNEL_H */
