/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Limits: resources that are counted and limited per user and per context. */
#ifndef RCA_LIMITS_H
#define RCA_LIMITS_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <rdma/rdma_cm_alt.h>

/** RCA_RESOURCES - number of resources, &enum rdma_cm_alt_resource */
#define RCA_RESOURCES (RDMA_CM_ALT_RESOURCE_RING_PAGES + 1)

struct rca_user;
struct workqueue_struct;

/**
 * struct rca_counts - the resources of a user or a context
 * @used: number in use, by resource (atomic)
 * @refused: number of requests refused because of the limit, by resource (atomic)
 */
struct rca_counts {
	atomic_t used[RCA_RESOURCES];
	atomic64_t refused[RCA_RESOURCES];
};

/**
 * struct rca_account - the resources of a context, and its owner; part of the context
 * @user: the user who opened the context; charged for all of its resources, also those that other
 *        users of the file or peers cause (immutable; holds a reference)
 * @exempt: the limits of the user do not apply, but resources are charged (immutable)
 * @counts: resources of the context
 */
struct rca_account {
	struct rca_user *user;
	bool exempt;
	struct rca_counts counts;
};

/**
 * struct rca_usage - use and limit of a resource
 * @used: number in use
 * @limit: the limit; U32_MAX: none
 * @refused: number of requests refused because of the limit
 */
struct rca_usage {
	u32 used;
	u32 limit;
	u64 refused;
};

/**
 * enum rca_lanes - locks that users wait for; calls of a user that take them are made in turn
 * @RCA_LANE_LISTEN: of the listeners of a network namespace, and of the service IDs of a device
 * @RCA_LANE_RTNL: of the network configuration
 * @RCA_LANES: their number
 */
enum rca_lanes {
	RCA_LANE_LISTEN,
	RCA_LANE_RTNL,
	RCA_LANES,
};

/* For work of no user: short, and never waiting for one. */
extern struct workqueue_struct *rca_wq;

int rca_users_init(void);
void rca_users_exit(void);
int rca_account_open(struct rca_account *account, kuid_t uid, bool exempt);
void rca_account_close(struct rca_account *account);
kuid_t rca_account_user(void);
kuid_t rca_account_uid(const struct rca_account *account);
struct workqueue_struct *rca_account_wq(const struct rca_account *account);
void rca_account_call(const struct rca_account *account, enum rca_lanes which,
		      void (*fn)(void *arg), void *arg);
struct workqueue_struct *rca_account_slow_wq(const struct rca_account *account);
bool rca_account_borrow(const struct rca_account *account);
void rca_account_repay(const struct rca_account *account);
int rca_charge(struct rca_account *account, enum rdma_cm_alt_resource what, unsigned int count);
void rca_uncharge(struct rca_account *account, enum rdma_cm_alt_resource what, unsigned int count);
bool rca_account_full(const struct rca_account *account, enum rdma_cm_alt_resource what);
void rca_account_refused(struct rca_account *account, enum rdma_cm_alt_resource what);
void rca_account_usage(const struct rca_account *account, enum rdma_cm_alt_resource what,
		       struct rca_usage *context, struct rca_usage *user);

#endif /* RCA_LIMITS_H */
