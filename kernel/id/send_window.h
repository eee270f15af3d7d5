/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The send window: limits the outstanding CM requests to a peer, and orders the ids that wait. */
#ifndef RCA_SEND_WINDOW_H
#define RCA_SEND_WINDOW_H

#include "id/id.h"

/** RCA_WINDOW_SIZE - most unanswered messages from a port to an address */
#define RCA_WINDOW_SIZE 256

bool rca_window_begin(struct rca_id *id);
unsigned int rca_window_unanswered(const struct rca_id *id);
bool rca_window_silent(const struct rca_id *id);
bool rca_window_heard(const struct rca_id *id, unsigned long since);
bool rca_window_granted(const struct rca_id *id);
void rca_window_answered(struct rca_id *id);
void rca_window_end(struct rca_id *id);
void rca_window_release(struct rca_id *id);

#endif /* RCA_SEND_WINDOW_H */
