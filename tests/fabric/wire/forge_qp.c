// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sends a message to an RC queue pair of another host from a queue pair of its own, as any user of
 * uverbs may: 32 bytes of zeros.
 *
 * usage: forge_qp DEVICE GID-INDEX DESTINATION QPN PSN
 */
#include <arpa/inet.h>
#include <err.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#define PORT 1

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			return ibv_open_device(list[i]);
	errx(1, "no device %s", name);
}

/* Connects a QP to one that is connected to somebody else. */
static void join_in(struct ibv_qp *qp, char **argv)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = strtoul(argv[4], NULL, 0),
		.sq_psn = strtoul(argv[5], NULL, 0),
		.timeout = 14,
		.ah_attr = {
			.is_global = 1,
			.port_num = PORT,
			.grh = { .sgid_index = atoi(argv[2]), .hop_limit = 64 },
		},
	};

	attr.ah_attr.grh.dgid.raw[10] = 0xff;
	attr.ah_attr.grh.dgid.raw[11] = 0xff;
	if (!inet_pton(AF_INET, argv[3], &attr.ah_attr.grh.dgid.raw[12]))
		errx(1, "%s is no address", argv[3]);
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS))
		err(1, "INIT");
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER))
		err(1, "RTR");
	attr.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		err(1, "RTS");
}

int main(int argc, char **argv)
{
	struct ibv_context *context = argc == 6 ? open_device(argv[1]) : NULL;
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_send_wr *bad, wr = {
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	static char zeros[32];
	struct ibv_sge sge = { .addr = (uintptr_t)zeros, .length = sizeof(zeros) };
	struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, zeros, sizeof(zeros), 0) : NULL;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	init.send_cq = mr ? ibv_create_cq(context, 1, NULL, NULL, 0) : NULL;
	init.recv_cq = init.send_cq;
	qp = init.send_cq ? ibv_create_qp(pd, &init) : NULL;
	if (!qp)
		err(1, "no QP");
	join_in(qp, argv);
	sge.lkey = mr->lkey;
	wr.sg_list = &sge;
	if (ibv_post_send(qp, &wr, &bad))
		err(1, "SEND");
	/* The acknowledgement goes to the queue pair that the other one is connected to. */
	while (!ibv_poll_cq(init.send_cq, 1, &wc))
		;
	return 0;
}
