// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Mappings of a stream.
 *
 * The peer can write to our table at any time, so an entry is copied once, when its message
 * arrives.
 *
 * Locking: rcl_sock.lock.
 */
#include "rsocket/stream/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rcl_maps *rcl_maps_get(struct rcl_stream *s)
{
	if (!s->maps)
		s->maps = calloc(1, sizeof(*s->maps));
	return s->maps;
}

int rcl_maps_came(struct rcl_stream *s, uint32_t index)
{
	const uint8_t *table = s->rx.table + sizeof(struct rcl_target) * RCL_SGL_ENTRIES;
	struct rcl_maps *maps;

	if (index >= s->sock.iomaps)
		return -EPROTO;
	maps = rcl_maps_get(s);
	if (!maps)
		return -ENOMEM;
	if (!maps->peer)
		maps->peer = calloc(s->sock.iomaps, sizeof(*maps->peer));
	if (!maps->peer)
		return -ENOMEM;
	memcpy(&maps->peer[index], table + sizeof(struct rcl_iomap) * index,
	       sizeof(struct rcl_iomap));
	return 0;
}

static bool has(const struct rcl_iomap *iomap, uint64_t offset)
{
	return offset >= iomap->offset && offset - iomap->offset < iomap->target.len;
}

const struct rcl_iomap *rcl_maps_find(struct rcl_stream *s, uint64_t offset)
{
	struct rcl_maps *maps = s->maps;
	uint32_t i;

	if (!maps || !maps->peer)
		return NULL;
	if (has(&maps->peer[maps->last], offset))
		return &maps->peer[maps->last];
	for (i = 0; i < s->sock.iomaps; i++) {
		if (has(&maps->peer[i], offset)) {
			maps->last = i;
			return &maps->peer[i];
		}
	}
	return NULL;
}

void rcl_maps_free(struct rcl_stream *s)
{
	struct rcl_map *map;

	if (!s->maps)
		return;
	while ((map = s->maps->own)) {
		s->maps->own = map->next;
		ibv_dereg_mr(map->mr);
		free(map);
	}
	free(s->maps->peer);
	free(s->maps);
	s->maps = NULL;
}
