/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Listening ids. */
#ifndef RCA_LISTEN_H
#define RCA_LISTEN_H

#include "id/id.h"

/** RCA_MAX_BACKLOG - largest backlog: requests of a listener that are not read yet */
#define RCA_MAX_BACKLOG 1024

int rca_listen(struct rca_id *id, u32 backlog);
void rca_listen_stop(struct rca_id *id);

#endif /* RCA_LISTEN_H */
