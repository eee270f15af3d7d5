/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A libibverbs for the unit tests: one device, objects that are counted, and failures on
 * demand. It replaces the library at link time. Its objects do nothing, unless a test has given
 * it a data path (fake_post.h).
 */
#ifndef FAKE_VERBS_H
#define FAKE_VERBS_H

#include <stdbool.h>
#include <infiniband/verbs.h>

#define FAKE_GUID 0x1122334455667788ULL
#define FAKE_INDEX 3
#define FAKE_MOVES 16
#define FAKE_MAX_QP_WR 16384

/**
 * struct fake_data_path - what makes the objects do something
 * @channel_size: bytes to allocate for a completion channel
 * @cq_size: likewise for a CQ
 * @qp_size: likewise for a QP
 * @opened: sets the calls of a new context
 * @channel_created: completes a new completion channel
 * @channel_destroyed: before it is freed
 * @cq_created: completes a new CQ
 * @cq_destroyed: before it is freed
 * @qp_created: completes a new QP; false: its attributes are invalid
 * @qp_destroyed: before it is freed
 * @qp_modified: does what ibv_modify_qp() asks for; returns 0 or an errno
 */
struct fake_data_path {
	size_t channel_size;
	size_t cq_size;
	size_t qp_size;
	void (*opened)(struct ibv_context *context);
	void (*channel_created)(struct ibv_comp_channel *channel);
	void (*channel_destroyed)(struct ibv_comp_channel *channel);
	void (*cq_created)(struct ibv_cq *cq);
	void (*cq_destroyed)(struct ibv_cq *cq);
	bool (*qp_created)(struct ibv_qp *qp, const struct ibv_qp_init_attr *attr);
	void (*qp_destroyed)(struct ibv_qp *qp);
	int (*qp_modified)(struct ibv_qp *qp, const struct ibv_qp_attr *attr, int mask);
};

/**
 * struct fake_verbs - its knobs and its records of calls
 * @devices: number of devices in the system, up to 2
 * @fail_at: the n-th of the calls that can fail does so, from 1; 0: none
 * @fail_errno: with this errno
 * @steps: calls that could have failed since fake_verbs_reset()
 * @objects: number of PDs, CQs, channels, QPs and SRQs
 * @open_contexts: contexts that are open
 * @moves: transitions of QPs
 * @state: to which state, one each
 * @attr: with which attributes
 * @mask: and which mask
 * @attached: groups that the QP is attached to, a bit for each of the last five bits of their
 * LIDs; it is not destroyed before they are 0
 * @attaches: calls of ibv_attach_mcast()
 * @detaches: calls of ibv_detach_mcast()
 * @group: GID of the last of them
 * @group_lid: LID of the last of them
 * @max_depth: depths of the device
 * @xrc: the device has XRC, which is for contexts that are opened after this
 * @xrcds: XRC domains that are open
 * @last_srq: attributes of the last shared receive queue made with long ones
 * @last_qp: attributes of the last QP made with long ones
 * @srq_size: reported size of a shared receive queue; 0: no answer
 * @list_error: errno of listing the devices
 * @ece: enhanced connection establishment of the provider; vendor 0: unsupported
 * @extra_wr: work requests that a QP gets beyond those asked for
 * @data_path: NULL: the objects do nothing
 */
struct fake_verbs {
	int devices;
	int fail_at;
	int fail_errno;
	int steps;
	int objects;
	int open_contexts;
	int moves;
	enum ibv_qp_state state[FAKE_MOVES];
	struct ibv_qp_attr attr[FAKE_MOVES];
	int mask[FAKE_MOVES];
	unsigned int attached;
	int attaches;
	int detaches;
	union ibv_gid group;
	uint16_t group_lid;
	int max_depth;
	bool xrc;
	int xrcds;
	struct ibv_srq_init_attr_ex last_srq;
	struct ibv_qp_init_attr_ex last_qp;
	uint32_t srq_size;
	int list_error;
	struct ibv_ece ece;
	unsigned int extra_wr;
	const struct fake_data_path *data_path;
};

extern struct fake_verbs fake_verbs;

/** fake_verbs_reset - one device, no failures, counters at 0 */
void fake_verbs_reset(void);

/** fake_verbs_iwarp - until the next reset the devices are RNICs */
void fake_verbs_iwarp(void);

/**
 * fake_verbs_object - allocate an object that is counted, or fail when it is its turn
 * @size: bytes, which are 0
 *
 * Return: the object, for fake_verbs_destroyed(), or NULL with errno set
 */
void *fake_verbs_object(size_t size);

/** fake_verbs_destroyed - free an object; returns 0 */
int fake_verbs_destroyed(void *object);

#endif /* FAKE_VERBS_H */
