// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Options of an id, with the levels, names, lengths and states of the stock rdma_cm.
 *
 * Locking: rca_id.op.
 */
#include "cm/internal.h"

#include <net/ipv6.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm_alt.h>
#include <rdma/rdma_user_cm.h>

static int parse_u8(const void *val, u32 len, u8 *out)
{
	if (len != sizeof(*out))
		return -EINVAL;
	*out = *(const u8 *)val;
	return 0;
}

static int parse_bool(const void *val, u32 len, bool *out)
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
	struct rca_opts *opts;
	u8 tos;
	int ret;

	ret = parse_u8(val, len, &tos);
	if (ret)
		return ret;
	opts = rca_id_need_opts(id, GFP_KERNEL_ACCOUNT);
	if (!opts)
		return -ENOMEM;
	opts->tos = tos;
	opts->tos_set = true;
	return 0;
}

/* Can be set until the id listens, and cleared until it is bound. */
static int set_reuse(struct rca_id *id, const void *val, u32 len)
{
	enum rca_state state = rca_id_state(id);
	bool reuse;
	int ret;

	ret = parse_bool(val, len, &reuse);
	if (ret)
		return ret;
	if (state == RCA_ST_LISTEN || (!reuse && state != RCA_ST_IDLE))
		return -EINVAL;
	if (rca_id_bound(id)) {
		ret = rca_ports_set_reuse(id->opts->bind, reuse);
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

	ret = parse_bool(val, len, &afonly);
	if (ret)
		return ret;
	if (state != RCA_ST_IDLE && state != RCA_ST_BOUND)
		return -EINVAL;
	if (rca_id_bound(id)) {
		ret = rca_ports_set_afonly(id->opts->bind, afonly);
		if (ret)
			return ret;
	}
	id->afonly = afonly;
	id->afonly_set = true;
	return 0;
}

static int set_ack_timeout(struct rca_id *id, const void *val, u32 len)
{
	struct rca_opts *opts;
	u8 timeout;
	int ret;

	if (id->qp_type != IB_QPT_RC && id->qp_type != IB_QPT_XRC_INI)
		return -EINVAL;
	ret = parse_u8(val, len, &timeout);
	if (ret)
		return ret;
	opts = rca_id_need_opts(id, GFP_KERNEL_ACCOUNT);
	if (!opts)
		return -ENOMEM;
	WRITE_ONCE(opts->ack_timeout, timeout);	/* pairs with connected_attr() */
	smp_store_release(&opts->ack_timeout_set, true);
	return 0;
}

static int set_path(struct rca_id *id, const void *val, u32 len)
{
	struct sa_path_rec path;

	return rca_route_parse(&path, val, len) ?: rca_route_check_source(id, &path) ?:
	       rca_resolve_set_path_locked(id, &path);
}

static int set_trunk(struct rca_id *id, const void *val, u32 len)
{
	struct rca_opts *opts;
	u8 trunk;
	int ret;

	ret = parse_u8(val, len, &trunk);
	if (ret)
		return ret;
	if (trunk > RDMA_CM_ALT_TRUNK_NEVER)
		return -EINVAL;
	opts = rca_id_need_opts(id, GFP_KERNEL_ACCOUNT);
	if (!opts)
		return -ENOMEM;
	opts->trunk = trunk;
	return 0;
}

static int set_alt_option(struct rca_id *id, u32 name, const void *val, u32 len)
{
	struct rca_opts *opts;
	u8 type;

	switch (name) {
	case RDMA_CM_ALT_OPTION_GID_TYPE:
		return parse_u8(val, len, &type) ?: rca_id_set_gid_type(id, type);
	case RDMA_CM_ALT_OPTION_PORT_DEFAULTS:
		return rca_id_set_port_defaults(id, val, len);
	case RDMA_CM_ALT_OPTION_TRUNK:
		return set_trunk(id, val, len);
	default:
		opts = rca_id_need_opts(id, GFP_KERNEL_ACCOUNT);
		return opts ? rca_timing_set(&opts->timing, name, val, len) : -ENOMEM;
	}
}

static int set_locked(struct rca_id *id, u32 level, u32 name, const void *val, u32 len)
{
	if (level == RDMA_CM_ALT_OPTION)
		return set_alt_option(id, name, val, len);
	if (level == RDMA_OPTION_IB)
		return name == RDMA_OPTION_IB_PATH ? set_path(id, val, len) : -ENOSYS;
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
 * @level: RDMA_OPTION_ID, RDMA_OPTION_IB or RDMA_CM_ALT_OPTION
 * @name: RDMA_OPTION_ID_*, RDMA_OPTION_IB_PATH or RDMA_CM_ALT_OPTION_*
 * @val: the value
 * @len: length of the value in bytes
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -ENOSYS: unknown level or option; -EINVAL: wrong length, value or state;
 * -EPERM: a path has the source GID of another host; -ENODEV: the network device of a path does not
 * exist any more; -ENOMEM; -ENXIO.
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
RCA_EXPORT(rca_set_option);

/* Before option and address are set: the default of IPv6, as getsockopt(IPV6_V6ONLY). */
static bool current_afonly(struct rca_id *id)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (!id->afonly_set && !rca_addr_is_set(&id->local))
		return id->net->ipv6.sysctl.bindv6only;
#endif
	return id->afonly;
}

static int put_u8(u8 value, void *val, u32 *len)
{
	if (*len < sizeof(value))
		return -EINVAL;
	*(u8 *)val = value;
	*len = sizeof(value);
	return 0;
}

static int put_bool(bool value, void *val, u32 *len)
{
	int v = value;

	if (*len < sizeof(v))
		return -EINVAL;
	memcpy(val, &v, sizeof(v));
	*len = sizeof(v);
	return 0;
}

static int get_path(struct rca_id *id, void *val, u32 *len)
{
	struct rdma_cm_alt_route route;
	u32 size;

	if (!id->setup || !id->setup->has_path)
		return -ENODATA;
	rca_id_fill_route_locked(id, &route);
	size = route.num_paths * sizeof(route.path[0]);
	if (*len < size)
		return -EINVAL;
	memcpy(val, route.path, size);
	*len = size;
	return 0;
}

static int get_alt_option(struct rca_id *id, u32 name, void *val, u32 *len)
{
	const struct rca_timing timing = rca_id_timing(id);
	const struct rca_opts *opts = rca_id_opts(id);

	switch (name) {
	case RDMA_CM_ALT_OPTION_GID_TYPE:
		return opts->gid_type ? put_u8(opts->gid_type, val, len) : -ENODATA;
	case RDMA_CM_ALT_OPTION_TRUNK:
		return put_u8(opts->trunk, val, len);
	default:
		return rca_timing_get(&timing, name, val, len);
	}
}

static int get_locked(struct rca_id *id, u32 level, u32 name, void *val, u32 *len)
{
	const struct rca_opts *opts = rca_id_opts(id);

	if (level == RDMA_CM_ALT_OPTION)
		return get_alt_option(id, name, val, len);
	if (level == RDMA_OPTION_IB)
		return name == RDMA_OPTION_IB_PATH ? get_path(id, val, len) : -ENOSYS;
	if (level != RDMA_OPTION_ID)
		return -ENOSYS;
	switch (name) {
	case RDMA_OPTION_ID_TOS:
		return put_u8(rca_id_tos(id), val, len);
	case RDMA_OPTION_ID_REUSEADDR:
		return put_bool(id->reuse, val, len);
	case RDMA_OPTION_ID_AFONLY:
		return put_bool(current_afonly(id), val, len);
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		/* A timeout of 0 means infinite, so an unset option has no value. */
		return opts->ack_timeout_set ? put_u8(opts->ack_timeout, val, len) : -ENODATA;
	default:
		return -ENOSYS;
	}
}

/**
 * rca_get_option() - read an option of an id
 * @id: the id
 * @level: RDMA_OPTION_ID, RDMA_OPTION_IB or RDMA_CM_ALT_OPTION
 * @name: RDMA_OPTION_ID_*, RDMA_OPTION_IB_PATH or RDMA_CM_ALT_OPTION_*
 * @val: buffer of RCA_OPTION_OUT_MAX bytes for the value
 * @len: in: bytes that the caller accepts; out: bytes of the value
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -ENOSYS: unknown level or option; -EINVAL: the value is longer than @len;
 * -ENODATA: the option has no value; -ENXIO.
 */
int rca_get_option(struct rca_id *id, u32 level, u32 name, void *val, u32 *len)
{
	int ret;

	mutex_lock(&id->op);
	ret = rca_id_state(id) == RCA_ST_REMOVED ? -ENXIO : get_locked(id, level, name, val, len);
	mutex_unlock(&id->op);
	return ret;
}
