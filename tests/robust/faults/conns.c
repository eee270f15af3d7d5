// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A fault at each place of the calls about connections, datagrams and groups. */
#define _GNU_SOURCE
#include <unistd.h>

#include "faults.h"
#include "groups.h"
#include "rca_datagram.h"

/* The listener serves all rounds of a sweep, the client and the server one round. */
static struct pair p;

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

static void destroy_both(void)
{
	EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
	EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
}

static void end_round(void)
{
	destroy_both();
	EXPECT(!event_waits(p.cq));
}

/* A connect that fails has sent nothing, or its answer could not be written. */
static void sweep_request(void (*set)(void))
{
	for_each_fault(s) {
		set();
		if (SWEEP_FAILS(&s, rca_connect(p.ctx, p.client, "0123456789", 10)))
			expect_worked(&s, rca_connect(p.ctx, p.client, NULL, 0), -EINVAL);
		expect_request();
		end_round();
		EXPECT(!event_waits(p.lq));
	}
}

TEST(send_request)
{
	pair_listen(&p, there());
	sweep_request(set_client);
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

/* A call that succeeds may end with the error event of a later step. */
TEST(connect_with_all_steps)
{
	event_t ev;

	pair_listen(&p, there());
	for_each_fault(s) {
		if (SWEEP_FAILS(&s, connect_all(&p.client))) {
			EXPECT(!event_waits(p.cq));
			/* With EFAULT the request may have been sent. */
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
			/* A query to the subnet administrator may have been lost. */
			EXPECT(ev.status == -ENOMEM || ev.status == -ETIMEDOUT);
			EXPECT_EQ(rca_destroy(p.ctx, p.client), 0);
			continue;
		}
		expect_request();
		end_round();
	}
}

/*
 * A request that cannot be accepted for lack of memory is rejected, and the peer gets the reject.
 * When the arguments of the call could not be read, the request is still pending.
 */
TEST(accept_request)
{
	event_t ev;

	pair_listen(&p, there());
	for_each_fault(s) {
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

/* A rejected request cannot be accepted later, whether the reject was sent or not. */
TEST(reject_request)
{
	pair_listen(&p, there());
	for_each_fault(s) {
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

/* An establish that fails for lack of memory ends the connection on both sides. */
TEST(establish_connection)
{
	pair_listen(&p, there());
	for_each_fault(s) {
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
	pair_listen(&p, there());
	for_each_fault(s) {
		set_response();
		SWEEP_RETRY(&s, rca_notify(p.ctx, p.server, 4));
		EXPECT_EVENT(p.lq, ESTABLISHED, p.server);
		end_round();
		EXPECT(!event_waits(p.lq));
	}
}

/* A disconnect does not fail for lack of memory: at worst no DREQ is sent. */
TEST(disconnect_a_connection)
{
	pair_listen(&p, there());
	for_each_fault(s) {
		set_connection();
		if (SWEEP_FAILS(&s, rca_disconnect(p.ctx, p.client))) {
			EXPECT_EQ(s.ret, -EFAULT);
			EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
		}
		EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
		destroy_both();
	}
}

TEST(destroy_a_connection)
{
	int again;

	pair_listen(&p, there());
	for_each_fault(s) {
		set_connection();
		if (SWEEP_FAILS(&s, rca_destroy(p.ctx, p.client))) {
			again = rca_destroy(p.ctx, p.client);
			if (again)
				EXPECT_EQ(again, -ENOENT);
		}
		EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
	}
}

/* Closes the last descriptor of a queue with a listener, a request and a connection. */
TEST(close_queue)
{
	for_each_fault(s) {
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

	pair_listen(&p, there());
	set_response();
	for_each_fault(s)
		SWEEP_FAILS(&s, rca_qp_attr(p.ctx, p.client, 2, &attr));
	EXPECT(attr.qp_attr_mask);
}

/* The ids of requests to a listener without a queue have no queue. */
TEST(get_event_of_a_request)
{
	event_t ev;

	pair_listen(&p, there());
	EXPECT_EQ(rca_set_queue(p.ctx, p.listener, -1), 0);
	for_each_fault(s) {
		set_client();
		EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
		/* Wait for the event and leave it in the queue. */
		EXPECT_EQ(rca_set_queue(p.ctx, p.listener, p.lq), 0);
		EXPECT(event_comes(p.lq, PATIENCE));
		EXPECT_EQ(rca_set_queue(p.ctx, p.listener, -1), 0);
		SWEEP_RETRY(&s, rca_get_event(p.ctx, p.listener, 0, &ev));
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
	datagram_listen(&p, RDMA_PS_UDP, there(), 0);
	sweep_request(set_asker);
}

static void set_datagram_request(void)
{
	set_asker();
	EXPECT_EQ(rca_connect(p.ctx, p.client, NULL, 0), 0);
	expect_request();
}

TEST(datagram_accept_and_reject)
{
	datagram_listen(&p, RDMA_PS_UDP, there(), 0);
	for_each_fault(accept) {
		set_datagram_request();
		if (!SWEEP_FAILS(&accept, datagram_accept(&p, 0)))
			EXPECT_EVENT(p.cq, ESTABLISHED, p.client);
		else
			EXPECT_EQ(datagram_accept(&p, 0), accept.ret == -EFAULT ? 0 : -EINVAL);
		destroy_both();
	}
	for_each_fault(reject) {
		set_datagram_request();
		SWEEP_FAILS(&reject, rca_reject(p.ctx, p.server, 0, NULL, 0));
		if (reject.ret == -EFAULT)
			EXPECT_EQ(rca_reject(p.ctx, p.server, 0, NULL, 0), 0);
		EXPECT_EQ(datagram_accept(&p, 0), -EINVAL);
		destroy_both();
	}
}

static int users(const char *group)
{
	return *group == 'f' ? mld_users("d0", group) : igmp_users("d0", group);
}

/* After the event of a join the network device is a member of the group as well. */
static void sweep_join(const char *ip, const char *group, uint32_t state)
{
	bool watch = on_roce() && state == RDMA_MC_JOIN_FLAG_FULLMEMBER;
	uint32_t id, member, n;
	event_t ev;

	p.ctx = get_ctx();
	p.cq = get_queue(p.ctx);
	id = get_ud_bound(p.ctx, p.cq, ip);
	for_each_fault(s) {
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
	skip_unless_roce();
	sweep_join(HERE6, GROUP6, RDMA_MC_JOIN_FLAG_FULLMEMBER);
}

TEST(join_group_to_send)
{
	sweep_join(here(), GROUP, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER);
}

TEST(leave_group)
{
	uint32_t id, member, n;
	int again;

	p.ctx = get_ctx();
	p.cq = get_queue(p.ctx);
	id = get_ud_bound(p.ctx, p.cq, here());
	for_each_fault(s) {
		member = get_member(p.ctx, id, GROUP);
		EXPECT_EVENT(p.cq, MULTICAST_JOIN, id);
		if (SWEEP_FAILS(&s, rca_leave(p.ctx, member, &n))) {
			again = rca_leave(p.ctx, member, &n);
			if (again)
				EXPECT_EQ(again, -ENOENT);
		}
		EXPECT(!on_roce() || !users(GROUP));
	}
}

KTAP_MAIN
