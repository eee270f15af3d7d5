/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Common parts of suites on the fake transport. */
#ifndef RCA_FAKE_SUITE_H
#define RCA_FAKE_SUITE_H

#include "fake/fake_transport.h"

/** FAKE_COOKIE - cookie of the ids of these suites */
#define FAKE_COOKIE 0x5eed

int fake_suite_init(struct kunit *test);
void fake_suite_exit(struct kunit *test);
struct rdma_cm_alt_event fake_expect_event(struct kunit *test, u32 type, int status);
void fake_expect_no_event(struct kunit *test);
void fake_expect_state(struct kunit *test, struct rca_id *id, enum rca_state state);

#endif /* RCA_FAKE_SUITE_H */
