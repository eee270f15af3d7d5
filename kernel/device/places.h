/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The places of the ports of a device, which limit the CM requests of a port. They are given to ids
 * in id/port_places.c.
 */
#ifndef RCA_PLACES_H
#define RCA_PLACES_H

#include <linux/list.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

/**
 * struct rca_port_places - the places of a port
 * @lock: protects the members below, those of the users, and &rca_port_place of ids
 * @taken: requests that have a place
 * @waiting: requests that wait for one
 * @count: length of @users
 * @users: the users with such requests, through &rca_places_user.node
 */
struct rca_port_places {
	spinlock_t lock;
	unsigned int taken;
	unsigned int waiting;
	unsigned int count;
	struct list_head users;
};

/**
 * struct rca_device_places - the places of the ports of a device
 * @rcu: frees the struct after callbacks that run late
 * @ports: for each port, from 1
 */
struct rca_device_places {
	struct rcu_head rcu;
	struct rca_port_places ports[];
};

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
		spin_lock_init(&places->ports[i].lock);
		INIT_LIST_HEAD(&places->ports[i].users);
	}
	return places;
}

#endif /* RCA_PLACES_H */
