// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sends a pseudo-random stream in pieces of random sizes, with random calls, over rsockets, and
 * compares every byte that arrives.
 *
 * usage: transfer -b ADDRESS [OPTION...]	server
 *	  transfer -s ADDRESS [OPTION...]	client
 *	-p PORT
 *	-n BYTES	bytes for each direction of a connection (default 100000)
 *	-d DIRECTION	c from the client only, s from the server only, b both at once (default)
 *	-c COUNT	connections at once (default 1), each with a thread for each direction
 *	-P		one thread for both directions of a connection, with rpoll()
 *	-N		non-blocking sockets
 *	-B BYTES	SO_SNDBUF and SO_RCVBUF
 *	-q ENTRIES	RDMA_SQSIZE and RDMA_RQSIZE
 *	-i BYTES	RDMA_INLINE
 *	-m BYTES	largest piece (default 20000)
 *	-k SEED		of the sizes and calls
 *	-w ROUNDS	no stream: the client fills memory of the server with riowrite()
 *
 * Both ends must get the same -n, -d, -c and -w. The server prints "ready" when it listens. An end
 * that has sent and received all prints "ok BYTES" and exits with 0.
 */
#include "pieces.h"

#define MAX_CONNECTIONS 256
#define WRITE_SIZE 100000
#define WRITE_OFFSET 4096

static struct {
	const char *address;
	bool server, single, nonblocking;
	int port, count, buffer, entries, inline_size, largest, seed, writes;
	long long bytes;
	char direction;
} opt = { .port = 7471, .count = 1, .inline_size = -1, .largest = 20000, .seed = 1,
	  .bytes = 100000, .direction = 'b' };

/* One attempt; false when it would block. */
static bool send_piece(struct stream *s, int flags)
{
	long size = piece_size(s);
	const char *call = "";
	ssize_t sent;

	fill(s->piece, s->key, s->done, size);
	sent = send_somehow(s, size, flags, &call);
	if (sent < 0 && errno == EAGAIN)
		return false;
	if (sent <= 0 || sent > size) {
		printf("%s of %ld bytes at %lld: %zd %s\n", call, size, s->done, sent,
		       sent < 0 ? error_name(errno) : "");
		exit(1);
	}
	s->done += sent;
	return true;
}

static bool receive_piece(struct stream *s, int flags)
{
	long size = piece_size(s);
	const char *call = "";
	ssize_t got;

	got = receive_somehow(s, size, flags, &call);
	if (got < 0 && errno == EAGAIN)
		return false;
	if (got <= 0 || got > size) {
		printf("%s of %ld bytes at %lld: %zd %s\n", call, size, s->done, got,
		       got < 0 ? error_name(errno) : "");
		exit(1);
	}
	check(s->piece, s->key, s->done, got, call);
	s->done += got;
	return true;
}

/* Flags of the next attempt: with MSG_DONTWAIT the caller polls when it would block. */
static int flags_of(struct stream *s)
{
	return opt.nonblocking || opt.single || !draw(s, 3) ? MSG_DONTWAIT : 0;
}

static void *send_all(void *arg)
{
	struct stream *s = arg;

	while (s->done < s->end)
		if (!send_piece(s, flags_of(s)))
			events_of(s->fd, POLLOUT, -1);
	return NULL;
}

static void *receive_all(void *arg)
{
	struct stream *s = arg;

	while (s->done < s->end)
		if (!receive_piece(s, flags_of(s)))
			events_of(s->fd, POLLIN, -1);
	return NULL;
}

/* Both directions in one thread. */
static void pump(struct stream *out, struct stream *in)
{
	int events;

	while (out->done < out->end || in->done < in->end) {
		events = events_of(out->fd, (out->done < out->end ? POLLOUT : 0) |
				   (in->done < in->end ? POLLIN : 0), -1);
		if (events & POLLIN && in->done < in->end)
			receive_piece(in, MSG_DONTWAIT);
		if (events & POLLOUT && out->done < out->end)
			send_piece(out, MSG_DONTWAIT);
	}
}

static struct stream make_stream(int fd, int number, bool from_client)
{
	bool used = opt.direction == 'b' || opt.direction == (from_client ? 'c' : 's');

	return (struct stream) {
		.fd = fd, .key = 2 * number + from_client, .end = used ? opt.bytes : 0,
		.random = (uint64_t)opt.seed << 32 ^ (number * 4 + from_client * 2 + opt.server),
		.largest = opt.largest, .piece = malloc(opt.largest + 64),
	};
}

/* The peer has sent all: the stream ends, or the connection does. */
static void ends(int fd)
{
	char byte;
	ssize_t got;

	do {
		events_of(fd, POLLIN, -1);
		got = rrecv(fd, &byte, 1, MSG_DONTWAIT);
	} while (got < 0 && errno == EAGAIN);
	if (got) {
		printf("after the end: %zd %s\n", got, got < 0 ? error_name(errno) : "");
		exit(1);
	}
}

static void exchange(int fd, int number)
{
	struct stream out = make_stream(fd, number, !opt.server);
	struct stream in = make_stream(fd, number, opt.server);
	pthread_t sender;

	if (opt.single) {
		pump(&out, &in);
	} else {
		pthread_create(&sender, NULL, send_all, &out);
		receive_all(&in);
		pthread_join(sender, NULL);
	}
	MUST(rshutdown(fd, SHUT_WR));
	ends(fd);
	free(out.piece);
	free(in.piece);
}

static void need(ssize_t done, ssize_t wanted, const char *what)
{
	if (done != wanted) {
		printf("%s: %zd, not %zd: %s\n", what, done, wanted, error_name(errno));
		exit(1);
	}
}

/* The server says when its memory may be written, and the client when it has written. */
static void be_written(int fd, int number)
{
	char *memory = mmap(NULL, WRITE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char byte = 'w';
	int round;

	if (riomap(fd, memory, WRITE_SIZE, PROT_WRITE, 0, WRITE_OFFSET) != WRITE_OFFSET)
		fail("riomap");
	for (round = 0; round < opt.writes; round++) {
		need(rsend(fd, &byte, 1, 0), 1, "rsend");
		need(rrecv(fd, &byte, 1, MSG_WAITALL), 1, "rrecv");
		check(memory, number + round, 0, WRITE_SIZE, "riowrite");
	}
	MUST(riounmap(fd, memory, WRITE_SIZE));
}

static void write_remotely(int fd, int number)
{
	struct stream s = make_stream(fd, number, true);
	size_t at, size;
	int round;
	char byte;

	for (round = 0; round < opt.writes; round++) {
		need(rrecv(fd, &byte, 1, MSG_WAITALL), 1, "rrecv");
		for (at = 0; at < WRITE_SIZE; at += size) {
			size = 1 + draw(&s, opt.largest);
			if (size > WRITE_SIZE - at)
				size = WRITE_SIZE - at;
			fill(s.piece, number + round, at, size);
			need(riowrite(fd, s.piece, size, WRITE_OFFSET + at, 0), size, "riowrite");
		}
		need(rsend(fd, &byte, 1, 0), 1, "rsend");
	}
	free(s.piece);
}

static void set_options(int fd)
{
	if (opt.buffer) {
		set_int(fd, SOL_SOCKET, SO_SNDBUF, opt.buffer);
		set_int(fd, SOL_SOCKET, SO_RCVBUF, opt.buffer);
	}
	if (opt.entries) {
		set_int(fd, SOL_RDMA, RDMA_SQSIZE, opt.entries);
		set_int(fd, SOL_RDMA, RDMA_RQSIZE, opt.entries);
	}
	if (opt.inline_size >= 0)
		set_int(fd, SOL_RDMA, RDMA_INLINE, opt.inline_size);
	if (opt.writes)
		set_int(fd, SOL_RDMA, RDMA_IOMAPSIZE, 4);
}

struct connection {
	pthread_t thread;
	int fd, number;
};

static void *serve(void *arg)
{
	struct connection *c = arg;

	if (opt.nonblocking)
		MUST(rfcntl(c->fd, F_SETFL, O_NONBLOCK));
	if (!opt.writes)
		exchange(c->fd, c->number);
	else if (opt.server)
		be_written(c->fd, c->number);
	else
		write_remotely(c->fd, c->number);
	MUST(rclose(c->fd));
	return NULL;
}

/* The first bytes of a connection are its number, so that both ends know the same one. */
static void *connect_one(void *arg)
{
	struct connection *c = arg;
	struct sockaddr_storage addr = get_address(opt.address, opt.port);

	c->fd = MUST(rsocket(addr.ss_family, SOCK_STREAM, 0));
	set_options(c->fd);
	MUST(connect_to(c->fd, opt.address, opt.port));
	need(rsend(c->fd, &c->number, sizeof(c->number), 0), sizeof(c->number), "rsend");
	return serve(c);
}

static void *accepted(void *arg)
{
	struct connection *c = arg;

	need(rrecv(c->fd, &c->number, sizeof(c->number), MSG_WAITALL), sizeof(c->number), "rrecv");
	return serve(c);
}

static void run_transfer(void)
{
	static struct connection connections[MAX_CONNECTIONS];
	int n, listener = -1;

	if (opt.server) {
		listener = bound(opt.address, opt.port);
		set_options(listener);
		MUST(rlisten(listener, opt.count));
		printf("ready\n");
	}
	for (n = 0; n < opt.count; n++) {
		connections[n].number = n;
		if (opt.server)
			connections[n].fd = MUST(raccept(listener, NULL, NULL));
		pthread_create(&connections[n].thread, NULL, opt.server ? accepted : connect_one,
			       &connections[n]);
	}
	for (n = 0; n < opt.count; n++)
		pthread_join(connections[n].thread, NULL);
	if (opt.server)
		MUST(rclose(listener));
	printf("ok %lld\n", opt.bytes * opt.count);
}

static void read_option(int letter, const char *text)
{
	switch (letter) {
	case 'b':
	case 's':
		opt.server = letter == 'b';
		opt.address = text;
		break;
	case 'p':
		opt.port = atoi(text);
		break;
	case 'n':
		opt.bytes = atoll(text);
		break;
	case 'd':
		opt.direction = *text;
		break;
	case 'c':
		opt.count = atoi(text);
		break;
	case 'P':
		opt.single = true;
		break;
	case 'N':
		opt.nonblocking = true;
		break;
	case 'B':
		opt.buffer = atoi(text);
		break;
	case 'q':
		opt.entries = atoi(text);
		break;
	case 'i':
		opt.inline_size = atoi(text);
		break;
	case 'm':
		opt.largest = atoi(text);
		break;
	case 'k':
		opt.seed = atoi(text);
		break;
	case 'w':
		opt.writes = atoi(text);
		break;
	default:
		fprintf(stderr, "transfer: see the head of transfer.c for the options\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	int letter;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((letter = getopt(argc, argv, "b:s:p:n:d:c:PNB:q:i:m:k:w:")) != -1)
		read_option(letter, optarg);
	if (!opt.address || opt.count < 1 || opt.count > MAX_CONNECTIONS) {
		fprintf(stderr, "transfer: -b or -s, and -c of up to %d\n", MAX_CONNECTIONS);
		return 2;
	}
	run_transfer();
	return 0;
}
