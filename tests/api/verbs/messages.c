// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Messages, reads and writes over a connection: the calls of <rdma/rdma_verbs.h>. */
#include <arpa/inet.h>

#include "lib/ends.h"

static char buffer[4096];

/* Address and key of the other end's memory. */
struct remote {
	uint64_t addr;
	uint32_t rkey;
};

static void give_memory(const struct ibv_mr *mr)
{
	struct remote remote = { .addr = (uintptr_t)mr->addr, .rkey = mr->rkey };

	give(&remote, sizeof(remote));
}

static struct ibv_mr *msgs(struct rdma_cm_id *id)
{
	struct ibv_mr *mr = rdma_reg_msgs(id, buffer, sizeof(buffer));

	EXPECT(mr);
	return mr;
}

/* One message each way, with the memory of rdma_reg_msgs(). */
DUO(send_and_recv)

SERVER(send_and_recv)
{
	struct rdma_cm_id *id = serve_rc(4, 4);
	struct ibv_mr *mr = msgs(id);
	struct ibv_wc wc;

	EXPECT(mr->pd == id->pd);
	MUST(rdma_post_recv(id, (void *)7, buffer, 100, mr));
	meet();
	expect_recv(id, 7, IBV_WC_SUCCESS, &wc);
	tell("received %u bytes, opcode %d, flags %u", wc.byte_len, wc.opcode, wc.wc_flags);
	EXPECT(!strcmp(buffer, "from the client"));
	strcpy(buffer, "from the server");
	MUST(rdma_post_send(id, (void *)8, buffer, 16, mr, IBV_SEND_SIGNALED));
	expect_send(id, 8, IBV_WC_SUCCESS);
	meet();
	MUST(rdma_dereg_mr(mr));
	end_rc(id);
}

CLIENT(send_and_recv)
{
	struct rdma_cm_id *id = connect_rc(4, 4);
	struct ibv_mr *mr = msgs(id);
	struct ibv_wc wc;

	MUST(rdma_post_recv(id, (void *)9, buffer + 64, 64, mr));
	meet();
	strcpy(buffer, "from the client");
	MUST(rdma_post_send(id, (void *)10, buffer, 16, mr, 0));
	expect_send(id, 10, IBV_WC_SUCCESS);
	expect_recv(id, 9, IBV_WC_SUCCESS, &wc);
	tell("received %u bytes", wc.byte_len);
	EXPECT(!strcmp(buffer + 64, "from the server"));
	meet();
	MUST(rdma_dereg_mr(mr));
	end_rc(id);
}

/* Data in two segments at either end. */
DUO(sendv_and_recvv)

SERVER(sendv_and_recvv)
{
	struct rdma_cm_id *id = serve_rc(4, 4);
	struct ibv_mr *mr = msgs(id);
	struct ibv_sge sge[2] = {
		{ .addr = (uintptr_t)buffer + 100, .length = 3, .lkey = mr->lkey },
		{ .addr = (uintptr_t)buffer + 200, .length = 50, .lkey = mr->lkey },
	};
	struct ibv_wc wc;

	MUST(rdma_post_recvv(id, (void *)1, sge, 2));
	meet();
	expect_recv(id, 1, IBV_WC_SUCCESS, &wc);
	tell("received %u bytes", wc.byte_len);
	EXPECT(!memcmp(buffer + 100, "abc", 3));
	EXPECT(!strcmp(buffer + 200, "def"));
	meet();
	rdma_dereg_mr(mr);
	end_rc(id);
}

CLIENT(sendv_and_recvv)
{
	struct rdma_cm_id *id = connect_rc(4, 4);
	struct ibv_mr *mr = msgs(id);
	struct ibv_sge sge[2] = {
		{ .addr = (uintptr_t)buffer, .length = 2, .lkey = mr->lkey },
		{ .addr = (uintptr_t)buffer + 10, .length = 5, .lkey = mr->lkey },
	};

	strcpy(buffer, "ab");
	strcpy(buffer + 10, "cdef");
	meet();
	MUST(rdma_post_sendv(id, (void *)2, sge, 2, 0));
	expect_send(id, 2, IBV_WC_SUCCESS);
	meet();
	rdma_dereg_mr(mr);
	end_rc(id);
}

/* The client reads from memory of rdma_reg_read() and writes to memory of rdma_reg_write(). */
DUO(read_and_write)

SERVER(read_and_write)
{
	struct rdma_cm_id *id = serve_rc(4, 4);
	struct ibv_mr *readable = rdma_reg_read(id, buffer, 1000);
	struct ibv_mr *writable = rdma_reg_write(id, buffer + 1000, 1000);

	EXPECT(readable && writable);
	strcpy(buffer, "read this");
	give_memory(readable);
	give_memory(writable);
	meet();
	EXPECT(!strcmp(buffer + 1000, "written"));
	EXPECT(!strcmp(buffer + 1100, "in pieces"));
	MUST(rdma_dereg_mr(readable));
	MUST(rdma_dereg_mr(writable));
	end_rc(id);
}

static void read_pieces(struct rdma_cm_id *id, struct ibv_mr *mr, const struct remote *from)
{
	struct ibv_sge sge[2] = {
		{ .addr = (uintptr_t)buffer + 400, .length = 5, .lkey = mr->lkey },
		{ .addr = (uintptr_t)buffer + 500, .length = 5, .lkey = mr->lkey },
	};

	MUST(rdma_post_readv(id, (void *)3, sge, 2, 0, from->addr, from->rkey));
	expect_send(id, 3, IBV_WC_SUCCESS);
	EXPECT(!memcmp(buffer + 400, "read ", 5));
	EXPECT(!strcmp(buffer + 500, "this"));
}

static void write_pieces(struct rdma_cm_id *id, struct ibv_mr *mr, const struct remote *to)
{
	struct ibv_sge sge[2] = {
		{ .addr = (uintptr_t)buffer + 600, .length = 3, .lkey = mr->lkey },
		{ .addr = (uintptr_t)buffer + 700, .length = 7, .lkey = mr->lkey },
	};

	strcpy(buffer + 600, "in ");
	strcpy(buffer + 700, "pieces");
	MUST(rdma_post_writev(id, (void *)4, sge, 2, 0, to->addr + 100, to->rkey));
	expect_send(id, 4, IBV_WC_SUCCESS);
}

CLIENT(read_and_write)
{
	struct rdma_cm_id *id = connect_rc(4, 4);
	struct remote readable, writable;
	struct ibv_mr *mr = msgs(id);

	take(&readable, sizeof(readable));
	take(&writable, sizeof(writable));
	MUST(rdma_post_read(id, (void *)1, buffer, 10, mr, 0, readable.addr, readable.rkey));
	expect_send(id, 1, IBV_WC_SUCCESS);
	EXPECT(!strcmp(buffer, "read this"));
	strcpy(buffer + 300, "written");
	MUST(rdma_post_write(id, (void *)2, buffer + 300, 8, mr, 0, writable.addr,
			     writable.rkey));
	expect_send(id, 2, IBV_WC_SUCCESS);
	read_pieces(id, mr, &readable);
	write_pieces(id, mr, &writable);
	meet();
	rdma_dereg_mr(mr);
	end_rc(id);
}

/* Memory of rdma_reg_read() cannot be written: the writer's QP stops with an access error. */
DUO(write_to_readable)

SERVER(write_to_readable)
{
	struct rdma_cm_id *id = serve_rc(4, 4);
	struct ibv_mr *mr = rdma_reg_read(id, buffer, 1000);

	EXPECT(mr);
	memset(buffer, 0, 10);
	give_memory(mr);
	meet();
	EXPECT_EQ(buffer[0], 0);
	rdma_dereg_mr(mr);
	end_rc(id);
}

CLIENT(write_to_readable)
{
	struct rdma_cm_id *id = connect_rc(4, 4);
	struct ibv_mr *mr = msgs(id);
	struct remote readable;

	take(&readable, sizeof(readable));
	strcpy(buffer, "x");
	MUST(rdma_post_write(id, (void *)1, buffer, 2, mr, 0, readable.addr, readable.rkey));
	expect_send(id, 1, IBV_WC_REM_ACCESS_ERR);
	meet();
	rdma_dereg_mr(mr);
	end_rc(id);
}

/* Inline data needs no registration. */
DUO(inline_data)

SERVER(inline_data)
{
	struct rdma_cm_id *id = serve_rc(4, 4);
	struct ibv_mr *mr = msgs(id);

	MUST(rdma_post_recv(id, NULL, buffer, 100, mr));
	meet();
	expect_recv(id, 0, IBV_WC_SUCCESS, NULL);
	EXPECT(!strcmp(buffer, "inline"));
	meet();
	rdma_dereg_mr(mr);
	end_rc(id);
}

CLIENT(inline_data)
{
	struct rdma_cm_id *id = connect_rc(4, 4);
	char text[] = "inline";

	meet();
	MUST(rdma_post_send(id, NULL, text, sizeof(text), NULL, IBV_SEND_INLINE));
	memset(text, 'x', sizeof(text));
	expect_send(id, 0, IBV_WC_SUCCESS);
	meet();
	end_rc(id);
}

static void post_imm(struct rdma_cm_id *id, enum ibv_wr_opcode opcode, uint32_t imm,
		     const struct remote *to)
{
	struct ibv_sge sge = { .addr = (uintptr_t)"imm", .length = 4 };
	struct ibv_send_wr wr = {
		.wr_id = imm, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_INLINE, .imm_data = htonl(imm),
		.wr.rdma = { .remote_addr = to->addr, .rkey = to->rkey },
	}, *bad;

	EXPECT_EQ(ibv_post_send(id->qp, &wr, &bad), 0);
	expect_send(id, imm, IBV_WC_SUCCESS);
}

/* Immediate data, with a message and with a write. */
DUO(immediate_data)

SERVER(immediate_data)
{
	struct rdma_cm_id *id = serve_rc(4, 4);
	struct ibv_mr *mr = rdma_reg_write(id, buffer, sizeof(buffer));
	struct ibv_wc wc;

	EXPECT(mr);
	MUST(rdma_post_recv(id, (void *)1, buffer + 100, 100, mr));
	MUST(rdma_post_recv(id, (void *)2, buffer + 200, 100, mr));
	give_memory(mr);
	expect_recv(id, 1, IBV_WC_SUCCESS, &wc);
	tell("message: imm 0x%x opcode %d flags %u", ntohl(wc.imm_data), wc.opcode, wc.wc_flags);
	expect_recv(id, 2, IBV_WC_SUCCESS, &wc);
	tell("write: imm 0x%x opcode %d flags %u", ntohl(wc.imm_data), wc.opcode, wc.wc_flags);
	EXPECT(!strcmp(buffer, "imm"));
	meet();
	rdma_dereg_mr(mr);
	end_rc(id);
}

CLIENT(immediate_data)
{
	struct rdma_cm_id *id = connect_rc(4, 4);
	struct remote to;

	take(&to, sizeof(to));
	post_imm(id, IBV_WR_SEND_WITH_IMM, 0x12345678, &to);
	post_imm(id, IBV_WR_RDMA_WRITE_WITH_IMM, 0x9abcdef, &to);
	meet();
	end_rc(id);
}

/* Without sq_sig_all only requests with the signaled flag complete with an entry. */
DUO(unsignalled)

SERVER(unsignalled)
{
	struct rdma_cm_id *id = serve_rc(4, 4);
	struct ibv_mr *mr = msgs(id);
	uintptr_t i;

	for (i = 0; i < 3; i++)
		MUST(rdma_post_recv(id, (void *)i, buffer, 100, mr));
	meet();
	for (i = 0; i < 3; i++)
		expect_recv(id, i, IBV_WC_SUCCESS, NULL);
	meet();
	rdma_dereg_mr(mr);
	end_rc(id);
}

CLIENT(unsignalled)
{
	struct ibv_qp_init_attr attr = qp_attr(4, 4);
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	attr.sq_sig_all = 0;
	id = active_ep(RDMA_PS_TCP, IBV_QPT_RC, NULL, &attr);
	MUST(rdma_connect(id, NULL));
	mr = msgs(id);
	meet();
	MUST(rdma_post_send(id, (void *)1, buffer, 10, mr, 0));
	MUST(rdma_post_send(id, (void *)2, buffer, 10, mr, 0));
	MUST(rdma_post_send(id, (void *)3, buffer, 10, mr, IBV_SEND_SIGNALED));
	expect_send(id, 3, IBV_WC_SUCCESS);
	EXPECT_EQ(ibv_poll_cq(id->send_cq, 1, &wc), 0);
	meet();
	rdma_dereg_mr(mr);
	end_rc(id);
}

DUO_MAIN
