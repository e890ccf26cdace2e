/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the library's files share. Nothing here is exported. */
#ifndef DVQ_LIB_INTERNAL_H
#define DVQ_LIB_INTERNAL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <infiniband/verbs.h>
#include <rdma/dvq-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include <dvq/dvq.h>

#define DVQ_API		__attribute__((visibility("default")))

/* enum rdma_driver_id; older system headers do not have all */
#define DVQ_RDMA_DRIVER_EFA	17
#define DVQ_RDMA_DRIVER_IONIC	21

/* ---- reason.c: why a call failed ---------------------------------------------------- */

/* remembers the sentence for dvq_reason() and returns @error */
__attribute__((format(printf, 2, 3))) int dvq_refuse(int error, const char *format, ...);

/* ---- call.c: uverbs methods --------------------------------------------------------- */

#define DVQ_CALL_ATTRS	6

/**
 * struct dvq_call - one call of a uverbs method, being put together
 * @hdr: as the kernel reads it
 * @attrs: behind the header, where its own attrs[] lie
 */
struct dvq_call {
	union {
		struct ib_uverbs_ioctl_hdr hdr;
		struct {
			unsigned char header[sizeof(struct ib_uverbs_ioctl_hdr)];
			struct ib_uverbs_attr attrs[DVQ_CALL_ATTRS];
		};
	};
};

void dvq_call_init(struct dvq_call *call, uint16_t object, uint16_t method);
/* an object of the verbs that the call is about */
void dvq_call_handle(struct dvq_call *call, uint16_t attr, uint32_t handle);
void dvq_call_in(struct dvq_call *call, uint16_t attr, const void *data, uint16_t length);
void dvq_call_out(struct dvq_call *call, uint16_t attr, void *data, uint16_t length);
/* 0 or errno; issued as @driver_id, which must be the device's */
int dvq_call_issue(struct dvq_call *call, int cmd_fd, uint32_t driver_id);

/* ---- device.c: who drives it -------------------------------------------------------- */

enum dvq_owner {
	DVQ_OWNER_FOREIGN,	/* not an adapter of the kind that was asked for, or not told */
	DVQ_OWNER_STOCK,	/* the in-tree driver */
	DVQ_OWNER_DVQ,
};

/*
 * Issues a call of a dvq method. @driver_id 0: whichever adapter it is. EOPNOTSUPP, with
 * a reason, if dvq does not drive the device.
 */
int dvq_call_device(struct dvq_call *call, struct ibv_context *context, uint32_t driver_id);

/* asks anew each time; a device may have changed hands since */
enum dvq_owner dvq_efa_owner(struct ibv_context *context);
enum dvq_owner dvq_ionic_owner(struct ibv_context *context);

/* for the data path: remembered per context and thread */
bool dvq_is_efa(struct ibv_context *context);

int dvq_efa_query_device(struct ibv_context *context, struct dvq_device_info *info);
int dvq_efa_query_qp(struct ibv_qp *qp, struct dvq_qp_info *info, struct dvq_wq_info *sq,
		     struct dvq_wq_info *rq);
int dvq_efa_query_cq(struct ibv_cq *cq, struct dvq_cq_info *info);
int dvq_efa_query_ah(struct ibv_ah *ah, struct dvq_ah_info *info);
/*
 * Which of @n QPs and CQs of a context are still there: 1 or 0 for each in @alive. Unlike the queries above
 * it is no obstacle to who destroys one of them.
 */
int dvq_query_uids(int cmd_fd, const uint64_t *uids, uint16_t n, uint8_t *alive);
/*
 * A query of an object failed since there is none: a handle of nobody, or by now of an object of another
 * kind. EBUSY is a destroyer that has not returned yet; EIO a removed device, which tells nothing more
 * although its context is still open.
 */
static inline bool dvq_tells_of_none(int error)
{
	return error == ENOENT || error == EINVAL || error == EPROTONOSUPPORT;
}

#define DVQ_ANY_PIPELINE	(~(uint32_t)0)

int dvq_ionic_query_device(struct ibv_context *context, struct dvq_device_info *info);
/* forget what the parent had open, and who held a lock */
void dvq_ionic_wq_in_child(void);
void dvq_ionic_dv_in_child(void);
/*
 * For the direct verbs, on rings that are open; ENOENT: no queue of the QP is. EINVAL: a
 * queue has express doorbells. EOPNOTSUPP: the other queue is not open.
 */
int dvq_ionic_open_set_gda(uint64_t uid, bool enable_send, bool enable_receive);
int dvq_ionic_open_db_data(uint64_t uid, bool receive, uint64_t *data);

int dvq_ionic_query_qp(struct ibv_qp *qp, struct dvq_qp_info *info, struct dvq_wq_info *sq,
		       struct dvq_wq_info *rq);
/* EINVAL: the CQ has no ring on that pipeline */
int dvq_ionic_query_cq(struct ibv_cq *cq, uint32_t pipeline, struct dvq_cq_info *info);

/* ---- process.c: children of fork() --------------------------------------------------- */

/* Comes before a lock of the library is taken; calls all *_in_child() once in a child. */
void dvq_see_process(void);

/* ---- mapping.c: memory that the kernel gives by key --------------------------------- */

/* forgets the parent's mappings, of which a child has none; what is there now is somebody else's */
void dvq_mapping_in_child(void);

/*
 * Finds in @maps, the text of /proc/self/maps, where the process has @length bytes of
 * the file @path at offset @key; NULL: nowhere.
 */
void *dvq_maps_find(const char *maps, const char *path, uint64_t key, uint64_t length,
		    const char **rest);

/*
 * A mapping of one's own, not inherited by fork(). What is not mapped, or not by this process,
 * is not unmapped: another's memory may be there.
 */
int dvq_map(int cmd_fd, uint64_t key, uint64_t length, int prot, void **address);
void dvq_unmap(uint64_t address, uint64_t length);
/* the same for an object, whose struct may be a copy that was closed, or a parent's */
int dvq_map_for(uint64_t uid, int cmd_fd, uint64_t key, uint64_t length, int prot, void **address);
void dvq_unmap_for(uint64_t uid, uint64_t address, uint64_t length);

/*
 * Where the provider has a key mapped; NULL: nowhere, or somebody else has it mapped as well,
 * and which of them is the provider's cannot be seen.
 */
void *dvq_provider_mapping(int cmd_fd, uint64_t key, uint64_t length);

/* an open file, to be told from another one of the same number */
struct dvq_file {
	int fd;
	struct stat stat;
};

/* 0 or an errno, with a reason */
int dvq_file_remember(struct dvq_file *file, int fd);
bool dvq_file_is_same(const struct dvq_file *file);

/* what a mapping belongs to: an object, or the context's file, which has no uid */
struct dvq_object {
	struct ibv_context *context;
	bool is_file;
	uint64_t uid;
};

/*
 * Where @key is mapped: by the provider, or by the library for as long as the object
 * lives (see dvq_borrow_reap()).
 */
int dvq_borrow(const struct dvq_object *object, uint64_t key, uint64_t length, int prot,
	       void **address);
/* The same for as long as the context is open, by the library in any case. */
int dvq_borrow_page(struct ibv_context *context, uint64_t key, uint64_t length, int prot,
		    void **address);
/*
 * Unmaps what dvq_borrow() mapped for objects that are gone, and forgets those that were taken
 * over; every call begins with it.
 */
void dvq_borrow_reap(void);

/* ---- what a record may say ------------------------------------------------------------- */

static inline bool dvq_is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

/* There is none, or one that takes no request: the provider asks for a ring of one descriptor then. */
static inline bool dvq_has_no_wq(const struct dvq_wq_info *wq)
{
	return wq->kind == DVQ_WQ_NONE || !wq->max_wr;
}

/* @bytes at @offset are within @length, and can be read and written in words of @align */
static inline bool dvq_fits(uint64_t offset, uint64_t bytes, uint64_t length, uint64_t align)
{
	return offset <= length && bytes <= length - offset && !(offset % align);
}

/* ---- ring.c: records to ring structs --------------------------------------------------- */

int dvq_efa_sq_fill(struct dvq_efa_sq *sq, const struct dvq_qp_info *info,
		    const struct dvq_wq_info *wq, uint64_t ring, uint64_t doorbell);
int dvq_efa_rq_fill(struct dvq_efa_rq *rq, const struct dvq_qp_info *info,
		    const struct dvq_wq_info *wq, uint64_t ring, uint64_t doorbell);
int dvq_efa_cq_fill(struct dvq_efa_cq *cq, const struct dvq_cq_info *info, uint64_t ring,
		    uint64_t doorbell);

/* ---- ionic_ring.c: the same of ionic ------------------------------------------------------ */

/* where the parts of a work queue are; @cmb 0: it is not in controller memory */
struct dvq_ionic_places {
	uint64_t ring, cmb, doorbell;
	bool ud;
};

int dvq_ionic_sq_fill(struct dvq_ionic_sq *sq, const struct dvq_qp_info *info,
		      const struct dvq_wq_info *wq, uint32_t wqe_version,
		      const struct dvq_ionic_places *at);
int dvq_ionic_rq_fill(struct dvq_ionic_rq *rq, const struct dvq_qp_info *info,
		      const struct dvq_wq_info *wq, const struct dvq_ionic_places *at);
/* one more ring of a CQ that began as zeros; the doorbell is the caller's to fill */
int dvq_ionic_cq_add(struct dvq_ionic_cq *cq, const struct dvq_cq_info *info);

/* ---- takeover.c: queues that the library carries itself --------------------------------- */

struct efadv_qp;
struct efadv_cq;
struct efadv_qp_init_attr;

/* Shall queues that are created now on a context of dvq be taken over? */
bool dvq_takeover_is_wanted(struct ibv_context *context);
/* ... and is that what the user chose, so that it has to be said if they cannot? */
bool dvq_takeover_is_forced(struct ibv_context *context);

/*
 * A new CQ: 0 or an errno, EBUSY if the stock library has used it. @wc_flags: EFADV_WC_EX_*, what it
 * shall tell, which may be more or less than the stock library was asked for
 */
int dvq_takeover_cq(struct ibv_cq *cq, uint64_t wc_flags);
/* those of a QP that is about to be created, both or neither; NULL is fine */
int dvq_takeover_cqs(struct ibv_cq *send_cq, struct ibv_cq *recv_cq);
/* it was taken over; NULL was not */
bool dvq_takeover_has_cq(const struct ibv_cq *cq);

enum dvq_takeover_need {
	DVQ_TAKEOVER_IF_CQ_IS,	/* a CQ of it is taken: then it must be */
	DVQ_TAKEOVER_IF_WANTED,	/* or a CQ of it is taken */
	DVQ_TAKEOVER_MUST,
};

/* @ops: IBV_QP_EX_WITH_* that it was created for; @attr: NULL: not by efadv_create_qp_ex() */
int dvq_takeover_qp(struct ibv_qp *qp, uint64_t ops, const struct efadv_qp_init_attr *attr,
		    enum dvq_takeover_need need);

/* NULL: it was not taken over */
struct efadv_qp *dvq_takeover_efadv_qp(struct ibv_qp_ex *qp);
struct efadv_cq *dvq_takeover_efadv_cq(struct ibv_cq_ex *cq);

/* what the provider gives a program for a CQ; a pointer is NULL where that was not asked for */
struct dvq_efadv_readers {
	struct efadv_cq *cq;	/* NULL: it has none */
	bool has_unsolicited;	/* the struct goes on to wc_is_unsolicited */
};

/* of one that was not taken over. They may ask the loader, so without the lock. */
struct dvq_efadv_readers dvq_efadv_readers_of(struct ibv_cq *cq);
struct efadv_qp *dvq_efadv_setter_of(struct ibv_qp *qp);

/* forgets the parent's queues */
void dvq_takeover_in_child(void);
/* forget who held a lock, and with it what may be half changed */
void dvq_stock_in_child(void);
void dvq_efadv_in_child(void);
/* forgets what is gone; @all: also what no count of the kernel tells of */
void dvq_takeover_reap(bool all);
/* a function of the provider that made the context, also where another library has put its own before ours */
void *dvq_provider_code(struct ibv_context *context);
/* without a lock: the same, or what that other library has there */
const void *dvq_posting_code(const struct ibv_context *context);

/* ---- stock.c: the stock library ------------------------------------------------------- */

struct efadv_ah_attr;
struct efadv_comp_cntr_init_attr;
struct efadv_cq;
struct efadv_cq_attr;
struct efadv_cq_init_attr;
struct efadv_device_attr;
struct efadv_mr_attr;
struct efadv_qp;
struct efadv_qp_init_attr;
struct efadv_rq_depth_attr;
struct efadv_sq_depth_attr;
struct efadv_wq_attr;
struct ibv_comp_cntr;
struct ibv_comp_cntr_init_attr;

/* libefa as the provider of a context has it; NULL: that release lacks the call */
struct dvq_stock {
	int (*query_device)(struct ibv_context *, struct efadv_device_attr *, uint32_t);
	int (*query_ah)(struct ibv_ah *, struct efadv_ah_attr *, uint32_t);
	int (*query_mr)(struct ibv_mr *, struct efadv_mr_attr *, uint32_t);
	int (*query_qp_wqs)(struct ibv_qp *, struct efadv_wq_attr *, struct efadv_wq_attr *,
			    uint32_t);
	int (*query_cq)(struct ibv_cq *, struct efadv_cq_attr *, uint32_t);
	int (*get_max_sq_depth)(struct ibv_context *, struct efadv_sq_depth_attr *, uint32_t);
	int (*get_max_rq_depth)(struct ibv_context *, struct efadv_rq_depth_attr *, uint32_t);
	struct ibv_qp *(*create_driver_qp)(struct ibv_pd *, struct ibv_qp_init_attr *, uint32_t);
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *, struct ibv_qp_init_attr_ex *,
				       struct efadv_qp_init_attr *, uint32_t);
	struct efadv_qp *(*qp_from_ibv_qp_ex)(struct ibv_qp_ex *);
	struct ibv_cq_ex *(*create_cq)(struct ibv_context *, struct ibv_cq_init_attr_ex *,
				       struct efadv_cq_init_attr *, uint32_t);
	struct efadv_cq *(*cq_from_ibv_cq_ex)(struct ibv_cq_ex *);
	struct ibv_comp_cntr *(*create_comp_cntr)(struct ibv_context *,
						  struct ibv_comp_cntr_init_attr *,
						  struct efadv_comp_cntr_init_attr *, uint32_t);
	/* release number from the name of its file, 0: not told by it */
	unsigned int release;
};

/*
 * The object that made @context, or else @library, if it has @call; it stays open. NULL:
 * there is none.
 */
void *dvq_stock_open(struct ibv_context *context, const char *library, const char *call);
/* a call of a stock library, never our own of the same name; NULL: that release lacks it */
void *dvq_stock_find(void *handle, const char *name);

/* libefa; NULL: there is none */
const struct dvq_stock *dvq_stock(struct ibv_context *context);
/* the release in "libefa.so.1.7.65.0" */
unsigned int dvq_stock_release(const char *file);

#endif /* DVQ_LIB_INTERNAL_H */
