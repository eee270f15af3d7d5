/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Mappings of a stream: memory of this end for the peer's riowrite(), and memory of the peer. */
#ifndef RCL_RSOCKET_MAPS_H
#define RCL_RSOCKET_MAPS_H

#include "rsocket/stream/stream.h"

/**
 * struct rcl_map - memory of this end, of riomap()
 * @next: in the list of the stream
 * @mr: its memory region
 * @offset: its offset for the peer
 * @index: in the peer's table; -1: not announced to the peer
 * @told: was announced
 */
struct rcl_map {
	struct rcl_map *next;
	struct ibv_mr *mr;
	uint64_t offset;
	int index;
	bool told;
};

/**
 * struct rcl_maps - the mappings of a stream
 * @own: memory of this end, in the order of riomap()
 * @pending: number of these that are still to be announced
 * @peer: mappings of the peer, by index; NULL: it has announced none
 * @last: index of the mapping that rcl_maps_find() returned last
 */
struct rcl_maps {
	struct rcl_map *own;
	unsigned int pending;
	struct rcl_iomap *peer;
	uint32_t last;
};

/* Returns the mappings of a stream, allocated at the first call; NULL without memory. */
struct rcl_maps *rcl_maps_get(struct rcl_stream *s);

/*
 * Copies the mapping that the peer has written to entry @index of our table. -EPROTO: there is no
 * such entry; -ENOMEM.
 */
int rcl_maps_came(struct rcl_stream *s, uint32_t index);

/* Returns the mapping of the peer that contains @offset, or NULL. */
const struct rcl_iomap *rcl_maps_find(struct rcl_stream *s, uint64_t offset);

/* Frees all mappings, when no thread uses the stream. */
void rcl_maps_free(struct rcl_stream *s);

#endif /* RCL_RSOCKET_MAPS_H */
