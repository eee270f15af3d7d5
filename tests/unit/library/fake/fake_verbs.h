/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A libibverbs for the unit tests: one device, objects that are counted, and failures on
 * demand. It replaces the library at link time.
 */
#ifndef FAKE_VERBS_H
#define FAKE_VERBS_H

#include <stdbool.h>
#include <infiniband/verbs.h>

#define FAKE_GUID 0x1122334455667788ULL
#define FAKE_INDEX 3
#define FAKE_MOVES 16

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
};

extern struct fake_verbs fake_verbs;

/** fake_verbs_reset - one device, no failures, counters at 0 */
void fake_verbs_reset(void);

#endif /* FAKE_VERBS_H */
