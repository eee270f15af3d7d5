/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memberships: an id in a multicast group. */
#ifndef RCA_MCAST_H
#define RCA_MCAST_H

#include <linux/types.h>

#include "lib/types.h"

struct ib_uverbs_ah_attr;

struct rca_member *rca_join(struct rca_id *id, const union rca_addr *group, bool send_only,
			    u64 cookie);
u32 rca_join_handle(const struct rca_member *member);
int rca_join_publish(struct rca_member *member);
void rca_join_abort(struct rca_member *member);
int rca_leave(struct rca_ctx *ctx, u32 handle, u32 *reported);
void rca_mcast_joined(void *owner, int status, const struct ib_uverbs_ah_attr *ah, u32 qkey);
void rca_mcast_drop(struct rca_id *id);
void rca_mcast_end(struct rca_id *id);
struct rca_id *rca_member_id(struct rca_obj *obj);
const union rca_addr *rca_member_group(struct rca_obj *obj);

#endif /* RCA_MCAST_H */
