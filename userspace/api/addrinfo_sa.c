// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * RAI_SA: the subnet administrator is asked for the service records of a service, by an id that is
 * bound to one of its ports. The event of the answer makes a list of addresses of them
 * (event/services.c).
 *
 * Locking: the id's lock around the result.
 */
#include "api/addrinfo_sa.h"

#include <endian.h>
#include <infiniband/ib.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/context.h"
#include "event/event.h"
#include "id/cmid.h"

/* The timeout of librdmacm's kernel. */
#define TIMEOUT_MS 2000

int rcl_sa_resolve(const struct rcl_id *id, const char *service)
{
	struct rdma_cm_alt_resolve_service cmd = { .id = id->handle, .timeout_ms = TIMEOUT_MS };
	char *end;

	errno = 0;
	cmd.service_id = strtoull(service, &end, 0);
	if (!errno && end != service && !*end) {
		cmd.flags = RDMA_CM_ALT_SERVICE_BY_ID;
	} else {
		cmd.service_id = 0;
		cmd.name_uptr = (uintptr_t)service;
		cmd.name_len = strlen(service);
	}
	return RCL_CALL(RESOLVE_SERVICE, &cmd);
}

/* The port is the source of all addresses, in the partition of each. */
static int add_sources(struct rdma_addrinfo *list, const union ibv_gid *gid)
{
	struct sockaddr_ib *sib;

	for (; list; list = list->ai_next) {
		sib = calloc(1, sizeof(*sib));
		if (!sib)
			return -ENOMEM;
		sib->sib_family = AF_IB;
		sib->sib_pkey = ((struct sockaddr_ib *)(void *)list->ai_dst_addr)->sib_pkey;
		memcpy(&sib->sib_addr, gid, sizeof(sib->sib_addr));
		sib->sib_sid = htobe64((uint64_t)RDMA_PS_IB << 16);
		sib->sib_sid_mask = htobe64(RDMA_IB_IP_PS_MASK);
		list->ai_src_addr = (struct sockaddr *)(void *)sib;
		list->ai_src_len = sizeof(*sib);
	}
	return 0;
}

static int ask_bound(struct rdma_cm_id *id, const char *service, const union ibv_gid *gid,
		     struct rdma_addrinfo **res)
{
	struct sockaddr_ib sib = { .sib_family = AF_IB };
	struct rcl_id *priv = rcl_id_of(id);
	int ret;

	memcpy(&sib.sib_addr, gid, sizeof(sib.sib_addr));
	if (rdma_bind_addr(id, (struct sockaddr *)(void *)&sib))
		return rcl_errno();
	ret = rcl_sa_resolve(priv, service);
	if (!ret)
		ret = rcl_complete(priv);
	if (!ret)
		ret = add_sources(priv->addrinfo, gid);
	if (ret)
		return ret;
	*res = priv->addrinfo;
	priv->addrinfo = NULL;
	return 0;
}

/* Ask on one port, by a synchronous id. */
static int ask(const char *service, const union ibv_gid *gid, struct rdma_addrinfo **res)
{
	struct rdma_cm_id *id;
	int ret;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_IB))
		return rcl_errno();
	ret = ask_bound(id, service, gid, res);
	rdma_destroy_id(id);
	return ret;
}

/* The first GID of a port; false: it is not InfiniBand, or not active. */
static bool port_gid(struct ibv_context *verbs, uint8_t port, union ibv_gid *gid)
{
	struct ibv_port_attr attr = { 0 };

	return !ibv_query_port(verbs, port, &attr) &&
	       attr.link_layer == IBV_LINK_LAYER_INFINIBAND && attr.state == IBV_PORT_ACTIVE &&
	       !ibv_query_gid(verbs, port, 0, gid);
}

static int ask_on_device(struct ibv_context *verbs, const char *service,
			 struct rdma_addrinfo **res)
{
	struct ibv_device_attr attr = { 0 };
	union ibv_gid gid;
	unsigned int port;

	if (ibv_query_device(verbs, &attr))
		return -ENOENT;
	for (port = 1; port <= attr.phys_port_cnt; port++) {
		if (port_gid(verbs, port, &gid) && !ask(service, &gid, res))
			return 0;
	}
	return -ENOENT;
}

int rcl_sa_find(const char *service, struct rdma_addrinfo **res)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *verbs;
	int ret = -ENOENT, i;

	/* Opened for a moment: the library keeps open what ids use. */
	for (i = 0; devices && devices[i] && ret; i++) {
		verbs = ibv_open_device(devices[i]);
		if (!verbs)
			continue;
		ret = ask_on_device(verbs, service, res);
		ibv_close_device(verbs);
	}
	if (devices)
		ibv_free_device_list(devices);
	return ret;
}
