// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Port tables, one for each network namespace and port space. All bindings of a port
 * are in one bucket. A table is allocated when its namespace binds the first port in
 * its port space.
 *
 * Locking: none; the pointer to a table is set once.
 */
#include "ip/porttable.h"

#include <linux/bug.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <net/netns/generic.h>
#include <rdma/ib.h>
#include <rdma/rdma_user_cm.h>

#define RCA_BUCKETS 1024

/* Indices of the port spaces RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IPOIB and RDMA_PS_IB. */
enum rca_space {
	RCA_SPACE_TCP,
	RCA_SPACE_UDP,
	RCA_SPACE_IPOIB,
	RCA_SPACE_IB,
	RCA_SPACES,
};

/**
 * struct rca_ports_net - the tables of a network namespace
 * @table: RCA_BUCKETS buckets, or NULL: not allocated yet (set once, by cmpxchg)
 */
struct rca_ports_net {
	struct rca_bucket *table[RCA_SPACES];
};

static unsigned int rca_ports_net_id __read_mostly;

static int rca_ports_space(u16 ps)
{
	switch (ps) {
	case RDMA_PS_TCP:
		return RCA_SPACE_TCP;
	case RDMA_PS_UDP:
		return RCA_SPACE_UDP;
	case RDMA_PS_IPOIB:
		return RCA_SPACE_IPOIB;
	case RDMA_PS_IB:
		return RCA_SPACE_IB;
	default:
		return -EPROTONOSUPPORT;
	}
}

/**
 * rca_ports_select_ib() - determine the port space of an AF_IB address
 * @ps: port space of the id; replaced by that of the service ID. RDMA_PS_IB may use three
 *      port spaces, the others only their own
 * @sib: the address; service ID and mask are completed
 *
 * Context: any.
 * Return: 0; -EPROTONOSUPPORT: the service ID is of a port space that @ps may not use.
 */
int rca_ports_select_ib(u16 *ps, struct sockaddr_ib *sib)
{
	static const u16 spaces[] = { RDMA_PS_IB, RDMA_PS_TCP, RDMA_PS_UDP };
	u64 mask = be64_to_cpu(sib->sib_sid_mask);
	u64 sid = be64_to_cpu(sib->sib_sid) & mask;
	int i;

	for (i = 0; i < ARRAY_SIZE(spaces); i++) {
		u64 space = (u64)spaces[i] << 16;

		if (*ps != RDMA_PS_IB && *ps != spaces[i])
			continue;
		if ((sid & ~(u64)U16_MAX) != (space & mask))
			continue;
		*ps = spaces[i];
		sib->sib_sid = cpu_to_be64(space | (sid & U16_MAX));
		sib->sib_sid_mask = cpu_to_be64(mask | ~(u64)U16_MAX);
		return 0;
	}
	return -EPROTONOSUPPORT;
}

/**
 * rca_ports_table() - get the table of a namespace and port space, or allocate it
 * @net: the namespace
 * @ps: the port space
 *
 * Context: process context; may sleep.
 * Return: the buckets; ERR_PTR(): -EPROTONOSUPPORT: unknown port space; -ENOMEM.
 */
struct rca_bucket *rca_ports_table(struct net *net, u16 ps)
{
	struct rca_ports_net *ports = net_generic(net, rca_ports_net_id);
	struct rca_bucket *table, *other;
	int space = rca_ports_space(ps);
	int i;

	if (space < 0)
		return ERR_PTR(space);
	table = READ_ONCE(ports->table[space]); /* pairs with cmpxchg() below */
	if (table)
		return table;

	table = kvcalloc(RCA_BUCKETS, sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < RCA_BUCKETS; i++) {
		spin_lock_init(&table[i].lock);
		INIT_HLIST_HEAD(&table[i].binds);
	}
	other = cmpxchg(&ports->table[space], NULL, table);
	if (other) {
		kvfree(table);
		return other;
	}
	return table; /* freed in rca_ports_net_exit() */
}

/* The bucket of a port. */
struct rca_bucket *rca_ports_bucket(struct rca_bucket *table, u16 port)
{
	return &table[port % RCA_BUCKETS];
}

/* The table of a binding that is, or was, bound. Its namespace must be referenced. Any context. */
struct rca_bucket *rca_bind_table(const struct rca_bind *bind)
{
	struct rca_ports_net *ports = net_generic(bind->net, rca_ports_net_id);

	return READ_ONCE(ports->table[rca_ports_space(bind->ps)]);
}

/* The bucket of such a binding. */
struct rca_bucket *rca_bind_bucket(const struct rca_bind *bind)
{
	return rca_ports_bucket(rca_bind_table(bind), be16_to_cpu(rca_addr_port(&bind->addr)));
}

static void __net_exit rca_ports_net_exit(struct net *net)
{
	struct rca_ports_net *ports = net_generic(net, rca_ports_net_id);
	int space, i;

	for (space = 0; space < RCA_SPACES; space++) {
		struct rca_bucket *table = ports->table[space];

		/* The owner of a binding references the namespace. */
		for (i = 0; table && i < RCA_BUCKETS; i++)
			WARN_ON_ONCE(!hlist_empty(&table[i].binds));
		kvfree(table);
	}
}

static struct pernet_operations rca_ports_net_ops = {
	.exit = rca_ports_net_exit,
	.id = &rca_ports_net_id,
	.size = sizeof(struct rca_ports_net),
};

/* Module init, before any id exists. Returns 0 or a negative errno. */
int __init rca_ports_init(void)
{
	return register_pernet_subsys(&rca_ports_net_ops);
}

/* Module exit, after the last id. */
void rca_ports_exit(void)
{
	unregister_pernet_subsys(&rca_ports_net_ops);
}
