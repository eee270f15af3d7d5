// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Many connections, and a count of the events of each end. */
#include "crowd.h"


void crowd_make(struct crowd *crowd, unsigned int count)
{
	struct pair *p = &crowd->p;

	EXPECT(count <= CROWD_MAX);
	memset(crowd, 0, sizeof(*crowd));
	crowd->count = count;
	pair_listen_apart(p);
	for (unsigned int i = 0; i < count; i++)
		crowd->id[CLIENTS][i] = get_client(p->ctx, p->cq, SERVER_AT, p->port, i);
}

void crowd_option(struct crowd *crowd, uint32_t name, const void *value, uint32_t len)
{
	for (unsigned int i = 0; i < crowd->count; i++)
		EXPECT_EQ(rca_set_option(crowd->p.ctx, crowd->id[CLIENTS][i], RDMA_CM_ALT_OPTION,
					 name, value, len), 0);
}

void crowd_ask(struct crowd *crowd)
{
	for (uint32_t i = 0; i < crowd->count; i++)
		EXPECT_EQ(rca_connect(crowd->p.ctx, crowd->id[CLIENTS][i], &i, sizeof(i)), 0);
}

void crowd_disconnect(struct crowd *crowd)
{
	for (unsigned int i = 0; i < crowd->count; i++)
		EXPECT_EQ(rca_disconnect(crowd->p.ctx, crowd->id[CLIENTS][i]), 0);
}

static void count_event(struct crowd *crowd, enum crowd_side side, unsigned int number,
			const event_t *ev)
{
	if (number >= crowd->count)
		ktap_fail(__FILE__, __LINE__, "event %u of id %u, which is none of ours", ev->type,
			  ev->id);
	EXPECT(ev->type < CROWD_TYPES);
	crowd->told[side][number][ev->type]++;
}

/* The private data of the request has the client's number. */
static void take_request(struct crowd *crowd, const event_t *ev)
{
	uint32_t number;
	int ret;

	memcpy(&number, ev->private_data, sizeof(number));
	/* ib_cm recognizes a duplicate request only as long as the connection exists. */
	if (crowd->doubled && number < crowd->count &&
	    crowd_told(crowd, SERVERS, number, TOLD(DISCONNECTED))) {
		EXPECT_EQ(rca_destroy(crowd->p.ctx, ev->id), 0);
		return;
	}
	count_event(crowd, SERVERS, number, ev);
	crowd->id[SERVERS][number] = ev->id;
	if (crowd->deaf[SERVERS])
		return;
	ret = rca_accept(crowd->p.ctx, ev->id, number, NULL, 0);
	/* The client may be gone, or the device. */
	if (ret != -ENXIO && ret != -ECONNRESET)
		EXPECT_EQ(ret, 0);
	crowd->accepted[number] = !ret;
}

/* A server's id has the cookie 0 until it is accepted. */
static unsigned int number_of(const struct crowd *crowd, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < crowd->count; i++)
		if (crowd->id[SERVERS][i] == id)
			break;
	return i;
}

void crowd_pump(struct crowd *crowd)
{
	struct pair *p = &crowd->p;
	event_t ev;
	int ret;

	while (event_waits(p->lq)) {
		get_event(p->lq, &ev);
		if (ev.type == RDMA_CM_ALT_EVENT_CONNECT_REQUEST)
			take_request(crowd, &ev);
		else if (ev.id != p->listener)
			count_event(crowd, SERVERS, number_of(crowd, ev.id), &ev);
	}
	while (!crowd->deaf[CLIENTS] && event_waits(p->cq)) {
		get_event(p->cq, &ev);
		count_event(crowd, CLIENTS, ev.cookie, &ev);
		if (ev.type != RDMA_CM_ALT_EVENT_CONNECT_RESPONSE)
			continue;
		ret = rca_establish(p->ctx, ev.id);
		/* The connection may have ended meanwhile; its event is still to be read. */
		if (ret != -ENXIO && ret != -EINVAL && ret != -ECONNRESET)
			EXPECT_EQ(ret, 0);
	}
}

unsigned int crowd_told(const struct crowd *crowd, enum crowd_side side, unsigned int number,
			uint32_t set)
{
	unsigned int sum = 0;

	for (unsigned int type = 0; type < CROWD_TYPES; type++)
		if (set & 1u << type)
			sum += crowd->told[side][number][type];
	return sum;
}

unsigned int crowd_sum(const struct crowd *crowd, enum crowd_side side, uint32_t set)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < crowd->count; i++)
		sum += crowd_told(crowd, side, i, set);
	return sum;
}

static bool all_told(const struct crowd *crowd, enum crowd_side side, uint32_t set)
{
	for (unsigned int i = 0; i < crowd->count; i++)
		if (!crowd_told(crowd, side, i, set))
			return false;
	return true;
}

static void tell_events(const struct crowd *crowd, enum crowd_side side, unsigned int number)
{
	const char *name = side == CLIENTS ? "client" : "server";

	for (unsigned int type = 0; type < CROWD_TYPES; type++)
		if (crowd->told[side][number][type])
			ktap_note("%s %u: event %u, %u times", name, number, type,
				  crowd->told[side][number][type]);
}

/* Names some of the ends that have no event of @set. */
static void tell_some(const struct crowd *crowd, enum crowd_side side, uint32_t set)
{
	unsigned int left = 4;

	for (unsigned int i = 0; i < crowd->count && left; i++) {
		if (crowd_told(crowd, side, i, set))
			continue;
		tell_events(crowd, side, i);
		left--;
	}
}

double crowd_await(struct crowd *crowd, enum crowd_side side, uint32_t set)
{
	double start = now();

	while (!all_told(crowd, side, set)) {
		crowd_pump(crowd);
		if (now() - start > PATIENCE) {
			tell_some(crowd, side, set);
			ktap_fail(__FILE__, __LINE__, "%u of %u %s were told of %#x",
				  crowd_sum(crowd, side, set), crowd->count,
				  side == CLIENTS ? "clients" : "servers", set);
		}
		usleep(1000);
	}
	return now() - start;
}

void crowd_expect(const struct crowd *crowd, enum crowd_side side, uint32_t set)
{
	for (unsigned int i = 0; i < crowd->count; i++) {
		for (unsigned int type = 0; type < CROWD_TYPES; type++) {
			if (crowd->told[side][i][type] == !!(set & 1u << type))
				continue;
			tell_events(crowd, side, i);
			ktap_fail(__FILE__, __LINE__, "event %u was told %u times, wanted %u",
				  type, crowd->told[side][i][type], !!(set & 1u << type));
		}
	}
}

void crowd_end(struct crowd *crowd)
{
	for (unsigned int i = 0; i < crowd->count; i++)
		EXPECT_EQ(rca_destroy(crowd->p.ctx, crowd->id[CLIENTS][i]), 0);
	MUST(close(crowd->p.cq));
	MUST(close(crowd->p.lq));
	MUST(close(crowd->p.ctx));
}
