/* SPDX-License-Identifier: GPL-2.0 */
/* Which of two machines this one is. */
#ifndef SELFTESTS_PEER_H
#define SELFTESTS_PEER_H

/*
 * @guest and @address are DVQ_GUEST and DVQ_PEER, or NULL. Returns 0 for the one that serves, 1 for the one
 * that connects, -ENOENT if nothing is set, and -EINVAL with one sentence in @why (of @size bytes) that says
 * what they must be: nothing is guessed from a part of them.
 */
int peer_role(const char *guest, const char *address, char *why, unsigned int size);

#endif /* SELFTESTS_PEER_H */
