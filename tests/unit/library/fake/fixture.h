/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Common fixture of the unit tests: fakes in place, and ids in common states. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <errno.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/wait.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "../../unit.h"
#include "id/cmid.h"
#include "base/compiler.h"
#include "core/devices.h"
#include "event/event.h"
#include "fake/fake_kernel.h"
#include "fake/fake_verbs.h"
#include "rsocket/stream/kept.h"

static inline int set_up(void **state)
{
	(void)state;
	fake_verbs_reset();
	fake_install();
	return 0;
}

/* A test must leave no object, no context and no queue. */
static inline int tear_down(void **state)
{
	int left;

	(void)state;
	rcl_kept_end(RCL_FOREVER);
	rcl_devices_reset();
	left = fake_verbs.objects + fake_verbs.open_contexts + fake_open_queues();
	if (left)
		print_error("left behind: %d objects, %d contexts, %d queues\n",
			    fake_verbs.objects, fake_verbs.open_contexts,
			    fake_open_queues());
	fake_remove();
	return left ? -1 : 0;
}

#define TEST(name) UNIT_TEST(name, set_up, tear_down)

#define assert_fails(err, call) do {		\
	errno = 0;				\
	assert_int_equal((call), -1);		\
	assert_int_equal(errno, (err));		\
} while (0)

static inline struct sockaddr *addr4(const char *ip, uint16_t port)
{
	static __thread struct sockaddr_in sin[4];
	static __thread unsigned int next;
	struct sockaddr_in *out = &sin[next++ % 4];

	*out = (struct sockaddr_in) { .sin_family = AF_INET, .sin_port = htons(port) };
	inet_pton(AF_INET, ip, &out->sin_addr);
	return (struct sockaddr *)out;
}

static inline struct rdma_cm_id *new_id(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = NULL;

	assert_int_equal(rdma_create_id(channel, &id, (void *)0x55, RDMA_PS_TCP), 0);
	return id;
}

static inline struct rdma_cm_id *new_ud_id(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = NULL;

	assert_int_equal(rdma_create_id(channel, &id, (void *)0x55, RDMA_PS_UDP), 0);
	return id;
}

static inline uint32_t handle_of(struct rdma_cm_id *id)
{
	return rcl_id_of(id)->handle;
}

/* The next event of a channel, which must be of this type. */
static inline struct rdma_cm_event *take(struct rdma_event_channel *channel, int type)
{
	struct rdma_cm_event *event = NULL;

	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_int_equal(event->event, type);
	return event;
}

static inline void take_and_ack(struct rdma_event_channel *channel, int type)
{
	assert_int_equal(rdma_ack_cm_event(take(channel, type)), 0);
}

static inline void resolve(struct rdma_cm_id *id)
{
	assert_int_equal(rdma_resolve_addr(id, NULL, addr4("10.9.0.2", 7001), 1000), 0);
	if (!rcl_id_of(id)->sync)
		take_and_ack(id->channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(id, 1000), 0);
	if (!rcl_id_of(id)->sync)
		take_and_ack(id->channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static inline struct ibv_qp_init_attr qp_attr(void)
{
	return (struct ibv_qp_init_attr) {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 8, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
}

static inline void add_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = qp_attr();

	attr.qp_type = id->qp_type;
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
}

/* A listener that is ready for fake_request(). */
static inline struct rdma_cm_id *listener(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = new_id(channel);

	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 7000)), 0);
	assert_int_equal(rdma_listen(id, 5), 0);
	return id;
}

/* How a child has ended: its exit code, or the negative number of a signal. */
static inline int exit_code(pid_t child)
{
	int status = -1;

	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Destroys an id with a QP and its channel. */
static inline void destroy_with_qp(struct rdma_cm_id *id, struct rdma_event_channel *ch)
{
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(ch);
}

#endif /* FIXTURE_H */
