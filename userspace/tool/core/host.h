/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How this host reaches an address: route, neighbour, RDMA device. */
#ifndef HOST_H
#define HOST_H

#include <infiniband/verbs.h>
#include <json-c/json.h>
#include <stdbool.h>

#include "tool/core/address.h"

/*
 * host_path() - the path to an address, as a JSON object
 * @dst: the address
 * @ask: resolve the neighbour now, which may take seconds; false: report its present state
 *
 * Members, as far as they are known: address, route (why there is none), local (the address is one
 * of this host), netdev, link (up or down), gateway, source, neighbour (a state of
 * ip-neighbour(8)), neighbour_address, device, port.
 */
struct json_object *host_path(const struct address *dst, bool ask);

/*
 * host_devices() - the RDMA devices, sorted by name; free with ibv_free_device_list()
 * @count: returns the number of devices; 0 if the call returns NULL
 *
 * The kernel lists devices in the order of their registration.
 */
struct ibv_device **host_devices(int *count);

/* Ports of RDMA devices that have a GID of a network device, as an array of JSON objects. */
struct json_object *host_ports(void);

#endif /* HOST_H */
