/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Descriptors that are passed between processes. */
#ifndef STRESS_PASS_H
#define STRESS_PASS_H

#include "stress.h"

/* Whether this process has the context. */
bool passed_here(uint32_t ctx);
/* Sends to another process of the group, without waiting. */
void pass_send(struct hand *hand, int fd, uint32_t how);
void pass_receive(struct hand *hand);

#endif /* STRESS_PASS_H */
