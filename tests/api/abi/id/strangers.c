// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What users may not do to each other: name the QPs of others, give privileged queue keys, see
 * devices of other namespaces, use handles and queues of others.
 */
#include <infiniband/verbs.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "rca_datagram.h"

#define NOBODYS_UID 65534
#define PRIVILEGED_QKEY 0x80000001

static void be_nobody(void)
{
	MUST(setgid(NOBODYS_UID));
	MUST(setuid(NOBODYS_UID));
}

/* Nobody, who is root in a user namespace of his own. */
static void be_nobodys_root(void)
{
	be_nobody();
	if (unshare(CLONE_NEWUSER))
		ktap_skip("no user namespaces: %m");
}

/* A QP on rxe0, which lives as long as this process. */
static uint32_t make_qp(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **at;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_qp *qp;

	EXPECT(list);
	for (at = list; *at && strcmp(ibv_get_device_name(*at), "rxe0"); at++)
		;
	EXPECT(*at);
	verbs = ibv_open_device(*at);
	EXPECT(verbs);
	pd = ibv_alloc_pd(verbs);
	EXPECT(pd);
	attr.send_cq = ibv_create_cq(verbs, 2, NULL, NULL, 0);
	EXPECT(attr.send_cq);
	attr.recv_cq = attr.send_cq;
	qp = ibv_create_qp(pd, &attr);
	EXPECT(qp);
	return qp->qp_num;
}

/* The same of a process that stays what this one is now. */
static uint32_t make_qp_of_another(void)
{
	uint32_t qp_num;
	int fds[2];

	MUST(pipe(fds));
	if (!MUST(fork())) {
		qp_num = make_qp();
		MUST(write(fds[1], &qp_num, sizeof(qp_num)));
		for (;;)
			pause();
	}
	EXPECT_EQ(MUST(read(fds[0], &qp_num, sizeof(qp_num))), sizeof(qp_num));
	return qp_num;
}

static int connect_qp(const struct pair *p, uint32_t qp_num)
{
	struct rdma_cm_alt_connect cmd = {
		.size = sizeof(cmd), .pipe = { .id = p->client }, .param = { .qp_num = qp_num },
	};

	return rca_call(p->ctx, RDMA_CM_ALT_CONNECT, &cmd);
}

static int accept_qp(const struct pair *p, uint32_t qp_num)
{
	struct rdma_cm_alt_accept cmd = {
		.size = sizeof(cmd), .id = p->server, .param = { .qp_num = qp_num },
	};

	return rca_call(p->ctx, RDMA_CM_ALT_ACCEPT, &cmd);
}

TEST(qp_of_another_user_is_refused)
{
	uint32_t roots = make_qp_of_another(), own;
	struct pair p;

	be_nobodys_root();
	own = make_qp();
	p = get_routed(THERE);
	EXPECT_EQ(connect_qp(&p, roots), -EPERM);
	EXPECT(!event_waits(p.lq));
	EXPECT_EQ(connect_qp(&p, own), 0);
	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &(event_t){});
}

TEST(qp_of_another_user_is_not_accepted)
{
	uint32_t roots = make_qp_of_another(), own;
	struct pair p;
	event_t ev;

	be_nobodys_root();
	own = make_qp();
	p = get_requested(NULL);
	EXPECT_EQ(accept_qp(&p, roots), -EPERM);
	/* The request waits still. */
	EXPECT_EQ(accept_qp(&p, own), 0);
	EXPECT_EVENT_STATUS(p.cq, CONNECT_RESPONSE, p.client, 0, &ev);
	EXPECT_EQ(ev.qp_num, own);
}

/* Who drops privileges keeps what he has made with them. */
TEST(qp_of_a_time_before)
{
	uint32_t own = make_qp();
	struct pair p;

	be_nobody();
	p = get_routed(THERE);
	EXPECT_EQ(connect_qp(&p, own), 0);
}

/* ib_core has the management QPs under their port and number. */
TEST(management_qps_are_refused)
{
	struct pair p;

	be_nobodys_root();
	p = get_routed(THERE);
	EXPECT_EQ(connect_qp(&p, 0), -EPERM);
	EXPECT_EQ(connect_qp(&p, 1), -EPERM);
	p = get_requested(NULL);
	EXPECT_EQ(accept_qp(&p, 0), -EPERM);
	EXPECT_EQ(accept_qp(&p, 1), -EPERM);
}

TEST(qp_that_nobody_knows_is_taken)
{
	be_nobodys_root();
	get_accepted(NULL);
}

TEST(privileged_user_may_name_any_qp)
{
	uint32_t roots = make_qp_of_another();
	struct pair p = get_routed(THERE);

	EXPECT_EQ(connect_qp(&p, roots), 0);
}

/* The steps go on from work, which has the rights of the program and not those of the kernel. */
TEST(qp_of_another_user_in_a_fused_connect)
{
	struct rdma_cm_alt_connect cmd = {
		.size = sizeof(cmd),
		.pipe = {
			.steps = RDMA_CM_ALT_STEP_CREATE | RDMA_CM_ALT_STEP_ADDR |
				 RDMA_CM_ALT_STEP_ROUTE,
			.queue_fd = -1, .timeout_ms = 2000, .ps = RDMA_PS_TCP,
			.qp_type = IB_UVERBS_QPT_RC, .dst = make_addr(THERE, 7471),
		},
		.param.qp_num = make_qp_of_another(),
	};
	int ctx = get_ctx();

	be_nobodys_root();
	EXPECT_EQ(rca_call(ctx, RDMA_CM_ALT_CONNECT, &cmd), -EPERM);
}

TEST(privileged_queue_key_is_refused)
{
	struct pair p;

	be_nobodys_root();
	p = get_datagram_requested(NULL);
	EXPECT_EQ(datagram_accept(&p, PRIVILEGED_QKEY), -EPERM);
	EXPECT_EQ(datagram_accept(&p, OTHER_QKEY), 0);
	EXPECT_EVENT(p.cq, ESTABLISHED, p.client);
}

/* As "rdma system set privileged-qkey" does. Returns 0, or a negative errno. */
static int set_privileged_qkey(uint8_t on)
{
	struct {
		struct nlmsghdr head;
		struct nlattr attr;
		uint8_t on[NLA_ALIGN(1)];
	} request = {
		.head = {
			.nlmsg_len = sizeof(request), .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
			.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_SET),
		},
		.attr = {
			.nla_len = NLA_HDRLEN + 1,
			.nla_type = RDMA_NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE,
		},
		.on = { on },
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[256];
	} answer;
	int fd = MUST(socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA));

	MUST(send(fd, &request, sizeof(request), 0));
	EXPECT(MUST(recv(fd, &answer, sizeof(answer), 0)) >= (long)NLMSG_LENGTH(4));
	EXPECT_EQ(answer.head.nlmsg_type, NLMSG_ERROR);
	close(fd);
	return answer.error.error;
}

TEST(privileged_queue_key_is_accepted_if_the_administrator_permits)
{
	struct pair p;
	int status;

	if (set_privileged_qkey(1))
		ktap_skip("this kernel has no switch for privileged queue keys");
	if (!MUST(fork())) {
		be_nobody();
		p = get_datagram_requested(NULL);
		_exit(datagram_accept(&p, PRIVILEGED_QKEY) != 0);
	}
	MUST(wait(&status));
	EXPECT_EQ(set_privileged_qkey(0), 0);
	EXPECT_EQ(status, 0);
}

TEST(privileged_user_may_give_any_queue_key)
{
	struct pair p = get_datagram_requested(NULL);
	event_t ev;

	EXPECT_EQ(datagram_accept(&p, PRIVILEGED_QKEY), 0);
	EXPECT_EVENT_STATUS(p.cq, ESTABLISHED, p.client, 0, &ev);
	EXPECT_EQ(ev.qkey, PRIVILEGED_QKEY);
}

/* A namespace of one's own has no device, whatever is asked, though the node can be opened. */
TEST(devices_of_other_namespaces_are_not_there)
{
	struct rdma_cm_alt_route route;
	uint32_t id;
	int ctx;

	be_nobody();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		ktap_skip("no user namespaces: %m");
	ctx = get_ctx();
	EXPECT_EQ(rca_bind(ctx, get_id(ctx, -1, 0), HERE, 0), -EADDRNOTAVAIL);
	EXPECT_EQ(rca_bind(ctx, get_id(ctx, -1, 0), HERE6, 0), -EADDRNOTAVAIL);
	EXPECT_EQ(rca_resolve_addr(ctx, get_id(ctx, -1, 0), NULL, "127.0.0.1", 1), -ENODEV);
	EXPECT_EQ(rca_resolve_addr(ctx, get_id(ctx, -1, 0), NULL, "::1", 1), -ENODEV);
	EXPECT_EQ(rca_resolve_addr(ctx, get_id(ctx, -1, 0), NULL, THERE, 1), -ENETUNREACH);
	id = get_bound(ctx, -1, "0.0.0.0", 7471);
	EXPECT_EQ(rca_listen(ctx, id, 0), 0);
	EXPECT_EQ(rca_query(ctx, id, &route), 0);
	EXPECT_EQ(route.node_guid, 0);
	EXPECT_EQ(route.port_num, 0);
}

/* A listener there is not heard from here. */
TEST(listener_of_another_namespace_is_not_reached)
{
	int ready[2], end[2], ctx, queue;
	uint32_t id;
	char byte;

	MUST(pipe(ready));
	MUST(pipe(end));
	if (!MUST(fork())) {
		be_nobody();
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
			_exit(1);
		ctx = get_ctx();
		queue = get_queue(ctx);
		EXPECT_EQ(rca_listen(ctx, get_bound(ctx, queue, "0.0.0.0", 7471), 0), 0);
		MUST(write(ready[1], "", 1));
		MUST(close(end[1]));
		MUST(read(end[0], &byte, 1));
		_exit(event_waits(queue) ? 2 : 0);
	}
	MUST(close(ready[1]));
	if (read(ready[0], &byte, 1) != 1)
		ktap_skip("no user namespaces");
	ctx = get_ctx();
	queue = get_queue(ctx);
	id = get_client(ctx, queue, THERE, 7471, 0);
	EXPECT_EQ(rca_connect(ctx, id, NULL, 0), 0);
	EXPECT_EVENT_STATUS(queue, REJECTED, id, 8, NULL);
	MUST(close(end[1]));
	EXPECT_EQ(MUST(wait(&ctx)) > 0, 1);
	EXPECT_EQ(ctx, 0);
}

/* Handles mean something in their own context alone, and so do queues. */
TEST(objects_of_others_are_out_of_reach)
{
	int theirs = get_ctx(), queue = get_queue(theirs), ours;
	uint32_t id = get_bound(theirs, queue, HERE, 0), handle, n;
	struct rdma_cm_alt_route route;

	be_nobodys_root();
	ours = get_ctx();
	for (handle = 0; handle < 100; handle++) {
		EXPECT_EQ(rca_query(ours, handle, &route), -ENOENT);
		EXPECT_EQ(rca_destroy(ours, handle), -ENOENT);
		EXPECT_EQ(rca_leave(ours, handle, &n), -ENOENT);
	}
	EXPECT_EQ(rca_create(ours, queue, RDMA_PS_TCP, IB_UVERBS_QPT_RC, 0, &n), -EINVAL);
	EXPECT_EQ(rca_set_queue(ours, get_id(ours, -1, 0), queue), -EINVAL);
	EXPECT_EQ(rca_query(theirs, id, &route), 0);
}

KTAP_MAIN
