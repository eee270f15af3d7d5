/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The RDMA devices of this process: one opened ibv_context each, shared by
 * all ids and by rdma_get_devices(), with a default protection domain.
 */
#ifndef RCL_DEVICES_H
#define RCL_DEVICES_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * struct rcl_device - an RDMA device
 * @next: next in the order of their indices
 * @dev: libibverbs' view of it
 * @guid: node GUID, network byte order
 * @index: index of RDMA netlink; -1 when the kernel does not tell
 * @gone: not in the system any more
 * @refs: ids that are bound to it and lists of rdma_get_devices() with it
 * @verbs: opened context, or NULL
 * @pd: default protection domain, from the first bound id until @refs is 0
 * @xrcd: default XRC domain, made when it is asked for
 * @max_responder_resources: reads and atomics that it serves at a time
 * @max_initiator_depth: reads and atomics that it issues at a time
 */
struct rcl_device {
	struct rcl_device *next;
	struct ibv_device *dev;
	__be64 guid;
	int index;
	bool gone;
	unsigned int refs;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;
	uint8_t max_responder_resources;
	uint8_t max_initiator_depth;
};

/**
 * rcl_devices_init - is there an RDMA device at all?
 *
 * Return: 0, or -ENODEV until there is one
 */
int rcl_devices_init(void);

/**
 * rcl_device_bind - the device that the kernel named, opened, with its PD
 * @guid: node GUID, network byte order
 * @index: index of RDMA netlink
 * @out: the device, to be given back with rcl_device_unbind()
 *
 * Return: 0, -ENODEV or another negative errno
 */
int rcl_device_bind(__be64 guid, uint32_t index, struct rcl_device **out);

/**
 * rcl_device_unbind - give it back
 * @device: from rcl_device_bind(), or NULL
 */
void rcl_device_unbind(struct rcl_device *device);

/**
 * rcl_device_xrcd - the default XRC domain of a device
 * @device: a bound one
 *
 * Return: the domain, or NULL with errno set
 */
struct ibv_xrcd *rcl_device_xrcd(struct rcl_device *device);

/**
 * rcl_devices_each - go through the devices that this process knows
 * @look: called with the name and the index of each, devices_lock held
 * @arg: passed to it
 */
void rcl_devices_each(void (*look)(const char *name, int index, void *arg), void *arg);

/**
 * rcl_devices_get - the contexts of all devices, opened if need be
 * @out: the contexts and a NULL behind them, for rcl_devices_put()
 *
 * Return: their number, or a negative errno
 */
int rcl_devices_get(struct ibv_context ***out);

/**
 * rcl_devices_put - end of the use of a list
 * @list: from rcl_devices_get()
 */
void rcl_devices_put(struct ibv_context **list);

/** rcl_devices_reset - forget all devices and close them; only for tests */
void rcl_devices_reset(void);

/** rcl_devices_lock - before fork(): nobody else opens or closes a device */
void rcl_devices_lock(void);

/** rcl_devices_unlock - after fork(), in both processes */
void rcl_devices_unlock(void);

#endif /* RCL_DEVICES_H */
