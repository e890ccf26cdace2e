// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exchange.h"
#include "lab.h"

#define CONNECT_MS	60000	/* the other side may still be booting */

void exchange_send(int fd, const void *data, size_t len)
{
	const char *byte = data;

	while (len) {
		ssize_t n = send(fd, byte, len, MSG_NOSIGNAL);

		LAB_NEED(n > 0, "the other process is gone: %s", strerror(errno));
		byte += n;
		len -= n;
	}
}

void exchange_recv(int fd, void *data, size_t len)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	char *byte = data;

	while (len) {
		ssize_t n;

		LAB_NEED(poll(&pollfd, 1, 2 * PATIENCE_MS) == 1, "the other process says nothing");
		n = recv(fd, byte, len, 0);
		LAB_NEED(n > 0, "the other process is gone");
		byte += n;
		len -= n;
	}
}

void exchange_barrier(int fd)
{
	char byte = 0;

	exchange_send(fd, &byte, 1);
	exchange_recv(fd, &byte, 1);
}

int exchange_serve(unsigned int port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, yes = 1;
	struct pollfd pollfd = { .fd = listener, .events = POLLIN };

	LAB_NEED(listener >= 0, "socket: %s", strerror(errno));
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	LAB_NEED(!bind(listener, (struct sockaddr *)&addr, sizeof(addr)) && !listen(listener, 1),
		 "listening on port %u: %s", port, strerror(errno));
	LAB_NEED(poll(&pollfd, 1, CONNECT_MS) == 1, "nobody connects to port %u", port);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	LAB_NEED(fd >= 0, "accept: %s", strerror(errno));
	close(listener);
	return fd;
}

int exchange_connect(const char *host, unsigned int port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	uint64_t end = now_ms() + CONNECT_MS;

	LAB_NEED(inet_pton(AF_INET, host, &addr.sin_addr) == 1, "'%s' is no IPv4 address", host);
	for (;;) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		LAB_NEED(fd >= 0, "socket: %s", strerror(errno));
		if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
			return fd;
		LAB_NEED(now_ms() < end, "connecting to %s, port %u: %s", host, port,
			 strerror(errno));
		close(fd);
		sleep_ms(100);
	}
}
