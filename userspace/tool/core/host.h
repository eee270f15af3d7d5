/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What this host would do to reach an address: route, neighbour, RDMA device. */
#ifndef HOST_H
#define HOST_H

#include <infiniband/verbs.h>
#include <json-c/json.h>
#include <stdbool.h>

#include "tool/core/address.h"

/*
 * host_path() - the way to an address, as a JSON object
 * @dst: the address
 * @ask: the neighbour is asked now, which may take seconds; else it is as it was known
 *
 * Its members, as far as they are known: address, route (why there is none), local (it is ours),
 * netdev, link (up or down), gateway, source, neighbour (a state of ip-neighbour(8)),
 * neighbour_address, device, port.
 */
struct json_object *host_path(const struct address *dst, bool ask);

/*
 * host_devices() - the RDMA devices by name, for ibv_free_device_list()
 * @count: how many; none when it returns NULL
 *
 * The kernel has them in the order in which they came.
 */
struct ibv_device **host_devices(int *count);

/* The ports of RDMA devices that have a GID of a network device; each as an object. */
struct json_object *host_ports(void);

#endif /* HOST_H */
