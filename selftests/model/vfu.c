// SPDX-License-Identifier: GPL-2.0
/*
 * The server side of vfio-user as QEMU 11.1 speaks it. A message is a header and
 * a payload in host byte order; descriptors come and go with its first byte.
 *
 * One request is received, done and answered before the next is looked at. The
 * reply is sent before the model lock is released, so nothing that a register
 * write sets off happens before the guest's store has ended. A reply that does
 * not fit into the socket waits, and reading with it.
 *
 * A well-formed request that asks for something impossible gets an error reply.
 * A stream that is no stream of requests is closed: QEMU gets over a closed
 * socket at once, and over a silent one five seconds per access.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine.h"
#include "log.h"
#include "loop.h"
#include "slot.h"
#include "vfu.h"

#define MAX_FDS			16	/* QEMU accepts no larger offer */
#define MAX_TRANSFER		65536	/* bytes of one region access */
#define MAX_PAYLOAD		(MAX_TRANSFER + 16)
#define REQUESTS_PER_TURN	16	/* then other sockets have theirs */

/* QEMU's buffer leaves 194 bytes for it, the end included */
static const char capabilities[] =
	"{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":65536}}";
static_assert(sizeof(capabilities) <= 194, "longer replies end the connection");

enum vfu_command {
	VFU_VERSION = 1,
	VFU_DMA_MAP = 2,
	VFU_DMA_UNMAP = 3,
	VFU_GET_INFO = 4,
	VFU_GET_REGION_INFO = 5,
	VFU_GET_IRQ_INFO = 7,
	VFU_SET_IRQS = 8,
	VFU_REGION_READ = 9,
	VFU_REGION_WRITE = 10,
	VFU_RESET = 13,
	VFU_FEATURE = 16,
};

#define VFU_TYPE	0x0fu
#define VFU_REQUEST	0u
#define VFU_REPLY	1u
#define VFU_NO_REPLY	0x10u
#define VFU_ERROR	0x20u

struct vfu_header {
	uint16_t id;
	uint16_t command;
	uint32_t size;		/* with the header */
	uint32_t flags;
	uint32_t error;
};

struct vfu_version {
	uint16_t major;
	uint16_t minor;
};

#define VFU_DMA_READ	1u
#define VFU_DMA_WRITE	2u

struct vfu_dma_map {
	uint32_t argsz;
	uint32_t flags;
	uint64_t offset;
	uint64_t addr;
	uint64_t len;
};

#define VFU_UNMAP_ALL	2u

struct vfu_dma_unmap {
	uint32_t argsz;
	uint32_t flags;
	uint64_t addr;
	uint64_t len;
};

#define VFU_DEVICE_RESET	1u
#define VFU_DEVICE_PCI		2u

struct vfu_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t regions;
	uint32_t irqs;
};

#define VFU_REGION_CONFIG	7u
#define VFU_REGIONS		9u

#define VFU_REGION_RW		3u
#define VFU_REGION_MMAP		4u
#define VFU_REGION_CAPS		8u

struct vfu_region_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t cap_offset;
	uint64_t size;
	uint64_t offset;
};

#define VFU_CAP_SPARSE_MMAP	1u

struct vfu_sparse_mmap {
	uint16_t id;
	uint16_t version;
	uint32_t next;
	uint32_t areas;
	uint32_t reserved;
};

struct vfu_area {
	uint64_t offset;
	uint64_t length;
};

#define VFU_IRQ_MSIX		2u
#define VFU_IRQ_ERROR		3u
#define VFU_IRQS		5u

#define VFU_IRQ_EVENTFD		1u

struct vfu_irq_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t count;
};

#define VFU_SET_NONE		1u
#define VFU_SET_EVENTFD		4u
#define VFU_SET_TRIGGER		0x20u

struct vfu_irq_set {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t start;
	uint32_t count;
};

struct vfu_access {
	uint64_t offset;
	uint32_t region;
	uint32_t count;
};

/**
 * struct vfu - a socket and the guest behind it
 *
 * @guest: its connection; fd -1: nobody is there
 * @greeted: the version has been agreed upon
 * @have: bytes of @request and @payload that have been received
 * @fds: came with the request; a handler that keeps one writes -1
 * @reply_len: bytes of @reply and @reply_payload; 0: none to send
 * @reply_fd: goes with it, not owned; -1: none
 */
struct vfu {
	struct slot *slot;
	char *path;
	struct loop_source listener;
	struct loop_source guest;
	bool greeted;

	struct vfu_header request;
	uint8_t payload[MAX_PAYLOAD];
	size_t have;
	int fds[MAX_FDS];
	unsigned int nfds;

	struct {
		struct vfu_header header;
		uint8_t payload[MAX_PAYLOAD];
	} reply;
	size_t reply_len, reply_sent;
	int reply_fd;
};

/*
 * Handlers: 0 or a negative errno, which becomes an error reply. They run under
 * the model lock, with at least as much payload as their table entry says.
 */

static size_t payload_len(const struct vfu *vfu)
{
	return vfu->request.size - sizeof(vfu->request);
}

static void put(struct vfu *vfu, const void *data, size_t len)
{
	memcpy((uint8_t *)&vfu->reply + vfu->reply_len, data, len);
	vfu->reply_len += len;
}

static int handle_version(struct vfu *vfu)
{
	struct vfu_version version;
	size_t text = payload_len(vfu) - sizeof(version);

	memcpy(&version, vfu->payload, sizeof(version));
	if (vfu->greeted || version.major != 0)
		return -EINVAL;
	/* what it says does not matter: no offer of a client changes what is done here */
	if (text && vfu->payload[payload_len(vfu) - 1])
		return -EINVAL;
	vfu->greeted = true;
	version.minor = 0;
	put(vfu, &version, sizeof(version));
	put(vfu, capabilities, sizeof(capabilities));
	return 0;
}

static_assert(VFU_DMA_READ == DMA_READABLE && VFU_DMA_WRITE == DMA_WRITABLE,
	      "flags are passed on as they are");

static int handle_dma_map(struct vfu *vfu)
{
	struct vfu_dma_map map;

	memcpy(&map, vfu->payload, sizeof(map));
	if (map.argsz < sizeof(map) || vfu->nfds > 1)
		return -EINVAL;
	return dma_map_add(&vfu->slot->dma, map.addr, map.len, map.flags,
			   vfu->nfds ? vfu->fds[0] : -1, map.offset);
}

static int handle_dma_unmap(struct vfu *vfu)
{
	struct vfu_dma_unmap unmap;
	int err = 0;

	memcpy(&unmap, vfu->payload, sizeof(unmap));
	if (unmap.argsz < sizeof(unmap) || unmap.flags & ~VFU_UNMAP_ALL)
		return -EINVAL;
	if (!(unmap.flags & VFU_UNMAP_ALL))
		err = dma_map_remove(&vfu->slot->dma, unmap.addr, unmap.len);
	else if (unmap.addr || unmap.len)
		err = -EINVAL;
	else
		dma_map_clear(&vfu->slot->dma);
	if (!err)
		put(vfu, &unmap, sizeof(unmap));
	return err;
}

static int handle_info(struct vfu *vfu)
{
	struct vfu_info info;

	memcpy(&info, vfu->payload, sizeof(info));
	if (info.argsz < sizeof(info))
		return -EINVAL;
	info = (struct vfu_info) {
		.argsz = sizeof(info),
		.flags = VFU_DEVICE_RESET | VFU_DEVICE_PCI,
		.regions = VFU_REGIONS,
		.irqs = VFU_IRQS,
	};
	put(vfu, &info, sizeof(info));
	return 0;
}

/* the slot's number of a region; one that it has not is of size 0 there */
static unsigned int slot_region(uint32_t index)
{
	if (index < MODEL_BARS)
		return index;
	return index == VFU_REGION_CONFIG ? SLOT_CONFIG : SLOT_CONFIG + 1;
}

/* the areas that can be mapped, unless they are the whole region and need no list */
static void put_areas(struct vfu *vfu, const struct model_bar *bar)
{
	struct vfu_sparse_mmap sparse = {
		.id = VFU_CAP_SPARSE_MMAP, .version = 1, .areas = bar->nareas,
	};

	put(vfu, &sparse, sizeof(sparse));
	for (unsigned int i = 0; i < bar->nareas; i++) {
		struct vfu_area area = { bar->areas[i].offset, bar->areas[i].length };

		put(vfu, &area, sizeof(area));
	}
}

static bool maps_whole(const struct model_bar *bar)
{
	return bar->nareas == 1 && bar->areas[0].length == bar->size;
}

static int handle_region_info(struct vfu *vfu)
{
	struct vfu_region_info info;
	const struct model_bar *bar = NULL;
	uint32_t room;

	memcpy(&info, vfu->payload, sizeof(info));
	room = info.argsz;
	if (room < sizeof(info) || info.index >= VFU_REGIONS)
		return -EINVAL;
	info = (struct vfu_region_info) {
		.argsz = sizeof(info),
		.index = info.index,
		.size = slot_region_size(vfu->slot, slot_region(info.index)),
	};
	if (info.size)
		info.flags = VFU_REGION_RW;
	if (info.index < MODEL_BARS && vfu->slot->dev->bar[info.index].nareas) {
		bar = &vfu->slot->dev->bar[info.index];
		info.flags |= VFU_REGION_MMAP;
		if (!maps_whole(bar))
			info.argsz += sizeof(struct vfu_sparse_mmap) +
				      bar->nareas * sizeof(struct vfu_area);
	}
	if (room < info.argsz) {
		/* too little room for the list: say how much is needed, and be asked again */
		put(vfu, &info, sizeof(info));
		return 0;
	}
	if (info.argsz > sizeof(info)) {
		info.flags |= VFU_REGION_CAPS;
		info.cap_offset = sizeof(info);
	}
	put(vfu, &info, sizeof(info));
	if (!bar)
		return 0;
	if (info.flags & VFU_REGION_CAPS)
		put_areas(vfu, bar);
	vfu->reply_fd = vfu->slot->bar_fd[info.index];
	return 0;
}

static int handle_irq_info(struct vfu *vfu)
{
	struct vfu_irq_info info;

	memcpy(&info, vfu->payload, sizeof(info));
	if (info.argsz < sizeof(info) || info.index >= VFU_IRQS)
		return -EINVAL;
	/* choice: an error, which QEMU takes in silence; of a count of 0 it warns */
	if (info.index == VFU_IRQ_ERROR)
		return -EOPNOTSUPP;
	info = (struct vfu_irq_info) { .argsz = sizeof(info), .index = info.index };
	if (info.index == VFU_IRQ_MSIX) {
		info.flags = VFU_IRQ_EVENTFD;
		info.count = vfu->slot->dev->vectors;
	}
	put(vfu, &info, sizeof(info));
	return 0;
}

/* one descriptor for every vector of the range, or none at all to take theirs away */
static int assign_vectors(struct vfu *vfu, uint32_t start, uint32_t count)
{
	if (!count || (vfu->nfds && vfu->nfds != count))
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++) {
		int fd = vfu->nfds ? vfu->fds[i] : -1;

		/* raising an interrupt must never block, whatever this descriptor is */
		if (fd >= 0) {
			fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
			vfu->fds[i] = -1;
		}
		slot_set_vector(vfu->slot, start + i, fd);
	}
	return 0;
}

static int handle_set_irqs(struct vfu *vfu)
{
	unsigned int vectors = vfu->slot->dev->vectors;
	struct vfu_irq_set set;

	memcpy(&set, vfu->payload, sizeof(set));
	if (set.argsz < sizeof(set) || set.index >= VFU_IRQS)
		return -EINVAL;
	if (set.index != VFU_IRQ_MSIX)
		vectors = 0;
	if (set.start > vectors || set.count > vectors - set.start)
		return -EINVAL;

	switch (set.flags) {
	case VFU_SET_TRIGGER | VFU_SET_EVENTFD:
		return assign_vectors(vfu, set.start, set.count);
	case VFU_SET_TRIGGER | VFU_SET_NONE:
		if (vfu->nfds)
			return -EINVAL;
		for (uint32_t i = 0; i < set.count; i++)
			slot_fire(vfu->slot, set.start + i);
		/* "none of them" means: none any more */
		for (uint32_t i = 0; !set.count && i < vectors; i++)
			slot_set_vector(vfu->slot, i, -1);
		return 0;
	default:
		return -EINVAL;
	}
}

/* an access must lie in its region and fit into one message */
static int check_access(const struct vfu *vfu, const struct vfu_access *access)
{
	uint64_t size = slot_region_size(vfu->slot, slot_region(access->region));

	if (!access->count || access->count > MAX_TRANSFER)
		return -EINVAL;
	if (access->offset > size || access->count > size - access->offset)
		return -EINVAL;
	return 0;
}

static int handle_region_read(struct vfu *vfu)
{
	struct vfu_access access;

	memcpy(&access, vfu->payload, sizeof(access));
	if (check_access(vfu, &access))
		return -EINVAL;
	put(vfu, &access, sizeof(access));
	slot_read(vfu->slot, slot_region(access.region), access.offset,
		  (uint8_t *)&vfu->reply + vfu->reply_len, access.count);
	vfu->reply_len += access.count;
	return 0;
}

static int handle_region_write(struct vfu *vfu)
{
	struct vfu_access access;

	memcpy(&access, vfu->payload, sizeof(access));
	if (check_access(vfu, &access) || payload_len(vfu) != sizeof(access) + access.count)
		return -EINVAL;
	slot_write(vfu->slot, slot_region(access.region), access.offset,
		   vfu->payload + sizeof(access), access.count);
	put(vfu, &access, sizeof(access));
	return 0;
}

static int handle_reset(struct vfu *vfu)
{
	log_note(vfu->slot->dev->name, "reset by the guest");
	slot_reset(vfu->slot);
	return 0;
}

struct vfu_handler {
	const char *name;
	int (*handle)(struct vfu *vfu);
	size_t min_payload, max_payload;
};

#define EXACTLY(type)	sizeof(struct type), sizeof(struct type)
#define AT_LEAST(type)	sizeof(struct type), MAX_PAYLOAD

static const struct vfu_handler handlers[] = {
	[VFU_VERSION] = { "version", handle_version, AT_LEAST(vfu_version) },
	[VFU_DMA_MAP] = { "dma map", handle_dma_map, EXACTLY(vfu_dma_map) },
	[VFU_DMA_UNMAP] = { "dma unmap", handle_dma_unmap, EXACTLY(vfu_dma_unmap) },
	[VFU_GET_INFO] = { "info", handle_info, EXACTLY(vfu_info) },
	/* a client that asks again leaves room for the answer, or does not */
	[VFU_GET_REGION_INFO] = { "region info", handle_region_info, AT_LEAST(vfu_region_info) },
	[VFU_GET_IRQ_INFO] = { "irq info", handle_irq_info, EXACTLY(vfu_irq_info) },
	[VFU_SET_IRQS] = { "set irqs", handle_set_irqs, AT_LEAST(vfu_irq_set) },
	[VFU_REGION_READ] = { "read", handle_region_read, EXACTLY(vfu_access) },
	[VFU_REGION_WRITE] = { "write", handle_region_write, AT_LEAST(vfu_access) },
	[VFU_RESET] = { "reset", handle_reset, 0, 0 },
};

static const struct vfu_handler *find_handler(uint16_t command)
{
	if (command >= sizeof(handlers) / sizeof(handlers[0]) || !handlers[command].handle)
		return NULL;
	return &handlers[command];
}

static int handle(struct vfu *vfu)
{
	const struct vfu_handler *handler = find_handler(vfu->request.command);

	if (!handler)
		return vfu->request.command == VFU_FEATURE ? -ENOTTY : -ENOSYS;
	if (payload_len(vfu) < handler->min_payload || payload_len(vfu) > handler->max_payload)
		return -EINVAL;
	return handler->handle(vfu);
}

/* back to the beginning of a message; closes what nobody wanted */
static void forget_request(struct vfu *vfu)
{
	for (unsigned int i = 0; i < vfu->nfds; i++)
		if (vfu->fds[i] >= 0)
			close(vfu->fds[i]);
	vfu->nfds = 0;
	vfu->have = 0;
}

static void disconnect(struct vfu *vfu, const char *why)
{
	log_note(vfu->slot->dev->name, "guest detached: %s", why);
	loop_remove(&vfu->guest);
	close(vfu->guest.fd);
	vfu->guest.fd = -1;
	forget_request(vfu);

	engine_lock();
	slot_detach(vfu->slot);
	engine_unlock();
}

static void set_reply_fd(struct msghdr *msg, int fd)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
}

/* sends what can be sent now: 0, -EAGAIN if some is left, or an error that ends it all */
static int send_reply(struct vfu *vfu)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control;

	while (vfu->reply_sent < vfu->reply_len) {
		struct iovec iov = {
			.iov_base = (uint8_t *)&vfu->reply + vfu->reply_sent,
			.iov_len = vfu->reply_len - vfu->reply_sent,
		};
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
		ssize_t n;

		/* the descriptor goes with the first byte only */
		if (vfu->reply_fd >= 0 && !vfu->reply_sent) {
			msg.msg_control = &control;
			msg.msg_controllen = sizeof(control);
			set_reply_fd(&msg, vfu->reply_fd);
		}
		n = sendmsg(vfu->guest.fd, &msg, MSG_NOSIGNAL);
		if (n < 0)
			return -errno;
		vfu->reply_sent += n;
	}
	vfu->reply_len = 0;
	return 0;
}

static void finish_reply(struct vfu *vfu, int err)
{
	vfu->reply.header = (struct vfu_header) {
		.id = vfu->request.id,
		.command = vfu->request.command,
		.flags = VFU_REPLY,
	};
	if (err) {
		vfu->reply.header.flags |= VFU_ERROR;
		vfu->reply.header.error = -err;
		vfu->reply_len = sizeof(vfu->reply.header);
		vfu->reply_fd = -1;
	}
	vfu->reply.header.size = vfu->reply_len;
	if (vfu->request.flags & VFU_NO_REPLY)
		vfu->reply_len = 0;
}

static void trace(const struct vfu *vfu, int err)
{
	const struct vfu_handler *handler = find_handler(vfu->request.command);

	/* that there is no such thing here is an answer like any other */
	if (err && err != -EOPNOTSUPP)
		log_note(vfu->slot->dev->name,
			 "message %u (%s) of %u bytes with %u descriptors: %s",
			 vfu->request.command, handler ? handler->name : "unknown",
			 vfu->request.size, vfu->nfds, strerror(-err));
	else
		log_trace(vfu->slot->dev->name, "message %s of %u bytes with %u descriptors",
			  handler->name, vfu->request.size, vfu->nfds);
}

/* does one request; returns as send_reply() */
static int serve(struct vfu *vfu)
{
	int err;

	vfu->reply_len = sizeof(vfu->reply.header);
	vfu->reply_sent = 0;
	vfu->reply_fd = -1;

	engine_lock();
	err = handle(vfu);
	finish_reply(vfu, err);
	trace(vfu, err);
	err = send_reply(vfu);
	engine_unlock();

	forget_request(vfu);
	return err;
}

/* descriptors of a message come with its header */
static int take_fds(struct vfu *vfu, struct msghdr *msg)
{
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		unsigned int count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		for (unsigned int i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(fd), sizeof(fd));
			if (vfu->nfds < MAX_FDS)
				vfu->fds[vfu->nfds++] = fd;
			else
				close(fd);
		}
	}
	return msg->msg_flags & MSG_CTRUNC ? -EPROTO : 0;
}

/* bytes received, 0 at the end of the stream, or a negative errno */
static ssize_t receive(struct vfu *vfu, void *buf, size_t len)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(MAX_FDS * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(vfu->guest.fd, &msg, MSG_CMSG_CLOEXEC);

	if (n < 0)
		return -errno;
	return take_fds(vfu, &msg) ?: n;
}

static bool is_request(const struct vfu_header *header)
{
	return header->size >= sizeof(*header) && header->size <= sizeof(*header) + MAX_PAYLOAD &&
	       (header->flags & VFU_TYPE) == VFU_REQUEST;
}

/*
 * Receives more of a request, never beyond its end: what follows, and its
 * descriptors, are the next one's. 1: complete, 0: not yet, or a negative errno.
 */
static int receive_request(struct vfu *vfu)
{
	const size_t header = sizeof(vfu->request);
	ssize_t n;

	if (vfu->have < header)
		n = receive(vfu, (uint8_t *)&vfu->request + vfu->have, header - vfu->have);
	else
		n = receive(vfu, vfu->payload + (vfu->have - header),
			    vfu->request.size - vfu->have);
	if (n <= 0)
		return n ? n : -ECONNRESET;
	vfu->have += n;
	if (vfu->have < header)
		return 0;
	if (vfu->have == header && !is_request(&vfu->request))
		return -EPROTO;
	/* nothing else can be understood before the version */
	if (!vfu->greeted && vfu->request.command != VFU_VERSION)
		return -EPROTO;
	return vfu->have == vfu->request.size;
}

/* receives and answers until the socket has no more to give or to take */
static int serve_all(struct vfu *vfu)
{
	unsigned int turns = REQUESTS_PER_TURN;

	while (turns) {
		int ret = receive_request(vfu);

		if (ret > 0) {
			ret = serve(vfu);
			turns--;
		}
		if (ret < 0)
			return ret;
	}
	return 0;
}

static const char *reason(int err)
{
	switch (err) {
	case -ECONNRESET:
	case -EPIPE:
		return "the connection has ended";
	case -EPROTO:
		return "what it sent is no vfio-user request";
	default:
		return strerror(-err);
	}
}

static void guest_ready(struct loop_source *source, uint32_t events)
{
	struct vfu *vfu = (struct vfu *)((char *)source - offsetof(struct vfu, guest));
	int err = 0;

	(void)events;	/* the calls below find out themselves */
	if (vfu->reply_len)
		err = send_reply(vfu);
	if (!err)
		err = serve_all(vfu);
	if (err && err != -EAGAIN) {
		disconnect(vfu, reason(err));
		return;
	}
	loop_change(&vfu->guest, vfu->reply_len ? EPOLLOUT : EPOLLIN);
}

/* the end of a connection and the next guest's arrival may be seen in either order */
static bool has_left(const struct vfu *vfu)
{
	struct pollfd pollfd = { .fd = vfu->guest.fd };

	return poll(&pollfd, 1, 0) == 1 && pollfd.revents & POLLHUP;
}

static void listener_ready(struct loop_source *source, uint32_t events)
{
	struct vfu *vfu = (struct vfu *)((char *)source - offsetof(struct vfu, listener));
	int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd < 0)
		return;
	if (vfu->guest.fd >= 0 && has_left(vfu))
		disconnect(vfu, reason(-ECONNRESET));
	if (vfu->guest.fd >= 0) {
		log_note(vfu->slot->dev->name, "second guest refused");
		close(fd);
		return;
	}
	vfu->guest = (struct loop_source) { .fd = fd, .ready = guest_ready };
	vfu->greeted = false;
	vfu->reply_len = 0;
	if (loop_add(&vfu->guest, EPOLLIN)) {
		vfu->guest.fd = -1;
		close(fd);
		return;
	}
	log_note(vfu->slot->dev->name, "guest attached");
	engine_lock();
	slot_attach(vfu->slot);
	engine_unlock();
}

struct vfu *vfu_open(struct slot *slot, const char *path, FILE *err)
{
	struct vfu *vfu = calloc(1, sizeof(*vfu));

	if (!vfu || !(vfu->path = strdup(path))) {
		fprintf(err, "there must be memory for the socket %s\n", path);
		goto free_vfu;
	}
	vfu->slot = slot;
	vfu->guest.fd = -1;
	vfu->listener.ready = listener_ready;
	vfu->listener.fd = loop_listen(path, err);
	if (vfu->listener.fd < 0)
		goto free_path;
	if (loop_add(&vfu->listener, EPOLLIN)) {
		fprintf(err, "there must be room for one more socket, %s\n", path);
		goto close_listener;
	}
	return vfu;

close_listener:
	close(vfu->listener.fd);
	unlink(path);
free_path:
	free(vfu->path);
free_vfu:
	free(vfu);
	return NULL;
}

void vfu_close(struct vfu *vfu)
{
	if (vfu->guest.fd >= 0)
		disconnect(vfu, "the model ends");
	loop_remove(&vfu->listener);
	close(vfu->listener.fd);
	unlink(vfu->path);
	free(vfu->path);
	free(vfu);
}
