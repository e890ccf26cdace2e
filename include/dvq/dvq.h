/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * libdvq: what the kernel knows of the queues of a program, and rings to post to.
 *
 * The library stands on public libibverbs alone. Objects are made, modified and
 * destroyed with the verbs (and efadv.h, ionic_dv.h); here they are asked about and opened.
 *
 * Every int result is 0 or a positive errno. Beside what the kernel answers (the table
 * at the top of rdma/dvq-abi.h) there are
 *
 *	EINVAL		an argument is NULL or a size below the first published one
 *	EOPNOTSUPP	dvq does not drive the device, or cannot do what is asked
 *
 * and dvq_reason() says it in words. Nothing is printed unless the environment has
 * DVQ_DEBUG.
 *
 * Any call may be made by several threads at once, but not beside the destruction of the
 * object that it is about. Structs are passed with their size, so that they can grow: a
 * program built with an older header gets what it has room for, one built with a newer
 * header finds zeros in what the library does not know.
 */
#ifndef DVQ_DVQ_H
#define DVQ_DVQ_H

#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/dvq-abi.h>

#include <dvq/efa.h>
#include <dvq/ionic.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dvq_reason() - why the last call of this thread that failed did so
 *
 * Return: a sentence, valid until the thread's next call; "" if none has failed.
 */
const char *dvq_reason(void);

/* ---- questions ------------------------------------------------------------------------ */

/**
 * dvq_device_query() - ask about an adapter
 * @context: an open device
 * @info: the answer
 * @size: sizeof(*info)
 *
 * Return: 0 or a positive errno.
 */
int dvq_device_query(struct ibv_context *context, struct dvq_device_info *info, uint32_t size);

/**
 * dvq_qp_query() - ask about a QP and its work queues
 * @qp: the QP
 * @info: what both queues share
 * @info_size: sizeof(*info)
 * @sq: the send queue, or NULL
 * @rq: the receive queue, or NULL
 * @wq_size: sizeof(*sq)
 *
 * Return: 0 or a positive errno.
 */
int dvq_qp_query(struct ibv_qp *qp, struct dvq_qp_info *info, uint32_t info_size,
		 struct dvq_wq_info *sq, struct dvq_wq_info *rq, uint32_t wq_size);

/**
 * dvq_cq_query() - ask about a CQ
 * @cq: the CQ; of several pipelines the first is meant
 * @info: the answer
 * @size: sizeof(*info)
 *
 * Return: 0 or a positive errno.
 */
int dvq_cq_query(struct ibv_cq *cq, struct dvq_cq_info *info, uint32_t size);

/**
 * dvq_ah_query() - ask for the number that a send request carries
 * @ah: the address handle
 * @info: the answer
 * @size: sizeof(*info)
 *
 * Return: 0 or a positive errno.
 */
int dvq_ah_query(struct ibv_ah *ah, struct dvq_ah_info *info, uint32_t size);

/**
 * dvq_pd_set_policy() - say how queues created under a PD from now on may be placed
 * @pd: the PD; a parent domain means its root
 * @policy: see struct dvq_pd_policy
 * @size: sizeof(*policy)
 *
 * Return: 0 or a positive errno.
 */
int dvq_pd_set_policy(struct ibv_pd *pd, const struct dvq_pd_policy *policy, uint32_t size);

/**
 * dvq_pd_get_policy() - what dvq_pd_set_policy() said last
 * @pd: the PD
 * @policy: the answer; zeros if nothing was said
 * @size: sizeof(*policy)
 *
 * Return: 0 or a positive errno.
 */
int dvq_pd_get_policy(struct ibv_pd *pd, struct dvq_pd_policy *policy, uint32_t size);

/* ---- controller memory of one's own ----------------------------------------------------- */

/**
 * struct dvq_region - a region of an adapter's controller memory
 * @context: the open device that it is of; NULL: it was freed
 * @length: bytes, what was asked for rounded up to the adapter's granule
 * @key: offset to mmap() the context's file at
 * @map: where dvq_region_map() has mapped it; 0: nowhere
 * @handle: the kernel's
 * @reserved: zero
 */
struct dvq_region {
	struct ibv_context *context;
	uint64_t length;
	uint64_t key;
	uint64_t map;
	uint32_t handle;
	uint32_t reserved;
};

/**
 * dvq_region_alloc() - take controller memory
 * @context: an open device
 * @length: bytes; not 0
 * @region: the caller's, who does not change it
 * @size: sizeof(*region)
 *
 * It is the caller's until it is freed, or the device closed.
 *
 * Return: 0; ENOSPC: there is not as much; EOPNOTSUPP: the adapter has none to give.
 */
int dvq_region_alloc(struct ibv_context *context, uint64_t length, struct dvq_region *region,
		     uint32_t size);

/**
 * dvq_region_map() - map it, write-combining, until it is freed
 * @region: what dvq_region_alloc() filled
 * @address: where it is; the same each time. Reads are slow. Not inherited by fork()
 *
 * Return: 0 or the errno of the mapping.
 */
int dvq_region_map(struct dvq_region *region, void **address);

/**
 * dvq_region_free() - give it back, and unmap what dvq_region_map() mapped
 * @region: NULL and one that was freed are fine. Not in a child, whose file is its parent's
 *
 * The memory is the adapter's again when no queue is in it and no policy names it.
 *
 * Return: 0; or a positive errno: it is unmapped, and not freed.
 */
int dvq_region_free(struct dvq_region *region);

/**
 * dvq_pd_set_pool() - dvq_pd_set_policy(), and where in controller memory the queues go
 * @pd: the PD; a parent domain means its root
 * @policy: see struct dvq_pd_policy; of zeros, the region is not named any more
 * @size: sizeof(*policy)
 * @pool: a region of the same context
 *
 * Queues in controller memory are placed there and nowhere else, so nobody else can take the room for them. It
 * stays so when dvq_pd_set_policy() changes the policy. What the caller keeps there itself is his own risk.
 *
 * Return: 0 or a positive errno.
 */
int dvq_pd_set_pool(struct ibv_pd *pd, const struct dvq_pd_policy *policy, uint32_t size,
		    const struct dvq_region *pool);

/* ---- EFA rings -------------------------------------------------------------------------- */

/**
 * dvq_efa_sq_open() - map a send queue and fill its ring struct
 * @qp: a UD or SRD QP of an EFA adapter
 * @sq: the caller's; may be copied elsewhere afterwards
 * @size: sizeof(*sq)
 *
 * A ring belongs to one poster. From now on do not post to the queue through the verbs,
 * nor poll its CQ through them; open it before it is used, and when the QP goes through
 * RESET close it and open it again while it is there. What the verbs did with a send queue cannot be seen
 * from outside, so it is on the caller not to open a used one.
 *
 * The mappings are not inherited by fork(); to close the struct in a child does nothing.
 *
 * Return: 0; EINVAL if the QP has no send queue; the errno of the mapping.
 */
int dvq_efa_sq_open(struct ibv_qp *qp, struct dvq_efa_sq *sq, uint32_t size);

/**
 * dvq_efa_sq_close() - unmap what dvq_efa_sq_open() mapped
 * @sq: the struct that was filled, or a copy of it; NULL and a closed one are fine
 *
 * Before the QP is destroyed or after, but before the device is closed.
 */
void dvq_efa_sq_close(struct dvq_efa_sq *sq);

/**
 * dvq_efa_rq_open() - map a receive queue and fill its ring struct
 * @qp: a UD or SRD QP of an EFA adapter
 * @rq: the caller's; may be copied elsewhere afterwards
 * @size: sizeof(*rq)
 *
 * As dvq_efa_sq_open().
 *
 * Return: also EBUSY if receives were posted through the verbs since the QP left RESET.
 */
int dvq_efa_rq_open(struct ibv_qp *qp, struct dvq_efa_rq *rq, uint32_t size);

/* As dvq_efa_sq_close(). */
void dvq_efa_rq_close(struct dvq_efa_rq *rq);

/**
 * dvq_efa_cq_open() - map a completion queue and fill its ring struct
 * @cq: a CQ of an EFA adapter
 * @ring: the caller's; may be copied elsewhere, before dvq_efa_cq_set_qps()
 * @size: sizeof(*ring)
 *
 * Poll it either through this or through the verbs, and open it before the first poll. Of
 * a CQ in memory of the caller the ring's address is taken from its creation; if that
 * named none, @ring->ring is 0 and for the caller to fill.
 *
 * A CQ must have room for all requests of all its queues that can be outstanding at one
 * time: the device drops completions that find no place, and they are lost.
 *
 * Return: 0; EOPNOTSUPP if the CQ has more sub-CQs than DVQ_EFA_MAX_SUB_CQS; the errno of
 * the mapping.
 */
int dvq_efa_cq_open(struct ibv_cq *cq, struct dvq_efa_cq *ring, uint32_t size);

/* As dvq_efa_sq_close(). */
void dvq_efa_cq_close(struct dvq_efa_cq *ring);

/* ---- who carries the data path of EFA ----------------------------------------------------- */

/**
 * enum dvq_datapath - who posts to and polls from queues for the calls of the verbs
 *
 * @DVQ_DATAPATH_AUTO: the stock library, unless it is too old for processing hints; or
 *	what DVQ_DATAPATH in the environment says: "stock" or "take-over"
 * @DVQ_DATAPATH_STOCK: the stock library
 * @DVQ_DATAPATH_TAKE_OVER: libdvq
 */
enum dvq_datapath {
	DVQ_DATAPATH_AUTO	= 0,
	DVQ_DATAPATH_STOCK	= 1,
	DVQ_DATAPATH_TAKE_OVER	= 2,
};

/**
 * dvq_efa_set_datapath() - choose for queues that are created from now on
 * @context: an open EFA adapter that dvq drives
 * @datapath: the choice
 *
 * Queues that exist stay as they are. With DVQ_DATAPATH_TAKE_OVER a queue that cannot be
 * taken over is not created.
 */
int dvq_efa_set_datapath(struct ibv_context *context, enum dvq_datapath datapath);

/**
 * dvq_efa_take_over() - take over a QP with its CQs, however it was created
 * @qp: in RESET or INIT, nothing posted; an SRD or UD QP
 *
 * Its CQs must be new or have been taken over. From then on the calls of the verbs
 * (ibv_post_send(), ibv_wr_*, ibv_post_recv(), ibv_poll_cq(), ibv_start_poll() and so on)
 * work as ever, but through libdvq. There is no way back.
 *
 * Return: 0, also if it was before; EBUSY if the stock library has used the QP or a CQ of it.
 */
int dvq_efa_take_over(struct ibv_qp *qp);

/* 1 if the QP was taken over, else 0 */
int dvq_efa_is_taken_over(struct ibv_qp *qp);

/* ---- ionic rings ------------------------------------------------------------------------ */

/**
 * dvq_ionic_sq_open() - find and map a send queue and fill its ring struct
 * @qp: an RC or UD QP of an ionic adapter
 * @sq: the caller's; may be copied elsewhere afterwards, before dvq_ionic_cq_attach()
 * @size: sizeof(*sq)
 *
 * Wherever the queue is: in host memory, or in controller memory with or without an express
 * doorbell; posting is the same. A ring belongs to one poster. From now on do not post to
 * the queue through the verbs, nor poll its CQ through them; open it before it is used,
 * and when the QP goes through RESET close it and open it again while it is
 * there.
 *
 * The mappings are not inherited by fork(); to close the struct in a child does nothing. The
 * ring in host memory is the provider's and goes with the QP.
 *
 * Return: 0; EINVAL if the QP has no send queue; EBUSY if it was posted to since the QP left
 * RESET; EOPNOTSUPP if the process does not see its memory; the errno of the mapping.
 */
int dvq_ionic_sq_open(struct ibv_qp *qp, struct dvq_ionic_sq *sq, uint32_t size);

/**
 * dvq_ionic_sq_close() - unmap what dvq_ionic_sq_open() mapped
 * @sq: the struct that was filled, or a copy of it; NULL and a closed one are fine
 *
 * Before the QP is destroyed or after, but before the device is closed.
 */
void dvq_ionic_sq_close(struct dvq_ionic_sq *sq);

/* As dvq_ionic_sq_open() and dvq_ionic_sq_close(), of the receive queue. */
int dvq_ionic_rq_open(struct ibv_qp *qp, struct dvq_ionic_rq *rq, uint32_t size);
void dvq_ionic_rq_close(struct dvq_ionic_rq *rq);

/**
 * dvq_ionic_cq_open() - find a completion queue and fill its ring struct
 * @cq: a CQ of an ionic adapter
 * @ring: the caller's; may be copied elsewhere, before dvq_ionic_cq_set_qps()
 * @size: sizeof(*ring)
 *
 * The rings of all its pipelines. Poll it either through this or through the verbs, and open
 * it before the first poll and before it is armed. A CQ must have room for all requests of
 * all its queues that can be outstanding at one time.
 *
 * Return: 0; EOPNOTSUPP if the process does not see its memory; the errno of the mapping.
 */
int dvq_ionic_cq_open(struct ibv_cq *cq, struct dvq_ionic_cq *ring, uint32_t size);

/* As dvq_ionic_sq_close(). */
void dvq_ionic_cq_close(struct dvq_ionic_cq *ring);

#ifdef __cplusplus
}
#endif

#endif /* DVQ_DVQ_H */
