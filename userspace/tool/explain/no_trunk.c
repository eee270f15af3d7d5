// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Why connections do not use trunks. The kernel keeps for each connection what it has decided when
 * it was requested; the state of its peer is that of now.
 */
#include "tool/explain/no_trunk.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool/core/tool.h"

#define SWITCH "modprobe rdma_cm_alt_trunk"

/* Reasons that do not depend on the peer: see RDMA_CM_ALT_NL_A_NO_TRUNK. */
static const struct {
	const char *name, *text;
} reasons[] = {
	{ "off", "trunks were off when it was requested: " SWITCH },
	{ "iwarp", "iWARP has no trunks, its connections are TCP connections" },
	{ "qp-type", "trunks have neither datagrams nor XRC" },
	{ "path", "its path differs by direction, or has no known MTU" },
	{ "never", "the program does not want one: RDMA_CM_ALT_OPTION_TRUNK" },
	{ "elsewhere", "the peer's module has no such listener, but another user of ib_cm there "
		       "may: the request was repeated over ib_cm" },
	{ "asked", "the peer has requested it, and has not used one: rdma-cm-alt explain there" },
};

static bool are_off(void)
{
	return !access("/sys/module/rdma_cm_alt", F_OK) &&
	       access("/sys/module/rdma_cm_alt_trunk", F_OK);
}

/* A hello without a common version: no trunk is ever tried. */
static const char *no_common_version(struct json_object *peer)
{
	static char text[160];

	snprintf(text, sizeof(text), "the peer speaks other versions of the trunk protocol than "
		 "this host, %" PRId64 " at most: update the module of the older one",
		 record_number(peer, "protocol"));
	return text;
}

static bool has_no_common_version(struct json_object *peer)
{
	return json_object_object_get(peer, "common") && !record_number(peer, "common");
}

static const char *after_failures(struct json_object *peer)
{
	int64_t ms = record_number(peer, "retry_ms");
	static char text[192];
	char when[32] = "at any time";

	if (ms)
		snprintf(when, sizeof(when), "in %.1f s", (double)ms / 1000);
	snprintf(text, sizeof(text), "a trunk could not be opened, %" PRId64 " times in a row: it "
		 "is tried again %s, when the peer requests a connection",
		 record_number(peer, "failures"), when);
	return text;
}

/* Only bad frames make a peer wait without a failure. */
static const char *after_bad_frames(struct json_object *peer)
{
	static char text[192];

	snprintf(text, sizeof(text), "frames on its trunk were not the peer's, or malformed: none "
		 "is opened for %.1f s; see rdma-cm-alt show peers",
		 (double)record_number(peer, "retry_ms") / 1000);
	return text;
}

const char *no_trunk_of_peer(struct json_object *peer)
{
	const char *trunk = record_string(peer, "trunk");

	if (trunk && !strcmp(trunk, "opening"))
		return "a trunk is being opened";
	if (trunk)
		return NULL;
	if (are_off())
		return "trunks are off: " SWITCH;
	if (!json_object_object_get(peer, "protocol"))
		return "the peer has not said hello: it has the stock connection manager, its "
		       "trunks are off, or it has opened none to this host yet";
	if (has_no_common_version(peer))
		return no_common_version(peer);
	if (record_number(peer, "failures"))
		return after_failures(peer);
	if (record_number(peer, "retry_ms"))
		return after_bad_frames(peer);
	return "none is open: one is opened when the peer requests another connection within ten "
	       "seconds after its hello";
}

static bool is_same(struct json_object *one, struct json_object *two, const char *key)
{
	return json_object_equal(json_object_object_get(one, key),
				 json_object_object_get(two, key));
}

static struct json_object *peer_of(struct json_object *id, struct json_object *peers)
{
	for (size_t i = 0; i < json_object_array_length(peers); i++) {
		struct json_object *peer = json_object_array_get_idx(peers, i);

		if (is_same(id, peer, "device") && is_same(id, peer, "port") &&
		    is_same(id, peer, "gid") && is_same(id, peer, "peer_gid"))
			return peer;
	}
	return NULL;
}

/* No trunk to the peer was open: what is known of it now. */
static const char *none_open(struct json_object *id, struct json_object *peers)
{
	struct json_object *peer = peers ? peer_of(id, peers) : NULL;

	if (are_off())
		return "trunks are off: " SWITCH;
	if (!peers)
		return "none to the peer was open when it was requested; only root of the host may "
		       "see why";
	if (!peer)
		return "none to the peer was open when it was requested: this host has neither "
		       "sent it a hello nor got one";
	return no_trunk_of_peer(peer) ?:
	       "none to the peer was open when it was requested; one is now";
}

const char *no_trunk_of_id(struct json_object *id, struct json_object *peers)
{
	const char *name = record_string(id, "no_trunk");

	if (!name)
		return NULL;
	if (!strcmp(name, "none"))
		return none_open(id, peers);
	for (size_t i = 0; i < COUNT(reasons); i++)
		if (!strcmp(reasons[i].name, name))
			return reasons[i].text;
	return name;
}
