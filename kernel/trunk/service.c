// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The service ID of each device, to which peers send their requests for trunks. A device gets one
 * when it is first needed.
 *
 * Locking: xa_lock of services; they are found under RCU.
 */
#include "trunk/trunk.h"

#include <linux/err.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/ib_cm.h>

#include "transport/transport.h"

/**
 * struct service - a service ID of a device
 * @dev: the device (holds a reference)
 * @cm_id: listens (owned)
 * @id: the service ID
 * @rcu: frees it after readers
 */
struct service {
	struct rca_device *dev;
	struct ib_cm_id *cm_id;
	__be64 id;
	struct rcu_head rcu;
};

/* By &rca_device.serial. */
static DEFINE_XARRAY(services);

/* Returns 0 if the device has none. Any context. */
__be64 rca_service_id(const struct rca_device *dev)
{
	const struct service *service;
	__be64 id = 0;

	rcu_read_lock();
	service = xa_load(&services, dev->serial);
	if (service)
		id = service->id;
	rcu_read_unlock();
	return id;
}

static struct ib_cm_id *listen_for_trunks(struct rca_device *dev, ib_cm_handler handler)
{
	struct ib_cm_id *cm_id = ib_create_cm_id(dev->ibdev, handler, dev);

	if (IS_ERR(cm_id))
		return NULL;
	if (!ib_cm_listen(cm_id, IB_CM_ASSIGN_SERVICE_ID))
		return cm_id;
	ib_destroy_cm_id(cm_id);
	return NULL;
}

/*
 * Accept trunks on a device. @handler gets the requests of peers, with @dev as the context of the
 * cm_id. If ib_cm refuses a service ID, hellos have none. The caller holds a reference on @dev.
 * Sleeps.
 */
void rca_service_listen(struct rca_device *dev, ib_cm_handler handler)
{
	struct service *service;

	if (rca_service_id(dev))
		return;
	service = kzalloc(sizeof(*service), GFP_KERNEL);
	if (!service)
		return;
	service->cm_id = listen_for_trunks(dev, handler);
	if (!service->cm_id) {
		kfree(service);
		return;
	}
	service->id = service->cm_id->service_id;
	service->dev = rca_device_get(dev);	/* put in end_service() */
	if (xa_insert(&services, dev->serial, service, GFP_KERNEL)) {
		ib_destroy_cm_id(service->cm_id);
		rca_device_put(dev);
		kfree(service);
	}
	/* rca_service_unlisten() may have run before; both take the lock of the table. */
	if (READ_ONCE(dev->removing) || !rca_trunks_enabled())
		rca_service_unlisten(dev);
}

/* Waits for running handlers of requests. */
static void end_service(struct service *service)
{
	struct rca_device *dev = service->dev;
	struct ib_cm_id *cm_id = service->cm_id;

	ib_destroy_cm_id(cm_id);
	kfree_rcu(service, rcu);
	rca_device_put(dev);
}

/* Afterwards no peer can open a trunk. Called when no id can use @dev. Sleeps. */
void rca_service_unlisten(struct rca_device *dev)
{
	struct service *service = xa_erase(&services, dev->serial);

	if (service)
		end_service(service);
}

/* Module exit, when no trunk is opened any more. Sleeps. */
void rca_service_exit(void)
{
	struct service *service;
	unsigned long serial;

	xa_for_each(&services, serial, service) {
		/* The removal of its device may end it, too. */
		if (xa_cmpxchg(&services, serial, service, NULL, 0) == service)
			end_service(service);
	}
}
