// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ports: finding them by address, changing them, and saying so.
 *
 * Locking: hca_lock. Events go out with no lock held, in process context.
 */
#include "port.h"

#include <linux/string.h>

DEFINE_SPINLOCK(hca_lock);
LIST_HEAD(hca_devices);

/* The next LID to hand out; ports that went do not give theirs back, (lock: hca_lock). */
static u16 next_lid = HCA_FIRST_LID;

/**
 * hca_port_init() - a port as it is when the adapter comes
 * @dev: the adapter, not yet registered
 * @num: number of the port
 *
 * Context: process.
 */
void hca_port_init(struct hca_device *dev, u32 num)
{
	struct hca_port *port = &dev->port[num - 1];

	port->dev = dev;
	port->num = num;
	port->up = true;
	port->pkeys[0] = 0xffff;
	port->gids[0].global.subnet_prefix = cpu_to_be64(0xfe80000000000000ULL);
	port->gids[0].global.interface_id = cpu_to_be64(dev->guid + num);
	spin_lock_irq(&hca_lock);
	port->lid = next_lid++;
	if (next_lid == HCA_SM_LID)
		next_lid = HCA_FIRST_LID;
	spin_unlock_irq(&hca_lock);
}

/**
 * hca_port_by_lid() - the port that has a LID
 * @lid: the LID
 *
 * Context: hca_lock is held; the answer is good as long as it is.
 * Return: the port, NULL when none has it.
 */
struct hca_port *hca_port_by_lid(u16 lid)
{
	struct hca_device *dev;
	u32 i;

	lockdep_assert_held(&hca_lock);
	list_for_each_entry(dev, &hca_devices, entry)
		for (i = 0; i < dev->ports; i++)
			if (dev->port[i].lid == lid)
				return &dev->port[i];
	return NULL;
}

/**
 * hca_port_by_gid() - the port that has a GID
 * @gid: the GID
 *
 * Context: hca_lock is held; the answer is good as long as it is.
 * Return: the port, NULL when none has it.
 */
struct hca_port *hca_port_by_gid(const union ib_gid *gid)
{
	struct hca_device *dev;
	u32 i, row;

	lockdep_assert_held(&hca_lock);
	if (!memchr_inv(gid, 0, sizeof(*gid)))
		return NULL;
	list_for_each_entry(dev, &hca_devices, entry)
		for (i = 0; i < dev->ports; i++)
			for (row = 0; row < HCA_GIDS; row++)
				if (!memcmp(&dev->port[i].gids[row], gid, sizeof(*gid)))
					return &dev->port[i];
	return NULL;
}

/**
 * hca_port_pkey_index() - where a port has a P_Key that goes with another
 * @port: the port
 * @pkey: the P_Key of the other side
 *
 * Context: hca_lock is held.
 * Return: the row of the table, -ENOENT when there is none.
 */
int hca_port_pkey_index(const struct hca_port *port, u16 pkey)
{
	unsigned int i;

	lockdep_assert_held(&hca_lock);
	for (i = 0; i < HCA_PKEYS; i++)
		if (hca_pkeys_match(port->pkeys[i], pkey))
			return i;
	return -ENOENT;
}

/**
 * hca_port_shares_pkey() - whether a port is a member of a partition, full or limited
 * @port: the port
 * @pkey: P_Key of the partition, its membership bit does not count
 *
 * Context: hca_lock is held.
 * Return: whether it is.
 */
bool hca_port_shares_pkey(const struct hca_port *port, u16 pkey)
{
	return hca_port_pkey_index(port, pkey | 0x8000) >= 0;
}

/**
 * hca_port_event() - tells the users of the adapter that something happened to a port
 * @port: the port
 * @type: what happened
 *
 * Context: process, no locks held.
 */
void hca_port_event(struct hca_port *port, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &port->dev->ib,
		.element.port_num = port->num,
		.event = type,
	};

	ib_dispatch_event(&event);
}

/**
 * hca_port_set_up() - the cable of a port goes in or comes out
 * @port: the port
 * @up: in
 *
 * Context: process, no locks held.
 */
void hca_port_set_up(struct hca_port *port, bool up)
{
	bool was;

	spin_lock_irq(&hca_lock);
	was = port->up;
	port->up = up;
	spin_unlock_irq(&hca_lock);
	if (was != up)
		hca_port_event(port, up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
}

/**
 * hca_port_set_lid() - the subnet manager gives a port another LID
 * @port: the port
 * @lid: the LID
 *
 * Context: process, no locks held.
 * Return: 0; -EINVAL for a LID that no port can have; -EBUSY when another port has it.
 */
int hca_port_set_lid(struct hca_port *port, u16 lid)
{
	struct hca_port *other;

	if (!lid || lid >= be16_to_cpu(IB_MULTICAST_LID_BASE))
		return -EINVAL;
	spin_lock_irq(&hca_lock);
	other = hca_port_by_lid(lid);
	if (!other)
		port->lid = lid;
	spin_unlock_irq(&hca_lock);
	if (other)
		return other == port ? 0 : -EBUSY;
	hca_port_event(port, IB_EVENT_LID_CHANGE);
	return 0;
}

/**
 * hca_port_set_pkeys() - the subnet manager writes the P_Key table of a port
 * @port: the port
 * @pkeys: the rows
 * @count: how many, the rest of the table is emptied
 *
 * Context: process, no locks held.
 * Return: 0; -EINVAL for more rows than the table has.
 */
int hca_port_set_pkeys(struct hca_port *port, const u16 *pkeys, unsigned int count)
{
	if (count > HCA_PKEYS)
		return -EINVAL;
	spin_lock_irq(&hca_lock);
	memset(port->pkeys, 0, sizeof(port->pkeys));
	memcpy(port->pkeys, pkeys, count * sizeof(*pkeys));
	spin_unlock_irq(&hca_lock);
	hca_port_event(port, IB_EVENT_PKEY_CHANGE);
	return 0;
}

/**
 * hca_port_set_gid() - writes a row of the GID table of a port
 * @port: the port
 * @index: the row
 * @gid: what is written, zero empties the row
 *
 * Context: process, no locks held.
 * Return: 0; -EINVAL for a row that the table does not have.
 */
int hca_port_set_gid(struct hca_port *port, unsigned int index, const union ib_gid *gid)
{
	if (index >= HCA_GIDS)
		return -EINVAL;
	spin_lock_irq(&hca_lock);
	port->gids[index] = *gid;
	spin_unlock_irq(&hca_lock);
	hca_port_event(port, IB_EVENT_GID_CHANGE);
	return 0;
}
