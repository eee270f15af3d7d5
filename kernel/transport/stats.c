// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counters and durations of ports.
 *
 * Each event of an id is a step of its state machine (lib/fsm.c), so all are counted in
 * one place. A span is the time that an id spends in a state, or in states that wait for
 * the same answer. It is recorded when that answer ends it.
 *
 * Locking: none; the counters are per CPU, and a reader adds them up.
 */
#include "transport/transport.h"

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/kobject.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "lib/compat.h"

DEFINE_PER_CPU(struct rca_stats, rca_stats_elsewhere);

/* Span + 1 of each state; 0: none. */
static const u8 span_of[RCA_ST_COUNT] = {
	[RCA_ST_ADDR_QUERY] = 1 + RCA_SPAN_ADDR,
	[RCA_ST_ROUTE_QUERY] = 1 + RCA_SPAN_ROUTE,
	[RCA_ST_REQ_SENT] = 1 + RCA_SPAN_CONNECT,
	[RCA_ST_REQ_WAIT] = 1 + RCA_SPAN_CONNECT,
	[RCA_ST_REP_SENT] = 1 + RCA_SPAN_ACCEPT,
	[RCA_ST_SIDR_SENT] = 1 + RCA_SPAN_LOOKUP,
	[RCA_ST_DREQ_SENT] = 1 + RCA_SPAN_DISCONNECT,
};

static const char * const names[RCA_SPANS] = {
	[RCA_SPAN_ADDR] = "address",
	[RCA_SPAN_ROUTE] = "route",
	[RCA_SPAN_CONNECT] = "connect",
	[RCA_SPAN_ACCEPT] = "accept",
	[RCA_SPAN_LOOKUP] = "lookup",
	[RCA_SPAN_DISCONNECT] = "disconnect",
};

static const char * const trunk_names[RCA_TRUNK_STATS] = {
	[RCA_STAT_CONNECT] = "trunk-connect",
	[RCA_STAT_REQUEST] = "trunk-request",
	[RCA_STAT_OPENED] = "trunk-open",
	[RCA_STAT_FAILED] = "trunk-failed",
	[RCA_STAT_REPLACED] = "trunk-replaced",
	[RCA_STAT_LOST] = "trunk-lost",
	[RCA_STAT_NO_TOKEN] = "trunk-refused",
	[RCA_STAT_BAD_FRAME] = "trunk-bad-frame",
	[RCA_STAT_HELLO_SENT] = "hello-sent",
	[RCA_STAT_HELLO_RECEIVED] = "hello-received",
};

/* The span that is measured in a state, or RCA_SPAN_NONE. */
enum rca_span rca_stats_span(enum rca_state state)
{
	return span_of[state] ? span_of[state] - 1 : RCA_SPAN_NONE;
}

const char *rca_stats_span_name(enum rca_span span)
{
	return names[span];
}

/**
 * rca_stats_step() - count a step of an id
 * @stats: counters of its port
 * @old: state before
 * @input: input that was accepted
 * @new: state after
 * @since: start of the current span of the id; set when one begins or ends
 *
 * Context: Any context. The caller holds the lock of the id's state.
 */
void rca_stats_step(struct rca_stats __percpu *stats, enum rca_state old, enum rca_input input,
		    enum rca_state new, ktime_t *since)
{
	static_assert(RCA_IN_COUNT <= 64);
	static const u64 answers[RCA_SPANS] = {
		[RCA_SPAN_ADDR] = BIT_ULL(RCA_IN_ADDR_OK),
		[RCA_SPAN_ROUTE] = BIT_ULL(RCA_IN_ROUTE_OK),
		[RCA_SPAN_CONNECT] = BIT_ULL(RCA_IN_REP) | BIT_ULL(RCA_IN_UP),
		[RCA_SPAN_ACCEPT] = BIT_ULL(RCA_IN_RTU) | BIT_ULL(RCA_IN_UP),
		[RCA_SPAN_LOOKUP] = BIT_ULL(RCA_IN_REP),
		/* A peer that disconnects at the same time answers with its own DREQ. */
		[RCA_SPAN_DISCONNECT] = BIT_ULL(RCA_IN_DREP) | BIT_ULL(RCA_IN_DREQ),
	};
	enum rca_span was;
	ktime_t now;
	u64 us;

	this_cpu_inc(stats->inputs[input]);
	if (span_of[old] == span_of[new])
		return;
	was = rca_stats_span(old);
	now = ktime_get();
	/* A span that ends otherwise measures a timeout, not the speed of a peer or fabric. */
	if (was != RCA_SPAN_NONE && answers[was] & BIT_ULL(input)) {
		us = max_t(s64, ktime_us_delta(now, *since), 0);
		this_cpu_inc(stats->took[was][min_t(unsigned int, fls64(us), RCA_BUCKETS - 1)]);
		this_cpu_add(stats->us[was], us);
	}
	*since = now;
}

/* Counts for a port what has happened to a trunk, or because of it. As rca_device_stats(). */
void rca_stats_trunk(const struct rca_device *dev, u32 port, enum rca_trunk_stat stat)
{
	this_cpu_inc(rca_device_stats(dev, port)->trunks[stat]);
}
RCA_EXPORT(rca_stats_trunk);

const char *rca_stats_trunk_name(enum rca_trunk_stat stat)
{
	return trunk_names[stat];
}

/* Adds up the counters of all CPUs, which are not read at one moment. Any context. */
void rca_stats_sum(const struct rca_stats __percpu *stats, struct rca_stats *sum)
{
	int cpu, i, n;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct rca_stats *one = per_cpu_ptr(stats, cpu);

		sum->refused += READ_ONCE(one->refused);
		sum->cached_paths += READ_ONCE(one->cached_paths);
		for (i = 0; i < RCA_IN_COUNT; i++)
			sum->inputs[i] += READ_ONCE(one->inputs[i]);
		for (i = 0; i < RCA_TRUNK_STATS; i++)
			sum->trunks[i] += READ_ONCE(one->trunks[i]);
		for (i = 0; i < RCA_SPANS; i++) {
			sum->us[i] += READ_ONCE(one->us[i]);
			for (n = 0; n < RCA_BUCKETS; n++)
				sum->took[i][n] += READ_ONCE(one->took[i][n]);
		}
	}
}

/*
 * Settings of RoCE ports: default GID type and type of service of ids, with the values
 * that the stock rdma_cm has in configfs. They are files of the device:
 * /sys/class/infiniband/DEVICE/rdma_cm_alt/PORT/default_roce_mode and default_roce_tos.
 *
 * Locking: none; a setting is one byte, and sysfs waits for readers and writers before
 * it removes the directory of a port.
 */

/**
 * struct port - settings of a port
 * @kobj: directory of the port
 * @conf: settings of the device (referenced while @kobj is in use)
 * @number: number of the port (immutable)
 * @gid_type: enum ib_gid_type
 * @tos: type of service
 * @added: @kobj is in sysfs (immutable)
 */
struct port {
	struct kobject kobj;
	struct rca_port_sysfs *conf;
	u32 number;
	u8 gid_type;
	u8 tos;
	bool added;
};

/**
 * struct rca_port_sysfs - settings of the ports of a device
 * @ref: references: of the device, and of each port in sysfs
 * @ibdev: the device; valid as long as @dir exists
 * @dir: directory of all ports; NULL: it could not be created
 * @count: number of ports (immutable)
 * @ports: the ports, in order of their numbers
 */
struct rca_port_sysfs {
	struct kref ref;
	struct ib_device *ibdev;
	struct kobject *dir;
	u32 count;
	struct port ports[];
};

static const char * const mode_names[] = {
	[IB_GID_TYPE_ROCE] = "IB/RoCE v1",
	[IB_GID_TYPE_ROCE_UDP_ENCAP] = "RoCE v2",
};

static void conf_free(struct kref *ref)
{
	kfree(container_of(ref, struct rca_port_sysfs, ref));
}

static struct port *port_of(struct kobject *kobj)
{
	return container_of(kobj, struct port, kobj);
}

static void port_release(struct kobject *kobj)
{
	kref_put(&port_of(kobj)->conf->ref, conf_free);
}

/* Has a RoCE port GIDs of a type? Any context. */
static bool port_supports(struct ib_device *ibdev, u32 port, enum ib_gid_type type)
{
	switch (type) {
	case IB_GID_TYPE_ROCE:
		return rdma_protocol_roce_eth_encap(ibdev, port);
	case IB_GID_TYPE_ROCE_UDP_ENCAP:
		return rdma_protocol_roce_udp_encap(ibdev, port);
	default:
		return false;
	}
}

static ssize_t default_roce_mode_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", mode_names[READ_ONCE(port_of(kobj)->gid_type)]);
}

static ssize_t default_roce_mode_store(struct kobject *kobj, struct kobj_attribute *attr,
				       const char *buf, size_t count)
{
	struct port *port = port_of(kobj);
	enum ib_gid_type type = IB_GID_TYPE_ROCE;

	if (sysfs_streq(buf, mode_names[IB_GID_TYPE_ROCE_UDP_ENCAP]))
		type = IB_GID_TYPE_ROCE_UDP_ENCAP;
	else if (!sysfs_streq(buf, mode_names[IB_GID_TYPE_ROCE]))
		return -EINVAL;
	if (!port_supports(port->conf->ibdev, port->number, type))
		return -EINVAL;
	WRITE_ONCE(port->gid_type, type);
	return count;
}

static ssize_t default_roce_tos_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(port_of(kobj)->tos));
}

static ssize_t default_roce_tos_store(struct kobject *kobj, struct kobj_attribute *attr,
				      const char *buf, size_t count)
{
	u8 tos;
	int ret = kstrtou8(buf, 0, &tos);

	if (ret)
		return ret;
	WRITE_ONCE(port_of(kobj)->tos, tos);
	return count;
}

static struct kobj_attribute mode_attr = __ATTR_RW(default_roce_mode);
static struct kobj_attribute tos_attr = __ATTR_RW(default_roce_tos);

static struct attribute *port_attrs[] = {
	&mode_attr.attr,
	&tos_attr.attr,
	NULL,
};
ATTRIBUTE_GROUPS(port);

static const struct kobj_type port_type = {
	.release = port_release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = port_groups,
};

static void add_port(struct rca_port_sysfs *conf, struct port *port)
{
	kref_get(&conf->ref);	/* put in port_release() */
	port->conf = conf;
	if (kobject_init_and_add(&port->kobj, &port_type, conf->dir, "%u", port->number))
		kobject_put(&port->kobj);
	else
		port->added = true;
}

/*
 * Create the settings of a new device: RoCE v2 where the port supports it, and type of service 0.
 * If files cannot be created, the settings exist but cannot be changed. NULL: no memory.
 */
struct rca_port_sysfs *rca_port_sysfs_create(struct ib_device *ibdev)
{
	u32 count = rdma_end_port(ibdev) - rdma_start_port(ibdev) + 1, i;
	struct rca_port_sysfs *conf = kzalloc(struct_size(conf, ports, count), GFP_KERNEL);

	if (!conf)
		return NULL;
	kref_init(&conf->ref);	/* put in rca_port_sysfs_destroy() */
	conf->ibdev = ibdev;
	conf->count = count;
	conf->dir = kobject_create_and_add("rdma_cm_alt", &ibdev->dev.kobj);
	for (i = 0; i < count; i++) {
		struct port *port = &conf->ports[i];

		port->number = rdma_start_port(ibdev) + i;
		port->gid_type = IB_GID_TYPE_ROCE;
		if (port_supports(ibdev, port->number, IB_GID_TYPE_ROCE_UDP_ENCAP))
			port->gid_type = IB_GID_TYPE_ROCE_UDP_ENCAP;
		if (conf->dir && rdma_protocol_roce(ibdev, port->number))
			add_port(conf, port);
	}
	return conf;
}

/*
 * Remove the settings of a device, which no id uses any more; @conf may be NULL. Sleeps: waits for
 * readers and writers of the files.
 */
void rca_port_sysfs_destroy(struct rca_port_sysfs *conf)
{
	u32 i;

	if (!conf)
		return;
	for (i = 0; i < conf->count; i++) {
		if (!conf->ports[i].added)
			continue;
		kobject_del(&conf->ports[i].kobj);
		kobject_put(&conf->ports[i].kobj);
	}
	if (conf->dir)
		kobject_put(conf->dir);
	kref_put(&conf->ref, conf_free);
}

static const struct port *port_by_number(const struct rca_port_sysfs *conf, u32 port)
{
	return &conf->ports[port - conf->ports[0].number];
}

/* Default GID type of ids on a RoCE port. @conf may be NULL. Any context. */
enum ib_gid_type rca_port_sysfs_gid_type(const struct rca_port_sysfs *conf, u32 port)
{
	if (!conf)
		return IB_GID_TYPE_ROCE_UDP_ENCAP;
	return READ_ONCE(port_by_number(conf, port)->gid_type);
}

/* Default type of service of ids on a port. @conf may be NULL. Any context. */
u8 rca_port_sysfs_tos(const struct rca_port_sysfs *conf, u32 port)
{
	return conf ? READ_ONCE(port_by_number(conf, port)->tos) : 0;
}
