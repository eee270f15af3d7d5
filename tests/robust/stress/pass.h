/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Descriptors that go from process to process. */
#ifndef STRESS_PASS_H
#define STRESS_PASS_H

#include "stress.h"

/* Whether this process has the context, as far as it knows. */
bool passed_here(uint32_t ctx);
/* To another process of the group; nobody waits when it does not take any. */
void pass_send(struct hand *hand, int fd, uint32_t how);
void pass_receive(struct hand *hand);

#endif /* STRESS_PASS_H */
