// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues and completion channels of the fake data path.
 *
 * Locking: the lock of the fabric around everything but the blocking read() of a channel.
 */
#include "fake/fake_cq.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake/fake_fabric.h"

#define ACK_TRIES 200	/* of 10 ms */

/**
 * struct fake_cqe - a completion
 * @link: in its CQ
 * @wc: what ibv_poll_cq() returns
 * @used: slots in use of its queue
 * @slots: how many of them become free when it is polled
 */
struct fake_cqe {
	STAILQ_ENTRY(fake_cqe) link;
	struct ibv_wc wc;
	unsigned int *used;
	unsigned int slots;
};

static struct fake_cq *cq_of(struct ibv_cq *cq)
{
	return (struct fake_cq *)(void *)cq;
}

static struct fake_channel *channel_of(struct ibv_comp_channel *channel)
{
	return (struct fake_channel *)(void *)channel;
}

void fake_channel_init(struct ibv_comp_channel *channel)
{
	int fds[2];

	assert(!pipe2(fds, O_CLOEXEC));
	/* A full pipe must not stop the fabric. */
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	channel->fd = fds[0];
	channel_of(channel)->write_end = fds[1];
}

void fake_channel_fini(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	close(channel_of(channel)->write_end);
}

static void put_event(struct ibv_cq *cq)
{
	if (write(channel_of(cq->channel)->write_end, &cq, sizeof(cq)) == sizeof(cq))
		cq_of(cq)->events++;
	else
		fake_complain("a completion channel is full: its events are not taken");
}

/* Take the events of a CQ out of its channel. Others stay. */
static void drain_channel(struct fake_cq *cq)
{
	struct ibv_comp_channel *channel = cq->cq.channel;
	int flags = fcntl(channel->fd, F_GETFL);
	unsigned int i, n = 0;
	struct ibv_cq *event;
	struct ibv_cq *others[4096];

	fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK);
	while (n < 4096 && read(channel->fd, &event, sizeof(event)) == sizeof(event)) {
		if (event == &cq->cq)
			cq->acked++;
		else
			others[n++] = event;
	}
	fcntl(channel->fd, F_SETFL, flags);
	for (i = 0; i < n; i++)
		assert(write(channel_of(channel)->write_end, &others[i], sizeof(event)) > 0);
}

void fake_cq_init(struct ibv_cq *cq)
{
	STAILQ_INIT(&cq_of(cq)->entries);
	if (cq->channel)
		cq->channel->refcnt++;
}

static void free_entries(struct fake_cq *cq)
{
	struct fake_cqe *entry;

	while ((entry = STAILQ_FIRST(&cq->entries))) {
		STAILQ_REMOVE_HEAD(&cq->entries, link);
		free(entry);
	}
	cq->count = 0;
}

void fake_cq_fini(struct ibv_cq *ibv_cq)
{
	struct fake_cq *cq = cq_of(ibv_cq);
	int i;

	fake_fabric_lock();
	cq->armed = FAKE_ARMED_NO;
	free_entries(cq);
	if (ibv_cq->channel) {
		drain_channel(cq);
		ibv_cq->channel->refcnt--;
	}
	/* As in libibverbs: another thread may still have an event of the CQ. */
	for (i = 0; cq->acked < cq->events && i < ACK_TRIES; i++) {
		fake_fabric_unlock();
		usleep(10000);
		fake_fabric_lock();
	}
	if (cq->acked < cq->events)
		fake_complain("a CQ with %u events is destroyed, %u of which are acknowledged",
			      cq->events, cq->acked);
	fake_fabric_unlock();
}

void fake_cq_add(struct ibv_cq *ibv_cq, const struct ibv_wc *wc, bool solicited,
		 unsigned int *used, unsigned int slots)
{
	struct fake_cq *cq = cq_of(ibv_cq);
	enum fake_armed needs = FAKE_ARMED_ANY;
	struct fake_cqe *entry;

	if (cq->count >= ibv_cq->cqe) {
		fake_complain("a CQ of %d entries overflows", ibv_cq->cqe);
		return;
	}
	entry = calloc(1, sizeof(*entry));
	*entry = (struct fake_cqe) { .wc = *wc, .used = used, .slots = slots };
	STAILQ_INSERT_TAIL(&cq->entries, entry, link);
	cq->count++;
	if (solicited || wc->status != IBV_WC_SUCCESS)
		needs = FAKE_ARMED_SOLICITED;
	if (ibv_cq->channel && cq->armed >= needs) {
		cq->armed = FAKE_ARMED_NO;
		put_event(ibv_cq);
	}
}

void fake_cq_forget(struct ibv_cq *ibv_cq, uint32_t qp_num)
{
	struct fake_cq *cq = cq_of(ibv_cq);
	struct fake_cqe *entry, *next;

	for (entry = STAILQ_FIRST(&cq->entries); entry; entry = next) {
		next = STAILQ_NEXT(entry, link);
		if (entry->wc.qp_num != qp_num)
			continue;
		STAILQ_REMOVE(&cq->entries, entry, fake_cqe, link);
		cq->count--;
		free(entry);
	}
}

int fake_cq_poll(struct ibv_cq *ibv_cq, int num_entries, struct ibv_wc *wc)
{
	struct fake_cq *cq = cq_of(ibv_cq);
	struct fake_cqe *entry;
	int n = 0;

	fake_fabric_lock();
	while (n < num_entries && (entry = STAILQ_FIRST(&cq->entries))) {
		STAILQ_REMOVE_HEAD(&cq->entries, link);
		cq->count--;
		*entry->used -= entry->slots;
		wc[n++] = entry->wc;
		free(entry);
	}
	fake_fabric_unlock();
	return n;
}

int fake_cq_arm(struct ibv_cq *cq, int solicited_only)
{
	enum fake_armed armed = solicited_only ? FAKE_ARMED_SOLICITED : FAKE_ARMED_ANY;

	fake_fabric_lock();
	if (cq_of(cq)->armed < armed)
		cq_of(cq)->armed = armed;
	fake_fabric_unlock();
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	if (read(channel->fd, cq, sizeof(*cq)) != sizeof(*cq))
		return -1;
	/* It may have been created by another thread than the one that waits. */
	fake_fabric_lock();
	*cq_context = (*cq)->cq_context;
	fake_fabric_unlock();
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	fake_fabric_lock();
	cq_of(cq)->acked += nevents;
	if (cq_of(cq)->acked > cq_of(cq)->events)
		fake_complain("more events of a CQ are acknowledged than there were");
	fake_fabric_unlock();
}
