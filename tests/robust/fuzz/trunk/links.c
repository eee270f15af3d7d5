// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Links of the fuzzer: two ends that count credits. A QP delivers frames in order, and loses those
 * on the way when it is replaced.
 */
#include "fuzz.h"

#include <stdlib.h>

#include "trunk/credits.h"
#include "trunk/proto.h"

#define RECEIVES RCA_LINK_RECEIVES

/* Most frames with records that wait, and most frames until both ends have nothing to do. */
#define MOST_WAIT 100
#define MOST_TO_REST (4 * MOST_WAIT)

struct side {
	struct rca_credits credits;
	unsigned int wants;	/* frames with records that wait */
	struct rca_frame_hdr *way[RECEIVES];	/* on the way to this side */
	unsigned int first;
	unsigned int count;
	unsigned int buffers;	/* receive buffers: posted */
	unsigned int handled;	/* and not posted again yet */
};

struct pair {
	struct side side[2];
	unsigned int sends;
	u64 cookie;
};

static void end_way(struct side *side)
{
	for (; side->count; side->count--) {
		free(side->way[side->first]);
		side->first = (side->first + 1) % RECEIVES;
	}
}

/* Another QP, whose cookies are new. */
static void replace(struct pair *pair, u16 start)
{
	unsigned int i;

	pair->cookie += 2;
	for (i = 0; i < 2; i++) {
		struct side *side = &pair->side[i];

		end_way(side);
		rca_credits_init(&side->credits, pair->cookie + i, pair->cookie + !i);
		side->credits.used += start;
		side->credits.granted += start;
		side->credits.posted += start;
		side->credits.told_posted += start;
		side->buffers = RECEIVES;
		side->handled = 0;
	}
}

/* Each frame on the way has memory of its own, and a buffer at its receiver. */
static bool send_frame(struct pair *pair, struct side *side)
{
	struct side *peer = &pair->side[side == &pair->side[0]];
	struct rca_frame_hdr *hdr;

	if (side->wants ? !rca_credits_may_send(&side->credits) :
			  !rca_credits_ack_due(&side->credits))
		return false;
	MUST(peer->count < peer->buffers);
	hdr = calloc(1, sizeof(*hdr));
	hdr->records = side->wants ? 1 : 0;
	rca_credits_send(&side->credits, hdr);
	MUST((u16)(side->credits.granted - side->credits.used) < RECEIVES);
	MUST(hdr->cookie == peer->credits.cookie);
	MUST(!side->credits.ack_asked);
	side->wants -= hdr->records;
	peer->way[(peer->first + peer->count++) % RECEIVES] = hdr;
	pair->sends++;
	return true;
}

static bool post(struct side *side, unsigned int most)
{
	unsigned int count = side->handled < most ? side->handled : most;

	if (!count)
		return false;
	rca_credits_posted(&side->credits, count);
	side->handled -= count;
	side->buffers += count;
	return true;
}

static bool deliver_frame(struct side *side, bool asks)
{
	struct rca_frame_hdr *hdr = side->way[side->first];

	if (!side->count)
		return false;
	MUST(!rca_credits_receive(&side->credits, hdr));
	if (asks && hdr->records)
		rca_credits_ask_ack(&side->credits);
	free(hdr);
	side->first = (side->first + 1) % RECEIVES;
	side->count--;
	side->buffers--;
	side->handled++;
	return true;
}

/* Nothing waits for ever, and an exchange of frames without records ends. */
static void come_to_rest(struct pair *pair)
{
	unsigned int i, before = pair->sends;
	bool again;

	do {
		again = false;
		for (i = 0; i < 2; i++) {
			struct side *side = &pair->side[i];

			again |= send_frame(pair, side);
			again |= deliver_frame(side, false);
			again |= post(side, RECEIVES);
		}
		MUST(pair->sends - before < MOST_TO_REST);
	} while (again);
	for (i = 0; i < 2; i++) {
		MUST(!pair->side[i].wants);
		MUST(!pair->side[i].count && !pair->side[i].handled);
		MUST(rca_credits_may_send(&pair->side[i].credits));
	}
}

static void pair_step(struct pair *pair, u8 byte)
{
	struct side *side = &pair->side[byte & 1];
	unsigned int more = byte >> 4;

	switch (byte >> 1 & 7) {
	case 0:
	case 1:
		if (side->wants + more < MOST_WAIT)
			side->wants += more + 1;
		break;
	case 2:
	case 3:
		while (send_frame(pair, side) && more--)
			;
		break;
	case 4:
	case 5:
		deliver_frame(side, more & 1);
		break;
	case 6:
		post(side, more + 1);
		break;
	case 7:
		if (more == 0)
			replace(pair, 0);
		else if (more < 4)
			come_to_rest(pair);
		break;
	}
}

/* First numbers: small, or before a wrap-around. */
static u16 first_number(struct input *in)
{
	u8 byte = in_u8(in);

	return byte < 128 ? byte : (u16)byte - 256;
}

void fuzz_pair(struct input *in)
{
	struct pair pair = { .cookie = 1 };

	replace(&pair, first_number(in));
	while (in->left)
		pair_step(&pair, in_u8(in));
	come_to_rest(&pair);
}

/* A header that differs from what an honest peer sends. */
static void receive_lie(struct side *side, struct input *in)
{
	struct rca_credits *credits = &side->credits, before = *credits;
	u8 byte = in_u8(in);
	struct rca_frame_hdr hdr = {
		.cookie = byte & 1 ? 1 : byte & 2,
		.credits = credits->granted + (int8_t)in_u8(in),
		.records = byte & 4 ? 1 : 0,
	};
	u16 left;
	int ret;

	if (byte & 8)
		hdr.credits += (u16)in_u8(in) << 8;
	ret = rca_credits_receive(credits, &hdr);
	MUST((ret == -EBADMSG) == (hdr.cookie != 1));
	if (ret) {
		MUST(!memcmp(&before, credits, sizeof(before)));
		return;
	}
	left = credits->granted - credits->used;
	MUST(left <= RECEIVES);
	MUST(left >= (u16)(before.granted - before.used));
	if (side->buffers) {
		side->buffers--;
		side->handled++;
	}
}

void fuzz_liar(struct input *in)
{
	struct side side = { .buffers = RECEIVES };
	struct rca_frame_hdr hdr = {};
	u16 start = first_number(in);

	rca_credits_init(&side.credits, 1, 2);
	side.credits.used += start;
	side.credits.granted += start;
	while (in->left) {
		u8 byte = in_u8(in);

		switch (byte & 3) {
		case 0:
			if (rca_credits_may_send(&side.credits))
				rca_credits_send(&side.credits, &hdr);
			MUST((u16)(side.credits.granted - side.credits.used) <= RECEIVES);
			break;
		case 1:
			receive_lie(&side, in);
			break;
		case 2:
			post(&side, byte >> 2);
			break;
		case 3:
			rca_credits_ask_ack(&side.credits);
			MUST(!rca_credits_ack_due(&side.credits) ||
			     rca_credits_may_send(&side.credits));
			break;
		}
	}
}
