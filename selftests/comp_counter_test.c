// SPDX-License-Identifier: GPL-2.0
/*
 * Completion counters of EFA: numbers in memory of the process that the device moves when a queue pair
 * completes something. They need Linux 7.3 and an adapter of the later interface; elsewhere their absence is
 * said. The calls of libibverbs are looked up by name, so that this is built with any rdma-core; before 65 it has
 * none, and the kernel is asked directly.
 */
#include <dlfcn.h>
#include <errno.h>

#include <infiniband/efadv.h>

#include "lib/async.h"
#include "lib/driver.h"
#include "lib/efa_test.h"
#include "lib/memory.h"
#include "lib/uverbs.h"

enum { OP_SEND = 1, OP_RECV = 2, OP_READ = 4, OP_REMOTE_READ = 8, OP_WRITE = 16, OP_REMOTE_WRITE = 32 };

/* as in infiniband/verbs.h of rdma-core 65 */
struct counter_caps {
	uint64_t max_value;
	uint32_t max_counters, ops;
};

struct counter_init {
	uint32_t comp_mask;
	uint32_t type;
	uint32_t flags;
};

struct counter_attach {
	uint32_t comp_mask, op_mask;
};

struct counter;		/* struct ibv_comp_cntr, or a struct raw_counter */

struct counter_calls {
	int (*query)(struct ibv_context *context, struct counter_caps *caps, size_t size);
	struct counter *(*create)(struct ibv_context *context, struct counter_init *init);
	int (*destroy)(struct counter *counter);
	int (*set)(struct counter *counter, uint64_t value);
	int (*set_err)(struct counter *counter, uint64_t value);
	int (*inc)(struct counter *counter, uint64_t amount);
	int (*inc_err)(struct counter *counter, uint64_t amount);
	int (*read)(struct counter *counter, uint64_t *value);
	int (*read_err)(struct counter *counter, uint64_t *value);
	int (*attach)(struct ibv_qp *qp, struct counter *counter, struct counter_attach *attr);
};

static struct counter_calls verbs;

/* ---- the calls, without a library ------------------------------------------------------ */

/* as in the uapi headers of Linux 7.3 */
enum { OBJECT_COMP_CNTR = 19, DEVICE_QUERY_CAPS = 8, QP_ATTACH = 2 };
enum { CNTR_CREATE, CNTR_DESTROY, CNTR_MODIFY };
enum { CAPS_MAX_COUNTERS, CAPS_MAX_VALUE, CAPS_OPS };
enum { ATTACH_QP, ATTACH_CNTR, ATTACH_OPS };
enum { MODIFY_CNTR, MODIFY_ENTRY, MODIFY_OP, MODIFY_VALUE };
enum { SUCCESSES, ERRORS, ENTRIES };
enum { SET, INCREMENT };

struct buffer_desc {
	uint32_t type;
	int32_t fd;
	uint32_t flags, optional_flags;
	uint64_t addr, length;
};

#define BUFFER_AT_ADDRESS	1

struct raw_counter {
	int file;
	uint32_t handle;
	volatile uint64_t count[ENTRIES];
};

static int raw_query(struct ibv_context *context, struct counter_caps *caps, size_t size)
{
	struct uv_call call;

	(void)size;
	uv_start(&call, UVERBS_OBJECT_DEVICE, DEVICE_QUERY_CAPS);
	uv_out(&call, CAPS_MAX_COUNTERS, &caps->max_counters, sizeof(caps->max_counters));
	uv_out(&call, CAPS_MAX_VALUE, &caps->max_value, sizeof(caps->max_value));
	uv_out(&call, CAPS_OPS, &caps->ops, sizeof(caps->ops));
	return -uv_run(context->cmd_fd, &call);
}

static struct counter *raw_create(struct ibv_context *context, struct counter_init *init)
{
	struct raw_counter *raw = calloc(1, sizeof(*raw));
	struct buffer_desc desc[ENTRIES];
	struct uv_call call;
	int err;

	(void)init;
	LAB_NEED(raw, "no memory");
	raw->file = context->cmd_fd;
	uv_start(&call, OBJECT_COMP_CNTR, CNTR_CREATE);
	uv_handle(&call, 0, 0);
	for (unsigned int i = 0; i < ENTRIES; i++) {
		desc[i] = (struct buffer_desc){
			.type = BUFFER_AT_ADDRESS, .fd = -1,
			.addr = (uintptr_t)&raw->count[i], .length = sizeof(raw->count[i]),
		};
		uv_in(&call, DVQ_EFA_ATTR_CREATE_COMP_CNTR_COMP + i, &desc[i], sizeof(desc[i]));
	}
	err = uv_run(raw->file, &call);
	if (err) {
		free(raw);
		errno = -err;
		return NULL;
	}
	raw->handle = call.attr[0].data;
	return (struct counter *)raw;
}

static int raw_destroy(struct counter *counter)
{
	struct raw_counter *raw = (struct raw_counter *)counter;
	struct uv_call call;
	int err;

	uv_start(&call, OBJECT_COMP_CNTR, CNTR_DESTROY);
	uv_handle(&call, 0, raw->handle);
	err = uv_run(raw->file, &call);
	if (!err)
		free(raw);
	return -err;
}

static int raw_modify(struct counter *counter, uint64_t entry, uint64_t op, uint64_t value)
{
	struct raw_counter *raw = (struct raw_counter *)counter;
	struct uv_call call;

	uv_start(&call, OBJECT_COMP_CNTR, CNTR_MODIFY);
	uv_handle(&call, MODIFY_CNTR, raw->handle);
	uv_const(&call, MODIFY_ENTRY, entry);
	uv_const(&call, MODIFY_OP, op);
	uv_in(&call, MODIFY_VALUE, &value, sizeof(value));
	return -uv_run(raw->file, &call);
}

static int raw_set(struct counter *counter, uint64_t value)
{
	return raw_modify(counter, SUCCESSES, SET, value);
}

static int raw_set_err(struct counter *counter, uint64_t value)
{
	return raw_modify(counter, ERRORS, SET, value);
}

static int raw_inc(struct counter *counter, uint64_t amount)
{
	return raw_modify(counter, SUCCESSES, INCREMENT, amount);
}

static int raw_inc_err(struct counter *counter, uint64_t amount)
{
	return raw_modify(counter, ERRORS, INCREMENT, amount);
}

/* as by libefa: where the device writes it */
static int raw_read(struct counter *counter, uint64_t *value)
{
	*value = ((struct raw_counter *)counter)->count[SUCCESSES];
	return 0;
}

static int raw_read_err(struct counter *counter, uint64_t *value)
{
	*value = ((struct raw_counter *)counter)->count[ERRORS];
	return 0;
}

static int raw_attach(struct ibv_qp *qp, struct counter *counter, struct counter_attach *attr)
{
	struct raw_counter *raw = (struct raw_counter *)counter;
	struct uv_call call;

	uv_start(&call, UVERBS_OBJECT_QP, QP_ATTACH);
	uv_handle(&call, ATTACH_QP, qp->handle);
	uv_handle(&call, ATTACH_CNTR, raw->handle);
	uv_in(&call, ATTACH_OPS, &attr->op_mask, sizeof(attr->op_mask));
	return -uv_run(raw->file, &call);
}

static const struct counter_calls raw_calls = {
	.query = raw_query, .create = raw_create, .destroy = raw_destroy, .set = raw_set,
	.set_err = raw_set_err, .inc = raw_inc, .inc_err = raw_inc_err, .read = raw_read,
	.read_err = raw_read_err, .attach = raw_attach,
};

/* ---- what there is --------------------------------------------------------------------- */

static void choose_calls(void)
{
	static const char *const names[] = {
		"_ibv_query_comp_cntr_caps", "ibv_create_comp_cntr", "ibv_destroy_comp_cntr",
		"ibv_set_comp_cntr", "ibv_set_err_comp_cntr", "ibv_inc_comp_cntr",
		"ibv_inc_err_comp_cntr", "ibv_read_comp_cntr", "ibv_read_err_comp_cntr",
		"ibv_qp_attach_comp_cntr",
	};
	void **call = (void **)&verbs;

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		call[i] = dlsym(RTLD_DEFAULT, names[i]);
		if (!call[i]) {
			verbs = raw_calls;
			return;
		}
	}
}

static bool promised(void)
{
	return raw_new(self)->device.device_caps & raw_new(peer)->device.device_caps &
	       DVQ_EFA_DEVICE_COMP_CNTR;
}

static void need_counters(void)
{
	need_model();
	choose_calls();
	if (!promised())
		SKIP("no completion counters: they need Linux 7.3 and the model's option newest=1");
}

/* ---- tests ----------------------------------------------------------------------------- */

static uint64_t live(void)
{
	struct model_stats stats;

	model_stats(self->model, &stats);
	return model_stat(&stats, "counter");
}

static struct counter *counter_try(void)
{
	return verbs.create(self->context, &(struct counter_init){});
}

static struct counter *counter_new(const struct adapter *adapter)
{
	struct counter *counter = verbs.create(adapter->context, &(struct counter_init){});

	LAB_NEED(counter, "creating a completion counter: %s", strerror(errno));
	return counter;
}

/* waits: the device writes the number beside the completion */
static void expect(struct counter *counter, uint64_t successes, uint64_t errors)
{
	uint64_t end = now_ms() + PATIENCE_MS, have = 0, have_err = 0;

	do {
		CHECK_EQ(verbs.read(counter, &have), 0);
		CHECK_EQ(verbs.read_err(counter, &have_err), 0);
	} while ((have != successes || have_err != errors) && now_ms() < end);
	CHECK_EQ(have, successes);
	CHECK_EQ(have_err, errors);
}

EFA_TEST(absence_is_said)
{
	choose_calls();
	if (promised())
		SKIP("there are completion counters");
	CHECK(!counter_try());
	CHECK(errno == EOPNOTSUPP || errno == EPROTONOSUPPORT);
}

EFA_TEST(what_they_can_count)
{
	struct counter_caps caps = {};

	need_counters();
	CHECK_EQ(verbs.query(self->context, &caps, sizeof(caps)), 0);
	CHECK_EQ(caps.ops, 63);
	CHECK_EQ(caps.max_counters, 64);	/* of 128 of the device, two each */
	CHECK_EQ(caps.max_value, UINT64_MAX);
}

EFA_TEST(set_and_increment)
{
	struct counter *counter;

	need_counters();
	counter = counter_new(self);
	expect(counter, 0, 0);
	CHECK_EQ(verbs.set(counter, 100), 0);
	CHECK_EQ(verbs.inc(counter, 5), 0);
	CHECK_EQ(verbs.inc_err(counter, 7), 0);
	expect(counter, 105, 7);
	CHECK_EQ(verbs.set_err(counter, 1), 0);
	CHECK_EQ(verbs.set(counter, 0), 0);
	expect(counter, 0, 1);
	CHECK_EQ(verbs.destroy(counter), 0);
	CHECK_EQ(live(), 0);
}

static void move(struct duo *duo, const struct work *work, bool receives, struct buffer *to)
{
	if (receives)
		post_recv_one(duo->b, 1, to, 0, 8);
	post_one(duo->a, work);
	cq_wait_many(duo->a->send_cq, 1);
	if (receives)
		cq_wait_many(duo->b->recv_cq, 1);
}

EFA_TEST(f31_operations_are_counted)
{
	const struct endpoint_options options = { .state = IBV_QPS_INIT };
	struct buffer *from, *to;
	struct counter *sender, *target, *other;
	struct completion completion;
	struct work work;
	struct duo duo;

	need_counters();
	duo = duo_new(&options);
	from = buffer_new(duo.a->pd, 64, IBV_ACCESS_LOCAL_WRITE);
	to = buffer_new(duo.b->pd, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ);
	sender = counter_new(self);
	target = counter_new(peer);
	CHECK_EQ(verbs.attach(duo.a->qp, sender, &(struct counter_attach){
		.op_mask = OP_SEND | OP_READ | OP_WRITE }), 0);
	CHECK_EQ(verbs.attach(duo.b->qp, target, &(struct counter_attach){
		.op_mask = OP_RECV | OP_REMOTE_READ | OP_REMOTE_WRITE }), 0);
	/* in use, and each operation once */
	other = counter_new(self);
	CHECK_EQ(verbs.attach(duo.a->qp, other, &(struct counter_attach){ .op_mask = OP_SEND }), EBUSY);
	CHECK_EQ(verbs.destroy(other), 0);
	CHECK_EQ(verbs.destroy(sender), EBUSY);
	CHECK_EQ(endpoint_modify(duo.a, IBV_QPS_RTS), 0);
	CHECK_EQ(endpoint_modify(duo.b, IBV_QPS_RTS), 0);

	for (int i = 0; i < 5; i++) {
		work = send_work(&duo.to_b, i, from, 0, 8);
		move(&duo, &work, true, to);
	}
	expect(sender, 5, 0);
	expect(target, 5, 0);
	for (int i = 0; i < 3; i++) {
		work = rdma_work(IBV_WR_RDMA_WRITE, &duo.to_b, i, from, 0, 8, to, 0);
		move(&duo, &work, false, NULL);
		work = rdma_work(IBV_WR_RDMA_READ, &duo.to_b, i, from, 0, 8, to, 0);
		move(&duo, &work, false, NULL);
	}
	expect(sender, 11, 0);
	expect(target, 11, 0);
	work.rkey ^= 0x300000;
	post_one(duo.a, &work);
	cq_wait(duo.a->send_cq, &completion);
	CHECK(completion.status != IBV_WC_SUCCESS);
	expect(sender, 11, 1);
	expect(target, 11, 0);

	/* gone with the QP, not before */
	CHECK_EQ(endpoint_destroy(duo.a), 0);
	CHECK_EQ(endpoint_destroy(duo.b), 0);
	CHECK_EQ(verbs.destroy(sender), 0);
	CHECK_EQ(verbs.destroy(target), 0);
	CHECK_EQ(live(), 0);
}

/* ---- memory of the caller ---------------------------------------------------------------- */

enum { IN_MEMORY = EFADV_COMP_CNTR_INIT_WITH_COMP_EXTERNAL_MEM | EFADV_COMP_CNTR_INIT_WITH_ERR_EXTERNAL_MEM };

static void need_external_memory(void)
{
	need_counters();
	if (verbs.create == raw_create)
		SKIP("libibverbs has no completion counters: the first is that of rdma-core 65");
}

static struct counter *counter_in(const struct efadv_comp_cntr_init_attr *where, uint32_t inlen)
{
	struct efadv_comp_cntr_init_attr attr = *where;
	struct counter_init init = {};

	errno = 0;
	return (struct counter *)efadv_create_comp_cntr(self->context, (void *)&init, &attr, inlen);
}

static void expect_refused(const struct efadv_comp_cntr_init_attr *where, uint32_t inlen, int error)
{
	CHECK(!counter_in(where, inlen));
	CHECK_EQ(errno, error);
	CHECK_EQ(live(), 0);
}

EFA_TEST(f31_in_memory_of_the_caller)
{
	static volatile uint64_t values[2] __attribute__((aligned(16)));
	struct efadv_comp_cntr_init_attr where = {
		.flags = IN_MEMORY,
		.comp_cntr_ext_mem = { .ptr = (uint8_t *)&values[0] },
		.err_cntr_ext_mem = { .ptr = (uint8_t *)&values[1] },
	};
	struct counter *counter;

	need_external_memory();
	counter = counter_in(&where, sizeof(where));
	REQUIRE(counter);
	CHECK_EQ(verbs.set(counter, 100), 0);
	CHECK_EQ(verbs.inc_err(counter, 7), 0);
	expect(counter, 100, 7);
	CHECK_EQ(values[0], 100);
	CHECK_EQ(values[1], 7);
	CHECK_EQ(verbs.destroy(counter), 0);

	expect_refused(&where, offsetof(struct efadv_comp_cntr_init_attr, err_cntr_ext_mem), EINVAL);
	where.comp_cntr_ext_mem.type = EFADV_MEMORY_LOCATION_DMABUF + 1;
	expect_refused(&where, sizeof(where), EOPNOTSUPP);
	where.comp_cntr_ext_mem.type = EFADV_MEMORY_LOCATION_VA;
	where.flags |= 4;
	expect_refused(&where, sizeof(where), EOPNOTSUPP);
	where.flags = IN_MEMORY;
	where.comp_mask = 1;
	expect_refused(&where, sizeof(where), EOPNOTSUPP);
	where.comp_mask = 0;
	where.comp_cntr_ext_mem.ptr += 4;
	expect_refused(&where, sizeof(where), EINVAL);
}

/* as that of a GPU may be: who asks for the numbers is told that they are not to be had, and they are there */
EFA_TEST(f31_in_memory_that_the_processor_does_not_see)
{
	struct memory *memory = memory_scattered(1, 1);
	volatile uint64_t *values = (void *)memory->base;
	struct efadv_comp_cntr_init_attr where = { .flags = IN_MEMORY };
	struct counter *counter;
	uint64_t value = 4711;
	const char *why;
	int fd;

	need_external_memory();
	fd = memory_dmabuf(memory, memory->size, &why);
	if (fd < 0)
		SKIP(why);
	where.comp_cntr_ext_mem = (struct efadv_memory_location){
		.dmabuf = { .offset = 64, .fd = fd }, .type = EFADV_MEMORY_LOCATION_DMABUF,
	};
	where.err_cntr_ext_mem = where.comp_cntr_ext_mem;
	where.err_cntr_ext_mem.dmabuf.offset = 128;
	counter = counter_in(&where, sizeof(where));
	close(fd);
	REQUIRE(counter);
	CHECK_EQ(verbs.set(counter, 100), 0);
	CHECK_EQ(verbs.set_err(counter, 7), 0);
	CHECK_EQ(verbs.read(counter, &value), EOPNOTSUPP);
	CHECK_EQ(verbs.read_err(counter, &value), EOPNOTSUPP);
	CHECK_EQ(value, 4711);
	CHECK_EQ(values[8], 100);
	CHECK_EQ(values[16], 7);
	CHECK_EQ(verbs.destroy(counter), 0);
	CHECK_EQ(live(), 0);
}

/* ---- how many ------------------------------------------------------------------------------ */

/* at the limit those that are there work on, and one that goes makes room for one */
EFA_TEST(f32_as_many_as_promised)
{
	enum { ALL = 64 };
	struct counter *counters[ALL];

	need_counters();
	for (int i = 0; i < ALL; i++)
		counters[i] = counter_new(self);
	CHECK_EQ(live(), 2 * ALL);
	for (int round = 0; round < 2; round++) {
		CHECK(!counter_try());
		CHECK_EQ(errno, ENOMEM);
		CHECK_EQ(live(), 2 * ALL);
		for (int i = 0; i < ALL; i++)
			CHECK_EQ(verbs.set(counters[i], 10 * round + i), 0);
		for (int i = 0; i < ALL; i++)
			expect(counters[i], 10 * round + i, 0);
		CHECK_EQ(verbs.destroy(counters[17]), 0);
		counters[17] = counter_new(self);
	}
	for (int i = 0; i < ALL; i++)
		CHECK_EQ(verbs.destroy(counters[i]), 0);
	CHECK_EQ(live(), 0);
}

static void take_all_and_die(void *unused)
{
	struct ibv_context *context = ibv_open_device(self->device);

	(void)unused;
	REQUIRE(context);
	while (verbs.create(context, &(struct counter_init){}))
		;
	CHECK_EQ(errno, ENOMEM);
	fflush(stdout);
	_exit(tap.failures ? 1 : 0);
}

EFA_TEST(f32_process_dies_with_all)
{
	struct model_stats before;

	need_counters();
	model_stats(self->model, &before);
	child_end(child_start(take_all_and_die, NULL));
	adapter_expect_objects(self, &before);
	CHECK_EQ(live(), 0);
	CHECK_EQ(verbs.destroy(counter_new(self)), 0);
}

/* Nothing is left of half a counter, or of half an attachment. */
EFA_TEST(the_device_refuses)
{
	const struct endpoint_options options = { .state = ENDPOINT_RESET };
	struct counter_attach attr = { .op_mask = OP_SEND };
	struct endpoint *endpoint;
	struct counter *counter;

	need_counters();
	for (int nth = 1; nth <= 2; nth++) {
		model_ask(self->model, "inject op=create_counter nth=%d action=fail status=1", nth);
		CHECK(!counter_try());
		CHECK_EQ(errno, ENOMEM);
		CHECK_EQ(live(), 0);
	}
	counter = counter_new(self);
	endpoint = endpoint_new(self, &options);
	for (int nth = 1; nth <= 2; nth++) {
		model_ask(self->model, "inject op=attach_counter nth=%d action=fail status=5", nth);
		CHECK_EQ(verbs.attach(endpoint->qp, counter, &attr), EINVAL);
	}
	CHECK_EQ(verbs.attach(endpoint->qp, counter, &attr), 0);
	CHECK_EQ(endpoint_destroy(endpoint), 0);
	/* it is asked again */
	for (int nth = 1; nth <= 2; nth++) {
		model_ask(self->model, "inject op=destroy_counter nth=%d action=fail status=7", nth);
		CHECK_EQ(verbs.destroy(counter), 0);
		CHECK_EQ(live(), 0);
		counter = counter_new(self);
	}
	CHECK_EQ(verbs.destroy(counter), 0);
}

static int rebind(void *unused)
{
	(void)unused;
	driver_rebind();
	return 0;
}

/*
 * An adapter that does not let go of one is stopped, whoever asks; also when it is the kernel, for somebody who is no
 * more: it would count on in memory of others, and the kernel warn (klog).
 */
EFA_TEST(the_device_keeps_one)
{
	struct ibv_context *context;
	struct counter *counter;

	need_counters();
	lab_drop_all();
	for (int asked = 0; asked <= 1; asked++) {
		lab_hold(rebind, &verbs);
		context = ibv_open_device(self->device);
		LAB_NEED(context, "opening the adapter: %s", strerror(errno));
		counter = verbs.create(context, &(struct counter_init){});
		LAB_NEED(counter, "creating a completion counter: %s", strerror(errno));
		model_ask(self->model, "inject op=destroy_counter count=2 action=fail status=7");
		if (asked)
			CHECK_EQ(verbs.destroy(counter), 0);
		CHECK_EQ(ibv_close_device(context), 0);
		CHECK(async_next_is(self, IBV_EVENT_DEVICE_FATAL, PATIENCE_MS));
		CHECK_EQ(live(), 0);
		CHECK(!counter_try());
		lab_drop_all();
		CHECK_EQ(verbs.destroy(counter_new(self)), 0);
	}
}

/* An adapter that has the commands, but no counters for them. */
EFA_TEST(no_promise_without_counters)
{
	enum { QUEUE_ATTR_2 = 9 };	/* the feature which tells how many there are */
	unsigned long long features;
	char text[32];

	need_counters();
	lab_drop_all();
	lab_hold(rebind, &verbs);
	features = strtoull(model_ask(self->model, "get features"), NULL, 0);
	snprintf(text, sizeof(text), "%llu", features & ~(1ull << QUEUE_ATTR_2));
	model_set(self->model, "features", text);
	driver_rebind();
	CHECK(!(raw_new(self)->device.device_caps & DVQ_EFA_DEVICE_COMP_CNTR));
	CHECK(!counter_try());
	CHECK(errno == EOPNOTSUPP || errno == EPROTONOSUPPORT);
}

EFA_TEST_MAIN
