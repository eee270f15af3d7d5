/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Answers of the subnet administrator that are kept for later ids. */
#ifndef RCA_PATH_CACHE_H
#define RCA_PATH_CACHE_H

#include <linux/rhashtable.h>
#include <linux/types.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

/**
 * struct rca_path_key - a path query, without what is the same in all of them; padding is zero
 * @sgid: source GID
 * @dgid: destination GID
 * @service_id: service ID
 * @mask: component mask
 * @device: &rca_device.serial, which is never reused
 * @port_num: port of the device
 * @user: the user who asks, as a uid of the first user namespace
 * @pkey: partition key
 * @qos_class: quality of service class, or 0
 * @traffic_class: traffic class, or 0
 * @pad: zero
 */
struct rca_path_key {
	union ib_gid sgid;
	union ib_gid dgid;
	__be64 service_id;
	u64 mask;
	u32 device;
	u32 port_num;
	u32 user;
	__be16 pkey;
	__be16 qos_class;
	u8 traffic_class;
	u8 pad[7];
};

/**
 * struct rca_path_info - a path that is kept, for tools
 * @key: its query
 * @path: the path
 * @epoch: epoch of the device when the SA was asked
 * @age_s: its age in seconds
 */
struct rca_path_info {
	struct rca_path_key key;
	struct sa_path_rec path;
	u32 epoch;
	u32 age_s;
};

/**
 * enum rca_path_doubt - what to do about a cached path over which a peer does not answer
 * @RCA_PATH_ASK: query the subnet administrator
 * @RCA_PATH_NEWER: the cache has a newer path, which was returned
 * @RCA_PATH_ASKED: another id queries already; use the old path meanwhile
 */
enum rca_path_doubt { RCA_PATH_ASK, RCA_PATH_NEWER, RCA_PATH_ASKED };

void rca_path_key(struct rca_path_key *key, u32 user, u32 device, u32 port_num,
		  const struct sa_path_rec *question, ib_sa_comp_mask mask);
u32 rca_path_cache_find(const struct rca_path_key *key, u32 epoch, u32 max_age_s,
			struct sa_path_rec *path);
void rca_path_cache_add(const struct rca_path_key *key, u32 epoch, const struct sa_path_rec *path);
enum rca_path_doubt rca_path_cache_doubt(const struct rca_path_key *key, u32 epoch, u32 *version,
					 struct sa_path_rec *path);
void rca_path_cache_forget(const struct rca_path_key *key, u32 version);
void rca_path_cache_walk(struct rhashtable_iter *iter);
bool rca_path_cache_next(struct rhashtable_iter *iter, struct rca_path_info *info);
u32 rca_path_cache_default_age_s(void);
int rca_path_cache_init(void);
void rca_path_cache_exit(void);

#endif /* RCA_PATH_CACHE_H */
