/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A test of EFA in one header.
 *
 *	EFA_TEST(send_arrives)
 *	{
 *		...
 *	}
 *	EFA_TEST_MAIN
 */
#ifndef SELFTESTS_EFA_TEST_H
#define SELFTESTS_EFA_TEST_H

#include "adapter_test.h"

#define EFA_TEST(test_name)	ADAPTER_TEST(test_name)

/* the same test over both transports: test_name_srd and test_name_ud */
#define EFA_TEST_BOTH(test_name)						\
	static void test_name(enum transport transport);			\
	EFA_TEST(test_name##_srd) { test_name(SRD); }				\
	EFA_TEST(test_name##_ud) { test_name(UD); }				\
	static void test_name(enum transport transport)

__attribute__((unused)) static void need_caps(uint32_t caps, const char *what)
{
	if (!adapter_can(self, caps) || !adapter_can(peer, caps))
		SKIP(what);
}

/* by calls of the distribution's libefa */
__attribute__((unused)) static void need_provider(uint32_t caps, const char *what)
{
	if (!adapter_provider_can(self, caps) || !adapter_provider_can(peer, caps))
		SKIP(what);
}

__attribute__((unused)) static void need_read(void)
{
	need_caps(EFADV_DEVICE_ATTR_CAPS_RDMA_READ, "the adapter has no RDMA read");
}

__attribute__((unused)) static void need_device_write(void)
{
	need_caps(EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE, "the adapter has no RDMA write");
}

__attribute__((unused)) static void need_write(void)
{
	need_device_write();
	if (!can_write(self) || !can_write(peer))
		SKIP("this libefa has no RDMA write: a newer one has, or libdvq");
}

/* receives that writes with immediate data do not take */
__attribute__((unused)) static void need_unsolicited(void)
{
	need_caps(EFADV_DEVICE_ATTR_CAPS_UNSOLICITED_WRITE_RECV, "the adapter has no unsolicited receives");
	need_provider(EFADV_DEVICE_ATTR_CAPS_UNSOLICITED_WRITE_RECV,
		      "this libefa has no unsolicited receives: a newer one has");
}

__attribute__((unused)) static void need_wide(void)
{
	if (self->efa.inline_buf_size_ex <= self->efa.inline_buf_size)
		SKIP("the adapter has no wide send entries");
	if (self->provider.inline_buf_size_ex <= self->provider.inline_buf_size)
		SKIP("this libefa has no wide send entries: a newer one has");
}

#define EFA_TEST_MAIN	ADAPTER_TEST_MAIN(ADAPTER_EFA)

#endif /* SELFTESTS_EFA_TEST_H */
