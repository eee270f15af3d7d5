/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The neighbour entry of the next hop. */
#ifndef NEIGHBOUR_H
#define NEIGHBOUR_H

#include <json-c/json.h>
#include <netlink/addr.h>
#include <netlink/socket.h>

#include "tool/core/address.h"

/*
 * neighbour_put() - report the state of a neighbour
 * @path: gets the members neighbour (a state of ip-neighbour(8), or "none") and neighbour_address
 * @sock: an rtnetlink socket
 * @ifindex: the interface
 * @hop: the address of the neighbour
 * @ask: a destination behind the neighbour: resolve the neighbour now, and wait up to some seconds;
 *       NULL: report the present state
 */
void neighbour_put(struct json_object *path, struct nl_sock *sock, int ifindex,
		   struct nl_addr *hop, const struct address *ask);

#endif /* NEIGHBOUR_H */
