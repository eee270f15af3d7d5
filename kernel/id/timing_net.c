// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Timer settings of a network namespace, and the age of its cached paths, in
 * /proc/sys/net/rdma_cm_alt/, writable by the administrator of the namespace. Timer settings apply
 * to ids that have no setting of their own. What a namespace has not set is as in the initial
 * namespace, and where that has not set it either, the default.
 *
 * Locking: none; settings are single words.
 */
#include "id/id.h"

#include <linux/kernel.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "lib/compat.h"

/* Age of paths where neither namespace has set one. */
#define PATH_CACHE_S	60

enum { RESPONSE, RETRIES, MRA, DEADLINE, PATH_CACHE, SETTINGS };

/**
 * struct timing_net - settings of a namespace
 * @value: value of each setting; -1, or 0 for the deadline, means not set
 * @table: sysctl table; the last entry is empty
 * @header: registration of @table
 */
struct timing_net {
	int value[SETTINGS];
	struct ctl_table table[SETTINGS + 1];
	struct ctl_table_header *header;
};

static const struct {
	const char *name;
	int unset;
	int max;
} settings[SETTINGS] = {
	[RESPONSE] = { "response_timeout", -1, RCA_MAX_RESPONSE },
	[RETRIES] = { "max_retries", -1, RCA_MAX_RETRIES },
	[MRA] = { "mra_timeout", -1, RCA_MAX_MRA },
	[DEADLINE] = { "deadline_ms", 0, RCA_MAX_DEADLINE_MS },
	[PATH_CACHE] = { "path_cache_s", -1, INT_MAX },
};

static unsigned int timing_net_id;

static int __net_init timing_net_start(struct net *net)
{
	struct timing_net *timing = net_generic(net, timing_net_id);
	int i;

	for (i = 0; i < SETTINGS; i++) {
		timing->value[i] = settings[i].unset;
		timing->table[i] = (struct ctl_table){
			.procname = settings[i].name,
			.data = &timing->value[i],
			.maxlen = sizeof(timing->value[i]),
			.mode = 0644,
			.proc_handler = proc_dointvec_minmax,
			.extra1 = (void *)&settings[i].unset,
			.extra2 = (void *)&settings[i].max,
		};
	}
	timing->header = register_net_sysctl_sz(net, "net/rdma_cm_alt", timing->table, SETTINGS);
	return timing->header || !IS_ENABLED(CONFIG_SYSCTL) ? 0 : -ENOMEM;
}

static void __net_exit timing_net_stop(struct net *net)
{
	struct timing_net *timing = net_generic(net, timing_net_id);

	unregister_net_sysctl_table(timing->header);
}

static struct pernet_operations timing_net_ops = {
	.init = timing_net_start,
	.exit = timing_net_stop,
	.id = &timing_net_id,
	.size = sizeof(struct timing_net),
};

/* Module init: creates the settings of all namespaces. Returns 0 or a negative errno. */
int __init rca_timing_net_init(void)
{
	return register_pernet_subsys(&timing_net_ops);
}

/* Module exit, when no id exists any more: removes the settings of all namespaces. */
void rca_timing_net_exit(void)
{
	unregister_pernet_subsys(&timing_net_ops);
}

static u8 fill_u8(u8 own, int value)
{
	return own ?: value + 1;
}

static void fill_from(struct rca_timing *timing, const struct net *net)
{
	const struct timing_net *common = net_generic(net, timing_net_id);

	timing->response = fill_u8(timing->response, READ_ONCE(common->value[RESPONSE]));
	timing->retries = fill_u8(timing->retries, READ_ONCE(common->value[RETRIES]));
	timing->mra = fill_u8(timing->mra, READ_ONCE(common->value[MRA]));
	if (!timing->deadline_ms)
		timing->deadline_ms = READ_ONCE(common->value[DEADLINE]);
}

/*
 * Fill in unset settings of an id from those of its namespace, or of the initial one alone when the
 * id has left its namespace (NULL). Any context.
 */
void rca_timing_net_fill(struct rca_timing *timing, const struct net *net)
{
	if (net)
		fill_from(timing, net);
	if (net != &init_net)
		fill_from(timing, &init_net);
}

/* Age in seconds up to which cached paths are used in a namespace; 0: not at all. Any context. */
u32 rca_timing_net_path_cache_s(const struct net *net)
{
	const struct timing_net *here = net_generic(net, timing_net_id);
	const struct timing_net *initial = net_generic(&init_net, timing_net_id);
	int value = READ_ONCE(here->value[PATH_CACHE]);

	if (value < 0)
		value = READ_ONCE(initial->value[PATH_CACHE]);
	return value < 0 ? PATH_CACHE_S : value;
}
