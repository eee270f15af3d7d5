// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections over a trunk: the objects, their numbers and their timers.
 *
 * The index of the trunk finds a connection by its number until the owner destroys it. The object
 * stays in memory until its last record is in a frame, so destroying it does not wait for that. If
 * that frame is lost, the peer asks for the connection over the next link.
 *
 * A link loses no record unless it fails, so no timer sends one again. Timers end what a program or
 * the peer leaves open: a REQ that is not accepted, a REP that is not answered by an RTU, an
 * unanswered DREQ, and the timewait.
 *
 * Locking: rca_trunk.lock; process context.
 */
#include "trunk/trunk.h"

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_sa.h>

#include "lib/compat.h"
#include "lib/testing.h"
#include "lib/timing.h"
#include "transport/transport.h"

/*
 * Limits of connections without an owner whose last record is unsent, which no memory cgroup is
 * charged for: of a trunk, of one whose peer has acknowledged nothing for STUCK_TIME or cannot be
 * reached, and of the host. Each is 256 bytes, and up to as many of private data.
 */
#define MOST_ANSWERS	16384
#define MOST_STUCK	512
#define MOST_OF_ALL	65536
#define STUCK_TIME	HZ

/* Attempts to open a link after which a peer counts as unreachable. */
#define STUCK_TRIES	2

/* Sum of &rca_trunk.answers. Unit tests change it. */
RCA_VISIBLE_IF_KUNIT atomic_t rca_answers_of_all;

/*
 * Allocate a connection, with a reference for its owner, and the next number of this host if
 * @number is 0. Returns NULL without memory. The caller holds a reference on @trunk.
 */
struct rca_trunk_conn *rca_conn_alloc(struct rca_trunk *trunk, u32 number, gfp_t gfp)
{
	struct rca_trunk_conn *conn = kzalloc(sizeof(*conn), gfp);

	if (!conn)
		return NULL;
	conn->ref = 1;
	conn->trunk = trunk;
	refcount_inc(&trunk->ref);	/* put in rca_conn_put_locked() */
	INIT_LIST_HEAD(&conn->waiting);
	timerqueue_init(&conn->timer);
	spin_lock(&trunk->lock);
	trunk->users++;
	conn->session = trunk->session;
	conn->number = number;
	if (!number) {
		conn->number = trunk->next_number;
		trunk->next_number += 2;
		if (!trunk->next_number)	/* 0 is none */
			trunk->next_number = 2;
	}
	spin_unlock(&trunk->lock);
	return conn;
}

/* Make a connection known by its number. Returns -EBUSY if the number is in use, or -ENOMEM. */
int rca_conn_add(struct rca_trunk_conn *conn, gfp_t gfp)
{
	return xa_insert(&conn->trunk->conns, conn->number, conn, gfp);
}

/* The caller holds a reference on the trunk of its own, so the put below is not the last one. */
void rca_conn_put_locked(struct rca_trunk_conn *conn)
{
	struct rca_trunk *trunk = conn->trunk;

	lockdep_assert_held(&trunk->lock);
	if (--conn->ref)
		return;
	WARN_ON_ONCE(!RB_EMPTY_NODE(&conn->timer.node));
	if (conn->is_answer) {
		trunk->answers--;
		atomic_dec(&rca_answers_of_all);
	}
	rdma_destroy_ah_attr(&conn->ah);
	kfree(conn->data);
	kfree_rcu(conn, rcu);
	rca_trunk_unuse(trunk);
	if (!trunk->users && cancel_delayed_work(&trunk->timer)) {
		trunk->timer_at = 0;
		rca_trunk_put(trunk);	/* got in rca_conn_wake_at() */
	}
	rca_trunk_put(trunk);	/* got in rca_conn_alloc() */
}

/* Returns NULL if no trunk to the peer is open, or without memory. Sleeps. */
struct rca_trunk_conn *rca_conn_create(const struct rca_peer_key *key, void *owner)
{
	struct rca_trunk *trunk = rca_trunk_find_open(key);
	struct rca_trunk_conn *conn;

	if (!trunk)
		return NULL;
	conn = rca_conn_alloc(trunk, 0, GFP_KERNEL_ACCOUNT);
	if (conn) {
		conn->owner = owner;
		if (rca_conn_add(conn, GFP_KERNEL)) {
			spin_lock(&trunk->lock);
			rca_conn_put_locked(conn);
			spin_unlock(&trunk->lock);
			conn = NULL;
		}
	}
	rca_trunk_put(trunk);	/* got in rca_trunk_find_open() */
	return conn;
}

/* Find a connection to call its owner back, or NULL. rca_conn_callback_done() has to follow. */
struct rca_trunk_conn *rca_conn_get(struct rca_trunk *trunk, u32 number)
{
	struct rca_trunk_conn *conn = xa_load(&trunk->conns, number);

	lockdep_assert_held(&trunk->lock);
	if (conn)
		conn->callbacks++;
	return conn;
}

/* Undo rca_conn_get(). */
void rca_conn_callback_done(struct rca_trunk_conn *conn)
{
	lockdep_assert_held(&conn->trunk->lock);
	/* Pairs with rca_conn_remove(). */
	WRITE_ONCE(conn->callbacks, conn->callbacks - 1);
	if (!conn->callbacks) {
		smp_mb();	/* see wake_up_var() */
		wake_up_var(&conn->callbacks);
	}
}

/* Does the session of a connection still exist? */
bool rca_conn_has_session(const struct rca_trunk_conn *conn)
{
	lockdep_assert_held(&conn->trunk->lock);
	return conn->session && conn->session == conn->trunk->session;
}

/*
 * Remove a connection from the index. In a later session another one may have its number. Any
 * context.
 */
void rca_conn_forget(struct rca_trunk_conn *conn)
{
	xa_cmpxchg(&conn->trunk->conns, conn->number, conn, NULL, 0);
}

static void drop_data(struct rca_trunk_conn *conn)
{
	kfree(conn->data);
	conn->data = NULL;
	conn->data_len = 0;
}

/* The peer has answered the last REQ or REP, which is not sent again. */
void rca_conn_answered(struct rca_trunk_conn *conn)
{
	rca_conn_stop_timer(conn);
	drop_data(conn);
	conn->to_send &= ~(BIT(RCA_RECORD_REQ) | BIT(RCA_RECORD_REP));
}

/*
 * Drop the unsent records and the private data of a connection, on which the caller holds a
 * reference.
 */
void rca_conn_withdraw(struct rca_trunk_conn *conn)
{
	lockdep_assert_held(&conn->trunk->lock);
	conn->to_send = 0;
	drop_data(conn);
	if (!list_empty(&conn->waiting)) {
		list_del_init(&conn->waiting);
		conn->ref--;	/* got in rca_conn_send() */
	}
}

/* May another connection without an owner stay until its record is sent? */
static bool may_stay(const struct rca_trunk *trunk)
{
	const struct rca_trunk_link *link = trunk->link;
	bool stuck = link && link->ready ? rca_link_is_stuck(link, STUCK_TIME) :
					   trunk->tries >= STUCK_TRIES;

	lockdep_assert_held(&trunk->lock);
	return trunk->answers < (stuck ? MOST_STUCK : MOST_ANSWERS) &&
	       atomic_read(&rca_answers_of_all) < MOST_OF_ALL;
}

/*
 * Put the reference of the owner. A connection with an unsent record stays until that is sent.
 * Beyond the limits the record is lost: a request of the peer times out, as over ib_cm, and both
 * ends agree again on their connections over the next link. The caller holds a reference on the
 * trunk of its own.
 */
void rca_conn_abandon(struct rca_trunk_conn *conn)
{
	struct rca_trunk *trunk = conn->trunk;

	lockdep_assert_held(&trunk->lock);
	if (!list_empty(&conn->waiting)) {
		if (may_stay(trunk)) {
			trunk->answers++;
			atomic_inc(&rca_answers_of_all);
			conn->is_answer = true;
		} else {
			rca_conn_withdraw(conn);
			if (trunk->link)
				trunk->link->unsent = true;
		}
	}
	rca_conn_put_locked(conn);
}

/*
 * Wait for running callbacks of a connection, and put the reference of its owner. No callback runs
 * afterwards; unsent records are still sent. Sleeps. Not from a callback of @conn.
 */
void rca_conn_remove(struct rca_trunk_conn *conn)
{
	struct rca_trunk *trunk = conn->trunk;

	refcount_inc(&trunk->ref);
	spin_lock(&trunk->lock);
	rca_conn_forget(conn);
	rca_conn_stop_timer(conn);
	while (conn->callbacks) {
		spin_unlock(&trunk->lock);
		/* Pairs with rca_conn_callback_done(). */
		wait_var_event(&conn->callbacks, !READ_ONCE(conn->callbacks));
		spin_lock(&trunk->lock);
		rca_conn_stop_timer(conn);
	}
	rca_conn_abandon(conn);
	spin_unlock(&trunk->lock);
	rca_trunk_put(trunk);
}

/* Run the work of the timers at @when, in jiffies since boot, or earlier. */
void rca_conn_wake_at(struct rca_trunk *trunk, u64 when)
{
	u64 now = get_jiffies_64();

	lockdep_assert_held(&trunk->lock);
	if (trunk->timer_at && !time_before64(when, trunk->timer_at))
		return;
	trunk->timer_at = when;
	refcount_inc(&trunk->ref);		/* put in rca_conn_timer_work() */
	if (rca_trunk_queue(&trunk->timer, time_after64(when, now) ? when - now : 0))
		refcount_dec(&trunk->ref);	/* it was pending already, with a reference */
}

/* Start the timer of a connection, anew if it is running. */
void rca_conn_set_timer(struct rca_trunk_conn *conn, u32 ms)
{
	rca_conn_stop_timer(conn);
	conn->timer.expires = get_jiffies_64() + msecs_to_jiffies(ms);
	timerqueue_add(&conn->trunk->timers, &conn->timer);
	rca_conn_wake_at(conn->trunk, conn->timer.expires);
}

void rca_conn_stop_timer(struct rca_trunk_conn *conn)
{
	lockdep_assert_held(&conn->trunk->lock);
	if (!RB_EMPTY_NODE(&conn->timer.node))
		timerqueue_del(&conn->trunk->timers, &conn->timer);
}

/* The connection has ended. The timer reports the end of the timewait to the owner. */
void rca_conn_enter_timewait(struct rca_trunk_conn *conn)
{
	conn->state = RCA_CONN_TIMEWAIT;
	rca_conn_set_timer(conn, rca_timing_ms(conn->ack_timeout));
}

/*
 * Paths of connections, and attributes of their QPs. Both equal those of ib_cm for the same path
 * and parameters.
 *
 * Locking: rca_trunk.lock to read attributes.
 */

/* A path with this hop limit or a lower one stays in the subnet, so its LIDs are valid. */
#define HOPS_IN_SUBNET	1

/* Widths of path fields (IBTA volume 1, 12.6.5); a program may have set more bits. */
#define FLOW_LABEL_MASK	0xfffff
#define SL_MASK		0xf
#define RATE_MASK	0x3f

/* Timeouts of QPs have 5 bits. */
#define MOST_ACK_TIMEOUT	31

/*
 * Local ACK timeout (IBTA volume 1, 9.7.6.1.3) from the ACK delay of the remote device and the
 * packet lifetime of the path. All three are exponents n of 4.096 us * 2^n. A packet and its
 * acknowledgement take twice the lifetime, plus the delay. The sum of two powers of two is rounded
 * to the greater one, or to its double if they are close.
 */
u8 rca_conn_ack_timeout(u8 delay, u8 lifetime)
{
	u8 both_ways = lifetime + 1;
	u8 longer = max(both_ways, delay);
	u8 shorter = min(both_ways, delay);

	return min_t(u8, longer + (longer - shorter <= 1), MOST_ACK_TIMEOUT);
}

/*
 * Set the path of a connection that has none. Sleeps to resolve the route of a RoCE path, unless it
 * is resolved. Returns 0 or a negative errno.
 */
int rca_conn_set_path(struct rca_trunk_conn *conn, struct sa_path_rec *path,
		      const struct ib_gid_attr *sgid_attr)
{
	struct ib_device *ibdev = conn->trunk->dev->ibdev;
	u32 port_num = conn->trunk->key.peer.port_num;
	int ret;

	ret = ib_find_cached_pkey(ibdev, port_num, be16_to_cpu(path->pkey), &conn->pkey_index);
	if (ret)
		return ret;
	conn->mtu = path->mtu;
	conn->ack_timeout = min_t(u8, path->packet_life_time, RCA_MAX_LIFETIME) + 1;
	return ib_init_ah_attr_from_path(ibdev, port_num, path, &conn->ah, sgid_attr);
}

/* Set the path in the REQ. With rca_trunk.lock held, unless @conn is not used yet. */
void rca_conn_tell_path(struct rca_trunk_conn *conn, const struct sa_path_rec *path)
{
	u8 delay = conn->trunk->dev->ibdev->attrs.local_ca_ack_delay;
	u8 lifetime = min_t(u8, path->packet_life_time, RCA_MAX_LIFETIME);

	conn->path = (struct rca_record_path) {
		.flow_label = be32_to_cpu(path->flow_label) & FLOW_LABEL_MASK,
		.traffic_class = path->traffic_class,
		.hop_limit = path->hop_limit,
		.sl = path->sl & SL_MASK,
		.mtu = path->mtu,
		.rate = path->rate & RATE_MASK,
		.ack_timeout = rca_conn_ack_timeout(delay, lifetime),
	};
	if (!sa_path_is_roce((struct sa_path_rec *)path)) {
		conn->path.slid = be32_to_cpu(sa_path_get_slid((struct sa_path_rec *)path));
		conn->path.dlid = be32_to_cpu(sa_path_get_dlid((struct sa_path_rec *)path));
	}
}

/*
 * Set @path to the path of a received REQ from the view of its receiver. The addresses of the next
 * hop are those of the trunk, which its working QP has proven.
 */
void rca_conn_read_path(const struct rca_trunk *trunk, const struct rca_record_path *from,
			struct sa_path_rec *path)
{
	*path = trunk->path;
	path->flow_label = cpu_to_be32(from->flow_label);
	path->traffic_class = from->traffic_class;
	path->sl = from->sl;
	path->mtu = from->mtu;
	path->rate = from->rate;
	path->packet_life_time = from->ack_timeout - !!from->ack_timeout;
	if (sa_path_is_roce(path)) {
		path->roce.route_resolved = true;
		return;
	}
	/* ib_cm also reports the received hop limit, which is 0 if the sender's path has none. */
	if (!from->hop_limit || !path->hop_limit)
		path->hop_limit = from->hop_limit;
	if (from->hop_limit <= HOPS_IN_SUBNET) {
		sa_path_set_slid(path, from->dlid);
		sa_path_set_dlid(path, from->slid);
	}
}

static bool has_connection_context(const struct rca_trunk_conn *conn)
{
	return conn->state != RCA_CONN_NEW && conn->state <= RCA_CONN_UP;
}

static int init_attr(const struct rca_trunk_conn *conn, struct ib_qp_attr *attr, int *mask)
{
	if (!has_connection_context(conn))
		return -EINVAL;
	attr->qp_access_flags = IB_ACCESS_REMOTE_WRITE;
	if (conn->responder_resources)
		attr->qp_access_flags |= IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |
					 rca_flush_access(conn->trunk->dev->ibdev);
	attr->pkey_index = conn->pkey_index;
	attr->port_num = conn->trunk->key.peer.port_num;
	*mask = IB_QP_STATE | IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX | IB_QP_PORT;
	return 0;
}

/* The owner sets rq_psn, which is in the mask, too. */
static int rtr_attr(const struct rca_trunk_conn *conn, struct ib_qp_attr *attr, int *mask)
{
	if (!has_connection_context(conn) || conn->state == RCA_CONN_REQ_SENT)
		return -EINVAL;
	attr->ah_attr = conn->ah;
	attr->path_mtu = conn->mtu;
	attr->dest_qp_num = conn->peer_qpn;
	*mask = IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN;
	if (conn->qp_type == IB_QPT_RC) {
		attr->max_dest_rd_atomic = conn->responder_resources;
		attr->min_rnr_timer = 0;
		*mask |= IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	}
	return 0;
}

static int rts_attr(const struct rca_trunk_conn *conn, struct ib_qp_attr *attr, int *mask)
{
	if (!has_connection_context(conn) || conn->state == RCA_CONN_REQ_SENT)
		return -EINVAL;
	attr->sq_psn = conn->sq_psn;
	*mask = IB_QP_STATE | IB_QP_SQ_PSN;
	if (conn->qp_type == IB_QPT_RC) {
		attr->retry_cnt = conn->retry_count;
		attr->rnr_retry = conn->rnr_retry_count;
		attr->max_rd_atomic = conn->initiator_depth;
		attr->timeout = conn->ack_timeout;
		*mask |= IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC |
			 IB_QP_TIMEOUT;
	}
	return 0;
}

/* &rca_tp_ops.qp_attr. The address handle refers to a GID on which @lower holds a reference. */
int rca_conn_qp_attr(void *lower, struct ib_qp_attr *attr, int *mask)
{
	struct rca_trunk_conn *conn = lower;
	int ret = -EINVAL;

	spin_lock(&conn->trunk->lock);
	if (attr->qp_state == IB_QPS_INIT)
		ret = init_attr(conn, attr, mask);
	else if (attr->qp_state == IB_QPS_RTR)
		ret = rtr_attr(conn, attr, mask);
	else if (attr->qp_state == IB_QPS_RTS)
		ret = rts_attr(conn, attr, mask);
	spin_unlock(&conn->trunk->lock);
	return ret;
}
