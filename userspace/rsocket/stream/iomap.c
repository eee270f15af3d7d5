// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Writing to memory of the peer.
 *
 * A mapping is announced to the peer before the next data. The message takes a credit, which this
 * library returns as for data. librdmacm takes one as well but never returns it: a message to it
 * takes none, and the adapter retries until the peer has a receive.
 *
 * Locking: rcl_sock.lock; it is released while a thread waits.
 */
#include "rsocket/stream/iomap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "base/err.h"
#include "rsocket/stream/data.h"
#include "rsocket/stream/maps.h"
#include "rsocket/stream/post.h"
#include "rsocket/stream/progress.h"

#define LONGEST_PIECE 65536U

static bool is_used(const struct rcl_maps *maps, int index)
{
	const struct rcl_map *map;

	for (map = maps->own; map; map = map->next) {
		if (map->index == index)
			return true;
	}
	return false;
}

/* A free entry of the peer's table. */
static int free_index(const struct rcl_stream *s, const struct rcl_maps *maps)
{
	int index;

	for (index = 0; (uint32_t)index < s->peer_iomaps; index++) {
		if (!is_used(maps, index))
			return index;
	}
	return -ENOMEM;
}

static void append(struct rcl_maps *maps, struct rcl_map *map)
{
	struct rcl_map **end = &maps->own;

	while (*end)
		end = &(*end)->next;
	*end = map;
}

int rcl_stream_map(struct rcl_stream *s, void *buf, size_t len, int prot, off_t *offset)
{
	bool remote = prot & PROT_WRITE;
	struct rcl_maps *maps;
	struct rcl_map *map;
	int index = -1;

	if (!s->comp || prot & ~(PROT_WRITE | PROT_NONE) || !buf || !len)
		return -EINVAL;
	maps = rcl_maps_get(s);
	if (!maps)
		return -ENOMEM;
	if (remote)
		index = free_index(s, maps);
	if (index < -1)
		return index;
	map = calloc(1, sizeof(*map));
	if (!map)
		return -ENOMEM;
	map->mr = ibv_reg_mr(s->pd, buf, len,
			     IBV_ACCESS_LOCAL_WRITE | (remote ? IBV_ACCESS_REMOTE_WRITE : 0));
	if (!map->mr) {
		free(map);
		return rcl_errno();
	}
	if (*offset == -1)
		*offset = (off_t)(uintptr_t)buf;
	/* Sign-extended if off_t has 32 bits, like the offset of the peer's riowrite(). */
	map->offset = (uint64_t)*offset;
	map->index = index;
	map->told = !remote;
	maps->pending += remote;
	append(maps, map);
	return 0;
}

int rcl_stream_unmap(struct rcl_stream *s, void *buf, size_t len)
{
	struct rcl_map **at, *map;

	if (!s->maps)
		return -EINVAL;
	for (at = &s->maps->own; (map = *at); at = &map->next) {
		if (map->mr->addr != buf || map->mr->length != len)
			continue;
		*at = map->next;
		s->maps->pending -= !map->told;
		ibv_dereg_mr(map->mr);
		free(map);
		return 0;
	}
	return -EINVAL;
}

static struct rcl_map *first_pending(struct rcl_maps *maps)
{
	struct rcl_map *map = maps->own;

	while (map && map->told)
		map = map->next;
	return map;
}

static int tell(struct rcl_stream *s, struct rcl_map *map)
{
	struct rcl_iomap iomap = {
		.offset = map->offset,
		.target = {
			.addr = (uintptr_t)map->mr->addr,
			.key = map->mr->rkey,
			.len = (uint32_t)map->mr->length,
		},
	};
	int ret;

	if (s->swap)
		iomap = rcl_iomap_swap(iomap);
	ret = rcl_tx_iomap(s, (uint32_t)map->index, &iomap);
	if (ret)
		return ret;
	map->told = true;
	s->maps->pending--;
	return 0;
}

int rcl_maps_send(struct rcl_stream *s, int64_t deadline)
{
	int ret = 0;

	while (!ret && s->maps->pending) {
		ret = rcl_stream_wait_to_send(s, deadline);
		/* Another thread may have announced them meanwhile. */
		if (!ret && s->maps->pending)
			ret = tell(s, first_pending(s->maps));
	}
	return ret;
}

/* Bytes of one piece: not beyond the mapping, nor more than the send buffer has room for. */
static uint32_t piece_len(const struct rcl_stream *s, const struct rcl_iomap *map, uint64_t offset,
			  size_t left)
{
	uint64_t len = map->target.len - (offset - map->offset);

	if (len > left)
		len = left;
	if (len > rcl_tx_bytes_left(s))
		len = rcl_tx_bytes_left(s);
	return len < LONGEST_PIECE ? (uint32_t)len : LONGEST_PIECE;
}

ssize_t rcl_stream_write(struct rcl_stream *s, const void *buf, size_t len, off_t offset,
			 int flags)
{
	struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct rcl_source source = { .iov = &iov, .left = len };
	int64_t deadline = rcl_stream_send_deadline(s, flags);
	const struct rcl_iomap *map;
	struct rcl_piece piece;
	int ret = 0;

	if (s->maps)
		ret = rcl_maps_send(s, deadline);
	while (!ret && source.left) {
		uint64_t at = (uint64_t)offset + (len - source.left);

		ret = rcl_stream_wait_to_send(s, deadline);
		if (ret)
			break;
		rcl_stream_progress(s);
		map = rcl_maps_find(s, at);
		if (!map)
			break;
		rcl_stream_piece(s, &source, &piece, piece_len(s, map, at, source.left));
		ret = rcl_tx_direct(s, &piece, map->target.addr + (at - map->offset),
				    map->target.key);
	}
	return ret && source.left == len ? ret : (ssize_t)(len - source.left);
}
