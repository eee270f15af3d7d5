/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A transport that sends nothing, and a device that is none: for scenarios without a wire. */
#ifndef RCA_FAKE_TRANSPORT_H
#define RCA_FAKE_TRANSPORT_H

#include <kunit/test.h>
#include <linux/atomic.h>

#include "id/id.h"
#include "device/devices.h"

/** FAKE_QKEY - the queue key of the peer */
#define FAKE_QKEY 0x01234567

/** FAKE_FOREIGN_QP - the number of a QP that is somebody else's */
#define FAKE_FOREIGN_QP 0xbad

/** FAKE_SL - the service level of the way to the peer */
#define FAKE_SL 5

/**
 * struct fake_lower - what the fake transport gives an id
 * @owner: whom it calls back
 */
struct fake_lower {
	void *owner;
};

/**
 * struct fake - a bench for scenarios: a device, a context and a queue
 * @dev: the device
 * @ibdev: what @dev stands on; zero but for its GUID and one port
 * @ctx: the context
 * @queue: the queue of its ids
 * @lowers: lower ids that exist
 * @connects: requests that were sent
 * @replies: replies that were sent
 * @patiences: how often the peer was asked to wait for a ready-to-use
 * @last_patience: how long the last time, as n of 4.096 us * 2^n
 * @readies: ready-to-use messages that were sent
 * @rejects: rejects that were sent
 * @disconnects: disconnect requests that were sent
 * @sidr_requests: requests for a peer's QP that were sent
 * @sidr_replies: answers to such requests that were sent
 * @listens: service IDs that are held
 * @last_reason: reason of the last reject
 * @last_status: status of the last answer to a request for a QP
 * @last_qkey: its queue key
 * @last_req: private data of the last request, with its header
 * @last_req_len: its length
 * @last_timers: timers of the last request for a connection
 * @no_attr: nothing is known of QPs
 * @no_lower: there is no memory for a lower id
 * @busy: another user of the device has each service ID
 * @fail: errno that the next message gets instead of being sent; 0: none
 * @fail_after: what sending returns once it has called @during
 * @during: called while a message is sent, with the lower id; NULL: nothing
 * @reachable: a request would have found a listener as soon as the last service ID was taken
 * @groups: multicast groups that are joined
 * @join_later: a join does not end before it returns
 * @member: who joined last
 * @last_join: what was asked for then; its pointers are old
 * @during_join: called while a group is joined; NULL: nothing
 */
struct fake {
	struct rca_device dev;
	struct ib_device *ibdev;
	struct rca_ctx *ctx;
	struct rca_queue *queue;
	atomic_t lowers;
	int connects;
	int replies;
	int patiences;
	u8 last_patience;
	int readies;
	int rejects;
	int disconnects;
	int sidr_requests;
	int sidr_replies;
	int listens;
	int last_reason;
	int last_status;
	u32 last_qkey;
	u8 last_req[U8_MAX];
	u8 last_req_len;
	struct rca_req_timers last_timers;
	bool no_attr;
	bool no_lower;
	bool busy;
	int fail;
	int fail_after;
	void (*during)(struct fake *fake, void *lower);
	bool reachable;
	atomic_t groups;
	bool join_later;
	void *member;
	struct rca_tp_join last_join;
	void (*during_join)(struct fake *fake);
};

struct fake *fake_create(struct kunit *test);
void fake_destroy(struct fake *fake);
struct rca_id *fake_active_id(struct kunit *test, struct fake *fake, u64 cookie);
struct rca_id *fake_child(struct kunit *test, struct fake *fake);
struct rca_id *fake_active_datagram(struct kunit *test, struct fake *fake, u64 cookie);
struct rca_id *fake_datagram_child(struct kunit *test, struct fake *fake);
u8 fake_message(struct rca_id *id, enum rca_input input, int status);
bool rca_test_take(struct rca_queue *queue, struct rdma_cm_alt_event *rec);
bool fake_take_event(struct fake *fake, struct rdma_cm_alt_event *rec);

#endif /* RCA_FAKE_TRANSPORT_H */
