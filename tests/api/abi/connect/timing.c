// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How long an id waits for its peer: options, settings of the network namespace and of the initial
 * one, and a peer that does not answer.
 */
#include "knobs.h"
#include "rca_test.h"

#define OPT(name) RDMA_CM_ALT_OPTION_##name
#define NAMESPACE "/proc/sys/net/rdma_cm_alt/"

/* A neighbour on rxe1 with an unused hardware address: all messages are lost. */
#define SILENT "10.7.0.98"

static int set_byte(int ctx, uint32_t id, uint32_t name, uint8_t value)
{
	return rca_set_option(ctx, id, RDMA_CM_ALT_OPTION, name, &value, sizeof(value));
}

static int set_deadline(int ctx, uint32_t id, uint32_t ms)
{
	return rca_set_option(ctx, id, RDMA_CM_ALT_OPTION, OPT(DEADLINE), &ms, sizeof(ms));
}

static int byte_of(int ctx, uint32_t id, uint32_t name)
{
	uint32_t len = 1;
	uint8_t value = 0;

	EXPECT_EQ(rca_get_option(ctx, id, RDMA_CM_ALT_OPTION, name, &value, &len), 0);
	EXPECT_EQ(len, 1);
	return value;
}

static uint32_t deadline_of(int ctx, uint32_t id)
{
	uint32_t ms = 0, len = sizeof(ms);

	EXPECT_EQ(rca_get_option(ctx, id, RDMA_CM_ALT_OPTION, OPT(DEADLINE), &ms, &len), 0);
	EXPECT_EQ(len, 4);
	return ms;
}

/* In the namespace of the caller. */
static int write_setting(const char *name, const char *value)
{
	char path[128];
	int fd, ret;

	snprintf(path, sizeof(path), NAMESPACE "%s", name);
	fd = MUST(open(path, O_WRONLY));
	ret = write(fd, value, strlen(value)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int setting(const char *name)
{
	char path[128], value[32] = "";
	int fd;

	snprintf(path, sizeof(path), NAMESPACE "%s", name);
	fd = MUST(open(path, O_RDONLY));
	MUST(read(fd, value, sizeof(value) - 1));
	close(fd);
	return atoi(value);
}

static void expect_all(int ctx, uint32_t id, int response, int retries, int mra, int deadline)
{
	EXPECT_EQ(byte_of(ctx, id, OPT(RESPONSE_TIMEOUT)), response);
	EXPECT_EQ(byte_of(ctx, id, OPT(MAX_RETRIES)), retries);
	EXPECT_EQ(byte_of(ctx, id, OPT(MRA_TIMEOUT)), mra);
	EXPECT_EQ(deadline_of(ctx, id), (uint32_t)deadline);
}

static void set_all(const char *response, const char *retries, const char *mra,
		    const char *deadline)
{
	EXPECT_EQ(write_setting("response_timeout", response), 0);
	EXPECT_EQ(write_setting("max_retries", retries), 0);
	EXPECT_EQ(write_setting("mra_timeout", mra), 0);
	EXPECT_EQ(write_setting("deadline_ms", deadline), 0);
}

/* A namespace that has set nothing follows the initial one. */
TEST(what_is_not_set_is_the_initial_namespace_s)
{
	int ctx = get_ctx(), initial = MUST(open("/proc/self/ns/net", O_RDONLY)), inner;
	uint32_t here = get_id(ctx, -1, 0), there;

	expect_all(ctx, here, 13, 15, 24, 0);
	set_all("17", "4", "19", "1234");
	expect_all(ctx, here, 17, 4, 19, 1234);
	MUST(unshare(CLONE_NEWNET));
	inner = MUST(open("/proc/self/ns/net", O_RDONLY));
	there = get_id(ctx, -1, 0);
	EXPECT_EQ(setting("response_timeout"), -1);
	expect_all(ctx, there, 17, 4, 19, 1234);
	EXPECT_EQ(write_setting("max_retries", "15"), 0);
	EXPECT_EQ(write_setting("deadline_ms", "9000"), 0);
	expect_all(ctx, there, 17, 15, 19, 9000);
	expect_all(ctx, here, 17, 4, 19, 1234);
	MUST(setns(initial, CLONE_NEWNET));
	EXPECT_EQ(set_byte(ctx, here, OPT(RESPONSE_TIMEOUT), 5), 0);
	set_all("-1", "-1", "-1", "0");
	expect_all(ctx, here, 5, 15, 24, 0);
	expect_all(ctx, there, 13, 15, 24, 9000);
	MUST(setns(inner, CLONE_NEWNET));
	set_all("-1", "-1", "-1", "0");
	expect_all(ctx, there, 13, 15, 24, 0);
	MUST(setns(initial, CLONE_NEWNET));
}

TEST(what_a_namespace_sets_is_its_own)
{
	int ctx = get_ctx();
	uint32_t id;

	MUST(unshare(CLONE_NEWNET));
	id = get_id(ctx, -1, 0);
	EXPECT_EQ(setting("response_timeout"), -1);
	EXPECT_EQ(setting("max_retries"), -1);
	EXPECT_EQ(setting("mra_timeout"), -1);
	EXPECT_EQ(setting("deadline_ms"), 0);
	expect_all(ctx, id, 13, 15, 24, 0);
	set_all("0", "0", "24", "5000");
	expect_all(ctx, id, 0, 0, 24, 5000);
	EXPECT_EQ(write_setting("mra_timeout", "7"), 0);
	expect_all(ctx, id, 0, 0, 7, 5000);
	/* The options of the id take precedence. */
	EXPECT_EQ(set_byte(ctx, id, OPT(MAX_RETRIES), 9), 0);
	EXPECT_EQ(set_deadline(ctx, id, 6000), 0);
	expect_all(ctx, id, 0, 9, 7, 6000);
	EXPECT_EQ(set_deadline(ctx, id, 0), 0);
	EXPECT_EQ(write_setting("response_timeout", "-1"), 0);
	EXPECT_EQ(write_setting("mra_timeout", "-1"), 0);
	EXPECT_EQ(write_setting("deadline_ms", "0"), 0);
	expect_all(ctx, id, 13, 9, 24, 0);
}

TEST(each_namespace_has_its_own)
{
	int ctx = get_ctx();
	uint32_t here = get_id(ctx, -1, 0), there;

	MUST(unshare(CLONE_NEWNET));
	there = get_id(ctx, -1, 0);
	EXPECT_EQ(write_setting("response_timeout", "21"), 0);
	EXPECT_EQ(byte_of(ctx, there, OPT(RESPONSE_TIMEOUT)), 21);
	EXPECT_EQ(byte_of(ctx, here, OPT(RESPONSE_TIMEOUT)), 13);
}

TEST(settings_of_a_namespace_have_bounds)
{
	int ctx = get_ctx();
	uint32_t id;

	MUST(unshare(CLONE_NEWNET));
	id = get_id(ctx, -1, 0);
	EXPECT_EQ(write_setting("response_timeout", "32"), -EINVAL);
	EXPECT_EQ(write_setting("response_timeout", "-2"), -EINVAL);
	EXPECT_EQ(write_setting("max_retries", "16"), -EINVAL);
	EXPECT_EQ(write_setting("mra_timeout", "25"), -EINVAL);
	EXPECT_EQ(write_setting("deadline_ms", "86400001"), -EINVAL);
	EXPECT_EQ(write_setting("deadline_ms", "-1"), -EINVAL);
	EXPECT_EQ(write_setting("deadline_ms", "soon"), -EINVAL);
	expect_all(ctx, id, 13, 15, 24, 0);
}

TEST(values_have_bounds)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0);

	for (int i = 0; i < 256; i++) {
		EXPECT_EQ(set_byte(ctx, id, OPT(RESPONSE_TIMEOUT), i), i <= 31 ? 0 : -EINVAL);
		EXPECT_EQ(set_byte(ctx, id, OPT(MAX_RETRIES), i), i <= 15 ? 0 : -EINVAL);
		EXPECT_EQ(set_byte(ctx, id, OPT(MRA_TIMEOUT), i), i <= 24 ? 0 : -EINVAL);
	}
	EXPECT_EQ(set_deadline(ctx, id, 86400000), 0);
	EXPECT_EQ(set_deadline(ctx, id, 86400001), -EINVAL);
	EXPECT_EQ(deadline_of(ctx, id), 86400000);
	EXPECT_EQ(set_deadline(ctx, id, 0), 0);
	EXPECT_EQ(deadline_of(ctx, id), 0);
}

TEST(wrong_length_is_einval)
{
	int ctx = get_ctx();
	uint32_t id = get_id(ctx, -1, 0);
	uint8_t val[9] = {};

	for (uint32_t len = 0; len <= sizeof(val); len++) {
		for (uint32_t name = OPT(RESPONSE_TIMEOUT); name < OPT(DEADLINE); name++)
			EXPECT_EQ(rca_set_option(ctx, id, RDMA_CM_ALT_OPTION, name, val, len),
				  len == 1 ? 0 : -EINVAL);
		EXPECT_EQ(rca_set_option(ctx, id, RDMA_CM_ALT_OPTION, OPT(DEADLINE), val, len),
			  len == 4 ? 0 : -EINVAL);
		EXPECT_EQ(rca_set_option(ctx, id, RDMA_CM_ALT_OPTION, OPT(TRUNK), val, len),
			  len == 1 ? 0 : -EINVAL);
	}
	EXPECT_EQ(rca_set_option(ctx, id, RDMA_CM_ALT_OPTION, OPT(TRUNK) + 1, val, 1), -ENOSYS);
}

TEST(requests_have_the_settings_of_their_listener)
{
	struct pair p = get_routed(HERE);
	event_t ev;

	EXPECT_EQ(set_deadline(p.ctx, p.listener, 4321), 0);
	EXPECT_EQ(set_byte(p.ctx, p.listener, OPT(MAX_RETRIES), 2), 0);
	pair_send_req(&p, &ev);
	EXPECT_EQ(deadline_of(p.ctx, ev.id), 4321);
	EXPECT_EQ(byte_of(p.ctx, ev.id, OPT(MAX_RETRIES)), 2);
	EXPECT_EQ(byte_of(p.ctx, ev.id, OPT(RESPONSE_TIMEOUT)), 13);
}

static uint32_t client_of_nobody(int ctx, int queue, uint16_t ps, uint8_t qp_type)
{
	uint32_t id;

	if (system("ip neigh replace " SILENT " lladdr 02:00:00:00:00:98 dev v0"))
		ktap_skip("no neighbour can be set");
	EXPECT_EQ(rca_create(ctx, queue, ps, qp_type, CLIENT, &id), 0);
	await_addr(ctx, queue, id, SILENT, 1);
	await_route(ctx, queue, id);
	return id;
}

static uint32_t silent_client(int ctx, int queue)
{
	return client_of_nobody(ctx, queue, RDMA_PS_TCP, IB_UVERBS_QPT_RC);
}

/* UNREACHABLE comes, but not before this time. */
static void ends_after(int ctx, int queue, uint32_t id, double least)
{
	double start = now();

	EXPECT_EQ(rca_connect(ctx, id, NULL, 0), 0);
	EXPECT_EVENT_STATUS(queue, UNREACHABLE, id, -ETIMEDOUT, NULL);
	EXPECT(now() - start > least);
	EXPECT(!event_waits(queue));
	EXPECT_EQ(rca_connect(ctx, id, NULL, 0), -EINVAL);
	EXPECT_EQ(rca_destroy(ctx, id), 0);
}

TEST(deadline_ends_a_connect)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = silent_client(ctx, queue);

	EXPECT_EQ(set_deadline(ctx, id, 700), 0);
	ends_after(ctx, queue, id, 0.69);
}

TEST(deadline_of_the_namespace_ends_a_connect)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = silent_client(ctx, queue);

	EXPECT_EQ(write_setting("deadline_ms", "600"), 0);
	ends_after(ctx, queue, id, 0.59);
	EXPECT_EQ(write_setting("deadline_ms", "0"), 0);
}

TEST(deadline_ends_a_request_for_datagrams)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = client_of_nobody(ctx, queue, RDMA_PS_UDP, IB_UVERBS_QPT_UD);

	EXPECT_EQ(set_deadline(ctx, id, 300), 0);
	ends_after(ctx, queue, id, 0.29);
}

/* The round trip of the path takes 512 ms, the response timeout is 1 ms. */
TEST(retries_end_a_connect)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = silent_client(ctx, queue);

	EXPECT_EQ(set_byte(ctx, id, OPT(RESPONSE_TIMEOUT), 0), 0);
	EXPECT_EQ(set_byte(ctx, id, OPT(MAX_RETRIES), 1), 0);
	ends_after(ctx, queue, id, 1.0);
}

/* Retries of one message each until the deadline. */
TEST(retries_and_deadline)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = silent_client(ctx, queue);

	EXPECT_EQ(set_byte(ctx, id, OPT(RESPONSE_TIMEOUT), 0), 0);
	EXPECT_EQ(set_byte(ctx, id, OPT(MAX_RETRIES), 0), 0);
	EXPECT_EQ(set_deadline(ctx, id, 1800), 0);
	ends_after(ctx, queue, id, 1.79);
}

TEST(retries_end_a_request_for_datagrams)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = client_of_nobody(ctx, queue, RDMA_PS_UDP, IB_UVERBS_QPT_UD);

	EXPECT_EQ(set_byte(ctx, id, OPT(RESPONSE_TIMEOUT), 0), 0);
	EXPECT_EQ(set_byte(ctx, id, OPT(MAX_RETRIES), 0), 0);
	ends_after(ctx, queue, id, 0.5);
}

/* A destroy, a close and a removal wait for no deadline. */
TEST(destroyed_before_the_deadline)
{
	int ctx = get_ctx(), queue = get_queue(ctx);
	uint32_t id = silent_client(ctx, queue);
	double start;

	EXPECT_EQ(set_deadline(ctx, id, 3600000), 0);
	EXPECT_EQ(rca_connect(ctx, id, NULL, 0), 0);
	start = now();
	EXPECT_EQ(rca_destroy(ctx, id), 0);
	id = silent_client(ctx, queue);
	EXPECT_EQ(set_deadline(ctx, id, 3600000), 0);
	EXPECT_EQ(rca_connect(ctx, id, NULL, 0), 0);
	EXPECT_EQ(close(queue), 0);
	EXPECT(now() - start < PATIENCE);
}

TEST(connection_outlives_the_deadline_of_its_request)
{
	struct pair p = get_routed(HERE);
	event_t ev;

	EXPECT_EQ(set_deadline(p.ctx, p.client, 60000), 0);
	pair_send_req(&p, &ev);
	pair_send_rep(&p);
	EXPECT_EQ(set_deadline(p.ctx, p.client, 200), 0);
	EXPECT_EQ(rca_establish(p.ctx, p.client), 0);
	EXPECT_EVENT(p.lq, ESTABLISHED, ev.id);
	EXPECT(!event_comes(p.cq, 1));
	EXPECT_EQ(rca_disconnect(p.ctx, p.client), 0);
	EXPECT_EVENT(p.cq, DISCONNECTED, p.client);
	EXPECT_EVENT(p.lq, DISCONNECTED, ev.id);
	EXPECT_EVENT(p.cq, TIMEWAIT_EXIT, p.client);
	EXPECT(!event_comes(p.cq, 1));
}

KTAP_MAIN
