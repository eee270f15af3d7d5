// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory that the peer writes to: more mappings than credits, ends of mappings, and close. */
#include "pains.h"

#define PAGE 4096
#define ROUNDS 100

static char memory[4 * PAGE] __attribute__((aligned(PAGE)));

/* Both ends map memory, and have few receives. */
static void set_maps(int fd)
{
	set_int(fd, SOL_RDMA, RDMA_IOMAPSIZE, 8);
	set_int(fd, SOL_RDMA, RDMA_RQSIZE, 16);
}

PAIN(close_mapped, 15, STOCK_FAILS)
{
	long long began;
	int fd;

	start_peer_with(set_maps, do_nothing);
	fd = connected_with(set_maps);
	expect(riomap(fd, memory, PAGE, PROT_WRITE, 0, 0) == 0, "riomap: %s", error_name(errno));
	began = now_ms();
	MUST(rclose(fd));
	expect_time("rclose", now_ms() - began, 0, 3000);
}

PAIN(many_maps, 30, STOCK_FAILS)
{
	char byte = 'm';
	int fd, n;

	start_peer_with(set_maps, echo_all);
	fd = connected_with(set_maps);
	for (n = 0; n < ROUNDS; n++) {
		expect(riomap(fd, memory, PAGE, PROT_WRITE, 0, 0) == 0, "riomap %d: %s", n,
		       error_name(errno));
		expect(rsend(fd, &byte, 1, 0) == 1, "rsend %d: %s", n, error_name(errno));
		expect(rrecv(fd, &byte, 1, 0) == 1, "rrecv %d: %s", n, error_name(errno));
		MUST(riounmap(fd, memory, PAGE));
	}
}

/* Two mappings side by side, written to with one call. */
static void map_two(int fd)
{
	char byte = 'm';

	MUST(riomap(fd, memory, PAGE, PROT_WRITE, 0, 0));
	MUST(riomap(fd, memory + 2 * PAGE, PAGE, PROT_WRITE, 0, PAGE));
	expect(rsend(fd, &byte, 1, 0) == 1, "rsend: %s", error_name(errno));
	expect(rrecv(fd, &byte, 1, 0) == 1, "rrecv: %s", error_name(errno));
	byte = memory[PAGE - 1] == 'd' && memory[2 * PAGE] == 'd' && memory[3 * PAGE - 1] == 'd' &&
	       !memory[PAGE] && !memory[3 * PAGE] ? 'y' : 'n';
	expect(rsend(fd, &byte, 1, 0) == 1, "rsend: %s", error_name(errno));
}

PAIN(write_across_maps, 15, STOCK_FAILS)
{
	static char data[2 * PAGE];
	size_t done = 0, wrote;
	char byte;
	int fd;

	start_peer_with(set_maps, map_two);
	fd = connected_with(set_maps);
	memset(data, 'd', sizeof(data));
	expect(rrecv(fd, &byte, 1, 0) == 1, "rrecv: %s", error_name(errno));
	while (done < sizeof(data)) {
		wrote = riowrite(fd, data + done, sizeof(data) - done, done, 0);
		expect(wrote && wrote <= sizeof(data) - done, "riowrite at %zu: %zd %s", done,
		       wrote, error_name(errno));
		done += wrote;
	}
	expect(rsend(fd, &byte, 1, 0) == 1, "rsend: %s", error_name(errno));
	expect(rrecv(fd, &byte, 1, 0) == 1 && byte == 'y', "the memory of the peer is wrong");
}
