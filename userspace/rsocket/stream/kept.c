// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What closed streams leave for new ones.
 *
 * Each endpoint has a protection domain of its own. So a key that a peer was given opens memory
 * only to the one queue pair of the stream that has the memory now, and not to the connections that
 * the same peer has beside it. The queue pair is not kept: its number would name the connection
 * that has ended to a peer that has not heard of the end, and whose kernel then refuses the new
 * connection as a stale one.
 *
 * What is kept is bounded in number and bytes, and destroyed after KEPT_MS, or when something else
 * cannot be created.
 *
 * Locking: lock protects the list; service.lock is taken under it. Entries are destroyed under
 * ending, which is taken before lock: who needs what they occupy waits until they are gone. fork()
 * waits as well, and takes the locks of pages and devices only afterwards, as these were in use
 * before the first stream was closed.
 */
#include "rsocket/stream/kept.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include "core/devices.h"
#include "id/cmid.h"
#include "rsocket/wait.h"

#define KEPT_MOST 16
#define KEPT_BYTES (4U << 20)
#define KEPT_MS 10000

/* Not more than this part of the memory that the process may lock. */
#define KEPT_SHARE 4

#define BATCH 16

struct kept {
	struct rcl_device *device;
	struct ibv_pd *pd;
	struct ibv_comp_channel *comp;
	struct rcl_cq recv_cq;
	struct rcl_cq send_cq;
	struct rcl_pages rx_pages;
	struct rcl_pages tx_pages;
	struct ibv_mr *rx_mr;
	struct ibv_mr *tx_mr;
	uint32_t posted;
	uint32_t sq_size;
	uint32_t recv_buf;
	uint32_t send_buf;
	uint32_t iomaps;
	int64_t until;
};

static void expire(struct rcl_task *task);

struct rcl_task rcl_kept_task = { .run = expire, .fd = -1, .due = RCL_FOREVER };

static pthread_mutex_t ending = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept list[KEPT_MOST];	/* the oldest first */
static unsigned int count;
static size_t bytes;

static void before_fork(void)
{
	pthread_mutex_lock(&ending);
	pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&lock);
	pthread_mutex_unlock(&ending);
}

/* The objects are those of the parent, which goes on using them. */
static void in_child(void)
{
	count = 0;
	bytes = 0;
	rcl_kept_task.added = false;
	pthread_mutex_unlock(&lock);
	pthread_mutex_unlock(&ending);
}

static void follow_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

static size_t bytes_of(const struct kept *kept)
{
	return kept->rx_pages.len + kept->tx_pages.len;
}

/* Removes an entry; the list is locked. */
static void remove_at(unsigned int i, struct kept *out)
{
	*out = list[i];
	bytes -= bytes_of(out);
	count--;
	memmove(&list[i], &list[i + 1], (count - i) * sizeof(list[0]));
}

static void destroy(struct kept *kept)
{
	ibv_dereg_mr(kept->tx_mr);
	ibv_dereg_mr(kept->rx_mr);
	rcl_pages_put(&kept->tx_pages);
	rcl_pages_put(&kept->rx_pages);
	rcl_cq_destroy(&kept->send_cq);
	rcl_cq_destroy(&kept->recv_cq);
	ibv_destroy_comp_channel(kept->comp);
	ibv_dealloc_pd(kept->pd);
	rcl_device_unbind(kept->device);
}

/* Removes the oldest entry if its time is over; sets *@next to the end of that of the next one. */
static bool take_over(int64_t now, struct kept *out, int64_t *next)
{
	bool over;

	pthread_mutex_lock(&lock);
	over = count && list[0].until <= now;
	if (over)
		remove_at(0, out);
	*next = count ? list[0].until : RCL_FOREVER;
	pthread_mutex_unlock(&lock);
	return over;
}

bool rcl_kept_end(int64_t now)
{
	int64_t next;
	struct kept old;
	bool any = pthread_mutex_trylock(&ending);

	if (any)
		pthread_mutex_lock(&ending);
	for (; take_over(now, &old, &next); any = true)
		destroy(&old);
	pthread_mutex_unlock(&ending);
	if (next != RCL_FOREVER)
		rcl_service_due(&rcl_kept_task, next);
	return any;
}

static void expire(struct rcl_task *task)
{
	(void)task;
	rcl_kept_end(rcl_now_ns());
}

static bool fits(const struct kept *kept, const struct rcl_stream *s)
{
	return kept->device == rcl_id_of(s->id)->device && kept->posted == s->rx.posted &&
	       kept->sq_size == s->sock.sq_size && kept->recv_buf == s->sock.recv_buf &&
	       kept->send_buf == s->sock.send_buf && kept->iomaps == s->sock.iomaps;
}

bool rcl_kept_take(struct rcl_stream *s)
{
	struct kept kept;
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = count; i && !fits(&list[i - 1], s); i--)
		;
	if (i)
		remove_at(i - 1, &kept);
	pthread_mutex_unlock(&lock);
	if (!i)
		return false;
	s->pd = kept.pd;
	s->comp = kept.comp;
	s->recv_cq = kept.recv_cq;
	s->send_cq = kept.send_cq;
	s->rx.pages = kept.rx_pages;
	s->rx.mr = kept.rx_mr;
	s->tx.pages = kept.tx_pages;
	s->tx.mr = kept.tx_mr;
	/* A peer may announce data that it has not written: the program must not get old bytes. */
	memset(s->rx.pages.start, 0, s->rx.pages.len);
	rcl_device_unbind(kept.device);
	return true;
}

/* Removes the completions of the queue pair that is gone. */
static bool is_emptied(const struct rcl_cq *cq)
{
	struct ibv_wc wc[BATCH];
	int found;

	do {
		found = ibv_poll_cq(cq->cq, BATCH, wc);
	} while (found > 0);
	return !found;
}

/* Whether there is room; the list is locked. */
static bool has_room(size_t more)
{
	struct rlimit limit;
	size_t most = KEPT_BYTES;

	if (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur / KEPT_SHARE < most)
		most = (size_t)(limit.rlim_cur / KEPT_SHARE);
	return count < KEPT_MOST && bytes + more <= most;
}

bool rcl_kept_give(struct rcl_stream *s)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct kept kept = {
		.pd = s->pd,
		.comp = s->comp,
		.recv_cq = s->recv_cq,
		.send_cq = s->send_cq,
		.rx_pages = s->rx.pages,
		.tx_pages = s->tx.pages,
		.rx_mr = s->rx.mr,
		.tx_mr = s->tx.mr,
		.posted = s->rx.posted,
		.sq_size = s->sock.sq_size,
		.recv_buf = s->sock.recv_buf,
		.send_buf = s->sock.send_buf,
		.iomaps = s->sock.iomaps,
		.until = rcl_deadline(KEPT_MS),
	};
	bool given;

	if (!s->tx.mr || !is_emptied(&s->recv_cq) || !is_emptied(&s->send_cq))
		return false;
	pthread_once(&once, follow_forks);
	pthread_mutex_lock(&lock);
	given = has_room(bytes_of(&kept)) &&
		(rcl_kept_task.added || !rcl_service_add(&rcl_kept_task));
	if (given) {
		kept.device = rcl_device_hold(rcl_id_of(s->id)->device);
		list[count++] = kept;
		bytes += bytes_of(&kept);
	}
	if (given && count == 1)
		rcl_service_due(&rcl_kept_task, kept.until);
	pthread_mutex_unlock(&lock);
	return given;
}
