// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Common parts of the dumps: access rights of the reader, the walk over contexts,
 * messages and attributes.
 *
 * Locking: none.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/string.h>
#include <linux/user_namespace.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_verbs.h>

#include "ctx/objects.h"
#include "diag/netlink.h"
#include "lib/sockaddr.h"
#include "transport/devices.h"

/*
 * Set when module init can no longer fail. A dump holds a reference on the module for as long as
 * its reader likes, but a module whose init fails is freed in spite of references.
 */
static bool dumps_allowed;

/**
 * rca_nl_start() - start() of a dump
 * @cb: state of the dump
 *
 * Context: Process context.
 * Return: 0; -EAGAIN while the module is being loaded.
 */
int rca_nl_start(struct netlink_callback *cb)
{
	if (READ_ONCE(dumps_allowed))
		return 0;
	NL_SET_ERR_MSG(cb->extack, "the module is being loaded: try again");
	return -EAGAIN;
}

/* Module init can no longer fail. */
void rca_nl_allow_dumps(void)
{
	WRITE_ONCE(dumps_allowed, true);
}

/**
 * rca_nl_dump_start() - begin or continue a dump
 * @skb: message buffer to fill
 * @cb: state of the dump
 *
 * Context: Process context.
 * Return: the dump, with the access rights of its reader.
 */
struct rca_nl_dump rca_nl_dump_start(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct sock *sk = NETLINK_CB(cb->skb).sk;
	struct net *net = sock_net(sk);

	return (struct rca_nl_dump){
		.skb = skb,
		.cb = cb,
		.net = net,
		.uid = NETLINK_CREDS(cb->skb)->uid,
		.userns = sk_user_ns(sk),
		.all = netlink_ns_capable(cb->skb, net->user_ns, CAP_NET_ADMIN),
	};
}

/**
 * rca_nl_may_see() - check whether the reader may see objects of a user
 * @dump: the dump
 * @uid: the user
 *
 * Context: Any context.
 * Return: true: the reader may.
 */
bool rca_nl_may_see(const struct rca_nl_dump *dump, kuid_t uid)
{
	return dump->all || uid_eq(dump->uid, uid);
}

/**
 * rca_nl_dump_ctxs() - dump objects of the contexts that the reader may see
 * @skb: message buffer to fill
 * @cb: state of the dump
 * @dump_ctx: puts the messages of a context, from cb->args[RCA_NL_POS] on
 * @arg: for @dump_ctx
 *
 * Contexts come in the order in which they were opened.
 *
 * Context: Process context. Sleeps.
 * Return: the length of @skb; 0: the dump is complete; or a negative errno.
 */
int rca_nl_dump_ctxs(struct sk_buff *skb, struct netlink_callback *cb,
		     int (*dump_ctx)(const struct rca_nl_dump *dump, struct rca_ctx *ctx,
				     const void *arg),
		     const void *arg)
{
	const struct rca_nl_dump dump = rca_nl_dump_start(skb, cb);
	struct rca_ctx *ctx = NULL;
	int ret = 0;

	while ((ctx = rca_ctx_next(ctx, cb->args[RCA_NL_DONE]))) {
		if (cb->args[RCA_NL_CTX] != ctx->serial) {
			cb->args[RCA_NL_CTX] = ctx->serial;
			cb->args[RCA_NL_POS] = 0;
		}
		if (rca_nl_may_see(&dump, ctx->uid))
			ret = dump_ctx(&dump, ctx, arg);
		if (ret) {
			rca_ctx_put(ctx);	/* got by rca_ctx_next() */
			break;
		}
		cb->args[RCA_NL_DONE] = ctx->serial;
		cond_resched();
	}
	return ret && !skb->len ? ret : skb->len;
}

/**
 * rca_nl_msg_begin() - begin a message of a dump
 * @dump: the dump
 * @cmd: command of the message
 *
 * Context: Process context.
 * Return: the message, for rca_nl_msg_end(); NULL: the buffer is full.
 */
void *rca_nl_msg_begin(const struct rca_nl_dump *dump, u8 cmd)
{
	struct netlink_callback *cb = dump->cb;
	struct nlmsghdr *nlh = nlmsg_put(dump->skb, NETLINK_CB(cb->skb).portid,
					 cb->nlh->nlmsg_seq, cb->nlh->nlmsg_type, GENL_HDRLEN,
					 NLM_F_MULTI);
	struct genlmsghdr *hdr;

	if (!nlh)
		return NULL;
	hdr = nlmsg_data(nlh);
	*hdr = (struct genlmsghdr){ .cmd = cmd, .version = RDMA_CM_ALT_NL_VERSION };
	return (void *)hdr + GENL_HDRLEN;
}

/**
 * rca_nl_msg_end() - complete a message of a dump, or remove it
 * @dump: the dump
 * @msg: the message
 * @ret: 0, or the errno with which its attributes failed
 *
 * Context: Process context.
 * Return: @ret.
 */
int rca_nl_msg_end(const struct rca_nl_dump *dump, void *msg, int ret)
{
	if (ret)
		genlmsg_cancel(dump->skb, msg);
	else
		genlmsg_end(dump->skb, msg);
	return ret;
}

/*
 * The functions below put attributes, in any context. They return 0, or -EMSGSIZE
 * when the buffer is full.
 */

int rca_nl_put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, RDMA_CM_ALT_NL_A_PAD);
}

/*
 * User, process and program. @userns is the user namespace in which @uid is reported;
 * @pid is the process in the PID namespace of the reader, or 0 when it is not visible there.
 */
int rca_nl_put_owner(struct sk_buff *skb, struct user_namespace *userns, kuid_t uid,
		     pid_t pid, const char *comm)
{
	if (nla_put_u32(skb, RDMA_CM_ALT_NL_A_UID, from_kuid_munged(userns, uid)) ||
	    (pid && nla_put_u32(skb, RDMA_CM_ALT_NL_A_PID, pid)))
		return -EMSGSIZE;
	return nla_put_string(skb, RDMA_CM_ALT_NL_A_COMM, comm);
}

int rca_nl_put_ctx_owner(const struct rca_nl_dump *dump, const struct rca_ctx *ctx)
{
	return rca_nl_put_owner(dump->skb, dump->userns, ctx->uid, pid_vnr(ctx->pid), ctx->comm);
}

/* Nothing is put for an address without a family. */
int rca_nl_put_addr(struct sk_buff *skb, int attr, const union rca_addr *addr)
{
	int len = rdma_addr_size(&addr->sa);

	return len ? nla_put(skb, attr, len, addr) : 0;
}

int rca_nl_put_port(struct sk_buff *skb, const struct ib_device *ibdev, u32 port)
{
	char name[IB_DEVICE_NAME_MAX];

	/* A rename may be under way: the copy is terminated, and its length is read only once. */
	strscpy(name, ibdev->name, sizeof(name));
	return nla_put_string(skb, RDMA_CM_ALT_NL_A_DEV, name) ?:
	       nla_put_u32(skb, RDMA_CM_ALT_NL_A_PORT, port);
}

static int put_number(struct sk_buff *skb, int attr, u32 number)
{
	return number ? nla_put_u32(skb, attr, number) : 0;
}

/* Those of a connection that it has. */
int rca_nl_put_numbers(struct sk_buff *skb, const struct rca_tp_numbers *numbers)
{
	return put_number(skb, RDMA_CM_ALT_NL_A_COMM_ID, numbers->comm_id) ?:
	       put_number(skb, RDMA_CM_ALT_NL_A_REMOTE_COMM_ID, numbers->remote_comm_id) ?:
	       put_number(skb, RDMA_CM_ALT_NL_A_SESSION, numbers->session) ?:
	       put_number(skb, RDMA_CM_ALT_NL_A_NUMBER, numbers->number);
}

/**
 * rca_nl_device() - get a device that the reader of a dump may see
 * @dump: the dump
 * @serial: number of the device
 *
 * Context: Process context.
 * Return: the device with a reference, or NULL.
 */
struct rca_device *rca_nl_device(const struct rca_nl_dump *dump, u32 serial)
{
	struct rca_device *dev = NULL;

	while ((dev = rca_device_next(dev))) {
		if (dev->serial != serial)
			continue;
		if (rdma_dev_access_netns(dev->ibdev, dump->net))
			return dev;
		rca_device_put(dev);	/* got by rca_device_next() */
		break;
	}
	return NULL;
}
