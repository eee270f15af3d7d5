/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The places of the ports of a device, which limit the CM requests of a port and its queries of the
 * subnet administrator. They are given to ids in id/port_places.c.
 */
#ifndef RCA_PLACES_H
#define RCA_PLACES_H

#include <linux/list.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

/**
 * struct rca_port_places - the places of a port for messages of one kind
 * @lock: protects the members below, those of the users, and &rca_port_place of ids
 * @taken: messages that have a place
 * @waiting: messages that wait for one
 * @count: length of @users
 * @users: the users with such messages, through &rca_places_user.node
 * @answered: last answer of the subnet administrator to one of them, in jiffies (lockless)
 */
struct rca_port_places {
	spinlock_t lock;
	unsigned int taken;
	unsigned int waiting;
	unsigned int count;
	struct list_head users;
	unsigned long answered;
};

/**
 * struct rca_device_places - the places of the ports of a device
 * @rcu: frees the struct after callbacks that run late
 * @ports: for each port, from 1: @cm: for CM requests, @sa: for queries
 */
struct rca_device_places {
	struct rcu_head rcu;
	struct {
		struct rca_port_places cm;
		struct rca_port_places sa;
	} ports[];
};

static inline void rca_port_places_init(struct rca_port_places *port)
{
	spin_lock_init(&port->lock);
	INIT_LIST_HEAD(&port->users);
}

/**
 * rca_places_create() - make the places of the ports of a device
 * @ports: the highest number of a port
 *
 * Context: Process context. Sleeps.
 * Return: to be freed by kfree_rcu(); NULL without memory: then the ports have no limit.
 */
static inline struct rca_device_places *rca_places_create(unsigned int ports)
{
	struct rca_device_places *places;
	unsigned int i;

	places = kzalloc(struct_size(places, ports, ports + 1), GFP_KERNEL);
	if (!places)
		return NULL;
	for (i = 0; i <= ports; i++) {
		rca_port_places_init(&places->ports[i].cm);
		rca_port_places_init(&places->ports[i].sa);
	}
	return places;
}

#endif /* RCA_PLACES_H */
