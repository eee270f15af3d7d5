// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tests of joining and leaving multicast groups. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "fake/fixture.h"
#include "id/members.h"
#include "base/table.h"

#define GROUP "239.1.1.1"
#define OTHER "239.1.1.2"
#define LAST_JOIN (&fake.last[FAKE(JOIN)].join)

static char context[] = "context of the join";

static struct rdma_cm_id *bound(struct rdma_event_channel *ch)
{
	struct rdma_cm_id *id = new_ud_id(ch);

	assert_int_equal(rdma_bind_addr(id, addr4("10.9.0.1", 7000)), 0);
	return id;
}

static int join_group(struct rdma_cm_id *id, const char *group)
{
	return rdma_join_multicast(id, addr4(group, 0), context);
}

static int leave(struct rdma_cm_id *id, const char *group)
{
	return rdma_leave_multicast(id, addr4(group, 0));
}

static void join_and_ack(struct rdma_cm_id *id, const char *group, __u16 lid)
{
	fake.group.dlid = lid;
	assert_int_equal(join_group(id, group), 0);
	take_and_ack(id->channel, RDMA_CM_EVENT_MULTICAST_JOIN);
}

TEST(join_attaches_the_qp_when_its_event_is_read)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);
	struct rdma_cm_event *event;

	add_qp(id);
	assert_int_equal(join_group(id, GROUP), 0);
	assert_int_equal(LAST_JOIN->join_state, RDMA_MC_JOIN_FLAG_FULLMEMBER);
	assert_int_equal(LAST_JOIN->id, handle_of(id));
	assert_memory_equal(LAST_JOIN->group.bytes, addr4(GROUP, 0),
			    sizeof(struct sockaddr_in));
	assert_int_equal(fake_verbs.attaches, 0);
	event = take(ch, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_ptr_equal(event->id, id);
	assert_int_equal(event->status, 0);
	assert_ptr_equal(event->param.ud.private_data, context);
	assert_int_equal(event->param.ud.private_data_len, 0);
	assert_int_equal(event->param.ud.qp_num, 0xffffff);
	assert_int_equal(event->param.ud.qkey, 0x01234567);
	assert_int_equal(event->param.ud.ah_attr.dlid, 0xc001);
	assert_int_equal(fake_verbs.attaches, 1);
	assert_int_equal(fake_verbs.group.raw[0], 0xff);
	assert_int_equal(fake_verbs.group_lid, 0xc001);
	rdma_ack_cm_event(event);
	assert_int_equal(leave(id, GROUP), 0);
	assert_int_equal(fake_verbs.detaches, 1);
	assert_int_equal(fake_verbs.attached, 0);
	destroy_with_qp(id, ch);
}

TEST(cookie_is_no_pointer)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);

	assert_int_equal(join_group(id, GROUP), 0);
	assert_int_equal(LAST_JOIN->cookie, rcl_id_of(id)->members->cookie);
	assert_ptr_not_equal((uintptr_t)LAST_JOIN->cookie, rcl_id_of(id)->members);
	assert_int_not_equal(LAST_JOIN->cookie, rcl_id_of(id)->cookie);
	destroy_with_qp(id, ch);
}

TEST(join_without_qp_attaches_nothing)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);

	join_and_ack(id, GROUP, 1);
	assert_int_equal(leave(id, GROUP), 0);
	assert_int_equal(fake_verbs.attaches + fake_verbs.detaches, 0);
	destroy_with_qp(id, ch);
}

/* The program created the QP later, and attached it itself. */
TEST(leave_detaches_a_qp_that_the_program_attached)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);

	join_and_ack(id, GROUP, 1);
	add_qp(id);
	fake_verbs.attached = 1 << 1;
	assert_int_equal(leave(id, GROUP), 0);
	assert_int_equal(fake_verbs.attached, 0);
	destroy_with_qp(id, ch);
}

TEST(send_only_attaches_nothing)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.addr = addr4(GROUP, 0),
	};
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);

	add_qp(id);
	assert_int_equal(rdma_join_multicast_ex(id, &attr, context), 0);
	assert_int_equal(LAST_JOIN->join_state, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER);
	take_and_ack(ch, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_int_equal(leave(id, GROUP), 0);
	assert_int_equal(fake_verbs.attaches + fake_verbs.detaches, 0);
	destroy_with_qp(id, ch);
}

TEST(join_ex_checks_its_attributes)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_RESERVED, .addr = addr4(GROUP, 0),
	};
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);

	assert_fails(ENOTSUP, rdma_join_multicast_ex(id, &attr, NULL));
	attr.comp_mask = 7;
	assert_fails(ENOTSUP, rdma_join_multicast_ex(id, &attr, NULL));
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS;
	assert_fails(EINVAL, rdma_join_multicast_ex(id, &attr, NULL));
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	assert_fails(EINVAL, rdma_join_multicast_ex(id, &attr, NULL));
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	attr.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	assert_fails(EINVAL, rdma_join_multicast_ex(id, &attr, NULL));
	attr.join_flags = 0;
	attr.addr->sa_family = AF_UNIX;
	assert_fails(EINVAL, rdma_join_multicast_ex(id, &attr, NULL));
	attr.addr = NULL;
	assert_fails(EINVAL, rdma_join_multicast_ex(id, &attr, NULL));
	assert_int_equal(fake.calls[FAKE(JOIN)], 0);
	destroy_with_qp(id, ch);
}

TEST(null_and_foreign_families_are_einval)
{
	struct rdma_cm_join_mc_attr_ex attr = { .comp_mask = 3, .addr = addr4(GROUP, 0) };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);
	struct sockaddr bad = { .sa_family = AF_UNIX };

	assert_fails(EINVAL, rdma_join_multicast(NULL, addr4(GROUP, 0), NULL));
	assert_fails(EINVAL, rdma_join_multicast(id, NULL, NULL));
	assert_fails(EINVAL, rdma_join_multicast(id, &bad, NULL));
	assert_fails(EINVAL, rdma_join_multicast_ex(NULL, &attr, NULL));
	assert_fails(EINVAL, rdma_join_multicast_ex(id, NULL, NULL));
	assert_fails(EINVAL, rdma_leave_multicast(NULL, addr4(GROUP, 0)));
	assert_fails(EINVAL, rdma_leave_multicast(id, NULL));
	assert_fails(EINVAL, rdma_leave_multicast(id, &bad));
	destroy_with_qp(id, ch);
}

TEST(join_that_the_kernel_refuses_leaves_nothing)
{
	static const int errors[] = { EINVAL, ENODEV, ENXIO, ENOMEM };
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);
	size_t i;

	join_and_ack(id, OTHER, 1);
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		fake.fail[FAKE(JOIN)] = errors[i];
		assert_fails(errors[i], join_group(id, GROUP));
		assert_fails(EADDRNOTAVAIL, leave(id, GROUP));
	}
	assert_int_equal(leave(id, OTHER), 0);
	assert_null(rcl_id_of(id)->members);
	destroy_with_qp(id, ch);
}

TEST(leave_of_a_group_that_was_not_joined)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);
	__u32 handle;

	assert_fails(EADDRNOTAVAIL, leave(id, GROUP));
	join_and_ack(id, GROUP, 1);
	assert_fails(EADDRNOTAVAIL, leave(id, OTHER));
	assert_fails(EADDRNOTAVAIL, rdma_leave_multicast(id, addr4(GROUP, 1)));
	/* A join that has not reached the kernel yet has no handle. */
	handle = rcl_id_of(id)->members->handle;
	rcl_id_of(id)->members->handle = 0;
	assert_fails(EADDRNOTAVAIL, leave(id, GROUP));
	rcl_id_of(id)->members->handle = handle;
	assert_int_equal(leave(id, GROUP), 0);
	assert_fails(EADDRNOTAVAIL, leave(id, GROUP));
	assert_int_equal(fake.calls[FAKE(LEAVE)], 1);
	destroy_with_qp(id, ch);
}

/* The membership ended with its device; leaving still works. */
TEST(leave_that_the_kernel_refuses)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);

	join_and_ack(id, GROUP, 1);
	fake.fail[FAKE(LEAVE)] = ENOENT;
	assert_fails(ENOENT, leave(id, GROUP));
	assert_fails(EADDRNOTAVAIL, leave(id, GROUP));
	destroy_with_qp(id, ch);
}

TEST(several_groups_are_left_one_by_one)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);
	__u32 first;

	add_qp(id);
	join_and_ack(id, GROUP, 1);
	first = rcl_id_of(id)->members->handle;
	join_and_ack(id, OTHER, 2);
	join_and_ack(id, "239.1.1.3", 3);
	assert_int_equal(fake_verbs.attached, 1 << 1 | 1 << 2 | 1 << 3);
	assert_int_equal(leave(id, OTHER), 0);
	assert_int_equal(fake_verbs.attached, 1 << 1 | 1 << 3);
	assert_int_equal(leave(id, GROUP), 0);
	assert_int_equal(fake.last[FAKE(LEAVE)].leave.member, first);
	assert_int_equal(leave(id, "239.1.1.3"), 0);
	assert_int_equal(fake_verbs.attached, 0);
	destroy_with_qp(id, ch);
}

/* Verbs attach the QP once: the first leave must not detach it for both memberships. */
TEST(one_group_joined_twice_is_detached_once)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);

	add_qp(id);
	join_and_ack(id, GROUP, 1);
	join_and_ack(id, GROUP, 1);
	assert_int_equal(leave(id, GROUP), 0);
	assert_int_equal(fake_verbs.attached, 1 << 1);
	assert_int_equal(leave(id, GROUP), 0);
	assert_int_equal(fake_verbs.attached, 0);
	assert_int_equal(fake_verbs.detaches, 1);
	destroy_with_qp(id, ch);
}

/* The QP could not be destroyed while it is attached to a group without a membership. */
TEST(second_event_of_a_membership_changes_nothing)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);
	__u32 member;

	add_qp(id);
	join_and_ack(id, GROUP, 1);
	fake.group.dlid = 2;
	for (member = 1; !fake.members[member].alive; member++)
		;
	fake_post_member(RDMA_CM_ALT_EVENT_MULTICAST_JOIN, member, 0);
	take_and_ack(ch, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_int_equal(fake_verbs.attached, 1 << 1);
	assert_int_equal(leave(id, GROUP), 0);
	assert_int_equal(fake_verbs.attached, 0);
	destroy_with_qp(id, ch);
}

TEST(qp_that_cannot_be_attached_is_a_multicast_error)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);
	struct rdma_cm_event *event;

	add_qp(id);
	assert_int_equal(join_group(id, GROUP), 0);
	fake_verbs.fail_at = fake_verbs.steps + 1;
	event = take(ch, RDMA_CM_EVENT_MULTICAST_ERROR);
	assert_int_equal(event->status, -ENOMEM);
	assert_ptr_equal(event->param.ud.private_data, context);
	rdma_ack_cm_event(event);
	/* Still a member: the program leaves, or continues without its QP. */
	assert_int_equal(leave(id, GROUP), 0);
	destroy_with_qp(id, ch);
}

TEST(error_event_names_the_join)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);
	struct rdma_cm_event *event;

	add_qp(id);
	fake.join_event = RDMA_CM_ALT_EVENT_MULTICAST_ERROR;
	fake.status = -ENETUNREACH;
	assert_int_equal(join_group(id, GROUP), 0);
	event = take(ch, RDMA_CM_EVENT_MULTICAST_ERROR);
	assert_int_equal(event->status, -ENETUNREACH);
	assert_ptr_equal(event->id, id);
	assert_ptr_equal(event->param.ud.private_data, context);
	assert_int_equal(fake_verbs.attaches, 0);
	rdma_ack_cm_event(event);
	assert_int_equal(leave(id, GROUP), 0);
	assert_int_equal(fake_verbs.detaches, 0);
	destroy_with_qp(id, ch);
}

TEST(synchronous_join_waits_and_leave_drops_its_event)
{
	struct rdma_cm_id *id = bound(NULL);

	add_qp(id);
	assert_int_equal(join_group(id, GROUP), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_int_equal(fake_verbs.attaches, 1);
	assert_int_equal(leave(id, GROUP), 0);
	assert_null(id->event);
	fake.join_event = RDMA_CM_ALT_EVENT_MULTICAST_ERROR;
	fake.status = -ENODEV;
	assert_fails(ENODEV, join_group(id, GROUP));
	assert_int_equal(leave(id, GROUP), 0);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

TEST(nonblocking_synchronous_join_completes_later)
{
	struct rdma_cm_id *id = bound(NULL);
	__u32 member;

	fcntl(id->channel->fd, F_SETFL, O_NONBLOCK);
	fake.join_event = FAKE_NO_EVENT;
	assert_fails(EAGAIN, join_group(id, GROUP));
	for (member = 1; !fake.members[member].alive; member++)
		;
	fake_post_member(RDMA_CM_ALT_EVENT_MULTICAST_JOIN, member, 0);
	assert_int_equal(rcl_complete(rcl_id_of(id)), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static atomic_bool acking;

static void *ack_later(void *event)
{
	usleep(50000);
	atomic_store(&acking, true);
	rdma_ack_cm_event(event);
	return NULL;
}

TEST(leave_waits_for_the_events_of_its_membership_alone)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);
	struct rdma_cm_event *mine, *other;
	pthread_t thread;

	assert_int_equal(join_group(id, OTHER), 0);
	other = take(ch, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_int_equal(join_group(id, GROUP), 0);
	mine = take(ch, RDMA_CM_EVENT_MULTICAST_JOIN);
	atomic_store(&acking, false);
	pthread_create(&thread, NULL, ack_later, mine);
	assert_int_equal(leave(id, GROUP), 0);
	assert_true(atomic_load(&acking));
	pthread_join(thread, NULL);
	/* Destroying the id waits for all of them. */
	atomic_store(&acking, false);
	pthread_create(&thread, NULL, ack_later, other);
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_true(atomic_load(&acking));
	pthread_join(thread, NULL);
	rdma_destroy_event_channel(ch);
}

TEST(event_of_a_membership_that_is_over_is_dropped)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);
	struct ibv_ah_attr group = { .dlid = 1 };
	struct rdma_cm_event *event;
	struct rcl_member *member;

	fcntl(ch->fd, F_SETFL, O_NONBLOCK);
	add_qp(id);
	assert_int_equal(join_group(id, GROUP), 0);
	member = rcl_member_get(rcl_id_of(id), rcl_id_of(id)->members->cookie);
	/* The fake kernel keeps the record in its queue. */
	assert_int_equal(leave(id, GROUP), 0);
	assert_fails(EAGAIN, rdma_get_cm_event(ch, &event));
	assert_int_equal(fake_verbs.attaches, 0);
	/* A reader has found the membership just before. */
	assert_int_equal(rcl_member_joined(rcl_id_of(id), member, &group), 0);
	assert_int_equal(fake_verbs.attaches, 0);
	rcl_member_put(member);
	destroy_with_qp(id, ch);
}

TEST(second_event_of_a_membership)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);
	__u32 member;

	add_qp(id);
	join_and_ack(id, GROUP, 1);
	member = rcl_id_of(id)->members->handle;
	fake_post_member(RDMA_CM_ALT_EVENT_MULTICAST_ERROR, member, -ENETRESET);
	take_and_ack(ch, RDMA_CM_EVENT_MULTICAST_ERROR);
	assert_int_equal(leave(id, GROUP), 0);
	assert_int_equal(fake_verbs.attached, 0);
	destroy_with_qp(id, ch);
}

TEST(destroy_qp_detaches_it_first)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);

	add_qp(id);
	join_and_ack(id, GROUP, 1);
	join_and_ack(id, GROUP, 1);
	join_and_ack(id, OTHER, 2);
	rdma_destroy_qp(id);
	assert_int_equal(fake_verbs.attached, 0);
	assert_int_equal(fake_verbs.detaches, 2);
	/* The memberships remain. */
	assert_int_equal(leave(id, GROUP), 0);
	assert_int_equal(leave(id, GROUP), 0);
	assert_int_equal(leave(id, OTHER), 0);
	assert_int_equal(fake_verbs.detaches, 2);
	destroy_with_qp(id, ch);
}

TEST(destroy_id_detaches_and_forgets)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_comp_channel *send_channel, *recv_channel;
	struct ibv_qp *qp;
	uint64_t cookie;

	add_qp(id);
	join_and_ack(id, GROUP, 1);
	cookie = rcl_id_of(id)->members->cookie;
	join_and_ack(id, OTHER, 2);
	/* A membership whose event was not read. */
	assert_int_equal(join_group(id, "239.1.1.3"), 0);
	qp = id->qp;
	send_cq = id->send_cq;
	recv_cq = id->recv_cq;
	send_channel = id->send_cq_channel;
	recv_channel = id->recv_cq_channel;
	assert_int_equal(fake_verbs.attached, 1 << 1 | 1 << 2);
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_int_equal(fake_verbs.attached, 0);
	assert_null(rcl_table_get(RCL_KIND_MEMBER, cookie));
	/* Without destroying the QP, as rdma_destroy_id does. */
	assert_int_equal(ibv_destroy_qp(qp), 0);
	ibv_destroy_cq(send_cq);
	ibv_destroy_cq(recv_cq);
	ibv_destroy_comp_channel(send_channel);
	ibv_destroy_comp_channel(recv_channel);
	rdma_destroy_event_channel(ch);
}

/* A program may replace the library's QP by none or another one. */
TEST(qp_that_was_taken_away_is_left_alone)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id = bound(ch);
	struct ibv_qp *qp, foreign = { .qp_num = 1 };

	add_qp(id);
	join_and_ack(id, GROUP, 1);
	qp = id->qp;
	id->qp = &foreign;
	rcl_members_detach(rcl_id_of(id));
	id->qp = NULL;
	assert_int_equal(leave(id, GROUP), 0);
	assert_int_equal(fake_verbs.detaches, 0);
	id->qp = qp;
	fake_verbs.attached = 0;
	destroy_with_qp(id, ch);
}

RUN
