// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "peer.h"

int peer_role(const char *guest, const char *address, char *why, unsigned int size)
{
	struct in_addr parsed;

	if (!guest && !address)
		return -ENOENT;
	if (!guest || (strcmp(guest, "0") && strcmp(guest, "1"))) {
		snprintf(why, size, "DVQ_GUEST must be 0 on one machine and 1 on the other, not '%s'",
			 guest ? guest : "");
		return -EINVAL;
	}
	if (!address || inet_pton(AF_INET, address, &parsed) != 1) {
		snprintf(why, size, "DVQ_PEER must be the other machine's IPv4 address, not '%s'",
			 address ? address : "");
		return -EINVAL;
	}
	return guest[0] - '0';
}
