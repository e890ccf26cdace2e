// SPDX-License-Identifier: GPL-2.0
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include <hw/field.h>
#include "efa.h"
#include "test_efa.h"

/* ---- adapter ----------------------------------------------------------- */

void drv_plug(struct drv *drv, const char *name, const char *options)
{
	memset(drv, 0, sizeof(*drv));
	drv->dev = test_device(&efa_type, name, options);
	MUST(drv->dev);
	test_host_open(&drv->host, drv->dev);
	drv->resp = test_alloc(&drv->host, 8, 8);
}

void drv_write(struct drv *drv, unsigned int reg, uint32_t value)
{
	drv->dev->ops->bar_write(drv->dev, EFA_BAR_REGS, reg, 4, value);
}

void drv_set_resp(struct drv *drv)
{
	drv_write(drv, EFA_REG_MMIO_RESP_HI, drv->resp >> 32);
	drv_write(drv, EFA_REG_MMIO_RESP_LO, drv->resp);
}

bool drv_reg_read(struct drv *drv, unsigned int reg, uint32_t *value)
{
	struct efa_mmio_resp *resp = test_mem(&drv->host, drv->resp, sizeof(*resp));
	uint16_t seq = ++drv->read_seq;

	resp->req_id = htole16(seq + 0x9a);
	drv_write(drv, EFA_REG_MMIO_REG_READ,
		  HW_PREP(EFA_MMIO_READ_REG_OFF, reg) | HW_PREP(EFA_MMIO_READ_REQ_ID, seq));
	test_run();
	if (le16toh(resp->req_id) != seq || le16toh(resp->reg_off) != reg)
		return false;
	*value = le32toh(resp->reg_val);
	return true;
}

static bool wait_status(struct drv *drv, uint32_t bit, uint32_t want)
{
	uint32_t status;

	for (unsigned int i = 0; i < 100; i++) {
		if (!drv_reg_read(drv, EFA_REG_DEV_STS, &status))
			return false;
		if ((status & bit) == want)
			return true;
		test_run_ms(100);
	}
	return false;
}

bool drv_reset(struct drv *drv, unsigned int reason)
{
	drv_write(drv, EFA_REG_DEV_CTL,
		  EFA_DEV_CTL_RESET | HW_PREP(EFA_DEV_CTL_RESET_REASON, reason));
	drv_set_resp(drv);
	if (!wait_status(drv, EFA_DEV_STS_RESET_BUSY, EFA_DEV_STS_RESET_BUSY))
		return false;
	drv_write(drv, EFA_REG_DEV_CTL, 0);
	return wait_status(drv, EFA_DEV_STS_RESET_BUSY, 0);
}

static void start_ring(struct drv *drv, unsigned int lo, unsigned int hi, unsigned int caps,
		       uint64_t base, uint32_t depth)
{
	memset(test_mem(&drv->host, base, depth * EFA_ADMIN_ENTRY_SIZE), 0,
	       depth * EFA_ADMIN_ENTRY_SIZE);
	drv_write(drv, lo, base);
	drv_write(drv, hi, base >> 32);
	drv_write(drv, caps, EFA_ADMIN_ENTRY_SIZE << 16 | depth);
}

void drv_start_queues(struct drv *drv)
{
	if (!drv->aq) {
		drv->aq = test_alloc_apart(&drv->host, DRV_AQ_DEPTH * EFA_ADMIN_ENTRY_SIZE);
		drv->acq = test_alloc_apart(&drv->host, DRV_AQ_DEPTH * EFA_ADMIN_ENTRY_SIZE);
		drv->aenq = test_alloc_apart(&drv->host, DRV_AENQ_DEPTH * EFA_ADMIN_ENTRY_SIZE);
	}
	drv->aq_count = 0;
	drv->acq_count = drv->aenq_count = 0;
	start_ring(drv, EFA_REG_AQ_BASE_LO, EFA_REG_AQ_BASE_HI, EFA_REG_AQ_CAPS, drv->aq,
		   DRV_AQ_DEPTH);
	start_ring(drv, EFA_REG_ACQ_BASE_LO, EFA_REG_ACQ_BASE_HI, EFA_REG_ACQ_CAPS, drv->acq,
		   DRV_AQ_DEPTH);
	start_ring(drv, EFA_REG_AENQ_BASE_LO, EFA_REG_AENQ_BASE_HI, EFA_REG_AENQ_CAPS, drv->aenq,
		   DRV_AENQ_DEPTH);
	drv_write(drv, EFA_REG_AENQ_CONS_DB, 0);
	drv_write(drv, EFA_REG_INTR_MASK, 0);
}

void drv_open(struct drv *drv, const char *name, const char *options)
{
	struct efa_get_feature_resp resp;

	drv_plug(drv, name, options);
	drv_set_resp(drv);
	MUST(drv_reset(drv, EFA_RESET_NORMAL));
	MUST(drv_reg_read(drv, EFA_REG_VERSION, &drv->version));
	drv_start_queues(drv);
	MUST(!drv_get_feature(drv, EFA_FEATURE_DEVICE_ATTR, &resp));
	drv->attr = resp.u.device;
	MUST(!drv_get_feature(drv, EFA_FEATURE_QUEUE_ATTR_1, &resp));
	drv->queue = resp.u.queue1;
	MUST(!drv_get_feature(drv, EFA_FEATURE_NETWORK_ATTR, &resp));
	memcpy(drv->gid, resp.u.network.addr, sizeof(drv->gid));
	drv->mtu = le32toh(resp.u.network.mtu);
	MUST(!drv_alloc_pd(drv, &drv->pd));
	MUST(!drv_alloc_uar(drv, &drv->uar));
}

void drv_doorbell(struct drv *drv, uint64_t off, uint32_t value)
{
	struct efa *efa = efa_of(drv->dev);

	if (efa->config.polled && off - efa->db_base < efa->db_half)
		memcpy(drv->dev->bar[efa->db_bar].mem + off, &value, sizeof(value));
	else
		drv->dev->ops->bar_write(drv->dev, efa->db_bar, off, 4, value);
}

/* ---- admin ------------------------------------------------------------- */

uint16_t drv_crc(const void *data, size_t len)
{
	const uint8_t *byte = data;
	uint16_t crc = 0xffff;

	for (size_t i = 0; i < len; i++) {
		crc ^= byte[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xa001 : crc >> 1;
	}
	return ~crc;
}

uint16_t drv_submit(struct drv *drv, const void *cmd, size_t len, uint8_t opcode, uint8_t flags)
{
	uint16_t count = drv->aq_count++;
	unsigned int slot = count % DRV_AQ_DEPTH;
	struct efa_aq_entry *entry = test_mem(&drv->host, drv->aq + slot * sizeof(*entry),
					      sizeof(*entry));
	uint16_t id = (slot | count << 5) & EFA_ADMIN_CMD_ID;

	memset(entry, 0, sizeof(*entry));
	memcpy(entry, cmd, len);
	entry->hdr.command_id = htole16(id);
	entry->hdr.opcode = opcode;
	entry->hdr.flags = flags | (count / DRV_AQ_DEPTH & 1 ? 0 : EFA_AQ_PHASE);
	drv_write(drv, EFA_REG_AQ_PROD_DB, drv->aq_count);
	return id;
}

bool drv_answer(struct drv *drv, struct efa_acq_entry *resp)
{
	unsigned int slot = drv->acq_count % DRV_AQ_DEPTH;
	struct efa_acq_entry *entry = test_mem(&drv->host, drv->acq + slot * sizeof(*entry),
					       sizeof(*entry));
	uint16_t checksum;

	if ((entry->hdr.flags & EFA_ACQ_PHASE) == (drv->acq_count / DRV_AQ_DEPTH & 1))
		return false;
	drv->acq_count++;
	*resp = *entry;
	checksum = le16toh(resp->hdr.checksum);
	resp->hdr.checksum = 0;
	if (drv->version >= EFA_VERSION_CHECKSUM && checksum != drv_crc(resp, sizeof(*resp))) {
		drv->bad_checksums++;
		return drv_answer(drv, resp);
	}
	return true;
}

int drv_admin_flags(struct drv *drv, const void *cmd, size_t len, uint8_t opcode, uint8_t flags,
		    void *resp, size_t resp_len)
{
	uint16_t id = drv_submit(drv, cmd, len, opcode, flags);
	struct efa_acq_entry entry;

	test_run();
	while (drv_answer(drv, &entry)) {
		if (le16toh(entry.hdr.command_id) != id) {
			drv->stray_answers++;
			continue;
		}
		if (resp)
			memcpy(resp, &entry, resp_len);
		return entry.hdr.status;
	}
	return DRV_NO_ANSWER;
}

bool drv_event(struct drv *drv, struct efa_aenq_entry *event)
{
	unsigned int slot = drv->aenq_count % DRV_AENQ_DEPTH;
	struct efa_aenq_entry *entry = test_mem(&drv->host, drv->aenq + slot * sizeof(*entry),
						sizeof(*entry));

	if ((entry->flags & EFA_AENQ_PHASE) == (drv->aenq_count / DRV_AENQ_DEPTH & 1))
		return false;
	drv->aenq_count++;
	*event = *entry;
	return true;
}

/* a command whose answer holds nothing but its status */
#define plain(drv, cmd, opcode)	\
	drv_admin_flags(drv, &(cmd), sizeof(cmd), opcode, 0, NULL, 0)

int drv_get_feature(struct drv *drv, unsigned int id, struct efa_get_feature_resp *resp)
{
	struct efa_get_feature_cmd cmd = { .feature_id = id };

	return drv_admin(drv, cmd, EFA_ADMIN_GET_FEATURE, *resp);
}

int drv_enable_events(struct drv *drv, uint32_t groups)
{
	struct efa_set_feature_cmd cmd = {
		.feature_id = EFA_FEATURE_AENQ_CONFIG,
		.u.aenq.enabled_groups = htole32(groups),
	};

	return plain(drv, cmd, EFA_ADMIN_SET_FEATURE);
}

int drv_alloc_pd(struct drv *drv, uint16_t *pd)
{
	struct efa_alloc_pd_cmd cmd = { 0 };
	struct efa_alloc_pd_resp resp;
	int status = drv_admin(drv, cmd, EFA_ADMIN_ALLOC_PD, resp);

	if (!status)
		*pd = le16toh(resp.pd);
	return status;
}

int drv_dealloc_pd(struct drv *drv, uint16_t pd)
{
	struct efa_dealloc_pd_cmd cmd = { .pd = htole16(pd) };

	return plain(drv, cmd, EFA_ADMIN_DEALLOC_PD);
}

int drv_alloc_uar(struct drv *drv, uint16_t *uar)
{
	struct efa_alloc_uar_cmd cmd = { 0 };
	struct efa_alloc_uar_resp resp;
	int status = drv_admin(drv, cmd, EFA_ADMIN_ALLOC_UAR, resp);

	if (!status)
		*uar = le16toh(resp.uar);
	return status;
}

int drv_dealloc_uar(struct drv *drv, uint16_t uar)
{
	struct efa_dealloc_uar_cmd cmd = { .uar = htole16(uar) };

	return plain(drv, cmd, EFA_ADMIN_DEALLOC_UAR);
}

int drv_create_ah(struct drv *drv, uint16_t pd, const uint8_t *gid, uint16_t *ah)
{
	struct efa_create_ah_cmd cmd = { .pd = htole16(pd) };
	struct efa_create_ah_resp resp;
	int status;

	memcpy(cmd.dest_addr, gid, sizeof(cmd.dest_addr));
	status = drv_admin(drv, cmd, EFA_ADMIN_CREATE_AH, resp);
	if (!status)
		*ah = le16toh(resp.ah);
	return status;
}

int drv_destroy_ah(struct drv *drv, uint16_t pd, uint16_t ah)
{
	struct efa_destroy_ah_cmd cmd = { .ah = htole16(ah), .pd = htole16(pd) };

	return plain(drv, cmd, EFA_ADMIN_DESTROY_AH);
}

int drv_create_eq(struct drv *drv, unsigned int depth, unsigned int vector, uint64_t *ring,
		  uint16_t *eqn)
{
	struct efa_create_eq_cmd cmd = {
		.depth = htole16(depth), .vector = vector, .caps = EFA_EQE_SIZE / 4,
		.event_bitmask = htole32(EFA_EQ_EVENT_COMPLETION),
	};
	struct efa_create_eq_resp resp;
	int status;

	*ring = test_alloc_apart(&drv->host, depth * EFA_EQE_SIZE);
	cmd.base_lo = htole32(*ring);
	cmd.base_hi = htole32(*ring >> 32);
	status = drv_admin(drv, cmd, EFA_ADMIN_CREATE_EQ, resp);
	if (!status)
		*eqn = le16toh(resp.eqn);
	return status;
}

int drv_destroy_eq(struct drv *drv, uint16_t eqn)
{
	struct efa_destroy_eq_cmd cmd = { .eqn = htole16(eqn) };

	return plain(drv, cmd, EFA_ADMIN_DESTROY_EQ);
}

int drv_stats(struct drv *drv, unsigned int type, struct efa_get_stats_resp *resp)
{
	struct efa_get_stats_cmd cmd = { .type = type };

	return drv_admin(drv, cmd, EFA_ADMIN_GET_STATS, *resp);
}

/* ---- memory regions ---------------------------------------------------- */

int drv_reg_mr(struct drv *drv, uint16_t pd, uint64_t length, unsigned int offset,
	       uint8_t permissions, struct drv_mr *mr)
{
	unsigned int pages = (offset + length + TEST_PAGE - 1) / TEST_PAGE;
	struct efa_reg_mr_cmd cmd = {
		.pd = htole16(pd), .length = htole64(length), .flags = 12,
		.permissions = permissions,
	};
	struct efa_reg_mr_resp resp;
	uint64_t list = 0;
	uint8_t flags = 0;
	int status;

	MUST(pages <= DRV_MR_PAGES);
	for (unsigned int i = 0; i < pages; i++)
		mr->pages[i] = test_alloc_apart(&drv->host, TEST_PAGE);
	/* an address that is like no DMA address */
	mr->addr = 0x7f0000000000 + (mr->pages[0] << 4) + offset;
	mr->length = length;
	cmd.iova = htole64(mr->addr);
	if (pages > EFA_REG_MR_INLINE_PAGES) {
		list = test_alloc(&drv->host, 8 * pages, 8);
		memcpy(test_mem(&drv->host, list, 8 * pages), mr->pages, 8 * pages);
		cmd.u.list.length = htole32(8 * pages);
		cmd.u.list.addr_lo = htole32(list);
		cmd.u.list.addr_hi = htole32(list >> 32);
		flags = EFA_AQ_CTRL_DATA;
	} else {
		memcpy(cmd.u.pages, mr->pages, 8 * pages);
	}
	status = drv_admin_flags(drv, &cmd, sizeof(cmd), EFA_ADMIN_REG_MR, flags, &resp,
				 sizeof(resp));
	/* the adapter has its copy; what a driver would do with the list now */
	if (list)
		memset(test_mem(&drv->host, list, 8 * pages), 0xee, 8 * pages);
	if (!status) {
		mr->lkey = le32toh(resp.lkey);
		mr->rkey = le32toh(resp.rkey);
	}
	return status;
}

int drv_dereg_mr(struct drv *drv, uint32_t lkey)
{
	struct efa_dereg_mr_cmd cmd = { .lkey = htole32(lkey) };

	return plain(drv, cmd, EFA_ADMIN_DEREG_MR);
}

static void *mr_byte(struct drv *drv, const struct drv_mr *mr, uint64_t off)
{
	uint64_t at = (mr->addr % TEST_PAGE) + off;

	return test_mem(&drv->host, mr->pages[at / TEST_PAGE] + at % TEST_PAGE, 1);
}

void drv_mr_write(struct drv *drv, const struct drv_mr *mr, uint64_t off, const void *data,
		  size_t len)
{
	const uint8_t *byte = data;

	while (len--)
		*(uint8_t *)mr_byte(drv, mr, off++) = *byte++;
}

void drv_mr_read(struct drv *drv, const struct drv_mr *mr, uint64_t off, void *data, size_t len)
{
	uint8_t *byte = data;

	while (len--)
		*byte++ = *(uint8_t *)mr_byte(drv, mr, off++);
}

/* ---- queues ------------------------------------------------------------ */

int drv_create_cq(struct drv *drv, unsigned int depth, unsigned int entry_size, unsigned int flags,
		  int eqn, struct drv_cq *cq)
{
	unsigned int subs = le16toh(drv->queue.sub_cqs_per_cq);
	uint64_t ring = test_alloc_apart(&drv->host, depth * entry_size * subs);
	struct efa_create_cq_cmd cmd = {
		.caps1 = eqn >= 0 ? EFA_CREATE_CQ_INTERRUPT : 0,
		.caps2 = entry_size / 4 | (flags & DRV_CQ_SRC_ADDR ? EFA_CREATE_CQ_SRC_ADDR : 0) |
			 (flags & DRV_CQ_IDS64 ? EFA_CREATE_CQ_64BIT_IDS : 0),
		.sub_cq_depth = htole16(depth), .eqn = htole16(eqn >= 0 ? eqn : 0),
		.base_lo = htole32(ring), .base_hi = htole32(ring >> 32),
		.num_sub_cqs = htole16(subs), .uar = htole16(drv->uar),
	};
	struct efa_create_cq_resp resp;
	int status = drv_admin(drv, cmd, EFA_ADMIN_CREATE_CQ, resp);

	if (status)
		return status;
	*cq = (struct drv_cq) {
		.drv = drv, .num = le16toh(resp.cq_idx), .depth = depth, .entry_size = entry_size,
		.subs = subs, .ring = ring, .db = le32toh(resp.db_offset),
		.db_valid = resp.flags & htole32(EFA_CREATE_CQ_DB_VALID),
	};
	return 0;
}

int drv_destroy_cq(struct drv_cq *cq)
{
	struct efa_destroy_cq_cmd cmd = { .cq_idx = htole16(cq->num) };

	return plain(cq->drv, cmd, EFA_ADMIN_DESTROY_CQ);
}

int drv_create_qp(struct drv *drv, const struct drv_qp_init *init, struct drv_qp *qp)
{
	uint32_t rq_bytes = init->rq_descs * EFA_RX_DESC_SIZE;
	uint64_t rq = rq_bytes ? test_alloc_apart(&drv->host, rq_bytes) : 0;
	struct efa_create_qp_cmd cmd = {
		.pd = htole16(drv->pd), .qp_type = init->type, .flags = init->flags,
		.rq_base = htole64(rq), .send_cq = htole32(init->send_cq->num),
		.recv_cq = htole32(init->recv_cq->num),
		.sq_ring_size = htole32(init->sq_depth * init->wqe_size),
		.sq_depth = htole32(init->sq_depth), .rq_ring_size = htole32(rq_bytes),
		.rq_depth = htole32(init->rq_wrs), .uar = htole16(drv->uar),
	};
	struct efa_create_qp_resp resp;
	int status = drv_admin(drv, cmd, EFA_ADMIN_CREATE_QP, resp);

	if (status)
		return status;
	*qp = (struct drv_qp) {
		.drv = drv, .send_cq = init->send_cq, .recv_cq = init->recv_cq,
		.handle = le32toh(resp.qp_handle), .num = le16toh(resp.qp_num),
		.sq_depth = init->sq_depth, .wqe_size = init->wqe_size,
		.rq_descs = init->rq_descs, .sq_db = le32toh(resp.sq_db_offset),
		.rq_db = le32toh(resp.rq_db_offset), .llq = le32toh(resp.llq_offset),
		.rq_ring = rq, .qkey = DRV_QKEY,
		.trapped = !drv->dev->bar[EFA_BAR_LLQ].nareas,
	};
	return 0;
}

int drv_destroy_qp(struct drv_qp *qp)
{
	struct efa_destroy_qp_cmd cmd = { .qp_handle = htole32(qp->handle) };

	return plain(qp->drv, cmd, EFA_ADMIN_DESTROY_QP);
}

int drv_modify_qp(struct drv_qp *qp, uint32_t mask, unsigned int cur, unsigned int state,
		  unsigned int rnr_retry)
{
	struct efa_modify_qp_cmd cmd = {
		.modify_mask = htole32(mask), .qp_handle = htole32(qp->handle),
		.qp_state = htole32(state), .cur_qp_state = htole32(cur),
		.qkey = htole32(qp->qkey), .sq_psn = htole32(7), .rnr_retry = rnr_retry,
	};

	return plain(qp->drv, cmd, EFA_ADMIN_MODIFY_QP);
}

int drv_to_state(struct drv_qp *qp, unsigned int from, unsigned int to)
{
	if (to == EFA_ADMIN_QPS_RESET)
		qp->sq_count = qp->rq_count = 0;
	return drv_modify_qp(qp, EFA_MODIFY_QP_STATE | EFA_MODIFY_QP_CUR_STATE, from, to, 0);
}

void drv_bring_up(struct drv_qp *qp, unsigned int rnr_retry)
{
	const uint32_t both = EFA_MODIFY_QP_STATE | EFA_MODIFY_QP_CUR_STATE;

	MUST(!drv_modify_qp(qp, both | EFA_MODIFY_QP_QKEY, EFA_ADMIN_QPS_RESET,
			       EFA_ADMIN_QPS_INIT, 0));
	MUST(!drv_modify_qp(qp, both, EFA_ADMIN_QPS_INIT, EFA_ADMIN_QPS_RTR, 0));
	MUST(!drv_modify_qp(qp, both | EFA_MODIFY_QP_SQ_PSN |
			       (rnr_retry ? EFA_MODIFY_QP_RNR_RETRY : 0), EFA_ADMIN_QPS_RTR,
			       EFA_ADMIN_QPS_RTS, rnr_retry));
}

void drv_wqe(struct drv_qp *qp, struct efa_wqe_wide *wqe, unsigned int op, uint64_t req_id,
	     uint16_t dest_qp, uint16_t ah)
{
	memset(wqe, 0, sizeof(*wqe));
	wqe->meta.req_id = htole16(req_id);
	wqe->meta.req_id_ex[0] = htole16(req_id >> 16);
	wqe->meta.req_id_ex[1] = htole16(req_id >> 32);
	wqe->meta.req_id_ex[2] = htole16(req_id >> 48);
	wqe->meta.ctrl1 = op | EFA_WQE_META_DESC;
	wqe->meta.ctrl2 = (qp->sq_count / qp->sq_depth & 1) | EFA_WQE_FIRST | EFA_WQE_LAST |
			  EFA_WQE_COMP_REQ;
	wqe->meta.dest_qp_num = htole16(dest_qp);
	wqe->meta.ah = htole16(ah);
	wqe->meta.qkey = htole32(DRV_QKEY);
}

void drv_tx_buf(struct efa_tx_buf *buf, uint64_t addr, uint32_t length, uint32_t lkey)
{
	buf->length = htole32(length);
	buf->lkey = htole32(lkey);
	buf->addr_lo = htole32(addr);
	buf->addr_hi = htole32(addr >> 32);
}

void drv_remote(struct efa_wqe_wide *wqe, uint64_t addr, uint32_t length, uint32_t rkey)
{
	struct efa_remote_mem *remote = &wqe->u.rdma.remote;

	remote->length = htole32(length);
	remote->rkey = htole32(rkey);
	remote->addr_lo = htole32(addr);
	remote->addr_hi = htole32(addr >> 32);
}

void drv_store_wqe(struct drv_qp *qp, const struct efa_wqe_wide *wqe)
{
	struct model_device *dev = qp->drv->dev;
	uint64_t at = qp->llq + qp->sq_count++ % qp->sq_depth * qp->wqe_size;

	if (!qp->trapped) {
		memcpy(dev->bar[EFA_BAR_LLQ].mem + at, wqe, qp->wqe_size);
		return;
	}
	for (unsigned int i = 0; i < qp->wqe_size; i += 8) {
		uint64_t word;

		memcpy(&word, (const char *)wqe + i, sizeof(word));
		dev->ops->bar_write(dev, EFA_BAR_LLQ, at + i, 8, le64toh(word));
	}
}

void drv_ring_sq(struct drv_qp *qp)
{
	drv_doorbell(qp->drv, qp->sq_db, qp->sq_count);
}

void drv_send(struct drv_qp *qp, uint64_t req_id, uint16_t dest_qp, uint16_t ah,
	      const struct drv_mr *mr, uint64_t off, uint32_t length)
{
	struct efa_wqe_wide wqe;

	drv_wqe(qp, &wqe, EFA_OP_SEND, req_id, dest_qp, ah);
	wqe.meta.length = htole16(1);
	drv_tx_buf(&wqe.u.sgl[0], mr->addr + off, length, mr->lkey);
	drv_store_wqe(qp, &wqe);
	drv_ring_sq(qp);
}

void drv_rdma(struct drv_qp *qp, unsigned int op, uint64_t req_id, uint16_t dest_qp, uint16_t ah,
	      const struct drv_mr *local, uint64_t off, uint32_t length,
	      const struct drv_mr *remote, uint64_t remote_off)
{
	struct efa_wqe_wide wqe;

	drv_wqe(qp, &wqe, op, req_id, dest_qp, ah);
	wqe.meta.length = htole16(1);
	drv_remote(&wqe, remote->addr + remote_off, length, remote->rkey);
	drv_tx_buf(&wqe.u.rdma.u.local, local->addr + off, length, local->lkey);
	drv_store_wqe(qp, &wqe);
	drv_ring_sq(qp);
}

void drv_store_rx(struct drv_qp *qp, uint16_t req_id, uint64_t addr, uint32_t length, uint32_t lkey,
		  uint32_t ctrl)
{
	struct efa_rx_desc desc = {
		.addr_lo = htole32(addr), .addr_hi = htole32(addr >> 32),
		.req_id = htole16(req_id), .length = htole16(length),
		.lkey_ctrl = htole32(lkey | ctrl),
	};
	uint64_t at = qp->rq_ring + qp->rq_count++ % qp->rq_descs * sizeof(desc);

	memcpy(test_mem(&qp->drv->host, at, sizeof(desc)), &desc, sizeof(desc));
}

void drv_ring_rq(struct drv_qp *qp)
{
	drv_doorbell(qp->drv, qp->rq_db, qp->rq_count);
}

void drv_recv(struct drv_qp *qp, uint16_t req_id, const struct drv_mr *mr, uint64_t off,
	      uint32_t length)
{
	drv_store_rx(qp, req_id, mr->addr + off, length, mr->lkey, EFA_RX_FIRST | EFA_RX_LAST);
	drv_ring_rq(qp);
}

bool drv_poll(struct drv_cq *cq, struct efa_cqe_rx_ex *cqe)
{
	for (unsigned int i = 0; i < cq->subs; i++) {
		unsigned int sub = (cq->next_sub + i) % cq->subs;
		uint32_t count = cq->taken[sub];
		uint64_t at = cq->ring +
			      (uint64_t)(sub * cq->depth + count % cq->depth) * cq->entry_size;
		struct efa_cqe_rx_ex *entry = test_mem(&cq->drv->host, at, cq->entry_size);

		if ((entry->rx.common.flags & EFA_CQE_PHASE) == (count / cq->depth & 1))
			continue;
		memset(cqe, 0, sizeof(*cqe));
		memcpy(cqe, entry, cq->entry_size);
		cq->taken[sub]++;
		cq->total++;
		cq->next_sub = (sub + 1) % cq->subs;
		return true;
	}
	return false;
}

void drv_ring_cq(struct drv_cq *cq, bool arm)
{
	if (cq->db_valid)
		drv_doorbell(cq->drv, cq->db, cq->total |
			     HW_PREP(EFA_CQ_DB_CMD_SN, cq->events & 3) |
			     (arm ? EFA_CQ_DB_ARM : 0));
}

bool drv_wait(struct drv_cq *cq, unsigned int qtype, uint16_t req_id, unsigned int status,
	      struct efa_cqe_rx_ex *cqe)
{
	struct efa_cqe_rx_ex own;

	if (!cqe)
		cqe = &own;
	test_run();
	if (!drv_poll(cq, cqe)) {
		printf("# no completion for request %u\n", req_id);
		return false;
	}
	drv_ring_cq(cq, false);
	if (HW_GET(EFA_CQE_QTYPE, cqe->rx.common.flags) == qtype &&
	    le16toh(cqe->rx.common.req_id) == req_id && cqe->rx.common.status == status)
		return true;
	printf("# completion of queue type %u, request %u, status %u; wanted %u, %u, %u\n",
	       HW_GET(EFA_CQE_QTYPE, cqe->rx.common.flags), le16toh(cqe->rx.common.req_id),
	       cqe->rx.common.status, qtype, req_id, status);
	return false;
}

/* ---- two adapters ------------------------------------------------------ */

static void open_end(struct drv_end *end, const char *name, const char *options,
		     enum efa_admin_qp_type type, unsigned int wqe_size)
{
	struct drv_qp_init init = {
		.type = type, .send_cq = &end->cq, .recv_cq = &end->cq, .sq_depth = 64,
		.wqe_size = wqe_size, .rq_descs = 64, .rq_wrs = 64,
	};

	drv_open(&end->drv, name, options);
	if (!(end->drv.attr.device_caps & htole32(EFA_DEV_CAP_RDMA_READ)))
		MUST(!drv_reg_mr(&end->drv, end->drv.pd, 256 << 10, 0, DRV_LOCAL, &end->mr));
	else
		MUST(!drv_reg_mr(&end->drv, end->drv.pd, 256 << 10, 0, DRV_REMOTE, &end->mr));
	MUST(!drv_create_cq(&end->drv, 256, EFA_CQE_SIZE_EX, DRV_CQ_SRC_ADDR, -1, &end->cq));
	MUST(!drv_create_qp(&end->drv, &init, &end->qp));
	drv_bring_up(&end->qp, 0);
}

void drv_pair_open(struct drv_end end[2], const char *options, enum efa_admin_qp_type type,
		   unsigned int wqe_size)
{
	open_end(&end[0], "left", options, type, wqe_size);
	open_end(&end[1], "right", options, type, wqe_size);
	for (unsigned int i = 0; i < 2; i++)
		MUST(!drv_create_ah(&end[i].drv, end[i].drv.pd, end[!i].drv.gid, &end[i].ah));
}
