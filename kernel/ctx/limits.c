// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Limits. Each resource is charged to its context and to the user who opened the context, and is
 * refused beyond the limit of either. Memory of our own is charged to memory cgroups; the limits
 * bound what the core allocates on our behalf, and the length of our tables and lists. The kernel's
 * own per-user counters are not exported to modules, hence the table of users.
 *
 * Each user has workqueues of their own: work may sleep for as long as its user likes (in memory
 * reclaim, in TCP, for a mutex of one of their ids), and must not hold places of a workqueue that
 * the work of other users needs.
 *
 * Locking: users_lock protects the table. Counts are atomic; charging takes no lock.
 */
#include "ctx/ctx.h"

#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/hashtable.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "lib/testing.h"

/**
 * struct rca_lane - calls of a user that take the same locks
 * @turn: held over a call
 * @lock: a leaf; protects @calls
 * @calls: calls that wait for @work, oldest first
 * @work: makes @calls
 * @wq: the workqueue of @work (immutable)
 */
struct rca_lane {
	struct mutex turn;
	spinlock_t lock;
	struct list_head calls;
	struct work_struct work;
	struct workqueue_struct *wq;
};

/*
 * Lanes. A thread of a user may stand still at any place, with the locks that it has: its cgroup
 * has no processor time left, or no memory. So what needs a lock that other users wait for is done
 * by a worker of the kernel, which is in no such cgroup, while the thread waits.
 *
 * The calls in a lane are made one after the other. Each user has lanes of their own: at each lock
 * one thread of a user waits at a time, and users have turns, however many threads they have.
 *
 * Locking: rca_lane.turn is taken by workers alone, before the locks of what they call.
 */

/**
 * struct call - a call that a thread waits for, on its stack
 * @node: entry in &rca_lane.calls
 * @fn: the function
 * @arg: its argument
 * @done: it has returned
 */
struct call {
	struct list_head node;
	void (*fn)(void *arg);
	void *arg;
	struct completion done;
};

static void in_turn(struct rca_lane *lane, void (*fn)(void *arg), void *arg)
{
	mutex_lock(&lane->turn);
	fn(arg);
	mutex_unlock(&lane->turn);
}

static void lane_work(struct work_struct *work)
{
	struct rca_lane *lane = container_of(work, struct rca_lane, work);
	struct call *call;

	spin_lock(&lane->lock);
	while ((call = list_first_entry_or_null(&lane->calls, struct call, node))) {
		list_del(&call->node);
		spin_unlock(&lane->lock);
		in_turn(lane, call->fn, call->arg);
		complete(&call->done);
		cond_resched();
		spin_lock(&lane->lock);
	}
	spin_unlock(&lane->lock);
}

/*
 * Users with workqueues of their own; those beyond share &shared_wq, &shared_slow_wq. A workqueue
 * has half a KiB for each processor, charged to no memory cgroup: fewer users where there are many.
 */
#define WQ_PROCESSORS	262144
RCA_VISIBLE_IF_KUNIT unsigned int rca_max_own_wq;

/* Requests whose memory a user may have outside of its memory cgroup, a few KiB each. */
#define MAX_BORROWED	512

/* The same of all users, as one may have many user IDs. */
#define MAX_ALL_BORROWED	4096

/**
 * struct rca_user - a user with open contexts
 * @ref: references: each context
 * @node: entry in the table (lock: users_lock)
 * @uid: its uid (immutable)
 * @counts: resources of all its contexts
 * @borrowed: ids of requests whose memory is not charged to a memory cgroup (atomic)
 * @own_wq: @wq belongs to this user (immutable)
 * @wq: workqueue for its work (immutable)
 * @slow_wq: workqueue for work that may block for minutes; NULL: not used yet (set once)
 * @lanes: calls of rca_account_call()
 * @free_work: frees the user: destroying a workqueue sleeps
 */
struct rca_user {
	refcount_t ref;
	struct hlist_node node;
	kuid_t uid;
	struct rca_counts counts;
	atomic_t borrowed;
	bool own_wq;
	struct workqueue_struct *wq;
	struct workqueue_struct *slow_wq;
	struct rca_lane lanes[RCA_LANES];
	struct work_struct free_work;
};

static DEFINE_HASHTABLE(users, 6);
static DEFINE_SPINLOCK(users_lock);

/* Users that are not freed yet, those among them with own workqueues, and the exit that waits. */
static atomic_t num_users = ATOMIC_INIT(0);
static atomic_t num_own_wq = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(users_freed);

static atomic_t all_borrowed = ATOMIC_INIT(0);	/* &rca_user.borrowed of all users */

/* Work of users without workqueues of their own; slow work may block for minutes. */
static struct workqueue_struct *shared_wq;
static struct workqueue_struct *shared_slow_wq;

/*
 * Work of lanes, one for each user. It is not on the workqueues of users: there, work may hold all
 * places while it waits for an id whose holder waits for a lane.
 */
static struct workqueue_struct *lane_wqs[RCA_LANES];
static struct lock_class_key lane_keys[RCA_LANES];

struct workqueue_struct *rca_wq;

/*
 * The defaults stop runaway programs, but do not restrict valid use: a process may have a hundred
 * thousand connections with both ends. Connection requests are caused by peers, so their limit is
 * lower than that of ids. They may change, so use READ_ONCE().
 */
RCA_VISIBLE_IF_KUNIT unsigned int rca_user_limits[RCA_RESOURCES] = {
	[RDMA_CM_ALT_RESOURCE_CONTEXTS] = 16384,
	[RDMA_CM_ALT_RESOURCE_QUEUES] = 262144,
	[RDMA_CM_ALT_RESOURCE_IDS] = 1048576,
	[RDMA_CM_ALT_RESOURCE_REQUESTS] = 65536,
	[RDMA_CM_ALT_RESOURCE_MEMBERSHIPS] = 65536,
	[RDMA_CM_ALT_RESOURCE_EVENTS] = 1048576,
	[RDMA_CM_ALT_RESOURCE_RING_PAGES] = 262144,
};

RCA_VISIBLE_IF_KUNIT unsigned int rca_max_context_percent = 25;

/* What the two above give for a context, calculated when they change: each charge reads it. */
RCA_VISIBLE_IF_KUNIT unsigned int rca_context_limits[RCA_RESOURCES] = {
	[RDMA_CM_ALT_RESOURCE_CONTEXTS] = 1,
};

/* Rounded up, so that no limit is 0. */
RCA_VISIBLE_IF_KUNIT void rca_set_context_limits(void)
{
	u64 limit;
	int i;

	for (i = RDMA_CM_ALT_RESOURCE_CONTEXTS + 1; i < RCA_RESOURCES; i++) {
		limit = (u64)rca_user_limits[i] * rca_max_context_percent;
		WRITE_ONCE(rca_context_limits[i], DIV_ROUND_UP_ULL(limit, 100));
	}
}

/* The lock of the parameters of the module is held. */
static int set_bounded(const char *val, const struct kernel_param *kp, unsigned int max)
{
	int ret = param_set_uint_minmax(val, kp, 1, max);

	if (!ret)
		rca_set_context_limits();
	return ret;
}

static int set_limit(const char *val, const struct kernel_param *kp)
{
	return set_bounded(val, kp, INT_MAX);
}

static const struct kernel_param_ops limit_ops = { .set = set_limit, .get = param_get_uint };

#define LIMIT(name, resource, about)							\
	module_param_cb(max_user_##name, &limit_ops,					\
			&rca_user_limits[RDMA_CM_ALT_RESOURCE_##resource], 0644);	\
	MODULE_PARM_DESC(max_user_##name, about)

LIMIT(contexts, CONTEXTS, "open files of the device that a user may have");
LIMIT(queues, QUEUES, "event queues that a user may have");
LIMIT(ids, IDS, "ids that a user may have, those of requests included");
LIMIT(requests, REQUESTS, "connection requests that may wait for a user to read them");
LIMIT(memberships, MEMBERSHIPS, "multicast memberships that a user may have");
LIMIT(events, EVENTS, "event records that a user may have, waiting or reserved");
LIMIT(ring_pages, RING_PAGES, "pages that the event rings of a user may have");

static int set_percent(const char *val, const struct kernel_param *kp)
{
	return set_bounded(val, kp, 100);
}

static const struct kernel_param_ops percent_ops = { .set = set_percent, .get = param_get_uint };
module_param_cb(max_context_percent, &percent_ops, &rca_max_context_percent, 0644);
MODULE_PARM_DESC(max_context_percent,
		 "part of each limit of a user that an open file may use, in percent");

static u32 user_limit(const struct rca_account *account, enum rdma_cm_alt_resource what)
{
	return account->exempt ? U32_MAX : READ_ONCE(rca_user_limits[what]);
}

/*
 * All or nothing. The count never exceeds the limit, not even temporarily. Inline, for its two
 * callers on the path of each event.
 */
static __always_inline bool try_charge(struct rca_counts *counts, enum rdma_cm_alt_resource what,
				       unsigned int count, u32 limit)
{
	int used = atomic_read(&counts->used[what]);

	do {
		if ((u64)used + count > min_t(u32, limit, INT_MAX)) {
			atomic64_inc(&counts->refused[what]);
			return false;
		}
	} while (!atomic_try_cmpxchg(&counts->used[what], &used, used + (int)count));
	return true;
}

static bool is_full(const struct rca_counts *counts, enum rdma_cm_alt_resource what, u32 limit)
{
	return limit <= INT_MAX && atomic_read(&counts->used[what]) >= (int)limit;
}

static void read_usage(const struct rca_counts *counts, enum rdma_cm_alt_resource what, u32 limit,
		       struct rca_usage *usage)
{
	usage->used = atomic_read(&counts->used[what]);
	usage->limit = limit;
	usage->refused = atomic64_read(&counts->refused[what]);
}

/* Everything that was charged must have been uncharged. */
static void warn_if_charged(const struct rca_counts *counts)
{
	int i;

	for (i = 0; i < RCA_RESOURCES; i++)
		WARN_ON_ONCE(atomic_read(&counts->used[i]));
}

/**
 * rca_account_call() - let a worker call a function, in a lane of the user
 * @account: the account
 * @which: the lane
 * @fn: the function. It waits for no user, and takes no lock of an id. Its memory is not charged to
 *      the caller's memory cgroup, unless it says so
 * @arg: its argument
 *
 * Context: Process context, or work. Sleeps until @fn has returned.
 */
void rca_account_call(const struct rca_account *account, enum rca_lanes which,
		      void (*fn)(void *arg), void *arg)
{
	struct rca_lane *lane = &account->user->lanes[which];
	struct call call = { .fn = fn, .arg = arg };

	/* Work does not wait for other work, which may need its place. */
	if (current->flags & PF_WQ_WORKER) {
		in_turn(lane, fn, arg);
		return;
	}
	init_completion(&call.done);
	spin_lock(&lane->lock);
	list_add_tail(&call.node, &lane->calls);
	spin_unlock(&lane->lock);
	queue_work(lane->wq, &lane->work);
	wait_for_completion(&call.done);
}

static void user_free(struct rca_user *user)
{
	int i;

	for (i = 0; i < RCA_LANES; i++) {
		/* The last call has returned to its caller, but perhaps not the work. */
		cancel_work_sync(&user->lanes[i].work);
		mutex_destroy(&user->lanes[i].turn);
	}
	if (user->slow_wq)
		destroy_workqueue(user->slow_wq);
	if (user->own_wq) {
		destroy_workqueue(user->wq);
		atomic_dec(&num_own_wq);
	}
	kfree(user);
	if (atomic_dec_and_test(&num_users))
		wake_up(&users_freed);
}

static void user_free_work(struct work_struct *work)
{
	user_free(container_of(work, struct rca_user, free_work));
}

static struct rca_user *user_alloc(kuid_t uid)
{
	struct rca_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	struct rca_lane *lane;
	int i;

	if (!user)
		return NULL;
	refcount_set(&user->ref, 1);
	user->uid = uid;
	INIT_WORK(&user->free_work, user_free_work);
	if (atomic_inc_return(&num_own_wq) <= rca_max_own_wq)
		user->wq = alloc_workqueue("rdma_cm_alt/%u", WQ_UNBOUND, 0, __kuid_val(uid));
	user->own_wq = user->wq;
	if (!user->own_wq) {
		atomic_dec(&num_own_wq);
		user->wq = shared_wq;
	}
	for (i = 0; i < RCA_LANES; i++) {
		lane = &user->lanes[i];
		mutex_init(&lane->turn);
		lockdep_set_class(&lane->turn, &lane_keys[i]);
		spin_lock_init(&lane->lock);
		INIT_LIST_HEAD(&lane->calls);
		INIT_WORK(&lane->work, lane_work);
		lane->wq = lane_wqs[i];
	}
	atomic_inc(&num_users);
	return user;
}

/* Get a user of the table, or add @new. Returns NULL if the user is not there, and @new is NULL. */
static struct rca_user *find_or_add(kuid_t uid, struct rca_user *new)
{
	struct rca_user *user;
	unsigned long flags;

	spin_lock_irqsave(&users_lock, flags);
	hash_for_each_possible(users, user, node, __kuid_val(uid)) {
		if (!uid_eq(user->uid, uid))
			continue;
		refcount_inc(&user->ref);
		spin_unlock_irqrestore(&users_lock, flags);
		return user;
	}
	if (new)
		hash_add(users, &new->node, __kuid_val(uid));
	spin_unlock_irqrestore(&users_lock, flags);
	return new;
}

/* Find or create a user. Returns a reference, for user_put(), or NULL without memory. */
static struct rca_user *user_get(kuid_t uid)
{
	struct rca_user *user = find_or_add(uid, NULL), *new;

	if (user)
		return user;
	new = user_alloc(uid);
	if (!new)
		return NULL;
	user = find_or_add(uid, new);
	if (user != new)
		user_free(new);
	return user;
}

static void user_put(struct rca_user *user)
{
	unsigned long flags;
	bool last;

	spin_lock_irqsave(&users_lock, flags);
	last = refcount_dec_and_test(&user->ref);
	if (last)
		hash_del(&user->node);
	spin_unlock_irqrestore(&users_lock, flags);
	if (!last)
		return;
	warn_if_charged(&user->counts);
	WARN_ON_ONCE(atomic_read(&user->borrowed));
	queue_work(rca_wq, &user->free_work);
}

static void destroy_common(void)
{
	int i;

	if (shared_slow_wq)
		destroy_workqueue(shared_slow_wq);
	if (shared_wq)
		destroy_workqueue(shared_wq);
	if (rca_wq)
		destroy_workqueue(rca_wq);	/* waits for user_free_work() to return */
	for (i = 0; i < RCA_LANES; i++)
		if (lane_wqs[i])
			destroy_workqueue(lane_wqs[i]);
}

/* Module init. Returns 0 or -ENOMEM. */
int __init rca_users_init(void)
{
	rca_set_context_limits();
	rca_max_own_wq = clamp_t(unsigned int, WQ_PROCESSORS / num_possible_cpus(), 256, 4096);
	rca_wq = alloc_workqueue("rdma_cm_alt", WQ_UNBOUND, 0);
	shared_wq = alloc_workqueue("rdma_cm_alt_users", WQ_UNBOUND, 0);
	shared_slow_wq = alloc_workqueue("rdma_cm_alt_iw_users", WQ_UNBOUND, WQ_MAX_ACTIVE);
	lane_wqs[RCA_LANE_LISTEN] = alloc_workqueue("rdma_cm_alt_listens", WQ_UNBOUND,
						    WQ_MAX_ACTIVE);
	lane_wqs[RCA_LANE_RTNL] = alloc_workqueue("rdma_cm_alt_rtnl", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (rca_wq && shared_wq && shared_slow_wq && lane_wqs[RCA_LANE_LISTEN] &&
	    lane_wqs[RCA_LANE_RTNL])
		return 0;
	destroy_common();
	return -ENOMEM;
}

/*
 * Module exit, when no context is open any more. Late work may still hold the last reference of
 * one.
 */
void rca_users_exit(void)
{
	wait_event(users_freed, !atomic_read(&num_users));
	destroy_common();
}

/**
 * rca_account_user() - which user is the caller?
 *
 * A user who makes a user namespace may have a range of subordinate uids in it, 65,536 as a rule,
 * and is one user nevertheless. A namespace that root made, such as that of a container, may have
 * many users: there each uid is one, as outside.
 *
 * Context: Process context.
 * Return: the uid that is charged.
 */
kuid_t rca_account_user(void)
{
	const struct user_namespace *ns = current_user_ns();

	if (ns == &init_user_ns)
		return current_uid();
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return uid_eq(ns->owner, GLOBAL_ROOT_UID) ? current_uid() : ns->owner;
}

/*
 * Initialize the account of a new context, and charge the context itself to @uid; @exempt: the
 * limits of the user do not apply. Returns 0; -EDQUOT: the user has too many contexts; -ENOMEM.
 */
int rca_account_open(struct rca_account *account, kuid_t uid, bool exempt)
{
	int ret;

	memset(account, 0, sizeof(*account));
	account->exempt = exempt;
	account->user = user_get(uid);	/* put in rca_account_close() */
	if (!account->user)
		return -ENOMEM;
	ret = rca_charge(account, RDMA_CM_ALT_RESOURCE_CONTEXTS, 1);
	if (ret)
		user_put(account->user);
	return ret;
}

/* The context is freed; all of its resources were uncharged. Any context. */
void rca_account_close(struct rca_account *account)
{
	rca_uncharge(account, RDMA_CM_ALT_RESOURCE_CONTEXTS, 1);
	warn_if_charged(&account->counts);
	user_put(account->user);	/* got in rca_account_open() */
}

/* The user who is charged. */
kuid_t rca_account_uid(const struct rca_account *account)
{
	return account->user->uid;
}

/* The workqueue for work on objects of the context. Any context. */
struct workqueue_struct *rca_account_wq(const struct rca_account *account)
{
	return account->user->wq;
}

/**
 * rca_account_slow_wq() - get the workqueue for work that may block for minutes
 * @account: the account
 *
 * Context: Process context. May sleep.
 * Return: the workqueue; users without workqueues of their own share one.
 */
struct workqueue_struct *rca_account_slow_wq(const struct rca_account *account)
{
	struct rca_user *user = account->user;
	struct workqueue_struct *wq = READ_ONCE(user->slow_wq);

	if (wq || !user->own_wq)
		return wq ?: shared_slow_wq;
	wq = alloc_workqueue("rdma_cm_alt_iw/%u", WQ_UNBOUND, WQ_MAX_ACTIVE,
			     __kuid_val(user->uid));
	if (!wq)
		return shared_slow_wq;
	if (cmpxchg(&user->slow_wq, NULL, wq))
		destroy_workqueue(wq);
	return user->slow_wq;
}

/**
 * rca_account_borrow() - may a request have memory that no memory cgroup is charged for?
 * @account: the account
 *
 * Context: Any context.
 * Return: true: yes, until rca_account_repay().
 */
bool rca_account_borrow(const struct rca_account *account)
{
	struct rca_user *user = account->user;

	if (!atomic_add_unless(&user->borrowed, 1, MAX_BORROWED))
		return false;
	if (atomic_add_unless(&all_borrowed, 1, MAX_ALL_BORROWED))
		return true;
	atomic_dec(&user->borrowed);
	return false;
}

void rca_account_repay(const struct rca_account *account)
{
	WARN_ON_ONCE(atomic_dec_return(&account->user->borrowed) < 0);
	WARN_ON_ONCE(atomic_dec_return(&all_borrowed) < 0);
}

/**
 * rca_charge() - charge a resource before it is created
 * @account: the account of its context
 * @what: the resource
 * @count: the number
 *
 * A refusal is counted at the limit that caused it: of the context, or of the user.
 *
 * Context: Any context.
 * Return: 0, to be undone with rca_uncharge(); -EDQUOT.
 */
int rca_charge(struct rca_account *account, enum rdma_cm_alt_resource what, unsigned int count)
{
	if (!try_charge(&account->counts, what, count, READ_ONCE(rca_context_limits[what])))
		return -EDQUOT;
	if (try_charge(&account->user->counts, what, count, user_limit(account, what)))
		return 0;
	atomic_sub(count, &account->counts.used[what]);
	return -EDQUOT;
}

/* Uncharge a resource that was freed. Any context. */
void rca_uncharge(struct rca_account *account, enum rdma_cm_alt_resource what, unsigned int count)
{
	WARN_ON_ONCE(atomic_sub_return(count, &account->user->counts.used[what]) < 0);
	WARN_ON_ONCE(atomic_sub_return(count, &account->counts.used[what]) < 0);
}

/*
 * Would another resource be refused? For callers that can free one before they charge. The refusal
 * is not counted. Any context.
 */
bool rca_account_full(const struct rca_account *account, enum rdma_cm_alt_resource what)
{
	return is_full(&account->counts, what, READ_ONCE(rca_context_limits[what])) ||
	       is_full(&account->user->counts, what, user_limit(account, what));
}

/* Count a refusal because of a narrower limit of the context. Any context. */
void rca_account_refused(struct rca_account *account, enum rdma_cm_alt_resource what)
{
	atomic64_inc(&account->counts.refused[what]);
}

/* Get the use of a resource in the context, and by all contexts of its user. Any context. */
void rca_account_usage(const struct rca_account *account, enum rdma_cm_alt_resource what,
		       struct rca_usage *context, struct rca_usage *user)
{
	read_usage(&account->counts, what, READ_ONCE(rca_context_limits[what]), context);
	read_usage(&account->user->counts, what, user_limit(account, what), user);
}
