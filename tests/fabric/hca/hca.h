/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The adapter and its ports, which all parts of the software InfiniBand adapter share.
 */
#ifndef HCA_H
#define HCA_H

#include <linux/if_ether.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#define HCA_MAX_PORTS	4
#define HCA_GIDS	8
#define HCA_PKEYS	16
#define HCA_MTU		2048	/* bytes of a datagram, without the GRH */
#define HCA_FIRST_QPN	0x100	/* QP0 and QP1 belong to the ports */

/* LIDs: a port's is its number plus one, counted over all ports ever made; the SA is above them. */
#define HCA_FIRST_LID	1
#define HCA_SM_LID	0x7ff

struct hca_device;

/**
 * struct hca_port - a port of an adapter
 * @dev: its adapter (immutable)
 * @num: its number on the adapter, from 1 (immutable)
 * @lid: its local identifier (lock: hca_lock)
 * @up: it is active; a port that is down neither sends nor receives (lock: hca_lock)
 * @cap_flags: what kernel users set with ib_modify_port() (lock: hca_lock)
 * @pkeys: its P_Key table, 0 is an empty row (lock: hca_lock)
 * @gids: its GID table, zero is an empty row (lock: hca_lock)
 * @ethernet: it is a port of RoCE v1, whose GIDs are the addresses of a network device; packets
 *	find it by them, and @lid is known to the switch only (immutable)
 * @mac: Ethernet: the address of the network device (immutable)
 */
struct hca_port {
	struct hca_device *dev;
	u32 num;
	u16 lid;
	bool up;
	u32 cap_flags;
	u16 pkeys[HCA_PKEYS];
	union ib_gid gids[HCA_GIDS];
	bool ethernet;
	u8 mac[ETH_ALEN];
};

/**
 * struct hca_device - an adapter
 * @ib: the device of the RDMA core
 * @entry: in the list of all adapters (lock: hca_lock)
 * @guid: of the node; those of the ports follow it (immutable)
 * @ports: how many there are (immutable)
 * @qps: QPs by number, those of the ports by hca_qp_key() (lock: its own, from any context)
 * @mrs: memory regions by key (lock: @memory)
 * @ahs: address handles of programs by number (lock: its own, from any context)
 * @memory: held while a program's memory is copied, so that its region stays; taken in process
 *	context, with no lock held but a QP's send mutex
 * @maps: queues that programs can map (lock: @map_lock)
 * @map_lock: of @maps and @map_next; innermost
 * @map_next: offset of the next queue that a program can map (lock: @map_lock)
 * @dir: its directory in debugfs, or NULL (atomic)
 * @abouts: private data of its files in debugfs (atomic)
 * @slow_ms: delay of completions of sends by QP1, in milliseconds (atomic)
 * @port: the ports
 */
struct hca_device {
	struct ib_device ib;
	struct list_head entry;
	u64 guid;
	u32 ports;
	struct xarray qps;
	struct xarray mrs;
	struct xarray ahs;
	struct mutex memory;
	struct list_head maps;
	struct mutex map_lock;
	u64 map_next;
	struct dentry *dir;
	void *abouts;
	u32 slow_ms;
	struct hca_port port[HCA_MAX_PORTS];
};

/*
 * Guards the list of adapters, everything of the ports, and who is attached to which group. Taken
 * from any context, so with interrupts off; nothing is called with it held.
 */
extern spinlock_t hca_lock;
extern struct list_head hca_devices;

static inline struct hca_device *to_hca(struct ib_device *ib)
{
	return container_of(ib, struct hca_device, ib);
}

/* hca_port: the port with a number that the RDMA core has checked. */
static inline struct hca_port *hca_port(struct ib_device *ib, u32 num)
{
	return &to_hca(ib)->port[num - 1];
}

int hca_device_add(u32 ports);
int hca_device_add_roce(const char *name);
int hca_device_remove(const char *name);
void hca_device_remove_all(void);

#endif /* HCA_H */
