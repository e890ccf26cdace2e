/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The same program on both sides: two processes, or two machines, that find each other over a
 * socket and then send, write and read over an adapter each, in both directions at once.
 */
#ifndef SELFTESTS_DIALOGUE_H
#define SELFTESTS_DIALOGUE_H

#include "endpoint.h"

/**
 * struct dialogue - one side of it
 *
 * @fd: socket to the other side
 * @speaker: 0 or 1, not the same on both sides
 * @messages: sent by each side
 */
struct dialogue {
	const struct adapter *adapter;
	enum transport transport;
	int fd;
	unsigned int speaker;
	unsigned int messages;
};

/* what does not arrive as it was sent is a failure of the test */
void dialogue_run(const struct dialogue *dialogue);

#endif /* SELFTESTS_DIALOGUE_H */
