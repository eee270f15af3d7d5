// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/net/ports.c: bind conflicts, and the search for a free port.
 *
 * They use init_net and release all ports; no other user of the module may be active meanwhile.
 *
 * Locking: none of their own.
 */
#include <kunit/test.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/ip.h>
#include <rdma/rdma_user_cm.h>

#include "fake/addresses.h"
#include "fake/race.h"
#include "net/ports_fixture.h"
#include "net/net.h"

#define PORT 7471
#define ROUNDS 300

/* The bindings of a test, which are unbound at its end. */
struct ports_test {
	struct rca_bind binds[RCA_RACE_MAX];
	unsigned int used;
};

static struct rca_bind *new_bind(struct kunit *test, bool reuse, bool afonly)
{
	struct ports_test *ports = test->priv;
	struct rca_bind *bind = &ports->binds[ports->used++];

	KUNIT_ASSERT_LE(test, ports->used, (unsigned int)ARRAY_SIZE(ports->binds));
	bind->reuse = reuse;
	bind->afonly = afonly;
	return bind;
}

static int bind_ps(struct kunit *test, struct rca_bind *bind, const char *text, u16 port, u16 ps)
{
	return rca_ports_bind(bind, &init_net, ps, rca_test_addr(test, text, port));
}

static int bind_tcp(struct kunit *test, struct rca_bind *bind, const char *text, u16 port)
{
	return bind_ps(test, bind, text, port, RDMA_PS_TCP);
}

/* A binding of an address that may have others beside it. */
static struct rca_bind *bound(struct kunit *test, bool reuse, const char *text, u16 port)
{
	struct rca_bind *bind = new_bind(test, reuse, true);

	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, bind, text, port));
	return bind;
}

static u16 port_of(const struct rca_bind *bind)
{
	return be16_to_cpu(rca_addr_port(&bind->addr));
}

static int ports_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct ports_test), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, test->priv);
	return 0;
}

static void ports_exit(struct kunit *test)
{
	struct ports_test *ports = test->priv;
	unsigned int i;

	for (i = 0; ports && i < ports->used; i++)
		rca_ports_unbind(&ports->binds[i]);
}

struct side {
	const char *text;
	bool reuse;
	bool afonly;
};

struct conflict_case {
	struct side a;
	struct side b;
	int ret;
};

#define REUSE .reuse = true
#define ONLY .afonly = true

/* The errno of the second binding, in either order. */
static const struct conflict_case conflict_cases[] = {
	/* the same address */
	{ { "10.9.0.1", ONLY }, { "10.9.0.1", ONLY }, -EADDRINUSE },
	{ { "10.9.0.1", ONLY, REUSE }, { "10.9.0.1", ONLY }, -EADDRINUSE },
	{ { "10.9.0.1", ONLY, REUSE }, { "10.9.0.1", ONLY, REUSE }, 0 },
	{ { "fd00:9::1" }, { "fd00:9::1" }, -EADDRINUSE },
	{ { "fd00:9::1", ONLY }, { "fd00:9::1" }, -EADDRINUSE },
	{ { "fd00:9::1", REUSE }, { "fd00:9::1", REUSE }, 0 },
	{ { "fe80::1%2" }, { "fe80::1%2" }, -EADDRINUSE },
	/* different addresses */
	{ { "10.9.0.1", ONLY }, { "10.9.0.2", ONLY }, 0 },
	{ { "10.9.0.1" }, { "10.9.0.2" }, 0 },
	{ { "fd00:9::1" }, { "fd00:9::2" }, 0 },
	{ { "fe80::1%2" }, { "fe80::1%3" }, 0 },
	{ { "10.9.0.1", ONLY }, { "fd00:9::1" }, 0 },
	{ { "10.9.0.1", ONLY }, { "fd00:9::1", ONLY }, 0 },
	{ { "10.9.0.1", ONLY }, { "::ffff:10.9.0.1" }, 0 },
	/* a wildcard and anything */
	{ { "0.0.0.0", ONLY }, { "0.0.0.0", ONLY }, -EADDRNOTAVAIL },
	{ { "0.0.0.0", ONLY }, { "10.9.0.1", ONLY }, -EADDRNOTAVAIL },
	{ { "::" }, { "::" }, -EADDRNOTAVAIL },
	{ { "::", ONLY }, { "::", ONLY }, -EADDRNOTAVAIL },
	{ { "::" }, { "fd00:9::1" }, -EADDRNOTAVAIL },
	{ { "0.0.0.0", ONLY, REUSE }, { "10.9.0.1", ONLY }, -EADDRNOTAVAIL },
	{ { "0.0.0.0", ONLY, REUSE }, { "10.9.0.1", ONLY, REUSE }, 0 },
	{ { "0.0.0.0", ONLY, REUSE }, { "0.0.0.0", ONLY, REUSE }, 0 },
	{ { "::", REUSE }, { "fd00:9::1", REUSE }, 0 },
	/* loopback counts as a wildcard */
	{ { "127.0.0.1", ONLY }, { "127.0.0.1", ONLY }, -EADDRNOTAVAIL },
	{ { "127.0.0.1", ONLY }, { "127.0.0.2", ONLY }, -EADDRNOTAVAIL },
	{ { "127.0.0.1", ONLY }, { "10.9.0.1", ONLY }, -EADDRNOTAVAIL },
	{ { "127.0.0.1", ONLY }, { "0.0.0.0", ONLY }, -EADDRNOTAVAIL },
	{ { "::1" }, { "fd00:9::1" }, -EADDRNOTAVAIL },
	/* the wildcards of both families */
	{ { "0.0.0.0", ONLY }, { "::" }, -EADDRNOTAVAIL },
	{ { "0.0.0.0" }, { "::" }, -EADDRNOTAVAIL },
	{ { "0.0.0.0" }, { "::", ONLY }, -EADDRNOTAVAIL },
	{ { "0.0.0.0", ONLY }, { "::", ONLY }, 0 },
	{ { "0.0.0.0", ONLY, REUSE }, { "::", REUSE }, 0 },
	{ { "10.9.0.1", ONLY }, { "::" }, -EADDRNOTAVAIL },
	{ { "10.9.0.1", ONLY }, { "::", ONLY }, 0 },
	{ { "0.0.0.0", ONLY }, { "fd00:9::1" }, -EADDRNOTAVAIL },
	{ { "0.0.0.0", ONLY }, { "fd00:9::1", ONLY }, 0 },
	/* InfiniBand addresses */
	{ { "ib:fe80::1" }, { "ib:fe80::1" }, -EADDRINUSE },
	{ { "ib:fe80::1" }, { "ib:fe80::2" }, 0 },
	{ { "ib:::" }, { "ib:fe80::1" }, -EADDRNOTAVAIL },
	{ { "ib:::" }, { "10.9.0.1", ONLY }, -EADDRNOTAVAIL },
	{ { "ib:fe80::1" }, { "10.9.0.1", ONLY }, 0 },
};

static void conflict_desc(const struct conflict_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s%s%s and %s%s%s",
		 c->a.text, c->a.reuse ? " reuse" : "", c->a.afonly ? " afonly" : "",
		 c->b.text, c->b.reuse ? " reuse" : "", c->b.afonly ? " afonly" : "");
}

KUNIT_ARRAY_PARAM(conflict, conflict_cases, conflict_desc);

static void bind_two(struct kunit *test, const struct side *first, const struct side *second,
		     int ret)
{
	struct rca_bind *a = new_bind(test, first->reuse, first->afonly);
	struct rca_bind *b = new_bind(test, second->reuse, second->afonly);

	KUNIT_ASSERT_EQ(test, 0, bind_tcp(test, a, first->text, PORT));

	KUNIT_EXPECT_EQ(test, ret, bind_tcp(test, b, second->text, PORT));
	KUNIT_EXPECT_EQ(test, !ret, rca_ports_bound(b));

	rca_ports_unbind(a);
	rca_ports_unbind(b);
}

static void bind_beside_another_follows_the_rules(struct kunit *test)
{
	const struct conflict_case *c = test->param_value;

	bind_two(test, &c->a, &c->b, c->ret);
	bind_two(test, &c->b, &c->a, c->ret);
}

static void bind_other_port_space_is_free(struct kunit *test)
{
	static const u16 spaces[] = { RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IPOIB, RDMA_PS_IB };
	int i;

	for (i = 0; i < ARRAY_SIZE(spaces); i++) {
		struct rca_bind *bind = new_bind(test, false, true);

		KUNIT_EXPECT_EQ(test, 0, bind_ps(test, bind, "10.9.0.1", PORT, spaces[i]));
		KUNIT_EXPECT_EQ(test, spaces[i], bind->ps);
	}
}

static void bind_other_port_of_the_bucket_is_free(struct kunit *test)
{
	bound(test, false, "0.0.0.0", PORT);
	bound(test, false, "0.0.0.0", PORT + 1024);
}

static void bind_after_unbind_is_free(struct kunit *test)
{
	rca_ports_unbind(bound(test, false, "10.9.0.1", PORT));
	bound(test, false, "10.9.0.1", PORT);
}

static void bind_twice_is_einval(struct kunit *test)
{
	struct rca_bind *bind = bound(test, false, "10.9.0.1", PORT);

	KUNIT_EXPECT_EQ(test, -EINVAL, bind_tcp(test, bind, "10.9.0.1", PORT + 1));
	KUNIT_EXPECT_EQ(test, PORT, port_of(bind));
}

static void bind_given_port_is_not_chosen(struct kunit *test)
{
	struct rca_bind *bind = bound(test, false, "10.9.0.1", PORT);

	KUNIT_EXPECT_FALSE(test, bind->chosen);
	KUNIT_EXPECT_EQ(test, -EINVAL, rca_ports_repick(bind));
	KUNIT_EXPECT_EQ(test, PORT, port_of(bind));
}

static void bind_unknown_space_is_eprotonosupport(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, -EPROTONOSUPPORT, bind_ps(test, new_bind(test, false, true),
							"10.9.0.1", PORT, 0x0107));
}

/* Binds without CAP_NET_BIND_SERVICE. */
static int bind_as_nobody(struct kunit *test, struct rca_bind *bind, u16 port)
{
	struct cred *cred = prepare_creds();
	const struct cred *old;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, cred);
	cap_lower(cred->cap_effective, CAP_NET_BIND_SERVICE);
	old = override_creds(cred);
	ret = bind_tcp(test, bind, "10.9.0.1", port);
	revert_creds(old);
	put_cred(cred);
	return ret;
}

static void bind_privileged_port_needs_the_capability(struct kunit *test)
{
	struct rca_bind *bind = new_bind(test, false, true);

	KUNIT_EXPECT_EQ(test, -EACCES, bind_as_nobody(test, bind, 1));
	KUNIT_EXPECT_EQ(test, -EACCES, bind_as_nobody(test, bind, 1023));
	KUNIT_EXPECT_FALSE(test, rca_ports_bound(bind));

	KUNIT_EXPECT_EQ(test, 0, bind_as_nobody(test, bind, 1024));
	rca_ports_unbind(bind);
	KUNIT_EXPECT_EQ(test, 0, bind_as_nobody(test, bind, 0));
	rca_ports_unbind(bind);
	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, bind, "10.9.0.1", 1023));
}

struct ib_case {
	const char *name;
	u16 ps;
	u64 sid;
	u64 mask;
	int ret;
	u16 want_ps;
	u64 want_sid;
};

#define ALL 0xffffffffffffffffULL

static const struct ib_case ib_cases[] = {
	{ "ib in ib", RDMA_PS_IB, 0x013f1d2f, ALL, 0, RDMA_PS_IB, 0x013f1d2f },
	{ "tcp in ib", RDMA_PS_IB, 0x01061d2f, ALL, 0, RDMA_PS_TCP, 0x01061d2f },
	{ "udp in ib", RDMA_PS_IB, 0x01111d2f, ALL, 0, RDMA_PS_UDP, 0x01111d2f },
	{ "tcp in tcp", RDMA_PS_TCP, 0x01061d2f, ALL, 0, RDMA_PS_TCP, 0x01061d2f },
	{ "udp in udp", RDMA_PS_UDP, 0x01111d2f, ALL, 0, RDMA_PS_UDP, 0x01111d2f },
	{ "port alone in tcp", RDMA_PS_TCP, 0x1d2f, 0xffff, 0, RDMA_PS_TCP, 0x01061d2f },
	{ "port alone in ib", RDMA_PS_IB, 0x1d2f, 0xffff, 0, RDMA_PS_IB, 0x013f1d2f },
	{ "ib in tcp", RDMA_PS_TCP, 0x013f1d2f, ALL, -EPROTONOSUPPORT },
	{ "udp in tcp", RDMA_PS_TCP, 0x01111d2f, ALL, -EPROTONOSUPPORT },
	{ "tcp in udp", RDMA_PS_UDP, 0x01061d2f, ALL, -EPROTONOSUPPORT },
	{ "other in ib", RDMA_PS_IB, 0x01071d2f, ALL, -EPROTONOSUPPORT },
	{ "upper half in ib", RDMA_PS_IB, 0x1013f1d2fULL, ALL, -EPROTONOSUPPORT },
	{ "any in ipoib", RDMA_PS_IPOIB, 0x1d2f, 0xffff, -EPROTONOSUPPORT },
};

static void ib_desc(const struct ib_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(ib, ib_cases, ib_desc);

static void bind_ib_service_id_chooses_the_space(struct kunit *test)
{
	const struct ib_case *c = test->param_value;
	union rca_addr *addr = rca_test_addr(test, "ib:fe80::1", 0);
	struct rca_bind *bind = new_bind(test, false, false);

	addr->ib.sib_sid = cpu_to_be64(c->sid);
	addr->ib.sib_sid_mask = cpu_to_be64(c->mask);

	KUNIT_ASSERT_EQ(test, c->ret, rca_ports_bind(bind, &init_net, c->ps, addr));

	if (c->ret)
		return;
	KUNIT_EXPECT_EQ(test, c->want_ps, bind->ps);
	KUNIT_EXPECT_EQ(test, c->want_sid, be64_to_cpu(bind->addr.ib.sib_sid));
	KUNIT_EXPECT_EQ(test, ALL, be64_to_cpu(bind->addr.ib.sib_sid_mask));
}

static void bind_port_zero_chooses_in_the_range(struct kunit *test)
{
	static const char * const texts[] = { "10.9.0.1", "fd00:9::1", "ib:fe80::1", "0.0.0.0" };
	int low, high, i;

	inet_get_local_port_range(&init_net, &low, &high);
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		struct rca_bind *bind = new_bind(test, false, false);

		KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, bind, texts[i], 0));

		KUNIT_EXPECT_TRUE(test, bind->chosen);
		KUNIT_EXPECT_GE(test, (int)port_of(bind), low);
		KUNIT_EXPECT_LE(test, (int)port_of(bind), high);
	}
}

static void any_port_is_in_the_range(struct kunit *test)
{
	int low, high, i, port;

	inet_get_local_port_range(&init_net, &low, &high);
	for (i = 0; i < ROUNDS; i++) {
		port = be16_to_cpu(rca_ports_any(&init_net));

		KUNIT_EXPECT_GE(test, port, low);
		KUNIT_EXPECT_LE(test, port, high);
	}
}

static void bind_port_zero_finds_the_last_ports_then_none(struct kunit *test)
{
	struct rca_bind *a = new_bind(test, true, true), *b = new_bind(test, true, true);
	struct rca_bind *full = new_bind(test, true, true), *other = new_bind(test, true, true);
	struct rca_bind *wildcard = new_bind(test, true, true);
	struct rca_bind *binds;
	int count;

	binds = fill_range(test, "10.9.0.1", 2, &count);

	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, a, "10.9.0.1", 0));
	KUNIT_EXPECT_EQ(test, 0, rca_ports_repick(a));
	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, b, "10.9.0.1", 0));
	KUNIT_EXPECT_NE(test, port_of(a), port_of(b));
	KUNIT_EXPECT_EQ(test, -EADDRNOTAVAIL, rca_ports_repick(a));
	KUNIT_EXPECT_TRUE(test, rca_ports_bound(a));
	/* A chosen port is never shared, although all bindings here allow reuse. */
	KUNIT_EXPECT_EQ(test, -EADDRNOTAVAIL, bind_tcp(test, full, "10.9.0.1", 0));
	KUNIT_EXPECT_FALSE(test, rca_ports_bound(full));
	KUNIT_EXPECT_EQ(test, -EADDRNOTAVAIL, bind_tcp(test, wildcard, "0.0.0.0", 0));
	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, other, "10.9.0.2", 0));

	empty_range(binds, count);
}

static void chosen_port_is_not_that_of_a_wildcard(struct kunit *test)
{
	struct rca_bind *a = new_bind(test, true, true), *b = new_bind(test, true, true);
	struct rca_bind *binds;
	int low, high, count;

	inet_get_local_port_range(&init_net, &low, &high);
	binds = fill_range(test, "0.0.0.0", 1, &count);
	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, a, "10.9.0.1", 0));
	KUNIT_EXPECT_EQ(test, high, (int)port_of(a));
	KUNIT_EXPECT_EQ(test, -EADDRNOTAVAIL, rca_ports_repick(a));
	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, b, "10.9.0.2", 0));
	KUNIT_EXPECT_EQ(test, high, (int)port_of(b));
	empty_range(binds, count);
}

static void repick_takes_another_port(struct kunit *test)
{
	struct rca_bind *bind = new_bind(test, false, true), *old = new_bind(test, false, true);
	int i;

	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, bind, "0.0.0.0", 0));
	for (i = 0; i < ROUNDS; i++) {
		u16 before = port_of(bind);

		KUNIT_ASSERT_EQ(test, 0, rca_ports_repick(bind));

		KUNIT_EXPECT_NE(test, before, port_of(bind));
		KUNIT_EXPECT_TRUE(test, bind->chosen);
		KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, old, "0.0.0.0", before));
		rca_ports_unbind(old);
	}
	KUNIT_EXPECT_EQ(test, -EADDRNOTAVAIL, bind_tcp(test, old, "0.0.0.0", port_of(bind)));
}

static void repick_unbound_is_einval(struct kunit *test)
{
	struct rca_bind *bind = new_bind(test, false, true);

	KUNIT_EXPECT_EQ(test, -EINVAL, rca_ports_repick(bind));

	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, bind, "10.9.0.1", 0));
	rca_ports_unbind(bind);
	KUNIT_EXPECT_EQ(test, -EINVAL, rca_ports_repick(bind));
}

static void unbind_twice_changes_nothing(struct kunit *test)
{
	struct rca_bind *a = new_bind(test, false, true), *b = new_bind(test, false, true);

	rca_ports_unbind(a);
	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, a, "10.9.0.1", PORT));
	rca_ports_unbind(a);
	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, b, "10.9.0.1", PORT));

	rca_ports_unbind(a);

	KUNIT_EXPECT_FALSE(test, rca_ports_bound(a));
	KUNIT_EXPECT_TRUE(test, rca_ports_bound(b));
}

static void listen_unbound_is_einval(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, -EINVAL, rca_ports_listen(new_bind(test, false, true)));
}

static void listen_alone_ends_reuse(struct kunit *test)
{
	struct rca_bind *a = bound(test, true, "10.9.0.1", PORT), *b = new_bind(test, true, true);

	KUNIT_EXPECT_EQ(test, 0, rca_ports_listen(a));

	KUNIT_EXPECT_TRUE(test, a->listening);
	KUNIT_EXPECT_EQ(test, -EADDRINUSE, bind_tcp(test, b, "10.9.0.1", PORT));
	KUNIT_EXPECT_EQ(test, -EINVAL, rca_ports_set_reuse(a, true));

	rca_ports_unlisten(a);
	KUNIT_EXPECT_FALSE(test, a->listening);
	KUNIT_EXPECT_EQ(test, -EADDRINUSE, bind_tcp(test, b, "10.9.0.1", PORT));
	KUNIT_EXPECT_EQ(test, 0, rca_ports_set_reuse(a, true));
	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, b, "10.9.0.1", PORT));
}

static void listen_on_a_shared_address_is_eaddrinuse(struct kunit *test)
{
	struct rca_bind *a = bound(test, true, "10.9.0.1", PORT);
	struct rca_bind *b = bound(test, true, "10.9.0.1", PORT);

	KUNIT_EXPECT_EQ(test, -EADDRINUSE, rca_ports_listen(a));
	KUNIT_EXPECT_FALSE(test, a->listening);
	KUNIT_EXPECT_TRUE(test, a->reuse);
	rca_ports_unbind(b);
	KUNIT_EXPECT_EQ(test, 0, rca_ports_listen(a));
}

static void listen_beside_a_wildcard_is_eaddrnotavail(struct kunit *test)
{
	struct rca_bind *a = bound(test, true, "10.9.0.1", PORT);
	struct rca_bind *b = bound(test, true, "0.0.0.0", PORT);

	KUNIT_EXPECT_EQ(test, -EADDRNOTAVAIL, rca_ports_listen(a));
	KUNIT_EXPECT_EQ(test, -EADDRNOTAVAIL, rca_ports_listen(b));
}

static void listen_beside_another_address_succeeds(struct kunit *test)
{
	struct rca_bind *a = bound(test, true, "10.9.0.1", PORT);
	struct rca_bind *b = bound(test, true, "10.9.0.2", PORT);

	KUNIT_EXPECT_EQ(test, 0, rca_ports_listen(a));
	KUNIT_EXPECT_EQ(test, 0, rca_ports_listen(b));
}

static void set_reuse_when_bound_can_only_allow_it(struct kunit *test)
{
	struct rca_bind *a = new_bind(test, false, true), *b = new_bind(test, true, true);

	KUNIT_EXPECT_EQ(test, 0, rca_ports_set_reuse(a, true));
	KUNIT_EXPECT_EQ(test, 0, rca_ports_set_reuse(a, false));
	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, a, "10.9.0.1", PORT));
	KUNIT_EXPECT_EQ(test, -EADDRINUSE, bind_tcp(test, b, "10.9.0.1", PORT));

	KUNIT_EXPECT_EQ(test, 0, rca_ports_set_reuse(a, true));
	KUNIT_EXPECT_EQ(test, -EINVAL, rca_ports_set_reuse(a, false));

	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, b, "10.9.0.1", PORT));
}

static void set_afonly_when_bound_counts_for_the_next(struct kunit *test)
{
	struct rca_bind *a = new_bind(test, false, false), *b = new_bind(test, false, true);

	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, a, "::", PORT));
	KUNIT_EXPECT_EQ(test, -EADDRNOTAVAIL, bind_tcp(test, b, "0.0.0.0", PORT));

	KUNIT_EXPECT_EQ(test, 0, rca_ports_set_afonly(a, true));

	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, b, "0.0.0.0", PORT));
}

static void set_afonly_when_listening_is_einval(struct kunit *test)
{
	struct rca_bind *bind = new_bind(test, false, false);

	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, bind, "::", PORT));
	KUNIT_EXPECT_EQ(test, 0, rca_ports_listen(bind));

	KUNIT_EXPECT_EQ(test, -EINVAL, rca_ports_set_afonly(bind, true));
	KUNIT_EXPECT_FALSE(test, bind->afonly);
}

/* A setting before the bind applies to it; unlisten has no effect. */
static void unbound_entry_keeps_what_is_set(struct kunit *test)
{
	struct rca_bind *a = new_bind(test, false, false), *b = new_bind(test, false, true);

	KUNIT_EXPECT_EQ(test, 0, rca_ports_set_afonly(a, true));
	rca_ports_unlisten(a);
	KUNIT_EXPECT_FALSE(test, rca_ports_bound(a));
	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, a, "::", PORT));
	KUNIT_EXPECT_EQ(test, 0, bind_tcp(test, b, "0.0.0.0", PORT));
}

struct bind_race {
	struct rca_bind *binds;
	union rca_addr *addr;
	atomic_t holders;
	atomic_t wins;
	atomic_t wrong;
};

/* All threads bind the same port; at most one succeeds at a time. */
static void bind_race_run(void *arg, unsigned int n)
{
	struct bind_race *race = arg;
	struct rca_bind *bind = &race->binds[n];
	int round, ret;

	for (round = 0; round < ROUNDS; round++) {
		ret = rca_ports_bind(bind, &init_net, RDMA_PS_TCP, race->addr);
		if (!ret) {
			if (atomic_inc_return(&race->holders) != 1)
				atomic_inc(&race->wrong);
			atomic_inc(&race->wins);
			cond_resched();
			atomic_dec(&race->holders);
			rca_ports_unbind(bind);
		} else if (ret != -EADDRINUSE) {
			atomic_inc(&race->wrong);
		}
	}
}

static void bind_by_many_has_one_holder(struct kunit *test)
{
	struct ports_test *ports = test->priv;
	struct bind_race race = {
		.binds = ports->binds,
		.addr = rca_test_addr(test, "10.9.0.1", PORT),
	};

	rca_race(test, 4, bind_race_run, &race);

	KUNIT_EXPECT_EQ(test, 0, atomic_read(&race.wrong));
	KUNIT_EXPECT_GT(test, atomic_read(&race.wins), 0);
}

/* All threads share the port: who stands for the others in the bucket changes all the time. */
static void share_race_run(void *arg, unsigned int n)
{
	struct bind_race *race = arg;
	struct rca_bind *bind = &race->binds[n];
	int round;

	bind->reuse = true;
	for (round = 0; round < 10 * ROUNDS; round++) {
		if (rca_ports_bind(bind, &init_net, RDMA_PS_TCP, race->addr))
			atomic_inc(&race->wrong);
		cpu_relax();
		rca_ports_unbind(bind);
		if (rca_ports_bound(bind))
			atomic_inc(&race->wrong);
	}
}

static void sharing_by_many_leaves_no_binding(struct kunit *test)
{
	struct ports_test *ports = test->priv;
	struct bind_race race = {
		.binds = ports->binds,
		.addr = rca_test_addr(test, "10.9.0.1", PORT),
	};

	rca_race(test, 4, share_race_run, &race);

	KUNIT_EXPECT_EQ(test, 0, atomic_read(&race.wrong));
	ports->used = 4;
	bound(test, false, "10.9.0.1", PORT);
}

/* Tests the lock order of two buckets. */
static void repick_race_run(void *arg, unsigned int n)
{
	struct bind_race *race = arg;
	struct rca_bind *bind = &race->binds[n];
	int round;

	if (rca_ports_bind(bind, &init_net, RDMA_PS_TCP, race->addr)) {
		atomic_inc(&race->wrong);
		return;
	}
	for (round = 0; round < ROUNDS; round++)
		if (rca_ports_repick(bind))
			atomic_inc(&race->wrong);
	rca_ports_unbind(bind);
}

static void repick_by_many_finishes(struct kunit *test)
{
	struct ports_test *ports = test->priv;
	struct bind_race race = {
		.binds = ports->binds,
		.addr = rca_test_addr(test, "0.0.0.0", 0),
	};

	rca_race(test, 4, repick_race_run, &race);

	KUNIT_EXPECT_EQ(test, 0, atomic_read(&race.wrong));
}

static struct kunit_case ports_cases[] = {
	KUNIT_CASE_PARAM(bind_beside_another_follows_the_rules, conflict_gen_params),
	KUNIT_CASE(bind_other_port_space_is_free),
	KUNIT_CASE(bind_other_port_of_the_bucket_is_free),
	KUNIT_CASE(bind_after_unbind_is_free),
	KUNIT_CASE(bind_twice_is_einval),
	KUNIT_CASE(bind_given_port_is_not_chosen),
	KUNIT_CASE(bind_unknown_space_is_eprotonosupport),
	KUNIT_CASE(bind_privileged_port_needs_the_capability),
	KUNIT_CASE_PARAM(bind_ib_service_id_chooses_the_space, ib_gen_params),
	KUNIT_CASE(bind_port_zero_chooses_in_the_range),
	KUNIT_CASE(any_port_is_in_the_range),
	KUNIT_CASE(bind_port_zero_finds_the_last_ports_then_none),
	KUNIT_CASE(chosen_port_is_not_that_of_a_wildcard),
	KUNIT_CASE(repick_takes_another_port),
	KUNIT_CASE(repick_unbound_is_einval),
	KUNIT_CASE(unbind_twice_changes_nothing),
	KUNIT_CASE(listen_unbound_is_einval),
	KUNIT_CASE(listen_alone_ends_reuse),
	KUNIT_CASE(listen_on_a_shared_address_is_eaddrinuse),
	KUNIT_CASE(listen_beside_a_wildcard_is_eaddrnotavail),
	KUNIT_CASE(listen_beside_another_address_succeeds),
	KUNIT_CASE(set_reuse_when_bound_can_only_allow_it),
	KUNIT_CASE(set_afonly_when_bound_counts_for_the_next),
	KUNIT_CASE(set_afonly_when_listening_is_einval),
	KUNIT_CASE(unbound_entry_keeps_what_is_set),
	KUNIT_CASE(bind_by_many_has_one_holder),
	KUNIT_CASE(sharing_by_many_leaves_no_binding),
	KUNIT_CASE(repick_by_many_finishes),
	{}
};

static struct kunit_suite ports_suite = {
	.name = "rdma_cm_alt_ports",
	.init = ports_init,
	.exit = ports_exit,
	.test_cases = ports_cases,
};

kunit_test_suite(ports_suite);
