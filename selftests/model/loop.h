/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The thread that waits for all sockets. Everything here, and every ready(),
 * runs in that thread (or before it starts).
 */
#ifndef MODEL_LOOP_H
#define MODEL_LOOP_H

#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>

/**
 * struct loop_source - a descriptor that is waited for
 *
 * @ready: called with the EPOLL* bits that are true, again and again while they
 *	are. May remove and free any source, its own too.
 */
struct loop_source {
	int fd;
	void (*ready)(struct loop_source *source, uint32_t events);
};

/* 0 or a negative errno */
int loop_open(void);
void loop_close(void);

int loop_add(struct loop_source *source, uint32_t events);
void loop_change(struct loop_source *source, uint32_t events);
/* does not close the descriptor */
void loop_remove(struct loop_source *source);

/* until loop_quit(), which a ready() calls */
void loop_run(void);
void loop_quit(void);

/**
 * loop_listen() - a listening unix socket that is not inherited and never blocks
 *
 * A socket file left behind by a process that is gone is replaced. Returns the
 * descriptor, or -1 with one sentence in @err.
 */
int loop_listen(const char *path, FILE *err);

#endif /* MODEL_LOOP_H */
