// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lab.h"
#include "memory.h"
#include "stall.h"

static int drop_stall(void *object)
{
	struct stall *stall = object;

	/* also wakes whoever is still there */
	close(stall->fd);
	munmap(stall->page, PAGE);
	free(stall);
	return 0;
}

struct stall *stall_new(void)
{
	struct stall *stall = calloc(1, sizeof(*stall));
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register whole = {
		.range.len = PAGE, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	LAB_NEED(stall, "no memory");
	stall->fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (stall->fd < 0) {
		LAB_NEED(errno == ENOSYS, "userfaultfd: %s", strerror(errno));
		free(stall);
		return NULL;
	}
	stall->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	LAB_NEED(stall->page != MAP_FAILED, "mmap: %s", strerror(errno));
	lab_hold(drop_stall, stall);
	whole.range.start = (uintptr_t)stall->page;
	LAB_NEED(!ioctl(stall->fd, UFFDIO_API, &api) && !ioctl(stall->fd, UFFDIO_REGISTER, &whole),
		 "userfaultfd: %s", strerror(errno));
	return stall;
}

void stall_reached(const struct stall *stall)
{
	struct pollfd pollfd = { .fd = stall->fd, .events = POLLIN };
	struct uffd_msg message;

	LAB_NEED(poll(&pollfd, 1, PATIENCE_MS) == 1 &&
		 read(stall->fd, &message, sizeof(message)) == sizeof(message) &&
		 message.event == UFFD_EVENT_PAGEFAULT, "nobody comes to the page");
}

void stall_fail(struct stall *stall)
{
	struct uffdio_range range = { .start = (uintptr_t)stall->page, .len = PAGE };

	LAB_NEED(!mprotect(stall->page, PAGE, PROT_NONE) &&
		 !ioctl(stall->fd, UFFDIO_WAKE, &range), "userfaultfd: %s", strerror(errno));
}
