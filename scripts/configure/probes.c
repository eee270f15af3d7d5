// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Probes of a kernel's headers: which form of an interface do they have? scripts/configure/probe.sh
 * compiles this file several times, each time with one macro defined:
 *
 *   RCA_PROBE_x    The newer form, as kernel/ uses it. If it compiles, RCA_HAVE_x is defined for
 *                  kernel/lib/compat.h.
 *   RCA_BEFORE_x   The older form, as compat.h uses it; it is compiled when the newer one does
 *                  not compile. A kernel that has neither is refused. The section is empty if
 *                  older kernels have nothing in its place.
 *   RCA_CONTROL_x  Compiles with every kernel, or with none.
 *
 * All sections include the same headers, so an error that the first control does not have is an
 * error in the section. Functions are called with the types that kernel/ uses, because
 * distributions change signatures as well as names. Documentation/compat.rst has a row for each
 * probe.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/timer.h>
#include <net/genetlink.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_netlink.h>

/* Compiles with every kernel that has working headers. */
#ifdef RCA_CONTROL_COMPILES
static int control(struct ib_client *client)
{
	return ib_register_client(client);
}
#endif

/* Neither of these compiles, unless the compiler has been told to only warn. */
#ifdef RCA_CONTROL_UNDECLARED
static void control(void)
{
	rca_no_kernel_declares_this();
}
#endif

#ifdef RCA_CONTROL_MISTYPED
static struct net *control(struct ib_device *dev)
{
	return dev;
}
#endif

/* The type of the reference count of a set of namespaces. */
#ifdef RCA_PROBE_NSPROXY_REFCOUNT
static int probe(struct nsproxy *proxy)
{
	refcount_set(&proxy->count, 1);
	return refcount_read(&proxy->count);
}
#endif

#ifdef RCA_BEFORE_NSPROXY_REFCOUNT
static int probe(struct nsproxy *proxy)
{
	atomic_set(&proxy->count, 1);
	return atomic_read(&proxy->count);
}
#endif

/* A function that changes flags of a mapping. */
#ifdef RCA_PROBE_VM_FLAGS_MOD
static void probe(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
	vm_flags_mod(vma, set, clear);
}
#endif

#ifdef RCA_BEFORE_VM_FLAGS_MOD
static void probe(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/* A table of sysctls with its number of entries. */
#ifdef RCA_PROBE_REGISTER_NET_SYSCTL_SZ
static struct ctl_table_header *probe(struct net *net, struct ctl_table *table, size_t size)
{
	return register_net_sysctl_sz(net, "net/rdma_cm_alt", table, size);
}
#endif

#ifdef RCA_BEFORE_REGISTER_NET_SYSCTL_SZ
static struct ctl_table_header *probe(struct net *net, struct ctl_table *table)
{
	return register_net_sysctl(net, "net/rdma_cm_alt", table);
}
#endif

/* The type of the number of records that a path query passes to its callback. */
#ifdef RCA_PROBE_UNSIGNED_NUM_PATHS
static void done(int status, struct sa_path_rec *recs, unsigned int count, void *context)
{
}

static int probe(struct ib_sa_client *sa, struct ib_device *dev, struct sa_path_rec *rec,
		 struct ib_sa_query **query)
{
	return ib_sa_path_rec_get(sa, dev, 1, rec, 0, 0, GFP_KERNEL, done, NULL, query);
}
#endif

#ifdef RCA_BEFORE_UNSIGNED_NUM_PATHS
static void done(int status, struct sa_path_rec *recs, int count, void *context)
{
}

static int probe(struct ib_sa_client *sa, struct ib_device *dev, struct sa_path_rec *rec,
		 struct ib_sa_query **query)
{
	return ib_sa_path_rec_get(sa, dev, 1, rec, 0, 0, GFP_KERNEL, done, NULL, query);
}
#endif

/* Rights to flush memory. */
#ifdef RCA_PROBE_FLUSH_ACCESS
static int probe(const struct ib_device *dev)
{
	return dev->attrs.device_cap_flags &
	       (IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_FLUSH_PERSISTENT) ?
	       IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT : 0;
}
#endif

#ifdef RCA_BEFORE_FLUSH_ACCESS
#endif

/* The struct that contains a timer. */
struct timed {
	struct timer_list timer;
};

#ifdef RCA_PROBE_TIMER_CONTAINER_OF
static struct timed *probe(struct timer_list *timer)
{
	struct timed *timed = timer_container_of(timed, timer, timer);

	return timed;
}
#endif

#ifdef RCA_BEFORE_TIMER_CONTAINER_OF
static struct timed *probe(struct timer_list *timer)
{
	struct timed *timed = from_timer(timed, timer, timer);

	return timed;
}
#endif

/*
 * IPv6 routes and neighbours. Older kernels declare them as well, but there IPv6 may be a module
 * that is not loaded; such kernels have a header with stubs.
 */
#ifdef RCA_PROBE_IPV6_BUILT_IN
#if __has_include(<net/ipv6_stubs.h>)
#error IPv6 may be a module
#endif
static struct dst_entry *probe(struct net *net, struct flowi6 *fl6)
{
	return ip6_dst_lookup_flow(net, NULL, fl6, NULL);
}

#if IS_ENABLED(CONFIG_IPV6)
#include <net/ndisc.h>
static struct neigh_table *probe_neigh(void)
{
	return ipv6_mod_enabled() ? &nd_tbl : NULL;
}
#endif
#endif

#ifdef RCA_BEFORE_IPV6_BUILT_IN
#include <net/ipv6_stubs.h>
static struct dst_entry *probe(struct net *net, struct flowi6 *fl6)
{
	return ipv6_stub->ipv6_dst_lookup_flow(net, NULL, fl6, NULL);
}

#if IS_ENABLED(CONFIG_IPV6)
static struct neigh_table *probe_neigh(void)
{
	return ipv6_stub->nd_tbl;
}
#endif
#endif

/* Multicast to the members of a group that a callback accepts. */
#ifdef RCA_PROBE_GENL_MULTICAST_FILTERED
static int refuses(struct sock *sk, struct sk_buff *skb, void *net)
{
	return 0;
}

static int probe(const struct genl_family *family, struct net *net, struct sk_buff *skb)
{
	return genlmsg_multicast_netns_filtered(family, net, skb, 0, 0, GFP_KERNEL, refuses, net);
}
#endif

#ifdef RCA_BEFORE_GENL_MULTICAST_FILTERED
static int probe(const struct genl_family *family, struct net *net, struct sk_buff *skb)
{
	return genlmsg_multicast_netns(family, net, skb, 0, 0, GFP_KERNEL);
}
#endif

/* An MRA that ib_cm sends when the peer repeats its message. */
#ifdef RCA_PROBE_PREPARE_CM_MRA
static int probe(struct ib_cm_id *cm_id)
{
	return ib_prepare_cm_mra(cm_id);
}
#endif

#ifdef RCA_BEFORE_PREPARE_CM_MRA
static int probe(struct ib_cm_id *cm_id, u8 time)
{
	return ib_send_cm_mra(cm_id, IB_CM_MRA_FLAG_DELAY | time, NULL, 0);
}
#endif

/*
 * Privileged queue keys for all users. The function is declared in a header of ib_core that is not
 * installed, so the probe looks for the setting, which was added with it.
 */
#ifdef RCA_PROBE_PRIVILEGED_QKEY
static int probe(void)
{
	return RDMA_NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE;
}
#endif

#ifdef RCA_BEFORE_PRIVILEGED_QKEY
#endif

/* CAP_NET_RAW in the user namespace of a device. */
#ifdef RCA_PROBE_RAW_CAP
static bool probe(const struct ib_device *dev)
{
	return rdma_dev_has_raw_cap(dev);
}
#endif

#ifdef RCA_BEFORE_RAW_CAP
static bool probe(void)
{
	return capable(CAP_NET_RAW);
}
#endif

/*
 * A limit of ib_mad to the requests of a port, which its headers do not show. The probe looks for a
 * MAD method that the same release added.
 */
#ifdef RCA_PROBE_PORT_PLACES
static int probe(void)
{
	return IB_MGMT_METHOD_GET_TABLE;
}
#endif

#ifdef RCA_BEFORE_PORT_PLACES
#endif

/* Queries for service records. */
#ifdef RCA_PROBE_SERVICE_REC_GET
static void done(int status, struct sa_service_rec *recs, unsigned int count, void *context)
{
}

static int probe(struct ib_sa_client *sa, struct ib_device *dev, struct sa_service_rec *rec,
		 struct ib_sa_query **query)
{
	return ib_sa_service_rec_get(sa, dev, 1, rec, 0, 0, GFP_KERNEL, done, NULL, query);
}
#endif

#ifdef RCA_BEFORE_SERVICE_REC_GET
#endif

/*
 * The namespace of exported symbols is a string. Both forms of the macros take a string, but the
 * older one makes another one of it: with this __stringify() only names that are tags compile.
 */
#ifdef RCA_PROBE_NAMESPACE_STRING
#undef __stringify
#define __stringify(name) TAG_##name
#define TAG_import_ns "import_ns"
MODULE_IMPORT_NS("RDMA_CM_ALT");
#endif

#ifdef RCA_BEFORE_NAMESPACE_STRING
MODULE_IMPORT_NS(RDMA_CM_ALT);
#endif

/* Commands of rdma_ucm for service records and for events of a program itself. */
#ifdef RCA_PROBE_UCM_SERVICES
#include <rdma/rdma_user_cm.h>
static size_t probe(const struct rdma_ucm_write_cm_event *event)
{
	return sizeof(struct rdma_ucm_query_ib_service_resp) + event->param.arg +
	       RDMA_USER_CM_CMD_RESOLVE_IB_SERVICE;
}
#endif

#ifdef RCA_BEFORE_UCM_SERVICES
#endif
