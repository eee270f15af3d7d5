/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Multicast: ids that join groups, and the memberships of network devices. */
#ifndef GROUPS_H
#define GROUPS_H

#include "rca_test.h"

#define GROUP "239.9.1.1"
#define OTHER_GROUP "239.9.1.2"
#define GROUP6 "ff1e:9::1"

/* The cookie of the ids, and the queue key of their groups. */
#define COOKIE 0xc0ffee
#define QKEY 0x01234567

/* Datagram ids. */
uint32_t get_ud(int ctx, int queue);
uint32_t get_ud_bound(int ctx, int queue, const char *ip);

/* Join as a full member, with the cookie 42. */
int join(int ctx, uint32_t id, const char *group);
uint32_t get_member(int ctx, uint32_t id, const char *group);
int leave(int ctx, uint32_t member);

/* How often a network device has joined a group, according to /proc/net. */
int igmp_users(const char *ndev, const char *group);
int mld_users(const char *ndev, const char *group);

/* Leave a group; @wanted of its events have been delivered. */
void expect_left(const char *file, int line, int ctx, uint32_t member, uint32_t wanted);
#define EXPECT_LEFT(ctx, member, wanted) expect_left(__FILE__, __LINE__, ctx, member, wanted)

/* The event of a join over RoCE v2, with all its members. */
void expect_joined(int queue, uint32_t id, uint32_t member, const char *mgid);

#endif /* GROUPS_H */
