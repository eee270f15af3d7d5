/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Hellos of the trunk protocol, in the RTU of a connection. */
#ifndef RCA_CONNECT_HELLO_H
#define RCA_CONNECT_HELLO_H

#include "id/id.h"
#include "trunk/proto.h"

u8 rca_hello_tell(struct rca_id *id, u8 *data);
void rca_hello_hear(struct rca_id *id, const struct rca_tp_event *event);

#endif /* RCA_CONNECT_HELLO_H */
