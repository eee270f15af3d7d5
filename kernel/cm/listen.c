// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Listening ids: their ports, and the calls that start and end listening.
 *
 * Locking: rca_id.op.
 */
#include "cm/listen.h"

#include <linux/err.h>
#include <linux/slab.h>

#include "cm/bind.h"
#include "cm/listeners.h"
#include "lib/wire.h"
#include "transport/devices.h"

/* Ports to try while the module chooses the port and another user has its service ID. */
#define PORT_TRIES	32

static int start_listener(struct rca_listener *listener)
{
	struct rca_id *id = listener->id;

	lockdep_assert_held(&id->op);
	/* An AF_IB address may have chosen the port space. */
	listener->service_id = rca_wire_service_id(id->opts->bind->ps, rca_addr_port(&id->local));
	return rca_listener_start(listener);
}

/* If the module chose the port and another user has its service ID, try other ports. */
static int start_with_free_port(struct rca_listener *listener)
{
	struct rca_id *id = listener->id;
	struct rca_bind *bind = id->opts->bind;
	int ret, tries;

	for (tries = 0; tries < PORT_TRIES; tries++) {
		ret = start_listener(listener);
		if (ret != -EBUSY || !bind->chosen)
			break;
		if (rca_ports_repick(bind))
			break;
		rca_addr_set_port(&id->local, rca_addr_port(&bind->addr));
	}
	return ret == -EBUSY ? -EADDRINUSE : ret;
}

static int bind_wildcard(struct rca_id *id)
{
	union rca_addr any = {};

	if (rca_id_state(id) != RCA_ST_IDLE)
		return 0;
	rca_addr_set_any(&any, AF_INET);
	return rca_local_set(id, &any, true);
}

/* A bound id may have no port yet, see rca_local_needs_port(); a listener needs one. */
static int bind_port(struct rca_id *id)
{
	union rca_addr addr = id->local;
	int ret;

	if (rca_id_bound(id))
		return 0;
	rca_addr_set_port(&addr, 0);
	ret = rca_id_bind(id, &addr);
	if (!ret)
		rca_addr_set_port(&id->local, rca_addr_port(&id->opts->bind->addr));
	return ret;
}

/*
 * Wait until new devices can be listened on.
 */
static void wait_for_devices(void)
{
	struct rca_device *dev = NULL;

	while ((dev = rca_device_next(dev)))
		rca_device_wait_listenable(dev);
}

static int listen_locked(struct rca_id *id, u32 backlog)
{
	struct rca_listener *listener;
	struct rca_opts *opts;
	struct rca_step step;
	int ret;

	lockdep_assert_held(&id->op);
	ret = bind_wildcard(id) ?: rca_id_may(id, RCA_IN_LISTEN);
	if (ret)
		return ret;
	ret = bind_port(id);
	if (ret)
		return ret;
	if (id->dev)
		rca_device_wait_listenable(id->dev);
	listener = kzalloc(sizeof(*listener), GFP_KERNEL_ACCOUNT);
	if (!listener)
		return -ENOMEM;
	listener->id = id;
	listener->wildcard = !id->dev;
	INIT_LIST_HEAD(&listener->slots);
	INIT_LIST_HEAD(&listener->node);
	opts = id->opts;	/* not NULL: the id has a port */
	ret = rca_ports_listen(opts->bind);
	if (ret)
		goto err_free;
	opts->backlog = backlog && backlog < RCA_MAX_BACKLOG ? backlog : RCA_MAX_BACKLOG;
	/* Set the state first: a request that arrives before the call returns is accepted. */
	step = rca_id_step(id, RCA_IN_LISTEN);
	ret = step.err;
	if (step.verdict != RCA_TAKE)
		goto err_unlisten;
	ret = start_with_free_port(listener);
	if (ret) {
		rca_id_step(id, RCA_IN_LISTEN_FAIL);
		goto err_unlisten;
	}
	opts->listener = listener;
	return 0;

err_unlisten:
	rca_ports_unlisten(opts->bind);
err_free:
	kfree(listener);
	return ret;
}

/**
 * rca_listen() - listen for connection requests
 * @id: the id; if it is not bound, it is bound to the wildcard address and a free port
 * @backlog: requests that may wait to be read; 0 or too large: RCA_MAX_BACKLOG
 *
 * Context: Process context. Sleeps. Takes and releases @id->op.
 * Return: 0; -EINVAL: wrong state; -EADDRINUSE: another listener has the port, or another
 * user of the device has its service ID; -EACCES: a low port on a device that all namespaces
 * share; -EOPNOTSUPP: datagrams or AF_IB on an iWARP device; -ENXIO; -ENOMEM.
 */
int rca_listen(struct rca_id *id, u32 backlog)
{
	int ret;

	wait_for_devices();
	mutex_lock(&id->op);
	ret = listen_locked(id, backlog);
	rca_id_report_op(id, "listen", ret);
	mutex_unlock(&id->op);
	return ret;
}

/**
 * rca_listen_stop() - stop listening, if the id listens, and release its service IDs
 * @id: the id
 *
 * Context: Process context. Sleeps. Expects @id->op to be held by the caller.
 */
void rca_listen_stop(struct rca_id *id)
{
	struct rca_listener *listener = rca_id_opts(id)->listener;

	lockdep_assert_held(&id->op);
	if (!listener)
		return;
	id->opts->listener = NULL;
	rca_listener_stop(listener);
	rca_ports_unlisten(id->opts->bind);
	kfree(listener);
}
