/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What all queries of the subnet administrator have in common: their end, and their turns. */
#ifndef RCA_SA_QUERY_H
#define RCA_SA_QUERY_H

#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_sa.h>

#include "id/id.h"
#include "lib/compat.h"

/**
 * struct rca_sa_query - a query of an id
 * @ref: references: of the setup, the pending callback, the queued @work, the armed @timer
 * @release: frees what the struct is a member of (immutable)
 * @id: the id (holds a reference); NULL after it has given up before the answer (lock: rca_sa_lock
 *      until @called)
 * @ends: when the id gives up, in jiffies (immutable)
 * @sa_id: query number of ib_sa, if @sent (lock: rca_sa_lock)
 * @sa: query of ib_sa, valid while @called is false
 * @sent: ib_sa has the query (lock: rca_sa_lock)
 * @called: the result is there, and the query is not cancelled any more (lock: rca_sa_lock)
 * @work: handles the result, or sends a query that had to wait
 * @place: place of the port, on kernels that limit them
 * @timer: ends the wait for @place, or withdraws a query whose place others need
 */
struct rca_sa_query {
	refcount_t ref;
	void (*release)(struct rca_sa_query *query);
	struct rca_id *id;
	unsigned long ends;
	int sa_id;
	struct ib_sa_query *sa;
	bool sent;
	bool called;
	struct work_struct work;
#if RCA_COUNTS_PLACES
	struct rca_port_place place;
	struct delayed_work timer;
#endif
};

extern spinlock_t rca_sa_lock;

void rca_sa_init(struct rca_sa_query *query, struct rca_id *id, unsigned long ends,
		 work_func_t work, void (*release)(struct rca_sa_query *query));
void rca_sa_put(struct rca_sa_query *query);
void rca_sa_queue_work(struct rca_sa_query *query);
struct rca_id *rca_sa_begin_work(struct rca_sa_query *query, bool *called);
bool rca_sa_begin(struct rca_sa_query *query);
u32 rca_sa_left_ms(const struct rca_sa_query *query);
void rca_sa_sent(struct rca_sa_query *query, int ret);
void rca_sa_called_locked(struct rca_sa_query *query, int status);
void rca_sa_cancel_locked(struct rca_sa_query *query);
void rca_sa_cancel(struct rca_sa_query *query);
void rca_sa_renew(struct rca_sa_query *query);
void rca_sa_again(struct rca_sa_query *query, const struct rca_sa_query *before);

#endif /* RCA_SA_QUERY_H */
