// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Formats of rsockets.
 *
 * Locking: none.
 */
#include "rsocket/wire.h"

#include <byteswap.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#define VERSION 1

/* Flags of a hello. */
#define BIG_ENDIAN_HOST 0x01
#define HAS_IOMAPS 0x02

/* The number of mappings is a byte: up to 128 exact, above in units of 256 with the top bit set. */
#define IOMAPS_EXACT 128
#define IOMAPS_UNIT 256
#define IOMAPS_MAX (127 * IOMAPS_UNIT)

/* struct wire_target - struct rcl_target in a hello, big endian */
struct wire_target {
	uint64_t addr;
	uint32_t key;
	uint32_t len;
};

/* struct wire_hello - the private data, big endian */
struct wire_hello {
	uint8_t version;
	uint8_t flags;
	uint16_t credits;
	uint8_t reserved[3];
	uint8_t iomaps;
	struct wire_target sgl;
	struct wire_target data;
};

_Static_assert(sizeof(struct wire_hello) == RCL_HELLO_LEN, "length of a hello");
_Static_assert(sizeof(struct rcl_target) == 16, "an entry of the array");
_Static_assert(sizeof(struct rcl_iomap) == 24, "a mapping");

#if __BYTE_ORDER == __BIG_ENDIAN
#define OWN_FLAGS (HAS_IOMAPS | BIG_ENDIAN_HOST)
#else
#define OWN_FLAGS HAS_IOMAPS
#endif

static struct wire_target pack_target(const struct rcl_target *target)
{
	return (struct wire_target){
		.addr = htobe64(target->addr),
		.key = htobe32(target->key),
		.len = htobe32(target->len),
	};
}

static struct rcl_target unpack_target(const struct wire_target *wire)
{
	return (struct rcl_target){
		.addr = be64toh(wire->addr),
		.key = be32toh(wire->key),
		.len = be32toh(wire->len),
	};
}

static uint8_t pack_iomaps(uint32_t iomaps)
{
	return iomaps <= IOMAPS_EXACT ? iomaps : IOMAPS_EXACT | iomaps / IOMAPS_UNIT;
}

static uint32_t unpack_iomaps(uint8_t wire)
{
	return wire <= IOMAPS_EXACT ? wire : (wire & ~IOMAPS_EXACT) * IOMAPS_UNIT;
}

uint32_t rcl_iomaps_round(uint32_t wanted)
{
	if (wanted <= IOMAPS_EXACT)
		return wanted;
	if (wanted >= IOMAPS_MAX)
		return IOMAPS_MAX;
	return (wanted + IOMAPS_UNIT - 1) / IOMAPS_UNIT * IOMAPS_UNIT;
}

void rcl_hello_pack(uint8_t *wire, const struct rcl_hello *hello)
{
	struct wire_hello packed = {
		.version = VERSION,
		.flags = OWN_FLAGS,
		.credits = htobe16(hello->credits),
		.iomaps = pack_iomaps(hello->iomaps),
		.sgl = pack_target(&hello->sgl),
		.data = pack_target(&hello->data),
	};

	memcpy(wire, &packed, sizeof(packed));
}

int rcl_hello_unpack(struct rcl_hello *hello, const uint8_t *wire, size_t len)
{
	struct wire_hello packed;

	if (!wire || len < sizeof(packed))
		return -EPROTO;
	memcpy(&packed, wire, sizeof(packed));
	if (packed.version != VERSION)
		return -ENOTSUP;
	*hello = (struct rcl_hello){
		.swap = (packed.flags ^ OWN_FLAGS) & BIG_ENDIAN_HOST,
		.credits = be16toh(packed.credits),
		.iomaps = packed.flags & HAS_IOMAPS ? unpack_iomaps(packed.iomaps) : 0,
		.sgl = unpack_target(&packed.sgl),
		.librdmacm = packed.sgl.key != packed.data.key,
		.data = unpack_target(&packed.data),
	};
	/* The next range is announced in the second entry. */
	return hello->sgl.len >= RCL_SGL_ENTRIES ? 0 : -EPROTO;
}

struct rcl_target rcl_target_swap(struct rcl_target target)
{
	return (struct rcl_target){
		.addr = bswap_64(target.addr),
		.key = bswap_32(target.key),
		.len = bswap_32(target.len),
	};
}

struct rcl_iomap rcl_iomap_swap(struct rcl_iomap iomap)
{
	return (struct rcl_iomap){
		.offset = bswap_64(iomap.offset),
		.target = rcl_target_swap(iomap.target),
	};
}
