// SPDX-License-Identifier: GPL-2.0
/*
 * The verbs of the kernel on RDMA adapters over Ethernet: what its users ask of a driver, and
 * what they may do wrong. Two devices, or one twice, are named when the module is loaded;
 * ionic_verbs_test.sh does that. Each test is a file of debugfs, which runs it when it is read
 * and says what is not as it should be.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/nmi.h>
#include <linux/rtnetlink.h>
#include <linux/scatterlist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#define BUFFER		(64 * 1024)
#define RING		64
#define WAIT_MS		(complaints < 3 ? 10000 : 100)
#define MOST_COMPLAINTS	20
#define OUTPUT		(16 * 1024)	/* or the test would run again for more */
#define QKEY		0x11223344

static char *self_name = "ionic_0";
module_param_named(self, self_name, charp, 0444);
static char *peer_name = "ionic_1";
module_param_named(peer, peer_name, charp, 0444);

static struct ib_device *self_dev, *peer_dev;
static DEFINE_MUTEX(lock);	/* one test at a time; protects the devices */

static struct seq_file *out;
static int complaints;

static __printf(2, 3) void complain(int line, const char *format, ...)
{
	va_list args;

	if (complaints++ >= MOST_COMPLAINTS)
		return;
	seq_printf(out, "line %d: ", line);
	va_start(args, format);
	seq_vprintf(out, format, args);
	va_end(args);
	seq_putc(out, '\n');
}

#define EXPECT(condition)						\
	do {								\
		if (!(condition))					\
			complain(__LINE__, "not %s", #condition);	\
	} while (0)

#define EXPECT_EQ(have, want)						\
	do {								\
		s64 _have = (have), _want = (want);			\
		if (_have != _want)					\
			complain(__LINE__, "%s is %lld, not %lld", #have, _have, _want); \
	} while (0)

/* ---- one side ---------------------------------------------------------------- */

struct end {
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_cq *send_cq;	/* another one for sends, or NULL */
	struct ib_qp *qp;
	u8 *buf;
	u64 dma;
	atomic_t events;
	atomic_t fatal;
};

static struct end a, b;

static void on_completion(struct ib_cq *cq, void *context)
{
	atomic_inc(&((struct end *)context)->events);
}

static void on_event(struct ib_event *event, void *context)
{
	if (event->event == IB_EVENT_QP_FATAL)
		atomic_inc(&((struct end *)context)->fatal);
}

static int end_init(struct end *end, struct ib_device *dev, unsigned int pd_flags)
{
	const struct ib_cq_init_attr cq_attr = { .cqe = 4 * RING };

	memset(end, 0, sizeof(*end));
	end->dev = dev;
	end->buf = kzalloc(BUFFER, GFP_KERNEL);
	if (!end->buf)
		return -ENOMEM;
	end->dma = ib_dma_map_single(dev, end->buf, BUFFER, DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(dev, end->dma)) {
		kfree(end->buf);
		end->buf = NULL;
		return -ENOMEM;
	}
	end->pd = ib_alloc_pd(dev, pd_flags);
	if (IS_ERR(end->pd))
		return PTR_ERR(end->pd);
	end->cq = ib_create_cq(dev, on_completion, NULL, end, &cq_attr);
	return PTR_ERR_OR_ZERO(end->cq);
}

static int qp_init(struct end *end, enum ib_qp_type type)
{
	struct ib_qp_init_attr attr = {
		.event_handler = on_event,
		.qp_context = end,
		.send_cq = end->send_cq ?: end->cq,
		.recv_cq = end->cq,
		.cap = {
			.max_send_wr = RING - 1,
			.max_recv_wr = RING - 1,
			.max_send_sge = 4,
			.max_recv_sge = 4,
			.max_inline_data = 64,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = type,
	};

	end->qp = ib_create_qp(end->pd, &attr);
	if (!IS_ERR(end->qp)) {
		EXPECT(attr.cap.max_send_wr >= RING - 1);
		EXPECT(attr.cap.max_inline_data >= 64);
	}
	return PTR_ERR_OR_ZERO(end->qp);
}

static void end_exit(struct end *end)
{
	if (!IS_ERR_OR_NULL(end->qp))
		EXPECT_EQ(ib_destroy_qp(end->qp), 0);
	if (!IS_ERR_OR_NULL(end->cq))
		ib_destroy_cq(end->cq);
	if (!IS_ERR_OR_NULL(end->send_cq))
		ib_destroy_cq(end->send_cq);
	if (!IS_ERR_OR_NULL(end->pd))
		ib_dealloc_pd(end->pd);
	if (end->buf)
		ib_dma_unmap_single(end->dev, end->dma, BUFFER, DMA_BIDIRECTIONAL);
	kfree(end->buf);
	end->qp = NULL;
	end->cq = NULL;
	end->send_cq = NULL;
	end->pd = NULL;
	end->buf = NULL;
}

/* ---- addresses and states ------------------------------------------------------ */

static int fill_address(struct rdma_ah_attr *attr, struct ib_device *from, struct ib_device *to)
{
	struct net_device *netdev = ib_device_get_netdev(to, 1);
	union ib_gid gid;
	int ret;

	memset(attr, 0, sizeof(*attr));
	ret = rdma_query_gid(to, 1, 0, &gid);
	if (ret || !netdev)
		return -ENOENT;
	attr->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(attr, 1);
	rdma_ah_set_grh(attr, &gid, 0, 0, 64, 0);
	ether_addr_copy(attr->roce.dmac, netdev->dev_addr);
	dev_put(netdev);
	return 0;
}

static int to_init(struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qkey = QKEY,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_ATOMIC,
	};

	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			    (qp->qp_type == IB_QPT_RC ? IB_QP_ACCESS_FLAGS : IB_QP_QKEY));
}

static int to_ready(struct ib_qp *qp, struct ib_qp *remote)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = remote->qp_num,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
	bool rc = qp->qp_type == IB_QPT_RC;
	int ret;

	ret = fill_address(&attr.ah_attr, qp->device, remote->device);
	if (ret)
		return ret;
	ret = ib_modify_qp(qp, &attr, IB_QP_STATE | (rc ? IB_QP_AV | IB_QP_PATH_MTU |
			   IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
			   IB_QP_MIN_RNR_TIMER : 0));
	if (ret)
		return ret;
	attr.qp_state = IB_QPS_RTS;
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN | (rc ? IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC : 0));
}

static int to_state(struct ib_qp *qp, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	return ib_modify_qp(qp, &attr, IB_QP_STATE);
}

static int connect(void)
{
	int ret;

	ret = to_init(a.qp) ?: to_init(b.qp);
	return ret ?: to_ready(a.qp, b.qp) ?: to_ready(b.qp, a.qp);
}

static int both_init(enum ib_qp_type type, unsigned int pd_flags)
{
	int ret;

	ret = end_init(&a, self_dev, pd_flags) ?: end_init(&b, peer_dev, pd_flags);
	ret = ret ?: qp_init(&a, type) ?: qp_init(&b, type);
	ret = ret ?: connect();
	EXPECT_EQ(ret, 0);
	return ret;
}

static void both_exit(void)
{
	end_exit(&a);
	end_exit(&b);
}

/* ---- work -------------------------------------------------------------------- */

static struct ib_sge sge_of(const struct end *end, u32 offset, u32 length)
{
	return (struct ib_sge) {
		.addr = end->dma + offset,
		.length = length,
		.lkey = end->pd->local_dma_lkey,
	};
}

static int recv(struct end *end, u64 id, u32 offset, u32 length)
{
	struct ib_sge sge = sge_of(end, offset, length);
	struct ib_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(end->qp, &wr, NULL);
}

static int send(struct end *end, u64 id, enum ib_wr_opcode op, u32 offset, u32 length, int flags)
{
	struct ib_sge sge = sge_of(end, offset, length);
	struct ib_send_wr wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = flags,
		.ex.imm_data = cpu_to_be32(0x1000 + id),
	};

	return ib_post_send(end->qp, &wr, NULL);
}

static int rdma(struct end *end, u64 id, enum ib_wr_opcode op, u32 offset, u32 length, u64 addr,
		u32 rkey)
{
	struct ib_sge sge = sge_of(end, offset, length);
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = id,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = op,
			.send_flags = IB_SEND_SIGNALED,
			.ex.imm_data = cpu_to_be32(0x1000 + id),
		},
		.remote_addr = addr,
		.rkey = rkey,
	};

	return ib_post_send(end->qp, &wr.wr, NULL);
}

static int atomic(struct end *end, u64 id, enum ib_wr_opcode op, u64 compare_add, u64 swap, u64 addr,
		  u32 rkey)
{
	struct ib_sge sge = sge_of(end, 0, 8);
	struct ib_atomic_wr wr = {
		.wr = {
			.wr_id = id,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = op,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = addr,
		.compare_add = compare_add,
		.swap = swap,
		.rkey = rkey,
	};

	return ib_post_send(end->qp, &wr.wr, NULL);
}

/* Return: the next completion came. */
static bool poll_any(struct end *end, struct ib_wc *wc)
{
	unsigned long until = jiffies + msecs_to_jiffies(WAIT_MS);

	while (ib_poll_cq(end->cq, 1, wc) != 1) {
		if (time_after(jiffies, until)) {
			memset(wc, 0xff, sizeof(*wc));
			return false;
		}
		usleep_range(100, 200);
	}
	return true;
}

static struct ib_wc wait(struct end *end, u64 id, enum ib_wc_status status, int line)
{
	struct ib_wc wc;

	if (!poll_any(end, &wc))
		complain(line, "no completion of %llu", id);
	else if (wc.wr_id != id || wc.status != status || wc.qp != end->qp)
		complain(line, "completion of %llu with status %d, not %llu with %d", wc.wr_id,
			 wc.status, id, status);
	return wc;
}

#define WAIT(end, id)		wait(end, id, IB_WC_SUCCESS, __LINE__)
#define WAIT_FOR(end, id, status) wait(end, id, status, __LINE__)

static void expect_nothing(struct end *end, int line)
{
	struct ib_wc wc;

	msleep(50);
	if (ib_poll_cq(end->cq, 1, &wc))
		complain(line, "completion of %llu with status %d", wc.wr_id, wc.status);
}

#define NOTHING(end)	expect_nothing(end, __LINE__)

static void fill(u8 *at, u32 length, u8 seed)
{
	u32 i;

	for (i = 0; i < length; i++)
		at[i] = seed + i * 7 + (i >> 8);
}

/* ---- regions ----------------------------------------------------------------- */

struct region {
	struct ib_mr *mr;
	struct scatterlist sg[16];
};

/* @count pages of the end's buffer, the last first, from @first on */
static int region_map(struct region *region, struct end *end, u32 first, u32 count)
{
	u32 i;

	sg_init_table(region->sg, count);
	for (i = 0; i < count; i++) {
		sg_set_buf(&region->sg[i], end->buf, PAGE_SIZE);
		sg_dma_address(&region->sg[i]) = end->dma + (first + count - 1 - i) * PAGE_SIZE;
		sg_dma_len(&region->sg[i]) = PAGE_SIZE;
	}
	return ib_map_mr_sg(region->mr, region->sg, count, NULL, PAGE_SIZE);
}

static int region_init(struct region *region, struct end *end, u32 max_pages)
{
	region->mr = ib_alloc_mr(end->pd, IB_MR_TYPE_MEM_REG, max_pages);
	return PTR_ERR_OR_ZERO(region->mr);
}

static int reg(struct region *region, struct end *end, u64 id, int access)
{
	struct ib_reg_wr wr = {
		.wr = {
			.wr_id = id,
			.opcode = IB_WR_REG_MR,
			.send_flags = IB_SEND_SIGNALED,
		},
		.mr = region->mr,
		.key = region->mr->rkey,
		.access = access,
	};

	return ib_post_send(end->qp, &wr.wr, NULL);
}

static int invalidate(struct end *end, u64 id, enum ib_wr_opcode op, u32 key)
{
	struct ib_send_wr wr = {
		.wr_id = id,
		.opcode = op,
		.send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = key,
	};

	return ib_post_send(end->qp, &wr, NULL);
}

#define ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
		 IB_ACCESS_REMOTE_ATOMIC)

/* ---- tests: sends ------------------------------------------------------------ */

static void test_sends(void)
{
	struct ib_wc wc;

	if (both_init(IB_QPT_RC, 0))
		goto out;
	fill(a.buf, 5000, 1);
	EXPECT_EQ(recv(&b, 10, 0, 8000), 0);
	EXPECT_EQ(send(&a, 1, IB_WR_SEND, 0, 5000, IB_SEND_SIGNALED), 0);
	wc = WAIT(&a, 1);
	EXPECT_EQ(wc.opcode, IB_WC_SEND);
	wc = WAIT(&b, 10);
	EXPECT_EQ(wc.opcode, IB_WC_RECV);
	EXPECT_EQ(wc.byte_len, 5000);
	EXPECT_EQ(wc.wc_flags, 0);
	EXPECT_EQ(wc.src_qp, a.qp->qp_num);
	EXPECT(!memcmp(a.buf, b.buf, 5000));

	EXPECT_EQ(recv(&b, 11, 0, 8000), 0);
	EXPECT_EQ(send(&a, 2, IB_WR_SEND_WITH_IMM, 100, 0, IB_SEND_SIGNALED), 0);
	WAIT(&a, 2);
	wc = WAIT(&b, 11);
	EXPECT_EQ(wc.byte_len, 0);
	EXPECT_EQ(wc.wc_flags, IB_WC_WITH_IMM);
	EXPECT_EQ(be32_to_cpu(wc.ex.imm_data), 0x1002);
	NOTHING(&a);
	NOTHING(&b);
out:
	both_exit();
}

/* Addresses of inline data are the kernel's own. */
static void test_inline_data(void)
{
	u8 part[2][32];
	struct ib_sge sges[] = {
		{ .addr = (uintptr_t)part[0], .length = 32 },
		{ .addr = (uintptr_t)part[1], .length = 31 },
	};
	struct ib_send_wr wr = {
		.wr_id = 1,
		.sg_list = sges,
		.num_sge = 2,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED | IB_SEND_INLINE,
	};

	fill(part[0], 64, 3);
	if (both_init(IB_QPT_RC, 0))
		goto out;
	EXPECT_EQ(recv(&b, 10, 0, 100), 0);
	EXPECT_EQ(ib_post_send(a.qp, &wr, NULL), 0);
	WAIT(&a, 1);
	EXPECT_EQ(WAIT(&b, 10).byte_len, 63);
	EXPECT(!memcmp(b.buf, part[0], 63));
	sges[0].length = 4096;
	EXPECT_EQ(ib_post_send(a.qp, &wr, NULL), -EINVAL);
out:
	both_exit();
}

/* Three and more take another format than one and two. */
static void test_lists_of_buffers(void)
{
	struct ib_sge from[5], to[5];
	struct ib_send_wr wr = {
		.sg_list = from, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
	};
	struct ib_recv_wr recv_wr = { .sg_list = to };
	u32 count, i;

	if (both_init(IB_QPT_RC, 0))
		goto out;
	for (count = 1; count <= 4; count++) {
		fill(a.buf, BUFFER, count);
		memset(b.buf, 0, BUFFER);
		for (i = 0; i < count; i++) {
			from[i] = sge_of(&a, i * 1000, 100 + i);
			to[i] = sge_of(&b, i * 1000, 100 + i);
		}
		recv_wr.num_sge = count;
		wr.num_sge = count;
		wr.wr_id = count;
		EXPECT_EQ(ib_post_recv(b.qp, &recv_wr, NULL), 0);
		EXPECT_EQ(ib_post_send(a.qp, &wr, NULL), 0);
		WAIT(&a, count);
		WAIT(&b, 0);
		for (i = 0; i < count; i++)
			EXPECT(!memcmp(a.buf + i * 1000, b.buf + i * 1000, 100 + i));
	}
	wr.num_sge = 30;
	EXPECT_EQ(ib_post_send(a.qp, &wr, NULL), -EINVAL);
	recv_wr.num_sge = 30;
	EXPECT_EQ(ib_post_recv(b.qp, &recv_wr, NULL), -EINVAL);
out:
	both_exit();
}

/* ---- tests: RDMA ------------------------------------------------------------- */

static void test_reads_and_writes(void)
{
	u32 rkey;

	if (both_init(IB_QPT_RC, IB_PD_UNSAFE_GLOBAL_RKEY))
		goto out;
	rkey = b.pd->unsafe_global_rkey;
	fill(a.buf, 20000, 5);
	EXPECT_EQ(rdma(&a, 1, IB_WR_RDMA_WRITE, 0, 20000, b.dma + 100, rkey), 0);
	EXPECT_EQ(WAIT(&a, 1).opcode, IB_WC_RDMA_WRITE);
	EXPECT(!memcmp(a.buf, b.buf + 100, 20000));

	EXPECT_EQ(recv(&b, 10, 0, 0), 0);
	EXPECT_EQ(rdma(&a, 2, IB_WR_RDMA_WRITE_WITH_IMM, 7, 33, b.dma, rkey), 0);
	WAIT(&a, 2);
	EXPECT_EQ(WAIT(&b, 10).opcode, IB_WC_RECV_RDMA_WITH_IMM);
	EXPECT(!memcmp(a.buf + 7, b.buf, 33));

	fill(b.buf, BUFFER, 77);
	EXPECT_EQ(rdma(&a, 3, IB_WR_RDMA_READ, 0, 30000, b.dma + 5, rkey), 0);
	EXPECT_EQ(WAIT(&a, 3).opcode, IB_WC_RDMA_READ);
	EXPECT(!memcmp(a.buf, b.buf + 5, 30000));
out:
	both_exit();
}

/* A send that is fenced carries what the read before it has brought. */
static void test_fence(void)
{
	u32 rkey, i;

	if (both_init(IB_QPT_RC, IB_PD_UNSAFE_GLOBAL_RKEY))
		goto out;
	rkey = b.pd->unsafe_global_rkey;
	for (i = 0; i < 5; i++) {
		memset(a.buf, 0, 30000);
		fill(b.buf, 30000, i);
		EXPECT_EQ(recv(&b, 10, 32768, 30000), 0);
		EXPECT_EQ(rdma(&a, 1, IB_WR_RDMA_READ, 0, 30000, b.dma, rkey), 0);
		EXPECT_EQ(send(&a, 2, IB_WR_SEND, 0, 30000, IB_SEND_SIGNALED | IB_SEND_FENCE), 0);
		WAIT(&a, 1);
		WAIT(&a, 2);
		WAIT(&b, 10);
		EXPECT(!memcmp(b.buf, b.buf + 32768, 30000));
	}
out:
	both_exit();
}

static void test_atomics(void)
{
	u64 *mine, *theirs;
	u32 rkey;

	if (both_init(IB_QPT_RC, IB_PD_UNSAFE_GLOBAL_RKEY))
		goto out;
	rkey = b.pd->unsafe_global_rkey;
	mine = (u64 *)a.buf;
	theirs = (u64 *)(b.buf + 64);
	*theirs = 0x1122334455667788;
	EXPECT_EQ(atomic(&a, 1, IB_WR_ATOMIC_FETCH_AND_ADD, 0x100000001, 0, b.dma + 64, rkey), 0);
	EXPECT_EQ(WAIT(&a, 1).opcode, IB_WC_FETCH_ADD);
	EXPECT_EQ(*mine, 0x1122334455667788);
	EXPECT_EQ(*theirs, 0x1122334555667789);
	EXPECT_EQ(atomic(&a, 2, IB_WR_ATOMIC_CMP_AND_SWP, *theirs, 0xaabbccdd00112233, b.dma + 64,
			 rkey), 0);
	EXPECT_EQ(WAIT(&a, 2).opcode, IB_WC_COMP_SWAP);
	EXPECT_EQ(*mine, 0x1122334555667789);
	EXPECT_EQ(*theirs, (s64)0xaabbccdd00112233);
	EXPECT_EQ(atomic(&a, 3, IB_WR_ATOMIC_CMP_AND_SWP, 1, 2, b.dma + 64, rkey), 0);
	WAIT(&a, 3);
	EXPECT_EQ(*theirs, (s64)0xaabbccdd00112233);
out:
	both_exit();
}

/* The key of all memory is the peer's to use only if the PD says so. */
static void test_global_key(void)
{
	if (both_init(IB_QPT_RC, 0))
		goto out;
	EXPECT_EQ(rdma(&a, 1, IB_WR_RDMA_WRITE, 0, 8, b.dma, b.pd->local_dma_lkey), 0);
	WAIT_FOR(&a, 1, IB_WC_REM_ACCESS_ERR);
out:
	both_exit();
}

/* ---- tests: fast registration -------------------------------------------------- */

static void check_region(struct region *region, u32 pages)
{
	u32 i;

	EXPECT_EQ(region_map(region, &b, 4, pages), pages);
	EXPECT_EQ(reg(region, &b, 100, ACCESS), 0);
	EXPECT_EQ(WAIT(&b, 100).opcode, IB_WC_REG_MR);
	fill(a.buf, pages * PAGE_SIZE, pages);
	memset(b.buf, 0, BUFFER);
	EXPECT_EQ(rdma(&a, 1, IB_WR_RDMA_WRITE, 0, pages * PAGE_SIZE, region->mr->iova,
		       region->mr->rkey), 0);
	WAIT(&a, 1);
	for (i = 0; i < pages; i++)
		EXPECT(!memcmp(a.buf + i * PAGE_SIZE, b.buf + (4 + pages - 1 - i) * PAGE_SIZE,
			       PAGE_SIZE));
}

static void test_registration(void)
{
	static const u32 sizes[] = { 1, 2, 8 };
	struct region region = {};
	struct ib_wc wc;
	u32 i;

	if (both_init(IB_QPT_RC, 0))
		goto out;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_EQ(region_init(&region, &b, sizes[i]), 0);
		check_region(&region, sizes[i]);
		EXPECT_EQ(invalidate(&b, 101, IB_WR_LOCAL_INV, region.mr->rkey), 0);
		EXPECT_EQ(WAIT(&b, 101).opcode, IB_WC_LOCAL_INV);
		/* under another key, and the peer ends it */
		ib_update_fast_reg_key(region.mr, ib_inc_rkey(region.mr->rkey));
		check_region(&region, sizes[i]);
		EXPECT_EQ(recv(&b, 102, 0, 0), 0);
		EXPECT_EQ(invalidate(&a, 2, IB_WR_SEND_WITH_INV, region.mr->rkey), 0);
		WAIT(&a, 2);
		wc = WAIT(&b, 102);
		EXPECT_EQ(wc.wc_flags, IB_WC_WITH_INVALIDATE);
		EXPECT_EQ(wc.ex.invalidate_rkey, region.mr->rkey);
		EXPECT_EQ(ib_dereg_mr(region.mr), 0);
	}
	EXPECT_EQ(region_init(&region, &b, 4), 0);
	check_region(&region, 3);
	EXPECT_EQ(invalidate(&b, 101, IB_WR_LOCAL_INV, region.mr->rkey), 0);
	WAIT(&b, 101);
	EXPECT_EQ(rdma(&a, 3, IB_WR_RDMA_WRITE, 0, 8, region.mr->iova, region.mr->rkey), 0);
	WAIT_FOR(&a, 3, IB_WC_REM_ACCESS_ERR);
	EXPECT_EQ(ib_dereg_mr(region.mr), 0);
out:
	both_exit();
}

/* A region need not begin where a page does. */
static void test_registration_inside_pages(void)
{
	static const u32 sizes[] = { 1, 3 };
	struct region region = {};
	u32 i, length;

	if (both_init(IB_QPT_RC, 0))
		goto out;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		length = sizes[i] * PAGE_SIZE - 300;
		EXPECT_EQ(region_init(&region, &b, sizes[i]), 0);
		sg_init_table(region.sg, 1);
		sg_dma_address(&region.sg[0]) = b.dma + PAGE_SIZE + 200;
		sg_dma_len(&region.sg[0]) = length;
		EXPECT_EQ(ib_map_mr_sg(region.mr, region.sg, 1, NULL, PAGE_SIZE), 1);
		EXPECT_EQ(reg(&region, &b, 100, ACCESS), 0);
		WAIT(&b, 100);
		fill(a.buf, length, i);
		memset(b.buf, 0, BUFFER);
		EXPECT_EQ(rdma(&a, 1, IB_WR_RDMA_WRITE, 0, length, region.mr->iova,
			       region.mr->rkey), 0);
		WAIT(&a, 1);
		EXPECT(!memcmp(a.buf, b.buf + PAGE_SIZE + 200, length));
		EXPECT_EQ(ib_dereg_mr(region.mr), 0);
	}
out:
	both_exit();
}

static void test_registration_refused(void)
{
	struct region region = {};

	if (both_init(IB_QPT_RC, 0))
		goto out;
	EXPECT_EQ(PTR_ERR_OR_ZERO(ib_alloc_mr(b.pd, IB_MR_TYPE_SG_GAPS, 4)), -EOPNOTSUPP);
	EXPECT_EQ(PTR_ERR_OR_ZERO(ib_alloc_mr(b.pd, IB_MR_TYPE_MEM_REG, 0)), -EINVAL);
	EXPECT_EQ(PTR_ERR_OR_ZERO(ib_alloc_mr(b.pd, IB_MR_TYPE_MEM_REG, 1 << 30)), -EINVAL);
	EXPECT_EQ(region_init(&region, &b, 2), 0);
	region.mr->page_size = PAGE_SIZE;
	EXPECT_EQ(reg(&region, &b, 1, ACCESS), -EINVAL);
	EXPECT_EQ(region_map(&region, &b, 0, 4), 2);
	EXPECT_EQ(reg(&region, &b, 1, ACCESS | IB_ACCESS_ON_DEMAND), -EOPNOTSUPP);
	EXPECT_EQ(ib_map_mr_sg(region.mr, region.sg, 1, NULL, 8192), -EINVAL);
	/* twice is the device's to refuse */
	EXPECT_EQ(region_map(&region, &b, 0, 2), 2);
	EXPECT_EQ(reg(&region, &b, 2, ACCESS), 0);
	WAIT(&b, 2);
	EXPECT_EQ(reg(&region, &b, 3, ACCESS), 0);
	WAIT_FOR(&b, 3, IB_WC_MW_BIND_ERR);
	EXPECT_EQ(ib_dereg_mr(region.mr), 0);
out:
	both_exit();
}

/* ---- tests: what is refused ---------------------------------------------------- */

static void test_refused_requests(void)
{
	static const enum ib_wr_opcode unknown[] = {
		IB_WR_BIND_MW, IB_WR_LSO, IB_WR_RDMA_READ_WITH_INV,
		IB_WR_MASKED_ATOMIC_CMP_AND_SWP, IB_WR_MASKED_ATOMIC_FETCH_AND_ADD, IB_WR_FLUSH,
		IB_WR_ATOMIC_WRITE, IB_WR_REG_MR_INTEGRITY, IB_WR_RESERVED1,
	};
	struct ib_rdma_wr wr = { .wr.opcode = IB_WR_RDMA_READ };
	u32 i;

	if (both_init(IB_QPT_RC, 0))
		goto out;
	for (i = 0; i < ARRAY_SIZE(unknown); i++)
		EXPECT_EQ(send(&a, 1, unknown[i], 0, 8, 0), -EOPNOTSUPP);
	wr.wr.send_flags = IB_SEND_INLINE;
	EXPECT_EQ(ib_post_send(a.qp, &wr.wr, NULL), -EINVAL);
	wr.wr.send_flags = IB_SEND_SOLICITED;
	EXPECT_EQ(ib_post_send(a.qp, &wr.wr, NULL), -EINVAL);
	wr.wr.opcode = IB_WR_RDMA_WRITE;
	EXPECT_EQ(ib_post_send(a.qp, &wr.wr, NULL), -EINVAL);
	NOTHING(&a);
out:
	both_exit();
}

static void test_refused_objects(void)
{
	struct ib_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	static const enum ib_qp_type types[] = {
		IB_QPT_SMI, IB_QPT_UC, IB_QPT_RAW_PACKET, IB_QPT_XRC_INI,
	};
	int ret;
	u32 i;

	ret = end_init(&a, self_dev, 0);
	EXPECT_EQ(ret, 0);
	if (ret)
		goto out;
	attr.send_cq = a.cq;
	attr.recv_cq = a.cq;
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		attr.qp_type = types[i];
		EXPECT_EQ(PTR_ERR_OR_ZERO(ib_create_qp(a.pd, &attr)), -EOPNOTSUPP);
	}
	/* there is one already */
	attr.qp_type = IB_QPT_GSI;
	attr.port_num = 1;
	EXPECT_EQ(PTR_ERR_OR_ZERO(ib_create_qp(a.pd, &attr)), -EBUSY);
	attr.qp_type = IB_QPT_RC;
	attr.cap.max_send_sge = 200;
	EXPECT_EQ(PTR_ERR_OR_ZERO(ib_create_qp(a.pd, &attr)), -EINVAL);
	attr.cap.max_send_sge = 1;
	attr.cap.max_inline_data = 65536;
	EXPECT_EQ(PTR_ERR_OR_ZERO(ib_create_qp(a.pd, &attr)), -EINVAL);
out:
	end_exit(&a);
}

/* Those before the one that does not fit are sent. */
static void test_full_queue(void)
{
	struct ib_send_wr wrs[3] = {}, *wr;
	const struct ib_send_wr *bad;
	u32 i, room = RING - 1;

	if (both_init(IB_QPT_RC, 0))
		goto out;
	/* the ring is no smaller than a page */
	while (!recv(&b, room, 0, 0))
		room++;
	EXPECT_EQ(recv(&b, 0, 0, 0), -ENOMEM);
	room = 0;
	for (wr = wrs; wr < wrs + 3; wr++) {
		wr->opcode = IB_WR_LOCAL_INV;
		wr->ex.invalidate_rkey = 0xffffff00;
		wr->next = wr + 1;
	}
	wrs[1].opcode = IB_WR_LSO;
	wrs[2].next = NULL;
	wrs[0].opcode = IB_WR_SEND;
	wrs[0].send_flags = IB_SEND_SIGNALED;
	wrs[0].wr_id = 7;
	EXPECT_EQ(ib_post_send(a.qp, wrs, &bad), -EOPNOTSUPP);
	EXPECT(bad == &wrs[1]);
	WAIT(&a, 7);
	WAIT(&b, RING - 1);
	EXPECT_EQ(recv(&b, 0, 0, 0), 0);
	/* nothing is taken off before somebody polls */
	for (i = 0; i < 1000 && !room; i++)
		if (send(&a, i, IB_WR_SEND, 0, 0, IB_SEND_SIGNALED) == -ENOMEM)
			room = i;
	EXPECT(room >= RING - 1 && room < 1000);
	for (i = 0; i < room; i++)
		WAIT(&a, i);
out:
	both_exit();
}

static void test_posting_in_every_state(void)
{
	struct ib_wc wc;

	if (end_init(&a, self_dev, 0) || end_init(&b, peer_dev, 0) || qp_init(&a, IB_QPT_RC) ||
	    qp_init(&b, IB_QPT_RC)) {
		EXPECT(false);
		goto out;
	}
	EXPECT_EQ(recv(&a, 1, 0, 8), -EINVAL);
	EXPECT_EQ(send(&a, 1, IB_WR_SEND, 0, 8, 0), -EINVAL);
	EXPECT_EQ(to_init(a.qp), 0);
	EXPECT_EQ(to_init(b.qp), 0);
	EXPECT_EQ(recv(&a, 2, 0, 8), 0);
	EXPECT_EQ(send(&a, 1, IB_WR_SEND, 0, 8, 0), -EINVAL);
	EXPECT_EQ(to_ready(a.qp, b.qp), 0);
	EXPECT_EQ(to_state(a.qp, IB_QPS_ERR), 0);
	EXPECT_EQ(recv(&a, 3, 0, 8), 0);
	EXPECT_EQ(send(&a, 4, IB_WR_SEND, 0, 8, 0), 0);
	/* whatever comes first */
	EXPECT(poll_any(&a, &wc) && wc.status == IB_WC_WR_FLUSH_ERR);
	EXPECT(poll_any(&a, &wc) && wc.status == IB_WC_WR_FLUSH_ERR);
	EXPECT(poll_any(&a, &wc) && wc.status == IB_WC_WR_FLUSH_ERR);
	NOTHING(&a);
out:
	both_exit();
}

/* ---- tests: errors, flushes, resets --------------------------------------------- */

static void test_flush(void)
{
	u32 i;

	if (both_init(IB_QPT_RC, 0))
		goto out;
	for (i = 0; i < 10; i++)
		EXPECT_EQ(recv(&a, i, 0, 8), 0);
	/* the first one fails, those behind it are flushed, signaled or not */
	EXPECT_EQ(rdma(&a, 100, IB_WR_RDMA_WRITE, 0, 8, 0, 0xffffff00), 0);
	for (i = 101; i < 110; i++)
		EXPECT_EQ(send(&a, i, IB_WR_SEND, 0, 8, 0), 0);
	WAIT_FOR(&a, 100, IB_WC_REM_ACCESS_ERR);
	for (i = 101; i < 110; i++)
		WAIT_FOR(&a, i, IB_WC_WR_FLUSH_ERR);
	for (i = 0; i < 10; i++)
		WAIT_FOR(&a, i, IB_WC_WR_FLUSH_ERR);
	NOTHING(&a);
	/* and so is what follows */
	EXPECT_EQ(send(&a, 200, IB_WR_SEND, 0, 8, 0), 0);
	WAIT_FOR(&a, 200, IB_WC_WR_FLUSH_ERR);
out:
	both_exit();
}

/* One that does not leave the adapter has its own status, and those before and behind it theirs. */
static void test_local_error(void)
{
	struct ib_sge bad;
	struct ib_send_wr wr = {
		.wr_id = 2, .sg_list = &bad, .num_sge = 1, .opcode = IB_WR_SEND,
	};

	if (both_init(IB_QPT_RC, 0))
		goto out;
	bad = sge_of(&a, 0, 8);
	bad.lkey = 0xffffff00;
	EXPECT_EQ(recv(&b, 10, 0, 8), 0);
	EXPECT_EQ(send(&a, 1, IB_WR_SEND, 0, 8, IB_SEND_SIGNALED), 0);
	WAIT(&a, 1);
	EXPECT_EQ(ib_post_send(a.qp, &wr, NULL), 0);
	EXPECT_EQ(send(&a, 3, IB_WR_SEND, 0, 8, 0), 0);
	WAIT_FOR(&a, 2, IB_WC_LOC_PROT_ERR);
	WAIT_FOR(&a, 3, IB_WC_WR_FLUSH_ERR);
	NOTHING(&a);
out:
	both_exit();
}

static void test_drain(void)
{
	enum ib_poll_context contexts[] = { IB_POLL_DIRECT, IB_POLL_SOFTIRQ, IB_POLL_WORKQUEUE };
	struct ib_cq *cq;
	int ret;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		ret = end_init(&a, self_dev, 0);
		EXPECT_EQ(ret, 0);
		if (ret)
			goto out;
		cq = a.cq;
		a.cq = ib_alloc_cq(self_dev, NULL, 128, 0, contexts[i]);
		if (IS_ERR(a.cq) || qp_init(&a, IB_QPT_RC)) {
			EXPECT(false);
			a.cq = cq;
			goto out;
		}
		EXPECT_EQ(to_init(a.qp), 0);
		/* returns when the last completion has come */
		ib_drain_qp(a.qp);
		EXPECT_EQ(ib_destroy_qp(a.qp), 0);
		ib_free_cq(a.cq);
		a.qp = NULL;
		a.cq = cq;
		end_exit(&a);
	}
	return;
out:
	end_exit(&a);
}

static int separate_cqs(struct end *end)
{
	const struct ib_cq_init_attr cq_attr = { .cqe = 4 * RING };

	end->send_cq = ib_create_cq(end->dev, on_completion, NULL, end, &cq_attr);
	return PTR_ERR_OR_ZERO(end->send_cq);
}

/* What has come before a reset is not seen after it, and everything begins anew. */
static void check_reset(void)
{
	struct end a_sends = a;
	u32 round, i;

	a_sends.cq = a.send_cq ?: a.cq;
	for (round = 0; round < 4; round++) {
		for (i = 0; i < 20; i++)
			EXPECT_EQ(recv(&b, i, i * 100, 100), 0);
		for (i = 0; i < 5 + round; i++)
			EXPECT_EQ(send(&a, i, IB_WR_SEND, i * 100, 100, IB_SEND_SIGNALED), 0);
		WAIT(&a_sends, 0);
		WAIT(&b, 0);
		msleep(20);
		EXPECT_EQ(to_state(a.qp, IB_QPS_RESET), 0);
		EXPECT_EQ(to_state(b.qp, IB_QPS_RESET), 0);
		NOTHING(&a_sends);
		NOTHING(&b);
		EXPECT_EQ(connect(), 0);
	}
	EXPECT_EQ(atomic_read(&a.fatal), 0);
	EXPECT_EQ(atomic_read(&b.fatal), 0);
}

static void test_reset(void)
{
	int ret;

	if (!both_init(IB_QPT_RC, 0))
		check_reset();
	both_exit();

	ret = end_init(&a, self_dev, 0) ?: end_init(&b, peer_dev, 0);
	ret = ret ?: separate_cqs(&a) ?: separate_cqs(&b);
	ret = ret ?: qp_init(&a, IB_QPT_RC) ?: qp_init(&b, IB_QPT_RC) ?: connect();
	EXPECT_EQ(ret, 0);
	if (!ret)
		check_reset();
	both_exit();
}

/* The rings turn many times; one completion stands for many requests. */
static void test_wraps(void)
{
	u32 i, flags;

	if (both_init(IB_QPT_RC, 0))
		goto out;
	for (i = 0; i < 3000; i++) {
		flags = i % 16 == 15 ? IB_SEND_SIGNALED : 0;
		EXPECT_EQ(recv(&b, i, i % 64 * 64, 64), 0);
		fill(a.buf + i % 64 * 64, 64, i);
		EXPECT_EQ(send(&a, i, IB_WR_SEND, i % 64 * 64, 64, flags), 0);
		EXPECT_EQ(WAIT(&b, i).byte_len, 64);
		EXPECT(!memcmp(a.buf + i % 64 * 64, b.buf + i % 64 * 64, 64));
		if (flags)
			WAIT(&a, i);
	}
out:
	both_exit();
}

/* ---- tests: events ------------------------------------------------------------ */

static bool soon(atomic_t *count, int want)
{
	unsigned long until = jiffies + msecs_to_jiffies(WAIT_MS);

	while (atomic_read(count) < want && time_before(jiffies, until))
		usleep_range(100, 200);
	return atomic_read(count) >= want;
}

static void test_arming(void)
{
	const enum ib_cq_notify_flags any = IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS;
	u32 i;

	if (both_init(IB_QPT_RC, 0))
		goto out;
	for (i = 0; i < 50; i++)
		EXPECT_EQ(recv(&b, i, 0, 8), 0);
	/* one event for one arm */
	EXPECT_EQ(ib_req_notify_cq(b.cq, any), 0);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(send(&a, i, IB_WR_SEND, 0, 8, IB_SEND_SIGNALED), 0);
	EXPECT(soon(&b.events, 1));
	for (i = 0; i < 3; i++)
		WAIT(&a, i);
	msleep(50);
	EXPECT_EQ(atomic_read(&b.events), 1);
	/* who arms too late is told */
	EXPECT_EQ(ib_req_notify_cq(b.cq, any), 1);
	EXPECT(soon(&b.events, 2));
	for (i = 0; i < 3; i++)
		WAIT(&b, i);
	/* only what is solicited */
	EXPECT_EQ(ib_req_notify_cq(b.cq, IB_CQ_SOLICITED), 0);
	EXPECT_EQ(send(&a, 3, IB_WR_SEND, 0, 8, IB_SEND_SIGNALED), 0);
	WAIT(&a, 3);
	msleep(50);
	EXPECT_EQ(atomic_read(&b.events), 2);
	EXPECT_EQ(send(&a, 4, IB_WR_SEND, 0, 8, IB_SEND_SIGNALED | IB_SEND_SOLICITED), 0);
	EXPECT(soon(&b.events, 3));
	/* a flush that nothing else tells of */
	WAIT(&b, 3);
	WAIT(&b, 4);
	EXPECT_EQ(ib_req_notify_cq(b.cq, any), 0);
	EXPECT_EQ(to_state(b.qp, IB_QPS_ERR), 0);
	EXPECT(soon(&b.events, 4));
	for (i = 5; i < 50; i++)
		WAIT_FOR(&b, i, IB_WC_WR_FLUSH_ERR);
	EXPECT_EQ(ib_req_notify_cq(b.cq, any), 0);
	EXPECT_EQ(recv(&b, 60, 0, 8), 0);
	EXPECT(soon(&b.events, 5));
	WAIT_FOR(&b, 60, IB_WC_WR_FLUSH_ERR);
	/* or one that was told of when nobody had armed yet */
	EXPECT_EQ(recv(&b, 61, 0, 8), 0);
	msleep(50);
	EXPECT_EQ(atomic_read(&b.events), 5);
	EXPECT_EQ(ib_req_notify_cq(b.cq, IB_CQ_NEXT_COMP), 0);
	EXPECT(soon(&b.events, 6));
	WAIT_FOR(&b, 61, IB_WC_WR_FLUSH_ERR);
out:
	both_exit();
}

/* Nothing is lost between polling and arming, whichever pipeline it comes from. */
static void test_both_pipelines(void)
{
	struct end second;
	u32 i;

	if (both_init(IB_QPT_RC, 0))
		goto out;
	second = b;
	if (qp_init(&second, IB_QPT_RC)) {
		EXPECT(false);
		goto out;
	}
	EXPECT(second.qp->qp_num / 8 % 2 != b.qp->qp_num / 8 % 2);
	EXPECT_EQ(to_init(second.qp), 0);
	EXPECT_EQ(to_state(second.qp, IB_QPS_ERR), 0);
	/* the adapter's hints */
	NOTHING(&b);
	NOTHING(&b);
	for (i = 0; i < 100; i++) {
		atomic_set(&b.events, 0);
		EXPECT_EQ(ib_req_notify_cq(b.cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS), 0);
		if (i % 2) {
			EXPECT_EQ(recv(&second, i, 0, 8), 0);
			EXPECT(soon(&b.events, 1));
			WAIT_FOR(&second, i, IB_WC_WR_FLUSH_ERR);
		} else {
			EXPECT_EQ(recv(&b, i, 0, 8), 0);
			EXPECT_EQ(send(&a, i, IB_WR_SEND, 0, 8, IB_SEND_SIGNALED), 0);
			EXPECT(soon(&b.events, 1));
			WAIT(&b, i);
			WAIT(&a, i);
		}
	}
	EXPECT_EQ(ib_destroy_qp(second.qp), 0);
out:
	both_exit();
}

/* A message from a to b, of which b is told. */
static void send_told(u32 id, int flags)
{
	EXPECT_EQ(recv(&b, id, 0, 8), 0);
	EXPECT_EQ(send(&a, id, IB_WR_SEND, 0, 8, IB_SEND_SIGNALED | flags), 0);
	EXPECT(soon(&b.events, 1));
	WAIT(&a, id);
	WAIT(&b, id);
	atomic_set(&b.events, 0);
}

/* The same, of which b is told nothing, or not yet. */
static void send_untold(u32 id, int flags)
{
	EXPECT_EQ(recv(&b, id, 0, 8), 0);
	EXPECT_EQ(send(&a, id, IB_WR_SEND, 0, 8, IB_SEND_SIGNALED | flags), 0);
	WAIT(&a, id);
	WAIT(&b, id);
}

/*
 * A pipeline whose QPs are idle is armed with the other one, and its arms are not answered. The adapter
 * counts them modulo the ring's entries.
 */
static void arm_often(enum ib_cq_notify_flags flags, int send_flags)
{
	u32 arms, i;

	for (arms = 32; arms <= 2048; arms *= 2) {
		for (i = 0; i < arms; i++)
			EXPECT_EQ(ib_req_notify_cq(b.cq, flags), 0);
		send_told(arms, send_flags);
	}
	/* and still what was asked for */
	for (i = 0; i < 2; i++) {
		send_untold(i, send_flags);
		msleep(50);
		EXPECT_EQ(atomic_read(&b.events), 0);
	}
}

static void test_armed_often(void)
{
	u32 arms, i;

	if (both_init(IB_QPT_RC, 0))
		goto out;
	arm_often(IB_CQ_NEXT_COMP, 0);
	arm_often(IB_CQ_SOLICITED, IB_SEND_SOLICITED);
	/* solicited ones pile up while others come */
	for (i = 0; i < 300; i++) {
		EXPECT_EQ(ib_req_notify_cq(b.cq, IB_CQ_SOLICITED), 0);
		send_untold(i, 0);
		EXPECT_EQ(atomic_read(&b.events), 0);
		if (hweight32(i + 1) == 1 && i >= 31)
			send_told(i, IB_SEND_SOLICITED);
	}
	/* nobody knows whether an event has answered arms of both kinds */
	for (arms = 32; arms <= 1024; arms *= 2) {
		for (i = 1; i < arms; i++) {
			EXPECT_EQ(ib_req_notify_cq(b.cq, IB_CQ_SOLICITED), 0);
			EXPECT_EQ(ib_req_notify_cq(b.cq, IB_CQ_NEXT_COMP), 0);
			send_told(i, 0);
		}
		EXPECT_EQ(ib_req_notify_cq(b.cq, IB_CQ_SOLICITED), 0);
		send_told(arms, IB_SEND_SOLICITED);
	}
out:
	both_exit();
}

/* ---- tests: CQs that go --------------------------------------------------------- */

static DECLARE_COMPLETION(work_begun);
static atomic_t works_ended;

static void slow_work(struct work_struct *work)
{
	complete(&work_begun);
	msleep(300);
	atomic_inc(&works_ended);
}

/*
 * The core stops the worker of a CQ and then has the driver destroy it. Here the worker was
 * started again in between, and is still at it; it is waited for.
 */
static void test_worker_of_a_cq_that_goes(void)
{
	const enum ib_poll_context contexts[] = { IB_POLL_WORKQUEUE, IB_POLL_UNBOUND_WORKQUEUE };
	struct ib_wc *wcs;
	struct ib_cq *cq;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		cq = ib_alloc_cq(self_dev, NULL, 16, 0, contexts[i]);
		EXPECT_EQ(PTR_ERR_OR_ZERO(cq), 0);
		if (IS_ERR(cq))
			return;
		/* ib_free_cq() would stop the worker, too, and free these */
		wcs = cq->wc;
		reinit_completion(&work_begun);
		atomic_set(&works_ended, 0);
		cq->work.func = slow_work;
		cq->comp_handler(cq, cq->cq_context);
		wait_for_completion(&work_begun);
		ib_destroy_cq(cq);
		EXPECT_EQ(atomic_read(&works_ended), 1);
		EXPECT(soon(&works_ended, 1));
		kfree(wcs);
	}
}

/* ---- tests: datagrams ---------------------------------------------------------- */

static int send_to(struct end *end, u64 id, struct ib_ah *ah, u32 qpn, struct ib_sge *sge)
{
	struct ib_ud_wr wr = {
		.wr = {
			.wr_id = id,
			.sg_list = sge,
			.num_sge = 1,
			.opcode = IB_WR_SEND_WITH_IMM,
			.send_flags = IB_SEND_SIGNALED,
			.ex.imm_data = cpu_to_be32(0x1000 + id),
		},
		.ah = ah,
		.remote_qpn = qpn,
		.remote_qkey = QKEY,
	};

	return ib_post_send(end->qp, &wr.wr, NULL);
}

/* Address handles are made and destroyed in any context. */
static struct ib_ah *new_ah(bool sleeping)
{
	static DEFINE_SPINLOCK(spin);
	struct rdma_ah_attr attr;
	unsigned long flags;
	struct ib_ah *ah;

	if (fill_address(&attr, self_dev, peer_dev))
		return ERR_PTR(-ENOENT);
	if (sleeping)
		return rdma_create_ah(a.pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	spin_lock_irqsave(&spin, flags);
	ah = rdma_create_ah(a.pd, &attr, 0);
	spin_unlock_irqrestore(&spin, flags);
	return ah;
}

static void check_sender(const struct ib_wc *wc)
{
	struct net_device *netdev = ib_device_get_netdev(self_dev, 1);

	EXPECT_EQ(wc->wc_flags, IB_WC_GRH | IB_WC_WITH_IMM | IB_WC_WITH_SMAC |
		  IB_WC_WITH_NETWORK_HDR_TYPE);
	EXPECT_EQ(wc->network_hdr_type, RDMA_NETWORK_IPV6);
	EXPECT(ether_addr_equal(wc->smac, netdev->dev_addr));
	EXPECT_EQ(wc->src_qp, a.qp->qp_num);
	EXPECT_EQ(wc->byte_len, 540);
	EXPECT_EQ(be32_to_cpu(wc->ex.imm_data), 0x1001);
	EXPECT(!memcmp(a.buf, b.buf + 40, 500));
	dev_put(netdev);
}

static void test_datagrams(void)
{
	struct rdma_ah_attr attr, asked;
	struct ib_sge sge;
	struct ib_ah *ah;
	struct ib_wc wc;
	u32 i;

	if (both_init(IB_QPT_UD, 0))
		goto out;
	for (i = 0; i < 2; i++) {
		ah = new_ah(i);
		if (IS_ERR(ah)) {
			EXPECT_EQ(PTR_ERR(ah), 0);
			goto out;
		}
		EXPECT_EQ(rdma_query_ah(ah, &asked), 0);
		EXPECT_EQ(fill_address(&attr, self_dev, peer_dev), 0);
		EXPECT(!memcmp(&asked.grh.dgid, &attr.grh.dgid, sizeof(attr.grh.dgid)));
		EXPECT(ether_addr_equal(asked.roce.dmac, attr.roce.dmac));
		fill(a.buf, 500, i);
		sge = sge_of(&a, 0, 500);
		EXPECT_EQ(recv(&b, 10, 0, 1000), 0);
		EXPECT_EQ(send_to(&a, 1, ah, b.qp->qp_num, &sge), 0);
		WAIT(&a, 1);
		wc = WAIT(&b, 10);
		check_sender(&wc);
		EXPECT_EQ(send(&a, 2, IB_WR_SEND_WITH_INV, 0, 8, 0), -EOPNOTSUPP);
		rdma_destroy_ah(ah, i ? RDMA_DESTROY_AH_SLEEPABLE : 0);
	}
out:
	both_exit();
}

/* Return: the adapter says that it is in that state. */
static bool comes_to(struct ib_qp *qp, enum ib_qp_state state)
{
	unsigned long until = jiffies + msecs_to_jiffies(WAIT_MS);
	struct ib_qp_init_attr init_attr;
	struct ib_qp_attr attr;

	do {
		if (ib_query_qp(qp, &attr, IB_QP_STATE, &init_attr))
			return false;
		if (attr.qp_state == state)
			return true;
		usleep_range(100, 200);
	} while (time_before(jiffies, until));
	return false;
}

/* A send that fails stops the send queue only, and the queue can go on. */
static void test_send_queue_error(void)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS, .cur_qp_state = IB_QPS_SQE };
	struct ib_sge good, bad;
	struct ib_ah *ah;
	u32 i;

	if (both_init(IB_QPT_UD, 0))
		goto out;
	ah = new_ah(true);
	EXPECT(!IS_ERR(ah));
	if (IS_ERR(ah))
		goto out;
	good = sge_of(&a, 0, 100);
	bad = good;
	bad.lkey = 0xffffff00;
	EXPECT_EQ(recv(&a, 50, 0, 1000), 0);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(send_to(&a, 1, ah, b.qp->qp_num, &bad), 0);
		EXPECT_EQ(send_to(&a, 2, ah, b.qp->qp_num, &good), 0);
		WAIT_FOR(&a, 1, IB_WC_LOC_PROT_ERR);
		WAIT_FOR(&a, 2, IB_WC_WR_FLUSH_ERR);
		/* posted, and not polled when it goes on */
		EXPECT_EQ(send_to(&a, 3, ah, b.qp->qp_num, &good), 0);
		EXPECT_EQ(ib_modify_qp(a.qp, &attr, IB_QP_STATE | IB_QP_CUR_STATE), 0);
		EXPECT_EQ(recv(&b, 10, 0, 1000), 0);
		EXPECT_EQ(send_to(&a, 4, ah, b.qp->qp_num, &good), 0);
		WAIT_FOR(&a, 3, IB_WC_WR_FLUSH_ERR);
		WAIT(&a, 4);
		WAIT(&b, 10);
	}
	/* it goes on before all that tells of the error is polled for, or any of it */
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(send_to(&a, 5, ah, b.qp->qp_num, &bad), 0);
		if (i % 2)
			WAIT_FOR(&a, 5, IB_WC_LOC_PROT_ERR);
		else
			EXPECT(comes_to(a.qp, IB_QPS_SQE));
		EXPECT_EQ(ib_modify_qp(a.qp, &attr, IB_QP_STATE | IB_QP_CUR_STATE), 0);
		EXPECT_EQ(recv(&b, 11, 0, 1000), 0);
		EXPECT_EQ(send_to(&a, 6, ah, b.qp->qp_num, &good), 0);
		if (i % 2 == 0)
			WAIT_FOR(&a, 5, IB_WC_LOC_PROT_ERR);
		WAIT(&a, 6);
		WAIT(&b, 11);
	}
	NOTHING(&a);
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
out:
	both_exit();
}

/* The clock of those that may be where no lock can be taken: a probe may be a breakpoint. */
static bool is_before(ktime_t time)
{
	return ktime_get_mono_fast_ns() < ktime_to_ns(time);
}

/* Until *@done, if that is wanted, or @until. May not sleep; interrupts are on, so time goes on. */
static void spin(const bool *done, ktime_t until)
{
	while (!(done && READ_ONCE(*done)) && is_before(until)) {
		touch_softlockup_watchdog();
		cpu_relax();
	}
}

static struct ib_ah *ah_of_late_send;
static atomic_t late_sends_held;
static bool opened_again;

/* Whoever posted to a queue that flushes is held up before it flushes. */
static int hold_up_flush(struct kprobe *probe, struct pt_regs *regs)
{
	atomic_inc(&late_sends_held);
	spin(&opened_again, ktime_add_ms(ktime_get_mono_fast_ns(), 2000));
	return 0;
}

static void send_late(struct work_struct *work)
{
	struct ib_sge sge = sge_of(&a, 0, 100);

	EXPECT_EQ(send_to(&a, 2, ah_of_late_send, b.qp->qp_num, &sge), 0);
}

static DECLARE_WORK(late_send, send_late);

/* A post that comes to flush late, when the queue has been opened again, does not close it. */
static void test_flush_that_is_late(void)
{
	struct kprobe probe = { .symbol_name = "dvq_ionic:dion_flush_more_sends", .pre_handler = hold_up_flush };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS, .cur_qp_state = IB_QPS_SQE };
	struct ib_sge good, bad;
	int ret;
	u32 i;

	atomic_set(&late_sends_held, 0);
	opened_again = false;
	if (both_init(IB_QPT_UD, 0))
		goto out;
	ah_of_late_send = new_ah(true);
	EXPECT(!IS_ERR(ah_of_late_send));
	if (IS_ERR(ah_of_late_send))
		goto out;
	good = sge_of(&a, 0, 100);
	bad = good;
	bad.lkey = 0xffffff00;
	EXPECT_EQ(send_to(&a, 1, ah_of_late_send, b.qp->qp_num, &bad), 0);
	WAIT_FOR(&a, 1, IB_WC_LOC_PROT_ERR);
	ret = register_kprobe(&probe);
	EXPECT_EQ(ret, 0);
	schedule_work(&late_send);
	EXPECT(soon(&late_sends_held, 1));
	EXPECT_EQ(ib_modify_qp(a.qp, &attr, IB_QP_STATE | IB_QP_CUR_STATE), 0);
	WRITE_ONCE(opened_again, true);
	flush_work(&late_send);
	WAIT_FOR(&a, 2, IB_WC_WR_FLUSH_ERR);
	for (i = 0; i < 10; i++) {
		EXPECT_EQ(recv(&b, 10, 0, 1000), 0);
		EXPECT_EQ(send_to(&a, 3, ah_of_late_send, b.qp->qp_num, &good), 0);
		WAIT(&a, 3);
		WAIT(&b, 10);
	}
	if (!ret)
		unregister_kprobe(&probe);
	rdma_destroy_ah(ah_of_late_send, RDMA_DESTROY_AH_SLEEPABLE);
out:
	both_exit();
}

/* ---- tests that somebody else prepares ------------------------------------------- */

/* The model repeats a completion, or makes it another. */
static void test_nonsense(void)
{
	u32 i;

	if (both_init(IB_QPT_RC, 0))
		goto out;
	for (i = 0; i < 5; i++)
		EXPECT_EQ(recv(&a, 10 + i, 0, 8), 0);
	EXPECT_EQ(recv(&b, 10, 0, 8), 0);
	EXPECT_EQ(send(&a, 1, IB_WR_SEND, 0, 8, IB_SEND_SIGNALED), 0);
	WAIT(&a, 1);
	/* polling sees what came with it */
	for (i = 0; i < 5; i++)
		WAIT_FOR(&a, 10 + i, IB_WC_WR_FLUSH_ERR);
	EXPECT(soon(&a.fatal, 1));
	EXPECT_EQ(atomic_read(&a.fatal), 1);
	EXPECT_EQ(send(&a, 2, IB_WR_SEND, 0, 8, IB_SEND_SIGNALED), 0);
	WAIT_FOR(&a, 2, IB_WC_WR_FLUSH_ERR);
out:
	both_exit();
}

static void write_badly(struct work_struct *work)
{
	EXPECT_EQ(rdma(&a, 1, IB_WR_RDMA_WRITE, 0, 8, b.dma, 0xffffff00), 0);
}

static DECLARE_DELAYED_WORK(late_write, write_badly);

/* The adapter is slow to say that it sends now, and fails before it has. */
static void test_failed_while_it_opens(void)
{
	if (both_init(IB_QPT_RC, 0))
		goto out;
	EXPECT_EQ(to_state(a.qp, IB_QPS_RESET), 0);
	EXPECT_EQ(to_state(b.qp, IB_QPS_RESET), 0);
	EXPECT_EQ(to_init(a.qp) ?: to_init(b.qp) ?: to_ready(a.qp, b.qp), 0);
	schedule_delayed_work(&late_write, HZ / 2);
	EXPECT_EQ(to_ready(b.qp, a.qp), 0);
	/* it was as slow as that */
	EXPECT(!delayed_work_pending(&late_write));
	flush_delayed_work(&late_write);
	WAIT_FOR(&a, 1, IB_WC_REM_ACCESS_ERR);
	EXPECT(comes_to(b.qp, IB_QPS_ERR));
	EXPECT_EQ(send(&b, 2, IB_WR_SEND, 0, 8, IB_SEND_SIGNALED), 0);
	WAIT_FOR(&b, 2, IB_WC_WR_FLUSH_ERR);
out:
	both_exit();
}

static void poll_late(struct work_struct *work)
{
	struct ib_wc wc;

	/* what is on the ring makes no sense, so there is nothing to report */
	EXPECT_EQ(ib_poll_cq(a.cq, 1, &wc), 0);
}

static DECLARE_DELAYED_WORK(late_poll, poll_late);

/*
 * The model takes its time to say that it has destroyed the QP. Meanwhile a completion is found that makes
 * no sense, and what the adapter says of a QP that it no longer has is no reason to give up the adapter.
 */
static void test_broken_while_it_goes(void)
{
	const struct ib_cq_init_attr cq_attr = { .cqe = 1 };
	struct ib_cq *cq;

	if (both_init(IB_QPT_RC, 0))
		goto out;
	EXPECT_EQ(recv(&b, 10, 0, 8), 0);
	EXPECT_EQ(send(&a, 1, IB_WR_SEND, 0, 8, IB_SEND_SIGNALED), 0);
	WAIT(&a, 1);
	schedule_delayed_work(&late_poll, HZ / 2);
	EXPECT_EQ(ib_destroy_qp(a.qp), 0);
	a.qp = NULL;
	EXPECT(!delayed_work_pending(&late_poll));
	flush_delayed_work(&late_poll);
	cq = ib_create_cq(self_dev, on_completion, NULL, &a, &cq_attr);
	EXPECT_EQ(PTR_ERR_OR_ZERO(cq), 0);
	if (!IS_ERR(cq))
		ib_destroy_cq(cq);
out:
	both_exit();
}

/* The model takes its time to destroy the CQ, and tells of completions meanwhile. */
static void test_event_of_a_cq_that_goes(void)
{
	if (end_init(&a, self_dev, 0)) {
		EXPECT(false);
		goto out;
	}
	EXPECT_EQ(ib_req_notify_cq(a.cq, IB_CQ_NEXT_COMP), 0);
	ib_destroy_cq(a.cq);
	a.cq = NULL;
	EXPECT_EQ(atomic_read(&a.events), 0);
out:
	end_exit(&a);
}

/* The model never answers: who must not sleep waits for two seconds, and the device is done. */
static void test_unanswered(void)
{
	const struct ib_cq_init_attr cq_attr = { .cqe = 1 };
	struct ib_cq *cq = NULL;
	unsigned long until;
	struct ib_ah *ah;

	if (end_init(&a, self_dev, 0) || qp_init(&a, IB_QPT_UD)) {
		EXPECT(false);
		goto out;
	}
	EXPECT_EQ(to_init(a.qp), 0);
	EXPECT_EQ(recv(&a, 1, 0, 100), 0);
	ah = new_ah(false);
	EXPECT_EQ(PTR_ERR_OR_ZERO(ah), -ETIMEDOUT);
	WAIT_FOR(&a, 1, IB_WC_WR_FLUSH_ERR);
	until = jiffies + 60 * HZ;
	do {
		if (cq)
			ib_destroy_cq(cq);
		msleep(50);
		cq = ib_create_cq(self_dev, on_completion, NULL, &a, &cq_attr);
	} while (!IS_ERR(cq) && time_before(jiffies, until));
	EXPECT_EQ(PTR_ERR_OR_ZERO(cq), -ENODEV);
	EXPECT_EQ(PTR_ERR_OR_ZERO(new_ah(false)), -ENODEV);
	EXPECT_EQ(to_state(a.qp, IB_QPS_ERR), 0);
out:
	end_exit(&a);
}

static ktime_t stop_not_before;

static int hold_up(struct kprobe *probe, struct pt_regs *regs)
{
	spin(NULL, stop_not_before);
	return 0;
}

/*
 * The same while whoever stops the device gets no time: dvq_ionic waits for five seconds for an answer of
 * any kind, and then only the command that was given up is there to be blamed.
 */
static void test_unanswered_and_stopped_late(void)
{
	struct kprobe probe = { .symbol_name = "dvq_ionic:dion_admin_pause", .pre_handler = hold_up };
	int ret = register_kprobe(&probe);

	EXPECT_EQ(ret, 0);
	if (ret)
		return;
	stop_not_before = ktime_add_ms(ktime_get(), 7000);
	test_unanswered();
	unregister_kprobe(&probe);
}

/* ---- tests: a device that is stopped ----------------------------------------------- */

/*
 * The adapter refuses to let go of a CQ, and whoever destroys it has to free memory. The core of
 * workqueues warns if he waits for somebody who has not.
 */
static struct ib_cq *cq_to_destroy;

static void destroy_cq(struct work_struct *work)
{
	ib_destroy_cq(cq_to_destroy);
}

static void test_refused_to_who_frees_memory(void)
{
	const struct ib_cq_init_attr cq_attr = { .cqe = 1 };
	struct workqueue_struct *queue;
	struct work_struct work;
	struct ib_cq *cq;

	queue = alloc_workqueue("dvq_verbs_test", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	EXPECT(queue);
	if (!queue)
		return;
	cq_to_destroy = ib_create_cq(self_dev, on_completion, NULL, &a, &cq_attr);
	EXPECT_EQ(PTR_ERR_OR_ZERO(cq_to_destroy), 0);
	if (!IS_ERR(cq_to_destroy)) {
		INIT_WORK_ONSTACK(&work, destroy_cq);
		queue_work(queue, &work);
		flush_workqueue(queue);
		destroy_work_on_stack(&work);
		/* it was stopped for that */
		cq = ib_create_cq(self_dev, on_completion, NULL, &a, &cq_attr);
		EXPECT_EQ(PTR_ERR_OR_ZERO(cq), -ENODEV);
		if (!IS_ERR(cq))
			ib_destroy_cq(cq);
	}
	destroy_workqueue(queue);
}

/* where events of QPs wait for their turn */
static struct workqueue_struct *of_events;

static int note_queue(struct kprobe *probe, struct pt_regs *regs)
{
	const struct work_struct *work = (void *)regs_get_kernel_argument(regs, 2);
	char name[32];

	snprintf(name, sizeof(name), "%ps", work->func);
	if (!strcmp(name, "event_work [dvq_ionic]"))
		of_events = (void *)regs_get_kernel_argument(regs, 1);
	return 0;
}

/* The model spoils the first completion of a send. */
static void break_one(void)
{
	EXPECT_EQ(recv(&a, 10, 0, 8), 0);
	EXPECT_EQ(recv(&b, 10, 0, 8), 0);
	EXPECT_EQ(send(&a, 1, IB_WR_SEND, 0, 8, IB_SEND_SIGNALED), 0);
	WAIT(&a, 1);
}

static void find_queue_of_events(void)
{
	struct kprobe probe = { .symbol_name = "queue_work_on", .pre_handler = note_queue };
	int ret = register_kprobe(&probe);

	EXPECT_EQ(ret, 0);
	if (ret)
		return;
	of_events = NULL;
	if (!both_init(IB_QPT_RC, 0)) {
		break_one();
		WAIT_FOR(&a, 10, IB_WC_WR_FLUSH_ERR);
	}
	both_exit();
	unregister_kprobe(&probe);
	EXPECT(of_events);
}

/*
 * As many QPs as may be taken to ERR at once wait for an answer, which is one here, and none comes.
 * Whoever finds that out must not have to wait for them.
 */
static void test_broken_and_unanswered(void)
{
	unsigned long until;
	struct ib_wc wc;
	bool polled;

	find_queue_of_events();
	if (!of_events)
		return;
	if (both_init(IB_QPT_RC, 0))
		goto out;
	workqueue_set_max_active(of_events, 1);
	break_one();
	for (until = jiffies + 60 * HZ; !(polled = poll_any(&a, &wc)); msleep(20))
		if (time_after(jiffies, until))
			break;
	EXPECT(polled);
	/* or this would not come to an end either */
	workqueue_set_max_active(of_events, WQ_DFL_ACTIVE);
	if (polled)
		EXPECT_EQ(wc.status, IB_WC_WR_FLUSH_ERR);
out:
	both_exit();
}

static bool all_flushed;

static int note_flush(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	WRITE_ONCE(all_flushed, true);
	return 0;
}

/* The adapter has answered. Now it dies of a command that may not sleep, and all queues are flushed. */
static int die_first(struct kprobe *probe, struct pt_regs *regs)
{
	ktime_t until = ktime_add_ms(ktime_get_mono_fast_ns(), 20000);

	if (regs_get_kernel_argument(regs, 1) != IB_QPS_RTS || READ_ONCE(all_flushed))
		return 0;
	EXPECT_EQ(PTR_ERR_OR_ZERO(new_ah(false)), -ETIMEDOUT);
	spin(&all_flushed, until);
	return 0;
}

/* A queue is opened when the device has been stopped in between: what is posted is flushed. */
static void test_opened_too_late(void)
{
	struct kprobe probe = { .symbol_name = "dvq_ionic:dion_work_state", .pre_handler = die_first };
	struct kretprobe flush = {
		.kp.symbol_name = "dvq_ionic:dion_work_flush_all",
		.handler = note_flush,
	};
	int ret;

	all_flushed = false;
	if (both_init(IB_QPT_RC, 0))
		goto out;
	EXPECT_EQ(to_state(a.qp, IB_QPS_RESET), 0);
	ret = register_kretprobe(&flush);
	EXPECT_EQ(ret, 0);
	if (ret)
		goto out;
	ret = register_kprobe(&probe);
	EXPECT_EQ(ret, 0);
	if (!ret) {
		EXPECT_EQ(to_init(a.qp), 0);
		EXPECT_EQ(to_ready(a.qp, b.qp), 0);
		EXPECT(all_flushed);
		unregister_kprobe(&probe);
		EXPECT_EQ(recv(&a, 1, 0, 8), 0);
		EXPECT_EQ(send(&a, 2, IB_WR_SEND, 0, 8, IB_SEND_SIGNALED), 0);
		WAIT_FOR(&a, 2, IB_WC_WR_FLUSH_ERR);
		WAIT_FOR(&a, 1, IB_WC_WR_FLUSH_ERR);
	}
	unregister_kretprobe(&flush);
out:
	both_exit();
}

/* ---- the files ----------------------------------------------------------------- */

static const struct test {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "sends", test_sends },
	{ "inline_data", test_inline_data },
	{ "lists_of_buffers", test_lists_of_buffers },
	{ "reads_and_writes", test_reads_and_writes },
	{ "fence", test_fence },
	{ "atomics", test_atomics },
	{ "global_key", test_global_key },
	{ "registration", test_registration },
	{ "registration_inside_pages", test_registration_inside_pages },
	{ "registration_refused", test_registration_refused },
	{ "refused_requests", test_refused_requests },
	{ "refused_objects", test_refused_objects },
	{ "full_queue", test_full_queue },
	{ "posting_in_every_state", test_posting_in_every_state },
	{ "flush", test_flush },
	{ "local_error", test_local_error },
	{ "drain", test_drain },
	{ "reset", test_reset },
	{ "wraps", test_wraps },
	{ "arming", test_arming },
	{ "both_pipelines", test_both_pipelines },
	{ "armed_often", test_armed_often },
	{ "worker_of_a_cq_that_goes", test_worker_of_a_cq_that_goes },
	{ "datagrams", test_datagrams },
	{ "send_queue_error", test_send_queue_error },
	{ "flush_that_is_late", test_flush_that_is_late },
	{ "nonsense", test_nonsense },
	{ "failed_while_it_opens", test_failed_while_it_opens },
	{ "broken_while_it_goes", test_broken_while_it_goes },
	{ "event_of_a_cq_that_goes", test_event_of_a_cq_that_goes },
	{ "unanswered", test_unanswered },
	{ "unanswered_and_stopped_late", test_unanswered_and_stopped_late },
	{ "refused_to_who_frees_memory", test_refused_to_who_frees_memory },
	{ "broken_and_unanswered", test_broken_and_unanswered },
	{ "opened_too_late", test_opened_too_late },
};

static int run_show(struct seq_file *file, void *unused)
{
	const struct test *test = file->private;

	mutex_lock(&lock);
	out = file;
	complaints = 0;
	if (self_dev && peer_dev)
		test->run();
	else
		seq_printf(file, "no %s or no %s\n", self_name, peer_name);
	mutex_unlock(&lock);
	/* so that it is not run again for the rest of the file */
	seq_puts(file, "end\n");
	return 0;
}

static int run_open(struct inode *inode, struct file *file)
{
	return single_open_size(file, run_show, inode->i_private, OUTPUT);
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = run_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

static int add_one(struct ib_device *dev)
{
	mutex_lock(&lock);
	if (!strcmp(dev_name(&dev->dev), self_name))
		self_dev = dev;
	if (!strcmp(dev_name(&dev->dev), peer_name))
		peer_dev = dev;
	mutex_unlock(&lock);
	return 0;
}

static void remove_one(struct ib_device *dev, void *unused)
{
	mutex_lock(&lock);
	if (self_dev == dev)
		self_dev = NULL;
	if (peer_dev == dev)
		peer_dev = NULL;
	mutex_unlock(&lock);
}

static struct ib_client client = {
	.name = "dvq_verbs_test",
	.add = add_one,
	.remove = remove_one,
};

static struct dentry *dir;

static int __init verbs_test_init(void)
{
	u32 i;
	int ret;

	ret = ib_register_client(&client);
	if (ret)
		return ret;
	dir = debugfs_create_dir("dvq_verbs_test", NULL);
	for (i = 0; i < ARRAY_SIZE(tests); i++)
		debugfs_create_file(tests[i].name, 0400, dir, (void *)&tests[i], &run_fops);
	return 0;
}

static void __exit verbs_test_exit(void)
{
	debugfs_remove(dir);
	ib_unregister_client(&client);
}

module_init(verbs_test_init);
module_exit(verbs_test_exit);

MODULE_DESCRIPTION("Tests of the kernel's verbs");
MODULE_LICENSE("GPL");
