/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The other end of a socket of the model, in the model's own loop: one thread, so that the same
 * input does the same. It sends what next() gives, throws away what comes, and when there is
 * no more it shuts down its half and waits until the model has closed the other.
 */
#ifndef SELFTESTS_FUZZ_SOCKET_H
#define SELFTESTS_FUZZ_SOCKET_H

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "device.h"
#include "fuzz.h"
#include "loop.h"
#include "slot.h"

/**
 * struct fuzz_client - who speaks to the model
 *
 * @next: fills @data, @len and descriptors to go with them; false: that was all
 */
struct fuzz_client {
	struct loop_source source;	/* first */
	bool (*next)(struct fuzz_client *client);
	struct fuzz *f;
	uint8_t data[8192];
	size_t len, sent;
	int fds[20];
	unsigned int nfds;
	bool done;
};

static inline void fuzz_client_send(struct fuzz_client *c)
{
	uint8_t control[CMSG_SPACE(sizeof(c->fds))] __attribute__((aligned(8))) = { 0 };
	struct iovec iov = { .iov_base = c->data + c->sent, .iov_len = c->len - c->sent };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (c->nfds && !c->sent) {
		struct cmsghdr *cmsg;

		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(c->nfds * sizeof(int));
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(c->nfds * sizeof(int));
		memcpy(CMSG_DATA(cmsg), c->fds, c->nfds * sizeof(int));
	}
	n = sendmsg(c->source.fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n > 0)
		c->sent += n;
	else if (errno != EAGAIN)
		c->done = true;		/* the model has closed */
}

static inline void fuzz_client_ready(struct loop_source *source, uint32_t events)
{
	struct fuzz_client *c = (struct fuzz_client *)source;
	uint8_t trash[4096];
	ssize_t n = 1;

	(void)events;
	while (n > 0)
		n = recv(source->fd, trash, sizeof(trash), MSG_DONTWAIT);
	if (!n || errno != EAGAIN) {
		loop_quit();
		return;
	}
	if (c->done)
		return;
	if (c->sent == c->len) {
		c->len = c->sent = c->nfds = 0;
		c->done = !c->next(c);
	}
	if (!c->done)
		fuzz_client_send(c);
	if (c->done) {
		shutdown(source->fd, SHUT_WR);
		loop_change(source, EPOLLIN);
	}
}

static inline const char *fuzz_socket_path(void)
{
	static char path[64];

	if (!path[0])
		snprintf(path, sizeof(path), "/tmp/dvq-fuzz-%d", getpid());
	return path;
}

/* all that @client has to say to who listens; the loop is open */
static inline void fuzz_client_run(struct fuzz_client *client)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	strcpy(addr.sun_path, fuzz_socket_path());
	client->source.ready = fuzz_client_ready;
	client->source.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FUZZ_CHECK(!connect(client->source.fd, (struct sockaddr *)&addr, sizeof(addr)));
	FUZZ_CHECK(!loop_add(&client->source, EPOLLIN | EPOLLOUT));
	loop_run();
	loop_remove(&client->source);
	close(client->source.fd);
}

static inline struct slot *fuzz_slot(const struct model_type *type, const char *name, char **options)
{
	struct model_device *dev = type->create(name, options, stderr);
	struct slot *slot;

	FUZZ_CHECK(dev);
	slot = slot_create(dev, type->name, stderr);
	FUZZ_CHECK(slot);
	return slot;
}

#endif /* SELFTESTS_FUZZ_SOCKET_H */
