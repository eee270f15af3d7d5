/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The lower cm_id of a request, and the transport that it uses. */
#ifndef RCA_CONNECT_LOWER_H
#define RCA_CONNECT_LOWER_H

#include "id/id.h"
#include "trunk/peers.h"

const char *rca_lower_why(const struct rca_id *id);
int rca_lower_create(struct rca_id *id);
void rca_lower_peer(struct rca_id *id, struct rca_peer_key *key);

#endif /* RCA_CONNECT_LOWER_H */
