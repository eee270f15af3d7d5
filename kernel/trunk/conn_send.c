// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sending of the records of connections.
 *
 * A connection that has something to send is in a list of its trunk until there is room in a frame.
 * It has all that its records contain, so nothing is allocated to wait, and a callback can always
 * answer.
 *
 * Locking: rca_trunk.lock; process context.
 */
#include "trunk/conn.h"

#include <linux/bitops.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "transport/devices.h"
#include "trunk/link.h"
#include "trunk/trunk.h"

/* Records that have private data. */
#define WITH_DATA	(BIT(RCA_RECORD_REQ) | BIT(RCA_RECORD_REP) | BIT(RCA_RECORD_REJ))

static void make_record(const struct rca_trunk_conn *conn, u8 type,
			struct rca_trunk_record *record)
{
	*record = (struct rca_trunk_record) { .type = type, .conn = conn->number };
	if (BIT(type) & WITH_DATA) {
		record->private_data = conn->data;
		record->private_len = conn->data_len;
	}
	switch (type) {
	case RCA_RECORD_REQ:
		record->service_id = conn->service_id;
		record->qp_type = conn->qp_type;
		record->qp = conn->qp;
		record->path = conn->path;
		break;
	case RCA_RECORD_REP:
		record->qp = conn->qp;
		record->ack_delay = conn->trunk->dev->ibdev->attrs.local_ca_ack_delay;
		break;
	case RCA_RECORD_REJ:
		record->reason = conn->reason;
		break;
	case RCA_RECORD_DREQ:
		record->remote_qpn = conn->peer_qpn;
		break;
	case RCA_RECORD_HELD:
		record->delay_ms = RCA_CONN_HELD_MS;
		break;
	}
}

static void drop_data(struct rca_trunk_conn *conn)
{
	kfree(conn->data);
	conn->data = NULL;
	conn->data_len = 0;
}

/* Puts the records of a connection into frames. Returns false if there is no room for one. */
static bool fill_from(struct rca_trunk_conn *conn)
{
	struct rca_trunk_record record;
	u8 type;
	int ret;

	while (conn->to_send) {
		/* In the order of their types an RTU comes before a DREQ. */
		type = __ffs(conn->to_send);
		make_record(conn, type, &record);
		ret = rca_trunk_add(conn->trunk, &record);
		if (ret == -EAGAIN)
			return false;
		WARN_ON_ONCE(ret);	/* its fields have been checked */
		conn->to_send &= ~BIT(type);
		if (BIT(type) & WITH_DATA)
			drop_data(conn);
	}
	return true;
}

/**
 * rca_conn_fill() - put records that wait into frames, as far as there is room
 * @trunk: the trunk, which has a link
 *
 * Context: Process context. Does not sleep. Expects the lock of @trunk to be held by the caller,
 * who has a reference of @trunk.
 */
void rca_conn_fill(struct rca_trunk *trunk)
{
	struct rca_trunk_conn *conn;

	lockdep_assert_held(&trunk->lock);
	while (!list_empty(&trunk->waiting)) {
		conn = list_first_entry(&trunk->waiting, struct rca_trunk_conn, waiting);
		if (!fill_from(conn))
			return;
		list_del_init(&conn->waiting);
		rca_conn_put_locked(conn);	/* got in rca_conn_send() */
	}
}

/**
 * rca_conn_send() - send a record of a connection as soon as there is room
 * @conn: the connection
 * @type: type of the record, whose contents are members of @conn
 *
 * Context: Process context. Does not sleep. Expects the lock of the trunk to be held by the caller,
 * who has a reference of the trunk.
 */
void rca_conn_send(struct rca_trunk_conn *conn, enum rca_record_type type)
{
	struct rca_trunk *trunk = conn->trunk;

	lockdep_assert_held(&trunk->lock);
	if (!rca_conn_has_session(conn))
		return;
	conn->to_send |= BIT(type);
	if (list_empty(&conn->waiting)) {
		conn->ref++;	/* put in rca_conn_fill() */
		list_add_tail(&conn->waiting, &trunk->waiting);
	}
	rca_trunk_push(trunk);
}

/**
 * rca_conn_give_up() - a request is given up
 * @conn: the connection, whose request was not answered
 *
 * A request that the peer has not got is only forgotten.
 *
 * Context: Process context. Does not sleep. Expects the lock of the trunk to be held by the caller,
 * who has a reference of the trunk.
 */
void rca_conn_give_up(struct rca_trunk_conn *conn)
{
	lockdep_assert_held(&conn->trunk->lock);
	conn->state = RCA_CONN_CLOSED;
	if (conn->to_send & BIT(RCA_RECORD_REQ)) {
		rca_conn_withdraw(conn);
		return;
	}
	conn->reason = IB_CM_REJ_TIMEOUT;
	rca_conn_send(conn, RCA_RECORD_REJ);
}
