// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests of kernel/trunk/peers.c: which connections carry a hello, which hellos of a peer are
 * stored, the limit of peers, and the pairs of peers that may open a trunk.
 *
 * Locking: none.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "lib/testing.h"
#include "transport/transport.h"
#include "trunk/trunk.h"

#define DEVICE		70007
#define OTHER_DEVICE	70008
#define PORT		1
#define PKEY		0x8123

static const struct ib_gid_attr here = { .gid.raw = { 0xfe, 0x80, [15] = 1 }, .index = 3 };

static struct rca_peer_key key_on(u32 device, u16 peer)
{
	union ib_gid dgid = { .raw = { 0xfe, 0x80, [14] = peer >> 8, [15] = peer } };
	struct rca_peer_key key;

	rca_peer_key(&key, device, PORT, &here, &dgid, PKEY);
	return key;
}

static struct rca_peer_key key_to(u16 peer)
{
	return key_on(DEVICE, peer);
}

/* Writes the private data of an RTU to a peer. Returns their length. */
static u8 tell(struct kunit *test, const struct rca_peer_key *key, struct rca_hello *hello)
{
	static struct ib_device ibdev;
	static struct rca_device dev = { .ibdev = &ibdev };
	u8 data[RCA_HELLO_LEN];
	u8 len;

	ibdev.node_guid = cpu_to_be64(0x1122334455667788ULL);
	ibdev.attrs.local_ca_ack_delay = 15;
	memset(hello, 0, sizeof(*hello));
	len = rca_peers_tell(key, &dev, data);
	if (len)
		KUNIT_EXPECT_EQ(test, rca_hello_unpack(data, len, hello), 0);
	return len;
}

static u8 tell_again(struct kunit *test, u16 peer)
{
	const struct rca_peer_key key = key_to(peer);
	struct rca_hello hello;

	return tell(test, &key, &hello);
}

static void hear(u16 peer, u8 mark)
{
	struct rca_hello hello = {
		.version = RCA_TRUNK_VERSION,
		.oldest = RCA_TRUNK_OLDEST,
		.token = mark,
	};
	const struct rca_peer_key key = key_to(peer);
	u8 data[RCA_HELLO_LEN];

	memset(hello.boot_id, mark, sizeof(hello.boot_id));
	rca_hello_pack(data, &hello);
	rca_peers_hear(&key, data, sizeof(data));
}

/* Returns the number of peers of a device, and the last one in @found. */
static unsigned int list(u32 device, struct rca_trunk_peer *found)
{
	struct rhashtable_iter iter;
	struct rca_trunk_peer info;
	unsigned int count = 0;

	rca_peers_walk(&iter);
	while (rca_peers_next(&iter, &info)) {
		if (info.key.device != device)
			continue;
		*found = info;
		count++;
	}
	rhashtable_walk_exit(&iter);
	return count;
}

static void first_connections_tell(struct kunit *test)
{
	struct rca_trunk_peer info;
	int i;

	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, (int)tell_again(test, 2), RCA_HELLO_LEN);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, (int)tell_again(test, 2), 0);
	KUNIT_EXPECT_EQ(test, (int)tell_again(test, 3), RCA_HELLO_LEN);
	KUNIT_EXPECT_EQ(test, list(DEVICE, &info), 2u);
}

static void later_one_in_each_interval(struct kunit *test)
{
	int i;

	for (i = 0; i < 3; i++)
		tell_again(test, 2);
	rca_peers_interval_ms = 1;
	msleep(20);
	KUNIT_EXPECT_EQ(test, (int)tell_again(test, 2), RCA_HELLO_LEN);
	rca_peers_interval_ms = 60000;
	KUNIT_EXPECT_EQ(test, (int)tell_again(test, 2), 0);
}

static void hello_has_the_device(struct kunit *test)
{
	const struct rca_peer_key key = key_to(2);
	struct rca_hello hello;

	KUNIT_ASSERT_EQ(test, (int)tell(test, &key, &hello), RCA_HELLO_LEN);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(hello.ca_guid), 0x1122334455667788ULL);
	KUNIT_EXPECT_EQ(test, (int)hello.ack_delay, 15);
	KUNIT_EXPECT_EQ(test, (int)hello.version, RCA_TRUNK_VERSION);
	KUNIT_EXPECT_EQ(test, (int)hello.oldest, RCA_TRUNK_OLDEST);
}

/* The token is the same in each hello to a peer, and different for every other pair. */
static void token_is_of_the_pair(struct kunit *test)
{
	struct ib_gid_attr other = here, again = here;
	struct rca_peer_key keys[5] = { key_to(2), key_to(3) };
	struct rca_hello first, second, hello;
	unsigned int i;

	other.gid.raw[0]++;
	again.index++;
	rca_peer_key(&keys[2], DEVICE, PORT, &other, &keys[0].dgid, PKEY);
	rca_peer_key(&keys[3], DEVICE, PORT, &here, &keys[0].dgid, PKEY + 1);
	rca_peer_key(&keys[4], DEVICE, PORT, &again, &keys[0].dgid, PKEY);
	tell(test, &keys[0], &first);
	tell(test, &keys[0], &second);
	KUNIT_EXPECT_NE(test, first.token, 0ULL);
	KUNIT_EXPECT_EQ(test, first.token, second.token);
	KUNIT_EXPECT_EQ(test, memcmp(first.boot_id, second.boot_id, RCA_BOOT_ID_LEN), 0);
	for (i = 1; i < ARRAY_SIZE(keys); i++) {
		tell(test, &keys[i], &hello);
		KUNIT_EXPECT_NE_MSG(test, hello.token, first.token, "pair %u", i);
	}
}

/* The membership bit differs between the two ends of a connection. */
static void limited_members_are_the_same_peer(struct kunit *test)
{
	struct rca_peer_key full = key_to(2), limited;

	rca_peer_key(&limited, DEVICE, PORT, &here, &full.dgid, PKEY & 0x7fff);
	KUNIT_EXPECT_EQ(test, memcmp(&full, &limited, sizeof(full)), 0);
}

static void last_hello_is_kept(struct kunit *test)
{
	struct rca_trunk_peer info;

	hear(2, 5);
	KUNIT_ASSERT_EQ(test, list(DEVICE, &info), 1u);
	KUNIT_EXPECT_TRUE(test, info.heard);
	KUNIT_EXPECT_EQ(test, info.told, 0u);
	KUNIT_EXPECT_EQ(test, (int)info.boot_id[15], 5);
	hear(2, 6);
	tell_again(test, 2);
	KUNIT_ASSERT_EQ(test, list(DEVICE, &info), 1u);
	KUNIT_EXPECT_EQ(test, info.told, 1u);
	KUNIT_EXPECT_EQ(test, (int)info.boot_id[15], 6);
}

/* The private data of a stock peer is zero. */
static void other_private_data_is_none(struct kunit *test)
{
	static const u8 zeros[224];
	const struct rca_peer_key key = key_to(2);
	struct rca_trunk_peer info;

	rca_peers_hear(&key, zeros, sizeof(zeros));
	rca_peers_hear(&key, zeros, 0);
	KUNIT_EXPECT_EQ(test, list(DEVICE, &info), 0u);
}

static void being_unloaded(struct kunit *test)
{
	struct rca_trunk_peer info;

	rca_trunks = false;
	KUNIT_EXPECT_EQ(test, (int)tell_again(test, 2), 0);
	hear(2, 5);
	KUNIT_EXPECT_EQ(test, list(DEVICE, &info), 0u);
}

static void peers_of_a_device_end_with_it(struct kunit *test)
{
	const struct rca_peer_key other = key_on(OTHER_DEVICE, 2);
	struct rca_trunk_peer info;
	struct rca_hello hello;
	u16 peer;

	for (peer = 1; peer <= 300; peer++)
		hear(peer, 1);
	tell(test, &other, &hello);
	KUNIT_EXPECT_EQ(test, list(DEVICE, &info), 300u);
	rca_peers_forget(DEVICE);
	KUNIT_EXPECT_EQ(test, list(DEVICE, &info), 0u);
	KUNIT_EXPECT_EQ(test, list(OTHER_DEVICE, &info), 1u);
}

static void peers_in_use_stay(struct kunit *test)
{
	struct rca_trunk_peer info;
	u16 peer;

	rca_peers_max = 40;
	for (peer = 1; peer <= 200; peer++) {
		hear(peer, 1);
		tell_again(test, 1);
	}
	KUNIT_EXPECT_EQ(test, list(DEVICE, &info), 40u);
	/* 199 connections, 3 with a hello. */
	KUNIT_EXPECT_EQ(test, (int)tell_again(test, 1), 0);
	rca_peers_max = 0;
	KUNIT_EXPECT_EQ(test, (int)tell_again(test, 900), 0);
	hear(901, 1);
	KUNIT_EXPECT_EQ(test, list(DEVICE, &info), 40u);
	rca_peers_max = 65536;
}

/* A lower limit takes effect in steps, so that no caller waits for long. */
static void some_peers_in_use_go_at_a_time(struct kunit *test)
{
	struct rca_trunk_peer info;
	u16 peer;

	for (peer = 1; peer <= 100; peer++) {
		hear(peer, 1);
		tell_again(test, peer);
	}
	rca_peers_max = 1;
	hear(200, 1);
	KUNIT_EXPECT_EQ(test, list(DEVICE, &info), 100u - 16 + 1);
	hear(201, 1);
	KUNIT_EXPECT_EQ(test, list(DEVICE, &info), 100u - 16 + 1 - 16 + 1);
	rca_peers_max = 65536;
}

/* The private data of a REQ that opens a trunk from a peer, with the token of the hello to it. */
static struct rca_trunk_open open_from(struct kunit *test, const struct rca_peer_key *key)
{
	struct rca_trunk_open open = {
		.hello = {
			.version = RCA_TRUNK_VERSION,
			.oldest = RCA_TRUNK_OLDEST,
			.boot_id = { 9 },
		},
		.cookie = 1,
	};
	struct rca_hello told;

	KUNIT_EXPECT_EQ(test, (int)tell(test, key, &told), RCA_HELLO_LEN);
	open.token = told.token;
	return open;
}

static void told_token_opens_a_trunk(struct kunit *test)
{
	const struct rca_peer_key key = key_to(2);
	const struct rca_trunk_open open = open_from(test, &key);
	struct rca_trunk_peer info;

	KUNIT_EXPECT_TRUE(test, rca_peers_accept(&key, &open));
	KUNIT_ASSERT_EQ(test, list(DEVICE, &info), 1u);
	KUNIT_EXPECT_TRUE(test, info.heard);
	KUNIT_EXPECT_EQ(test, (int)info.boot_id[0], 9);
}

static void trunk_is_refused(struct kunit *test)
{
	const struct rca_peer_key key = key_to(2), other = key_to(3);
	struct rca_trunk_open open = open_from(test, &key);
	struct rca_trunk_peer info;

	/* The token of another peer, and no token. */
	KUNIT_EXPECT_FALSE(test, rca_peers_accept(&other, &open));
	open.token ^= 1;
	KUNIT_EXPECT_FALSE(test, rca_peers_accept(&key, &open));
	open.token ^= 1;
	/* The peer only speaks later versions. */
	open.hello.version = RCA_TRUNK_VERSION + 2;
	open.hello.oldest = RCA_TRUNK_VERSION + 1;
	KUNIT_EXPECT_FALSE(test, rca_peers_accept(&key, &open));
	open.hello.oldest = RCA_TRUNK_OLDEST;
	/* The module is being unloaded. */
	rca_trunks = false;
	KUNIT_EXPECT_FALSE(test, rca_peers_accept(&key, &open));
	rca_trunks = true;
	KUNIT_ASSERT_EQ(test, list(DEVICE, &info), 1u);
	KUNIT_EXPECT_FALSE(test, info.heard);
	KUNIT_EXPECT_TRUE(test, rca_peers_accept(&key, &open));
}

/* Receives a hello of peer 2 that offers a trunk, unless @service or @oldest prevents it. */
static void hear_offer(u64 service, u8 oldest)
{
	const struct rca_hello hello = {
		.service_id = cpu_to_be64(service),
		.version = RCA_TRUNK_VERSION + 1,
		.oldest = oldest,
	};
	const struct rca_peer_key key = key_to(2);
	u8 data[RCA_HELLO_LEN];

	rca_hello_pack(data, &hello);
	rca_peers_hear(&key, data, sizeof(data));
}

static bool may_open(struct rca_hello *hello)
{
	const struct rca_peer_key key = key_to(2);

	memset(hello, 0, sizeof(*hello));
	return rca_peers_may_open(&key, hello);
}

static void offered_trunk_may_be_opened(struct kunit *test)
{
	struct rca_hello hello;

	KUNIT_EXPECT_FALSE(test, may_open(&hello));
	tell_again(test, 2);
	KUNIT_EXPECT_FALSE(test, may_open(&hello));
	hear_offer(0, RCA_TRUNK_OLDEST);
	KUNIT_EXPECT_FALSE(test, may_open(&hello));
	hear_offer(0x1234, RCA_TRUNK_VERSION + 1);
	KUNIT_EXPECT_FALSE(test, may_open(&hello));
	hear_offer(0x1234, RCA_TRUNK_OLDEST);
	KUNIT_EXPECT_TRUE(test, may_open(&hello));
	KUNIT_EXPECT_EQ(test, be64_to_cpu(hello.service_id), 0x1234ULL);
	rca_trunks = false;
	KUNIT_EXPECT_FALSE(test, may_open(&hello));
}

/* The peer does not know it: it may be of another host. One that has come meanwhile counts. */
static void refused_hello_is_forgotten(struct kunit *test)
{
	const struct rca_peer_key key = key_to(2), unknown = key_to(3);
	struct rca_hello hello, older;
	struct rca_trunk_peer info;

	hear_offer(0x1234, RCA_TRUNK_OLDEST);
	KUNIT_ASSERT_TRUE(test, may_open(&hello));
	older = hello;
	older.token++;
	rca_peers_refused(&key, &older);
	rca_peers_refused(&unknown, &hello);
	KUNIT_EXPECT_TRUE(test, may_open(&hello));
	rca_peers_refused(&key, &hello);
	KUNIT_EXPECT_FALSE(test, may_open(&hello));
	KUNIT_ASSERT_EQ(test, list(DEVICE, &info), 1u);
	KUNIT_EXPECT_FALSE(test, info.heard);
	hear_offer(0x1234, RCA_TRUNK_OLDEST);
	KUNIT_EXPECT_TRUE(test, may_open(&hello));
}

/* A trunk that cannot be opened is tried again after 1 s, and then after 2 s. */
static void failed_trunk_is_tried_again_later(struct kunit *test)
{
	const struct rca_peer_key key = key_to(2), unknown = key_to(3);
	struct rca_trunk_peer info;
	struct rca_hello hello;

	rca_peers_failed(&unknown);
	rca_peers_opened(&unknown);
	KUNIT_EXPECT_EQ(test, list(DEVICE, &info), 0u);
	hear_offer(0x1234, RCA_TRUNK_OLDEST);
	rca_peers_failed(&key);
	KUNIT_EXPECT_FALSE(test, may_open(&hello));
	KUNIT_ASSERT_EQ(test, list(DEVICE, &info), 1u);
	KUNIT_EXPECT_GT(test, info.retry_ms, 100u);
	KUNIT_EXPECT_LE(test, info.retry_ms, 1000u);
	msleep(1100);
	list(DEVICE, &info);
	KUNIT_EXPECT_EQ(test, info.retry_ms, 0u);
	KUNIT_EXPECT_TRUE(test, may_open(&hello));
	rca_peers_failed(&key);
	msleep(1100);
	KUNIT_EXPECT_FALSE(test, may_open(&hello));
	msleep(1100);
	KUNIT_EXPECT_TRUE(test, may_open(&hello));
	rca_peers_failed(&key);
	KUNIT_EXPECT_FALSE(test, may_open(&hello));
	list(DEVICE, &info);
	KUNIT_EXPECT_GT(test, info.retry_ms, 3000u);
	rca_peers_opened(&key);
	list(DEVICE, &info);
	KUNIT_EXPECT_EQ(test, info.retry_ms, 0u);
	KUNIT_EXPECT_TRUE(test, may_open(&hello));
}

/* The third bad frame in a minute bars the peer, and no other one. */
static void bad_frames_bar_the_peer(struct kunit *test)
{
	const struct rca_peer_key key = key_to(2), unknown = key_to(3);
	struct rca_trunk_open open = { .hello = { .version = RCA_TRUNK_VERSION,
						  .oldest = RCA_TRUNK_OLDEST } };
	u64 now = get_jiffies_64(), until;
	struct rca_trunk_peer info;
	struct rca_hello hello;

	KUNIT_EXPECT_EQ(test, rca_peers_bad_frame(&unknown), 0ULL);
	hear_offer(0x1234, RCA_TRUNK_OLDEST);
	KUNIT_ASSERT_EQ(test, (int)tell(test, &key, &hello), RCA_HELLO_LEN);
	open.token = hello.token;
	KUNIT_EXPECT_EQ(test, rca_peers_bad_frame(&key), 0ULL);
	KUNIT_EXPECT_EQ(test, rca_peers_bad_frame(&key), 0ULL);
	KUNIT_EXPECT_TRUE(test, may_open(&hello));
	rca_peers_bar_ms = 300;
	until = rca_peers_bad_frame(&key);
	KUNIT_EXPECT_GE(test, until, now + msecs_to_jiffies(300));
	KUNIT_EXPECT_FALSE(test, may_open(&hello));
	KUNIT_EXPECT_FALSE(test, rca_peers_accept(&key, &open));
	KUNIT_ASSERT_EQ(test, list(DEVICE, &info), 1u);
	KUNIT_EXPECT_EQ(test, info.bad_frames, 3u);
	KUNIT_EXPECT_GT(test, info.retry_ms, 0u);
	KUNIT_EXPECT_LE(test, info.retry_ms, 300u);
	/* More of them do not extend the time. */
	KUNIT_EXPECT_EQ(test, rca_peers_bad_frame(&key), 0ULL);
	msleep(350);
	KUNIT_EXPECT_TRUE(test, rca_peers_accept(&key, &open));
	hear_offer(0x1234, RCA_TRUNK_OLDEST);
	KUNIT_EXPECT_TRUE(test, may_open(&hello));
	KUNIT_EXPECT_GT(test, rca_peers_bad_frame(&key), 0ULL);
}

/* A copy of this machine is another host, and knows nobody. */
static void copied_machine_has_another_identity(struct kunit *test)
{
	const struct rca_peer_key key = key_to(2);
	const struct rca_trunk_open open = open_from(test, &key);
	struct rca_hello before, after, again, hello;
	struct rca_trunk_peer info;

	KUNIT_ASSERT_EQ(test, (int)tell(test, &key, &before), RCA_HELLO_LEN);
	hear_offer(0x1234, RCA_TRUNK_OLDEST);
	KUNIT_EXPECT_TRUE(test, may_open(&hello));
	rca_peers_renew();
	KUNIT_EXPECT_EQ(test, list(DEVICE, &info), 0u);
	KUNIT_EXPECT_FALSE(test, may_open(&hello));
	KUNIT_EXPECT_FALSE(test, rca_peers_accept(&key, &open));
	KUNIT_ASSERT_EQ(test, (int)tell(test, &key, &after), RCA_HELLO_LEN);
	KUNIT_EXPECT_NE(test, after.token, before.token);
	KUNIT_EXPECT_FALSE(test, rca_hello_is_of(&after, before.boot_id));
	KUNIT_ASSERT_EQ(test, (int)tell(test, &key, &again), RCA_HELLO_LEN);
	KUNIT_EXPECT_EQ(test, again.token, after.token);
	KUNIT_EXPECT_TRUE(test, rca_hello_is_of(&again, after.boot_id));
}

static void forget(struct kunit *test)
{
	rca_trunks = true;
	rca_peers_bar_ms = 300000;
	rca_peers_interval_ms = 60000;
	rca_peers_forget(DEVICE);
	rca_peers_forget(OTHER_DEVICE);
}

static struct kunit_case peers_cases[] = {
	KUNIT_CASE(first_connections_tell),
	KUNIT_CASE(later_one_in_each_interval),
	KUNIT_CASE(hello_has_the_device),
	KUNIT_CASE(token_is_of_the_pair),
	KUNIT_CASE(limited_members_are_the_same_peer),
	KUNIT_CASE(last_hello_is_kept),
	KUNIT_CASE(other_private_data_is_none),
	KUNIT_CASE(being_unloaded),
	KUNIT_CASE(peers_of_a_device_end_with_it),
	KUNIT_CASE(peers_in_use_stay),
	KUNIT_CASE(some_peers_in_use_go_at_a_time),
	KUNIT_CASE(told_token_opens_a_trunk),
	KUNIT_CASE(trunk_is_refused),
	KUNIT_CASE(offered_trunk_may_be_opened),
	KUNIT_CASE(refused_hello_is_forgotten),
	KUNIT_CASE_SLOW(failed_trunk_is_tried_again_later),
	KUNIT_CASE(bad_frames_bar_the_peer),
	KUNIT_CASE(copied_machine_has_another_identity),
	{}
};

static struct kunit_suite peers_suite = {
	.name = "rdma_cm_alt_peers",
	.exit = forget,
	.test_cases = peers_cases,
};

kunit_test_suite(peers_suite);
