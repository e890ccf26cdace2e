// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "loop.h"

static int epoll_fd = -1;
static bool quit;

int loop_open(void)
{
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	quit = false;
	return epoll_fd < 0 ? -errno : 0;
}

void loop_close(void)
{
	close(epoll_fd);
	epoll_fd = -1;
}

static int control(int op, struct loop_source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	return epoll_ctl(epoll_fd, op, source->fd, &event) ? -errno : 0;
}

int loop_add(struct loop_source *source, uint32_t events)
{
	return control(EPOLL_CTL_ADD, source, events);
}

void loop_change(struct loop_source *source, uint32_t events)
{
	control(EPOLL_CTL_MOD, source, events);
}

void loop_remove(struct loop_source *source)
{
	control(EPOLL_CTL_DEL, source, 0);
}

void loop_run(void)
{
	struct epoll_event event;

	/* one event at a time: a second one could be of a source that the first has freed */
	while (!quit) {
		if (epoll_wait(epoll_fd, &event, 1, -1) == 1) {
			struct loop_source *source = event.data.ptr;

			source->ready(source, event.events);
		}
	}
}

void loop_quit(void)
{
	quit = true;
}

static bool is_dead(const struct sockaddr_un *addr)
{
	struct stat st;
	bool dead;
	int fd;

	/* connecting to a plain file is refused, too */
	if (lstat(addr->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	dead = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) && errno == ECONNREFUSED;
	close(fd);
	return dead;
}

static int bind_at(int fd, const struct sockaddr_un *addr)
{
	if (!bind(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return 0;
	if (errno != EADDRINUSE)
		return -errno;
	if (!is_dead(addr))
		return -EADDRINUSE;
	unlink(addr->sun_path);
	return bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) ? -errno : 0;
}

int loop_listen(const char *path, FILE *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, ret;

	if (!path[0] || strlen(path) >= sizeof(addr.sun_path)) {
		fprintf(err, "a socket path must have 1 to %zu bytes, not %zu\n",
			sizeof(addr.sun_path) - 1, strlen(path));
		return -1;
	}
	strcpy(addr.sun_path, path);

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ret = fd < 0 ? -errno : bind_at(fd, &addr);
	if (!ret && listen(fd, 16))
		ret = -errno;
	if (!ret)
		return fd;

	if (ret == -EADDRINUSE)
		fprintf(err, "%s must be a new path, or a socket where nobody listens\n", path);
	else
		fprintf(err, "%s must be a path where a socket can be made: %s\n", path,
			strerror(-ret));
	if (fd >= 0)
		close(fd);
	return -1;
}
