// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The RDMA devices of this process.
 *
 * Locking: devices_lock around everything here, but for the number of devices, and a use that ends
 * while there are others. A context and its PD stay until the process ends, or until the device is
 * gone and has no user: a program that has one id at a time would allocate a PD for each.
 */
#include "core/devices.h"

#include <fcntl.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/log.h"

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rcl_device *devices;
static atomic_uint device_count;
static struct ibv_device **device_list;	/* keeps devices that are not open */

static bool same_device(const struct rcl_device *d, __be64 guid, int index)
{
	if (d->guid != guid)
		return false;
	return index < 0 || d->index < 0 || d->index == index;
}

static void free_device(struct rcl_device **link)
{
	struct rcl_device *d = *link;

	*link = d->next;
	device_count--;
	if (d->xrcd)
		ibv_close_xrcd(d->xrcd);
	if (d->pd)
		ibv_dealloc_pd(d->pd);
	if (d->verbs)
		ibv_close_device(d->verbs);
	free(d);
}

static void insert_device(struct ibv_device *dev)
{
	struct rcl_device **link, *d;
	int index = ibv_get_device_index(dev);

	d = calloc(1, sizeof(*d));
	if (!d)
		return;
	d->dev = dev;
	d->guid = ibv_get_device_guid(dev);
	d->index = index;
	for (link = &devices; *link; link = &(*link)->next) {
		if (index >= 0 && (*link)->index > index)
			break;
	}
	d->next = *link;
	*link = d;
	device_count++;
}

static struct rcl_device *find_device(__be64 guid, int index)
{
	struct rcl_device *d;

	for (d = devices; d; d = d->next) {
		if (!d->gone && same_device(d, guid, index))
			return d;
	}
	return NULL;
}

static bool is_in_list(const struct rcl_device *d, struct ibv_device **list)
{
	for (; *list; list++) {
		if (same_device(d, ibv_get_device_guid(*list),
				ibv_get_device_index(*list)))
			return true;
	}
	return false;
}

/* Updates the list of devices to those that libibverbs finds now. */
static int refresh_devices(void)
{
	struct rcl_device **link, *d;
	struct ibv_device **list;
	int i, count;

	errno = 0;
	list = ibv_get_device_list(&count);
	if (!list)
		return errno == EMFILE || errno == ENFILE ? rcl_errno() : -ENODEV;
	if (!count) {
		ibv_free_device_list(list);
		return -ENODEV;
	}
	for (link = &devices; *link; ) {
		d = *link;
		if (!is_in_list(d, list)) {
			d->gone = true;
			if (!d->refs) {
				free_device(link);
				continue;
			}
		}
		link = &d->next;
	}
	for (i = 0; i < count; i++) {
		d = find_device(ibv_get_device_guid(list[i]),
				ibv_get_device_index(list[i]));
		if (!d)
			insert_device(list[i]);
		else if (!d->verbs)
			d->dev = list[i];
	}
	if (device_list)
		ibv_free_device_list(device_list);
	device_list = list;
	return 0;
}

static int devices_init_locked(void)
{
	int ret;

	if (devices)
		return 0;
	ret = refresh_devices();
	if (ret)
		rcl_log("no RDMA device in this system; 'rdma link show' lists them");
	return ret;
}

int rcl_devices_init(void)
{
	int ret, cancel;

	if (device_count)
		return 0;
	cancel = rcl_lock(&devices_lock);
	ret = devices_init_locked();
	rcl_unlock(&devices_lock, cancel);
	return ret;
}

static uint8_t clamp_depth(int depth)
{
	return depth < 0 ? 0 : depth > UINT8_MAX ? UINT8_MAX : depth;
}

static int open_device(struct rcl_device *d)
{
	struct ibv_device_attr attr;
	int ret;

	if (d->verbs)
		return 0;
	errno = 0;
	d->verbs = ibv_open_device(d->dev);
	if (!d->verbs) {
		ret = errno == EMFILE || errno == ENFILE ? rcl_errno() : -ENODEV;
		goto err;
	}
	ret = rcl_verbs_err(ibv_query_device(d->verbs, &attr));
	if (ret) {
		ibv_close_device(d->verbs);
		d->verbs = NULL;
		goto err;
	}
	d->max_responder_resources = clamp_depth(attr.max_qp_rd_atom);
	d->max_qp_wr = attr.max_qp_wr > 0 ? (uint32_t)attr.max_qp_wr : 0;
	d->max_initiator_depth = clamp_depth(attr.max_qp_init_rd_atom);
	return 0;
err:
	rcl_log("cannot open the RDMA device %s: %s", ibv_get_device_name(d->dev), strerror(-ret));
	return ret;
}

int rcl_device_bind(__be64 guid, uint32_t index, struct rcl_device **out)
{
	struct rcl_device *d;
	int ret = 0, cancel;

	cancel = rcl_lock(&devices_lock);
	d = find_device(guid, (int)index);
	if (!d) {
		ret = refresh_devices();
		d = ret ? NULL : find_device(guid, (int)index);
		if (!d) {
			rcl_log("libibverbs lacks the RDMA device with index %u, GUID %016llx",
				index, (unsigned long long)be64toh(guid));
			ret = -ENODEV;
			goto out;
		}
	}
	ret = open_device(d);
	if (ret)
		goto out;
	if (!d->pd) {
		errno = 0;
		d->pd = ibv_alloc_pd(d->verbs);
		if (!d->pd) {
			ret = errno ? rcl_errno() : -ENOMEM;
			goto out;
		}
	}
	d->refs++;
	*out = d;
out:
	rcl_unlock(&devices_lock, cancel);
	return ret;
}

static void put_device(struct rcl_device *device)
{
	struct rcl_device **link;

	if (--device->refs)
		return;
	if (device->xrcd)
		ibv_close_xrcd(device->xrcd);
	device->xrcd = NULL;
	if (!device->gone)
		return;
	for (link = &devices; *link; link = &(*link)->next) {
		if (*link == device) {
			free_device(link);
			return;
		}
	}
}

void rcl_device_unbind(struct rcl_device *device)
{
	unsigned int refs;
	int cancel;

	if (!device)
		return;
	for (refs = device->refs; refs > 1; ) {
		if (atomic_compare_exchange_weak(&device->refs, &refs, refs - 1))
			return;
	}
	cancel = rcl_lock(&devices_lock);
	put_device(device);
	rcl_unlock(&devices_lock, cancel);
}

struct ibv_xrcd *rcl_device_xrcd(struct rcl_device *device)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd;
	int cancel;

	cancel = rcl_lock(&devices_lock);
	if (!device->xrcd)
		device->xrcd = ibv_open_xrcd(device->verbs, &attr);
	xrcd = device->xrcd;
	rcl_unlock(&devices_lock, cancel);
	return xrcd;
}

void rcl_devices_each(void (*look)(const char *name, int index, void *arg), void *arg)
{
	struct rcl_device *d;
	int cancel;

	cancel = rcl_lock(&devices_lock);
	for (d = devices; d; d = d->next) {
		if (!d->gone && d->index >= 0)
			look(ibv_get_device_name(d->dev), d->index, arg);
	}
	rcl_unlock(&devices_lock, cancel);
}

void rcl_devices_reset(void)
{
	int cancel = rcl_lock(&devices_lock);

	while (devices)
		free_device(&devices);
	if (device_list)
		ibv_free_device_list(device_list);
	device_list = NULL;
	rcl_unlock(&devices_lock, cancel);
}

void rcl_devices_lock(void)
{
	pthread_mutex_lock(&devices_lock);
}

void rcl_devices_unlock(void)
{
	pthread_mutex_unlock(&devices_lock);
}

int rcl_devices_get(struct ibv_context ***out)
{
	struct ibv_context **list;
	struct rcl_device *d;
	int ret, count = 0, cancel;

	cancel = rcl_lock(&devices_lock);
	ret = refresh_devices();
	if (ret)
		goto out;
	for (d = devices; d; d = d->next) {
		/* A device that cannot be opened now is left out and tried again later. */
		if (!d->gone && !open_device(d))
			count++;
	}
	list = calloc(count + 1, sizeof(*list));
	if (!list) {
		ret = -ENOMEM;
		goto out;
	}
	count = 0;
	for (d = devices; d; d = d->next) {
		if (d->gone || !d->verbs)
			continue;
		d->refs++;
		list[count++] = d->verbs;
	}
	*out = list;
	ret = count;
out:
	rcl_unlock(&devices_lock, cancel);
	return ret;
}

void rcl_devices_put(struct ibv_context **list)
{
	struct rcl_device *d;
	int i, cancel;

	cancel = rcl_lock(&devices_lock);
	for (i = 0; list[i]; i++) {
		for (d = devices; d; d = d->next) {
			if (d->verbs == list[i]) {
				put_device(d);
				break;
			}
		}
	}
	rcl_unlock(&devices_lock, cancel);
	free(list);
}
