// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Measurements of ids as such: how many can exist, how much memory they use, and how they end. */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf.h"

#define CALM 64
/* RDMA_CM_ALT_OPTION_DEADLINE, which stock does not have. */
#define DEADLINE_LEVEL 0xa17
#define DEADLINE_NAME 5
#define MAX_CACHES 512
/* Name, pages for each slab, number of slabs. */
#define SLAB_LINE \
	"%63s %*u %*u %*u %*u %lu : tunables %*u %*u %*u : slabdata %*u %lu"

void measure_ids(void)
{
	struct server server = server_start(true);
	double began = now_us(), last = began;
	struct client client, one = {};
	int n;

	client_init(&client, options.count);
	printf(", \"per_thousand_us\": [");
	for (n = 0; n < options.count && !one.failures; n++) {
		one = (struct client) {
			.channel = client.channel, .conns = &client.conns[n], .count = 1,
		};
		client_run(&one, STAGE_NEW, STAGE_ADDRESS, 1);
		if (n % 1000 == 999) {
			printf("%s%.0f", n > 999 ? ", " : "", now_us() - last);
			last = now_us();
		}
	}
	printf("], \"ids\": %d, \"all_us\": %.0f", n - one.failures, now_us() - began);
	say_failures(&one);
	server_end(&server);
	/* The kernel destroys the ids when the process exits; that is not measured here. */
}

/**
 * struct memory - memory that the kernel uses, in bytes
 * @slab: in slabs
 * @rest: in pages that are in use, but not for slabs, user space or the page cache
 */
struct memory {
	double slab;
	double rest;
};

/* Free pages on the per-CPU lists; /proc/meminfo counts them as used. */
static double pages_at_hand(void)
{
	FILE *file = fopen("/proc/zoneinfo", "r");
	unsigned long count;
	double pages = 0;
	char line[256];

	if (!file)
		give_up("/proc/zoneinfo");
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, " count: %lu", &count) == 1)
			pages += count;
	fclose(file);
	return pages;
}

static struct memory memory(void)
{
	static const char * const others[] = {
		"MemFree:", "Buffers:", "Cached:", "AnonPages:", "PageTables:", "KernelStack:",
		"Slab:",
	};
	FILE *file = fopen("/proc/meminfo", "r");
	struct memory found = {};
	char name[64];
	double kb;

	if (!file)
		give_up("/proc/meminfo");
	while (fscanf(file, "%63s %lf%*[^\n]", name, &kb) == 2) {
		if (!strcmp(name, "MemTotal:"))
			found.rest += kb * 1024;
		if (!strcmp(name, "Slab:"))
			found.slab = kb * 1024;
		for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
			if (!strcmp(name, others[i]))
				found.rest -= kb * 1024;
	}
	fclose(file);
	found.rest -= pages_at_hand() * sysconf(_SC_PAGESIZE);
	return found;
}

/**
 * struct cache - a line of /proc/slabinfo
 * @name: of the cache
 * @bytes: of its slabs
 */
struct cache {
	char name[64];
	double bytes;
};

static int slabs(struct cache *caches)
{
	FILE *file = fopen("/proc/slabinfo", "r");
	unsigned long pages, count;
	char line[512];
	int n = 0;

	if (!file)
		give_up("/proc/slabinfo");
	while (n < MAX_CACHES && fgets(line, sizeof(line), file))
		if (sscanf(line, SLAB_LINE, caches[n].name, &pages, &count) == 3)
			caches[n++].bytes = 4096.0 * pages * count;
	fclose(file);
	return n;
}

void measure_memory(void)
{
	static struct cache before[MAX_CACHES], after[MAX_CACHES];
	struct server server = server_start(true);
	struct memory empty, full;
	struct client client;
	const char *between = "";
	int n, m;

	client_init(&client, options.count);
	quiet_us();
	n = slabs(before);
	empty = memory();
	client_run(&client, STAGE_NEW, STAGE_CONNECTED, CALM);
	server_ask(&server, SERVER_AWAIT);
	quiet_us();
	full = memory();
	m = slabs(after);
	printf(", \"slab\": %.0f, \"rest\": %.0f, \"caches\": {", full.slab - empty.slab,
	       full.rest - empty.rest);
	for (int i = 0; i < m; i++) {
		double more = after[i].bytes;

		for (int j = 0; j < n; j++)
			if (!strcmp(after[i].name, before[j].name))
				more -= before[j].bytes;
		if (more < 32.0 * options.count)
			continue;
		printf("%s\"%s\": %.0f", between, after[i].name, more);
		between = ", ";
	}
	printf("}");
	say_failures(&client);
	server_ask(&server, SERVER_SERVE);
	client_run(&client, STAGE_CONNECTED, STAGE_GONE, CALM);
	server_end(&server);
	client_end(&client);
}

void measure_close(void)
{
	struct server server = server_start(true);
	struct client client;
	double close_us;

	client_init(&client, options.count);
	client_run(&client, STAGE_NEW, STAGE_CONNECTED, CALM);
	server_ask(&server, SERVER_AWAIT);
	/*
	 * The server no longer reads events: each of its ids has one pending. With stock the
	 * program answers a DREQ, so a synchronous disconnect would wait for a minute.
	 */
	client_destroy(&client);
	quiet_us();
	close_us = server_ask(&server, SERVER_CLOSE);
	printf(", \"close_us\": %.0f, \"after_us\": %.0f", close_us, quiet_us());
	say_failures(&client);
	server_end(&server);
	client_end(&client);
}

static void *connecting(void *arg)
{
	struct rdma_conn_param param = conn_param();

	/* On some devices this call blocks until the peer answers, or for ever. */
	rdma_connect(arg, &param);
	return NULL;
}

/*
 * One thread destroys an id to a dead peer while another thread connects the id. The QP is
 * destroyed afterwards: with some drivers, destroying a QP waits for its connect.
 */
void measure_destroy(void)
{
	const char *between = "";

	if (!options.dead)
		errx(2, "who is dead?");
	printf(", \"destroy\": [");
	for (int i = 0; i < options.count; i++) {
		struct rdma_event_channel *channel = rdma_create_event_channel();
		struct rdma_cm_event *event;
		struct rdma_cm_id *id;
		struct ibv_qp *qp;
		pthread_t thread;
		double began;

		if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
		    rdma_resolve_addr(id, NULL, address_of(options.dead, options.port), 2000) ||
		    rdma_get_cm_event(channel, &event) || rdma_ack_cm_event(event) ||
		    rdma_resolve_route(id, 2000) || rdma_get_cm_event(channel, &event) ||
		    rdma_ack_cm_event(event) || make_qp(id))
			give_up("an id to a dead peer");
		if (pthread_create(&thread, NULL, connecting, id))
			give_up("pthread_create");
		usleep(300000);
		qp = id->qp;
		began = now_us();
		rdma_destroy_id(id);
		printf("%s%.0f", between, now_us() - began);
		between = ", ";
		pthread_join(thread, NULL);
		ibv_destroy_qp(qp);
		rdma_destroy_event_channel(channel);
	}
	printf("]");
}

/* Synchronous ids: each call waits for its result. */
void measure_disconnect(void)
{
	struct server server = server_start(true);
	struct rdma_conn_param param = conn_param();
	/* Passed in the environment, because the command contains blanks. */
	const char *command = getenv("PERF_GONE");
	struct rdma_cm_id *id;
	double began;
	int ret;

	if (!command)
		errx(2, "what takes the peer away?");
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, address_of(options.address, options.port), 5000) ||
	    rdma_resolve_route(id, 5000) || (options.qps && make_qp(id)) ||
	    rdma_connect(id, &param) ||
	    /* An id without a QP: the program confirms the response itself. */
	    (!options.qps && rdma_establish(id)))
		give_up("a synchronous connection");
	server_ask(&server, SERVER_AWAIT);
	if (options.deadline && !rdma_set_option(id, DEADLINE_LEVEL, DEADLINE_NAME,
						 &options.deadline, sizeof(options.deadline)))
		printf(", \"deadline_us\": %u", options.deadline * 1000);
	fflush(stdout);
	if (system(command))
		errx(1, "it failed: %s", command);
	began = now_us();
	ret = rdma_disconnect(id);
	printf(", \"disconnect_us\": %.0f, \"errno\": %d", now_us() - began, ret ? errno : 0);
	server_end(&server);
	destroy_id(id);
}

/* Says that the objects are there, which stay until the process is killed. */
static void stay(const struct client *client)
{
	say_failures(client);
	printf("}\n");
	fflush(stdout);
	for (;;)
		pause();
}

void hold_connections(void)
{
	struct client client;

	client_init(&client, options.count);
	client_run(&client, STAGE_NEW, STAGE_CONNECTED, options.window);
	stay(&client);
}

void hold_listeners(void)
{
	struct client client;

	enter_netns();
	client_init(&client, options.count);
	for (int i = 0; i < client.count; i++) {
		struct rdma_cm_id **id = &client.conns[i].id;

		if (rdma_create_id(client.channel, id, NULL, RDMA_PS_TCP) ||
		    rdma_bind_addr(*id, address_of(options.address, options.port + i)) ||
		    rdma_listen(*id, 1))
			give_up("a listener");
	}
	stay(&client);
}
