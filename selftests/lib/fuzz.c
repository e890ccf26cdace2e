// SPDX-License-Identifier: GPL-2.0
/* Worlds, random numbers, and how a call is spoilt and made. The calls are in fuzz_calls.c. */
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"
#include "lab.h"

/* ---- random numbers -------------------------------------------- */

/* splitmix64: any seed is as good as any other */
uint64_t fuzz_random(struct fuzzer *fuzzer)
{
	uint64_t z = fuzzer->random += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint64_t of_width(uint64_t value, unsigned int bytes)
{
	return bytes < 8 ? value & ((1ull << bytes * 8) - 1) : value;
}

uint64_t fuzz_value(struct fuzzer *fuzzer, unsigned int bytes, uint64_t old)
{
	unsigned int bit = fuzz_below(fuzzer, bytes * 8);

	switch (fuzz_below(fuzzer, 8)) {
	case 0:
		return 0;
	case 1:
		return of_width(~0ull, bytes);
	case 2:
		return of_width((1ull << bit) - 1 + fuzz_below(fuzzer, 3), bytes);
	case 3:
		return old ^ 1ull << bit;
	case 4:
		return of_width(old + fuzz_below(fuzzer, 9) - 4, bytes);
	case 5:
		return of_width(old << fuzz_below(fuzzer, 9), bytes);
	case 6:
		return fuzz_below(fuzzer, 64);
	default:
		return of_width(fuzz_random(fuzzer), bytes);
	}
}

uint64_t fuzz_bad_address(struct fuzzer *fuzzer)
{
	const uint64_t end = (uintptr_t)fuzzer->scratch + FUZZ_SCRATCH;
	const uint64_t addresses[] = {
		0, 8, end, end - 1, end - 4, end - 8, end - fuzz_below(fuzzer, 64),
		(uintptr_t)fuzzer->scratch + FUZZ_READ_ONLY, FUZZ_MEMORY + FUZZ_MEMORY_SIZE - 8,
		1ull << 47, (1ull << 47) - 4096, 1ull << 63, 0xffff888000000000, 0xffffffff81000000,
		0xffffffffff600000, ~0ull, ~0ull - 7,
	};

	return addresses[fuzz_below(fuzzer, sizeof(addresses) / sizeof(addresses[0]))];
}

void *fuzz_buffer(struct fuzzer *fuzzer, size_t size)
{
	uint8_t *at = fuzzer->scratch + fuzzer->used;

	fuzzer->used += (size + FUZZ_BUFFER + 7) & ~7ul;
	LAB_NEED(fuzzer->used <= FUZZ_WRITTEN, "too much in one request");
	memset(at, 0, size + FUZZ_BUFFER);
	return at;
}

/* ---- objects -------------------------------------------- */

static bool has_room(enum fuzz_kind kind, unsigned int count)
{
	return count < (kind == FUZZ_PD ? FUZZ_POOL / 4 : FUZZ_POOL);
}

bool fuzz_is_full(const struct fuzzer *fuzzer, enum fuzz_kind kind)
{
	return !has_room(kind, fuzzer->world->count[kind]);
}

bool fuzz_pick(struct fuzzer *fuzzer, enum fuzz_kind kind, struct fuzz_object *object)
{
	struct fuzz_world *world = fuzzer->world;
	uint32_t random = fuzz_random(fuzzer);
	unsigned int count;

	pthread_mutex_lock(&world->lock);
	count = world->count[kind];
	/* Most is made on the first PD, so that others can go. */
	if (kind == FUZZ_PD && random & 7)
		random = 0;
	if (count)
		*object = world->live[kind][random % count];
	pthread_mutex_unlock(&world->lock);
	if (!count)
		*object = (struct fuzz_object) { .name = fuzz_below(fuzzer, 4) };
	return count;
}

bool fuzz_pick_last(struct fuzzer *fuzzer, enum fuzz_kind kind, struct fuzz_object *object)
{
	struct fuzz_world *world = fuzzer->world;
	unsigned int count;

	pthread_mutex_lock(&world->lock);
	count = world->count[kind];
	if (count)
		*object = world->live[kind][count - 1];
	pthread_mutex_unlock(&world->lock);
	return count;
}

void fuzz_keep(struct fuzzer *fuzzer, enum fuzz_kind kind, const struct fuzz_object *object)
{
	struct fuzz_world *world = fuzzer->world;
	uint32_t random = fuzz_random(fuzzer);

	pthread_mutex_lock(&world->lock);
	if (world->count[kind] < FUZZ_POOL)
		world->live[kind][world->count[kind]++] = *object;
	else if (kind == FUZZ_KEY)
		world->live[kind][random % FUZZ_POOL] = *object;
	pthread_mutex_unlock(&world->lock);
}

/* with the lock held */
static struct fuzz_object *find(struct fuzz_world *world, enum fuzz_kind kind, uint64_t name)
{
	for (unsigned int i = 0; i < world->count[kind]; i++)
		if (world->live[kind][i].name == name)
			return &world->live[kind][i];
	return NULL;
}

static void drop(struct fuzz_world *world, enum fuzz_kind kind, struct fuzz_object *object)
{
	world->dead[kind] = object->name;
	*object = world->live[kind][--world->count[kind]];
}

bool fuzz_forget(struct fuzzer *fuzzer, enum fuzz_kind kind, uint64_t name,
		 struct fuzz_object *object)
{
	struct fuzz_world *world = fuzzer->world;
	struct fuzz_object *found;

	pthread_mutex_lock(&world->lock);
	found = find(world, kind, name);
	if (found && object)
		*object = *found;
	if (found)
		drop(world, kind, found);
	pthread_mutex_unlock(&world->lock);
	return found;
}

void fuzz_set_state(struct fuzzer *fuzzer, uint64_t qp, uint8_t state)
{
	struct fuzz_world *world = fuzzer->world;
	struct fuzz_object *object;

	pthread_mutex_lock(&world->lock);
	object = find(world, FUZZ_QP, qp);
	if (object)
		object->state = state;
	pthread_mutex_unlock(&world->lock);
}

bool fuzz_take(struct fuzzer *fuzzer, enum fuzz_kind kind, struct fuzz_object *object)
{
	struct fuzz_world *world = fuzzer->world;
	uint32_t random = fuzz_random(fuzzer);
	struct fuzz_object *taken;
	bool any;

	pthread_mutex_lock(&world->lock);
	any = world->count[kind];
	if (any) {
		taken = &world->live[kind][random % world->count[kind]];
		*object = *taken;
		drop(world, kind, taken);
	}
	pthread_mutex_unlock(&world->lock);
	return any;
}

/* ---- how a call is spoilt -------------------------------------------- */

static void spoil_bytes(struct fuzzer *fuzzer, uint8_t *at, size_t first, size_t len)
{
	const unsigned int bytes = 1u << fuzz_below(fuzzer, 4);
	uint64_t value = 0;
	size_t place;

	if (len < first + bytes)
		return;
	place = first + fuzz_below(fuzzer, (len - first) / bytes) * bytes;
	memcpy(&value, at + place, bytes);
	value = bytes == 8 && fuzz_one_in(fuzzer, 4) ? fuzz_bad_address(fuzzer) :
		fuzz_value(fuzzer, bytes, value);
	memcpy(at + place, &value, bytes);
}

static void spoil_length(struct fuzzer *fuzzer, struct fuzz_data *data)
{
	const size_t old = data->len;

	if (!data->at)
		data->at = fuzz_buffer(fuzzer, 0);
	data->len = fuzz_one_in(fuzzer, 2) ? fuzz_below(fuzzer, 128) :
		    of_width(old + fuzz_below(fuzzer, 17) - 8, 2) % FUZZ_BUFFER;
	/* something behind what the kernel knows */
	if (data->len > old && fuzz_one_in(fuzzer, 2))
		data->at[old + fuzz_below(fuzzer, data->len - old)] = fuzz_random(fuzzer);
}

static void spoil_old_data(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	uint8_t kept[64];
	const size_t size = call->kept_end - call->kept;
	const bool keep = size && size <= sizeof(kept) && !fuzz_one_in(fuzzer, 512);

	if (keep)
		memcpy(kept, call->in.at + call->kept, size);
	spoil_bytes(fuzzer, call->in.at, call->answers ? 8 : 0, call->in.len);
	if (keep)
		memcpy(call->in.at + call->kept, kept, size);
}

/* before it becomes attributes or words */
static void spoil_data(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	switch (fuzz_below(fuzzer, 8)) {
	case 0:
	case 1:
	case 2:
		if (call->old)
			spoil_old_data(fuzzer, call);
		else
			spoil_bytes(fuzzer, call->driver_in.at, 0, call->driver_in.len);
		break;
	case 3:
	case 4:
		spoil_bytes(fuzzer, call->driver_in.at, 0, call->driver_in.len);
		break;
	case 5:
		spoil_length(fuzzer, &call->driver_in);
		break;
	case 6:
		spoil_length(fuzzer, &call->driver_out);
		break;
	default:
		if (call->old)
			spoil_length(fuzzer, fuzz_one_in(fuzzer, 2) ? &call->in : &call->out);
	}
}

static bool is_scratch(const struct fuzzer *fuzzer, uint64_t address)
{
	return address - (uintptr_t)fuzzer->scratch < FUZZ_WRITTEN;
}

static void spoil_attr(struct fuzzer *fuzzer, struct ib_uverbs_attr *attr)
{
	switch (fuzz_below(fuzzer, 10)) {
	case 0:
		attr->attr_id = fuzz_one_in(fuzzer, 2) ? attr->attr_id ^ DVQ_ID_NS :
				fuzz_value(fuzzer, 2, attr->attr_id);
		break;
	case 1:
	case 2:
		attr->len = fuzz_value(fuzzer, 2, attr->len);
		break;
	case 3:
		attr->flags = fuzz_value(fuzzer, 2, attr->flags);
		break;
	case 4:
		attr->attr_data.reserved = fuzz_value(fuzzer, 2, 0);
		break;
	case 5:
		attr->data = fuzz_bad_address(fuzzer);
		break;
	default:
		if (attr->len > 8 && is_scratch(fuzzer, attr->data))
			spoil_bytes(fuzzer, (uint8_t *)(uintptr_t)attr->data, 0,
				    attr->len % FUZZ_BUFFER);
		else
			attr->data =
				fuzz_value(fuzzer, attr->len && attr->len < 8 ? 4 : 8, attr->data);
	}
}

static void drop_attr(struct uv_call *uv, unsigned int n)
{
	uv->hdr.num_attrs--;
	memmove(&uv->attr[n], &uv->attr[n + 1], (uv->hdr.num_attrs - n) * sizeof(uv->attr[0]));
}

static void add_attr(struct fuzzer *fuzzer, struct uv_call *uv)
{
	const unsigned int len = fuzz_below(fuzzer, 200);
	uint8_t *at = fuzz_buffer(fuzzer, len);
	struct ib_uverbs_attr *attr = uv_out(uv, 0, at, len);

	if (fuzz_one_in(fuzzer, 2))
		attr->flags = 0;
	if (len && fuzz_one_in(fuzzer, 2))
		at[fuzz_below(fuzzer, len)] = fuzz_random(fuzzer);
	switch (fuzz_below(fuzzer, 4)) {
	case 0:
		attr->attr_id = UVERBS_ATTR_UHW_IN;
		break;
	case 1:
		attr->attr_id = UVERBS_ATTR_UHW_OUT;
		break;
	case 2:
		attr->attr_id = DVQ_ID_NS + fuzz_below(fuzzer, 6);
		break;
	default:
		attr->attr_id = fuzz_below(fuzzer, 20);
		attr->data = fuzz_value(fuzzer, 4, 0);
		attr->len = 0;
	}
}

static void spoil_header(struct fuzzer *fuzzer, struct uv_call *uv)
{
	struct ib_uverbs_ioctl_hdr *hdr = &uv->hdr;

	switch (fuzz_below(fuzzer, 7)) {
	case 0:
		hdr->object_id = fuzz_value(fuzzer, 2, hdr->object_id);
		break;
	case 1:
		hdr->method_id = fuzz_value(fuzzer, 2, hdr->method_id);
		break;
	case 2:
		hdr->num_attrs = fuzz_value(fuzzer, 2, hdr->num_attrs);
		break;
	case 3:
		hdr->reserved1 = fuzz_value(fuzzer, 8, 0);
		break;
	case 4:
		hdr->driver_id = fuzz_below(fuzzer, 24);
		break;
	case 5:
		hdr->reserved2 = fuzz_value(fuzzer, 4, 0);
		break;
	default:
		hdr->length = fuzz_value(fuzzer, 2, sizeof(*hdr) +
					 hdr->num_attrs * sizeof(uv->attr[0]));
	}
	/*
	 * Linux 7.2 leaks a reference to the calling task when that fails after its attributes
	 * were found right, as it does on a file that has a context.
	 */
	if (hdr->object_id == UVERBS_OBJECT_DEVICE && hdr->method_id == UVERBS_METHOD_GET_CONTEXT)
		hdr->method_id = UVERBS_METHOD_QUERY_CONTEXT;
}

static void spoil_uv(struct fuzzer *fuzzer, struct uv_call *uv)
{
	const unsigned int n = uv->hdr.num_attrs;
	unsigned int one = n ? fuzz_below(fuzzer, n) : 0;

	if (n > UV_ATTRS)
		return;
	switch (fuzz_below(fuzzer, 12)) {
	case 0:
		if (n)
			drop_attr(uv, one);
		break;
	case 1:
		if (n && n < UV_ATTRS)
			uv->attr[uv->hdr.num_attrs++] = uv->attr[one];
		break;
	case 2:
		if (n < UV_ATTRS)
			add_attr(fuzzer, uv);
		break;
	case 3:
		spoil_header(fuzzer, uv);
		break;
	default:
		if (n)
			spoil_attr(fuzzer, &uv->attr[one]);
	}
}

/* ---- how a call is made -------------------------------------------- */

static void add_data(struct uv_call *uv, uint16_t in, uint16_t out, const struct fuzz_data *from,
		     const struct fuzz_data *to)
{
	if (from->len)
		uv_in(uv, in, from->at, from->len);
	if (to->len)
		uv_out(uv, out, to->at, to->len);
}

/* an old command by the new interface */
static void to_uv(struct fuzz_call *call)
{
	uint64_t number = call->command;

	if (call->old) {
		uv_start(&call->uv, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
		uv_in(&call->uv, UVERBS_ATTR_WRITE_CMD, &number, sizeof(number));
		add_data(&call->uv, UVERBS_ATTR_CORE_IN, UVERBS_ATTR_CORE_OUT, &call->in,
			 &call->out);
	}
	add_data(&call->uv, UVERBS_ATTR_UHW_IN, UVERBS_ATTR_UHW_OUT, &call->driver_in,
		 &call->driver_out);
}

static int run_uv(struct fuzzer *fuzzer, int fd, struct uv_call *uv)
{
	const size_t attrs = uv->hdr.num_attrs < UV_ATTRS ? uv->hdr.num_attrs : UV_ATTRS;
	const size_t size = sizeof(uv->hdr) + attrs * sizeof(uv->attr[0]);
	/* at the end of the mapping: what a wrong length reads behind it is not there */
	uint8_t *at = fuzzer->scratch + FUZZ_SCRATCH - size;
	int err;

	if (!uv->hdr.length)
		uv->hdr.length = size;
	memcpy(at, uv, size);
	err = ioctl(fd, RDMA_VERBS_IOCTL, at) ? errno : 0;
	memcpy(uv, at, size);
	return err;
}

/* an old command by the old interface: everything in one piece, lengths in words */
struct written {
	struct ib_uverbs_cmd_hdr hdr;
	uint8_t data[];
};

static size_t put(uint8_t *to, size_t at, const struct fuzz_data *data, size_t word)
{
	const size_t len = (data->len + word - 1) & ~(word - 1);

	if (data->len)
		memcpy(to + at, data->at, len);
	return at + len;
}

static int run_old(struct fuzzer *fuzzer, int fd, const struct fuzz_call *call, bool spoil)
{
	const bool extended = call->command & IB_USER_VERBS_CMD_FLAG_EXTENDED;
	struct written *written = (struct written *)(fuzzer->scratch + FUZZ_WRITTEN);
	uint8_t *answer = fuzzer->scratch + FUZZ_ANSWER;
	struct ib_uverbs_ex_cmd_hdr ex = { .response = (uintptr_t)answer };
	const size_t word = extended ? 8 : 4;
	size_t len = extended ? sizeof(ex) : 0;
	const size_t outs = (call->out.len + word - 1) / word;
	const size_t driver_outs = (call->driver_out.len + word - 1) / word;
	int err;

	memset(answer, 0, 2 * FUZZ_BUFFER);
	written->hdr.command = call->command;
	len = put(written->data, len, &call->in, word);
	if (call->answers && call->in.len >= 8)
		memcpy(written->data, &ex.response, sizeof(ex.response));
	if (extended) {
		written->hdr.in_words = (len - sizeof(ex)) / word;
		written->hdr.out_words = outs;
		ex.provider_in_words = (call->driver_in.len + word - 1) / word;
		ex.provider_out_words = driver_outs;
		if (!outs && !driver_outs)
			ex.response = 0;
		memcpy(written->data, &ex, sizeof(ex));
		len = put(written->data, len, &call->driver_in, word);
	} else {
		len = put(written->data, len, &call->driver_in, word);
		written->hdr.in_words = (sizeof(written->hdr) + len) / word;
		written->hdr.out_words = outs + driver_outs;
	}
	len += sizeof(written->hdr);
	if (spoil)
		spoil_bytes(fuzzer, (uint8_t *)written, 0,
			    fuzz_one_in(fuzzer, 2) || !extended ? 8 : 8 + sizeof(ex));
	if (spoil && fuzz_one_in(fuzzer, 4))
		len = fuzz_value(fuzzer, 2, len);
	err = write(fd, written, len) < 0 ? errno : 0;
	memcpy(call->out.at, answer, call->out.len);
	if (call->driver_out.at)
		memcpy(call->driver_out.at, answer + outs * word, call->driver_out.len);
	return err;
}

int fuzz_issue(struct fuzzer *fuzzer, int fd, struct fuzz_call *call)
{
	unsigned int spoils = fuzz_one_in(fuzzer, 4) ? 0 : 1 + fuzz_one_in(fuzzer, 4);
	bool written;

	call->spoilt = spoils || fuzzer->world->shared;

	if (!call->out.at)
		call->out.at = fuzz_buffer(fuzzer, 0);
	for (; spoils && fuzz_one_in(fuzzer, 2); spoils--)
		spoil_data(fuzzer, call);
	written = call->old && fuzz_one_in(fuzzer, 2);
	if (written)
		return run_old(fuzzer, fd, call, spoils);
	to_uv(call);
	for (; spoils; spoils--)
		spoil_uv(fuzzer, &call->uv);
	return run_uv(fuzzer, fd, &call->uv);
}

int fuzz_issue_whole(struct fuzzer *fuzzer, int fd, struct fuzz_call *call)
{
	if (!call->out.at)
		call->out.at = fuzz_buffer(fuzzer, 0);
	to_uv(call);
	return run_uv(fuzzer, fd, &call->uv);
}

int fuzz_open_node(const struct adapter *adapter)
{
	char path[128];

	snprintf(path, sizeof(path), "/dev/infiniband/%.64s", adapter->device->dev_name);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* ---- fuzzers -------------------------------------------- */

static uint8_t *map_at(uint64_t address, size_t size, int prot, int flags, int fd)
{
	void *at = mmap((void *)(uintptr_t)address, size, prot, flags | MAP_FIXED_NOREPLACE, fd, 0);

	LAB_NEED(at == (void *)(uintptr_t)address, "cannot map memory at 0x%llx: %s",
		 (unsigned long long)address, strerror(errno));
	return at;
}

void fuzzer_init(struct fuzzer *fuzzer, struct fuzz_world *world, unsigned int lane, uint64_t seed)
{
	const uint64_t address = FUZZ_SCRATCHES + lane * FUZZ_LANE;

	*fuzzer = (struct fuzzer) {
		.world = world, .lane = &world->tally->lane[lane],
		.random = seed * FUZZ_LANES + lane,
	};
	fuzzer->scratch = map_at(address, FUZZ_SCRATCH, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1);
	map_at(address + FUZZ_READ_ONLY, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	memset(fuzzer->scratch, 0, FUZZ_SCRATCH);
}

static bool kernel_is_new(void)
{
	static int new = -1;
	unsigned int major = 0, minor = 0;
	struct utsname name;

	if (new < 0) {
		uname(&name);
		sscanf(name.release, "%u.%u", &major, &minor);
		new = major * 1000 + minor >= 7002;
	}
	return new;
}

bool fuzz_can_succeed(const struct adapter *adapter, const struct fuzz_type *type)
{
	unsigned int never = adapter->kind == ADAPTER_EFA ? FUZZ_NOT_EFA : FUZZ_NOT_IONIC;

	if (!kernel_is_new())
		never |= FUZZ_NEW;
	else if (adapter->kind == ADAPTER_EFA)
		never |= FUZZ_KERNEL_CQS;
	return !(type->flags & never);
}

static const struct fuzz_type *any_type(struct fuzzer *fuzzer)
{
	static unsigned int sum;
	unsigned int left;

	if (!sum) {
		unsigned int weights = 0;

		for (unsigned int i = 0; i < fuzz_types_count; i++)
			weights += fuzz_types[i].weight;
		sum = weights;
	}
	left = fuzz_below(fuzzer, sum);
	for (const struct fuzz_type *type = fuzz_types;; type++) {
		if (left < type->weight)
			return type;
		left -= type->weight;
	}
}

/* one that makes, or one that ends, objects of a kind; NULL: no call does */
static const struct fuzz_type *type_for(struct fuzzer *fuzzer, enum fuzz_kind kind, bool end)
{
	const struct fuzz_type *found = NULL;
	unsigned int count = 0;

	for (unsigned int i = 0; i < fuzz_types_count; i++) {
		const struct fuzz_type *type = &fuzz_types[i];

		if ((end ? type->ends : type->makes) == FUZZ_OF(kind) &&
		    fuzz_can_succeed(fuzzer->world->adapter, type) && fuzz_one_in(fuzzer, ++count))
			found = type;
	}
	return found;
}

/* Neither too few objects nor too many. */
static const struct fuzz_type *choose(struct fuzzer *fuzzer)
{
	const struct fuzz_type *type, *other;

	do
		type = any_type(fuzzer);
	while (type->flags & FUZZ_DEVICE_HEARS && !fuzz_one_in(fuzzer, fuzzer->world->thin));
	for (unsigned int i = 0; i < 4; i++) {
		if (fuzz_one_in(fuzzer, 16))
			break;
		if (type->needs && !fuzzer->world->count[type->needs - 1])
			other = type_for(fuzzer, type->needs - 1, false);
		else if (type->makes && fuzz_is_full(fuzzer, type->makes - 1))
			other = type_for(fuzzer, type->makes - 1, true);
		else
			break;
		if (!other)
			break;
		type = other;
	}
	return type;
}

static void count_whole(struct fuzzer *fuzzer, const struct fuzz_type *type)
{
	atomic_fetch_add_explicit(&fuzzer->world->tally->whole[type - fuzz_types], 1,
				  memory_order_relaxed);
}

/* 0 or an errno */
static int step(struct fuzzer *fuzzer, const struct fuzz_type *type, bool whole)
{
	struct fuzz_call call = {};
	int err;

	fuzzer->used = 0;
	if (type->run) {
		err = type->run(fuzzer);
		if (!err)
			count_whole(fuzzer, type);
		return err;
	}
	type->build(fuzzer, &call);
	err = whole ? fuzz_issue_whole(fuzzer, fuzzer->world->fd, &call) :
	      fuzz_issue(fuzzer, fuzzer->world->fd, &call);
	if (!err && !call.spoilt)
		count_whole(fuzzer, type);
	if (!err && type->done)
		type->done(fuzzer, &call);
	return err;
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ull + now.tv_nsec / 1000;
}

static void count_time(struct fuzz_tally *tally, unsigned int type, uint64_t us)
{
	atomic_fetch_add_explicit(&tally->time[type], us, memory_order_relaxed);
	if (us > atomic_load_explicit(&tally->longest[type], memory_order_relaxed))
		atomic_store_explicit(&tally->longest[type], us, memory_order_relaxed);
}

static int step_counted(struct fuzzer *fuzzer, const struct fuzz_type *type, bool whole)
{
	struct fuzz_lane *lane = fuzzer->lane;
	const uint64_t number = atomic_load_explicit(&lane->calls, memory_order_relaxed);
	const unsigned int index = type - fuzz_types;
	const uint64_t begin = now_us();
	int err;

	atomic_store_explicit(&lane->type, index, memory_order_relaxed);
	lane->history[number % FUZZ_HISTORY] = index;
	atomic_store_explicit(&lane->since, begin / 1000, memory_order_relaxed);
	err = step(fuzzer, type, whole);
	atomic_store_explicit(&lane->since, 0, memory_order_relaxed);
	atomic_store_explicit(&lane->calls, number + 1, memory_order_relaxed);
	count_time(fuzzer->world->tally, index, now_us() - begin);
	atomic_fetch_add_explicit(&fuzzer->world->tally->result[index][err < FUZZ_ERRNOS ? err : 0],
				  1, memory_order_relaxed);
	if (fuzzer->trace)
		dprintf(2, "# lane %td call %llu: %s: %s\n", lane - fuzzer->world->tally->lane,
			(unsigned long long)number, type->name, err ? strerror(err) : "ok");
	return err;
}

void fuzzer_run(struct fuzzer *fuzzer, uint64_t calls)
{
	while (calls--)
		step_counted(fuzzer, choose(fuzzer), false);
}

/* Not the ioctl's own struct, see spoil_header(); the core has but one look at it anyway. */
void fuzzer_scribble(struct fuzzer *fuzzer, const atomic_bool *stop)
{
	while (!atomic_load(stop)) {
		const uint64_t lane = fuzz_below(fuzzer, FUZZ_SCRIBBLED);
		volatile uint8_t *scratch =
			(uint8_t *)(uintptr_t)(FUZZ_SCRATCHES + lane * FUZZ_LANE);
		unsigned int place = fuzz_below(fuzzer, 4096);

		if (fuzz_one_in(fuzzer, 4))
			place = FUZZ_WRITTEN + place % 256;
		scratch[place] ^= 1u << fuzz_below(fuzzer, 8);
		if (fuzz_one_in(fuzzer, 16))
			usleep(50);
	}
}

/* ---- worlds -------------------------------------------- */

static void get_context(struct fuzz_world *world)
{
	const struct dvq_efa_ucontext_req efa_req = {
		.supported_caps = DVQ_EFA_USER_TX_BATCH | DVQ_EFA_USER_MIN_SQ_WR,
	};
	const struct dvq_ionic_ctx_req req = {};
	struct dvq_ionic_ctx_resp resp;
	int err;

	if (world->adapter->kind == ADAPTER_EFA) {
		err = uv_get_context(world->fd,
				     &(struct uv_data) { &efa_req, sizeof(efa_req), &world->efa,
							 sizeof(world->efa) });
	} else {
		err = uv_get_context(world->fd, &(struct uv_data) { &req, sizeof(req), &resp,
								    sizeof(resp) });
		world->live[FUZZ_KEY][0] = (struct fuzz_object) {
			.name = resp.dbell_offset & ~4095ull,
			.length = 4096,
			.memory = FUZZ_REGISTERS,
		};
		world->count[FUZZ_KEY] = 1;
	}
	LAB_NEED(!err, "GET_CONTEXT: %s", strerror(-err));
}

/* high numbers, so that nobody closes them by mistake */
static int out_of_reach(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, FUZZ_FIRST_OWN_FD);

	LAB_NEED(high >= 0, "F_DUPFD: %s", strerror(errno));
	close(fd);
	return high;
}

static int memory_of(size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	LAB_NEED(fd >= 0 && !ftruncate(fd, (off_t)size), "memfd: %s", strerror(errno));
	return fd;
}

/*
 * Of other pages than rings and regions by address: udmabuf maps with other attributes than the RDMA core, and DMA-API
 * debugging takes two mappings of a page that differ in no more for one another.
 */
static void get_dmabufs(struct fuzz_world *world)
{
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	int memfd = memory_of(FUZZ_DMABUFS * FUZZ_DMABUF_SIZE);

	fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK);
	for (unsigned int i = 0; i < FUZZ_DMABUFS; i++) {
		struct udmabuf_create create = {
			.memfd = memfd, .flags = UDMABUF_FLAGS_CLOEXEC,
			.offset = i * FUZZ_DMABUF_SIZE, .size = FUZZ_DMABUF_SIZE,
		};
		int fd = device < 0 ? -1 : ioctl(device, UDMABUF_CREATE, &create);

		world->dmabufs[i] = fd < 0 ? -1 : out_of_reach(fd);
	}
	if (device >= 0)
		close(device);
	close(memfd);
}

static void get_memory(struct fuzz_world *world)
{
	int fd = memory_of(FUZZ_MEMORY_SIZE);

	world->memory = map_at(FUZZ_MEMORY, FUZZ_MEMORY_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			       fd);
	close(fd);
	get_dmabufs(world);
}

/* An adapter that has stood what came before still does all this. */
static void make_first(struct fuzz_world *world, uint64_t seed)
{
	static const enum fuzz_kind kinds[] = { FUZZ_PD, FUZZ_CQ, FUZZ_QP, FUZZ_MR, FUZZ_AH };
	struct fuzzer fuzzer;

	fuzzer_init(&fuzzer, world, 0, ~seed);
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		for (unsigned int attempt = 0; !world->count[kinds[i]]; attempt++) {
			const struct fuzz_type *type = type_for(&fuzzer, kinds[i], false);
			int err = step_counted(&fuzzer, type, true);

			LAB_NEED(attempt < 64, "%s, unspoilt: %s", type->name, strerror(err));
		}
	}
	munmap(fuzzer.scratch, FUZZ_SCRATCH);
	munmap(fuzzer.scratch + FUZZ_READ_ONLY, 4096);
}

void fuzz_world_open(struct fuzz_world *world, const struct adapter *adapter,
		     struct fuzz_tally *tally, uint64_t seed)
{
	*world = (struct fuzz_world) { .adapter = adapter, .tally = tally, .thin = 1 };
	pthread_mutex_init(&world->lock, NULL);
	world->fd = out_of_reach(uv_open(adapter));
	world->driver = adapter->kind == ADAPTER_EFA ? RDMA_DRIVER_EFA : 21;
	lab_forget_all();
	get_memory(world);
	get_context(world);
	make_first(world, seed);
}
