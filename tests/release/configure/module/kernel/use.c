// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Uses all of kernel/lib/compat.h, so that a wrong answer of a probe is an error of the compiler.
 * Nothing loads the module.
 */
#include <linux/module.h>
#include <rdma/ib_sa.h>

#include "lib/compat.h"

struct timed {
	struct timer_list timer;
	struct nsproxy proxy;
};

static void use_timer(struct timer_list *timer)
{
	struct timed *timed = timer_container_of(timed, timer, timer);

	rca_nsproxy_init(&timed->proxy);
	WARN_ON(rca_nsproxy_count(&timed->proxy) != 1);
}

static int refuses(struct sock *sk, struct sk_buff *skb, void *net)
{
	return RCA_MULTICAST_REFUSES && RCA_PORT_PLACES;
}

static void use_net(const struct genl_family *family, struct net *net, struct sk_buff *skb,
		    struct ctl_table *table)
{
	struct flowi6 fl6 = {};

	rca_genl_multicast(family, net, skb, 0, refuses);
	WARN_ON(!register_net_sysctl_sz(net, "net/rdma_cm_alt", table, 1));
	dst_release(rca_route_v6(net, &fl6));
	WARN_ON(!rca_neigh_v6());
}

static void use_mapping(struct vm_area_struct *vma)
{
	vm_flags_mod(vma, VM_IO, VM_MAYWRITE);
}

static void path_query_done(int status, struct sa_path_rec *recs, rca_num_paths_t count,
			    void *context)
{
}

static void service_query_done(int status, struct sa_service_rec *recs, unsigned int count,
			       void *context)
{
}

static int use_service_query(struct ib_device *dev, struct sa_service_rec *rec)
{
	struct ib_sa_client sa;
	struct ib_sa_query *query;

	rec->id = 0;
	if (!RCA_KNOWS_SERVICES)
		return 0;
	return ib_sa_service_rec_get(&sa, dev, 1, rec, 0, 0, GFP_KERNEL, service_query_done, NULL,
				     &query);
}

static int use_device(struct ib_device *dev, struct ib_cm_id *cm_id, struct sa_path_rec *rec)
{
	struct ib_sa_client sa;
	struct ib_sa_query *query;

	if (rca_flush_access(dev) && rdma_nl_get_privileged_qkey() && rdma_dev_has_raw_cap(dev))
		return rca_send_mra(cm_id, true, 1);
	return ib_sa_path_rec_get(&sa, dev, 1, rec, 0, 0, GFP_KERNEL, path_query_done, NULL,
				  &query);
}

static int __init use_init(void)
{
	use_timer(NULL);
	use_net(NULL, NULL, NULL, NULL);
	use_mapping(NULL);
	return use_device(NULL, NULL, NULL) ?: use_service_query(NULL, NULL);
}
module_init(use_init);

MODULE_DESCRIPTION("Uses the differences between kernels");
MODULE_LICENSE("Dual BSD/GPL");
