// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What messages of the generic netlink family are made of, and who may see what.
 *
 * Locking: none.
 */
#include "netlink/netlink_put.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/string.h>
#include <linux/user_namespace.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_verbs.h>

#include "lib/sockaddr.h"

/**
 * rca_nl_reader() - who reads, and what he may see
 * @cb: the dump
 *
 * Context: Process context.
 * Return: the reader.
 */
struct rca_nl_reader rca_nl_reader(struct netlink_callback *cb)
{
	struct sock *sk = NETLINK_CB(cb->skb).sk;
	struct net *net = sock_net(sk);

	return (struct rca_nl_reader){
		.net = net,
		.uid = NETLINK_CREDS(cb->skb)->uid,
		.users = sk_user_ns(sk),
		.all = netlink_ns_capable(cb->skb, net->user_ns, CAP_NET_ADMIN),
	};
}

/**
 * rca_nl_sees() - may a reader see what belongs to a user?
 * @reader: the reader
 * @uid: the user
 *
 * Context: Any context.
 * Return: true: he may.
 */
bool rca_nl_sees(const struct rca_nl_reader *reader, kuid_t uid)
{
	return reader->all || uid_eq(reader->uid, uid);
}

/**
 * rca_nl_begin() - begin a message of a dump
 * @skb: where
 * @cb: the dump
 * @cmd: its command
 *
 * Context: Process context.
 * Return: the message, for genlmsg_end() or genlmsg_cancel(); NULL: there is no room.
 */
void *rca_nl_begin(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	struct nlmsghdr *nlh = nlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
					 cb->nlh->nlmsg_type, GENL_HDRLEN, NLM_F_MULTI);
	struct genlmsghdr *hdr;

	if (!nlh)
		return NULL;
	hdr = nlmsg_data(nlh);
	*hdr = (struct genlmsghdr){ .cmd = cmd, .version = RDMA_CM_ALT_NL_VERSION };
	return (void *)hdr + GENL_HDRLEN;
}

/**
 * rca_nl_put_u64() - put a number
 * @skb: where
 * @attr: its attribute
 * @value: the number
 *
 * Context: Any context.
 * Return: 0; -EMSGSIZE: there is no room.
 */
int rca_nl_put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, RDMA_CM_ALT_NL_A_PAD);
}

/**
 * rca_nl_put_owner() - put who owns something
 * @skb: where
 * @users: how the reader calls users
 * @uid: the user
 * @pid: the process, as the reader calls it; 0: it has no name there
 * @comm: its name
 *
 * Context: Any context.
 * Return: 0; -EMSGSIZE: there is no room.
 */
int rca_nl_put_owner(struct sk_buff *skb, struct user_namespace *users, kuid_t uid,
		     pid_t pid, const char *comm)
{
	if (nla_put_u32(skb, RDMA_CM_ALT_NL_A_UID, from_kuid_munged(users, uid)) ||
	    (pid && nla_put_u32(skb, RDMA_CM_ALT_NL_A_PID, pid)))
		return -EMSGSIZE;
	return nla_put_string(skb, RDMA_CM_ALT_NL_A_COMM, comm);
}

/**
 * rca_nl_put_addr() - put an address, if there is one
 * @skb: where
 * @attr: its attribute
 * @addr: the address
 *
 * Context: Any context.
 * Return: 0; -EMSGSIZE: there is no room.
 */
int rca_nl_put_addr(struct sk_buff *skb, int attr, const union rca_addr *addr)
{
	int len = rdma_addr_size(&addr->sa);

	return len ? nla_put(skb, attr, len, addr) : 0;
}

/**
 * rca_nl_put_port() - put a port of a device
 * @skb: where
 * @ibdev: the device
 * @port: its port
 *
 * Context: Any context.
 * Return: 0; -EMSGSIZE: there is no room.
 */
int rca_nl_put_port(struct sk_buff *skb, const struct ib_device *ibdev, u32 port)
{
	char name[IB_DEVICE_NAME_MAX];

	/* It may be renamed now: this ends in any case, and where it ends is asked only once. */
	strscpy(name, ibdev->name, sizeof(name));
	return nla_put_string(skb, RDMA_CM_ALT_NL_A_DEV, name) ?:
	       nla_put_u32(skb, RDMA_CM_ALT_NL_A_PORT, port);
}
