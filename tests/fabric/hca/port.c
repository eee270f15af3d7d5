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

/* The initial state of a port; the adapter is not yet registered. */
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

/* Needs hca_lock; the port stays as long as the lock is held. */
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

/* Needs hca_lock; the port stays as long as the lock is held. */
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

/* The row of the P_Key table that matches the P_Key of a peer; needs hca_lock. */
int hca_port_pkey_index(const struct hca_port *port, u16 pkey)
{
	unsigned int i;

	lockdep_assert_held(&hca_lock);
	for (i = 0; i < HCA_PKEYS; i++)
		if (hca_pkeys_match(port->pkeys[i], pkey))
			return i;
	return -ENOENT;
}

/* Whether a port is a full or limited member of a partition; needs hca_lock. */
bool hca_port_shares_pkey(const struct hca_port *port, u16 pkey)
{
	return hca_port_pkey_index(port, pkey | 0x8000) >= 0;
}

/* Dispatches an event of a port. Process context, no locks held, as the functions below. */
void hca_port_event(struct hca_port *port, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &port->dev->ib,
		.element.port_num = port->num,
		.event = type,
	};

	ib_dispatch_event(&event);
}

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

/* Returns -EINVAL for a LID that no port can have, -EBUSY when another port has it. */
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

/* Writes the first @count rows of the P_Key table and empties the others. */
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

/* Writes a row of the GID table; zero empties it. */
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
