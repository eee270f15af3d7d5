/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The objects behind the verbs, and the calls that the table of an adapter's operations names.
 */
#ifndef HCA_VERBS_H
#define HCA_VERBS_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "hca.h"
#include "verbs/queue.h"

#define HCA_MAX_SGE	16
#define HCA_MAX_WR	4096
#define HCA_MAX_CQE	65535
#define HCA_MAX_INLINE	256

/* What the RDMA core hands to create_cq beside the attributes, see Kbuild. */
#ifdef HCA_CREATE_CQ_BUNDLE
#define hca_cq_user uverbs_attr_bundle
#define hca_cq_udata(user) ((user) ? &(user)->driver_udata : NULL)
#else
#define hca_cq_user ib_udata
#define hca_cq_udata(user) (user)
#endif

/* Objects of which there is nothing but the core's part. */
struct hca_ucontext {
	struct ib_ucontext ib;
};

struct hca_pd {
	struct ib_pd ib;
};

struct hca_xrcd {
	struct ib_xrcd ib;
};

/**
 * struct hca_ah - an address handle
 * @ib: the core's part
 * @attr: the address (immutable)
 * @num: by which a program names it in its send requests, 0 for one of the kernel (immutable)
 */
struct hca_ah {
	struct ib_ah ib;
	struct rdma_ah_attr attr;
	u32 num;
};

/**
 * struct hca_mr - a memory region
 * @ib: the core's part
 * @umem: the pages of a program, NULL for all memory of the kernel (immutable)
 * @access: what its keys allow (immutable)
 */
struct hca_mr {
	struct ib_mr ib;
	struct ib_umem *umem;
	int access;
};

/**
 * struct hca_cq - a completion queue
 * @ib: the core's part
 * @lock: of the adapter's side and of clients in the kernel; from any context
 * @queue: the completions (lock: @lock)
 * @armed: which completions the client wants to be told of, 0 for none (lock: @lock)
 * @user: its client is a program (immutable)
 */
struct hca_cq {
	struct ib_cq ib;
	spinlock_t lock;
	struct hca_queue *queue;
	u32 armed;
	bool user;
};

/**
 * struct hca_srq - a shared receive queue
 * @ib: the core's part
 * @lock: of both sides of @queue; from any context
 * @queue: receive requests (lock: @lock)
 * @max_sge: of a request (immutable)
 * @max_wr: how many requests it was made for (immutable)
 */
struct hca_srq {
	struct ib_srq ib;
	spinlock_t lock;
	struct hca_queue *queue;
	u32 max_sge;
	u32 max_wr;
};

/**
 * struct hca_qp - a queue pair
 * @ib: the core's part
 * @refs: one for its being in the adapter's table, one for each packet on its way in, and one for
 *        each message of an RC QP that has no completion yet
 * @gone: there are no references any more
 * @lock: of the receive queue and the attributes; from any context
 * @attr: as set by modify, with the state (lock: @lock)
 * @cap: the sizes (immutable)
 * @port: which port it is bound to, 0 before that is known (lock: @lock)
 * @rq: receive requests, NULL with a shared queue (lock: @lock)
 * @sending: for one thread at a time to take from @sq
 * @sq: send requests of a program, NULL for a client in the kernel (lock: @sending)
 * @signal_all: every send request has a completion (immutable)
 * @no_loop: it does not get its own multicast datagrams (immutable)
 * @user: its client is a program (immutable)
 */
struct hca_qp {
	struct ib_qp ib;
	refcount_t refs;
	struct completion gone;
	spinlock_t lock;
	struct ib_qp_attr attr;
	struct ib_qp_cap cap;
	u32 port;
	struct hca_queue *rq;
	struct mutex sending;
	struct hca_queue *sq;
	bool signal_all;
	bool no_loop;
	bool user;
};

/**
 * struct hca_group - a QP's attachment to a multicast group
 * @entry: in the list of all attachments (lock: hca_lock)
 * @qp: the QP, there as long as the attachment is in the list
 * @mgid: the group
 * @mlid: its multicast LID
 */
struct hca_group {
	struct list_head entry;
	struct hca_qp *qp;
	union ib_gid mgid;
	u16 mlid;
};

#define to_hca_ah(x)	container_of(x, struct hca_ah, ib)
#define to_hca_mr(x)	container_of(x, struct hca_mr, ib)
#define to_hca_cq(x)	container_of(x, struct hca_cq, ib)
#define to_hca_srq(x)	container_of(x, struct hca_srq, ib)
#define to_hca_qp(x)	container_of(x, struct hca_qp, ib)

/* hca_qp_key: where a QP is in the adapter's table; each port has a QP0 and a QP1 of its own. */
static inline u32 hca_qp_key(u32 qpn, u32 port)
{
	return qpn < 2 ? port << 24 | qpn : qpn;
}

/* objects.c: contexts, protection domains, address handles, XRC domains */
int hca_alloc_ucontext(struct ib_ucontext *context, struct ib_udata *udata);
void hca_dealloc_ucontext(struct ib_ucontext *context);
void hca_disassociate_ucontext(struct ib_ucontext *context);
int hca_alloc_pd(struct ib_pd *pd, struct ib_udata *udata);
int hca_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata);
int hca_alloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata);
int hca_dealloc_xrcd(struct ib_xrcd *xrcd, struct ib_udata *udata);
int hca_create_ah(struct ib_ah *ah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int hca_query_ah(struct ib_ah *ah, struct rdma_ah_attr *attr);
int hca_destroy_ah(struct ib_ah *ah, u32 flags);
int hca_create_srq(struct ib_srq *srq, struct ib_srq_init_attr *init, struct ib_udata *udata);
int hca_query_srq(struct ib_srq *srq, struct ib_srq_attr *attr);
int hca_destroy_srq(struct ib_srq *srq, struct ib_udata *udata);

/* memory.c: memory regions */
struct ib_mr *hca_get_dma_mr(struct ib_pd *pd, int access);
#ifdef HCA_REG_MR_DMAH
#define HCA_DMAH_ARG struct ib_dmah *dmah,
#else
#define HCA_DMAH_ARG
#endif
struct ib_mr *hca_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			      HCA_DMAH_ARG struct ib_udata *udata);
int hca_dereg_mr(struct ib_mr *mr, struct ib_udata *udata);
int hca_gather(struct hca_qp *qp, const struct ib_sge *sge, u32 count, void *to, size_t len);
int hca_scatter(struct hca_qp *qp, const struct ib_sge *sge, u32 count, size_t skip,
		const void *from, size_t len);
int hca_write_remote(struct hca_qp *qp, u64 addr, u32 rkey, const void *from, size_t len);

/* cq.c: completion queues */
int hca_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
		  struct hca_cq_user *user);
int hca_destroy_cq(struct ib_cq *cq, struct ib_udata *udata);
int hca_poll_cq(struct ib_cq *cq, int count, struct ib_wc *wc);
int hca_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags);
void hca_cq_add(struct ib_cq *cq, const struct ib_wc *wc, bool solicited);

/* qp.c: queue pairs */
int hca_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int hca_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int hca_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
int hca_destroy_qp(struct ib_qp *qp, struct ib_udata *udata);
int hca_attach_mcast(struct ib_qp *qp, union ib_gid *mgid, u16 mlid);
int hca_detach_mcast(struct ib_qp *qp, union ib_gid *mgid, u16 mlid);
struct hca_qp *hca_qp_get(struct hca_device *dev, u32 key);
void hca_qp_put(struct hca_qp *qp);
void hca_qp_fail(struct hca_qp *qp);
extern struct list_head hca_groups;

/* post.c: sending, and posting receive requests */
int hca_post_send(struct ib_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
int hca_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
int hca_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad);

/* receive.c: what receive requests are for */
struct hca_packet;
int hca_receive(struct hca_qp *qp, const struct hca_packet *packet, u16 pkey_index);
void hca_flush_receives(struct hca_qp *qp);

#endif /* HCA_VERBS_H */
