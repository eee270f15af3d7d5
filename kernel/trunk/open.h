/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Opening and ending trunks. */
#ifndef RCA_TRUNK_OPEN_H
#define RCA_TRUNK_OPEN_H

#include <linux/jiffies.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "transport/transport.h"

struct ib_gid_attr;
struct rca_device;
struct rca_peer_key;
struct rca_trunk;

/** RCA_WATCH_PROBES - how often a peer is asked in the time after whose silence it is dead */
#define RCA_WATCH_PROBES	4
/** RCA_WATCH_PORT - how often a port that is down is looked at, in jiffies */
#define RCA_WATCH_PORT		(1UL * HZ)

/* watch.c */
bool rca_watch_is_on(const struct rca_trunk *trunk);
bool rca_watch_needs_link(const struct rca_trunk *trunk);
bool rca_watch_is_idle(struct rca_trunk *trunk);
unsigned long rca_watch_idle_for(const struct rca_trunk *trunk);
bool rca_watch_is_silent(const struct rca_trunk *trunk);
bool rca_watch_port_is_up(const struct rca_trunk *trunk);
void rca_watch_port(struct rca_trunk *trunk);
void rca_watch_peer(struct rca_trunk *trunk);
bool rca_watch_is_overdue(const struct rca_trunk *trunk);
unsigned long rca_watch_next_try(const struct rca_trunk *trunk);
unsigned long rca_watch_delay(struct rca_trunk *trunk);

/* open.c */
void rca_open_work(struct work_struct *work);
void rca_open_end_device(struct rca_device *dev);

/* open_request.c */
void rca_open_requested(struct rca_device *dev, const struct rca_tp_request *req,
			const struct ib_gid_attr *sgid_attr);
void rca_open_port_changed(struct rca_device *dev, u32 port, bool state);
void rca_open_heard(const struct rca_peer_key *key, const void *data, size_t len);
void rca_trunk_listen(struct rca_device *dev);
void rca_trunk_unlisten(struct rca_device *dev);

#endif /* RCA_TRUNK_OPEN_H */
