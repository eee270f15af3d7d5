// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See ids.h. */
#include "ids.h"

struct known *ids_add(struct ids *ids, uint32_t id, bool client, bool datagram)
{
	struct known *known = &ids->all[ids->count];

	if (ids->count == IDS)
		return NULL;
	ids->count++;
	*known = (struct known) { .id = id, .client = client, .datagram = datagram };
	return known;
}

struct known *ids_find(struct ids *ids, uint32_t id)
{
	for (struct known *known = ids->all; known < ids->all + ids->count; known++)
		if (known->id == id)
			return known;
	return NULL;
}

struct known *ids_local(struct ids *ids, unsigned int part, uint32_t local)
{
	for (struct known *known = ids->all; known < ids->all + ids->count; known++)
		if (known->local == local && known->part == part)
			return known;
	return NULL;
}

struct known *ids_request(struct ids *ids, bool datagram)
{
	for (struct known *known = ids->all; known < ids->all + ids->count; known++)
		if (!known->client && !known->answered && known->datagram == datagram)
			return known;
	return NULL;
}

const char *ids_event(struct known *known, unsigned int type, bool confirmed)
{
	unsigned int bit = 1u << type, before = known->events;

	known->events |= bit;
	if (before & bit)
		return "an event came twice";
	if (bit & (REPORTED | ENDED) && before & ENDED)
		return "an event came after the end of the connection";
	if (type == EVENT(ESTABLISHED) && !known->client && !confirmed)
		return "ESTABLISHED, and the peer has sent no RTU";
	if (type == EVENT(TIMEWAIT_EXIT) && !(before & ENDED))
		return "TIMEWAIT_EXIT before the end of the connection";
	return NULL;
}
