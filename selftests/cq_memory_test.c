// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues of EFA in memory of the caller (Linux 7.2): addresses and dma-bufs, in one
 * piece or not, too short, misplaced. What is refused is let go of at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include "lib/efa_test.h"
#include "lib/memory.h"
#include "lib/uverbs.h"

#define ENTRY	32u

/* as in rdma/ib_user_ioctl_cmds.h and ib_user_ioctl_verbs.h of Linux 7.2: this is built with any headers */
enum {
	CQ_BUFFER_VA = UVERBS_ATTR_CREATE_CQ_EVENT_FD + 1,
	CQ_BUFFER_LENGTH,
	CQ_BUFFER_FD,
	CQ_BUFFER_OFFSET,
	CQ_BUF_UMEM,
};

struct buffer_desc {
	uint32_t type;
	int32_t fd;
	uint32_t flags, optional_flags;
	uint64_t addr, length;
};

enum { BUFFER_DMABUF, BUFFER_VA };

/* where a CQ shall be: a dma-buf if @fd is not -1 */
struct place {
	const void *addr;
	int fd;
	uint64_t offset, length;
	bool descriptor;	/* told by struct buffer_desc, not by single attributes */
};

static struct raw *raw_needed(void)
{
	struct raw *raw = raw_new(self);

	need_model();
	if (!(raw->device.device_caps & DVQ_EFA_DEVICE_CQ_WITH_EXT_MEM))
		SKIP("the kernel has no CQs in memory of the caller: 7.2 has");
	return raw;
}

/* entries of a CQ that has @bytes in all */
static uint32_t entries_of(const struct raw *raw, size_t bytes)
{
	return bytes / ENTRY / raw->context.sub_cqs_per_cq;
}

static void add_place(struct uv_call *call, const struct place *place,
		      struct buffer_desc *desc, uint64_t *addr)
{
	*addr = (uintptr_t)place->addr;
	if (place->descriptor) {
		*desc = (struct buffer_desc){
			.type = place->fd < 0 ? BUFFER_VA : BUFFER_DMABUF,
			.fd = place->fd, .addr = place->fd < 0 ? *addr : place->offset,
			.length = place->length,
		};
		uv_in(call, CQ_BUF_UMEM, desc, sizeof(*desc));
		return;
	}
	if (place->fd < 0) {
		uv_in(call, CQ_BUFFER_VA, addr, sizeof(*addr));
	} else {
		uv_handle(call, CQ_BUFFER_FD, place->fd);
		uv_in(call, CQ_BUFFER_OFFSET, &place->offset,
		      sizeof(place->offset));
	}
	uv_in(call, CQ_BUFFER_LENGTH, &place->length, sizeof(place->length));
}

static int create(const struct raw *raw, uint32_t entries, const struct place *place,
		  struct dvq_efa_cq_resp *resp, uint32_t *cq)
{
	struct dvq_efa_cq_req req = raw_cq_req(raw);
	struct uv_data data = { &req, sizeof(req), resp, sizeof(*resp) };
	struct buffer_desc desc;
	struct uv_call call;
	uint64_t addr;
	int err;

	raw_cq_start(&call, entries, &data);
	add_place(&call, place, &desc, &addr);
	err = uv_run(raw->fd, &call);
	*cq = call.attr[0].data;
	return err;
}

/* what dvq tells of it: a ring of the creator's, where he can see it */
static void check_record(const struct raw *raw, uint32_t cq, uint32_t entries,
			 const struct place *place)
{
	struct dvq_cq_info info;
	struct uv_call call;

	memset(&info, 0xee, sizeof(info));
	uv_start(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_CQ);
	uv_handle(&call, DVQ_ATTR_QUERY_CQ_CQ, cq);
	uv_out(&call, DVQ_ATTR_QUERY_CQ_INFO, &info, sizeof(info));
	CHECK_EQ(uv_run(raw->fd, &call), 0);
	CHECK_EQ(info.mem, DVQ_MEM_USER);
	CHECK_EQ(info.entries, entries);
	CHECK_EQ(info.entry_size, ENTRY);
	CHECK_EQ(info.ring_key, 0);
	CHECK_EQ(info.ring_length, 0);
	CHECK_EQ(info.user_addr, place->fd < 0 ? (uintptr_t)place->addr : 0);
}

static uint64_t live_cqs(void)
{
	struct model_stats stats;

	model_stats(self->model, &stats);
	return model_stat(&stats, "cq");
}

/* the number of devices that have a dma-buf attached, of all there are; -1: cannot be known */
static int attachments(void)
{
	FILE *in = fopen("/sys/kernel/debug/dma_buf/bufinfo", "r");
	char line[256];
	int sum = 0, n;

	if (!in && !mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL))
		in = fopen("/sys/kernel/debug/dma_buf/bufinfo", "r");
	if (!in)
		return -1;
	while (fgets(line, sizeof(line), in))
		if (sscanf(line, "Total %d devices attached", &n) == 1)
			sum += n;
	fclose(in);
	return sum;
}

static void expect(const struct raw *raw, const char *what, size_t bytes, const struct place *place,
		   int result)
{
	int attached = attachments();
	uint64_t cqs = live_cqs();
	struct dvq_efa_cq_resp resp = {};
	struct place as = *place;
	uint32_t cq;
	int err;

	for (int i = 0; i < 2; i++) {
		as.descriptor = i;
		err = create(raw, entries_of(raw, bytes), &as, &resp, &cq);
		if (err != result)
			lab_note(__FILE__, __LINE__, "%s%s: %d, wanted %d", what,
				 i ? ", by a descriptor" : "", err, result);
		if (!err) {
			/* the creator knows where it is */
			CHECK_EQ(resp.q_mmap_key, 0);
			CHECK_EQ(resp.q_mmap_size, 0);
			CHECK_EQ(resp.comp_mask, 0);
			check_record(raw, cq, entries_of(raw, bytes), &as);
			CHECK_EQ(live_cqs(), cqs + 1);
			CHECK_EQ(raw_cq_destroy(raw, cq), 0);
		}
		if (live_cqs() != cqs)
			lab_note(__FILE__, __LINE__, "%s: a CQ is left", what);
		if (attachments() != attached)
			lab_note(__FILE__, __LINE__, "%s: %d dma-bufs are attached, before it were %d",
				 what, attachments(), attached);
	}
}

EFA_TEST(f45_at_an_address)
{
	struct raw *raw = raw_needed();
	struct memory *one = memory_plain(4);
	struct place place = { .addr = one->base, .fd = -1, .length = PAGE };

	expect(raw, "a page", PAGE, &place, 0);
	place = (struct place){ .addr = one->base + ENTRY, .fd = -1, .length = PAGE / 4 };
	expect(raw, "the middle of a page", PAGE / 4, &place, 0);
	place.addr = one->base + ENTRY / 2;
	expect(raw, "not a multiple of the entry", PAGE / 4, &place, -EINVAL);
	place = (struct place){ .addr = one->base, .fd = -1, .length = PAGE - 1 };
	expect(raw, "a byte short", PAGE, &place, -EINVAL);
	place.length = 0;
	expect(raw, "nothing", PAGE, &place, -EINVAL);
	place = (struct place){ .addr = (void *)0x1000, .fd = -1, .length = PAGE };
	expect(raw, "where no memory is", PAGE, &place, -EFAULT);
	place.addr = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	expect(raw, "memory that cannot be written", PAGE, &place, -EFAULT);
	munmap((void *)place.addr, PAGE);
}

EFA_TEST(f45_at_addresses_in_pieces)
{
	struct raw *raw = raw_needed();
	struct memory *scattered = memory_scattered(8, 8);
	struct place place = { .addr = scattered->base, .fd = -1, .length = 2 * PAGE };
	const char *why;
	struct memory *huge;

	expect(raw, "two pages apart", 2 * PAGE, &place, -EINVAL);
	huge = memory_huge(2 << 20, &why);
	if (!huge)
		SKIP(why);
	place = (struct place){ .addr = huge->base, .fd = -1, .length = 64 * PAGE };
	expect(raw, "pages that are neighbours", 64 * PAGE, &place, 0);
}

EFA_TEST(f45_in_a_dmabuf)
{
	struct raw *raw = raw_needed();
	struct memory *memory = memory_scattered(8, 8);
	const char *why;
	int fd = memory_dmabuf(memory, 8 * PAGE, &why), file;
	struct place place = { .fd = fd, .length = PAGE };

	if (fd < 0)
		SKIP(why);
	expect(raw, "a page", PAGE, &place, 0);
	place.offset = 3 * PAGE;
	expect(raw, "a page further on", PAGE, &place, 0);
	place = (struct place){ .fd = fd, .offset = ENTRY, .length = PAGE / 2 };
	expect(raw, "the middle of a page", PAGE / 4, &place, 0);
	place.offset = ENTRY / 2;
	expect(raw, "not a multiple of the entry", PAGE / 4, &place, -EINVAL);
	place = (struct place){ .fd = fd, .length = PAGE - 1 };
	expect(raw, "a byte short", PAGE, &place, -EINVAL);
	place = (struct place){ .fd = fd, .length = 2 * PAGE };
	expect(raw, "two pages apart", 2 * PAGE, &place, -EINVAL);
	place = (struct place){ .fd = fd, .offset = 8 * PAGE, .length = PAGE };
	expect(raw, "beyond its end", PAGE, &place, -EINVAL);
	place.offset = 1ull << 63;
	expect(raw, "far beyond its end", PAGE, &place, -EINVAL);
	close(fd);
	place.offset = 0;
	expect(raw, "one that was closed", PAGE, &place, -EBADF);
	file = open("/dev/null", O_RDWR | O_CLOEXEC);
	place.fd = file;
	expect(raw, "a file that is none", PAGE, &place, -EINVAL);
	close(file);
}

/* pages that are neighbours and yet separate entries of the exporter */
EFA_TEST(f45_in_a_dmabuf_of_neighbours)
{
	struct raw *raw = raw_needed();
	const char *why;
	struct memory *huge = memory_huge(2 << 20, &why);
	struct place place;
	int fd;

	if (!huge)
		SKIP(why);
	fd = memory_dmabuf(huge, 2 << 20, &why);
	if (fd < 0)
		SKIP(why);
	place = (struct place){ .fd = fd, .length = 16 * PAGE };
	expect(raw, "sixteen pages", 16 * PAGE, &place, 0);
	close(fd);
}

/* Both ways of telling a place at once, and half of one. */
EFA_TEST(f45_places_that_are_not_clear)
{
	struct raw *raw = raw_needed();
	struct dvq_efa_cq_req req = raw_cq_req(raw);
	struct memory *memory = memory_plain(1);
	uint64_t addr = (uintptr_t)memory->base, length = PAGE, cqs = live_cqs();
	struct dvq_efa_cq_resp resp = {};
	struct uv_data data = { &req, sizeof(req), &resp, sizeof(resp) };
	struct uv_call call;

	/* an address without a length is none: the CQ is the kernel's */
	raw_cq_start(&call, entries_of(raw, PAGE), &data);
	uv_in(&call, CQ_BUFFER_VA, &addr, sizeof(addr));
	if (!uv_run(raw->fd, &call)) {
		CHECK(resp.q_mmap_size >= PAGE);
		CHECK_EQ(raw_cq_destroy(raw, call.attr[0].data), 0);
	}
	raw_cq_start(&call, entries_of(raw, PAGE), UV_IN(&req, sizeof(req)));
	uv_handle(&call, CQ_BUFFER_FD, memory->fd);
	uv_in(&call, CQ_BUFFER_VA, &addr, sizeof(addr));
	uv_in(&call, CQ_BUFFER_LENGTH, &length, sizeof(length));
	CHECK_EQ(uv_run(raw->fd, &call), -EINVAL);
	CHECK_EQ(live_cqs(), cqs);
}

/*
 * The device writes where the creator reads. The library is not given the doorbell of such a CQ, as by
 * the in-tree driver, so the device cannot know of room and must write all the same.
 */
EFA_TEST(f45_completions_arrive_in_a_dmabuf)
{
	struct efadv_cq_init_attr efa = { .flags = EFADV_CQ_INIT_FLAGS_EXT_MEM_DMABUF };
	struct ibv_cq_init_attr_ex attr = { .wc_flags = CQ_WC_FLAGS };
	struct raw *raw = raw_needed();
	struct memory *memory = memory_plain(1);
	struct endpoint_options options = {};
	struct buffer *from, *to;
	struct ibv_cq_ex *ex;
	struct cq cq = { .adapter = self };
	struct duo duo;
	const char *why;
	int fd = memory_dmabuf(memory, PAGE, &why);

	if (fd < 0)
		SKIP(why);
	attr.cqe = entries_of(raw, PAGE);
	efa.ext_mem_dmabuf.buffer = memory->base;
	efa.ext_mem_dmabuf.length = PAGE;
	efa.ext_mem_dmabuf.fd = fd;
	ex = efadv_create_cq(self->context, &attr, &efa, sizeof(efa));
	if (!ex && errno == EOPNOTSUPP &&
	    !adapter_provider_can(self, EFADV_DEVICE_ATTR_CAPS_CQ_WITH_EXT_MEM_DMABUF)) {
		close(fd);
		SKIP("this libefa has no CQs in memory of the caller: a newer one has");
	}
	LAB_NEED(ex, "efadv_create_cq: %s", strerror(errno));
	close(fd);	/* the CQ has the memory */
	model_set(self->model, "cq_overwrite", "1");
	cq.ex = ex;
	cq.cq = ibv_cq_ex_to_cq(ex);
	options.send_cq = &cq;
	duo = duo_new2(&options, &(struct endpoint_options){});
	from = buffer_new(duo.a->pd, 64, 0);
	to = buffer_new(duo.b->pd, 64, IBV_ACCESS_LOCAL_WRITE);
	for (unsigned int i = 0; i < 3 * attr.cqe; i++) {
		struct work work = send_work(&duo.to_b, i, from, 0, 8);
		struct completion completion;

		post_recv_one(duo.b, i, to, 0, 8);
		post_one(duo.a, &work);
		cq_wait(&cq, &completion);
		completion_expect_success(&completion);
		CHECK_EQ(completion.id, i);
		cq_wait_many(duo.b->recv_cq, 1);
	}
	/* what lies there is not zero any more */
	CHECK(memcmp(memory->base, (uint8_t[PAGE]){}, PAGE));
	lab_drop_all();
	CHECK_EQ(ibv_destroy_cq(cq.cq), 0);
}

EFA_TEST_MAIN
