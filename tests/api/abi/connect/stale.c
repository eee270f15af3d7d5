// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Peers that still have a connection with our QP reject the request as stale. It is sent again
 * until the peer has ended the old connection. A QP number that is used twice on one device
 * looks like a host that was started again.
 */
#include "knobs.h"
#include "own_device.h"
#include "rca_test.h"

enum { STALE = 10, SECOND = 0x4444 };

static int connect_qp(int ctx, uint32_t id, uint32_t qp_num)
{
	struct rdma_cm_alt_connect cmd = {
		.size = sizeof(cmd),
		.pipe.id = id,
		.param = {
			.qp_num = qp_num,
			.retry_count = 7,
			.responder_resources = 1,
			.private_data_uptr = (uintptr_t)"twice",
			.private_data_len = 5,
		},
	};

	return rca_call(ctx, RDMA_CM_ALT_CONNECT, &cmd);
}

/* The request of the first client has arrived and is not accepted yet. Returns its QP number. */
static uint32_t first_request(struct pair *p, const char *ip, event_t *request)
{
	uint32_t qp_num = fresh_qp_num();

	*p = get_routed(ip);
	EXPECT_EQ(connect_qp(p->ctx, p->client, qp_num), 0);
	expect_event(__FILE__, __LINE__, p->lq, RDMA_CM_ALT_EVENT_CONNECT_REQUEST, 0, 0, request);
	p->server = request->id;
	return qp_num;
}

static uint32_t first_connection(struct pair *p)
{
	event_t request;
	uint32_t qp_num = first_request(p, HERE, &request);

	pair_send_rep(p);
	pair_send_rtu(p);
	return qp_num;
}

/* A second client with the same QP number, and a queue of its own. */
static uint32_t second_client(const struct pair *p, const char *ip, uint32_t qp_num, int *queue)
{
	uint32_t id;

	*queue = get_queue(p->ctx);
	id = get_client(p->ctx, *queue, ip, p->port, SECOND);
	EXPECT_EQ(connect_qp(p->ctx, id, qp_num), 0);
	return id;
}

/* The request of the second client arrives once, and its connection completes. */
static void second_connects(const struct pair *p, int queue, uint32_t id)
{
	event_t ev;

	expect_event(__FILE__, __LINE__, p->lq, RDMA_CM_ALT_EVENT_CONNECT_REQUEST, 0, 0, &ev);
	EXPECT(!memcmp(ev.private_data, "twice", 5));
	EXPECT_EQ(rca_accept(p->ctx, ev.id, SERVER, NULL, 0), 0);
	EXPECT_EVENT(queue, CONNECT_RESPONSE, id);
	EXPECT_EQ(rca_establish(p->ctx, id), 0);
	EXPECT_EVENT(p->lq, ESTABLISHED, ev.id);
	EXPECT(!event_waits(queue));
}

/* The old connection is disconnected on both ends, and the new one is established. */
TEST(old_connection_ends_and_new_one_is_made)
{
	uint32_t qp_num, second, types = 0;
	struct pair p;
	event_t ev;
	int i, queue;

	qp_num = first_connection(&p);
	second = second_client(&p, HERE, qp_num, &queue);
	EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
	EXPECT_EVENT(p.cq, TIMEWAIT_EXIT, p.client);
	/* The new request and the events of the old server come in any order. */
	for (i = 0; i < 3; i++) {
		get_event(p.lq, &ev);
		types |= 1 << ev.type;
		if (ev.type != RDMA_CM_ALT_EVENT_CONNECT_REQUEST) {
			EXPECT_EQ(ev.id, p.server);
			continue;
		}
		EXPECT(!memcmp(ev.private_data, "twice", 5));
		EXPECT_EQ(rca_accept(p.ctx, ev.id, SERVER, NULL, 0), 0);
	}
	EXPECT_EQ(types, 1 << RDMA_CM_ALT_EVENT_CONNECT_REQUEST |
		  1 << RDMA_CM_ALT_EVENT_DISCONNECTED | 1 << RDMA_CM_ALT_EVENT_TIMEWAIT_EXIT);
	EXPECT_EVENT(queue, CONNECT_RESPONSE, second);
	EXPECT_EQ(rca_establish(p.ctx, second), 0);
	EXPECT(!event_waits(queue));
}

/* A request that is not answered yet is not ended: the second client waits. */
TEST(waits_until_the_old_one_is_rejected)
{
	uint32_t qp_num, second;
	struct pair p;
	event_t ev;
	int queue;

	qp_num = first_request(&p, HERE, &ev);
	second = second_client(&p, HERE, qp_num, &queue);
	/* The request is sent about five times in this second. */
	EXPECT(!event_comes(queue, 1));
	EXPECT(!event_waits(p.lq));
	EXPECT_EQ(rca_reject(p.ctx, p.server, 0, NULL, 0), 0);
	EXPECT_EVENT_STATUS(p.cq, REJECTED, p.client, 28, NULL);
	second_connects(&p, queue, second);
	EXPECT(!event_waits(p.cq));
}

TEST(operations_while_it_waits)
{
	uint32_t qp_num, second;
	struct pair p;
	event_t ev;
	int queue;

	qp_num = first_request(&p, HERE, &ev);
	second = second_client(&p, HERE, qp_num, &queue);
	EXPECT(!event_comes(queue, 1));
	EXPECT_EQ(connect_qp(p.ctx, second, qp_num), -EINVAL);
	EXPECT_EQ(rca_establish(p.ctx, second), -EINVAL);
	EXPECT_EQ(rca_reject(p.ctx, second, 0, NULL, 0), -EINVAL);
	EXPECT_EQ(rca_disconnect(p.ctx, second), 0);
	EXPECT_EQ(rca_destroy(p.ctx, second), 0);
	EXPECT(!event_waits(queue));
}

/* Only the attributes of INIT, which do not depend on the peer, are available. */
TEST(qp_attributes_while_it_waits)
{
	struct ib_uverbs_qp_attr sent, attr;
	uint32_t qp_num, second;
	struct pair p;
	event_t ev;
	int i, queue;

	qp_num = first_request(&p, HERE, &ev);
	EXPECT_EQ(rca_qp_attr(p.ctx, p.client, 1, &sent), 0);
	second = second_client(&p, HERE, qp_num, &queue);
	/* The first interval is 20 ms, the next ones are longer. */
	for (i = 0; i < 200; i++) {
		EXPECT_EQ(rca_qp_attr(p.ctx, second, 1, &attr), 0);
		EXPECT_EQ(attr.qp_attr_mask, sent.qp_attr_mask);
		EXPECT_EQ(attr.qp_access_flags, sent.qp_access_flags);
		EXPECT_EQ(attr.pkey_index, sent.pkey_index);
		EXPECT_EQ(attr.port_num, sent.port_num);
		EXPECT_EQ(rca_qp_attr(p.ctx, second, 2, &attr), -EINVAL);
		EXPECT_EQ(rca_qp_attr(p.ctx, second, 3, &attr), -EINVAL);
		usleep(2000);
	}
	EXPECT(!event_waits(queue));
}

/* Destroying does not wait for the next attempt, and does not affect the old request. */
TEST(destroyed_while_it_waits)
{
	uint32_t qp_num, reported;
	struct pair p;
	double start;
	event_t ev;
	int i;

	qp_num = first_request(&p, HERE, &ev);
	for (i = 0; i < 8; i++) {
		int queue;
		uint32_t second = second_client(&p, HERE, qp_num, &queue);

		usleep(15000 * i);
		start = now();
		EXPECT_EQ(rca_destroy_count(p.ctx, second, &reported), 0);
		EXPECT_EQ(reported, 2);
		EXPECT(now() - start < PATIENCE / 2);
		EXPECT(!event_waits(queue));
	}
	pair_send_rep(&p);
}

TEST(closed_while_it_waits)
{
	struct pair p;
	event_t ev;
	int queue;
	uint32_t qp_num = first_request(&p, HERE, &ev);

	second_client(&p, HERE, qp_num, &queue);
	EXPECT(!event_comes(queue, 1));
	EXPECT_EQ(close(queue), 0);
	pair_send_rep(&p);
}

/* The device is removed while the request waits to be sent again. */
TEST(removed_while_it_waits)
{
	uint32_t qp_num, second;
	struct pair p;
	event_t ev;
	int queue;

	add_own_device(OWN_VETH);
	qp_num = first_request(&p, OWN_ADDR, &ev);
	second = second_client(&p, OWN_ADDR, qp_num, &queue);
	EXPECT(!event_comes(queue, 1));
	remove_own_device();
	EXPECT_EVENT(queue, DEVICE_REMOVAL, second);
	EXPECT(!event_comes(queue, 1));
	EXPECT_EQ(connect_qp(p.ctx, second, qp_num), -ENXIO);
	EXPECT_EQ(rca_destroy(p.ctx, second), 0);
	delete_own_device();
}

/* The program gets the reason of the last reject. */
TEST(after_the_listener_ended_it_is_refused)
{
	uint32_t qp_num, second;
	struct pair p;
	event_t ev;
	int queue;

	qp_num = first_request(&p, HERE, &ev);
	second = second_client(&p, HERE, qp_num, &queue);
	EXPECT(!event_comes(queue, 1));
	EXPECT_EQ(rca_destroy(p.ctx, p.listener), 0);
	EXPECT_EQ(rca_destroy(p.ctx, p.server), 0);
	EXPECT_EVENT_STATUS(queue, REJECTED, second, 8, &ev);
	EXPECT_EQ(ev.cookie, SECOND);
}

KTAP_MAIN
