/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The RDMA devices of this process: one open ibv_context each, with a default protection domain,
 * shared by all ids and by rdma_get_devices().
 */
#ifndef RCL_DEVICES_H
#define RCL_DEVICES_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * struct rcl_device - an RDMA device
 * @next: next in the order of their indices
 * @dev: the device of libibverbs
 * @guid: node GUID, network byte order
 * @index: index of RDMA netlink; -1: the kernel reports none
 * @gone: removed from the system
 * @refs: ids that are bound to it, lists of rdma_get_devices() with it, and what rsockets keep of
 *        it; becomes 0 only with devices_lock held
 * @verbs: its open context, or NULL
 * @pd: default protection domain, from the first bound id until @verbs is closed
 * @xrcd: default XRC domain, opened at its first use
 * @max_responder_resources: maximum of outstanding RDMA reads and atomics of the peer
 * @max_initiator_depth: maximum of outstanding RDMA reads and atomics of its own
 * @max_qp_wr: maximum of work requests of a queue
 */
struct rcl_device {
	struct rcl_device *next;
	struct ibv_device *dev;
	__be64 guid;
	int index;
	bool gone;
	atomic_uint refs;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;
	uint8_t max_responder_resources;
	uint8_t max_initiator_depth;
	uint32_t max_qp_wr;
};

/** RCL_STOCKCONF - the stock module's settings of devices; below are DEVICE/ports/PORT/ */
#define RCL_STOCKCONF "/sys/kernel/config/rdma_cm"

/**
 * rcl_devices_init - is there an RDMA device?
 *
 * Return: 0, or -ENODEV as long as there is none
 */
int rcl_devices_init(void);

/**
 * rcl_device_bind - use a device: open it, with a PD, if need be
 * @guid: node GUID, network byte order
 * @index: index of RDMA netlink
 * @out: the device, for rcl_device_unbind()
 *
 * Return: 0, -ENODEV or another negative errno
 */
int rcl_device_bind(__be64 guid, uint32_t index, struct rcl_device **out);

/**
 * rcl_device_hold - use a device once more
 * @device: from rcl_device_bind()
 *
 * Return: @device, for another rcl_device_unbind()
 */
static inline struct rcl_device *rcl_device_hold(struct rcl_device *device)
{
	atomic_fetch_add(&device->refs, 1);
	return device;
}

/**
 * rcl_device_unbind - end of the use of a device
 * @device: from rcl_device_bind(), or NULL
 */
void rcl_device_unbind(struct rcl_device *device);

/**
 * rcl_device_xrcd - the default XRC domain of a device
 * @device: the device, bound
 *
 * Return: the domain, or NULL with errno set
 */
struct ibv_xrcd *rcl_device_xrcd(struct rcl_device *device);

/**
 * rcl_devices_each - call a function for each device
 * @look: called with the name and the index, devices_lock held
 * @arg: passed to @look
 */
void rcl_devices_each(void (*look)(const char *name, int index, void *arg), void *arg);

/**
 * rcl_devices_get - open all devices
 * @out: their contexts, terminated by NULL, for rcl_devices_put()
 *
 * Return: their number, or a negative errno
 */
int rcl_devices_get(struct ibv_context ***out);

/**
 * rcl_devices_put - end of the use of a list
 * @list: from rcl_devices_get()
 */
void rcl_devices_put(struct ibv_context **list);

/** rcl_devices_reset - close all devices; only for tests */
void rcl_devices_reset(void);

/** rcl_devices_lock - before fork(): take the lock of the devices */
void rcl_devices_lock(void);

/** rcl_devices_unlock - after fork(), in both processes */
void rcl_devices_unlock(void);

#endif /* RCL_DEVICES_H */
