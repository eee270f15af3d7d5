// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A pair of network devices with addresses and a route, and a software RDMA
 * device on one of them. User space may not be there yet when unit tests run, so
 * the messages that its tools would send are sent here.
 *
 * Locking: none; suites run one after the other.
 */
#include "netrig.h"

#include <linux/completion.h>
#include <linux/file.h>
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

#define NDEV_PEER	"kunit1"
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
	nla_put_string(skb, IFLA_IFNAME, NDEV_PEER);
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
	ret = set_link("lo", IFF_UP) ?: set_link(NETRIG_NDEV, IFF_UP) ?:
	      set_link(NDEV_PEER, IFF_UP);
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
	const struct ifinfomsg head = {};
	struct sk_buff *skb = new_message(RTM_DELLINK, 0, &head, sizeof(head));

	if (!skb)
		return;
	nla_put_string(skb, IFLA_IFNAME, NETRIG_NDEV);
	talk(NETLINK_ROUTE, skb);
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
	struct sk_buff *skb = new_message(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV,
							   RDMA_NLDEV_CMD_NEWLINK), 0, NULL, 0);

	if (!skb)
		return -ENOMEM;
	nla_put_string(skb, RDMA_NLDEV_ATTR_DEV_NAME, NETRIG_RDMA);
	nla_put_string(skb, RDMA_NLDEV_ATTR_LINK_TYPE, kind);
	nla_put_string(skb, RDMA_NLDEV_ATTR_NDEV_NAME, NETRIG_NDEV);
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
	struct net_device *ndev = dev_get_by_name(&init_net, NETRIG_NDEV);
	struct ib_device *ibdev;
	struct sk_buff *skb;
	u32 index;

	ibdev = ndev ? ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN) : NULL;
	dev_put(ndev);
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
