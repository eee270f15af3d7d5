/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Addresses for tests, from text. */
#ifndef RCA_ADDRESSES_H
#define RCA_ADDRESSES_H
#include <kunit/test.h>
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "lib/sockaddr.h"

/**
 * rca_test_addr() - parse an address
 * @test: the test; fails when the text is not an address
 * @text: "10.9.0.1", "fd00:9::1", "fe80::1%2" (with a scope id), "ib:fe80::1" (AF_IB)
 * @port: the port; AF_IB: the service ID, with the mask 0xffff
 *
 * Return: the address; lives as long as the test.
 */
static inline union rca_addr *rca_test_addr(struct kunit *test, const char *text, u16 port)
{
	union rca_addr *addr = kunit_kzalloc(test, sizeof(*addr), GFP_KERNEL);
	const char *scope = strchr(text, '%');

	KUNIT_ASSERT_NOT_NULL(test, addr);
	if (strstarts(text, "ib:")) {
		addr->ib.sib_family = AF_IB;
		addr->ib.sib_sid = cpu_to_be64(port);
		addr->ib.sib_sid_mask = cpu_to_be64(U16_MAX);
		KUNIT_ASSERT_TRUE(test, in6_pton(text + 3, -1, addr->ib.sib_addr.sib_addr8, -1,
						 NULL));
	} else if (strchr(text, ':')) {
		addr->in6.sin6_family = AF_INET6;
		addr->in6.sin6_port = cpu_to_be16(port);
		KUNIT_ASSERT_TRUE(test, in6_pton(text, -1, addr->in6.sin6_addr.s6_addr, '%', NULL));
		if (scope)
			KUNIT_ASSERT_EQ(test, 0, kstrtou32(scope + 1, 10,
							   &addr->in6.sin6_scope_id));
	} else {
		addr->in.sin_family = AF_INET;
		addr->in.sin_port = cpu_to_be16(port);
		KUNIT_ASSERT_TRUE(test, in4_pton(text, -1, (u8 *)&addr->in.sin_addr, -1, NULL));
	}
	return addr;
}

#endif /* RCA_ADDRESSES_H */
