// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Measurements of rsockets: messages and answers, data in one direction, connections, idle ones. */
#include <dirent.h>
#include <err.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "perf.h"

/* Small enough to be sent inline. */
#define MESSAGE 64
/* Sixteen make a megabyte. */
#define PIECE 65536
#define BACKLOG 16
/* For which idle sockets must not use the processor. */
#define IDLE_S 5

static char data[PIECE];

/**
 * struct streams - what the server of a measurement does
 * @serve: what it does with a socket that it has accepted
 * @keeps: the socket stays open
 * @served: how many it accepts
 */
struct streams {
	void (*serve)(int sock);
	bool keeps;
	int served;
};

static int stream_socket(void)
{
	int sock = rsocket(address_of(options.address, options.port)->sa_family, SOCK_STREAM, 0);

	if (sock < 0)
		give_up("rsocket");
	return sock;
}

static socklen_t address_len(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
					    sizeof(struct sockaddr_in6);
}

static int connect_stream(void)
{
	struct sockaddr *addr = address_of(options.address, options.port);
	int sock = stream_socket();

	if (rconnect(sock, addr, address_len(addr)))
		give_up("rconnect");
	return sock;
}

static void send_all(int sock, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t more = rsend(sock, data + done, len - done, 0);

		if (more < 0)
			give_up("rsend");
		done += more;
	}
}

/* Returns false at the end of the stream. */
static bool recv_all(int sock, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t more = rrecv(sock, data + done, len - done, 0);

		if (more < 0)
			give_up("rrecv");
		if (!more)
			return false;
		done += more;
	}
	return true;
}

static void serve_messages(int sock)
{
	while (recv_all(sock, MESSAGE))
		send_all(sock, MESSAGE);
}

/* The answer tells the client that everything has arrived. */
static void serve_bulk(int sock)
{
	for (int i = 0; i < options.count; i++)
		if (!recv_all(sock, PIECE))
			errx(1, "the client ended after %d pieces", i);
	send_all(sock, 1);
	recv_all(sock, 1);
}

static void serve_nothing(int sock)
{
	if (recv_all(sock, 1))
		errx(1, "there is data");
}

static void serve(const struct streams *streams, int pipe)
{
	struct sockaddr *addr = address_of(options.address, options.port);
	int listener;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	enter_netns();
	listener = stream_socket();
	if (rbind(listener, addr, address_len(addr)) || rlisten(listener, BACKLOG))
		give_up("rbind and rlisten");
	if (write(pipe, "", 1) != 1)
		exit(1);
	for (int i = 0; i < streams->served; i++) {
		int sock = raccept(listener, NULL, NULL);

		if (sock < 0)
			give_up("raccept");
		streams->serve(sock);
		if (!streams->keeps)
			rclose(sock);
	}
	if (write(pipe, "", 1) != 1)
		exit(1);
	pause();
	exit(0);
}

/* Returns when the server listens. */
static struct server start_streams(const struct streams *streams)
{
	struct server server = {};
	int pair[2];
	char ready;

	if (pipe(pair))
		give_up("pipe");
	server.pid = fork();
	if (server.pid < 0)
		give_up("fork");
	if (!server.pid)
		serve(streams, pair[1]);
	close(pair[1]);
	server.pipe = pair[0];
	if (read(server.pipe, &ready, 1) != 1)
		errx(1, "the server does not listen");
	return server;
}

/* The server has closed its sockets. */
static void await_streams(const struct server *server)
{
	char done;

	if (read(server->pipe, &done, 1) != 1)
		errx(1, "the server has ended");
}

static void say_streams(double began, double end)
{
	printf(", \"up_us\": %.0f, \"failures\": 0", end - began);
}

void measure_messages(void)
{
	const struct streams streams = { .serve = serve_messages, .served = 1 };
	struct server server = start_streams(&streams);
	int sock = connect_stream();
	double began, end;

	/* Both ends have used their buffers once. */
	send_all(sock, MESSAGE);
	recv_all(sock, MESSAGE);
	count_begin();
	began = now_us();
	for (int i = 0; i < options.count; i++) {
		send_all(sock, MESSAGE);
		if (!recv_all(sock, MESSAGE))
			errx(1, "the server ended after %d messages", i);
	}
	end = now_us();
	count_end();
	say_streams(began, end);
	rclose(sock);
	await_streams(&server);
	server_end(&server);
}

void measure_bulk(void)
{
	const struct streams streams = { .serve = serve_bulk, .served = 1 };
	struct server server = start_streams(&streams);
	int sock = connect_stream();
	double began, end;

	count_begin();
	began = now_us();
	for (int i = 0; i < options.count; i++)
		send_all(sock, PIECE);
	recv_all(sock, 1);
	end = now_us();
	count_end();
	say_streams(began, end);
	rclose(sock);
	await_streams(&server);
	server_end(&server);
}

void measure_streams(void)
{
	struct server server =
		start_streams(&(struct streams) {
			.serve = serve_nothing, .served = options.count + 1,
		});
	double began, end;

	/* Both ends have started their threads and opened their devices. */
	rclose(connect_stream());
	count_begin();
	began = now_us();
	for (int i = 0; i < options.count; i++)
		rclose(connect_stream());
	await_streams(&server);
	end = now_us();
	count_end();
	say_streams(began, end);
	server_end(&server);
}

/* Descriptors of this process. */
static int descriptors(void)
{
	struct dirent *entry;
	/* Not that of the folder itself. */
	int count = -1;
	DIR *dir = opendir("/proc/self/fd");

	if (!dir)
		give_up("/proc/self/fd");
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

/* Resident memory of this process, in bytes. */
static double resident(void)
{
	unsigned long pages;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%*u %lu", &pages) != 1)
		give_up("/proc/self/statm");
	fclose(file);
	return (double)pages * sysconf(_SC_PAGESIZE);
}

static void serve_later(int sock)
{
	(void)sock;
}

/* Processor time of this process, in us. */
static double processor_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

/* Only the client's ends: librdmacm's raccept() stalls after a few sockets that stay open. */
void measure_crowd(void)
{
	const struct rlimit many = { 1 << 20, 1 << 20 };
	struct server server;
	double memory, busy;
	int fds;

	/* Inherited by the server. */
	if (setrlimit(RLIMIT_NOFILE, &many))
		give_up("RLIMIT_NOFILE");
	server = start_streams(&(struct streams) {
			.serve = serve_later, .keeps = true, .served = options.count + 1,
		});
	/* This end has started its threads and opened its devices. */
	connect_stream();
	fds = descriptors();
	memory = resident();
	for (int i = 0; i < options.count; i++)
		connect_stream();
	printf(", \"descriptors\": %d, \"resident\": %.0f", descriptors() - fds,
	       resident() - memory);
	sleep(1);
	busy = processor_us();
	sleep(IDLE_S);
	printf(", \"idle_us\": %.0f, \"failures\": 0", processor_us() - busy);
	server_end(&server);
}
