/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Pieces of a pseudo-random stream: their bytes and sizes, and the calls that move them. */
#ifndef PIECES_H
#define PIECES_H

#include "rs_program.h"

/* One direction of a connection. */
struct stream {
	int fd;
	uint64_t random, key;	/* state of the random sizes; key of the data */
	long long done, end;
	long largest;		/* bytes of a piece */
	char *piece;
};

/* A random number of a stream, less than @below. */
static inline uint32_t draw(struct stream *s, uint32_t below)
{
	s->random = s->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(s->random >> 33) % below;
}

/* The byte at a position of a stream. */
static inline char byte_at(uint64_t key, long long position)
{
	uint64_t x = key + (uint64_t)(position / 8) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return (char)(x >> (position % 8 * 8));
}

/* Write the bytes from a position on. */
static inline void fill(char *to, uint64_t key, long long position, long len)
{
	long n;

	for (n = 0; n < len; n++)
		to[n] = byte_at(key, position + n);
}

/* Compare received bytes with what was sent; the program ends when they differ. */
static inline void check(const char *from, uint64_t key, long long position, long len,
			 const char *call)
{
	long n;

	for (n = 0; n < len; n++)
		if (from[n] != byte_at(key, position + n)) {
			printf("byte %lld is %#x, not %#x, read with %s\n", position + n,
			       (uint8_t)from[n], (uint8_t)byte_at(key, position + n), call);
			exit(1);
		}
}

/* A piece of the end of the stream may be shorter than drawn. */
static inline long piece_size(struct stream *s)
{
	long size = 1 + draw(s, draw(s, 4) ? s->largest : 64);

	return size < s->end - s->done ? size : (long)(s->end - s->done);
}

/* Cut a piece into three vectors. */
static inline struct msghdr cut(struct stream *s, struct iovec iov[3], long size)
{
	long first = draw(s, size + 1), second = draw(s, size - first + 1);

	iov[0] = (struct iovec){ s->piece, first };
	iov[1] = (struct iovec){ s->piece + first, second };
	iov[2] = (struct iovec){ s->piece + first + second, size - first - second };
	return (struct msghdr){ .msg_iov = iov, .msg_iovlen = 3 };
}

/* Send a piece with a random call, whose name is stored. With @flags: calls that take flags. */
static inline ssize_t send_somehow(struct stream *s, long size, int flags, const char **call)
{
	struct iovec iov[3];
	struct msghdr msg = cut(s, iov, size);

	switch (draw(s, flags ? 3 : 5)) {
	case 0:
		*call = "rsend";
		return rsend(s->fd, s->piece, size, flags);
	case 1:
		*call = "rsendto";
		return rsendto(s->fd, s->piece, size, flags, NULL, 0);
	case 2:
		*call = "rsendmsg";
		return rsendmsg(s->fd, &msg, flags);
	case 3:
		*call = "rwrite";
		return rwrite(s->fd, s->piece, size);
	default:
		*call = "rwritev";
		return rwritev(s->fd, iov, 3);
	}
}

/* Receive up to @size bytes likewise. */
static inline ssize_t receive_somehow(struct stream *s, long size, int flags, const char **call)
{
	struct iovec iov[2] = { { s->piece, size / 2 + 1 }, { s->piece + size / 2 + 1, size } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2, .msg_flags = flags };
	ssize_t peeked;

	iov[1].iov_len = size - iov[0].iov_len;
	switch (draw(s, flags ? 4 : 7)) {
	case 0:
		*call = "rrecv";
		return rrecv(s->fd, s->piece, size, flags);
	case 1:
		*call = "rrecvfrom";
		return rrecvfrom(s->fd, s->piece, size, flags, NULL, NULL);
	case 2:
		/* librdmacm takes the flags from the message. */
		*call = "rrecvmsg";
		return rrecvmsg(s->fd, &msg, flags);
	case 3:
		*call = "MSG_PEEK";
		peeked = rrecv(s->fd, s->piece, size, flags | MSG_PEEK);
		if (peeked > 0)
			check(s->piece, s->key, s->done, peeked, *call);
		*call = "rrecv after MSG_PEEK";
		return peeked > 0 ? rrecv(s->fd, s->piece, peeked, flags) : peeked;
	case 4:
		*call = "MSG_WAITALL";
		return rrecv(s->fd, s->piece, size, MSG_WAITALL);
	case 5:
		*call = "rread";
		return rread(s->fd, s->piece, size);
	default:
		*call = "rreadv";
		return rreadv(s->fd, iov, 2);
	}
}

#endif /* PIECES_H */
