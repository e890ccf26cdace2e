/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control channel: statistics, faults and cables of all devices by lines of
 * text over a unix socket, for programs of the host and (through a virtio-serial
 * port that QEMU connects to the socket) for tests in a guest. The language is
 * described in Documentation/model.rst.
 */
#ifndef MODEL_CONTROL_H
#define MODEL_CONTROL_H

#include <stdio.h>

struct control;
struct slot;

#define CONTROL_LINE_MAX	4096	/* bytes of a request, its newline not counted */

/* @slots is a list; NULL with one sentence in @err if @path is no place for a socket */
struct control *control_open(struct slot *slots, const char *path, FILE *err);
void control_close(struct control *control);

/*
 * Does what one line asks for and writes the answer, with its newline, to @out.
 * A line without a word has no answer. Cuts @line into words.
 */
void control_execute(struct slot *slots, char *line, FILE *out);

#endif /* MODEL_CONTROL_H */
