/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The send window: limits the outstanding CM requests to a peer, and orders the ids that wait. */
#ifndef RCA_PACE_H
#define RCA_PACE_H

#include "id/id.h"

/** RCA_PACE_WINDOW - most unanswered messages from a port to an address */
#define RCA_PACE_WINDOW 256

#if IS_ENABLED(CONFIG_KUNIT)
extern unsigned int rca_pace_silence_ms;
#endif

bool rca_pace_begin(struct rca_id *id);
unsigned int rca_pace_unanswered(const struct rca_id *id);
bool rca_pace_granted(const struct rca_id *id);
void rca_pace_answered(struct rca_id *id);
void rca_pace_end(struct rca_id *id);
void rca_pace_release(struct rca_id *id);

#endif /* RCA_PACE_H */
