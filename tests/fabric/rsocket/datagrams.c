// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sends pseudo-random datagrams of random lengths, with random calls, over rsockets. The server
 * returns each; both ends compare every byte and the address of the sender. One that is lost is
 * sent again, as datagrams may be.
 *
 * usage: datagrams -b ADDRESS [OPTION...]	server
 *	  datagrams -s ADDRESS [OPTION...]	client
 *	-p PORT
 *	-n COUNT	datagrams (default 2000)
 *	-w COUNT	of these under way at once (default 1, at most 32)
 *	-m BYTES	longest one (default 1000)
 *	-c		the client is connected
 *	-P		the server waits with rpoll()
 *	-k SEED		of the lengths, the bytes and the calls
 *
 * Both ends must get the same -k and -m. The server prints "ready" when it is bound. Both print
 * "ok COUNT" and exit with 0.
 */
#include "pieces.h"

#define WINDOW 32
#define LAST UINT64_MAX
/* Until a datagram is sent again, and how often. */
#define LOST_MS 500
#define TRIES 60

static struct {
	const char *address;
	bool server, connected, polls;
	int port, count, window, longest, seed;
} opt = { .port = 7471, .count = 2000, .window = 1, .longest = 1000, .seed = 1 };

static struct sockaddr_storage peer;

/* The length of a datagram, which has its number in front. */
static long length_of(uint64_t number)
{
	uint64_t x = (number + (uint64_t)opt.seed) * 0x9e3779b97f4a7c15ULL;

	if (number == LAST)
		return sizeof(number);
	return (long)sizeof(number) + (long)((x >> 33) % (uint64_t)(opt.longest - 7));
}

static void make_datagram(struct stream *s, uint64_t number)
{
	fill(s->piece, s->key + number, 0, length_of(number));
	memcpy(s->piece, &number, sizeof(number));
}

/* The number of what was received; the program ends if a byte is wrong. */
static uint64_t number_of(struct stream *s, ssize_t len, const char *call)
{
	uint64_t number;
	long n;

	if (len < (ssize_t)sizeof(number)) {
		printf("%s: %zd bytes\n", call, len);
		exit(1);
	}
	memcpy(&number, s->piece, sizeof(number));
	if (len != length_of(number)) {
		printf("%s: datagram %llu has %zd bytes, not %ld\n", call,
		       (unsigned long long)number, len, length_of(number));
		exit(1);
	}
	for (n = sizeof(number); n < len; n++)
		if (s->piece[n] != byte_at(s->key + number, n)) {
			printf("%s: byte %ld of datagram %llu is wrong\n", call, n,
			       (unsigned long long)number);
			exit(1);
		}
	return number;
}

/* librdmacm knows no vectors of datagrams, so those calls have one. */
static ssize_t send_datagram(struct stream *s, long len, const char **call)
{
	struct sockaddr *to = (struct sockaddr *)&peer;

	if (!opt.connected || draw(s, 2)) {
		*call = "rsendto";
		return rsendto(s->fd, s->piece, len, 0, to, address_len(&peer));
	}
	if (draw(s, 2)) {
		*call = "rsend";
		return rsend(s->fd, s->piece, len, 0);
	}
	*call = "rwrite";
	return rwrite(s->fd, s->piece, len);
}

static void send_number(struct stream *s, uint64_t number)
{
	const char *call = "";
	ssize_t sent;

	make_datagram(s, number);
	sent = send_datagram(s, length_of(number), &call);
	if (sent != length_of(number)) {
		printf("%s of %ld bytes: %zd %s\n", call, length_of(number), sent,
		       sent < 0 ? error_name(errno) : "");
		exit(1);
	}
}

static ssize_t receive_datagram(struct stream *s, struct sockaddr_storage *from)
{
	socklen_t len = sizeof(*from);
	ssize_t peeked;

	memset(from, 0, sizeof(*from));
	if (draw(s, 4))
		return rrecvfrom(s->fd, s->piece, opt.longest, 0, (struct sockaddr *)from, &len);
	peeked = MUST(rrecv(s->fd, s->piece, opt.longest, MSG_PEEK));
	number_of(s, peeked, "MSG_PEEK");
	return rrecvfrom(s->fd, s->piece, opt.longest, 0, (struct sockaddr *)from, &len);
}

static bool same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *x = (const void *)a, *y = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return !memcmp(a, b, offsetof(struct sockaddr_in, sin_zero));
	return x->sin6_port == y->sin6_port && !memcmp(&x->sin6_addr, &y->sin6_addr, 16);
}

static void serve(struct stream *s)
{
	struct sockaddr_storage addr = get_address(opt.address, opt.port);
	uint64_t number = 0;
	ssize_t got;

	MUST(rbind(s->fd, (struct sockaddr *)&addr, address_len(&addr)));
	puts("ready");
	while (number != LAST) {
		if (opt.polls)
			events_of(s->fd, POLLIN, -1);
		got = MUST(receive_datagram(s, &peer));
		number = number_of(s, got, "rrecvfrom");
		send_number(s, number);
		s->done++;
	}
}

/* What comes back within a time; marks it as done. */
static bool collect(struct stream *s, bool *back, uint64_t first, int count)
{
	struct sockaddr_storage from;
	uint64_t number;
	ssize_t got;

	if (!(events_of(s->fd, POLLIN, LOST_MS) & POLLIN))
		return false;
	got = MUST(receive_datagram(s, &from));
	number = number_of(s, got, "rrecvfrom");
	if (!same(&from, &peer)) {
		printf("datagram %llu is of another sender\n", (unsigned long long)number);
		exit(1);
	}
	if (number - first < (uint64_t)count && !back[number - first]) {
		back[number - first] = true;
		s->done++;
	}
	return true;
}

/* Sends some datagrams until all came back. */
static void exchange(struct stream *s, uint64_t first, int count)
{
	bool back[WINDOW] = { false };
	int n, left = TRIES;
	long long end = s->done + count;

	for (n = 0; n < count; n++)
		send_number(s, first + (uint64_t)n);
	while (s->done < end) {
		if (collect(s, back, first, count))
			continue;
		if (!--left) {
			printf("datagrams from %llu on do not come back\n",
			       (unsigned long long)first);
			exit(1);
		}
		for (n = 0; n < count; n++)
			if (!back[n])
				send_number(s, first + (uint64_t)n);
	}
}

static void ask(struct stream *s)
{
	int n, count;

	peer = get_address(opt.address, opt.port);
	if (opt.connected)
		MUST(rconnect(s->fd, (struct sockaddr *)&peer, address_len(&peer)));
	for (n = 0; n < opt.count; n += count) {
		count = opt.count - n < opt.window ? opt.count - n : opt.window;
		exchange(s, (uint64_t)n, count);
	}
	/* The server does not wait for more, so its answer may be lost. */
	for (n = 0; n < 5; n++) {
		send_number(s, LAST);
		if (events_of(s->fd, POLLIN, LOST_MS))
			break;
	}
}

static bool read_options(int argc, char **argv)
{
	int letter;

	while ((letter = getopt(argc, argv, "b:s:p:n:w:m:cPk:")) != -1)
		switch (letter) {
		case 'b':
		case 's':
			opt.server = letter == 'b';
			opt.address = optarg;
			break;
		case 'p':
			opt.port = atoi(optarg);
			break;
		case 'n':
			opt.count = atoi(optarg);
			break;
		case 'w':
			opt.window = atoi(optarg);
			break;
		case 'm':
			opt.longest = atoi(optarg);
			break;
		case 'c':
			opt.connected = true;
			break;
		case 'P':
			opt.polls = true;
			break;
		case 'k':
			opt.seed = atoi(optarg);
			break;
		default:
			return false;
		}
	return opt.address && opt.longest >= 8 && opt.window >= 1 && opt.window <= WINDOW;
}

int main(int argc, char **argv)
{
	struct sockaddr_storage addr;
	struct stream s = { 0 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!read_options(argc, argv)) {
		fprintf(stderr, "datagrams: see the head of datagrams.c for the options\n");
		return 2;
	}
	addr = get_address(opt.address, opt.port);
	s.random = (uint64_t)opt.seed + opt.server;
	s.key = (uint64_t)opt.seed << 32;
	s.piece = malloc(opt.longest);
	s.fd = MUST(rsocket(addr.ss_family, SOCK_DGRAM, 0));
	if (opt.server)
		serve(&s);
	else
		ask(&s);
	MUST(rclose(s.fd));
	printf("ok %lld\n", s.done);
	return 0;
}
