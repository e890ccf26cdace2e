// SPDX-License-Identifier: GPL-2.0
/* Who serves and who connects is told by the whole of two words, or not at all (F-80). */
#include <errno.h>

#include "../lib/peer.c"
#include "tap.h"

static char why[200];

TEST(f80_roles)
{
	CHECK_EQ(peer_role("0", "10.1.2.3", why, sizeof(why)), 0);
	CHECK_EQ(peer_role("1", "10.1.2.3", why, sizeof(why)), 1);
	CHECK_EQ(peer_role(NULL, NULL, why, sizeof(why)), -ENOENT);
}

TEST(f80_no_role_by_default)
{
	static const char *const guests[] = { "", "2", "01", "1 ", " 1", "0x1", "server", "client", "-1" };

	for (unsigned int i = 0; i < sizeof(guests) / sizeof(guests[0]); i++) {
		CHECK_EQ(peer_role(guests[i], "10.1.2.3", why, sizeof(why)), -EINVAL);
		CHECK_CONTAINS(why, "DVQ_GUEST must be");
		CHECK_CONTAINS(why, guests[i]);
	}
	CHECK_EQ(peer_role(NULL, "10.1.2.3", why, sizeof(why)), -EINVAL);
}

/* names, whatever words they contain; other families; ports; blanks */
TEST(f80_addresses_that_are_none)
{
	static const char *const addresses[] = {
		"", "host0", "server1", "client", "my-server-0.example", "fe80::1", "::ffff:10.1.2.3", "[fe80::1]",
		"10.1.2.3:18515", "10.1.2.3 ", " 10.1.2.3", "10.1.2", "10.1.2.3.4", "10.1.2.300", "1",
	};

	for (unsigned int i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		CHECK_EQ(peer_role("0", addresses[i], why, sizeof(why)), -EINVAL);
		CHECK_EQ(peer_role("1", addresses[i], why, sizeof(why)), -EINVAL);
		CHECK_CONTAINS(why, "DVQ_PEER must be");
	}
	CHECK_EQ(peer_role("1", NULL, why, sizeof(why)), -EINVAL);
}

TAP_MAIN
