// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A process that creates QPs on an iWARP device and publishes their numbers for the threads of a
 * run, each for one use. It destroys the oldest QPs, even while they are used. It is a process of
 * its own because a device cannot be removed while it has QPs.
 */
#include "farm.h"

#include <err.h>
#include <infiniband/verbs.h>
#include <string.h>
#include <unistd.h>

#include "stress.h"

#define ALIVE 64

static struct ibv_context *open_device(const char *name)
{
	struct ibv_context *context = NULL;
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	if (!context)
		err(2, "%s", name);
	return context;
}

int farm_run(const char *device)
{
	struct ibv_context *context = open_device(device);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qps[ALIVE] = {};
	unsigned int made = 0;

	for (;;) {
		for (int i = 0; i < IWARP_QPS; i++) {
			struct ibv_qp **qp = &qps[made % ALIVE];

			if (__atomic_load_n(&world->iwarp_qps[i], __ATOMIC_ACQUIRE))
				continue;
			if (*qp)
				ibv_destroy_qp(*qp);
			*qp = ibv_create_qp(pd, &attr);
			if (!*qp)
				continue;
			made++;
			__atomic_store_n(&world->iwarp_qps[i], (*qp)->qp_num, __ATOMIC_RELEASE);
		}
		usleep(20000);
	}
}
