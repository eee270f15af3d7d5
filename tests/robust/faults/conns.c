// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A fault at each place of the calls about connections, datagrams and groups.
 *
 * FAULTS_HERE and FAULTS_THERE in the environment: addresses of this host on another fabric.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "groups.h"
#include "rca_datagram.h"
#include "sweep.h"

/* Of the listener of a test, which serves all its rounds. */
static struct pair p;

static const char *there(void)
{
	return getenv("FAULTS_THERE") ?: THERE;
}

static const char *here(void)
{
	return getenv("FAULTS_HERE") ?: HERE;
}

static void set_client(void)
{
	p.client = get_client(p.ctx, p.cq, there(), p.port, CLIENT);
}

static void expect_request(void)
{
	event_t ev;

	EXPECT_EVENT_STATUS(p.lq, CONNECT_REQUEST, 0, 0, &ev);
	p.server = ev.id;
}

static void set_request(void)
{
	set_client();
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	expect_request();
}

static void set_response(void)
{
	set_request();
	EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, NULL, 0), 0);
	EXPECT_EVENT(p.cq, CONNECT_RESPONSE, p.client);
}

static void set_connection(void)
{
	set_response();
	EXPECT_EQ(rca_establish(p.ctx, p.client), 0);
	EXPECT_EVENT(p.lq, ESTABLISHED, p.server);
}

/* The ids of a round go, and no event of them is left. */
static void end_round(void)
{
	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
	EXPECT(!event_waits(p.cq));
}

/* A connect that failed has sent nothing and works the next time; or the answer alone failed. */
static void expect_connects(const struct sweep *s)
{
	int ret = rca_connect(p.ctx, p.client, NULL, 0);

	if (s->ret != -EFAULT || ret != -EINVAL)
		EXPECT_EQ(ret, 0);
}

TEST(send_request)
{
	struct sweep s = {};

	pair_listen(&p, there());
	while (sweep_more(&s)) {
		set_client();
		if (SWEEP_FAILS(&s, rca_connect(p.ctx, p.client, "0123456789", 10)))
			expect_connects(&s);
		expect_request();
		end_round();
		EXPECT(!event_waits(p.lq));
	}
}

static int connect_all(uint32_t *id)
{
	struct rdma_cm_alt_connect cmd = {
		.size = sizeof(cmd),
		.pipe = {
			.steps = RDMA_CM_ALT_STEP_CREATE | RDMA_CM_ALT_STEP_ADDR |
				 RDMA_CM_ALT_STEP_ROUTE,
			.queue_fd = p.cq, .timeout_ms = 2000, .ps = RDMA_PS_TCP,
			.qp_type = IB_UVERBS_QPT_RC, .dst = make_addr(there(), p.port),
		},
		.param = { .qp_num = fresh_qp_num(), .retry_count = 7 },
	};
	int ret = rca_call(p.ctx, RDMA_CM_ALT_CONNECT, &cmd);

	*id = cmd.out_id;
	return ret;
}

/* An event of a step that failed in the call is possible, too: it is not the first step's. */
TEST(connect_with_all_steps)
{
	struct sweep s = {};
	event_t ev;

	pair_listen(&p, there());
	while (sweep_more(&s)) {
		if (SWEEP_FAILS(&s, connect_all(&p.client))) {
			EXPECT(!event_waits(p.cq));
			/* Its answer may have failed when the request was on its way. */
			if (s.ret != -EFAULT || !event_comes(p.lq, 1))
				continue;
			expect_request();
			EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
			continue;
		}
		while (!event_waits(p.cq) && !event_waits(p.lq))
			usleep(10000);
		if (event_waits(p.cq)) {
			get_event(p.cq, &ev);
			EXPECT_EQ(ev.id, p.client);
			/* A question to an administrator may have been lost. */
			EXPECT(ev.status == -ENOMEM || ev.status == -ETIMEDOUT);
			EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
			continue;
		}
		expect_request();
		end_round();
	}
}

/*
 * A request that was not accepted for want of memory is rejected, and the peer hears it; but
 * when nothing of the call was read, it waits still.
 */
TEST(accept_request)
{
	struct sweep s = {};
	event_t ev;

	pair_listen(&p, there());
	while (sweep_more(&s)) {
		set_request();
		if (!SWEEP_FAILS(&s, rca_accept(p.ctx, p.server, SERVER, "0123456789", 10))) {
			EXPECT_EVENT(p.cq, CONNECT_RESPONSE, p.client);
		} else if (s.ret == -EFAULT) {
			EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, NULL, 0), 0);
			EXPECT_EVENT(p.cq, CONNECT_RESPONSE, p.client);
		} else {
			EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, NULL, 0), -EINVAL);
			get_event(p.cq, &ev);
			EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_REJECTED);
			EXPECT_EQ(ev.status, 28);
		}
		end_round();
	}
}

/* A request that is refused is done with, whether the peer can be told or not. */
TEST(reject_request)
{
	struct sweep s = {};

	pair_listen(&p, there());
	while (sweep_more(&s)) {
		set_request();
		SWEEP_FAILS(&s, rca_reject(p.ctx, p.server, 28, "0123456789", 10));
		if (s.ret == -EFAULT)
			EXPECT_EQ(rca_reject(p.ctx, p.server, 28, NULL, 0), 0);
		if (s.ret != -ENOMEM)
			EXPECT_EVENT_STATUS(p.cq, REJECTED, p.client, 28, NULL);
		EXPECT_EQ(rca_accept(p.ctx, p.server, SERVER, NULL, 0), -EINVAL);
		end_round();
	}
}

/* An establish that fails for want of memory ends the connection, for both. */
TEST(establish_connection)
{
	struct sweep s = {};

	pair_listen(&p, there());
	while (sweep_more(&s)) {
		set_response();
		SWEEP_FAILS(&s, rca_establish(p.ctx, p.client));
		if (s.ret == -ENOMEM) {
			EXPECT_EQ(rca_establish(p.ctx, p.client), -EINVAL);
			EXPECT_EVENT_STATUS(p.lq, REJECTED, p.server, 28, NULL);
		} else {
			if (s.ret == -EFAULT)
				EXPECT_EQ(rca_establish(p.ctx, p.client), 0);
			EXPECT_EVENT(p.lq, ESTABLISHED, p.server);
		}
		end_round();
	}
}

TEST(notify_of_a_message)
{
	struct sweep s = {};

	pair_listen(&p, there());
	while (sweep_more(&s)) {
		set_response();
		if (SWEEP_FAILS(&s, rca_notify(p.ctx, p.server, 4)))
			EXPECT_EQ(rca_notify(p.ctx, p.server, 4), 0);
		EXPECT_EVENT(p.lq, ESTABLISHED, p.server);
		end_round();
		EXPECT(!event_waits(p.lq));
	}
}

/* It never fails for want of memory: at worst the peer is not told. */
TEST(disconnect_a_connection)
{
	struct sweep s = {};

	pair_listen(&p, there());
	while (sweep_more(&s)) {
		set_connection();
		if (SWEEP_FAILS(&s, rca_disconnect(p.ctx, p.client))) {
			EXPECT_EQ(s.ret, -EFAULT);
			EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
		}
		EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
		EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
		EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	}
}

TEST(destroy_a_connection)
{
	struct sweep s = {};
	int again;

	pair_listen(&p, there());
	while (sweep_more(&s)) {
		set_connection();
		if (SWEEP_FAILS(&s, rca_destroy(p.ctx, p.client))) {
			again = rca_destroy(p.ctx, p.client);
			if (again)
				EXPECT_EQ(again, -ENOENT);
		}
		EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
	}
}

/* The last descriptor of queues with a request, a connection, and a listener. */
TEST(close_queue)
{
	struct sweep s = {};

	while (sweep_more(&s)) {
		pair_listen(&p, there());
		set_connection();
		set_client();
		EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
		EXPECT(event_comes(p.lq, PATIENCE));
		SWEEP(&s, OR_ERRNO(close(p.lq)));
		EXPECT_EQ(s.ret, 0);
		MUST(close(p.cq));
		MUST(close(p.ctx));
	}
}

TEST(qp_attr)
{
	struct ib_uverbs_qp_attr attr;
	struct sweep s = {};

	pair_listen(&p, there());
	set_response();
	while (sweep_more(&s))
		SWEEP_FAILS(&s, rca_qp_attr(p.ctx, p.client, 2, &attr));
	EXPECT(attr.qp_attr_mask);
}

/* An id that has no queue of its own gets requests whose ids have none, either. */
TEST(get_event_of_a_request)
{
	struct sweep s = {};
	event_t ev;

	pair_listen(&p, there());
	EXPECT_EQ(rca_set_queue(p.ctx, p.listener, -1), 0);
	while (sweep_more(&s)) {
		set_client();
		EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
		/* Wait for it without taking it. */
		EXPECT_EQ(rca_set_queue(p.ctx, p.listener, p.lq), 0);
		EXPECT(event_comes(p.lq, PATIENCE));
		EXPECT_EQ(rca_set_queue(p.ctx, p.listener, -1), 0);
		if (SWEEP_FAILS(&s, rca_get_event(p.ctx, p.listener, 0, &ev)))
			EXPECT_EQ(rca_get_event(p.ctx, p.listener, 0, &ev), 0);
		EXPECT_EQ(ev.type, RDMA_CM_ALT_EVENT_CONNECT_REQUEST);
		p.server = ev.id;
		end_round();
	}
}

static void set_asker(void)
{
	const uint32_t deadline = 60000;

	p.client = get_asker(p.ctx, p.cq, RDMA_PS_UDP, there(), p.port);
	EXPECT_EQ(rca_set_option(p.ctx, p.client, RDMA_CM_ALT_OPTION, RDMA_CM_ALT_OPTION_DEADLINE,
				 &deadline, sizeof(deadline)), 0);
}

TEST(datagram_request_sent)
{
	struct sweep s = {};

	datagram_listen(&p, RDMA_PS_UDP, there(), 0);
	while (sweep_more(&s)) {
		set_asker();
		if (SWEEP_FAILS(&s, rca_connect(p.ctx, p.client, "0123456789", 10)))
			expect_connects(&s);
		expect_request();
		end_round();
		EXPECT(!event_waits(p.lq));
	}
}

TEST(datagram_accept_and_reject)
{
	struct sweep accept = {}, reject = {};

	datagram_listen(&p, RDMA_PS_UDP, there(), 0);
	while (sweep_more(&accept)) {
		set_asker();
		EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
		expect_request();
		if (!SWEEP_FAILS(&accept, datagram_accept(&p, 0)))
			EXPECT_EVENT(p.cq, ESTABLISHED, p.client);
		else if (accept.ret == -EFAULT)
			EXPECT_EQ(datagram_accept(&p, 0), 0);
		else
			EXPECT_EQ(datagram_accept(&p, 0), -EINVAL);
		EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
		EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
	}
	while (sweep_more(&reject)) {
		set_asker();
		EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
		expect_request();
		SWEEP_FAILS(&reject, rca_reject(p.ctx, p.server, 0, NULL, 0));
		if (reject.ret == -EFAULT)
			EXPECT_EQ(rca_reject(p.ctx, p.server, 0, NULL, 0), 0);
		EXPECT_EQ(datagram_accept(&p, 0), -EINVAL);
		EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
		EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
	}
}

static int users(const char *group)
{
	return *group == 'f' ? mld_users("d0", group) : igmp_users("d0", group);
}

/* Who says that it has joined has: the network device is in the group as well. */
static void sweep_join(const char *ip, const char *group, uint32_t state)
{
	bool watch = !getenv("FAULTS_HERE") && state == RDMA_MC_JOIN_FLAG_FULLMEMBER;
	struct sweep s = {};
	uint32_t id, member, n;
	event_t ev;

	p.ctx = get_ctx();
	p.cq = get_queue(p.ctx);
	id = get_ud_bound(p.ctx, p.cq, ip);
	while (sweep_more(&s)) {
		if (SWEEP_FAILS(&s, rca_join(p.ctx, id, group, state, 42, &member))) {
			EXPECT(!event_waits(p.cq));
			EXPECT(!watch || users(group) == 0);
			continue;
		}
		get_event(p.cq, &ev);
		EXPECT_EQ(ev.member, member);
		if (ev.type == RDMA_CM_ALT_EVENT_MULTICAST_JOIN)
			EXPECT(!watch || users(group) == 1);
		else
			EXPECT_EQ(ev.status, -ENOMEM);
		EXPECT_EQ(rca_leave(p.ctx, member, &n), 0);
		EXPECT(!watch || users(group) == 0);
	}
}

TEST(join_group)
{
	sweep_join(here(), GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER);
}

TEST(join_group_ipv6)
{
	if (getenv("FAULTS_HERE"))
		ktap_skip("of RoCE alone");
	sweep_join(HERE6, GROUP6, RDMA_MC_JOIN_FLAG_FULLMEMBER);
}

TEST(join_group_to_send)
{
	sweep_join(here(), GROUP, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER);
}

TEST(leave_group)
{
	struct sweep s = {};
	uint32_t id, member, n;
	int again;

	p.ctx = get_ctx();
	p.cq = get_queue(p.ctx);
	id = get_ud_bound(p.ctx, p.cq, here());
	while (sweep_more(&s)) {
		member = get_member(p.ctx, id, GROUP);
		EXPECT_EVENT(p.cq, MULTICAST_JOIN, id);
		if (SWEEP_FAILS(&s, rca_leave(p.ctx, member, &n))) {
			again = rca_leave(p.ctx, member, &n);
			if (again)
				EXPECT_EQ(again, -ENOENT);
		}
		EXPECT(getenv("FAULTS_HERE") || !users(GROUP));
	}
}

KTAP_MAIN
