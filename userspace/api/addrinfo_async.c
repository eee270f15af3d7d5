// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_resolve_addrinfo(): rdma_getaddrinfo() whose result is reported by an event. The lookup is
 * done in the call, as with librdmacm. The event is posted to the kernel's queue, so that poll()
 * reports it and events keep their order. With RAI_SA the kernel asks the subnet administrator, and
 * posts the event itself.
 *
 * Locking: the id's lock around the result.
 */
#include <netdb.h>

#include "api/addrinfo_sa.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/rdma_cma_new.h"
#include "core/context.h"
#include "event/event.h"
#include "id/report.h"

static bool begin_lookup(struct rcl_id *id)
{
	bool busy;

	pthread_mutex_lock(&id->lock);
	busy = id->addrinfo_busy;
	id->addrinfo_busy = true;
	pthread_mutex_unlock(&id->lock);
	return !busy;
}

static void set_result(struct rcl_id *id, struct rdma_addrinfo *result, bool busy)
{
	pthread_mutex_lock(&id->lock);
	id->addrinfo = result;
	id->addrinfo_busy = busy;
	pthread_mutex_unlock(&id->lock);
}

/* After a failure. Another thread may have taken the result, and begun a lookup of its own. */
static void drop_result(struct rcl_id *id, struct rdma_addrinfo *result)
{
	bool ours;

	pthread_mutex_lock(&id->lock);
	ours = id->addrinfo == result;
	if (ours) {
		id->addrinfo = NULL;
		id->addrinfo_busy = false;
	}
	pthread_mutex_unlock(&id->lock);
	if (ours)
		rdma_freeaddrinfo(result);
}

static int eai_to_errno(int eai)
{
	switch (eai) {
	case EAI_SYSTEM:
		return rcl_errno();
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_AGAIN:
		return -ETIMEDOUT;	/* EAGAIN means that the channel is empty */
	case EAI_FAMILY:
	case EAI_ADDRFAMILY:
		return -EAFNOSUPPORT;
	case EAI_SOCKTYPE:
		return -ESOCKTNOSUPPORT;
	case EAI_NONAME:
	case EAI_NODATA:
	case EAI_SERVICE:
		return -ENOENT;
	default:
		return -EINVAL;
	}
}

static int post_event(const struct rcl_id *id, uint32_t type, int status)
{
	struct rdma_cm_alt_post_event cmd = {
		.id = id->handle,
		.type = type,
		.status = status,
	};

	return RCL_CALL(POST_EVENT, &cmd);
}

/* A name that is not found is reported by an event; any other failure fails the call. */
static int lookup(struct rcl_id *id, const char *node, const char *service,
		  const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo *result = NULL;
	bool sync = id->sync;
	int ret;

	errno = 0;
	ret = rdma_getaddrinfo(node, service, hints, &result);
	if (ret == -1) {
		ret = rcl_errno();
		set_result(id, NULL, false);
		return ret;
	}
	/* Before the event, which another thread may read at once. */
	set_result(id, result, true);
	if (ret)
		ret = post_event(id, RDMA_CM_ALT_EVENT_ADDRINFO_ERROR, eai_to_errno(ret));
	else
		ret = post_event(id, RDMA_CM_ALT_EVENT_ADDRINFO_RESOLVED, 0);
	if (ret) {
		drop_result(id, result);
		return ret;
	}
	return sync ? rcl_complete(id) : 0;
}

static int lookup_service(struct rcl_id *id, const char *service)
{
	int ret = rcl_sa_resolve(id, service);

	if (ret)
		set_result(id, NULL, false);
	return ret ? ret : rcl_complete(id);
}

RCL_EXPORT int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node,
				     const char *service,
				     const struct rdma_addrinfo *hints)
{
	bool by_sa = hints && (hints->ai_flags & RAI_SA);
	struct rcl_id *priv = rcl_id_of(id);
	int ret;

	if (!id)
		return rcl_fail_id(priv, -EINVAL, __func__, "no id");
	if (by_sa && (node || (hints->ai_flags & RAI_DNS)))
		return rcl_fail_id(priv, -ENOTSUP, __func__, "RAI_SA with a node, or with RAI_DNS");
	if (by_sa && !service)
		return rcl_fail_id(priv, -EINVAL, __func__, "RAI_SA: no service");
	if (rcl_refuse_id(priv, __func__))
		return -1;
	if (!begin_lookup(priv))
		return rcl_fail_id(priv, -EBUSY, __func__,
				   "rdma_query_addrinfo has not taken the last result yet");
	ret = by_sa ? lookup_service(priv, service) : lookup(priv, node, service, hints);
	return ret ? rcl_fail_id(priv, ret, __func__, "no address") : 0;
}

RCL_EXPORT int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info)
{
	struct rcl_id *priv = rcl_id_of(id);
	struct rdma_addrinfo *result;

	if (!id || !info)
		return rcl_fail_id(priv, -EINVAL, __func__, "no id, or no pointer for the result");
	pthread_mutex_lock(&priv->lock);
	result = priv->addrinfo;
	if (result) {
		priv->addrinfo = NULL;
		priv->addrinfo_busy = false;
	}
	pthread_mutex_unlock(&priv->lock);
	if (!result)
		return rcl_fail_id(priv, -ENOENT, __func__,
				   "rdma_resolve_addrinfo comes first, and its event");
	*info = result;
	return 0;
}
