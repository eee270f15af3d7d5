/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A transport that sends nothing, and a device for it. */
#ifndef RCA_FAKE_TRANSPORT_H
#define RCA_FAKE_TRANSPORT_H
#include <kunit/test.h>
#include <linux/atomic.h>

#include "id/id.h"
#include "transport/transport.h"

/** FAKE_QKEY - the queue key of the peer */
#define FAKE_QKEY 0x01234567

/** FAKE_PEER_GUID - the CA GUID of the peer */
#define FAKE_PEER_GUID cpu_to_be64(0x8877665544332211ULL)

/** FAKE_PEER_QP - the QP number of the peer, in all replies: the transport is like ib_cm in this */
#define FAKE_PEER_QP 77

/** FAKE_FOREIGN_QP - a QP number that the caller may not use */
#define FAKE_FOREIGN_QP 0xbad

/** FAKE_REMOTE_COMM_ID - the communication ID of the peer in all connections */
#define FAKE_REMOTE_COMM_ID 0x5eed

/** FAKE_SL - service level of the path to the peer */
#define FAKE_SL 5

/* The lower cm_id. */
struct fake_lower {
	void *owner;
	u32 number;
};

/**
 * struct fake - a device, a context and a queue, and what the transport was asked to send
 * @dev: the device
 * @ibdev: device of ib_core, with a GUID and one port only
 * @ctx: the context
 * @queue: queue of the ids
 * @lowers: lower cm_ids that exist
 * @connects: requests sent
 * @replies: replies sent
 * @patiences: MRAs sent
 * @last_patience: time of the last MRA, n of 4.096 us * 2^n
 * @readies: ready-to-use messages sent
 * @rejects: rejects sent
 * @disconnects: disconnect requests sent
 * @sidr_requests: datagram requests sent
 * @sidr_replies: answers to datagram requests sent
 * @listens: service IDs held
 * @last_reason: reason of the last reject
 * @last_status: status of the last answer to a datagram request
 * @last_qkey: queue key of that answer
 * @last_req: private data of the last request, with its header
 * @last_req_len: length of @last_req
 * @last_rtu: private data of the last ready-to-use
 * @last_rtu_len: length of @last_rtu
 * @last_timers: timers of the last connection request
 * @no_attr: qp_attr() fails
 * @no_lower: create() fails for lack of memory
 * @busy: listen() fails, as another user of the device has the service ID
 * @fail: errno of the next message, which is not sent; 0: none
 * @no_way: no address handle leads to the peer
 * @fail_after: errno of messages after @during was called
 * @during: called while a message is sent, with the lower cm_id; or NULL
 * @meanwhile: called once, while check_qp() or create() runs for an id; or NULL
 * @busy_id: argument of @meanwhile
 * @reachable: a request would have found a listener when the last service ID was taken
 * @groups: multicast groups that are joined
 * @join_later: a join does not complete before join() returns
 * @member: argument of the last join()
 * @last_join: its parameters, whose pointers are not valid any more
 * @during_join: called while a group is joined; or NULL
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
	u8 last_rtu[U8_MAX];
	u8 last_rtu_len;
	struct rca_req_timers last_timers;
	bool no_attr;
	bool no_lower;
	bool busy;
	int fail;
	bool no_way;
	int fail_after;
	void (*during)(struct fake *fake, void *lower);
	void (*meanwhile)(struct rca_id *id);
	struct rca_id *busy_id;
	bool reachable;
	atomic_t groups;
	bool join_later;
	void *member;
	struct rca_tp_join last_join;
	void (*during_join)(struct fake *fake);
};

struct fake *fake_create(struct kunit *test);
void fake_destroy(struct fake *fake);
extern const struct rca_trunk_ops fake_trunk_ops;
const struct rca_trunk_ops *fake_trunks(const struct rca_trunk_ops *ops);
void fake_set_tp(struct fake *fake, const struct rca_tp_ops *tp);
struct rca_id *fake_active_id(struct kunit *test, struct fake *fake, u64 cookie);
struct rca_id *fake_child(struct kunit *test, struct fake *fake);
struct rca_id *fake_active_datagram(struct kunit *test, struct fake *fake, u64 cookie);
struct rca_id *fake_datagram_child(struct kunit *test, struct fake *fake);
u8 fake_message(struct rca_id *id, enum rca_input input, int status);
bool rca_test_take(struct rca_queue *queue, struct rdma_cm_alt_event *rec);
bool fake_take_event(struct fake *fake, struct rdma_cm_alt_event *rec);

#endif /* RCA_FAKE_TRANSPORT_H */
