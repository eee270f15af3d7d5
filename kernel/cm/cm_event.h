/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Handler of the transport's events of an id. */
#ifndef RCA_CM_EVENT_H
#define RCA_CM_EVENT_H

#include "id/id.h"

u8 rca_cm_event(void *owner, void *lower, const struct rca_tp_event *event);

#endif /* RCA_CM_EVENT_H */
