/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the tests of multicast share: ids that join, and who sees that they did. */
#ifndef GROUPS_H
#define GROUPS_H

#include "rca_test.h"

#define GROUP "239.9.1.1"
#define OTHER_GROUP "239.9.1.2"
#define GROUP6 "ff1e:9::1"

/* Of the ids, and the queue key of their groups. */
#define COOKIE 0xc0ffee
#define QKEY 0x01234567

/* Datagram ids. */
uint32_t get_ud(int ctx, int queue);
uint32_t get_ud_bound(int ctx, int queue, const char *ip);

/* Joins with the cookie 42; a membership is a full one. */
int join(int ctx, uint32_t id, const char *group);
uint32_t get_member(int ctx, uint32_t id, const char *group);
int leave(int ctx, uint32_t member);

/* How often a network device is in a group, as /proc/net has it. */
int igmp_users(const char *ndev, const char *group);
int mld_users(const char *ndev, const char *group);

/* Leaves a group of which so many events were delivered. */
void expect_left(const char *file, int line, int ctx, uint32_t member, uint32_t wanted);
#define EXPECT_LEFT(ctx, member, wanted) expect_left(__FILE__, __LINE__, ctx, member, wanted)

/* The event of a join over RoCE v2, with all that it says. */
void expect_joined(int queue, uint32_t id, uint32_t member, const char *mgid);

#endif /* GROUPS_H */
