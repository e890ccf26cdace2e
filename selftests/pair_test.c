// SPDX-License-Identifier: GPL-2.0
/*
 * Two machines with an adapter each. Both run this program; DVQ_GUEST is 0 on one and 1 on the
 * other, DVQ_PEER the other's IPv4 address, as selftests/vm/run sets them.
 */
#include "lib/adapter_test.h"
#include "lib/dialogue.h"
#include "lib/exchange.h"
#include "lib/peer.h"

#define PORT	18515

static void converse(enum transport transport)
{
	const char *guest = getenv("DVQ_GUEST"), *host = getenv("DVQ_PEER");
	struct dialogue dialogue = {
		.adapter = self, .transport = transport, .messages = 300,
	};
	char why[200];
	int role;

	role = peer_role(guest, host, why, sizeof(why));
	if (role == -ENOENT)
		SKIP("needs a second machine: set DVQ_GUEST to 0 or 1 and DVQ_PEER to its address");
	LAB_NEED(role >= 0, "%s", why);
	dialogue.speaker = role == 1;
	dialogue.fd = dialogue.speaker ? exchange_connect(host, PORT + transport) :
					 exchange_serve(PORT + transport);
	dialogue_run(&dialogue);
	close(dialogue.fd);
}

ADAPTER_TEST(f73_dialogue_reliably)
{
	converse(RELIABLE);
}

ADAPTER_TEST(f73_dialogue_by_datagrams)
{
	converse(UD);
}

ADAPTER_TEST_MAIN(ADAPTER_ANY)
