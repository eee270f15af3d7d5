// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Endpoints: create and resolve or bind an id, with its QP, in one call.
 *
 * Locking: none of its own.
 */
#include <rdma/rdma_verbs.h>
#include <stdlib.h>
#include <string.h>

#include "api/create.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/sockaddr.h"
#include "event/event.h"
#include "id/cmid.h"

#define EP_TIMEOUT_MS 2000

/* Does the length match the family? The program may have filled in the list itself. */
static bool is_complete_addr(const struct sockaddr *addr, socklen_t len)
{
	return addr && len >= sizeof(addr->sa_family) && len == rcl_addr_len(addr);
}

static int make_passive(struct rcl_id *id, const struct rdma_addrinfo *res,
			struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	if (!is_complete_addr(res->ai_src_addr, res->ai_src_len))
		return -EINVAL;
	if (rdma_bind_addr(&id->id, res->ai_src_addr))
		return rcl_errno();
	if (pd)
		id->id.pd = pd;
	if (!attr)
		return 0;
	id->ep_attr = malloc(sizeof(*attr));
	if (!id->ep_attr)
		return -ENOMEM;
	*id->ep_attr = *attr;
	id->ep_attr->qp_type = res->ai_qp_type;
	return 0;
}

static int resolve_endpoint(struct rcl_id *id, const struct rdma_addrinfo *res)
{
	struct sockaddr *src = res->ai_src_len ? res->ai_src_addr : NULL;

	if (!is_complete_addr(res->ai_dst_addr, res->ai_dst_len) ||
	    (src && !is_complete_addr(src, res->ai_src_len)))
		return -EINVAL;
	if (rdma_resolve_addr(&id->id, src, res->ai_dst_addr, EP_TIMEOUT_MS))
		return rcl_errno();
	if (!res->ai_route_len)
		return rdma_resolve_route(&id->id, EP_TIMEOUT_MS) ? rcl_errno() : 0;
	if (rdma_set_option(&id->id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
			    res->ai_route, res->ai_route_len))
		return rcl_errno();
	return rcl_complete(id);
}

static int make_active(struct rcl_id *id, const struct rdma_addrinfo *res,
		       struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	int ret;

	if (res->ai_connect_len && (!res->ai_connect || res->ai_connect_len > UINT16_MAX))
		return -EINVAL;
	ret = resolve_endpoint(id, res);
	if (ret)
		return ret;
	if (res->ai_connect_len) {
		id->ep_connect = malloc(res->ai_connect_len);
		if (!id->ep_connect)
			return -ENOMEM;
		memcpy(id->ep_connect, res->ai_connect, res->ai_connect_len);
		id->ep_connect_len = (uint16_t)res->ai_connect_len;
	}
	if (!attr)
		return 0;
	attr->qp_type = res->ai_qp_type;
	return rdma_create_qp(&id->id, pd, attr) ? rcl_errno() : 0;
}

RCL_EXPORT int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res,
			      struct ibv_pd *pd,
			      struct ibv_qp_init_attr *qp_init_attr)
{
	struct rcl_id *priv;
	int ret;

	if (!id || !res || (unsigned int)res->ai_port_space > UINT16_MAX ||
	    (unsigned int)res->ai_qp_type > UINT8_MAX)
		return rcl_fail(-EINVAL, __func__,
				"no pointer for the id, no addresses, or port space 0x%x or QP type %d is none",
				res ? res->ai_port_space : 0,
				res ? res->ai_qp_type : 0);
	ret = rcl_id_create(NULL, NULL, res->ai_port_space, res->ai_qp_type, &priv);
	if (ret)
		return rcl_fail(ret, __func__, "cannot create an id");
	if (res->ai_flags & RAI_PASSIVE)
		ret = make_passive(priv, res, pd, qp_init_attr);
	else
		ret = make_active(priv, res, pd, qp_init_attr);
	if (ret) {
		rdma_destroy_ep(&priv->id);
		return rcl_fail(ret, __func__, "the endpoint could not be completed");
	}
	*id = &priv->id;
	return 0;
}
