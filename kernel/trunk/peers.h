/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which peers run this module, and what they have told about themselves. */
#ifndef RCA_TRUNK_PEERS_H
#define RCA_TRUNK_PEERS_H

#include <linux/rhashtable.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "trunk/proto.h"

struct rca_device;

/**
 * struct rca_peer_key - a pair of ports between which a trunk may be; padding is zero
 * @sgid: local GID
 * @dgid: GID of the peer
 * @device: &rca_device.serial, which is never reused
 * @port_num: port of the device
 * @gid_index: index of @sgid in the table of the port, as RoCE versions and network namespaces may
 *             have the same GID
 * @pkey: partition, without the membership bit
 * @pad: zero
 */
struct rca_peer_key {
	union ib_gid sgid;
	union ib_gid dgid;
	u32 device;
	u32 port_num;
	u16 gid_index;
	u16 pkey;
	u8 pad[4];
};

/**
 * struct rca_peer_info - a peer, for tools
 * @key: the peer
 * @told: number of hellos that were sent to it
 * @failures: how often in a row a trunk to it could not be opened
 * @retry_ms: time until it may be tried again, in milliseconds
 * @heard: a hello was received from it; only then the members below are valid
 * @heard_s: seconds since the last one
 * @hello: the last one
 */
struct rca_peer_info {
	struct rca_peer_key key;
	u32 told;
	u32 failures;
	u32 retry_ms;
	bool heard;
	u32 heard_s;
	struct rca_hello hello;
};

void rca_peer_key(struct rca_peer_key *key, u32 device, u32 port_num,
		  const struct ib_gid_attr *sgid_attr, const void *dgid, u16 pkey);
bool rca_peers_enabled(void);
const u8 *rca_peers_boot_id(void);
void rca_peers_fill_hello(const struct rca_peer_key *key, const struct rca_device *dev,
			  struct rca_hello *hello);
u8 rca_peers_tell(const struct rca_peer_key *key, const struct rca_device *dev, u8 *data);
bool rca_peers_hear(const struct rca_peer_key *key, const void *data, size_t len);
bool rca_peers_accept(const struct rca_peer_key *key, const struct rca_trunk_open *open);
bool rca_peers_may_open(const struct rca_peer_key *key, struct rca_hello *hello);
void rca_peers_opened(const struct rca_peer_key *key);
void rca_peers_failed(const struct rca_peer_key *key);
void rca_peers_forget_device(u32 device);
void rca_peers_walk(struct rhashtable_iter *iter);
bool rca_peers_next(struct rhashtable_iter *iter, struct rca_peer_info *info);
extern bool rca_trunks;
int rca_peers_init(void);
void rca_peers_exit(void);

#endif /* RCA_TRUNK_PEERS_H */
