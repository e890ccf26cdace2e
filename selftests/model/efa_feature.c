// SPDX-License-Identifier: GPL-2.0
/* GET_FEATURE and SET_FEATURE: what the adapter tells about itself. */
#include <endian.h>
#include <string.h>

#include "efa.h"

static bool offered(const struct efa *efa, unsigned int feature)
{
	/* DEVICE_ATTR is what tells the others, so it is always there */
	return feature == EFA_FEATURE_DEVICE_ATTR ||
	       (feature < 64 && efa->config.features >> feature & 1);
}

static void fill_device(const struct efa_config *c, struct efa_device_attr *attr)
{
	*attr = (struct efa_device_attr) {
		.supported_features = htole64(c->features),
		.page_size_cap = htole64(c->page_size_cap),
		.fw_version = htole32(c->fw_version),
		.admin_api_version = htole32(c->api_version),
		.device_version = htole32(c->device_version),
		.db_bar = htole16(c->db_bar),
		.phys_addr_width = c->phys_width,
		.virt_addr_width = c->virt_width,
		.device_caps = htole32(c->device_caps),
		.max_rdma_size = htole32(c->max_rdma_size),
		.guid = htole64(c->guid),
		.max_link_speed_gbps = htole16(c->link_gbps),
	};
}

static void fill_queue1(const struct efa_config *c, struct efa_queue_attr_1 *attr)
{
	*attr = (struct efa_queue_attr_1) {
		.max_qp = htole32(c->max_qp),
		.max_sq_depth = htole32(c->max_sq_depth),
		.inline_buf_size = htole32(c->inline_size),
		.max_rq_depth = htole32(c->max_rq_depth),
		.max_cq = htole32(c->max_cq),
		.max_cq_depth = htole32(c->max_cq_depth),
		.sub_cqs_per_cq = htole16(c->sub_cqs),
		.min_sq_depth = htole16(c->min_sq_depth),
		.max_send_sges = htole16(c->send_sges),
		.max_recv_sges = htole16(c->recv_sges),
		.max_mr = htole32(c->max_mr),
		.max_mr_pages = htole32(c->max_mr_pages),
		.max_pd = htole32(c->max_pd),
		.max_ah = htole32(c->max_ah),
		.max_llq_size = htole32(c->max_llq_size),
		.max_rdma_sges = htole16(c->rdma_sges),
		.max_tx_batch = htole16(c->max_tx_batch),
	};
}

static void fill_queue2(const struct efa_config *c, struct efa_queue_attr_2 *attr)
{
	*attr = (struct efa_queue_attr_2) {
		.inline_buf_size_ex = htole16(c->inline_size_ex),
		.counter_events = htole32(c->counter_events),
		.max_event_counters = htole32(c->max_counters),
		.event_counter_max = htole64(c->counter_max),
	};
}

static void fill_eq(const struct efa_config *c, struct efa_event_queue_attr *attr)
{
	*attr = (struct efa_event_queue_attr) {
		.max_eq = htole32(c->max_eq),
		.max_eq_depth = htole32(c->max_eq_depth),
		.event_bitmask = htole32(c->eq_events),
	};
}

static void fill_hints(const struct efa_config *c, struct efa_hw_hints *hints)
{
	*hints = (struct efa_hw_hints) {
		.mmio_read_timeout = htole16(c->mmio_hint),
		.driver_watchdog_timeout = htole16(c->watchdog_hint),
		.admin_completion_timeout = htole16(c->admin_hint),
		.poll_interval = htole16(c->poll_hint),
	};
}

int efa_cmd_get_feature(struct efa *efa, struct efa_job *job)
{
	const struct efa_get_feature_cmd *cmd = (const void *)&job->cmd;
	struct efa_get_feature_resp *resp = (void *)&job->resp;
	const struct efa_config *config = &efa->config;

	if (!offered(efa, cmd->feature_id))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "feature %u is not in supported_features", cmd->feature_id);
	switch (cmd->feature_id) {
	case EFA_FEATURE_DEVICE_ATTR:
		fill_device(config, &resp->u.device);
		return EFA_ADMIN_SUCCESS;
	case EFA_FEATURE_AENQ_CONFIG:
		resp->u.aenq.supported_groups = htole32(config->aenq_groups);
		resp->u.aenq.enabled_groups = htole32(efa->admin.aenq_enabled);
		return EFA_ADMIN_SUCCESS;
	case EFA_FEATURE_NETWORK_ATTR:
		memcpy(resp->u.network.addr, config->gid, EFA_GID_SIZE);
		resp->u.network.mtu = htole32(config->mtu);
		return EFA_ADMIN_SUCCESS;
	case EFA_FEATURE_QUEUE_ATTR_1:
		fill_queue1(config, &resp->u.queue1);
		return EFA_ADMIN_SUCCESS;
	case EFA_FEATURE_QUEUE_ATTR_2:
		fill_queue2(config, &resp->u.queue2);
		return EFA_ADMIN_SUCCESS;
	case EFA_FEATURE_HW_HINTS:
		fill_hints(config, &resp->u.hints);
		return EFA_ADMIN_SUCCESS;
	case EFA_FEATURE_EVENT_QUEUE_ATTR:
		fill_eq(config, &resp->u.eq);
		return EFA_ADMIN_SUCCESS;
	}
	return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM, "feature %u cannot be read",
			  cmd->feature_id);
}

static int set_aenq(struct efa *efa, const struct efa_job *job,
		    const struct efa_set_feature_cmd *cmd)
{
	uint32_t groups = le32toh(cmd->u.aenq.enabled_groups);

	if (job->cmd.hdr.flags & EFA_AQ_CTRL_DATA)
		return efa_refuse(efa, job, EFA_ADMIN_MALFORMED,
				  "AENQ_CONFIG takes no control buffer");
	if (groups & ~efa->config.aenq_groups)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "event groups 0x%x, supported are 0x%llx", groups,
				  (unsigned long long)efa->config.aenq_groups);
	efa->admin.aenq_enabled = groups;
	efa->admin.keepalive_when = 0;
	return EFA_ADMIN_SUCCESS;
}

/* nothing depends on what it says; reading it finds buffers that are none */
static int set_host_info(struct efa *efa, const struct efa_job *job,
			 const struct efa_set_feature_cmd *cmd)
{
	uint64_t addr = le32toh(cmd->ctrl.addr_lo) | (uint64_t)le32toh(cmd->ctrl.addr_hi) << 32;
	struct efa_host_info info;

	if (!(job->cmd.hdr.flags & EFA_AQ_CTRL_DATA) ||
	    le32toh(cmd->ctrl.length) < sizeof(info))
		return efa_refuse(efa, job, EFA_ADMIN_MALFORMED,
				  "HOST_INFO needs a control buffer of %zu bytes", sizeof(info));
	if (model_dma_read(&efa->dev, addr, &info, sizeof(info)))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "HOST_INFO buffer 0x%llx is not memory of the guest",
				  (unsigned long long)addr);
	efa->host_info = info;
	return EFA_ADMIN_SUCCESS;
}

int efa_cmd_set_feature(struct efa *efa, struct efa_job *job)
{
	const struct efa_set_feature_cmd *cmd = (const void *)&job->cmd;

	if (!offered(efa, cmd->feature_id))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "feature %u is not in supported_features", cmd->feature_id);
	switch (cmd->feature_id) {
	case EFA_FEATURE_AENQ_CONFIG:
		return set_aenq(efa, job, cmd);
	case EFA_FEATURE_HOST_INFO:
		return set_host_info(efa, job, cmd);
	}
	return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM, "feature %u cannot be set",
			  cmd->feature_id);
}
