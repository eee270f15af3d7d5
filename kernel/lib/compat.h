/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Differences between the supported kernels. RCA_HAVE_x is defined if the kernel has the newer form
 * of an interface, which the probe of this name in scripts/configure/probes.c finds out. Version
 * numbers do not show what distributions backport.
 */
#ifndef RCA_COMPAT_H
#define RCA_COMPAT_H

#include <linux/capability.h>
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/timer.h>
#include <net/genetlink.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_user_cm.h>

#ifdef RCA_CONFIGURED
#include <rca_config.h>
#else
/* In a kernel tree: the newest interfaces. */
#define RCA_HAVE_NSPROXY_REFCOUNT 1
#define RCA_HAVE_VM_FLAGS_MOD 1
#define RCA_HAVE_REGISTER_NET_SYSCTL_SZ 1
#define RCA_HAVE_UNSIGNED_NUM_PATHS 1
#define RCA_HAVE_FLUSH_ACCESS 1
#define RCA_HAVE_TIMER_CONTAINER_OF 1
#define RCA_HAVE_IPV6_BUILT_IN 1
#define RCA_HAVE_GENL_MULTICAST_FILTERED 1
#define RCA_HAVE_PREPARE_CM_MRA 1
#define RCA_HAVE_PRIVILEGED_QKEY 1
#define RCA_HAVE_RAW_CAP 1
#define RCA_HAVE_PORT_PLACES 1
#define RCA_HAVE_SERVICE_REC_GET 1
#define RCA_HAVE_NAMESPACE_STRING 1
#define RCA_HAVE_UCM_SERVICES 1
#endif

/*
 * Export a symbol to our other modules, and use what is exported to them. Before 6.13 the namespace
 * of symbols is not a string.
 */
#ifdef RCA_HAVE_NAMESPACE_STRING
#define RCA_EXPORT(symbol) EXPORT_SYMBOL_NS_GPL(symbol, "RDMA_CM_ALT")
#define RCA_IMPORT() MODULE_IMPORT_NS("RDMA_CM_ALT")
#else
#define RCA_EXPORT(symbol) EXPORT_SYMBOL_NS_GPL(symbol, RDMA_CM_ALT)
#define RCA_IMPORT() MODULE_IMPORT_NS(RDMA_CM_ALT)
#endif

#ifdef RCA_HAVE_IPV6_BUILT_IN
#include <net/ndisc.h>
#else
#include <net/ipv6_stubs.h>
#endif

/*
 * Has the administrator given privileged queue keys to all users? Exported by ib_core with the
 * setting, since 6.7 and some stable kernels, and declared in a header that only ib_core has. Until
 * 6.16 it is true for a caller with CAP_NET_RAW as well.
 */
#ifdef RCA_HAVE_PRIVILEGED_QKEY
bool rdma_nl_get_privileged_qkey(void);
#else
static inline bool rdma_nl_get_privileged_qkey(void)
{
	return false;
}
#endif

/*
 * Has the caller CAP_NET_RAW for a device? Since 6.17 ib_core asks the user namespace that owns the
 * network namespace of the device, if each device is in one namespace.
 */
#ifndef RCA_HAVE_RAW_CAP
static inline bool rdma_dev_has_raw_cap(const struct ib_device *dev)
{
	return capable(CAP_NET_RAW);
}
#endif

/* The reference count of a set of namespaces. */
#ifdef RCA_HAVE_NSPROXY_REFCOUNT
static inline void rca_nsproxy_init(struct nsproxy *proxy)
{
	refcount_set(&proxy->count, 1);
}

static inline int rca_nsproxy_count(struct nsproxy *proxy)
{
	return refcount_read(&proxy->count);
}
#else
static inline void rca_nsproxy_init(struct nsproxy *proxy)
{
	atomic_set(&proxy->count, 1);
}

static inline int rca_nsproxy_count(struct nsproxy *proxy)
{
	return atomic_read(&proxy->count);
}
#endif

/* Before 6.3, flags of a mapping are changed directly. */
#ifndef RCA_HAVE_VM_FLAGS_MOD
static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/* Before 6.6, a table of sysctls ends with an empty entry; callers have one. */
#ifndef RCA_HAVE_REGISTER_NET_SYSCTL_SZ
static inline struct ctl_table_header *
register_net_sysctl_sz(struct net *net, const char *path, struct ctl_table *table, size_t size)
{
	return register_net_sysctl(net, path, table);
}
#endif

/* Type of an argument of path query callbacks: the number of records. */
#ifdef RCA_HAVE_UNSIGNED_NUM_PATHS
typedef unsigned int rca_num_paths_t;
#else
typedef int rca_num_paths_t;
#endif

/* Access flags for flush, which go with remote read on a device that can flush. */
#ifdef RCA_HAVE_FLUSH_ACCESS
static inline int rca_flush_access(const struct ib_device *dev)
{
	return dev->attrs.device_cap_flags &
	       (IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_FLUSH_PERSISTENT) ?
	       IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT : 0;
}
#else
static inline int rca_flush_access(const struct ib_device *dev)
{
	return 0;
}
#endif

/* Has another name before 6.16. */
#ifndef RCA_HAVE_TIMER_CONTAINER_OF
#define timer_container_of(var, timer, field) from_timer(var, timer, field)
#endif

/* IPv6 route lookup; behind a table of stubs as long as IPv6 could be a module. */
static inline struct dst_entry *rca_route_v6(struct net *net, struct flowi6 *fl6)
{
#ifdef RCA_HAVE_IPV6_BUILT_IN
	return ip6_dst_lookup_flow(net, NULL, fl6, NULL);
#else
	return ipv6_stub->ipv6_dst_lookup_flow(net, NULL, fl6, NULL);
#endif
}

#if IS_ENABLED(CONFIG_IPV6)
/* The neighbours of IPv6; NULL if the kernel has no IPv6, or has not loaded it yet. */
static inline struct neigh_table *rca_neigh_v6(void)
{
#ifdef RCA_HAVE_IPV6_BUILT_IN
	return ipv6_mod_enabled() ? &nd_tbl : NULL;
#else
	return ipv6_stub->nd_tbl;
#endif
}
#endif

/*
 * Multicast to those members of a group that @refuses(), which gets @net, does not refuse. Before
 * 6.8 all members receive the message.
 */
#ifdef RCA_HAVE_GENL_MULTICAST_FILTERED
#define RCA_MULTICAST_REFUSES true
#else
#define RCA_MULTICAST_REFUSES false
#endif

static inline void rca_genl_multicast(const struct genl_family *family, struct net *net,
				      struct sk_buff *skb, unsigned int group,
				      int (*refuses)(struct sock *sk, struct sk_buff *skb,
						     void *net))
{
#ifdef RCA_HAVE_GENL_MULTICAST_FILTERED
	genlmsg_multicast_netns_filtered(family, net, skb, 0, group, GFP_KERNEL, refuses, net);
#else
	genlmsg_multicast_netns(family, net, skb, 0, group, GFP_KERNEL);
#endif
}

/*
 * Send an MRA, at once or when the peer repeats its message. Since 6.16 ib_cm only supports the
 * latter, and its users cannot choose the timeout (@time).
 */
static inline int rca_send_mra(struct ib_cm_id *cm_id, bool repeated, u8 time)
{
#ifdef RCA_HAVE_PREPARE_CM_MRA
	return ib_prepare_cm_mra(cm_id);
#else
	return ib_send_cm_mra(cm_id, (repeated ? IB_CM_MRA_FLAG_DELAY : 0) | time, NULL, 0);
#endif
}

/*
 * CM requests that ib_mad keeps outstanding for all users of a port, and as many queries of ib_sa;
 * 0: any number. Since 6.17 it is a quarter of the receive queue of QP1, whose size (parameter
 * recv_queue_size of ib_core, 512 by default) is not exported. (A 32nd is for agents that answer
 * queries; that of ib_sa only asks.)
 */
#ifdef RCA_HAVE_PORT_PLACES
#define RCA_PORT_PLACES 128
#else
#define RCA_PORT_PLACES 0
#endif

/*
 * Queries for service records of the subnet administrator, which older kernels do not send; for
 * them, what is named here lets the code compile that is not reached.
 */
#ifdef RCA_HAVE_SERVICE_REC_GET
#define RCA_KNOWS_SERVICES	true
#else
#define RCA_KNOWS_SERVICES	false
struct sa_service_rec {
	__be64 id;
	__u8 gid[16];
	__be16 pkey;
	__be32 lease;
	__u8 name[64];
	__u8 data_8[16];
	__be16 data_16[8];
	__be32 data_32[4];
	__be64 data_64[2];
};

static inline int
ib_sa_service_rec_get(struct ib_sa_client *client, struct ib_device *device, u32 port_num,
		      struct sa_service_rec *rec, ib_sa_comp_mask mask, unsigned long timeout_ms,
		      gfp_t gfp, void (*callback)(int status, struct sa_service_rec *recs,
						  unsigned int count, void *context),
		      void *context, struct ib_sa_query **query)
{
	return -EOPNOTSUPP;
}
#endif

/*
 * What an ib_client tells the netlink interface of ib_core about its character device. Declared in
 * a header that only ib_core has; the same since 5.3.
 */
struct ib_client_nl_info {
	struct sk_buff *nl_msg;
	struct device *cdev;
	u32 port;
	u64 abi;
};

/*
 * Commands of rdma_ucm for service records, and for events of a program itself, since 6.18. For
 * older kernels, what is named here lets the code compile that is not reached.
 */
#ifdef RCA_HAVE_UCM_SERVICES
#define RCA_UCM_SERVICES	true
#else
#define RCA_UCM_SERVICES	false
#define RDMA_USER_CM_CMD_RESOLVE_IB_SERVICE	(RDMA_USER_CM_CMD_JOIN_MCAST + 1)
#define RDMA_USER_CM_CMD_WRITE_CM_EVENT		(RDMA_USER_CM_CMD_JOIN_MCAST + 2)
#define RDMA_USER_CM_QUERY_IB_SERVICE		(RDMA_USER_CM_QUERY_GID + 1)
#define RDMA_USER_CM_IB_SERVICE_FLAG_ID		1
#define RDMA_USER_CM_IB_SERVICE_FLAG_NAME	2
struct rdma_ucm_resolve_ib_service {
	__u32 id;
	__u32 reserved;
	struct {
		__aligned_u64 service_id;
		__u8 service_name[64];
		__u32 flags;
		__u32 reserved;
	} ibs;
};

struct rdma_ucm_write_cm_event {
	__u32 id;
	__u32 reserved;
	__u32 event;
	__u32 status;
	union {
		__u64 arg;
	} param;
};

struct ib_user_service_rec {
	__be64 id;
	__u8 gid[16];
	__be16 pkey;
	__u8 reserved[2];
	__be32 lease;
	__u8 key[16];
	__u8 name[64];
	__u8 data_8[16];
	__be16 data_16[8];
	__be32 data_32[4];
	__be64 data_64[2];
};

struct rdma_ucm_query_ib_service_resp {
	__u32 num_service_recs;
	__u32 reserved;
	struct ib_user_service_rec recs[];
};
#endif

#endif /* RCA_COMPAT_H */
