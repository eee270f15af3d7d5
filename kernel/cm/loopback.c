// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Replacement of a loopback address by an address of a device: 127.0.0.1 and ::1 are never sent to
 * a peer, which would not accept them.
 *
 * Locking: rca_id.op.
 */
#include "cm/loopback.h"

#include <linux/netdevice.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "ip/ipoib.h"
#include "ip/iwport.h"
#include "transport/devices.h"

/* Returns the network device of a GID if it is up and in @net, else 0. */
static int gid_ifindex(const struct ib_gid_attr *attr, struct net *net)
{
	struct net_device *ndev;
	int ifindex = 0;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (!IS_ERR(ndev) && net_eq(dev_net(ndev), net) && READ_ONCE(ndev->flags) & IFF_UP)
		ifindex = ndev->ifindex;
	rcu_read_unlock();
	return ifindex;
}

/*
 * Is the address assigned to the interface? Ports also have GIDs that no interface has as an
 * address.
 */
static bool is_assigned(struct net *net, const union rca_addr *addr, int ifindex)
{
	struct rdma_dev_addr found = { .net = net };

	return !rdma_translate_ip(&addr->sa, &found) && found.bound_dev_if == ifindex;
}

static bool usable_addr(const struct ib_gid_attr *attr, struct net *net, sa_family_t family,
			bool linklocal, union rca_addr *addr)
{
	int ifindex = gid_ifindex(attr, net);

	memset(addr, 0, sizeof(*addr));
	if (!ifindex)
		return false;
	rdma_gid2ip((struct sockaddr *)addr, &attr->gid);
	if (addr->sa.sa_family != family || rca_addr_is_linklocal(addr) != linklocal)
		return false;
	if (linklocal)
		addr->in6.sin6_scope_id = ifindex;
	return is_assigned(net, addr, ifindex);
}

static bool find_on_port(struct ib_device *ibdev, u32 port, struct net *net, sa_family_t family,
			 bool linklocal, union rca_addr *addr)
{
	int len = ibdev->port_data[port].immutable.gid_tbl_len;
	const struct ib_gid_attr *attr;
	enum ib_port_state state;
	bool found = false;
	int i;

	if (ib_get_cached_port_state(ibdev, port, &state) || state != IB_PORT_ACTIVE)
		return false;
	if (rdma_protocol_ib(ibdev, port))
		return rca_ipoib_ip(ibdev, port, net, family, linklocal, addr);
	if (rdma_protocol_iwarp(ibdev, port))
		return rca_iwport_ip(ibdev, port, net, family, linklocal, addr);
	for (i = 0; i < len && !found; i++) {
		attr = rdma_get_gid_attr(ibdev, port, i);
		if (IS_ERR(attr))
			continue;
		found = usable_addr(attr, net, family, linklocal, addr);
		rdma_put_gid_attr(attr);
	}
	return found;
}

static bool find_addr(struct net *net, sa_family_t family, bool linklocal, union rca_addr *addr)
{
	struct rca_device *dev = NULL;
	u32 port;

	while ((dev = rca_device_next(dev))) {
		if (!rdma_dev_access_netns(dev->ibdev, net))
			continue;
		rdma_for_each_port(dev->ibdev, port) {
			if (find_on_port(dev->ibdev, port, net, family, linklocal, addr)) {
				rca_device_put(dev);
				return true;
			}
		}
	}
	return false;
}

/**
 * rca_loopback_addr() - replace a loopback address by an address of a device
 * @id: the id
 * @addr: loopback or wildcard address, IPv4 or IPv6; its port is kept
 *
 * Uses the address of the id if it is bound to a device, else the first address of the family on
 * the first active port that has one in the namespace of the id; a link-local address only if there
 * is no other.
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 * Return: 0, or -ENODEV if no device has such an address.
 */
int rca_loopback_addr(struct rca_id *id, union rca_addr *addr)
{
	sa_family_t family = addr->sa.sa_family;
	union rca_addr own;

	lockdep_assert_held(&id->op);
	if (id->dev) {
		rca_addr_set_ip(addr, &id->local);
		return 0;
	}
	if (!find_addr(id->net, family, false, &own) &&
	    (family != AF_INET6 || !find_addr(id->net, family, true, &own)))
		return -ENODEV;
	rca_addr_set_ip(addr, &own);
	return 0;
}
