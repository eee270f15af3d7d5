// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Adapters: queries of the device and its ports, registration and removal.
 *
 * They register as rxe devices, so that libibverbs uses its rxe provider.
 *
 * Locking: hca_lock for ports and the list of adapters; @count_lock for the number of the next.
 */
#include "hca.h"

#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <rdma/ib_mad.h>
#include <rdma/uverbs_ioctl.h>

#include "fabric/sa.h"
#include "knobs.h"
#include "port.h"
#include "verbs/verbs.h"

#define GUID_BASE	0x02ca000000000000ULL
#define UVERBS_ABI	2	/* of the rxe provider */

static DEFINE_MUTEX(count_lock);
static u32 next_number;	/* lock: count_lock */

static int hca_query_device(struct ib_device *ib, struct ib_device_attr *attr,
			    struct ib_udata *udata)
{
	attr->fw_ver = 1;
	attr->sys_image_guid = ib->node_guid;
	attr->max_mr_size = -1ULL;
	attr->page_size_cap = PAGE_SIZE;
	attr->vendor_id = 0xffffff;
	attr->max_qp = 65536;
	attr->max_qp_wr = HCA_MAX_WR;
	attr->device_cap_flags = IB_DEVICE_CHANGE_PHY_PORT | IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_PORT_ACTIVE_EVENT | IB_DEVICE_XRC;
	attr->max_send_sge = HCA_MAX_SGE;
	attr->max_recv_sge = HCA_MAX_SGE;
	attr->max_sge_rd = HCA_MAX_SGE;
	attr->max_cq = 65536;
	attr->max_cqe = HCA_MAX_CQE;
	attr->max_mr = 65536;
	attr->max_pd = 65536;
	attr->max_qp_rd_atom = 16;
	attr->max_res_rd_atom = 1024;
	attr->max_qp_init_rd_atom = 16;
	attr->atomic_cap = IB_ATOMIC_NONE;
	attr->max_mcast_grp = 1024;
	attr->max_mcast_qp_attach = 64;
	attr->max_total_mcast_qp_attach = 65536;
	attr->max_ah = 65536;
	attr->max_srq = 1024;
	attr->max_srq_wr = HCA_MAX_WR;
	attr->max_srq_sge = HCA_MAX_SGE;
	attr->max_pkeys = HCA_PKEYS;
	attr->local_ca_ack_delay = 15;
	return 0;
}

static int hca_query_port(struct ib_device *ib, u32 num, struct ib_port_attr *attr)
{
	struct hca_port *port = hca_port(ib, num);

	attr->max_mtu = IB_MTU_2048;
	attr->active_mtu = IB_MTU_2048;
	attr->phys_mtu = HCA_MTU;
	attr->gid_tbl_len = HCA_GIDS;
	attr->pkey_tbl_len = HCA_PKEYS;
	attr->max_msg_sz = 1 << 30;
	attr->max_vl_num = 1;
	attr->subnet_timeout = 18;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_SDR;
	spin_lock_irq(&hca_lock);
	attr->state = port->up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = port->up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_POLLING;
	if (!port->ethernet) {
		attr->lid = port->lid;
		attr->sm_lid = hca_sa_lid();
	}
	attr->port_cap_flags = port->cap_flags;
	spin_unlock_irq(&hca_lock);
	return 0;
}

static int hca_modify_port(struct ib_device *ib, u32 num, int mask, struct ib_port_modify *change)
{
	struct hca_port *port = hca_port(ib, num);

	spin_lock_irq(&hca_lock);
	port->cap_flags |= change->set_port_cap_mask;
	port->cap_flags &= ~change->clr_port_cap_mask;
	spin_unlock_irq(&hca_lock);
	return 0;
}

static int hca_port_immutable(struct ib_device *ib, u32 num, struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = hca_port(ib, num)->ethernet ? RDMA_CORE_PORT_IBA_ROCE :
								  RDMA_CORE_PORT_IBA_IB;
	immutable->gid_tbl_len = HCA_GIDS;
	immutable->pkey_tbl_len = HCA_PKEYS;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static enum rdma_link_layer hca_link_layer(struct ib_device *ib, u32 num)
{
	return hca_port(ib, num)->ethernet ? IB_LINK_LAYER_ETHERNET : IB_LINK_LAYER_INFINIBAND;
}

static int hca_query_gid(struct ib_device *ib, u32 num, int index, union ib_gid *gid)
{
	if (index < 0 || index >= HCA_GIDS)
		return -EINVAL;
	spin_lock_irq(&hca_lock);
	*gid = hca_port(ib, num)->gids[index];
	spin_unlock_irq(&hca_lock);
	return 0;
}

static void put_gid(const struct ib_gid_attr *attr, const union ib_gid *gid)
{
	spin_lock_irq(&hca_lock);
	hca_port(attr->device, attr->port_num)->gids[attr->index] = *gid;
	spin_unlock_irq(&hca_lock);
}

/* The RDMA core keeps the GIDs of ports of RoCE. */
static int hca_add_gid(const struct ib_gid_attr *attr, void **context)
{
	if (attr->index >= HCA_GIDS)
		return -ENOSPC;
	put_gid(attr, &attr->gid);
	return 0;
}

static int hca_del_gid(const struct ib_gid_attr *attr, void **context)
{
	static const union ib_gid none;

	put_gid(attr, &none);
	return 0;
}

static int hca_query_pkey(struct ib_device *ib, u32 num, u16 index, u16 *pkey)
{
	if (index >= HCA_PKEYS)
		return -EINVAL;
	spin_lock_irq(&hca_lock);
	*pkey = hca_port(ib, num)->pkeys[index];
	spin_unlock_irq(&hca_lock);
	return 0;
}

/* The RDMA core has released the adapter. */
static void hca_dealloc_driver(struct ib_device *ib)
{
	struct hca_device *dev = to_hca(ib);
	u32 i;

	spin_lock_irq(&hca_lock);
	list_del_init(&dev->entry);
	spin_unlock_irq(&hca_lock);
	for (i = 1; i <= dev->ports; i++)
		hca_sa_port_gone(dev->guid + i);
	xa_destroy(&dev->qps);
	xa_destroy(&dev->mrs);
	xa_destroy(&dev->ahs);
	mutex_destroy(&dev->memory);
	mutex_destroy(&dev->map_lock);
}

static const struct ib_device_ops hca_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_RXE,
	.uverbs_abi_ver = UVERBS_ABI,

	.add_gid = hca_add_gid,
	.alloc_pd = hca_alloc_pd,
	.alloc_ucontext = hca_alloc_ucontext,
	.alloc_xrcd = hca_alloc_xrcd,
	.attach_mcast = hca_attach_mcast,
	.create_ah = hca_create_ah,
	.create_cq = hca_create_cq,
	.create_qp = hca_create_qp,
	.create_srq = hca_create_srq,
	.create_user_ah = hca_create_ah,
	.dealloc_driver = hca_dealloc_driver,
	.dealloc_pd = hca_dealloc_pd,
	.dealloc_ucontext = hca_dealloc_ucontext,
	.dealloc_xrcd = hca_dealloc_xrcd,
	.del_gid = hca_del_gid,
	.dereg_mr = hca_dereg_mr,
	.destroy_ah = hca_destroy_ah,
	.destroy_cq = hca_destroy_cq,
	.destroy_qp = hca_destroy_qp,
	.destroy_srq = hca_destroy_srq,
	.detach_mcast = hca_detach_mcast,
	.disassociate_ucontext = hca_disassociate_ucontext,
	.get_dma_mr = hca_get_dma_mr,
	.get_link_layer = hca_link_layer,
	.get_port_immutable = hca_port_immutable,
	.mmap = hca_queue_mmap,
	.modify_port = hca_modify_port,
	.modify_qp = hca_modify_qp,
	.poll_cq = hca_poll_cq,
	.post_recv = hca_post_recv,
	.post_send = hca_post_send,
	.post_srq_recv = hca_post_srq_recv,
	.query_ah = hca_query_ah,
	.query_device = hca_query_device,
	.query_gid = hca_query_gid,
	.query_pkey = hca_query_pkey,
	.query_port = hca_query_port,
	.query_qp = hca_query_qp,
	.query_srq = hca_query_srq,
	.reg_user_mr = hca_reg_user_mr,
	.req_notify_cq = hca_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, hca_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, hca_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, hca_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, hca_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, hca_srq, ib),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, hca_ucontext, ib),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, hca_xrcd, ib),
};

static void init_device(struct hca_device *dev, u32 ports)
{
	u32 i;

	mutex_lock(&count_lock);
	dev->guid = GUID_BASE | (u64)next_number++ << 8;
	mutex_unlock(&count_lock);
	dev->ports = ports;
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
	/* Lockdep takes all three locks for one, and that of @qps is taken in interrupts. */
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->ahs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	mutex_init(&dev->memory);
	mutex_init(&dev->map_lock);
	INIT_LIST_HEAD(&dev->maps);
	dev->map_next = PAGE_SIZE;
	dev->ib.node_type = RDMA_NODE_IB_CA;
	dev->ib.phys_port_cnt = ports;
	dev->ib.num_comp_vectors = 1;
	dev->ib.node_guid = cpu_to_be64(dev->guid);
	dev->ib.uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
				   BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	strscpy(dev->ib.node_desc, "software InfiniBand adapter for tests",
		sizeof(dev->ib.node_desc));
	for (i = 1; i <= ports; i++)
		hca_port_init(dev, i);
}

/* Port 1 of an adapter that is not registered yet becomes one of RoCE v1. */
static int make_ethernet(struct hca_device *dev, struct net_device *netdev)
{
	struct hca_port *port = &dev->port[0];

	port->ethernet = true;
	ether_addr_copy(port->mac, netdev->dev_addr);
	memset(port->gids, 0, sizeof(port->gids));
	return ib_device_set_netdev(&dev->ib, netdev, 1);
}

/* Adds an adapter with ports of InfiniBand, or with one of RoCE v1 on @netdev. */
static int add_device(u32 ports, struct net_device *netdev)
{
	struct hca_device *dev;
	int ret;

	dev = ib_alloc_device(hca_device, ib);
	if (!dev)
		return -ENOMEM;
	init_device(dev, ports);
	ib_set_device_ops(&dev->ib, &hca_ops);
	ret = netdev ? make_ethernet(dev, netdev) : 0;
	spin_lock_irq(&hca_lock);
	list_add_tail(&dev->entry, &hca_devices);
	spin_unlock_irq(&hca_lock);
	if (!ret)
		ret = ib_register_device(&dev->ib, "hca%d", NULL);
	if (ret) {
		ib_dealloc_device(&dev->ib);
		return ret;
	}
	hca_knobs_add_device(dev);
	return 0;
}

/* Adds an adapter with @ports ports. Returns -EINVAL for a number of ports beyond the limit. */
int hca_device_add(u32 ports)
{
	return ports && ports <= HCA_MAX_PORTS ? add_device(ports, NULL) : -EINVAL;
}

/*
 * Adds an adapter with a port of RoCE v1 on a network device of the initial namespace, which stays
 * until the adapter has been removed. Returns -ENODEV if there is none of this name.
 */
int hca_device_add_roce(const char *name)
{
	struct net_device *netdev = dev_get_by_name(&init_net, name);
	int ret;

	if (!netdev)
		return -ENODEV;
	ret = add_device(1, netdev);
	dev_put(netdev);
	return ret;
}

/* Returns the adapter of this name with a reference, or NULL. */
static struct hca_device *get_by_name(const char *name)
{
	struct hca_device *dev, *found = NULL;

	spin_lock_irq(&hca_lock);
	list_for_each_entry(dev, &hca_devices, entry) {
		if (!strcmp(dev_name(&dev->ib.dev), name) && ib_device_try_get(&dev->ib)) {
			found = dev;
			break;
		}
	}
	spin_unlock_irq(&hca_lock);
	return found;
}

/* Removes an adapter; waits for its users in the kernel, but not for programs. */
int hca_device_remove(const char *name)
{
	struct hca_device *dev = get_by_name(name);

	if (!dev)
		return -ENODEV;
	/* No events from the files once the core takes the adapter down. */
	hca_knobs_remove_device(dev);
	ib_unregister_device_and_put(&dev->ib);
	return 0;
}

/* Removes all adapters, while nothing adds any. */
void hca_device_remove_all(void)
{
	char name[IB_DEVICE_NAME_MAX];
	struct hca_device *dev;

	for (;;) {
		spin_lock_irq(&hca_lock);
		dev = list_first_entry_or_null(&hca_devices, struct hca_device, entry);
		if (dev)
			strscpy(name, dev_name(&dev->ib.dev), sizeof(name));
		spin_unlock_irq(&hca_lock);
		if (!dev)
			return;
		/* Another that removes it has taken the name, but not yet the entry. */
		if (hca_device_remove(name))
			cond_resched();
	}
}
