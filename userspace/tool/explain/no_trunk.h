/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Why connections do not use trunks. */
#ifndef NO_TRUNK_H
#define NO_TRUNK_H

#include <json-c/json.h>

/*
 * no_trunk_of_id() - why the connection of an id was not made over a trunk
 * @id: the id
 * @peers: all peers, as show peers prints them; NULL: the user may not see them
 *
 * Return: the reason, valid until the next call; NULL: there is no connection, or it uses a trunk
 */
const char *no_trunk_of_id(struct json_object *id, struct json_object *peers);

/*
 * no_trunk_of_peer() - why the next connection to a peer will not use a trunk
 * @peer: the peer
 *
 * Return: the reason, valid until the next call; NULL: a trunk is open
 */
const char *no_trunk_of_peer(struct json_object *peer);

#endif /* NO_TRUNK_H */
