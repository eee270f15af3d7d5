// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Options of an id, with the levels, names, lengths and states of the stock rdma_cm.
 *
 * Locking: rca_id.op.
 */
#include "options.h"

#include <kunit/visibility.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_user_cm.h>

static int get_u8(const void *val, u32 len, u8 *out)
{
	if (len != sizeof(*out))
		return -EINVAL;
	*out = *(const u8 *)val;
	return 0;
}

static int get_bool(const void *val, u32 len, bool *out)
{
	int v;

	if (len != sizeof(v))
		return -EINVAL;
	memcpy(&v, val, sizeof(v));
	*out = v;
	return 0;
}

static int set_tos(struct rca_id *id, const void *val, u32 len)
{
	return get_u8(val, len, &id->tos);
}

/* May be set until the id listens, and cleared until it is bound. */
static int set_reuse(struct rca_id *id, const void *val, u32 len)
{
	enum rca_state state = rca_id_state(id);
	bool reuse;
	int ret;

	ret = get_bool(val, len, &reuse);
	if (ret)
		return ret;
	if (state == RCA_ST_LISTEN || (!reuse && state != RCA_ST_IDLE))
		return -EINVAL;
	if (rca_ports_bound(&id->bind)) {
		ret = rca_ports_set_reuse(&id->bind, reuse);
		if (ret)
			return ret;
	}
	id->reuse = reuse;
	return 0;
}

static int set_afonly(struct rca_id *id, const void *val, u32 len)
{
	enum rca_state state = rca_id_state(id);
	bool afonly;
	int ret;

	ret = get_bool(val, len, &afonly);
	if (ret)
		return ret;
	if (state != RCA_ST_IDLE && state != RCA_ST_BOUND)
		return -EINVAL;
	if (rca_ports_bound(&id->bind)) {
		ret = rca_ports_set_afonly(&id->bind, afonly);
		if (ret)
			return ret;
	}
	id->afonly = afonly;
	id->afonly_set = true;
	return 0;
}

static int set_ack_timeout(struct rca_id *id, const void *val, u32 len)
{
	u8 timeout;
	int ret;

	if (id->qp_type != IB_QPT_RC && id->qp_type != IB_QPT_XRC_INI)
		return -EINVAL;
	ret = get_u8(val, len, &timeout);
	if (ret)
		return ret;
	WRITE_ONCE(id->ack_timeout, timeout);	/* pairs with connected_attr() */
	smp_store_release(&id->ack_timeout_set, true);
	return 0;
}

static int set_locked(struct rca_id *id, u32 level, u32 name, const void *val, u32 len)
{
	if (level != RDMA_OPTION_ID)
		return -ENOSYS;
	switch (name) {
	case RDMA_OPTION_ID_TOS:
		return set_tos(id, val, len);
	case RDMA_OPTION_ID_REUSEADDR:
		return set_reuse(id, val, len);
	case RDMA_OPTION_ID_AFONLY:
		return set_afonly(id, val, len);
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		return set_ack_timeout(id, val, len);
	default:
		return -ENOSYS;
	}
}

/**
 * rca_set_option() - set an option of an id
 * @id: the id
 * @level: RDMA_OPTION_ID
 * @name: RDMA_OPTION_ID_*
 * @val: the value
 * @len: its length in bytes
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -ENOSYS unknown level or option; -EINVAL wrong length or state; -ENXIO.
 */
int rca_set_option(struct rca_id *id, u32 level, u32 name, const void *val, u32 len)
{
	int ret;

	mutex_lock(&id->op);
	ret = rca_id_state(id) == RCA_ST_REMOVED ? -ENXIO :
						   set_locked(id, level, name, val, len);
	mutex_unlock(&id->op);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(rca_set_option);

/**
 * rca_get_option() - read an option of an id
 * @id: the id
 * @level: RDMA_OPTION_ID
 * @name: RDMA_OPTION_ID_*
 * @val: where the value goes; RCA_OPTION_MAX bytes
 * @len: in: bytes that the caller has room for; out: bytes of the value
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -ENOSYS unknown level or option; -EINVAL no room for the value.
 */
int rca_get_option(struct rca_id *id, u32 level, u32 name, void *val, u32 *len)
{
	int as_int = 0;
	u8 as_u8 = 0;
	bool is_u8 = false;

	if (level != RDMA_OPTION_ID)
		return -ENOSYS;
	mutex_lock(&id->op);
	switch (name) {
	case RDMA_OPTION_ID_TOS:
		as_u8 = id->tos;
		is_u8 = true;
		break;
	case RDMA_OPTION_ID_REUSEADDR:
		as_int = id->reuse;
		break;
	case RDMA_OPTION_ID_AFONLY:
		as_int = id->afonly;
		break;
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		as_u8 = id->ack_timeout;
		is_u8 = true;
		break;
	default:
		mutex_unlock(&id->op);
		return -ENOSYS;
	}
	mutex_unlock(&id->op);
	if (*len < (is_u8 ? sizeof(as_u8) : sizeof(as_int)))
		return -EINVAL;
	*len = is_u8 ? sizeof(as_u8) : sizeof(as_int);
	memcpy(val, is_u8 ? (void *)&as_u8 : (void *)&as_int, *len);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rca_get_option);
