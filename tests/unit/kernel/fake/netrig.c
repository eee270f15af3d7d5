// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A pair of network devices with addresses and a route, and a software RDMA
 * device on one of them. User space may not be there yet when unit tests run, so
 * the messages that its tools would send are sent here.
 *
 * Locking: none; suites run one after the other.
 */
#include "fake/netrig.h"

#include <linux/completion.h>
#include <linux/file.h>
#include <linux/if_vlan.h>
#include <linux/in6.h>
#include <linux/inet.h>
#include <linux/kthread.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/sched/task.h>
#include <linux/veth.h>
#include <net/net_namespace.h>
#include <net/netlink.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_netlink.h>

#define MESSAGE_BYTES	1024

static struct sk_buff *new_message(int type, int flags, const void *head, size_t len)
{
	struct sk_buff *skb = nlmsg_new(MESSAGE_BYTES, GFP_KERNEL);
	struct nlmsghdr *nlh;

	if (!skb)
		return NULL;
	nlh = nlmsg_put(skb, 0, 1, type, len, NLM_F_REQUEST | NLM_F_ACK | flags);
	if (len)
		memcpy(nlmsg_data(nlh), head, len);
	return skb;
}

/* The errno in the answer; what comes before it tells of changes. */
static int read_answer(struct socket *sock)
{
	char buf[MESSAGE_BYTES];
	struct kvec iov = { .iov_base = buf, .iov_len = sizeof(buf) };
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)buf;
	struct msghdr msg = {};
	int ret;

	do {
		ret = kernel_recvmsg(sock, &msg, &iov, 1, sizeof(buf), 0);
		if (ret < 0)
			return ret;
	} while (nlh->nlmsg_type != NLMSG_ERROR);
	return ((const struct nlmsgerr *)nlmsg_data(nlh))->error;
}

static int exchange(int protocol, struct sk_buff *skb)
{
	struct socket *sock;
	struct msghdr msg = {};
	struct file *file;
	struct kvec iov;
	int ret;

	ret = sock_create_kern(&init_net, AF_NETLINK, SOCK_RAW, protocol, &sock);
	if (ret)
		return ret;
	/* Whoever asks for capabilities looks at those that opened the file. */
	file = sock_alloc_file(sock, O_RDWR, NULL);
	if (IS_ERR(file))
		return PTR_ERR(file);
	nlmsg_end(skb, nlmsg_hdr(skb));
	iov = (struct kvec){ .iov_base = skb->data, .iov_len = skb->len };
	ret = kernel_sendmsg(sock, &msg, &iov, 1, skb->len);
	if (ret >= 0)
		ret = read_answer(sock);
	fput(file);
	return ret;
}

/**
 * struct request - a message that a thread sends
 * @protocol: NETLINK_*
 * @skb: the message
 * @ret: what came of it
 * @done: completed then
 */
struct request {
	int protocol;
	struct sk_buff *skb;
	int ret;
	struct completion done;
};

static int request_thread(void *data)
{
	struct request *req = data;

	req->ret = exchange(req->protocol, req->skb);
	complete(&req->done);
	return 0;
}

/*
 * Send a message and wait for the answer; frees the message, NULL: there was no memory for it.
 * In a thread, as the stack of who loads the module may be too small for a new device.
 */
static int talk(int protocol, struct sk_buff *skb)
{
	struct request req = {
		.protocol = protocol,
		.skb = skb,
		.done = COMPLETION_INITIALIZER_ONSTACK(req.done),
	};
	struct task_struct *task;

	if (!skb)
		return -ENOMEM;
	task = kthread_create(request_thread, &req, "netrig");
	if (IS_ERR(task)) {
		req.ret = PTR_ERR(task);
		goto out;
	}
	get_task_struct(task);
	wake_up_process(task);
	wait_for_completion(&req.done);
	kthread_stop(task);	/* it is on its way out of this module */
	put_task_struct(task);
out:
	nlmsg_free(skb);
	return req.ret;
}

static int add_pair(void)
{
	const struct ifinfomsg head = {};
	struct sk_buff *skb = new_message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &head,
					  sizeof(head));
	struct nlattr *info, *data, *peer;

	if (!skb)
		return -ENOMEM;
	nla_put_string(skb, IFLA_IFNAME, NETRIG_NDEV);
	info = nla_nest_start(skb, IFLA_LINKINFO);
	nla_put_string(skb, IFLA_INFO_KIND, "veth");
	data = nla_nest_start(skb, IFLA_INFO_DATA);
	peer = nla_nest_start(skb, VETH_INFO_PEER);
	nla_put_nohdr(skb, sizeof(head), &head);
	nla_put_string(skb, IFLA_IFNAME, NETRIG_OTHER);
	nla_nest_end(skb, peer);
	nla_nest_end(skb, data);
	nla_nest_end(skb, info);
	return talk(NETLINK_ROUTE, skb);
}

static int set_link(const char *name, unsigned int flags)
{
	const struct ifinfomsg head = { .ifi_flags = flags, .ifi_change = IFF_UP };
	struct sk_buff *skb = new_message(RTM_NEWLINK, 0, &head, sizeof(head));

	if (!skb)
		return -ENOMEM;
	nla_put_string(skb, IFLA_IFNAME, name);
	return talk(NETLINK_ROUTE, skb);
}

static int set_up(const char *name)
{
	return set_link(name, IFF_UP);
}

static int change_address(u16 type, u16 flags, int ifindex, u8 family, const void *addr, int len,
			  u8 prefix, u32 addr_flags)
{
	const struct ifaddrmsg head = {
		.ifa_family = family,
		.ifa_prefixlen = prefix,
		.ifa_index = ifindex,
	};
	struct sk_buff *skb = new_message(type, flags, &head, sizeof(head));

	if (!skb)
		return -ENOMEM;
	nla_put(skb, IFA_LOCAL, len, addr);
	nla_put(skb, IFA_ADDRESS, len, addr);
	nla_put_u32(skb, IFA_FLAGS, addr_flags);
	return talk(NETLINK_ROUTE, skb);
}

static int add_address(int ifindex, u8 family, const void *addr, int len, u8 prefix)
{
	return change_address(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, ifindex, family, addr, len,
			      prefix, IFA_F_NODAD);
}

static int add_route(int ifindex)
{
	const struct rtmsg head = {
		.rtm_family = AF_INET,
		.rtm_dst_len = 24,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_STATIC,
		.rtm_type = RTN_UNICAST,
	};
	struct sk_buff *skb = new_message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &head,
					  sizeof(head));

	if (!skb)
		return -ENOMEM;
	nla_put_in_addr(skb, RTA_DST, in_aton("10.78.0.0"));
	nla_put_in_addr(skb, RTA_GATEWAY, cpu_to_be32(NETRIG_GATEWAY));
	nla_put_u32(skb, RTA_OIF, ifindex);
	return talk(NETLINK_ROUTE, skb);
}

static int set_addresses(int ifindex)
{
	const __be32 ip = cpu_to_be32(NETRIG_IP);
	struct in6_addr ip6;
	int ret;

	in6_pton("fd00:77::1", -1, ip6.s6_addr, -1, NULL);
	ret = add_address(ifindex, AF_INET, &ip, sizeof(ip), 24);
	if (!ret && IS_ENABLED(CONFIG_IPV6))
		ret = add_address(ifindex, AF_INET6, &ip6, sizeof(ip6), 64);
	return ret ?: add_route(ifindex);
}

/**
 * netrig_route6() - add a route of IPv6, or take it away
 * @to: a network of 64 bits
 * @gateway: who leads there from the network device; NULL: all of it is here
 * @there: whether it is to be there
 *
 * Context: Process context. Sleeps.
 * Return: 0 or an errno.
 */
int netrig_route6(const char *to, const char *gateway, bool there)
{
	struct net_device *ndev = dev_get_by_name(&init_net, gateway ? NETRIG_NDEV : "lo");
	const struct rtmsg head = {
		.rtm_family = AF_INET6,
		.rtm_dst_len = 64,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_STATIC,
		.rtm_type = gateway ? RTN_UNICAST : RTN_LOCAL,
	};
	struct in6_addr addr;
	struct sk_buff *skb;

	if (!ndev)
		return -ENODEV;
	skb = new_message(there ? RTM_NEWROUTE : RTM_DELROUTE,
			  there ? NLM_F_CREATE | NLM_F_EXCL : 0, &head, sizeof(head));
	if (skb) {
		in6_pton(to, -1, addr.s6_addr, -1, NULL);
		nla_put_in6_addr(skb, RTA_DST, &addr);
		nla_put_u32(skb, RTA_OIF, ndev->ifindex);
	}
	if (skb && gateway) {
		in6_pton(gateway, -1, addr.s6_addr, -1, NULL);
		nla_put_in6_addr(skb, RTA_GATEWAY, &addr);
	}
	dev_put(ndev);
	return talk(NETLINK_ROUTE, skb);
}

/**
 * netrig_up() - make the network devices
 *
 * Context: Process context. Sleeps.
 * Return: 0, to be followed by netrig_down(), or an errno: the kernel may have no veth.
 */
int netrig_up(void)
{
	struct net_device *ndev;
	int ret = add_pair();

	if (ret)
		return ret;
	ret = set_up("lo") ?: set_up(NETRIG_NDEV) ?: set_up(NETRIG_OTHER);
	ndev = dev_get_by_name(&init_net, NETRIG_NDEV);
	if (!ret && ndev)
		ret = set_addresses(ndev->ifindex);
	dev_put(ndev);
	if (ret)
		netrig_down();
	return ret;
}

/**
 * netrig_down() - take the network devices away again
 *
 * Context: Process context. Sleeps.
 */
void netrig_down(void)
{
	netrig_delete_ndev(NETRIG_NDEV);
}

/**
 * netrig_delete_ndev() - take a network device away
 * @name: its name
 *
 * Context: Process context. Sleeps.
 * Return: 0 or an errno.
 */
int netrig_delete_ndev(const char *name)
{
	const struct ifinfomsg head = {};
	struct sk_buff *skb = new_message(RTM_DELLINK, 0, &head, sizeof(head));

	if (!skb)
		return -ENOMEM;
	nla_put_string(skb, IFLA_IFNAME, name);
	return talk(NETLINK_ROUTE, skb);
}

static void put_vlan(struct sk_buff *skb)
{
	const struct ifla_vlan_qos_mapping map = { .from = NETRIG_PRIO, .to = NETRIG_VLAN_PRIO };
	struct nlattr *data = nla_nest_start(skb, IFLA_INFO_DATA), *qos;

	nla_put_u16(skb, IFLA_VLAN_ID, 77);
	qos = nla_nest_start(skb, IFLA_VLAN_EGRESS_QOS);
	nla_put(skb, IFLA_VLAN_QOS_MAPPING, sizeof(map), &map);
	nla_nest_end(skb, qos);
	nla_nest_end(skb, data);
}

/**
 * netrig_add_above() - put a network device on another one, and up
 * @kind: "vlan", which has a map of priorities, or "macvlan"
 * @name: its name
 * @below: name of the other one
 *
 * Context: Process context. Sleeps.
 * Return: 0, to be followed by netrig_delete_ndev(), or an errno: the kernel may not have it.
 */
int netrig_add_above(const char *kind, const char *name, const char *below)
{
	struct net_device *ndev = dev_get_by_name(&init_net, below);
	const struct ifinfomsg head = {};
	struct nlattr *info;
	struct sk_buff *skb;

	if (!ndev)
		return -ENODEV;
	skb = new_message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(head));
	if (skb) {
		nla_put_string(skb, IFLA_IFNAME, name);
		nla_put_u32(skb, IFLA_LINK, ndev->ifindex);
		info = nla_nest_start(skb, IFLA_LINKINFO);
		nla_put_string(skb, IFLA_INFO_KIND, kind);
		if (!strcmp(kind, "vlan"))
			put_vlan(skb);
		nla_nest_end(skb, info);
	}
	dev_put(ndev);
	return talk(NETLINK_ROUTE, skb) ?: set_up(name);
}

/**
 * netrig_address() - give a network device an address, or take it away
 * @name: name of the device
 * @ip: the address; IPv4 with a prefix of 24 bits, or IPv6 with one of 64
 * @there: whether it is to have it
 *
 * Context: Process context. Sleeps.
 * Return: 0 or an errno.
 */
int netrig_address(const char *name, const char *ip, bool there)
{
	struct net_device *ndev = dev_get_by_name(&init_net, name);
	bool is_ip6 = strchr(ip, ':');
	struct in6_addr addr;
	int ret;

	if (!ndev)
		return -ENODEV;
	if (is_ip6)
		in6_pton(ip, -1, addr.s6_addr, -1, NULL);
	else
		addr.s6_addr32[0] = in_aton(ip);
	ret = change_address(there ? RTM_NEWADDR : RTM_DELADDR,
			     there ? NLM_F_CREATE | NLM_F_EXCL : 0, ndev->ifindex,
			     is_ip6 ? AF_INET6 : AF_INET, &addr, is_ip6 ? 16 : 4,
			     is_ip6 ? 64 : 24, IFA_F_NODAD);
	dev_put(ndev);
	return ret;
}

/**
 * netrig_mtu() - change the MTU of a network device
 * @name: name of the device
 * @mtu: the MTU
 *
 * Context: Process context. Takes and releases RTNL.
 * Return: 0 or an errno.
 */
int netrig_mtu(const char *name, int mtu)
{
	struct net_device *ndev = dev_get_by_name(&init_net, name);
	int ret;

	if (!ndev)
		return -ENODEV;
	rtnl_lock();
	ret = dev_set_mtu(ndev, mtu);
	rtnl_unlock();
	dev_put(ndev);
	return ret;
}

/**
 * netrig_set_link() - take the network device down, or up again
 * @up: up; addresses of IPv6, and the way over the gateway, stay away
 *
 * Context: Process context. Sleeps.
 * Return: 0 or an errno.
 */
int netrig_set_link(bool up)
{
	return set_link(NETRIG_NDEV, up ? IFF_UP : 0);
}

/**
 * netrig_set_address() - give the network device another address of IPv4, or take it away;
 * without a route to its neighbours
 * @ip: the address
 * @there: give
 *
 * Context: Process context. Sleeps.
 * Return: 0 or an errno.
 */
int netrig_set_address(u32 ip, bool there)
{
	struct net_device *ndev = dev_get_by_name(&init_net, NETRIG_NDEV);
	const __be32 addr = cpu_to_be32(ip);
	int ret;

	if (!ndev)
		return -ENODEV;
	ret = change_address(there ? RTM_NEWADDR : RTM_DELADDR, there ? NLM_F_CREATE : 0,
			     ndev->ifindex, AF_INET, &addr, sizeof(addr), 24,
			     IFA_F_NOPREFIXROUTE);
	dev_put(ndev);
	return ret;
}

/**
 * netrig_delete_route() - take away the route to the neighbours of the network device
 *
 * Context: Process context. Sleeps.
 * Return: 0 or an errno.
 */
int netrig_delete_route(void)
{
	const struct rtmsg head = {
		.rtm_family = AF_INET,
		.rtm_dst_len = 24,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_scope = RT_SCOPE_NOWHERE,
	};
	struct sk_buff *skb = new_message(RTM_DELROUTE, 0, &head, sizeof(head));

	if (!skb)
		return -ENOMEM;
	nla_put_in_addr(skb, RTA_DST, in_aton("10.77.0.0"));
	return talk(NETLINK_ROUTE, skb);
}

/**
 * netrig_suite_init() - netrig_up() for suites, whose tests look for the device
 * @suite: the suite
 *
 * Context: Process context. Sleeps.
 * Return: 0.
 */
int netrig_suite_init(struct kunit_suite *suite)
{
	netrig_up();
	return 0;
}

/**
 * netrig_suite_exit() - netrig_down() for suites
 * @suite: the suite
 *
 * Context: Process context. Sleeps.
 */
void netrig_suite_exit(struct kunit_suite *suite)
{
	netrig_down();
}

/**
 * netrig_add_rdma() - put an RDMA device on the network device
 * @kind: "rxe" or "siw"
 *
 * Context: Process context. Sleeps.
 * Return: 0 or an errno: the kernel may have no such devices.
 */
int netrig_add_rdma(const char *kind)
{
	return netrig_add_rdma_on(kind, NETRIG_NDEV);
}

/**
 * netrig_add_rdma_on() - put an RDMA device on another network device
 * @kind: "rxe" or "siw"
 * @name: name of the network device
 *
 * Context: Process context. Sleeps.
 * Return: 0 or an errno: the kernel may have no such devices.
 */
int netrig_add_rdma_on(const char *kind, const char *name)
{
	struct sk_buff *skb = new_message(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV,
							   RDMA_NLDEV_CMD_NEWLINK), 0, NULL, 0);

	if (!skb)
		return -ENOMEM;
	nla_put_string(skb, RDMA_NLDEV_ATTR_DEV_NAME, NETRIG_RDMA);
	nla_put_string(skb, RDMA_NLDEV_ATTR_LINK_TYPE, kind);
	nla_put_string(skb, RDMA_NLDEV_ATTR_NDEV_NAME, name);
	return talk(NETLINK_RDMA, skb);
}

/**
 * netrig_delete_rdma() - take it away
 *
 * Context: Process context. Sleeps until nobody uses it.
 * Return: 0, or an errno.
 */
int netrig_delete_rdma(void)
{
	struct ib_device *ibdev = ib_device_get_by_name(NETRIG_RDMA, RDMA_DRIVER_UNKNOWN);
	struct sk_buff *skb;
	u32 index;

	if (!ibdev)
		return -ENODEV;
	index = ibdev->index;
	ib_device_put(ibdev);
	skb = new_message(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_DELLINK), 0, NULL, 0);
	if (!skb)
		return -ENOMEM;
	nla_put_u32(skb, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	return talk(NETLINK_RDMA, skb);
}
