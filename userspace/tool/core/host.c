// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* How this host reaches an address: route, neighbour, RDMA device. */
#include "tool/core/host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netlink/route/link.h>
#include <netlink/route/route.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/core/neighbour.h"
#include "tool/core/tool.h"

/* Upper bound for the number of GIDs of a device. */
#define GIDS 1024

static void add_gids(struct json_object *ports, struct ibv_context *context, uint32_t port_num)
{
	const char *name = ibv_get_device_name(context->device);
	static struct ibv_gid_entry gids[GIDS];
	struct ibv_port_attr attr = {};
	struct json_object *port;
	ssize_t count;

	if (ibv_query_port(context, port_num, &attr))
		return;
	port = json_object_new_object();
	record_put(port, "device", name);
	record_put_number(port, "port", port_num);
	record_put(port, "state", ibv_port_state_str(attr.state));
	record_put_bool(port, "active", attr.state == IBV_PORT_ACTIVE);
	record_put(port, "link_layer",
		   attr.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand");
	count = ibv_query_gid_table(context, gids, GIDS, 0);
	for (ssize_t i = 0; i < count; i++) {
		struct json_object *list = json_object_object_get(port, "netdevs");
		char netdev[IF_NAMESIZE];

		if (gids[i].port_num != port_num)
			continue;
		record_put_number(port, "gids", record_number(port, "gids") + 1);
		if (!gids[i].ndev_ifindex || !if_indextoname(gids[i].ndev_ifindex, netdev))
			continue;
		if (!list) {
			list = json_object_new_object();
			json_object_object_add(port, "netdevs", list);
		}
		/* The value is the index of the first GID that has this network device. */
		if (!json_object_object_get(list, netdev))
			record_put_number(list, netdev, gids[i].gid_index);
	}
	json_object_array_add(ports, port);
}

static int by_name(const void *one, const void *two)
{
	return strverscmp(ibv_get_device_name(*(struct ibv_device * const *)one),
			  ibv_get_device_name(*(struct ibv_device * const *)two));
}

struct ibv_device **host_devices(int *count)
{
	struct ibv_device **list = ibv_get_device_list(count);

	if (!list)
		*count = 0;
	else
		qsort(list, *count, sizeof(*list), by_name);
	return list;
}

struct json_object *host_ports(void)
{
	struct json_object *ports = json_object_new_array();
	struct ibv_device **list;
	int count;

	list = host_devices(&count);
	for (int i = 0; i < count; i++) {
		struct ibv_context *context = ibv_open_device(list[i]);
		struct ibv_device_attr attr = {};

		if (!context) {
			struct json_object *port = json_object_new_object();

			record_put(port, "device", ibv_get_device_name(list[i]));
			record_put(port, "error", strerror(errno));
			json_object_array_add(ports, port);
			continue;
		}
		ibv_query_device(context, &attr);
		for (uint32_t port = 1; port <= attr.phys_port_cnt; port++)
			add_gids(ports, context, port);
		ibv_close_device(context);
	}
	if (list)
		ibv_free_device_list(list);
	return ports;
}

/* IPoIB: the GID table names no network device, but sysfs has the device of each interface. */
static bool is_ipoib_of(const char *netdev, const char *device, int port)
{
	char path[256], text[16];

	snprintf(path, sizeof(path), "/sys/class/net/%s/device/infiniband/%s", netdev, device);
	if (access(path, F_OK))
		return false;
	snprintf(path, sizeof(path), "/sys/class/net/%s/dev_port", netdev);
	return text_read_line(path, text, sizeof(text)) && atoi(text) + 1 == port;
}

static void put_device(struct json_object *path, const char *netdev)
{
	struct json_object *ports = host_ports();

	for (size_t i = 0; i < json_object_array_length(ports); i++) {
		struct json_object *port = json_object_array_get_idx(ports, i);
		struct json_object *netdevs = json_object_object_get(port, "netdevs");
		const char *device = record_string(port, "device");
		int number = record_number(port, "port");

		if (!(netdevs && json_object_object_get(netdevs, netdev)) &&
		    !is_ipoib_of(netdev, device, number))
			continue;
		record_put(path, "device", device);
		record_put_number(path, "port", number);
		record_put(path, "port_state", record_string(port, "state"));
		record_put_bool(path, "active", record_number(port, "active"));
		break;
	}
	json_object_put(ports);
}

static void put_link(struct json_object *path, struct nl_sock *sock, int ifindex)
{
	struct rtnl_link *link;

	if (rtnl_link_get_kernel(sock, ifindex, NULL, &link))
		return;
	record_put(path, "netdev", rtnl_link_get_name(link));
	record_put(path, "link", rtnl_link_get_flags(link) & IFF_RUNNING ? "up" : "down");
	put_device(path, rtnl_link_get_name(link));
	rtnl_link_put(link);
}

/*
 * Returns the interface that has an address of this host, because a local route has lo as its
 * device. 0: the address is not local, or with @scope: not on that interface.
 */
static int owner_of(struct nl_addr *address, unsigned int scope)
{
	struct ifaddrs *list;
	int ifindex = 0;

	if (getifaddrs(&list))
		return 0;
	for (struct ifaddrs *entry = list; entry && !ifindex; entry = entry->ifa_next) {
		const struct sockaddr_in6 *in6 = (void *)entry->ifa_addr;
		const struct sockaddr_in *in = (void *)entry->ifa_addr;
		const void *bytes = !in || in->sin_family != nl_addr_get_family(address) ? NULL :
				    in->sin_family == AF_INET6 ? (void *)&in6->sin6_addr :
								 (void *)&in->sin_addr;

		if (bytes && (!scope || in6->sin6_scope_id == scope) &&
		    !memcmp(bytes, nl_addr_get_binary_addr(address), nl_addr_get_len(address)))
			ifindex = if_nametoindex(entry->ifa_name);
	}
	freeifaddrs(list);
	return ifindex;
}

static void put_route(struct json_object *path, struct nl_sock *sock, struct nl_addr *dst,
		      const struct address *ask)
{
	struct rtnl_nexthop *hop;
	struct rtnl_route *route;
	struct nl_addr *gateway;
	char text[64];
	int ifindex, ret;

	ret = rtnl_route_lookup(sock, dst, &route);

	/* libnl has no code for ENETUNREACH and returns NLE_FAILURE. */
	if (ret || !rtnl_route_get_nnexthops(route)) {
		record_put(path, "route", ret == -NLE_FAILURE ? "there is none" :
				   ret ? nl_geterror(ret) : "it leads nowhere");
		return;
	}
	hop = rtnl_route_nexthop_n(route, 0);
	gateway = rtnl_route_nh_get_gateway(hop);
	ifindex = rtnl_route_nh_get_ifindex(hop);
	if (rtnl_route_get_type(route) == RTN_LOCAL) {
		record_put_bool(path, "local", true);
		ifindex = owner_of(dst, 0) ?: ifindex;
	}
	if (gateway)
		record_put(path, "gateway", nl_addr2str(gateway, text, sizeof(text)));
	if (rtnl_route_get_pref_src(route))
		record_put(path, "source",
			   nl_addr2str(rtnl_route_get_pref_src(route), text, sizeof(text)));
	put_link(path, sock, ifindex);
	if (rtnl_route_get_type(route) == RTN_UNICAST)
		neighbour_put(path, sock, ifindex, gateway ?: dst, ask);
	rtnl_route_put(route);
}

/* The interface of a link-local address determines the path; there is no route lookup. */
static void put_scope(struct json_object *path, struct nl_sock *sock, struct nl_addr *dst,
		      unsigned int scope, const struct address *ask)
{
	put_link(path, sock, scope);
	if (owner_of(dst, scope))
		record_put_bool(path, "local", true);
	else
		neighbour_put(path, sock, scope, dst, ask);
}

struct json_object *host_path(const struct address *dst, bool ask)
{
	struct json_object *path = json_object_new_object();
	const struct sockaddr_in6 *in6 = (const void *)&dst->addr;
	const struct sockaddr_in *in = (const void *)&dst->addr;
	struct nl_sock *sock = nl_socket_alloc();
	unsigned int scope = address_scope(dst);
	struct nl_addr *addr;

	record_put(path, "address", dst->text);
	addr = in->sin_family == AF_INET6 ? nl_addr_build(AF_INET6, &in6->sin6_addr, 16) :
					    nl_addr_build(AF_INET, &in->sin_addr, 4);
	if (!sock || !addr || nl_connect(sock, NETLINK_ROUTE))
		record_put(path, "route", "netlink cannot be reached");
	else if (scope)
		put_scope(path, sock, addr, scope, ask ? dst : NULL);
	else if (address_is_link_local(dst))
		record_put(path, "route", "a link-local address needs its interface: fe80::1%eth0");
	else
		put_route(path, sock, addr, ask ? dst : NULL);
	nl_addr_put(addr);
	nl_socket_free(sock);
	return path;
}
