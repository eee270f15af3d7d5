/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the tests of limits share: users, the module's parameters, what is used of them. */
#ifndef LIMITS_H
#define LIMITS_H

#include "rca_test.h"

typedef struct rdma_cm_alt_usage usage_t;

/* Short names of the resources. */
enum {
	CONTEXTS = RDMA_CM_ALT_RESOURCE_CONTEXTS,
	QUEUES = RDMA_CM_ALT_RESOURCE_QUEUES,
	IDS = RDMA_CM_ALT_RESOURCE_IDS,
	REQUESTS = RDMA_CM_ALT_RESOURCE_REQUESTS,
	MEMBERSHIPS = RDMA_CM_ALT_RESOURCE_MEMBERSHIPS,
	EVENTS = RDMA_CM_ALT_RESOURCE_EVENTS,
	RING_PAGES = RDMA_CM_ALT_RESOURCE_RING_PAGES,
};

/* Whose limit. */
enum scope { USER, CONTEXT };

/* Acts as this user; 0: as root again. */
void become(unsigned int uid);
/* A context that this user opens. */
int open_as(unsigned int uid);

/* All limits as they were when the program began: to be called first, as a test may have failed. */
void limits_reset(void);
/* 0 or a negative errno. */
int write_limit(enum scope scope, uint32_t what, const char *value);
/* Leaves the caller root. */
void set_limit(enum scope scope, uint32_t what, uint32_t value);
uint32_t get_limit(enum scope scope, uint32_t what);

/* USAGE, asked by this user. */
usage_t usage_as(unsigned int uid, int ctx, uint32_t what);
/* What the context uses, and its user; the second waits until that is so. */
void expect_usage(unsigned int uid, int ctx, uint32_t what, uint32_t context, uint32_t user);
void await_usage(unsigned int uid, int ctx, uint32_t what, uint32_t context, uint32_t user);

#endif /* LIMITS_H */
