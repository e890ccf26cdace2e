// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counters: of the device what we count ourselves, of the port what the device counts.
 * The order of each list is that of the enumeration above it.
 */
#include <rdma/ib_verbs.h>

#include "cmd.h"
#include "efa.h"

/* ---- device ----------------------------------------------------------------------- */

enum {
	DEV_SUBMITTED_CMDS,
	DEV_COMPLETED_CMDS,
	DEV_CMDS_ERR,
	DEV_NO_COMPLETION_CMDS,
	DEV_KEEP_ALIVE_RCVD,
	DEV_ALLOC_PD_ERR,
	DEV_CREATE_QP_ERR,
	DEV_CREATE_CQ_ERR,
	DEV_REG_MR_ERR,
	DEV_ALLOC_UCONTEXT_ERR,
	DEV_CREATE_AH_ERR,
	DEV_MMAP_ERR,
	DEV_AHS,
};

static const struct rdma_stat_desc device_descs[] = {
	[DEV_SUBMITTED_CMDS].name	= "submitted_cmds",
	[DEV_COMPLETED_CMDS].name	= "completed_cmds",
	[DEV_CMDS_ERR].name		= "cmds_err",
	[DEV_NO_COMPLETION_CMDS].name	= "no_completion_cmds",
	[DEV_KEEP_ALIVE_RCVD].name	= "keep_alive_rcvd",
	[DEV_ALLOC_PD_ERR].name		= "alloc_pd_err",
	[DEV_CREATE_QP_ERR].name	= "create_qp_err",
	[DEV_CREATE_CQ_ERR].name	= "create_cq_err",
	[DEV_REG_MR_ERR].name		= "reg_mr_err",
	[DEV_ALLOC_UCONTEXT_ERR].name	= "alloc_ucontext_err",
	[DEV_CREATE_AH_ERR].name	= "create_ah_err",
	[DEV_MMAP_ERR].name		= "mmap_err",
	[DEV_AHS].name			= "ahs",
};

struct rdma_hw_stats *efa_alloc_hw_device_stats(struct ib_device *ibdev)
{
	return rdma_alloc_hw_stats_struct(device_descs, ARRAY_SIZE(device_descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static int get_device_stats(struct efa_dev *dev, u64 *value)
{
	struct efa_admin *admin = &dev->admin;

	value[DEV_SUBMITTED_CMDS] = atomic64_read(&admin->stats.submitted);
	value[DEV_COMPLETED_CMDS] = atomic64_read(&admin->stats.completed);
	value[DEV_CMDS_ERR] = atomic64_read(&admin->stats.errors);
	value[DEV_NO_COMPLETION_CMDS] = atomic64_read(&admin->stats.no_completion);
	value[DEV_KEEP_ALIVE_RCVD] = atomic64_read(&dev->keep_alives);
	value[DEV_ALLOC_PD_ERR] = atomic64_read(&dev->verb_errors[EFA_STAT_ALLOC_PD]);
	value[DEV_CREATE_QP_ERR] = atomic64_read(&dev->verb_errors[EFA_STAT_CREATE_QP]);
	value[DEV_CREATE_CQ_ERR] = atomic64_read(&dev->verb_errors[EFA_STAT_CREATE_CQ]);
	value[DEV_REG_MR_ERR] = atomic64_read(&dev->verb_errors[EFA_STAT_REG_MR]);
	value[DEV_ALLOC_UCONTEXT_ERR] = atomic64_read(&dev->verb_errors[EFA_STAT_ALLOC_UCONTEXT]);
	value[DEV_CREATE_AH_ERR] = atomic64_read(&dev->verb_errors[EFA_STAT_CREATE_AH]);
	value[DEV_MMAP_ERR] = atomic64_read(&dev->dvq.mmap_errors);
	value[DEV_AHS] = atomic_read(&dev->dvq.ahs);
	return ARRAY_SIZE(device_descs);
}

/* ---- port ------------------------------------------------------------------------- */

enum {
	PORT_TX_BYTES,
	PORT_TX_PKTS,
	PORT_RX_BYTES,
	PORT_RX_PKTS,
	PORT_RX_DROPS,
	PORT_SEND_BYTES,
	PORT_SEND_WRS,
	PORT_RECV_BYTES,
	PORT_RECV_WRS,
	PORT_RDMA_READ_WRS,
	PORT_RDMA_READ_BYTES,
	PORT_RDMA_READ_WR_ERR,
	PORT_RDMA_READ_RESP_BYTES,
	PORT_RDMA_WRITE_WRS,
	PORT_RDMA_WRITE_BYTES,
	PORT_RDMA_WRITE_WR_ERR,
	PORT_RDMA_WRITE_RECV_BYTES,
	PORT_RETRANS_BYTES,
	PORT_RETRANS_PKTS,
	PORT_RETRANS_TIMEOUT_EVENTS,
	PORT_UNRESPONSIVE_REMOTE_EVENTS,
	PORT_IMPAIRED_REMOTE_CONN_EVENTS,
};

static const struct rdma_stat_desc port_descs[] = {
	[PORT_TX_BYTES].name			= "tx_bytes",
	[PORT_TX_PKTS].name			= "tx_pkts",
	[PORT_RX_BYTES].name			= "rx_bytes",
	[PORT_RX_PKTS].name			= "rx_pkts",
	[PORT_RX_DROPS].name			= "rx_drops",
	[PORT_SEND_BYTES].name			= "send_bytes",
	[PORT_SEND_WRS].name			= "send_wrs",
	[PORT_RECV_BYTES].name			= "recv_bytes",
	[PORT_RECV_WRS].name			= "recv_wrs",
	[PORT_RDMA_READ_WRS].name		= "rdma_read_wrs",
	[PORT_RDMA_READ_BYTES].name		= "rdma_read_bytes",
	[PORT_RDMA_READ_WR_ERR].name		= "rdma_read_wr_err",
	[PORT_RDMA_READ_RESP_BYTES].name	= "rdma_read_resp_bytes",
	[PORT_RDMA_WRITE_WRS].name		= "rdma_write_wrs",
	[PORT_RDMA_WRITE_BYTES].name		= "rdma_write_bytes",
	[PORT_RDMA_WRITE_WR_ERR].name		= "rdma_write_wr_err",
	[PORT_RDMA_WRITE_RECV_BYTES].name	= "rdma_write_recv_bytes",
	[PORT_RETRANS_BYTES].name		= "retrans_bytes",
	[PORT_RETRANS_PKTS].name		= "retrans_pkts",
	[PORT_RETRANS_TIMEOUT_EVENTS].name	= "retrans_timeout_events",
	[PORT_UNRESPONSIVE_REMOTE_EVENTS].name	= "unresponsive_remote_events",
	[PORT_IMPAIRED_REMOTE_CONN_EVENTS].name	= "impaired_remote_conn_events",
};

struct rdma_hw_stats *efa_alloc_hw_port_stats(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(port_descs, ARRAY_SIZE(port_descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/* A kind of statistics that the device does not have reads as zeros. */
static int get_stats(struct efa_dev *dev, enum efa_stats_type type,
		     struct efa_get_stats_resp *resp)
{
	int ret;

	ret = efa_cmd_get_stats(dev, type, resp);
	if (ret == -EOPNOTSUPP || ret == -EINVAL) {
		memset(resp, 0, sizeof(*resp));
		return 0;
	}
	return ret;
}

static int get_basic(struct efa_dev *dev, u64 *value)
{
	struct efa_get_stats_resp resp;
	int ret;

	ret = get_stats(dev, EFA_STATS_BASIC, &resp);
	if (ret)
		return ret;
	value[PORT_TX_BYTES] = le64_to_cpu(resp.u.basic.tx_bytes);
	value[PORT_TX_PKTS] = le64_to_cpu(resp.u.basic.tx_pkts);
	value[PORT_RX_BYTES] = le64_to_cpu(resp.u.basic.rx_bytes);
	value[PORT_RX_PKTS] = le64_to_cpu(resp.u.basic.rx_pkts);
	value[PORT_RX_DROPS] = le64_to_cpu(resp.u.basic.rx_drops);
	return 0;
}

static int get_messages(struct efa_dev *dev, u64 *value)
{
	struct efa_get_stats_resp resp;
	int ret;

	ret = get_stats(dev, EFA_STATS_MESSAGES, &resp);
	if (ret)
		return ret;
	value[PORT_SEND_BYTES] = le64_to_cpu(resp.u.messages.send_bytes);
	value[PORT_SEND_WRS] = le64_to_cpu(resp.u.messages.send_wrs);
	value[PORT_RECV_BYTES] = le64_to_cpu(resp.u.messages.recv_bytes);
	value[PORT_RECV_WRS] = le64_to_cpu(resp.u.messages.recv_wrs);
	return 0;
}

static int get_rdma_read(struct efa_dev *dev, u64 *value)
{
	struct efa_get_stats_resp resp;
	int ret;

	ret = get_stats(dev, EFA_STATS_RDMA_READ, &resp);
	if (ret)
		return ret;
	value[PORT_RDMA_READ_WRS] = le64_to_cpu(resp.u.rdma_read.read_wrs);
	value[PORT_RDMA_READ_BYTES] = le64_to_cpu(resp.u.rdma_read.read_bytes);
	value[PORT_RDMA_READ_WR_ERR] = le64_to_cpu(resp.u.rdma_read.read_wr_err);
	value[PORT_RDMA_READ_RESP_BYTES] = le64_to_cpu(resp.u.rdma_read.read_resp_bytes);
	return 0;
}

static int get_rdma_write(struct efa_dev *dev, u64 *value)
{
	struct efa_get_stats_resp resp;
	int ret;

	if (!efa_has_cap(dev, EFA_DEV_CAP_RDMA_WRITE))
		return 0;
	ret = get_stats(dev, EFA_STATS_RDMA_WRITE, &resp);
	if (ret)
		return ret;
	value[PORT_RDMA_WRITE_WRS] = le64_to_cpu(resp.u.rdma_write.write_wrs);
	value[PORT_RDMA_WRITE_BYTES] = le64_to_cpu(resp.u.rdma_write.write_bytes);
	value[PORT_RDMA_WRITE_WR_ERR] = le64_to_cpu(resp.u.rdma_write.write_wr_err);
	value[PORT_RDMA_WRITE_RECV_BYTES] = le64_to_cpu(resp.u.rdma_write.write_recv_bytes);
	return 0;
}

static int get_network(struct efa_dev *dev, u64 *value)
{
	struct efa_get_stats_resp resp;
	const struct efa_stats_network *from = &resp.u.network;
	int ret;

	ret = get_stats(dev, EFA_STATS_NETWORK, &resp);
	if (ret)
		return ret;
	value[PORT_RETRANS_BYTES] = le64_to_cpu(from->retrans_bytes);
	value[PORT_RETRANS_PKTS] = le64_to_cpu(from->retrans_pkts);
	value[PORT_RETRANS_TIMEOUT_EVENTS] = le64_to_cpu(from->retrans_timeout_events);
	value[PORT_UNRESPONSIVE_REMOTE_EVENTS] = le64_to_cpu(from->unresponsive_remote_events);
	value[PORT_IMPAIRED_REMOTE_CONN_EVENTS] = le64_to_cpu(from->impaired_remote_conn_events);
	return 0;
}

static int get_port_stats(struct efa_dev *dev, u64 *value)
{
	int ret;

	ret = get_basic(dev, value);
	if (!ret)
		ret = get_messages(dev, value);
	if (!ret)
		ret = get_rdma_read(dev, value);
	if (!ret)
		ret = get_rdma_write(dev, value);
	if (!ret)
		ret = get_network(dev, value);
	return ret;
}

/*
 * The core asks for values when it registers the device, too. It leaks what it keeps them in if they fail then
 * (Linux 7.2), and nothing depends on them: they are zeros. ibdev_register() sees a device that has died of it.
 */
int efa_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index)
{
	struct efa_dev *dev = to_efa_dev(ibdev);
	int ret;

	if (!port)
		return get_device_stats(dev, stats->value);
	ret = get_port_stats(dev, stats->value);
	return ret && READ_ONCE(dev->registered) ? ret : ARRAY_SIZE(port_descs);
}
