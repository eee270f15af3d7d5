/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How much one user, and one context, may have of what costs the others: counted and limited. */
#ifndef RCA_LIMITS_H
#define RCA_LIMITS_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <rdma/rdma_cm_alt.h>

/** RCA_RESOURCES - kinds of resources that are counted, &enum rdma_cm_alt_resource */
#define RCA_RESOURCES (RDMA_CM_ALT_RESOURCE_RING_PAGES + 1)

struct rca_user;

/**
 * struct rca_counts - what a user or a context has
 * @used: how much, by resource (atomic)
 * @refused: how often the limit was in the way (atomic)
 */
struct rca_counts {
	atomic_t used[RCA_RESOURCES];
	atomic64_t refused[RCA_RESOURCES];
};

/**
 * struct rca_account - what a context has, and whose it is; lives in the context
 * @user: who opened the context, and is charged for all that is made in it, also by
 *        others and by peers (immutable; holds a reference)
 * @exempt: limits of users do not count for it, its use does (immutable)
 * @counts: what it has
 */
struct rca_account {
	struct rca_user *user;
	bool exempt;
	struct rca_counts counts;
};

/**
 * struct rca_usage - a count beside its limit
 * @used: how much there is
 * @limit: how much there may be; U32_MAX: no limit
 * @refused: how often the limit was in the way
 */
struct rca_usage {
	u32 used;
	u32 limit;
	u64 refused;
};

/* The module's parameters, by resource; read with READ_ONCE(), as they may change. */
extern unsigned int rca_user_limits[RCA_RESOURCES];
extern unsigned int rca_context_limits[RCA_RESOURCES];

int rca_account_open(struct rca_account *account, kuid_t uid, bool exempt);
void rca_account_close(struct rca_account *account);
kuid_t rca_account_uid(const struct rca_account *account);
int rca_charge(struct rca_account *account, enum rdma_cm_alt_resource what, unsigned int count);
void rca_uncharge(struct rca_account *account, enum rdma_cm_alt_resource what, unsigned int count);
bool rca_account_full(const struct rca_account *account, enum rdma_cm_alt_resource what);
void rca_account_refused(struct rca_account *account, enum rdma_cm_alt_resource what);
void rca_account_usage(const struct rca_account *account, enum rdma_cm_alt_resource what,
		       struct rca_usage *context, struct rca_usage *user);

#endif /* RCA_LIMITS_H */
