// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The client of an RDMA read with synchronous endpoints (rdma_create_ep): connects, gets the
 * address of the server's text from the private data of the reply, reads the text from the server's
 * memory, and prints it. The server program takes no part in the read. Its server: sync_server.
 *
 *	cc sync_client.c -o sync_client -lrdmacm -libverbs
 *	sync_client ADDRESS PORT
 */
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

/* Location of the text, in big endian. */
struct lent {
	uint64_t addr;
	uint32_t rkey;
	uint32_t length;
};

static char text[4096];

static int failed(const char *call, const char *advice)
{
	fprintf(stderr, "%s: %s; %s\n", call, strerror(errno), advice);
	return -1;
}

/* The call resolves address and route, and creates a queue pair. */
static struct rdma_cm_id *make_endpoint(char *node, char *service)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;
	int ret;

	ret = rdma_getaddrinfo(node, service, &hints, &res);
	if (ret) {
		/* The error is -1 with errno, or a code of getaddrinfo(3). */
		fprintf(stderr, "%s, port %s: %s\n", node, service,
			ret == -1 ? strerror(errno) : gai_strerror(ret));
		return NULL;
	}
	if (rdma_create_ep(&id, res, NULL, &attr)) {
		failed("rdma_create_ep", "does the address answer ping, over an RDMA device?");
		id = NULL;
	}
	rdma_freeaddrinfo(res);
	return id;
}

static int connect_to(struct rdma_cm_id *id, struct lent *lent)
{
	/* initiator_depth: the number of outstanding reads. */
	struct rdma_conn_param param = {
		.initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7,
	};
	const struct rdma_conn_param *said;

	if (rdma_connect(id, &param))
		return failed("rdma_connect", errno == ECONNREFUSED ?
			      "is there a server at that port?" : "does the other host answer?");
	/* The event of the reply. Its private data may be longer than what the server sent. */
	said = &id->event->param.conn;
	if (said->private_data_len < sizeof(*lent)) {
		fprintf(stderr, "the server does not say where its text is: is it sync_server?\n");
		return -1;
	}
	memcpy(lent, said->private_data, sizeof(*lent));
	lent->addr = be64toh(lent->addr);
	lent->rkey = be32toh(lent->rkey);
	lent->length = be32toh(lent->length);
	if (lent->length <= sizeof(text))
		return 0;
	fprintf(stderr, "a text of %u bytes; there is room for %zu\n", lent->length, sizeof(text));
	return -1;
}

static int read_text(struct rdma_cm_id *id, const struct lent *lent)
{
	struct ibv_mr *mr;
	struct ibv_wc wc;
	int ret = -1;

	/* Over iWARP the peer writes the data of a read: it needs remote write access. */
	mr = rdma_reg_write(id, text, sizeof(text));
	if (!mr)
		return failed("rdma_reg_write", "does ulimit -l allow it?");
	if (rdma_post_read(id, NULL, text, lent->length, mr, IBV_SEND_SIGNALED, lent->addr,
			   lent->rkey))
		failed("rdma_post_read", "has the connection ended?");
	else if (rdma_get_send_comp(id, &wc) < 0)
		failed("rdma_get_send_comp", "the completion queue cannot be read");
	else if (wc.status != IBV_WC_SUCCESS)
		fprintf(stderr, "the text cannot be read: %s\n", ibv_wc_status_str(wc.status));
	else
		ret = 0;
	rdma_dereg_mr(mr);
	return ret;
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *id;
	struct lent lent = {};
	int status = 1;

	if (argc != 3) {
		fprintf(stderr, "usage: sync_client ADDRESS PORT\n");
		return 2;
	}
	id = make_endpoint(argv[1], argv[2]);
	if (!id)
		return 1;
	if (!connect_to(id, &lent) && !read_text(id, &lent)) {
		printf("%.*s\n", (int)lent.length, text);
		status = 0;
		if (rdma_disconnect(id)) {
			failed("rdma_disconnect", "has the device gone?");
			status = 1;
		}
	}
	rdma_destroy_ep(id);
	return status;
}
