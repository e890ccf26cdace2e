/* SPDX-License-Identifier: GPL-2.0 */
/* The network interface behind an RDMA device. */
#ifndef SELFTESTS_NETDEV_H
#define SELFTESTS_NETDEV_H

#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

/* "" if there is none (here: it may be in another network namespace) */
void netdev_of(const struct ibv_device *device, char name[IF_NAMESIZE]);
/* must succeed */
void netdev_up(const char *name);
void netdev_down(const char *name);
/* it has a link-local address, which is its own: nobody else on the link was found to have it */
bool netdev_has_address(const char *name);
void netdev_mac(const char *name, uint8_t mac[6]);

#endif /* SELFTESTS_NETDEV_H */
