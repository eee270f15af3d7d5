// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Service records of the subnet administrator, by the ioctls, and by the calls of stock's device:
 * the same questions on both. The adapters are those of ib.py, which runs this program.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hca.h"
#include "rca_test.h"
#include "stock_cm.h"

#define ROCE "10.9.0.1"
#define IPOIB "10.8.0.1"
#define MOST 64		/* records that an id of ours keeps */
#define TIMEOUT_MS 2000	/* as stock has it */

/* What the headers of a test machine may lack: <rdma/rdma_user_cm.h>, <rdma/ib_user_sa.h>. */
enum {
	STOCK_RESOLVE_IB_SERVICE = RDMA_USER_CM_CMD_JOIN_MCAST + 1,
	STOCK_QUERY_IB_SERVICE = RDMA_USER_CM_QUERY_GID + 1,
	STOCK_BY_ID = 1,
	STOCK_BY_NAME = 2,
};

struct stock_resolve_service {
	uint32_t id;
	uint32_t reserved;
	uint64_t service_id;
	uint8_t name[64];
	uint32_t flags;
	uint32_t reserved2;
};

struct stock_record {
	uint64_t id;
	uint8_t gid[16];
	uint16_t pkey;
	uint8_t other[150];
};

struct stock_records {
	uint32_t count;
	uint32_t reserved;
	struct stock_record records[80];
};

/* A stack: its device, and how it does each step. Ids are of RDMA_PS_IB. */
struct side {
	const char *name;
	int fd;
	uint32_t (*make)(int fd);
	int (*bind)(int fd, uint32_t id, const struct sib *addr);
	int (*bind_ip)(int fd, uint32_t id, const char *ip);
	int (*ask)(int fd, uint32_t id, const uint64_t *sid, const char *name);
	/* Waits for the event; prints its type and status. */
	void (*event)(int fd, uint32_t id, char *text, size_t size);
	/* Prints the records, or the errno. */
	void (*records)(int fd, uint32_t id, char *text, size_t size);
	int (*peer)(int fd, uint32_t id, struct sib *peer);
	int (*route)(int fd, uint32_t id);
};

static void print_record(FILE *out, uint64_t sid, const uint8_t *gid, uint16_t pkey)
{
	char text[64];

	inet_ntop(AF_INET6, gid, text, sizeof(text));
	fprintf(out, " %#llx@%s/%#x", (unsigned long long)sid, text, be16toh(pkey));
}

static uint32_t our_make(int ctx)
{
	uint32_t id;

	EXPECT_EQ(rca_create(ctx, -1, RDMA_PS_IB, IB_UVERBS_QPT_RC, 0, &id), 0);
	return id;
}

static int our_bind(int ctx, uint32_t id, const struct sib *addr)
{
	struct rdma_cm_alt_resolve cmd = {
		.size = sizeof(cmd),
		.pipe = { .steps = RDMA_CM_ALT_STEP_BIND, .id = id, .queue_fd = -1 },
	};

	memcpy(&cmd.pipe.src, addr, sizeof(*addr));
	return rca_call(ctx, RDMA_CM_ALT_RESOLVE, &cmd);
}

static int our_bind_ip(int ctx, uint32_t id, const char *ip)
{
	return rca_bind(ctx, id, ip, 0);
}

static int our_ask(int ctx, uint32_t id, const uint64_t *sid, const char *name)
{
	struct rdma_cm_alt_resolve_service cmd = {
		.size = sizeof(cmd), .id = id, .timeout_ms = TIMEOUT_MS,
		.flags = sid ? RDMA_CM_ALT_SERVICE_BY_ID : 0, .service_id = sid ? *sid : 0,
		.name_uptr = (uintptr_t)name, .name_len = name ? strlen(name) : 0,
	};

	return rca_call(ctx, RDMA_CM_ALT_RESOLVE_SERVICE, &cmd);
}

static void our_event(int ctx, uint32_t id, char *text, size_t size)
{
	event_t ev;

	EXPECT_EQ(rca_get_event(ctx, id, 0, &ev), 0);
	snprintf(text, size, "event %u %d", ev.type, ev.status);
}

static int our_services(int ctx, uint32_t id, struct rdma_cm_alt_service *room, uint32_t *count)
{
	struct rdma_cm_alt_services cmd = {
		.size = sizeof(cmd), .id = id, .count = *count, .services_uptr = (uintptr_t)room,
	};
	int ret = rca_call(ctx, RDMA_CM_ALT_SERVICES, &cmd);

	*count = cmd.out_count;
	return ret;
}

static void our_records(int ctx, uint32_t id, char *text, size_t size)
{
	static struct rdma_cm_alt_service services[80];
	FILE *out = fmemopen(text, size, "w");
	uint32_t count = 80;
	int ret = our_services(ctx, id, services, &count);

	fprintf(out, "%d", ret ?: (int)count);
	for (uint32_t i = 0; !ret && i < count; i++)
		print_record(out, services[i].service_id, services[i].gid, services[i].pkey);
	fclose(out);
}

static int our_peer(int ctx, uint32_t id, struct sib *peer)
{
	struct rdma_cm_alt_route route;
	int ret = rca_query(ctx, id, &route);

	memcpy(peer, &route.dst, sizeof(*peer));
	return ret;
}

static uint32_t stock_make(int fd)
{
	struct rdma_ucm_create_id_resp resp = {};
	struct rdma_ucm_create_id create = {
		.response = (uintptr_t)&resp, .ps = RDMA_PS_IB, .qp_type = IB_UVERBS_QPT_RC,
		.uid = 1,
	};

	EXPECT_EQ(stock_call(fd, RDMA_USER_CM_CMD_CREATE_ID, &create, sizeof(create),
			     sizeof(resp)), 0);
	return resp.id;
}

static int stock_bind_ib(int fd, uint32_t id, const struct sib *addr)
{
	struct rdma_ucm_bind bind = { .id = id, .addr_size = sizeof(*addr) };

	memcpy(&bind.addr, addr, sizeof(*addr));
	return stock_call(fd, RDMA_USER_CM_CMD_BIND, &bind, sizeof(bind), 0);
}

static int stock_bind_ip(int fd, uint32_t id, const char *ip)
{
	return stock_bind(fd, id, ip, 0);
}

static int stock_ask(int fd, uint32_t id, const uint64_t *sid, const char *name)
{
	struct stock_resolve_service cmd = {
		.id = id, .service_id = sid ? *sid : 0,
		.flags = (sid ? STOCK_BY_ID : 0) | (name ? STOCK_BY_NAME : 0),
	};

	if (name)
		memcpy(cmd.name, name, strlen(name));
	return stock_call(fd, STOCK_RESOLVE_IB_SERVICE, &cmd, sizeof(cmd), 0);
}

static void stock_event(int fd, uint32_t id, char *text, size_t size)
{
	struct rdma_ucm_event_resp resp = {};
	struct rdma_ucm_get_event get = { .response = (uintptr_t)&resp };

	EXPECT_EQ(stock_call(fd, RDMA_USER_CM_CMD_GET_EVENT, &get, sizeof(get), sizeof(resp)), 0);
	EXPECT_EQ(resp.id, id);
	snprintf(text, size, "event %u %d", resp.event, (int)resp.status);
}

static void stock_records(int fd, uint32_t id, char *text, size_t size)
{
	static struct stock_records resp;
	struct rdma_ucm_query query = {
		.response = (uintptr_t)&resp, .id = id, .option = STOCK_QUERY_IB_SERVICE,
	};
	FILE *out = fmemopen(text, size, "w");
	int ret = stock_call(fd, RDMA_USER_CM_CMD_QUERY, &query, sizeof(query), sizeof(resp));

	fprintf(out, "%d", ret ?: (int)resp.count);
	for (uint32_t i = 0; !ret && i < resp.count; i++)
		print_record(out, be64toh(resp.records[i].id), resp.records[i].gid,
			     resp.records[i].pkey);
	fclose(out);
}

static int stock_peer(int fd, uint32_t id, struct sib *peer)
{
	struct rdma_ucm_query_addr_resp resp = {};
	struct rdma_ucm_query query = {
		.response = (uintptr_t)&resp, .id = id, .option = RDMA_USER_CM_QUERY_ADDR,
	};
	int ret = stock_call(fd, RDMA_USER_CM_CMD_QUERY, &query, sizeof(query), sizeof(resp));

	memcpy(peer, &resp.dst_addr, sizeof(*peer));
	return ret;
}

static int stock_route(int fd, uint32_t id)
{
	struct rdma_ucm_resolve_route cmd = { .id = id, .timeout_ms = TIMEOUT_MS };

	return stock_call(fd, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &cmd, sizeof(cmd), 0);
}

/* Ours, then stock's. Skips the test if the kernel sends no such queries. */
static struct side *get_sides(void)
{
	static struct side sides[2] = {
		{ "ours", -1, our_make, our_bind, our_bind_ip, our_ask, our_event, our_records,
		  our_peer, rca_resolve_route },
		{ "stock", -1, stock_make, stock_bind_ib, stock_bind_ip, stock_ask, stock_event,
		  stock_records, stock_peer, stock_route },
	};
	struct rdma_cm_alt_info info = { .size = sizeof(info) };

	sides[0].fd = get_ctx();
	EXPECT_EQ(rca_call(sides[0].fd, RDMA_CM_ALT_INFO, &info), 0);
	if (!(info.out_commands >> (RDMA_CM_ALT_CMD_SERVICES - RDMA_CM_ALT_CMD_BASE) & 1))
		ktap_skip("this kernel asks for no service records");
	sides[1].fd = stock_open();
	return sides;
}

/* The first GID of an adapter, as an address for an id to bind to. */
static struct sib gid_of(const char *adapter, char *text)
{
	struct sib sib = { .family = AF_IB };

	EXPECT_EQ(inet_pton(AF_INET6, hca_gid(adapter, 1, text), sib.addr), 1);
	return sib;
}

static void add_services(const char *name, uint64_t first, unsigned int count)
{
	char gid[GID_TEXT], text[200];

	gid_of("hca1", gid);
	for (unsigned int i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "add %s %#llx %s 0xffff", name,
			 (unsigned long long)first + i, gid);
		knob(text, "services");
	}
}

static uint32_t bound(const struct side *side)
{
	uint32_t id = side->make(side->fd);
	char text[64];
	struct sib here = gid_of("hca0", text);

	EXPECT_EQ(side->bind(side->fd, id, &here), 0);
	return id;
}

static void expect_text(const char *what, const char *is, const char *wanted)
{
	if (strcmp(is, wanted))
		ktap_fail(__FILE__, __LINE__, "%s: '%s', wanted '%s'", what, is, wanted);
}

/* The event must come, from both. */
static void expect_ended(const struct side *side, uint32_t id, uint32_t type, int status)
{
	char is[64], wanted[64];

	side->event(side->fd, id, is, sizeof(is));
	snprintf(wanted, sizeof(wanted), "event %u %d", type, status);
	expect_text(side->name, is, wanted);
}

static void found(const uint64_t *sid, const char *name, int count)
{
	struct side *sides = get_sides(), *side;
	char records[2][8192];
	struct sib peers[2];

	for (int i = 0; i < 2; i++) {
		uint32_t id = bound(side = &sides[i]);

		EXPECT_EQ(side->ask(side->fd, id, sid, name), 0);
		expect_ended(side, id, RDMA_CM_ALT_EVENT_ADDRINFO_RESOLVED, 0);
		side->records(side->fd, id, records[i], sizeof(records[i]));
		EXPECT_EQ(atoi(records[i]), count);
		EXPECT_EQ(side->peer(side->fd, id, &peers[i]), 0);
		/* The first record is the peer from here on. */
		EXPECT_EQ(side->ask(side->fd, id, sid, name), -EINVAL);
		EXPECT_EQ(side->route(side->fd, id), 0);
		expect_ended(side, id, RDMA_CM_ALT_EVENT_ROUTE_RESOLVED, 0);
	}
	expect_text("the records", records[0], records[1]);
	EXPECT_EQ(peers[0].family, AF_IB);
	EXPECT_EQ(peers[0].pkey, peers[1].pkey);
	EXPECT_EQ(peers[0].sid, peers[1].sid);
	EXPECT_EQ(memcmp(peers[0].addr, peers[1].addr, sizeof(peers[0].addr)), 0);
}

/* @silent: no answer comes before the timeout. */
static void not_found(const uint64_t *sid, const char *name, int status, bool silent)
{
	struct side *sides = get_sides(), *side;
	char records[64];

	for (int i = 0; i < 2; i++) {
		uint32_t id = bound(side = &sides[i]);

		/* The id stays bound, and may ask again. */
		for (int again = 0; again < 2; again++) {
			EXPECT_EQ(side->ask(side->fd, id, sid, name), 0);
			if (silent)
				EXPECT_EQ(side->ask(side->fd, id, sid, name), -EINVAL);
			expect_ended(side, id, RDMA_CM_ALT_EVENT_ADDRINFO_ERROR, status);
		}
		side->records(side->fd, id, records, sizeof(records));
		EXPECT_EQ(atoi(records), -ENODATA);
	}
}

TEST(service_is_found_by_name_or_id)
{
	const uint64_t sid = 0x10001, first = 0x20000;

	get_sides();
	knob("clear", "services");
	add_services("one", sid, 1);
	add_services("many", first, 9);
	found(NULL, "one", 1);
	found(&sid, NULL, 1);
	found(&sid, "one", 1);
	/* In several segments. */
	found(NULL, "many", 9);
	found(NULL, NULL, 10);
}

TEST(service_that_nobody_offers_is_not_found)
{
	const uint64_t sid = 0x10001;

	get_sides();
	knob("clear", "services");
	add_services("one", sid, 1);
	not_found(NULL, "two", -ENODATA, false);
	not_found(&sid, "two", -ENODATA, false);
}

TEST(administrator_that_refuses_or_is_silent)
{
	get_sides();
	knob("clear", "services");
	add_services("one", 1, 1);
	knob("0x100", "sa_status");
	not_found(NULL, "one", -EINVAL, false);
	knob("0", "sa_status");
	knob("drop SA", "rules");
	not_found(NULL, "one", -ETIMEDOUT, true);
	knob("clear", "rules");
	found(NULL, "one", 1);
}

TEST(id_has_to_be_bound_to_infiniband)
{
	struct side *sides = get_sides(), *side;

	for (side = sides; side < sides + 2; side++) {
		uint32_t id = side->make(side->fd);

		EXPECT_EQ(side->ask(side->fd, id, NULL, "one"), -EINVAL);
		EXPECT_EQ(side->bind_ip(side->fd, id, ROCE), 0);
		EXPECT_EQ(side->ask(side->fd, id, NULL, "one"), -EOPNOTSUPP);
	}
}

TEST(id_with_an_ip_address_stays_bound)
{
	struct side *ours = get_sides();
	uint32_t id = our_make(ours->fd);
	char records[1024];

	knob("clear", "services");
	add_services("one", 1, 1);
	EXPECT_EQ(rca_bind(ours->fd, id, IPOIB, 0), 0);
	for (int again = 0; again < 2; again++) {
		EXPECT_EQ(our_ask(ours->fd, id, NULL, "one"), 0);
		expect_ended(ours, id, RDMA_CM_ALT_EVENT_ADDRINFO_RESOLVED, 0);
		our_records(ours->fd, id, records, sizeof(records));
		EXPECT_EQ(atoi(records), 1);
	}
	EXPECT_EQ(rca_resolve_addr(ours->fd, id, NULL, IPOIB, 7000), 0);
	expect_ended(ours, id, RDMA_CM_ALT_EVENT_ADDR_RESOLVED, 0);
}

TEST(so_many_records_are_kept_and_as_many_are_written_as_fit)
{
	static struct rdma_cm_alt_service services[MOST + 1];
	struct side *ours = get_sides();
	uint32_t id = bound(ours), count = 3;

	knob("clear", "services");
	add_services("crowd", 0x5000, MOST + 6);
	EXPECT_EQ(our_ask(ours->fd, id, NULL, "crowd"), 0);
	expect_ended(ours, id, RDMA_CM_ALT_EVENT_ADDRINFO_RESOLVED, 0);
	EXPECT_EQ(our_services(ours->fd, id, services, &count), 0);
	EXPECT_EQ(count, MOST);
	EXPECT_EQ(services[2].service_id, 0x5002);
	EXPECT_EQ(services[2].data[0], 2);
	EXPECT_EQ(memcmp(services[2].name, "crowd\0", 6), 0);
	EXPECT_EQ(services[2].lease_s, UINT32_MAX);
	EXPECT_EQ(services[3].service_id, 0);
	count = MOST + 1;
	EXPECT_EQ(our_services(ours->fd, id, services, &count), 0);
	EXPECT_EQ(services[MOST - 1].service_id, 0x5000 + MOST - 1);
	EXPECT_EQ(services[MOST].service_id, 0);
}

/* Without an answer: neither waits for it. */
TEST(id_or_device_goes_while_the_query_waits)
{
	struct side *ours = get_sides();
	uint32_t id = bound(ours);
	struct sib here;
	char text[64];

	knob("1", "add");
	here = gid_of("hca2", text);
	knob("drop SA", "rules");
	EXPECT_EQ(our_ask(ours->fd, id, NULL, "one"), 0);
	EXPECT_EQ(rca_destroy(ours->fd, id), 0);
	id = our_make(ours->fd);
	EXPECT_EQ(our_bind(ours->fd, id, &here), 0);
	EXPECT_EQ(our_ask(ours->fd, id, NULL, "one"), 0);
	knob("hca2", "remove");
	expect_ended(ours, id, RDMA_CM_ALT_EVENT_DEVICE_REMOVAL, 0);
	EXPECT_EQ(our_ask(ours->fd, id, NULL, "one"), -ENXIO);
	/* The context closes with a query, too. */
	EXPECT_EQ(our_ask(ours->fd, bound(ours), NULL, "one"), 0);
	MUST(close(ours->fd));
	knob("clear", "rules");
}

KTAP_MAIN
