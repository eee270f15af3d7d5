// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sessions of the fuzzer. Each frame that a side keeps has memory of its own, which is freed when
 * the session says that the peer has the frame.
 */
#include "fuzz.h"

#include <stdlib.h>

#include "trunk/proto.h"
#include "trunk/session.h"

#define FRAMES RCA_SESSION_FRAMES
#define RECEIVES RCA_SESSION_RECEIVES

/* Most frames until both sides have nothing to do any more. */
#define MOST_TO_REST 100

/* A frame is sent as its header and its contents. */
struct frame {
	struct rca_frame_hdr hdr;
	u32 contents;
};

struct side {
	struct rca_session session;
	u32 *kept[FRAMES];	/* contents by number; NULL: not kept */
	u32 freed;		/* number of the last frame that was freed */
	u32 added;		/* contents of the next frame */
	u32 expected;		/* contents of the peer's next frame */
	struct frame way[RECEIVES];	/* on the way to this side */
	unsigned int first;
	unsigned int count;
	unsigned int buffers;	/* receive buffers: posted */
	unsigned int handled;	/* and not posted again yet */
	u64 cookie;
	u64 peer_cookie;
};

struct pair {
	struct side side[2];
	unsigned int sends;
};

static void begin_side(struct side *side, u32 sent, u32 received, u64 cookie, u64 peer_cookie)
{
	memset(side, 0, sizeof(*side));
	rca_session_init(&side->session, 1);
	side->session.cookie = cookie;
	side->session.peer_cookie = peer_cookie;
	side->cookie = cookie;
	side->peer_cookie = peer_cookie;
	side->session.sent = sent;
	side->session.acked = sent;
	side->session.next = sent + 1;
	side->session.received = received;
	side->freed = sent;
}

static void free_acked(struct side *side)
{
	while (side->freed != side->session.acked) {
		u32 **kept = &side->kept[++side->freed % FRAMES];

		MUST(*kept);
		free(*kept);
		*kept = NULL;
	}
}

static void end_side(struct side *side)
{
	unsigned int i;

	for (i = 0; i < FRAMES; i++)
		free(side->kept[i]);
}

static int attach(struct side *side, u32 peer_received)
{
	struct rca_session before = side->session;

	if (rca_session_attach(&side->session, side->cookie, side->peer_cookie, peer_received)) {
		MUST(!memcmp(&before, &side->session, sizeof(before)));
		return -EPROTO;
	}
	free_acked(side);
	side->count = 0;
	side->handled = 0;
	side->buffers = RECEIVES;
	return 0;
}

static void attach_both(struct pair *pair)
{
	u32 received = pair->side[0].session.received;

	MUST(!attach(&pair->side[0], pair->side[1].session.received));
	MUST(!attach(&pair->side[1], received));
}

static bool add_message(struct side *side)
{
	u32 **kept;

	if (!rca_session_may_add(&side->session))
		return false;
	kept = &side->kept[rca_session_add(&side->session) % FRAMES];
	MUST(!*kept);
	*kept = malloc(sizeof(**kept));
	**kept = side->added++;
	return true;
}

/* Returns whether a frame was sent: one with records, or an acknowledgement. */
static bool send_frame(struct side *side, bool ack, struct frame *frame)
{
	struct rca_session *session = &side->session;
	const u32 *kept;

	*frame = (struct frame) { .hdr.records = ack ? 0 : 1 };
	if (ack ? !rca_session_ack_due(session) : !rca_session_may_send(session))
		return false;
	kept = side->kept[session->next % FRAMES];
	MUST(ack || kept);
	if (!ack)
		frame->contents = *kept;
	rca_session_send(session, ack, &frame->hdr);
	MUST((u16)(session->granted - session->used) <= RECEIVES);
	MUST(frame->hdr.cookie == session->peer_cookie);
	return true;
}

static bool post(struct side *side, unsigned int most)
{
	unsigned int count = side->handled < most ? side->handled : most;

	if (!count)
		return false;
	rca_session_posted(&side->session, count);
	side->handled -= count;
	side->buffers += count;
	return true;
}

static bool pair_send(struct pair *pair, struct side *side, bool ack)
{
	struct side *peer = &pair->side[side == &pair->side[0]];
	struct frame frame;

	if (!send_frame(side, ack, &frame))
		return false;
	MUST(peer->count < peer->buffers);
	peer->way[(peer->first + peer->count++) % RECEIVES] = frame;
	pair->sends++;
	return true;
}

static bool deliver_frame(struct side *side)
{
	const struct frame *frame = &side->way[side->first];

	if (!side->count)
		return false;
	switch (rca_session_receive(&side->session, &frame->hdr)) {
	case RCA_FRAME_TAKE:
		MUST(frame->hdr.records);
		MUST(frame->contents == side->expected++);
		break;
	case RCA_FRAME_SKIP:
		MUST(!frame->hdr.records);
		break;
	case RCA_FRAME_FOREIGN:
	case RCA_FRAME_BROKEN:
		MUST(!"a frame of an honest peer is broken");
	}
	free_acked(side);
	side->first = (side->first + 1) % RECEIVES;
	side->count--;
	side->buffers--;
	side->handled++;
	return true;
}

static void come_to_rest(struct pair *pair)
{
	unsigned int i, before = pair->sends;
	bool again;

	do {
		again = false;
		for (i = 0; i < 2; i++) {
			struct side *side = &pair->side[i];

			again |= pair_send(pair, side, false);
			again |= pair_send(pair, side, true);
			again |= deliver_frame(side);
			again |= post(side, RECEIVES);
		}
		MUST(pair->sends - before < MOST_TO_REST);
	} while (again);
	for (i = 0; i < 2; i++) {
		MUST(pair->side[i].expected == pair->side[!i].added);
		MUST(pair->side[i].session.received == pair->side[!i].session.sent);
		MUST(rca_session_may_add(&pair->side[i].session));
	}
}

/* First numbers: small, or before a wrap-around. */
static u32 first_number(struct input *in)
{
	u8 byte = in_u8(in);

	return byte < 128 ? byte : (u32)byte - 256;
}

static void advance_credits(struct side *side, u16 by)
{
	side->session.used += by;
	side->session.granted += by;
	side->session.posted += by;
	side->session.told_posted += by;
}

static void pair_step(struct pair *pair, u8 byte)
{
	struct side *side = &pair->side[byte & 1];
	unsigned int more = byte >> 4;

	switch (byte >> 1 & 7) {
	case 0:
	case 1:
		add_message(side);
		break;
	case 2:
		pair_send(pair, side, false);
		break;
	case 3:
		pair_send(pair, side, true);
		break;
	case 4:
	case 5:
		deliver_frame(side);
		break;
	case 6:
		post(side, more + 1);
		break;
	case 7:
		if (more == 0)
			attach_both(pair);
		else if (more < 4)
			come_to_rest(pair);
		break;
	}
}

void fuzz_pair(struct input *in)
{
	u32 first = first_number(in), second = first_number(in);
	u16 credits = first_number(in);
	struct pair pair = { .sends = 0 };

	begin_side(&pair.side[0], first, second, 1, 2);
	begin_side(&pair.side[1], second, first, 2, 1);
	attach_both(&pair);
	advance_credits(&pair.side[0], credits);
	advance_credits(&pair.side[1], credits);
	while (in->left)
		pair_step(&pair, in_u8(in));
	come_to_rest(&pair);
	end_side(&pair.side[0]);
	end_side(&pair.side[1]);
}

/* A header that differs from what the session expects. */
static void receive_lie(struct side *side, struct input *in)
{
	struct rca_session *session = &side->session, before = *session;
	u8 byte = in_u8(in);
	struct rca_frame_hdr hdr = {
		.cookie = byte & 1 ? 1 : 2 + (byte & 2),
		.number = session->received + (byte >> 4) - 4,
		.received = session->acked + (int8_t)in_u8(in),
		.credits = session->granted + (int8_t)in_u8(in),
		.records = byte & 4 ? 1 : 0,
	};
	enum rca_session_verdict verdict;

	if (byte & 8)
		hdr.number += (u32)in_u8(in) << 24;
	verdict = rca_session_receive(session, &hdr);
	MUST((verdict == RCA_FRAME_FOREIGN) == (hdr.cookie != 1));
	if (verdict == RCA_FRAME_BROKEN || verdict == RCA_FRAME_FOREIGN) {
		MUST(!memcmp(&before, session, sizeof(before)));
		return;
	}
	MUST((u16)(session->granted - session->used) <= RECEIVES);
	MUST((u16)(session->granted - before.granted) <= RECEIVES);
	MUST(session->acked - before.acked <= before.next - 1 - before.acked);
	MUST((verdict == RCA_FRAME_TAKE) ==
	     (hdr.records && hdr.number == before.received + 1));
	MUST(session->received == before.received + (verdict == RCA_FRAME_TAKE));
	free_acked(side);
	if (side->buffers) {
		side->buffers--;
		side->handled++;
	}
}

void fuzz_liar(struct input *in)
{
	u32 first = first_number(in);
	struct side side;
	struct frame frame;

	begin_side(&side, first, first_number(in), 1, 2);
	while (in->left) {
		u8 byte = in_u8(in);

		switch (byte & 7) {
		case 0:
		case 1:
			add_message(&side);
			break;
		case 2:
		case 3:
			send_frame(&side, byte & 8, &frame);
			break;
		case 4:
		case 5:
			receive_lie(&side, in);
			break;
		case 6:
			post(&side, byte >> 3);
			break;
		case 7:
			attach(&side, side.session.acked + (byte >> 3) - 8);
			break;
		}
	}
	end_side(&side);
}
