// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Peers and hellos: how two hosts find out that both run this module.
 *
 * A host tells its hello in the private data of the RTU, which no other user of ib_cm writes or
 * reads: the stock connection manager ignores it. The first FIRST_HELLOS connections to a peer
 * have it, as the peer opens a trunk only when a second connection comes soon, and later one
 * connection in each interval, for a peer whose kernel or settings have changed.
 *
 * A peer is a pair of GIDs in a partition. The peer that sends an RTU has got the REP, so it owns
 * the GID under which its hello is kept, as far as ib_cm can tell.
 *
 * The token of a hello is a keyed hash of the pair, so nothing has to be kept to recognise it in
 * the REQ of a peer. A host that has it has received an RTU as that peer.
 *
 * The memory is not charged to a cgroup, as all users share the peers; rca_peers_max bounds it.
 * Peers that were not used lately make room for new ones.
 *
 * Locking: peers.lock to add, change and remove; peers are found under RCU. identity_lock, which is
 * taken with rca_trunk.lock held. Process context.
 */
#include "trunk/trunk.h"

#include <linux/build_bug.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include "lib/lru.h"
#include "lib/testing.h"
#include "transport/transport.h"

static_assert(sizeof_field(struct rca_trunk_peer, boot_id) == RCA_BOOT_ID_LEN);

/* Unit tests change these. */
RCA_VISIBLE_IF_KUNIT unsigned int rca_peers_max = 65536;
RCA_VISIBLE_IF_KUNIT unsigned int rca_peers_interval_ms = 60000;
RCA_VISIBLE_IF_KUNIT unsigned int rca_peers_bar_ms = 300000;

/* Hellos to a new peer without an interval between them. */
#define FIRST_HELLOS	3

/* A trunk is opened when another connection is requested in this time after a hello. */
#define SECOND_CONNECTION	(10 * HZ)

/* Times until a trunk that could not be opened is tried again: doubled each time. */
#define FIRST_BACKOFF	(1UL * HZ)
#define LAST_BACKOFF	(300UL * HZ)

/* A peer is barred after so many bad frames in this time. */
#define BAD_FRAMES	3
#define BAD_TIME	(60UL * HZ)

/**
 * struct peer - a peer
 * @lru: entry in peers
 * @key: which one (immutable)
 * @told: number of hellos that were sent to it (lock: peers.lock; also read without)
 * @told_at: time of the last one, in jiffies (likewise)
 * @heard: a hello was received (lock: peers.lock; also read without)
 * @heard_at: time of the last one, in jiffies (lock: peers.lock)
 * @hello: the last one (lock: peers.lock)
 * @failed_at: when a trunk could not be opened, in jiffies (lock: peers.lock)
 * @failures: how often in a row (lock: peers.lock)
 * @bad_frames: number of bad frames on trunks to it (lock: peers.lock)
 * @bad_at: times of the last ones, in jiffies (lock: peers.lock)
 * @barred_until: no trunk to it is opened before, in jiffies (lock: peers.lock)
 */
struct peer {
	struct rca_lru_entry lru;
	struct rca_peer_key key;
	u32 told;
	unsigned long told_at;
	u64 heard_at;
	struct rca_hello hello;
	u64 failed_at;
	u32 failures;
	u32 bad_frames;
	u64 bad_at[BAD_FRAMES - 1];
	u64 barred_until;
	bool heard;
};

static_assert(!offsetof(struct peer, lru));
static_assert(offsetof(struct peer, key) == sizeof(struct rca_lru_entry));

static struct rca_lru peers;

/* What this load of the module is to its peers. */
struct identity {
	u64 boot_id[RCA_BOOT_ID_LEN / sizeof(u64)];
	siphash_key_t secret;
};

static struct identity identity;	/* (lock: identity_lock) */
static bool has_identity;		/* (lock: identity_lock) */
static DEFINE_SPINLOCK(identity_lock);

/* Module init. Returns 0 or a negative errno. */
int __init rca_peers_init(void)
{
	return rca_lru_init(&peers, sizeof(struct rca_peer_key));
}

/* Module exit, when no id exists any more. */
void rca_peers_exit(void)
{
	rca_lru_exit(&peers);
}

/*
 * The identity is made when it is first needed, and the time is a part of it: copies of a machine
 * whose module has told no hello yet have different ones, even if they draw equal random numbers.
 */
static struct identity get_identity(void)
{
	struct identity copy;
	u64 now;

	spin_lock(&identity_lock);
	if (!has_identity) {
		get_random_bytes(&identity, sizeof(identity));
		now = ktime_get_real_ns();
		identity.boot_id[0] ^= now;
		identity.secret.key[0] ^= now;
		has_identity = true;
	}
	copy = identity;
	spin_unlock(&identity_lock);
	return copy;
}

static u64 token_for(const struct rca_peer_key *key)
{
	const struct identity own = get_identity();

	return siphash(key, sizeof(*key), &own.secret);
}

static bool hello_is_due(const struct peer *peer)
{
	unsigned long interval = msecs_to_jiffies(rca_peers_interval_ms);

	return READ_ONCE(peer->told) < FIRST_HELLOS ||
	       time_after(jiffies, READ_ONCE(peer->told_at) + interval);
}

/* Notes that the peer is in use. Returns false if it was told a hello lately. */
static bool hello_is_due_now(const struct rca_peer_key *key)
{
	struct peer *peer;
	bool due = true;

	rcu_read_lock();
	peer = rca_lru_find(&peers, key);
	if (peer) {
		due = hello_is_due(peer);
		rca_lru_use(&peer->lru);
	}
	rcu_read_unlock();
	return due;
}

/* Returns the peer, which is @spare if it is a new one; then @spare is cleared. NULL: no memory. */
static struct peer *find_or_add_peer(const struct rca_peer_key *key, struct peer **spare)
{
	struct peer *peer;

	lockdep_assert_held(&peers.lock);
	peer = rca_lru_find(&peers, key);
	if (peer || !*spare || !rca_peers_max)
		return peer;
	peer = *spare;
	peer->key = *key;
	if (rca_lru_add(&peers, &peer->lru, rca_peers_max))
		return NULL;
	*spare = NULL;
	return peer;
}

/* The boot identifier of this host: RCA_BOOT_ID_LEN bytes. Process context. */
void rca_peers_boot_id(u8 *boot_id)
{
	const struct identity own = get_identity();

	memcpy(boot_id, own.boot_id, sizeof(own.boot_id));
}

/* Makes the hello of this host for a peer. */
void rca_peers_fill_hello(const struct rca_peer_key *key, const struct rca_device *dev,
			  struct rca_hello *hello)
{
	*hello = (struct rca_hello) {
		.service_id = rca_service_id(dev),
		.ca_guid = dev->ibdev->node_guid,
		.token = token_for(key),
		.features = RCA_HELLO_NO_DREP,
		.version = RCA_TRUNK_VERSION,
		.oldest = RCA_TRUNK_OLDEST,
		.ack_delay = dev->ibdev->attrs.local_ca_ack_delay,
	};
	rca_peers_boot_id(hello->boot_id);
}

/**
 * rca_peers_tell() - make the private data of an RTU
 * @key: peer to which the RTU will be sent
 * @dev: device of @key
 * @data: RCA_HELLO_LEN bytes; filled in with a hello
 *
 * Context: Process context. May sleep.
 * Return: length of the private data; 0: the RTU has none, because the peer was told lately, or
 * the module is being unloaded.
 */
u8 rca_peers_tell(const struct rca_peer_key *key, const struct rca_device *dev, u8 *data)
{
	struct peer *peer, *spare;
	struct rca_hello hello;
	bool due = false;

	if (!rca_trunks_enabled() || !hello_is_due_now(key))
		return 0;
	spare = kzalloc(sizeof(*spare), GFP_KERNEL);
	spin_lock(&peers.lock);
	peer = find_or_add_peer(key, &spare);
	if (peer && hello_is_due(peer)) {
		due = true;
		WRITE_ONCE(peer->told, peer->told + 1);
		WRITE_ONCE(peer->told_at, jiffies);
	}
	spin_unlock(&peers.lock);
	kfree(spare);
	if (!due)
		return 0;
	rca_peers_fill_hello(key, dev, &hello);
	rca_hello_pack(data, &hello);
	return RCA_HELLO_LEN;
}

static bool peer_is_barred(const struct peer *peer)
{
	lockdep_assert_held(&peers.lock);
	return time_before64(get_jiffies_64(), peer->barred_until);
}

/* Returns whether a trunk to the peer may be open now. */
static bool keep_hello(const struct rca_peer_key *key, const struct rca_hello *hello)
{
	struct peer *peer, *spare;
	bool barred = false;

	spare = kzalloc(sizeof(*spare), GFP_NOWAIT | __GFP_NOWARN);
	spin_lock(&peers.lock);
	peer = find_or_add_peer(key, &spare);
	if (peer) {
		peer->hello = *hello;
		WRITE_ONCE(peer->heard, true);	/* pairs with rca_peers_may_open() */
		peer->heard_at = get_jiffies_64();
		barred = peer_is_barred(peer);
	}
	spin_unlock(&peers.lock);
	kfree(spare);
	return !barred;
}

/**
 * rca_peers_hear() - read the private data of an RTU
 * @key: peer from which it was received
 * @data: the private data
 * @len: its length
 *
 * Context: Process context, callback of a transport. Does not sleep.
 * Return: whether they are a hello; false also while the module is being unloaded.
 */
bool rca_peers_hear(const struct rca_peer_key *key, const void *data, size_t len)
{
	struct rca_hello hello;

	if (!rca_trunks_enabled() || rca_hello_unpack(data, len, &hello))
		return false;
	keep_hello(key, &hello);
	return true;
}

/**
 * rca_peers_accept() - may a peer open a trunk to this host?
 * @key: the peer
 * @open: what it has sent
 *
 * Its hello is kept, as one in an RTU.
 *
 * Context: Process context, callback of ib_cm. Does not sleep.
 * Return: whether it has the token that it was told, speaks a version that this host speaks, and is
 * not barred. False while the module is being unloaded.
 */
bool rca_peers_accept(const struct rca_peer_key *key, const struct rca_trunk_open *open)
{
	if (!rca_trunks_enabled() || open->token != token_for(key) ||
	    !rca_hello_common_version(&open->hello))
		return false;
	return keep_hello(key, &open->hello);
}

/* Time after one or more failures in which no trunk is opened, in jiffies. */
static unsigned long trunk_backoff(u32 failures)
{
	return min(FIRST_BACKOFF << min(failures - 1, 16U), LAST_BACKOFF);
}

/**
 * rca_peers_may_open() - is a trunk to a peer worth it, which has just requested a connection?
 * @key: the peer
 * @hello: set to its last hello
 *
 * Context: Process context, callback of a transport. Does not sleep.
 * Return: true if it has told within the last seconds that it accepts trunks, and it is not too
 * early to try again after a failure or bad frames.
 */
bool rca_peers_may_open(const struct rca_peer_key *key, struct rca_hello *hello)
{
	struct peer *peer;
	bool may = false;

	if (!rca_trunks_enabled())
		return false;
	rcu_read_lock();
	peer = rca_lru_find(&peers, key);
	if (peer && READ_ONCE(peer->heard)) {
		spin_lock(&peers.lock);
		*hello = peer->hello;
		may = get_jiffies_64() - peer->heard_at < SECOND_CONNECTION &&
		      hello->service_id && rca_hello_common_version(hello) &&
		      !peer_is_barred(peer) &&
		      (!peer->failures ||
		       get_jiffies_64() - peer->failed_at >= trunk_backoff(peer->failures));
		spin_unlock(&peers.lock);
	}
	rcu_read_unlock();
	return may;
}

static void set_failures(const struct rca_peer_key *key, bool failed)
{
	struct peer *peer;

	spin_lock(&peers.lock);
	peer = rca_lru_find(&peers, key);
	if (peer) {
		peer->failures = failed ? peer->failures + 1 : 0;
		peer->failed_at = get_jiffies_64();
	}
	spin_unlock(&peers.lock);
}

/* A trunk to the peer is open. Process context. */
void rca_peers_opened(const struct rca_peer_key *key)
{
	set_failures(key, false);
}

/* A trunk to the peer could not be opened; each time it is tried again later. Process context. */
void rca_peers_failed(const struct rca_peer_key *key)
{
	set_failures(key, true);
}

/**
 * rca_peers_refused() - the host with the GID of a peer does not know a hello
 * @key: the peer
 * @hello: the hello, which may be of another host or of an earlier load of the peer's module
 *
 * It is forgotten. The next hello opens a trunk again.
 *
 * Context: Process context, callback of ib_cm. Does not sleep.
 */
void rca_peers_refused(const struct rca_peer_key *key, const struct rca_hello *hello)
{
	struct peer *peer;

	spin_lock(&peers.lock);
	peer = rca_lru_find(&peers, key);
	if (peer && peer->hello.token == hello->token &&
	    rca_hello_is_of(&peer->hello, hello->boot_id))
		WRITE_ONCE(peer->heard, false);	/* pairs with rca_peers_may_open() */
	spin_unlock(&peers.lock);
}

/**
 * rca_peers_bad_frame() - a frame on a trunk to a peer was not the peer's, or was malformed
 * @key: the peer
 *
 * Any host can send a frame to the QP of a link that has its number, so a frame alone costs no more
 * than the link. With the third one in a minute the peer is barred: no trunk to it is opened or
 * accepted for five minutes.
 *
 * Context: Process context, callback of a completion queue. Does not sleep.
 * Return: time until a trunk may be opened again, in jiffies since boot, if the peer is barred from
 * now on; else 0.
 */
u64 rca_peers_bad_frame(const struct rca_peer_key *key)
{
	u64 now = get_jiffies_64(), *at, until = 0;
	struct peer *peer;

	spin_lock(&peers.lock);
	peer = rca_lru_find(&peers, key);
	if (peer) {
		at = &peer->bad_at[peer->bad_frames % ARRAY_SIZE(peer->bad_at)];
		if (++peer->bad_frames >= BAD_FRAMES && now - *at < BAD_TIME &&
		    !peer_is_barred(peer)) {
			until = now + msecs_to_jiffies(rca_peers_bar_ms);
			peer->barred_until = until;
		}
		*at = now;
	}
	spin_unlock(&peers.lock);
	return until;
}

/* Start a walk; rhashtable_walk_exit() ends it. Process context. */
void rca_peers_walk(struct rhashtable_iter *iter)
{
	rhashtable_walk_enter(&peers.table, iter);
}

/* Time until a trunk may be tried again, in milliseconds. */
static u32 time_to_retry(const struct peer *peer)
{
	u64 at = peer->failures ? peer->failed_at + trunk_backoff(peer->failures) : 0;
	u64 now = get_jiffies_64();

	lockdep_assert_held(&peers.lock);
	at = max(at, peer->barred_until);
	return at > now ? jiffies_to_msecs(at - now) : 0;
}

/**
 * rca_peers_next() - the next peer of a walk
 * @iter: from rca_peers_walk()
 * @info: set
 *
 * Peers that are added or removed meanwhile may be left out, or come twice.
 *
 * Context: Process context.
 * Return: false at the end.
 */
bool rca_peers_next(struct rhashtable_iter *iter, struct rca_trunk_peer *info)
{
	struct peer *peer;

	rhashtable_walk_start(iter);
	peer = rca_lru_next(iter);
	if (peer) {
		spin_lock(&peers.lock);
		*info = (struct rca_trunk_peer) {
			.key = peer->key,
			.told = peer->told,
			.failures = peer->failures,
			.retry_ms = time_to_retry(peer),
			.bad_frames = peer->bad_frames,
			.heard = peer->heard,
			.heard_s = div_u64(get_jiffies_64() - peer->heard_at, HZ),
			.version = peer->hello.version,
			.common = rca_hello_common_version(&peer->hello),
			.features = peer->hello.features,
			.ca_guid = peer->hello.ca_guid,
		};
		memcpy(info->boot_id, peer->hello.boot_id, sizeof(info->boot_id));
		spin_unlock(&peers.lock);
	}
	rhashtable_walk_stop(iter);
	return peer;
}

/**
 * rca_peers_forget() - drop peers
 * @device: number of their device, which has no ids any more; 0: of all devices
 *
 * Context: Process context. Sleeps.
 */
void rca_peers_forget(u32 device)
{
	struct rhashtable_iter iter;
	struct peer *peer;

	rhashtable_walk_enter(&peers.table, &iter);
	rhashtable_walk_start(&iter);
	while ((peer = rca_lru_next(&iter))) {
		if (device && peer->key.device != device)
			continue;
		spin_lock(&peers.lock);
		/* Another thread may have removed it to make room. */
		if (peer == rca_lru_find(&peers, &peer->key))
			rca_lru_remove(&peers, &peer->lru);
		spin_unlock(&peers.lock);
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
}

/*
 * This machine is a copy: it gets another identity, and what peers have told was told to the other
 * one. Process context; sleeps.
 */
void rca_peers_renew(void)
{
	spin_lock(&identity_lock);
	has_identity = false;
	spin_unlock(&identity_lock);
	rca_peers_forget(0);
}
