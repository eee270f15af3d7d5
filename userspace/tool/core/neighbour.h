/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The neighbour that a packet goes to first. */
#ifndef NEIGHBOUR_H
#define NEIGHBOUR_H

#include <json-c/json.h>
#include <netlink/addr.h>
#include <netlink/socket.h>

#include "tool/core/address.h"

/*
 * neighbour_put() - tell of a neighbour
 * @path: gets the members neighbour (a state of ip-neighbour(8), "none") and neighbour_address
 * @sock: of rtnetlink
 * @ifindex: the interface
 * @hop: the neighbour
 * @ask: an address that is reached over it: it is asked for now, and has some seconds to answer;
 *       NULL: as it is known
 */
void neighbour_put(struct json_object *path, struct nl_sock *sock, int ifindex,
		   struct nl_addr *hop, const struct address *ask);

#endif /* NEIGHBOUR_H */
