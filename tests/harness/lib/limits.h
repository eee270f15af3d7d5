/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Limits: users, the module's parameters, and the use of resources. */
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

/*
 * Which limit: that of all contexts of a user, all of which one context may use; or that of a
 * context, which is half of what the user may have.
 */
enum scope { USER, CONTEXT };

/* Change the effective user; 0: back to root. */
void become(unsigned int uid);
/* A context opened by this user. */
int open_as(unsigned int uid);

/* Restore the limits of the program's start. Tests begin with it: the last one may have failed. */
void limits_reset(void);
/* The limit of users; 0 or a negative errno. */
int write_limit(uint32_t what, const char *value);
/* What a context may have of all limits; likewise. */
int write_percent(const char *value);
/* Becomes root. It changes the part of contexts in all limits. */
void set_limit(enum scope scope, uint32_t what, uint32_t value);
uint32_t get_limit(enum scope scope, uint32_t what);

/* The ioctl USAGE, as this user. */
usage_t usage_as(unsigned int uid, int ctx, uint32_t what);
/* Compare the use of the context and of its user; the second function waits for these values. */
void expect_usage(unsigned int uid, int ctx, uint32_t what, uint32_t context, uint32_t user);
void await_usage(unsigned int uid, int ctx, uint32_t what, uint32_t context, uint32_t user);

/* Write to a file of the cgroups; the test is skipped if that fails. */
void write_or_skip(const char *path, const char *text);

#endif /* LIMITS_H */
