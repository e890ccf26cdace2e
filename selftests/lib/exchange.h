/* SPDX-License-Identifier: GPL-2.0 */
/* What two processes tell each other outside of RDMA: structs over a socket, with deadlines. */
#ifndef SELFTESTS_EXCHANGE_H
#define SELFTESTS_EXCHANGE_H

#include <stddef.h>

/* all of it, or the test ends */
void exchange_send(int fd, const void *data, size_t len);
void exchange_recv(int fd, void *data, size_t len);
/* both have come this far */
void exchange_barrier(int fd);

/* a connection by TCP: one side waits for the other; must succeed. To be closed by the caller */
int exchange_serve(unsigned int port);
int exchange_connect(const char *host, unsigned int port);

#endif /* SELFTESTS_EXCHANGE_H */
