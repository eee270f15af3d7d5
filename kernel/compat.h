/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What differs between the kernels that we build for. */
#ifndef RCA_COMPAT_H
#define RCA_COMPAT_H

#include <linux/nsproxy.h>
#include <linux/version.h>

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

/* How many records a path query has found: an argument of its callback. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
typedef int rca_num_paths_t;
#else
typedef unsigned int rca_num_paths_t;
#endif

#endif /* RCA_COMPAT_H */
