// SPDX-License-Identifier: GPL-2.0
/*
 * States of ionic's queue pairs: each transition with what it needs, refused without, and the
 * adapter hears of no refused one; what is set can be asked for; what goes into the adapter's
 * header of a peer.
 */
#include <arpa/inet.h>
#include <net/if.h>

#include "lib/async.h"
#include "lib/ionic_test.h"
#include "lib/netdev.h"
#include "lib/uverbs.h"

#define ALL_ATTRIBUTES	((IBV_QP_DEST_QPN << 1) - 1)

static const struct endpoint_options reset_rc = { .state = ENDPOINT_RESET };
static const struct endpoint_options reset_ud = { .transport = UD, .state = ENDPOINT_RESET };

static struct endpoint *endpoint_in(enum transport transport, int state)
{
	struct endpoint *endpoint = endpoint_new(self, transport == RC ? &reset_rc : &reset_ud);
	struct address own = endpoint_address(endpoint);

	endpoint->remote = own;
	for (int next = IBV_QPS_INIT; next <= state && next <= IBV_QPS_RTS; next++)
		REQUIRE(!endpoint_step(endpoint, next, 0));
	if (state > IBV_QPS_RTS)
		REQUIRE(!endpoint_step(endpoint, state, 0));
	return endpoint;
}

/* what the step to a state must say */
static int step(struct endpoint *endpoint, enum ibv_qp_state state, struct ibv_qp_attr *attr)
{
	int mask = IBV_QP_STATE;

	if (is_rc(endpoint))
		return connection_step(&endpoint->connection, self, state, &endpoint->remote, attr);
	*attr = (struct ibv_qp_attr) {
		.qp_state = state, .port_num = 1, .qkey = endpoint->qkey,
	};
	if (state == IBV_QPS_INIT)
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	if (state == IBV_QPS_RTS)
		mask |= IBV_QP_SQ_PSN;
	return mask;
}

static uint64_t modifications(void)
{
	struct model_stats stats;

	if (!self->model[0])
		return 0;
	model_stats(self->model, &stats);
	return model_stat(&stats, "admin");
}

static void expect_refused(struct endpoint *endpoint, struct ibv_qp_attr *attr, int mask, int err)
{
	enum ibv_qp_state state = endpoint->qp->state;
	uint64_t before = modifications();

	CHECK_EQ(ibv_modify_qp(endpoint->qp, attr, mask), err);
	CHECK_EQ(modifications(), before);
	CHECK_EQ(endpoint_state(endpoint), state);
}

/* the ladder, RESET from everywhere, ERR from nearly, and from RTS into SQD and back */
static bool is_legal(int from, int to)
{
	if (to == IBV_QPS_RESET || (to == IBV_QPS_ERR && from != IBV_QPS_RESET))
		return true;
	if (from == to)
		return from == IBV_QPS_INIT || from == IBV_QPS_RTS || from == IBV_QPS_SQD;
	if (to <= IBV_QPS_RTS && to == from + 1)
		return true;
	return (from == IBV_QPS_RTS && to == IBV_QPS_SQD) ||
	       (from == IBV_QPS_SQD && to == IBV_QPS_RTS);
}

IONIC_TEST_BOTH(every_transition)
{
	static const int from_states[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
					   IBV_QPS_SQD, IBV_QPS_ERR };
	static const int to_states[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
					 IBV_QPS_SQD, IBV_QPS_SQE, IBV_QPS_ERR };

	for (unsigned int i = 0; i < 6; i++)
		for (unsigned int j = 0; j < 7; j++) {
			struct endpoint *endpoint = endpoint_in(transport, from_states[i]);
			int from = from_states[i], to = to_states[j], mask;
			struct ibv_qp_attr attr;

			mask = step(endpoint, to, &attr);
			/* these repeat a state and need nothing */
			if (from == to || (from == IBV_QPS_SQD && to == IBV_QPS_RTS))
				mask = IBV_QP_STATE;
			if (!is_legal(from, to)) {
				expect_refused(endpoint, &attr, mask, EINVAL);
			} else if (ibv_modify_qp(endpoint->qp, &attr, mask)) {
				lab_note(__FILE__, __LINE__, "%d to %d is refused", from, to);
			} else {
				CHECK_EQ(endpoint_state(endpoint), to);
			}
			lab_drop_all();
		}
}

IONIC_TEST_BOTH(every_attribute_is_needed)
{
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		struct endpoint *endpoint = endpoint_in(transport, state - 1);
		struct ibv_qp_attr attr;
		int mask = step(endpoint, state, &attr);

		for (int bit = 1; bit <= IBV_QP_DEST_QPN; bit <<= 1)
			if (mask & bit & ~IBV_QP_STATE)
				expect_refused(endpoint, &attr, mask & ~bit, EINVAL);
		CHECK_EQ(ibv_modify_qp(endpoint->qp, &attr, mask), 0);
	}
}

IONIC_TEST_BOTH(attributes_out_of_place)
{
	struct endpoint *endpoint = endpoint_in(transport, IBV_QPS_RESET);
	struct ibv_qp_attr attr;
	int mask = step(endpoint, IBV_QPS_INIT, &attr);

	expect_refused(endpoint, &attr, mask | IBV_QP_SQ_PSN, EINVAL);
	expect_refused(endpoint, &attr, mask | IBV_QP_CAP, EOPNOTSUPP);
	mask |= transport == UD ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY;
	expect_refused(endpoint, &attr, mask, EINVAL);
}

IONIC_TEST_BOTH(ranges)
{
	struct endpoint *endpoint = endpoint_in(transport, IBV_QPS_RESET);
	struct ibv_qp_attr attr;
	int mask = step(endpoint, IBV_QPS_INIT, &attr);

	attr.port_num = 2;
	expect_refused(endpoint, &attr, mask, EINVAL);
	attr.port_num = 0;
	expect_refused(endpoint, &attr, mask, EINVAL);
	attr.port_num = 1;
	attr.pkey_index = 1;
	expect_refused(endpoint, &attr, mask, EINVAL);
}

/* queue keys of the kernel's are not for programs without privileges */
IONIC_TEST(privileged_queue_key)
{
	struct endpoint *endpoint = endpoint_in(UD, IBV_QPS_RESET);
	struct ibv_qp_attr attr;
	int mask = step(endpoint, IBV_QPS_INIT, &attr);

	attr.qkey = 0x80010000;
	REQUIRE(!seteuid(65534));
	expect_refused(endpoint, &attr, mask, EPERM);
	REQUIRE(!seteuid(0));
	CHECK_EQ(ibv_modify_qp(endpoint->qp, &attr, mask), 0);
}

static void expect_rtr_refused(void (*spoil)(struct ibv_qp_attr *attr), int err)
{
	struct endpoint *endpoint = endpoint_in(RC, IBV_QPS_INIT);
	struct ibv_qp_attr attr;
	int mask = step(endpoint, IBV_QPS_RTR, &attr);

	spoil(&attr);
	expect_refused(endpoint, &attr, mask, err);
}

static void no_mtu(struct ibv_qp_attr *attr)
{
	attr->path_mtu = 0;
}

static void large_mtu(struct ibv_qp_attr *attr)
{
	attr->path_mtu = 6;
}

static void many_reads(struct ibv_qp_attr *attr)
{
	attr->max_dest_rd_atomic = self->attr.max_qp_rd_atom + 1;
}

static void no_grh(struct ibv_qp_attr *attr)
{
	attr->ah_attr.is_global = 0;
}

static void another_gid_index(struct ibv_qp_attr *attr)
{
	attr->ah_attr.grh.sgid_index = 255;
}

static void another_port(struct ibv_qp_attr *attr)
{
	attr->ah_attr.port_num = 2;
}

IONIC_TEST(connections_that_cannot_be)
{
	expect_rtr_refused(no_mtu, EINVAL);
	expect_rtr_refused(large_mtu, EINVAL);
	expect_rtr_refused(many_reads, EINVAL);
	expect_rtr_refused(no_grh, EINVAL);
	/* the core's word */
	expect_rtr_refused(another_gid_index, ENODATA);
	expect_rtr_refused(another_port, EINVAL);
}

/* the state that a program claims must be the one there is */
IONIC_TEST_BOTH(wrong_current_state)
{
	struct endpoint *endpoint = endpoint_in(transport, IBV_QPS_RTR);
	struct ibv_qp_attr attr;
	int mask = step(endpoint, IBV_QPS_RTS, &attr) | IBV_QP_CUR_STATE;

	attr.cur_qp_state = IBV_QPS_RTS;
	expect_refused(endpoint, &attr, mask, EINVAL);
	attr.cur_qp_state = IBV_QPS_RTR;
	CHECK_EQ(ibv_modify_qp(endpoint->qp, &attr, mask), 0);
	CHECK_EQ(endpoint_state(endpoint), IBV_QPS_RTS);
}

/* ---- asking ---------------------------------------------------------------------------------- */

IONIC_TEST(query_rc)
{
	struct connection connection = {
		.mtu = IBV_MTU_512, .timeout = 17, .retry = RETRY(5), .rnr_retry = RETRY(3),
		.rnr_timer = 9, .reads = RETRY(7), .responder = RETRY(8), .psn = 0x123456,
		.access = ACCESS(IBV_ACCESS_REMOTE_READ),
	};
	struct duo duo = duo_new(&(struct endpoint_options) { .connection = connection });
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	REQUIRE(!ibv_query_qp(duo.a->qp, &attr, ALL_ATTRIBUTES, &init));
	CHECK_EQ(attr.qp_state, IBV_QPS_RTS);
	CHECK_EQ(attr.path_mtu, IBV_MTU_512);
	CHECK_EQ(attr.timeout, 17);
	CHECK_EQ(attr.retry_cnt, 5);
	CHECK_EQ(attr.rnr_retry, 3);
	CHECK_EQ(attr.min_rnr_timer, 9);
	/* as agreed, whatever the adapter makes of them */
	CHECK_EQ(attr.max_rd_atomic, 7);
	CHECK_EQ(attr.max_dest_rd_atomic, 8);
	CHECK_EQ(attr.sq_psn, 0x123456);
	CHECK_EQ(attr.rq_psn, 0x123456);
	CHECK_EQ(attr.dest_qp_num, duo.b->qp->qp_num);
	CHECK_EQ(attr.qp_access_flags, IBV_ACCESS_REMOTE_READ);
	CHECK_EQ(attr.port_num, 1);
	CHECK_EQ(attr.pkey_index, 0);
	CHECK(!memcmp(&attr.ah_attr.grh.dgid, &peer->gid, 16));
	CHECK_EQ(attr.ah_attr.grh.hop_limit, 64);
	CHECK_EQ(attr.ah_attr.is_global, 1);
	CHECK_EQ(init.qp_type, IBV_QPT_RC);
	CHECK_EQ(init.cap.max_send_wr, duo.a->cap.max_send_wr);
	CHECK_EQ(init.cap.max_recv_wr, duo.a->cap.max_recv_wr);
	CHECK_EQ(init.cap.max_send_sge, duo.a->cap.max_send_sge);
	CHECK(init.send_cq == duo.a->send_cq->cq && init.recv_cq == duo.a->recv_cq->cq);
}

/* with everything asked for, also what this kind of queue pair does not have: an address vector */
IONIC_TEST(query_ud)
{
	struct endpoint *endpoint = endpoint_in(UD, IBV_QPS_RTS);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	REQUIRE(!ibv_query_qp(endpoint->qp, &attr, ALL_ATTRIBUTES, &init));
	CHECK_EQ(attr.qp_state, IBV_QPS_RTS);
	CHECK_EQ(attr.qkey, ENDPOINT_QKEY);
	CHECK_EQ(init.qp_type, IBV_QPT_UD);
}

IONIC_TEST(query_in_every_state)
{
	for (int state = IBV_QPS_RESET; state <= IBV_QPS_SQD; state++) {
		struct endpoint *endpoint = endpoint_in(RC, state);
		struct ibv_qp_init_attr init;
		struct ibv_qp_attr attr;

		REQUIRE(!ibv_query_qp(endpoint->qp, &attr, ALL_ATTRIBUTES, &init));
		CHECK_EQ(attr.qp_state, state);
	}
}

/* every number of reads under way becomes what the adapter has, and no more than was agreed */
IONIC_TEST(reads_under_way)
{
	for (unsigned int n = 1; n <= 16; n++) {
		struct duo duo = duo_new(&(struct endpoint_options) {
			.connection = { .reads = RETRY(n), .responder = RETRY(n) } });
		struct ibv_qp_init_attr init;
		struct ibv_qp_attr attr;

		REQUIRE(!ibv_query_qp(duo.a->qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC |
				      IBV_QP_MAX_DEST_RD_ATOMIC, &init));
		CHECK(attr.max_rd_atomic >= 1 && attr.max_rd_atomic <= n);
		CHECK(attr.max_dest_rd_atomic >= n);
		lab_drop_all();
	}
}

/* ---- SQD ------------------------------------------------------------------------------------- */

IONIC_TEST(drained)
{
	struct duo duo = duo_new(NULL);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct buffer *from = buffer_new(duo.a->pd, 100000, 0);
	struct buffer *to = buffer_new(duo.b->pd, 100000, IBV_ACCESS_LOCAL_WRITE | ACCESS_REMOTE);
	struct work work = rdma_work(IBV_WR_RDMA_WRITE, &duo.to_b, 1, from, 0, 100000, to, 0);
	struct completion completion;
	unsigned int done;

	async_forget(self);
	buffer_fill(from, 5);
	post_one(duo.a, &work);
	REQUIRE(!ibv_modify_qp(duo.a->qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY));
	async_expect(self, IBV_EVENT_SQ_DRAINED, duo.a->qp);
	/* what had begun is done; what had not, and what is posted now, waits */
	done = cq_take(duo.a->send_cq, &completion);
	buffer_clear(to);
	post_one(duo.a, &work);
	CHECK(cq_quiet(duo.a->send_cq, QUIET_MS));
	buffer_expect_clear(to, 0, 100000);
	attr.qp_state = IBV_QPS_RTS;
	REQUIRE(!ibv_modify_qp(duo.a->qp, &attr, IBV_QP_STATE));
	cq_wait_many(duo.a->send_cq, 2 - done);
	buffer_expect(to, 0, 100000, 5);
}

/* ---- headers (F-65) -------------------------------------------------------------------------- */

#define VLAN_DEVICE	"dvq-vlan7"
#define VLAN_ID		7
#define SL		5	/* is a tag's priority */
#define OTHER_MAC	"02:00:00:00:78:79"

/**
 * struct way - from an address of ours to a neighbour that nobody is
 *
 * @vlan: by the interface that is in a VLAN
 * @own, @to: as words
 * @bits: of the network
 * @mac: of the neighbour, as the kernel is told
 */
static const struct way {
	bool vlan;
	int family;
	const char *own, *to;
	unsigned int bits;
	const char *mac;
} ways[] = {
	{ false, AF_INET6, "fd00:65::1", "fd00:65::2", 64, "02:65:00:00:00:06" },
	{ false, AF_INET, "10.65.0.1", "10.65.0.2", 24, "02:65:00:00:00:04" },
	{ true, AF_INET6, "fd00:65:7::1", "fd00:65:7::2", 64, "02:65:07:00:00:06" },
	{ true, AF_INET, "10.65.7.1", "10.65.7.2", 24, "02:65:07:00:00:04" },
};

#define WAYS	(sizeof(ways) / sizeof(ways[0]))

static const char *way_device(const struct way *way)
{
	return way->vlan ? VLAN_DEVICE : self->netdev;
}

__attribute__((format(printf, 1, 2)))
static void shell(const char *format, ...)
{
	char command[256];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	LAB_NEED(!system(command), "%s: failed", command);
}

static union ibv_gid gid_of(int family, const char *address)
{
	union ibv_gid gid = {};

	if (family == AF_INET)
		memset(gid.raw + 10, 0xff, 2);
	REQUIRE(inet_pton(family, address, family == AF_INET ? gid.raw + 12 : gid.raw) == 1);
	return gid;
}

/* the entry of the adapter's table that has @gid; must come, with the type that has UDP */
static uint8_t gid_index(const union ibv_gid *gid)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	struct ibv_gid_entry entry;

	do {
		for (uint32_t i = 0; (int)i < self->port.gid_tbl_len; i++)
			if (!ibv_query_gid_ex(self->context, 1, i, &entry, 0) &&
			    entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
			    !memcmp(&entry.gid, gid, sizeof(*gid)))
				return i;
		sleep_ms(20);
	} while (now_ms() < end);
	LAB_NEED(false, "no GID comes for an address");
}

static char mac_before[32];

static void write_mac(char *text, const uint8_t mac[6])
{
	snprintf(text, 18, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
		 mac[5]);
}

static int remove_ways(void *unused)
{
	(void)unused;
	shell("ip link set %s address %s", self->netdev, mac_before);
	shell("ip link del " VLAN_DEVICE);
	for (unsigned int i = 0; i < WAYS; i++)
		if (!ways[i].vlan) {
			shell("ip neigh del %s dev %s 2> /dev/null || :", ways[i].to, self->netdev);
			shell("ip address del %s/%u dev %s", ways[i].own, ways[i].bits,
			      self->netdev);
		}
	/* where other tests look for it */
	CHECK_EQ(gid_index(&self->gid), 0);
	return 0;
}

/* An interface forgets them all when it gets another address. */
static void make_neighbours(void)
{
	for (unsigned int i = 0; i < WAYS; i++)
		shell("ip neigh replace %s lladdr %s dev %s nud permanent", ways[i].to, ways[i].mac,
		      way_device(&ways[i]));
}

static void make_ways(void)
{
	uint8_t mac[6];

	netdev_mac(self->netdev, mac);
	write_mac(mac_before, mac);
	if (system("modprobe 8021q 2> /dev/null"))
		SKIP("the kernel has no VLANs (CONFIG_VLAN_8021Q)");
	shell("ip link add link %s name " VLAN_DEVICE " type vlan id %u", self->netdev, VLAN_ID);
	lab_hold(remove_ways, mac_before);
	shell("ip link set " VLAN_DEVICE " up");
	for (unsigned int i = 0; i < WAYS; i++)
		shell("ip address add %s/%u dev %s%s", ways[i].own, ways[i].bits,
		      way_device(&ways[i]), ways[i].family == AF_INET6 ? " nodad" : "");
	make_neighbours();
}

static void expect_header(const struct way *way, const char *what, unsigned int ah)
{
	unsigned int type = way->family == AF_INET ? 0x0800 : 0x86dd;
	char want[128], own[18], text[2048];
	uint64_t vlan, ipv4;
	const char *header;
	uint8_t mac[6];
	size_t len = 0;

	netdev_mac(way_device(way), mac);
	write_mac(own, mac);
	for (const char *c = way->mac; *c; c++)
		if (*c != ':')
			want[len++] = *c;
	for (const char *c = own; *c; c++)
		if (*c != ':')
			want[len++] = *c;
	if (way->vlan)
		len += snprintf(want + len, sizeof(want) - len, "8100%04x", SL << 13 | VLAN_ID);
	snprintf(want + len, sizeof(want) - len, "%04x%c", type, way->family == AF_INET ? '4' : '6');
	snprintf(text, sizeof(text), "%s", model_ask(self->model, "ah %u", ah));
	header = strstr(text, "header=");
	REQUIRE(header && model_find(text, "vlan", &vlan) && model_find(text, "ipv4", &ipv4));
	header += strlen("header=");
	if (strncmp(header, want, strlen(want)))
		lab_note(__FILE__, __LINE__, "%s to %s: the header begins with %.40s, not with %s",
			 what, way->to, header, want);
	/* as its profile says, too */
	CHECK_EQ(vlan, way->vlan);
	CHECK_EQ(ipv4, way->family == AF_INET);
}

static void expect_header_of_ah(const struct way *way, const struct raw *raw)
{
	union ibv_gid own = gid_of(way->family, way->own), to = gid_of(way->family, way->to);
	struct ib_uverbs_ah_attr attr = raw_ah_attr(&to);
	struct dvq_ionic_ah_resp resp;
	uint32_t ah;
	int err;

	attr.sl = SL;
	attr.grh.sgid_index = gid_index(&own);
	err = raw_ah(raw, raw->pd, &attr, UV_OUT(&resp, sizeof(resp)), &ah);
	LAB_NEED(!err, "an AH to %s: %s", way->to, strerror(-err));
	expect_header(way, "an AH", resp.ahid);
	CHECK_EQ(raw_ah_destroy(raw, ah), 0);
}

static unsigned int ah_of_qp(const struct endpoint *endpoint)
{
	uint64_t ah;

	REQUIRE(model_find(model_ask(self->model, "qp %u", endpoint->qp->qp_num), "ah", &ah));
	return ah;
}

static void expect_header_of_qp(const struct way *way)
{
	struct endpoint *endpoint = endpoint_in(RC, IBV_QPS_INIT);
	union ibv_gid own = gid_of(way->family, way->own);
	struct ibv_qp_attr attr;
	int mask, err;

	mask = step(endpoint, IBV_QPS_RTR, &attr);
	attr.ah_attr.sl = SL;
	attr.ah_attr.grh.dgid = gid_of(way->family, way->to);
	attr.ah_attr.grh.sgid_index = gid_index(&own);
	err = ibv_modify_qp(endpoint->qp, &attr, mask);
	LAB_NEED(!err, "a connection to %s: %s", way->to, strerror(err));
	expect_header(way, "a connection", ah_of_qp(endpoint));
}

/* of connections and of address handles, with and without a tag; also when the interface has another address */
IONIC_TEST(f65_addresses_in_the_header)
{
	struct dvq_ionic_ctx_resp resp;
	char now[18] = "";
	struct raw *raw;
	uint8_t mac[6];

	need_model();
	make_ways();
	raw = raw_new_ionic(self, &resp);
	for (unsigned int turn = 0; turn < 2; turn++) {
		for (unsigned int i = 0; i < WAYS; i++) {
			expect_header_of_ah(&ways[i], raw);
			expect_header_of_qp(&ways[i]);
		}
		if (turn)
			break;
		shell("ip link set %s address " OTHER_MAC, self->netdev);
		make_neighbours();
		netdev_mac(VLAN_DEVICE, mac);
		write_mac(now, mac);
		CHECK_STR(now, OTHER_MAC);
	}
}

/* ---- address handles ------------------------------------------------------------------------- */

static void expect_no_ah(struct ibv_pd *pd, struct ibv_ah_attr attr, int err)
{
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);

	CHECK(!ah);
	if (ah)
		ibv_destroy_ah(ah);
	else
		CHECK_EQ(errno, err);
}

IONIC_TEST(address_handles_refused)
{
	struct ibv_ah_attr good = {
		.is_global = 1, .port_num = 1, .grh = { .dgid = peer->gid, .hop_limit = 64 },
	}, bad;
	struct ibv_pd *pd = pd_new(self);
	struct ibv_ah *ah;

	bad = good;
	bad.is_global = 0;
	expect_no_ah(pd, bad, EINVAL);
	bad = good;
	bad.port_num = 2;
	expect_no_ah(pd, bad, EINVAL);
	bad = good;
	bad.grh.sgid_index = 200;
	expect_no_ah(pd, bad, ENODATA);
	ah = ibv_create_ah(pd, &good);
	REQUIRE(ah);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
}

IONIC_TEST_MAIN
