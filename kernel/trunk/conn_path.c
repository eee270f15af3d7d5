// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The path of a connection over a trunk, and the attributes of its QPs: the same as ib_cm gives a
 * QP for the same path and the same parameters.
 *
 * Locking: rca_trunk.lock to read attributes.
 */
#include "trunk/conn.h"

#include <linux/minmax.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_sa.h>

#include "lib/compat.h"
#include "lib/timing.h"
#include "transport/devices.h"
#include "trunk/trunk.h"

/* A path with this many hops or less does not leave the subnet, and has valid LIDs. */
#define HOPS_IN_SUBNET	1

/* Bits of fields of a path, which a program may have set (IBTA volume 1, 12.6.5). */
#define FLOW_LABEL_MASK	0xfffff
#define SL_MASK		0xf
#define RATE_MASK	0x3f

/* The timeouts of QPs have 5 bits. */
#define MOST_ACK_TIMEOUT	31

/**
 * rca_conn_ack_timeout() - compute a local ACK timeout (IBTA volume 1, 9.7.6.1.3)
 * @delay: ACK delay of the device at the other end
 * @lifetime: packet lifetime of the path
 *
 * All three are n of 4.096 us * 2^n. A packet and its acknowledgement take twice the lifetime, and
 * the delay. A sum of two powers of two is the greater one, or twice as much if they are close.
 *
 * Context: Any context. Pure.
 * Return: the timeout.
 */
u8 rca_conn_ack_timeout(u8 delay, u8 lifetime)
{
	u8 both_ways = lifetime + 1;
	u8 longer = max(both_ways, delay);
	u8 shorter = min(both_ways, delay);

	return min_t(u8, longer + (longer - shorter <= 1), MOST_ACK_TIMEOUT);
}

/**
 * rca_conn_set_path() - set the path of a connection
 * @conn: the connection, which has none
 * @path: the path; the route of one of RoCE is resolved if it is not
 * @sgid_attr: local GID
 *
 * Context: Process context. Sleeps, unless the route is resolved.
 * Return: 0 or a negative errno.
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

/**
 * rca_conn_tell_path() - set the path in the request of a connection
 * @conn: the connection
 * @path: its path
 *
 * Context: Process context. Expects the lock of the trunk to be held, or @conn to be unused.
 */
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

/**
 * rca_conn_read_path() - the path of a request, as its receiver sees it
 * @trunk: the trunk by which it came
 * @from: the path in the request
 * @path: set
 *
 * The addresses of the next hop are those of the trunk, whose QP has proven them.
 *
 * Context: Process context. Pure.
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
	/* ib_cm has that of the received message, which has none if the sender's path has none. */
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

/* Without the starting PSN of the receive queue, which the owner knows. */
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

/**
 * rca_conn_qp_attr() - &rca_tp_ops.qp_attr of trunks
 * @lower: the connection
 * @attr: attributes for attr->qp_state; the address handle refers to a GID of which @lower has a
 *        reference
 * @mask: set to those that are valid
 *
 * Context: Process context. Does not sleep. Takes and releases the lock of the trunk.
 * Return: 0, or -EINVAL: not available in the state of the connection.
 */
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
