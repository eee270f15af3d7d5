// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Shared queues: receive queues of an id and of several, one completion queue for many QPs. */
#include <arpa/inet.h>

#include "lib/ends.h"

#define MANY 6

static char buffer[4096];

static void say(struct rdma_cm_id *id, const char *text)
{
	MUST(rdma_post_send(id, (void *)1, (void *)text, strlen(text) + 1, NULL,
			    IBV_SEND_INLINE));
	expect_send(id, 1, IBV_WC_SUCCESS);
}

static struct ibv_srq_init_attr srq_attr(void)
{
	return (struct ibv_srq_init_attr) { .attr = { .max_wr = 8, .max_sge = 1 } };
}

/* The SRQ of rdma_create_srq() serves the id's QP and rdma_post_recv(). */
DUO(srq)

SERVER(srq)
{
	struct rdma_cm_id *listener = listen_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, NULL);
	struct rdma_cm_id *id = get_request(listener);
	struct ibv_srq_init_attr attr = srq_attr();
	struct ibv_qp_init_attr qp = qp_attr(4, 4);
	struct ibv_mr *mr;

	MUST(rdma_create_srq(id, NULL, &attr));
	EXPECT(id->srq && attr.attr.max_wr >= 8);
	EXPECT(id->srq->pd == id->pd);
	attr = srq_attr();
	MUST(rdma_create_qp(id, NULL, &qp));
	EXPECT(id->qp->srq == id->srq);
	mr = rdma_reg_msgs(id, buffer, sizeof(buffer));
	EXPECT(mr);
	MUST(rdma_post_recv(id, (void *)1, buffer, 100, mr));
	MUST(rdma_post_recv(id, (void *)2, buffer + 100, 100, mr));
	MUST(rdma_accept(id, NULL));
	expect_recv(id, 1, IBV_WC_SUCCESS, NULL);
	expect_recv(id, 2, IBV_WC_SUCCESS, NULL);
	EXPECT(!strcmp(buffer, "one") && !strcmp(buffer + 100, "two"));
	meet();
	rdma_dereg_mr(mr);
	/* Destroys the SRQ as well. */
	end_rc(id);
	rdma_destroy_ep(listener);
}

CLIENT(srq)
{
	struct rdma_cm_id *id = connect_rc(4, 4);
	const struct rdma_conn_param *param = &id->event->param.conn;

	/* The reply does not report the SRQ. */
	tell("srq of the peer: %u", param->srq);
	say(id, "one");
	say(id, "two");
	meet();
	end_rc(id);
}

/* One SRQ of rdma_create_srq_ex(), with a PD of the program, for the QPs of two ids. */
DUO(srq_ex_of_two)

SERVER(srq_ex_of_two)
{
	struct rdma_cm_id *listener = listen_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, NULL);
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
	};
	struct ibv_qp_init_attr qp;
	struct rdma_cm_id *id[2];
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	int i;

	id[0] = get_request(listener);
	pd = ibv_alloc_pd(id[0]->verbs);
	EXPECT(pd);
	attr.pd = pd;
	attr.comp_mask = IBV_SRQ_INIT_ATTR_PD;
	EXPECT_EQ(rdma_create_srq_ex(id[0], &attr), -1);
	tell("no type: %s", errno_name());
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE;
	MUST(rdma_create_srq_ex(id[0], &attr));
	mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
	EXPECT(mr);
	for (i = 0; i < 2; i++) {
		if (i)
			id[i] = get_request(listener);
		qp = qp_attr(4, 4);
		qp.srq = id[0]->srq;
		MUST(rdma_create_qp(id[i], pd, &qp));
		EXPECT(id[i]->qp->srq == id[0]->srq && id[i]->pd == pd);
		MUST(rdma_post_recv(id[0], (void *)(uintptr_t)(i + 1), buffer + 100 * i, 100, mr));
		MUST(rdma_accept(id[i], NULL));
		give_number(i);
		/* The QP that receives a message decides which CQ gets its completion. */
		expect_recv(id[i], i + 1, IBV_WC_SUCCESS, NULL);
	}
	EXPECT(!strcmp(buffer, "first") && !strcmp(buffer + 100, "second"));
	meet();
	rdma_disconnect(id[1]);
	rdma_destroy_qp(id[1]);
	MUST(rdma_destroy_id(id[1]));
	rdma_dereg_mr(mr);
	end_rc(id[0]);
	EXPECT_EQ(ibv_dealloc_pd(pd), 0);
	rdma_destroy_ep(listener);
}

CLIENT(srq_ex_of_two)
{
	struct ibv_qp_init_attr attr = qp_attr(4, 4);
	struct rdma_addrinfo *res = get_addrinfo(false, take_number(), RDMA_PS_TCP, IBV_QPT_RC);
	struct rdma_cm_id *id[2];
	int i;

	for (i = 0; i < 2; i++) {
		attr = qp_attr(4, 4);
		MUST(rdma_create_ep(&id[i], res, NULL, &attr));
		MUST(rdma_connect(id[i], NULL));
		EXPECT_EQ(take_number(), i);
		say(id[i], i ? "second" : "first");
	}
	rdma_freeaddrinfo(res);
	meet();
	end_rc(id[1]);
	end_rc(id[0]);
}

static struct ibv_qp_init_attr attr_with(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = qp_attr(4, 4);

	attr.send_cq = cq;
	attr.recv_cq = cq;
	return attr;
}

/* Many QPs, one completion queue: the QP number of a completion identifies the QP. */
DUO(shared_cq)

SERVER(shared_cq)
{
	struct rdma_cm_id *listener = listen_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, NULL);
	struct rdma_cm_id *id[MANY];
	struct ibv_mr *mr[MANY];
	struct ibv_cq *cq = NULL;
	unsigned int i, seen = 0;
	struct ibv_wc wc;

	for (i = 0; i < MANY; i++) {
		struct ibv_qp_init_attr attr;

		id[i] = get_request(listener);
		if (!cq)
			cq = ibv_create_cq(id[i]->verbs, 8 * MANY, NULL, NULL, 0);
		EXPECT(cq);
		attr = attr_with(cq);
		MUST(rdma_create_qp(id[i], NULL, &attr));
		EXPECT(!id[i]->send_cq && !id[i]->recv_cq);
		mr[i] = rdma_reg_msgs(id[i], buffer, sizeof(buffer));
		EXPECT(mr[i] && mr[i]->pd == mr[0]->pd);
		MUST(rdma_post_recv(id[i], (void *)(uintptr_t)(i + 10), buffer + 100 * i, 100,
				    mr[i]));
		MUST(rdma_accept(id[i], NULL));
	}
	meet();
	while (seen != (1 << MANY) - 1) {
		int got = ibv_poll_cq(cq, 1, &wc);

		EXPECT(got >= 0);
		if (!got)
			continue;
		EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
		i = wc.wr_id - 10;
		EXPECT(i < MANY && !(seen & 1 << i));
		EXPECT_EQ(wc.qp_num, id[i]->qp->qp_num);
		EXPECT_EQ(ntohl(wc.imm_data), i);
		seen |= 1 << i;
	}
	meet();
	for (i = 0; i < MANY; i++) {
		rdma_dereg_mr(mr[i]);
		end_rc(id[i]);
	}
	EXPECT_EQ(ibv_destroy_cq(cq), 0);
	rdma_destroy_ep(listener);
}

CLIENT(shared_cq)
{
	struct rdma_addrinfo *res = get_addrinfo(false, take_number(), RDMA_PS_TCP, IBV_QPT_RC);
	struct ibv_sge sge = { .addr = (uintptr_t)buffer, .length = 8 };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_INLINE,
	}, *bad;
	struct rdma_cm_id *id[MANY];
	struct ibv_cq *cq = NULL;
	unsigned int i;

	for (i = 0; i < MANY; i++) {
		struct ibv_qp_init_attr attr;

		MUST(rdma_create_ep(&id[i], res, NULL, NULL));
		if (!cq)
			cq = ibv_create_cq(id[i]->verbs, 8 * MANY, NULL, NULL, 0);
		EXPECT(cq);
		attr = attr_with(cq);
		MUST(rdma_create_qp(id[i], NULL, &attr));
		MUST(rdma_connect(id[i], NULL));
	}
	rdma_freeaddrinfo(res);
	meet();
	for (i = 0; i < MANY; i++) {
		wr.wr_id = i;
		wr.imm_data = htonl(i);
		EXPECT_EQ(ibv_post_send(id[i]->qp, &wr, &bad), 0);
		expect_polled(cq, i, IBV_WC_SUCCESS, NULL);
	}
	meet();
	for (i = 0; i < MANY; i++)
		end_rc(id[i]);
	EXPECT_EQ(ibv_destroy_cq(cq), 0);
}

/* Ours leaves the caller's struct as it was: it can be used for the next id. */
DUO_OURS(attributes_twice)

SERVER(attributes_twice)
{
	struct ibv_qp_init_attr attr = qp_attr(4, 4);
	struct rdma_cm_id *listener = listen_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, &attr);
	struct rdma_cm_id *one = accept_one(listener, NULL);
	struct rdma_cm_id *two = accept_one(listener, NULL);

	meet();
	end_rc(one);
	end_rc(two);
	rdma_destroy_ep(listener);
}

CLIENT(attributes_twice)
{
	struct rdma_addrinfo *res = get_addrinfo(false, take_number(), RDMA_PS_TCP, IBV_QPT_RC);
	struct ibv_qp_init_attr attr = qp_attr(4, 4);
	struct rdma_cm_id *one, *two;

	MUST(rdma_create_ep(&one, res, NULL, &attr));
	MUST(rdma_create_ep(&two, res, NULL, &attr));
	EXPECT(one->send_cq != two->send_cq && one->recv_cq != two->recv_cq);
	rdma_freeaddrinfo(res);
	MUST(rdma_connect(one, NULL));
	MUST(rdma_connect(two, NULL));
	meet();
	end_rc(one);
	end_rc(two);
}

DUO_MAIN
