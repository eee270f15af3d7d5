/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What differs between the kernels that we build for. */
#ifndef RCA_COMPAT_H
#define RCA_COMPAT_H

#include <linux/mm.h>
#include <linux/nsproxy.h>
#include <linux/version.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

/* The reference count of a set of namespaces. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
static inline void rca_nsproxy_init(struct nsproxy *proxy)
{
	atomic_set(&proxy->count, 1);
}

static inline int rca_nsproxy_count(struct nsproxy *proxy)
{
	return atomic_read(&proxy->count);
}
#else
static inline void rca_nsproxy_init(struct nsproxy *proxy)
{
	refcount_set(&proxy->count, 1);
}

static inline int rca_nsproxy_count(struct nsproxy *proxy)
{
	return refcount_read(&proxy->count);
}
#endif

/* Flags of a mapping may be changed by anybody before 6.3. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/* Tables of sysctls ended with an empty entry before 6.6; callers have one. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
static inline struct ctl_table_header *
register_net_sysctl_sz(struct net *net, const char *path, struct ctl_table *table, size_t size)
{
	return register_net_sysctl(net, path, table);
}
#endif

/* How many records a path query has found: an argument of its callback. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
typedef int rca_num_paths_t;
#else
typedef unsigned int rca_num_paths_t;
#endif

/* The rights to flush that go with the right to read, on a device that can flush. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
static inline int rca_flush_access(const struct ib_device *dev)
{
	return 0;
}
#else
static inline int rca_flush_access(const struct ib_device *dev)
{
	return dev->attrs.device_cap_flags &
	       (IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_FLUSH_PERSISTENT) ?
	       IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT : 0;
}
#endif

#endif /* RCA_COMPAT_H */
