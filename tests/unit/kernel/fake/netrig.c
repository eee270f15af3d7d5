// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A pair of network devices with addresses and a route, and a software RDMA device on
 * one of them. Unit tests may run before there is a user space, so this file sends the
 * netlink messages that "ip" and "rdma" would. The functions are for process context,
 * sleep, and return 0 or an errno: that of the kernel, which may lack such devices.
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

/* Returns the errno of the answer; notifications of changes come before it. */
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
	/* Capabilities are checked for the credentials that opened the file. */
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
 * @ret: the result
 * @done: completed when @ret is set
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
 * Sends a message, waits for the answer, and frees the message; NULL: -ENOMEM. It runs in a
 * thread, as the stack of the task that loads the module may be too small for a new device.
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
	kthread_stop(task);	/* until it has left this module */
	put_task_struct(task);
out:
	nlmsg_free(skb);
	return req.ret;
}

/* A message about a network device; NULL: no memory, as talk() takes it. */
static struct sk_buff *link_message(int type, int flags, const struct ifinfomsg *head,
				    const char *name)
{
	struct sk_buff *skb = new_message(type, flags, head, sizeof(*head));

	if (skb)
		nla_put_string(skb, IFLA_IFNAME, name);
	return skb;
}

static int add_pair(void)
{
	const struct ifinfomsg head = {};
	struct sk_buff *skb = link_message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &head,
					   NETRIG_NDEV);
	struct nlattr *info, *data, *peer;

	if (!skb)
		return -ENOMEM;
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

	return talk(NETLINK_ROUTE, link_message(RTM_NEWLINK, 0, &head, name));
}

static int set_up(const char *name)
{
	return set_link(name, IFF_UP);
}

/* Gives @name an address, or takes it away. */
static int change_address(const char *name, u8 family, const void *addr, bool there, u32 addr_flags)
{
	struct net_device *ndev = dev_get_by_name(&init_net, name);
	int len = family == AF_INET ? 4 : 16;
	struct ifaddrmsg head = {
		.ifa_family = family,
		.ifa_prefixlen = family == AF_INET ? 24 : 64,
	};
	struct sk_buff *skb;

	if (!ndev)
		return -ENODEV;
	head.ifa_index = ndev->ifindex;
	dev_put(ndev);
	skb = new_message(there ? RTM_NEWADDR : RTM_DELADDR,
			  there ? NLM_F_CREATE | NLM_F_EXCL : 0, &head, sizeof(head));
	if (skb) {
		nla_put(skb, IFA_LOCAL, len, addr);
		nla_put(skb, IFA_ADDRESS, len, addr);
		nla_put_u32(skb, IFA_FLAGS, addr_flags);
	}
	return talk(NETLINK_ROUTE, skb);
}

/* An address of IPv4 with a prefix of 24 bits, or of IPv6 with one of 64. */
int netrig_address(const char *name, const char *ip, bool there)
{
	bool is_ip6 = strchr(ip, ':');
	struct in6_addr addr;

	if (is_ip6)
		in6_pton(ip, -1, addr.s6_addr, -1, NULL);
	else
		addr.s6_addr32[0] = in_aton(ip);
	return change_address(name, is_ip6 ? AF_INET6 : AF_INET, &addr, there, IFA_F_NODAD);
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
	int ret = netrig_address(NETRIG_NDEV, "10.77.0.1", true);

	if (!ret && IS_ENABLED(CONFIG_IPV6))
		ret = netrig_address(NETRIG_NDEV, "fd00:77::1", true);
	return ret ?: add_route(ifindex);
}

/*
 * Adds or deletes a route of IPv6 to the network @to of 64 bits: through a gateway on
 * NETRIG_NDEV, or without one, a local route.
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

/* Creates the network devices. After success, netrig_down() must follow. */
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

void netrig_down(void)
{
	netrig_delete_ndev(NETRIG_NDEV);
}

int netrig_delete_ndev(const char *name)
{
	const struct ifinfomsg head = {};

	return talk(NETLINK_ROUTE, link_message(RTM_DELLINK, 0, &head, name));
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

/*
 * Creates a network device on top of another one, and sets it up: @kind is "vlan", with a map
 * of priorities, or "macvlan". After success, netrig_delete_ndev() must follow.
 */
int netrig_add_above(const char *kind, const char *name, const char *below)
{
	struct net_device *ndev = dev_get_by_name(&init_net, below);
	const struct ifinfomsg head = {};
	struct nlattr *info;
	struct sk_buff *skb;

	if (!ndev)
		return -ENODEV;
	skb = link_message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &head, name);
	if (skb) {
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

/* Sets NETRIG_NDEV up or down. Its addresses of IPv6 and its gateway do not come back. */
int netrig_set_link(bool up)
{
	return set_link(NETRIG_NDEV, up ? IFF_UP : 0);
}

/* Gives NETRIG_NDEV another address of IPv4, without a route to its network, or takes it away. */
int netrig_set_address(u32 ip, bool there)
{
	const __be32 addr = cpu_to_be32(ip);

	return change_address(NETRIG_NDEV, AF_INET, &addr, there, IFA_F_NOPREFIXROUTE);
}

/* Deletes the route to the network of NETRIG_NDEV. */
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

/* For suites whose tests look NETRIG_NDEV up. */
int netrig_suite_init(struct kunit_suite *suite)
{
	netrig_up();
	return 0;
}

void netrig_suite_exit(struct kunit_suite *suite)
{
	netrig_down();
}

/* Creates an RDMA device on NETRIG_NDEV: @kind is "rxe" or "siw". */
int netrig_add_rdma(const char *kind)
{
	return netrig_add_rdma_on(kind, NETRIG_NDEV);
}

/* The same on another network device. */
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

static struct ib_device *found;

static int look_at(struct ib_device *ibdev)
{
	if (!strcmp(dev_name(&ibdev->dev), NETRIG_RDMA) && ib_device_try_get(ibdev))
		found = ibdev;
	return 0;
}

/*
 * The RDMA device with a reference, which ib_device_put() gives back, or NULL. A client is told of
 * all devices; the core of newer kernels exports no search by name.
 */
struct ib_device *netrig_get_rdma(void)
{
	struct ib_client client = { .name = "kunit", .add = look_at };

	found = NULL;
	if (!ib_register_client(&client))
		ib_unregister_client(&client);
	return found;
}

/* Sleeps until the device has no users. */
int netrig_delete_rdma(void)
{
	struct ib_device *ibdev = netrig_get_rdma();
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
