// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/net/ports.c: random operations compared with a list of all bindings, and the
 * entries of a bucket with many bindings.
 *
 * They use init_net and release all ports; no other user of the module may be active meanwhile.
 *
 * Locking: none of their own.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <rdma/rdma_user_cm.h>

#include "fake/addresses.h"
#include "lib/testing.h"
#include "net/net.h"

#define PORT	7471
#define BINDS	24
#define ROUNDS	30000
#define MANY	10000

static const char * const texts[] = {
	"10.9.0.1", "10.9.0.2", "0.0.0.0", "127.0.0.1", "127.0.0.2", "fd00:9::1", "fd00:9::2",
	"::", "::1", "fe80::1%2", "fe80::1%3", "ib:fe80::1", "ib:fe80::2", "ib:::",
};

/* The second one is in the same bucket. */
static const u16 ports[] = { PORT, PORT + 1024, PORT + 1 };

/**
 * struct model - the bindings, and what is expected of them
 * @rnd: random numbers, the same in each run
 * @addrs: @texts
 * @binds: the bindings; their reuse, afonly and listening are expected to be those of @want
 * @want: a binding for each of @binds
 */
struct model {
	struct rnd_state rnd;
	const union rca_addr *addrs[ARRAY_SIZE(texts)];
	struct rca_bind binds[BINDS];
	struct {
		bool bound;
		bool reuse;
		bool afonly;
		bool listening;
		unsigned int addr;
		u16 port;
	} want[BINDS];
};

static bool covers_all(const struct model *m, unsigned int n)
{
	const union rca_addr *addr = m->addrs[m->want[n].addr];

	return rca_addr_is_any(addr) || rca_addr_is_loopback(addr);
}

/* Checks the result of an operation after which @n would not share with others. */
static void check_ret(struct kunit *test, int ret, unsigned int n, bool reuse)
{
	struct model *m = test->priv;
	bool in_use = false, not_avail = false;
	unsigned int i;

	for (i = 0; i < BINDS; i++) {
		if (i == n || !m->want[i].bound || m->want[i].port != m->want[n].port ||
		    (reuse && m->want[i].reuse))
			continue;
		if (m->want[i].afonly && m->want[n].afonly &&
		    m->addrs[m->want[i].addr]->sa.sa_family !=
		    m->addrs[m->want[n].addr]->sa.sa_family)
			continue;
		if (covers_all(m, i) || covers_all(m, n))
			not_avail = true;
		else if (m->want[i].addr == m->want[n].addr)
			in_use = true;
	}
	/* If there are several conflicts, the order of the bindings decides. */
	if (!in_use && !not_avail)
		KUNIT_ASSERT_EQ(test, ret, 0);
	else
		KUNIT_ASSERT_TRUE_MSG(test, (in_use && ret == -EADDRINUSE) ||
				      (not_avail && ret == -EADDRNOTAVAIL),
				      "%d for %s", ret, texts[m->want[n].addr]);
}

static void bind_random(struct kunit *test, unsigned int n)
{
	struct model *m = test->priv;
	union rca_addr addr;
	int ret;

	m->want[n].addr = prandom_u32_state(&m->rnd) % ARRAY_SIZE(texts);
	m->want[n].port = ports[prandom_u32_state(&m->rnd) % ARRAY_SIZE(ports)];
	addr = *m->addrs[m->want[n].addr];
	if (addr.sa.sa_family == AF_IB)	/* the mask selects the port alone */
		addr.ib.sib_sid = cpu_to_be64(m->want[n].port);
	else
		rca_addr_set_port(&addr, cpu_to_be16(m->want[n].port));
	ret = rca_ports_bind(&m->binds[n], &init_net, RDMA_PS_TCP, &addr);
	check_ret(test, ret, n, m->want[n].reuse);
	m->want[n].bound = !ret;
}

static void listen_random(struct kunit *test, unsigned int n)
{
	struct model *m = test->priv;
	int ret = rca_ports_listen(&m->binds[n]);

	if (m->want[n].reuse)
		check_ret(test, ret, n, false);
	else
		KUNIT_ASSERT_EQ(test, ret, 0);
	if (!ret) {
		m->want[n].reuse = false;
		m->want[n].listening = true;
	}
}

static void step(struct kunit *test)
{
	struct model *m = test->priv;
	unsigned int n = prandom_u32_state(&m->rnd) % BINDS;
	u32 op = prandom_u32_state(&m->rnd) % 16;
	bool value = prandom_u32_state(&m->rnd) % 4;

	if (!m->want[n].bound && op > 3) {
		bind_random(test, n);
	} else if (op == 0) {
		if (!rca_ports_set_reuse(&m->binds[n], value))
			m->want[n].reuse = value;
	} else if (op == 1) {
		if (!rca_ports_set_afonly(&m->binds[n], value))
			m->want[n].afonly = value;
	} else if (op < 8) {
		rca_ports_unbind(&m->binds[n]);
		m->want[n].bound = false;
		m->want[n].listening = false;
	} else if (op < 10 && m->want[n].bound) {
		listen_random(test, n);
	} else if (op < 12) {
		rca_ports_unlisten(&m->binds[n]);
		m->want[n].listening = false;
	}
	KUNIT_ASSERT_EQ(test, rca_ports_bound(&m->binds[n]), m->want[n].bound);
	KUNIT_ASSERT_EQ(test, m->binds[n].reuse, m->want[n].reuse);
	KUNIT_ASSERT_EQ(test, m->binds[n].afonly, m->want[n].afonly);
	KUNIT_ASSERT_EQ(test, m->binds[n].listening, m->want[n].listening);
}

static void conflicts_are_those_of_a_list(struct kunit *test)
{
	struct model *m = test->priv;
	unsigned int i;

	prandom_seed_state(&m->rnd, 7471);
	for (i = 0; i < ARRAY_SIZE(texts); i++)
		m->addrs[i] = rca_test_addr(test, texts[i], 0);
	for (i = 0; i < ROUNDS; i++) {
		step(test);
		cond_resched();
	}
}

static unsigned int entries(const struct rca_bind *bind)
{
	const struct hlist_node *pos;
	unsigned int count = 0;

	hlist_for_each(pos, &rca_bind_bucket(bind)->binds)
		count++;
	return count;
}

/* A bind compares as many bindings as its bucket has entries. */
static void many_that_share_an_address_are_one_entry(struct kunit *test)
{
	union rca_addr *addr = rca_test_addr(test, "10.9.0.1", PORT);
	union rca_addr *loopback = rca_test_addr(test, "127.0.0.1", PORT + 1);
	struct rca_bind *binds = kvcalloc(MANY, sizeof(*binds), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, binds);
	for (i = 0; i < MANY; i++) {
		binds[i].reuse = true;
		/* Each loopback address once. */
		loopback->in.sin_addr.s_addr = cpu_to_be32(0x7f000001 + i);
		KUNIT_EXPECT_EQ(test, 0, rca_ports_bind(&binds[i], &init_net, RDMA_PS_TCP,
							i % 2 ? addr : loopback));
		if (i == 9 || i == MANY - 1) {
			KUNIT_EXPECT_EQ(test, entries(&binds[i]), 1U);
			KUNIT_EXPECT_EQ(test, entries(&binds[i - 1]), 1U);
		}
		cond_resched();
	}
	/* From the first on, so that each is the one in the bucket when it leaves. */
	for (i = 0; i < MANY - 2; i++)
		rca_ports_unbind(&binds[i]);
	KUNIT_EXPECT_EQ(test, entries(&binds[MANY - 1]), 1U);
	KUNIT_EXPECT_EQ(test, rca_ports_listen(&binds[MANY - 1]), 0);
	KUNIT_EXPECT_EQ(test, rca_ports_listen(&binds[MANY - 2]), 0);
	rca_ports_unbind(&binds[MANY - 2]);
	rca_ports_unbind(&binds[MANY - 1]);
	kvfree(binds);
}

static int model_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct model), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, test->priv);
	return 0;
}

static void model_exit(struct kunit *test)
{
	struct model *m = test->priv;
	int i;

	for (i = 0; m && i < BINDS; i++)
		rca_ports_unbind(&m->binds[i]);
}

static struct kunit_case model_cases[] = {
	KUNIT_CASE(conflicts_are_those_of_a_list),
	KUNIT_CASE(many_that_share_an_address_are_one_entry),
	{}
};

static struct kunit_suite model_suite = {
	.name = "rdma_cm_alt_ports_model",
	.init = model_init,
	.exit = model_exit,
	.test_cases = model_cases,
};
kunit_test_suite(model_suite);
