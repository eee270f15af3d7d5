// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Timing settings of a network namespace, for ids of it that have none of their
 * own: /proc/sys/net/rdma_cm_alt/, which whoever administers the namespace may
 * write. What is not set there is the module's.
 *
 * Locking: none; settings are single words.
 */
#include "id/timing_net.h"

#include <linux/kernel.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "lib/compat.h"

enum { RESPONSE, RETRIES, MRA, DEADLINE, SETTINGS };

/**
 * struct timing_net - the settings of a namespace
 * @value: each of them; -1, of the deadline 0: not set
 * @table: how they are written; the last entry is empty
 * @header: of @table in /proc/sys
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

	if (timing->header)
		unregister_net_sysctl_table(timing->header);
}

static struct pernet_operations timing_net_ops = {
	.init = timing_net_start,
	.exit = timing_net_stop,
	.id = &timing_net_id,
	.size = sizeof(struct timing_net),
};

/**
 * rca_timing_net_init() - make the settings of all namespaces
 *
 * Context: Process context. Module init. Sleeps.
 * Return: 0 or a negative errno.
 */
int __init rca_timing_net_init(void)
{
	return register_pernet_subsys(&timing_net_ops);
}

/**
 * rca_timing_net_exit() - free what rca_timing_net_init() made
 *
 * Context: Process context. Module exit; no id exists any more. Sleeps.
 */
void rca_timing_net_exit(void)
{
	unregister_pernet_subsys(&timing_net_ops);
}

static u8 fill_u8(u8 own, int value)
{
	return own ?: value + 1;
}

/**
 * rca_timing_net_fill() - settings that an id does not have are those of its namespace
 * @timing: the settings, which nobody else knows
 * @net: the namespace
 *
 * Context: Any context.
 */
void rca_timing_net_fill(struct rca_timing *timing, struct net *net)
{
	const struct timing_net *common = net_generic(net, timing_net_id);

	timing->response = fill_u8(timing->response, READ_ONCE(common->value[RESPONSE]));
	timing->retries = fill_u8(timing->retries, READ_ONCE(common->value[RETRIES]));
	timing->mra = fill_u8(timing->mra, READ_ONCE(common->value[MRA]));
	if (!timing->deadline_ms)
		timing->deadline_ms = READ_ONCE(common->value[DEADLINE]);
}
