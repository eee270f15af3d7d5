// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of unusual uses of the transports: events of ib_cm and iw_cm that they ignore,
 * answers that come too late, calls that they do not support.
 *
 * Locking: none; the work of both ends runs concurrently.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/hashtable.h>
#include <linux/in.h>
#include <linux/net.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <rdma/ib_cm.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_user_cm.h>

#include "cm/internal.h"
#include "fake/addresses.h"
#include "fake/device_bench.h"
#include "fake/netrig.h"
#include "transport/transport.h"

/* Connects that are aborted. */
#define GIVEN_UP 20

/* What listen() of the transport returned for the only listener. */
static void *listening_handle(struct kunit *test, struct rca_id *server)
{
	struct rca_demux *demux;
	void *handle = NULL;
	int bucket;

	mutex_lock(&server->dev->demux_mutex);
	hash_for_each(server->dev->demuxes, bucket, demux, node)
		handle = demux->handle;
	mutex_unlock(&server->dev->demux_mutex);
	KUNIT_ASSERT_NOT_NULL(test, handle);
	return handle;
}

static void listener_takes_requests_alone(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	const struct ib_cm_event event = { .event = IB_CM_DREQ_RECEIVED };
	struct ib_cm_id *cm_id = listening_handle(test, server);

	KUNIT_EXPECT_EQ(test, cm_id->cm_handler(cm_id, &event), -EINVAL);
	rig_expect_no_event(test);
	rig_expect_state(test, server, RCA_ST_LISTEN);
}

/* The cm_id has left the state meanwhile, because of a message of the peer. */
static void answers_that_come_too_late(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct rca_tp_conn conn = rig_params(test);
	struct rca_id *client, *child;

	rig_connected(test, server, DEVICE_IP, &client, &child);
	KUNIT_EXPECT_EQ(test, child->dev->tp->reply(child->lower, &conn), -ECONNRESET);
	KUNIT_EXPECT_EQ(test, client->dev->tp->send_rtu(client->lower, NULL, 0), -ECONNRESET);
	rig_expect_state(test, client, RCA_ST_CONNECTED);
	rig_expect_state(test, child, RCA_ST_CONNECTED);
}

static void path_from_a_gid_that_is_not_ours(struct kunit *test)
{
	struct rca_id *id = rig_resolved(test, DEVICE_IP, 7471, RDMA_PS_UDP);
	struct sa_path_rec path = id->setup->path;
	struct ib_uverbs_ah_attr ah = {};

	KUNIT_EXPECT_EQ(test, id->dev->tp->ah_attr(id->dev->ibdev, id->port_num, &path, NULL, &ah),
			0);
	path.sgid.raw[15]++;
	KUNIT_EXPECT_LT(test, id->dev->tp->ah_attr(id->dev->ibdev, id->port_num, &path, NULL, &ah),
			0);
}

/* On InfiniBand ports, a listener on GIDs gets requests without an IP CM header. */
static void nonsense_is_not_for_who_listens_on_gids(struct kunit *test)
{
	struct rca_id *id = rig_new_id(test, DEVICE_SERVER, RDMA_PS_TCP);
	struct rca_id *bound = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);
	struct rca_pipeline pipe = {
		.steps = RDMA_CM_ALT_STEP_BIND, .src = *rca_test_addr(test, "ib:::", 0),
	};
	u8 private_data[IB_CM_REQ_PRIVATE_DATA_SIZE] = { 0xff };
	struct rca_tp_request req = {
		.port_num = 1,
		.conn = {
			.qp_type = IB_QPT_RC,
			.private_data = private_data,
			.private_data_len = sizeof(private_data),
		},
	};
	struct rca_demux *demux;
	u32 done = 0;
	int bucket, ret = 0;

	KUNIT_ASSERT_EQ(test, rca_resolve(id, &pipe, &done), 0);
	KUNIT_ASSERT_EQ(test, rca_listen(id, 1), 0);
	KUNIT_ASSERT_EQ(test, rig_bind(test, bound, DEVICE_IP), 0);
	req.sgid_attr = bound->sgid_attr;
	hash_for_each(bound->dev->demuxes, bucket, demux, node) {
		req.service_id = demux->service_id;
		ret = rca_req_handler(demux, NULL, &req);
	}
	KUNIT_EXPECT_LT(test, ret, 0);
	rig_expect_no_event(test);
}

static struct kunit_case roce_cases[] = {
	KUNIT_CASE(nonsense_is_not_for_who_listens_on_gids),
	KUNIT_CASE(listener_takes_requests_alone),
	KUNIT_CASE(answers_that_come_too_late),
	KUNIT_CASE(path_from_a_gid_that_is_not_ours),
	{}
};

DEVICE_SUITE(roce_suite, roce, "misuse", roce_cases, device_bench_exit);

static void iwarp_listener_takes_requests_alone(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct iw_cm_event event = { .event = IW_CM_EVENT_CLOSE };
	struct iw_cm_id *cm_id = listening_handle(test, server);

	KUNIT_EXPECT_EQ(test, cm_id->cm_handler(cm_id, &event), -EINVAL);
	event.event = IW_CM_EVENT_CONNECT_REQUEST;
	KUNIT_EXPECT_EQ(test, cm_id->cm_handler(cm_id, &event), -EAFNOSUPPORT);
	event.local_addr.ss_family = AF_INET;
	KUNIT_EXPECT_EQ(test, cm_id->cm_handler(cm_id, &event), -EAFNOSUPPORT);
	rig_expect_no_event(test);
}

/* Calls the handler as iw_cm does, with a cm_id of the request, which iw_cm frees. */
static void iwarp_request_for_a_foreign_address(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, "0.0.0.0", RDMA_PS_TCP);
	struct rca_id *bound = rig_new_id(test, DEVICE_CLIENT, RDMA_PS_TCP);
	struct iw_cm_event event = { .event = IW_CM_EVENT_CONNECT_REQUEST };
	struct iw_cm_id cm_id;
	void *demux;

	KUNIT_ASSERT_EQ(test, rig_bind(test, bound, DEVICE_IP), 0);
	cm_id = *(struct iw_cm_id *)listening_handle(test, bound);
	demux = cm_id.context;
	memcpy(&event.local_addr, rca_test_addr(test, "192.0.2.1", rig_port_of(server)),
	       sizeof(struct sockaddr_in));
	memcpy(&event.remote_addr, rca_test_addr(test, DEVICE_IP, 7471),
	       sizeof(struct sockaddr_in));
	KUNIT_EXPECT_LT(test, cm_id.cm_handler(&cm_id, &event), 0);
	KUNIT_EXPECT_PTR_EQ(test, cm_id.context, demux);
	rig_expect_no_event(test);
}

static void iwarp_accept_needs_a_qp(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct rca_id *client = rig_resolved(test, DEVICE_IP, rig_port_of(server), RDMA_PS_TCP);
	struct rca_tp_conn conn = rig_params(test);
	struct device_bench *bench = test->priv;
	struct rca_id *child;

	rig_connect(test, client);
	child = rig_requested(test);
	conn.qp_num = DEVICE_FIRST_QP;
	/* The peer is notified at once. */
	KUNIT_EXPECT_EQ(test, rca_accept(child, DEVICE_CHILD, &conn), -EINVAL);
	KUNIT_ASSERT_TRUE(test, rig_take_event(bench));
	KUNIT_EXPECT_EQ(test, bench->rec.cookie, (u64)DEVICE_CLIENT);
	KUNIT_EXPECT_EQ(test, bench->rec.type, (u32)RDMA_CM_ALT_EVENT_REJECTED);
	rig_expect_state(test, client, RCA_ST_FAILED);
}

/* The QP may have got another owner since the program asked. */
static void iwarp_accept_checks_the_qp_again(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct rca_id *client = rig_resolved(test, DEVICE_IP, rig_port_of(server), RDMA_PS_TCP);
	struct cred *cred = prepare_creds();
	const struct cred *old_cred;
	struct rca_tp_conn conn;
	struct rca_id *child;

	KUNIT_ASSERT_NOT_NULL(test, cred);
	rig_connect(test, client);
	child = rig_requested(test);
	conn = rig_params(test);
	cap_clear(cred->cap_effective);
	old_cred = override_creds(cred);
	/* It is a QP of the kernel. */
	KUNIT_EXPECT_EQ(test, child->dev->tp->reply(child->lower, &conn), -EPERM);
	revert_creds(old_cred);
	put_cred(cred);
	rig_expect_no_event(test);
	KUNIT_ASSERT_EQ(test, rca_accept(child, DEVICE_CHILD, &conn), 0);
	rig_expect_both(test, RDMA_CM_ALT_EVENT_ESTABLISHED);
}

/* iw_destroy_cm_id() waits for the driver; the program does not. */
static void iwarp_accepted_is_destroyed_at_once(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct rca_id *client = rig_resolved(test, DEVICE_IP, rig_port_of(server), RDMA_PS_TCP);
	struct device_bench *bench = test->priv;
	struct rca_id *child;

	rig_connect(test, client);
	child = rig_requested(test);
	rig_accept(test, child);
	rig_destroy(test, child);
	do {
		KUNIT_ASSERT_TRUE(test, rig_take_event(bench));
	} while (bench->rec.cookie == DEVICE_CLIENT &&
		 bench->rec.type == RDMA_CM_ALT_EVENT_ESTABLISHED);
	KUNIT_EXPECT_EQ(test, bench->rec.cookie, (u64)DEVICE_CLIENT);
	rig_destroy(test, client);
}

static void iwarp_event_that_means_nothing(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct iw_cm_event event = { .event = IW_CM_EVENT_DISCONNECT };
	struct rca_id *client, *child;
	struct iw_lower *lower;

	rig_connected(test, server, DEVICE_IP, &client, &child);
	lower = client->lower;
	KUNIT_EXPECT_EQ(test, lower->cm_id->cm_handler(lower->cm_id, &event), 0);
	rig_expect_state(test, client, RCA_ST_CONNECTED);
	rig_expect_no_event(test);
}

/* A driver may report after the accept that the connection failed. */
static void iwarp_connection_that_does_not_come_up(struct kunit *test)
{
	struct rca_id *server = rig_listening(test, DEVICE_IP, RDMA_PS_TCP);
	struct iw_cm_event event = { .event = IW_CM_EVENT_ESTABLISHED, .status = -EPROTO };
	struct rca_id *client = rig_resolved(test, DEVICE_IP, rig_port_of(server), RDMA_PS_TCP);
	struct rca_id *child;
	struct iw_lower *lower;

	rig_connect(test, client);
	child = rig_requested(test);
	lower = client->lower;
	KUNIT_EXPECT_EQ(test, lower->cm_id->cm_handler(lower->cm_id, &event), 0);
	rig_expect_event(test, DEVICE_CLIENT, RDMA_CM_ALT_EVENT_CONNECT_ERROR, -EPROTO);
	rig_expect_state(test, client, RCA_ST_FAILED);
	rig_destroy(test, child);
	rig_destroy(test, client);
}

static void iwarp_has_no_messages_of_infiniband(struct kunit *test)
{
	struct rca_id *id = rig_resolved(test, DEVICE_IP, 7471, RDMA_PS_TCP);
	const struct rca_tp_ops *tp = id->dev->tp;
	struct rca_tp_conn conn = {};
	struct rca_tp_req req = {};

	KUNIT_EXPECT_EQ(test, tp->send_rtu(NULL, NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, tp->sidr_request(NULL, &req), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, tp->sidr_reply(NULL, 0, &conn), -EOPNOTSUPP);
	tp->leave(NULL);
}

static void iwarp_datagrams_are_refused(struct kunit *test)
{
	struct rca_id *id = rig_resolved(test, DEVICE_IP, 7471, RDMA_PS_UDP);
	struct rca_tp_conn conn = rig_params(test);

	KUNIT_EXPECT_EQ(test, rca_connect(id, &conn), -EOPNOTSUPP);
	rig_expect_state(test, id, RCA_ST_ROUTE_RESOLVED);
	rig_expect_no_event(test);
}

/* Returns a lower cm_id without an owner, which connects to id->dst. */
static struct iw_lower *connecting(struct kunit *test, struct rca_id *id, int *ret)
{
	const struct rca_tp_ops *tp = id->dev->tp;
	struct rca_tp_req req = {
		.local = &id->local, .dst = &id->dst, .net = &init_net, .conn = rig_params(test),
	};
	struct iw_lower *lower = tp->create(id->dev->ibdev, NULL);

	KUNIT_ASSERT_FALSE(test, IS_ERR(lower));
	*ret = tp->connect(lower, &req);
	KUNIT_EXPECT_EQ(test, *ret, -EINPROGRESS);
	/* A cm_id can connect only once. */
	KUNIT_EXPECT_EQ(test, tp->connect(lower, &req), -EINVAL);
	return lower;
}

static void count_call(struct work_struct *work);

static DECLARE_WORK(call, count_call);
static atomic_t calls;

static void count_call(struct work_struct *work)
{
	atomic_inc(&calls);
}

/*
 * A TCP server that accepts connections and sends nothing. siw cannot be the server: it
 * takes a connection that ends before it is accepted for the end of its listener
 * (tests/robust/stock/siw_early_close.c).
 */
static struct socket *silent_server(struct kunit *test, u16 *port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = cpu_to_be32(NETRIG_IP),
	};
	struct socket *sock;

	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
					       &sock), 0);
	/* The type of the address depends on the kernel. */
	KUNIT_EXPECT_EQ(test, kernel_bind(sock, (void *)&addr, sizeof(addr)), 0);
	KUNIT_EXPECT_EQ(test, kernel_listen(sock, GIVEN_UP), 0);
	KUNIT_EXPECT_GT(test, kernel_getsockname(sock, (struct sockaddr *)&addr), 0);
	*port = be16_to_cpu(addr.sin_port);
	return sock;
}

static void iwarp_connect_is_given_up_at_once(struct kunit *test)
{
	const struct rca_tp_ops *tp;
	struct iw_lower *lower;
	struct socket *server;
	struct rca_id *id;
	int i, ret;
	u16 port;

	server = silent_server(test, &port);
	for (i = 0; i < GIVEN_UP; i++) {
		/* New ones each time: siw loses its endpoint when its QP is used again. */
		device_bench_new_qps(test);
		/* A new one each time: TCP keeps ports in TIME_WAIT. */
		id = rig_resolved(test, DEVICE_IP, port, RDMA_PS_TCP);
		lower = connecting(test, id, &ret);
		tp = id->dev->tp;
		/* Before it has begun, or while a worker is in TCP. */
		if (i % 2)
			tp->when_finished(lower, system_wq, system_wq, &call);
		tp->destroy(lower);
		ret = tp->finish(lower);
		flush_work(&call);
		/* The request may have been sent already. */
		KUNIT_EXPECT_TRUE_MSG(test, ret == -ECONNABORTED || (i % 2 && !ret), "%d", ret);
	}
	sock_release(server);
}

/* The QP may have got another owner since the program asked: it is checked when TCP connects. */
static void iwarp_connect_checks_the_qp_as_the_program(struct kunit *test)
{
	struct cred *cred = prepare_creds();
	const struct cred *old_cred;
	struct iw_lower *lower;
	struct socket *server;
	struct rca_id *id;
	u16 port;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, cred);
	server = silent_server(test, &port);
	id = rig_resolved(test, DEVICE_IP, port, RDMA_PS_TCP);
	cap_clear(cred->cap_effective);
	old_cred = override_creds(cred);
	lower = connecting(test, id, &ret);
	revert_creds(old_cred);
	put_cred(cred);
	/* It is a QP of the kernel. */
	KUNIT_EXPECT_EQ(test, id->dev->tp->finish(lower), -EPERM);
	id->dev->tp->destroy(lower);
	sock_release(server);
}

static void iwarp_connect_in_the_background_queues_work(struct kunit *test)
{
	struct iw_lower *lower;
	struct socket *server;
	struct rca_id *id;
	u16 port;
	int ret;

	server = silent_server(test, &port);
	id = rig_resolved(test, DEVICE_IP, port, RDMA_PS_TCP);
	atomic_set(&calls, 0);
	lower = connecting(test, id, &ret);
	id->dev->tp->when_finished(lower, system_wq, system_wq, &call);
	KUNIT_EXPECT_EQ(test, id->dev->tp->finish(lower), 0);
	flush_work(&call);
	KUNIT_EXPECT_EQ(test, atomic_read(&calls), 1);
	id->dev->tp->destroy(lower);
	sock_release(server);
}

static struct kunit_case iwarp_cases[] = {
	KUNIT_CASE(iwarp_listener_takes_requests_alone),
	KUNIT_CASE(iwarp_request_for_a_foreign_address),
	KUNIT_CASE(iwarp_accept_needs_a_qp),
	KUNIT_CASE(iwarp_accept_checks_the_qp_again),
	KUNIT_CASE(iwarp_accepted_is_destroyed_at_once),
	KUNIT_CASE(iwarp_event_that_means_nothing),
	KUNIT_CASE(iwarp_connection_that_does_not_come_up),
	KUNIT_CASE(iwarp_has_no_messages_of_infiniband),
	KUNIT_CASE(iwarp_datagrams_are_refused),
	KUNIT_CASE(iwarp_connect_is_given_up_at_once),
	KUNIT_CASE(iwarp_connect_checks_the_qp_as_the_program),
	KUNIT_CASE(iwarp_connect_in_the_background_queues_work),
	{}
};

DEVICE_SUITE(iwarp_suite, iwarp, "iwarp_misuse", iwarp_cases, device_bench_exit);
kunit_test_suites(&roce_suite, &iwarp_suite);
