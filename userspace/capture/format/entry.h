/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A recorded message, and capture files. */
#ifndef CAPTURE_FORMAT_ENTRY_H
#define CAPTURE_FORMAT_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Length of a MAD, and of the longest frame of a trunk (RCA_FRAME_MAX of kernel/trunk/proto.h). */
#define RECORD_MAD_LEN 256
#define RECORD_FRAME_LEN 1024
/* Length of a comment of a person or another program, with its end; longer ones are cut. */
#define RECORD_COMMENT_LEN 960
/* The most records of a frame, which are of 8 bytes after its header of 24. */
#define RECORD_TIES 125

/* How packets of a port are framed. */
enum record_link {
	RECORD_INFINIBAND,	/* LRH, GRH if any, BTH, DETH, MAD; ERF (197) in files */
	RECORD_ROCE_V1,		/* Ethernet 0x8915, GRH, BTH, DETH, MAD */
	RECORD_ROCE_V2,		/* Ethernet, IPv4 or IPv6, UDP port 4791, BTH, DETH, MAD */
};

/* The direction of a message, seen from this host. */
enum record_way {
	RECORD_SENT,
	RECORD_SENT_AGAIN,	/* a retransmission by ib_mad or by us */
	RECORD_RECEIVED,
	RECORD_SEEN,		/* recorded by another program without the direction */
};

enum record_kind {
	RECORD_CM,		/* a MAD of the communication management class */
	RECORD_TRUNK,		/* a frame of a trunk: the payload of a send of its RC QP */
};

/* A port, which is an interface in a file. */
struct record_port {
	char device[64];	/* of ib_core, such as "mlx5_0" */
	uint32_t port;		/* from 1 */
	uint64_t dropped;	/* messages that passed it and were not recorded */
};

/* struct record_id - an id, CONTEXT/HANDLE in `rdma-cm-alt show`; @handle is 0: unknown */
struct record_id {
	uint64_t context;	/* an open of the device */
	uint32_t handle;	/* of the id in it */
};

/* struct record_tie - the id of a connection that has a record in a frame */
struct record_tie {
	uint32_t conn;		/* number of the connection in the session */
	uint32_t pid;
	struct record_id id;
	char program[16];
};

/*
 * Numbers are in host byte order unless they are arrays of bytes. Members that only long frames use
 * come last, so that a message can be stored without them.
 */
struct record_entry {
	uint64_t time;		/* nanoseconds since 1970 */
	uint32_t port;		/* index of its port in the recording */
	enum record_link link;
	enum record_way way;
	enum record_kind kind;
	bool grh;		/* sgid and dgid are valid; always with RoCE */
	uint8_t sgid[16];
	uint8_t dgid[16];
	uint8_t smac[6];	/* RoCE: zero if unknown */
	uint8_t dmac[6];
	uint16_t slid;		/* InfiniBand: 0 if unknown */
	uint16_t dlid;
	uint8_t sl;
	uint8_t hop_limit;
	uint16_t pkey;
	uint16_t udp_sport;	/* RoCE v2 */
	uint32_t sqpn;
	uint32_t dqpn;
	uint32_t qkey;
	uint32_t psn;
	bool private_data;	/* the message has its private data; otherwise it is zeroed */
	uint16_t len;		/* recorded bytes of the message: 256 of a MAD */
	/* Ties; 0 or "" where unknown. */
	struct record_id id;
	uint32_t pid;
	char program[16];
	char operation[24];	/* of the program, which sent it, such as "connect" */
	char event[24];		/* that it caused, such as "connect request" */
	bool stock;		/* of the stock connection manager or another user of ib_cm */
	/* Of a frame, instead of id, pid and program. */
	uint32_t session;	/* of the trunk; 0: unknown */
	unsigned int n_ties;
	uint8_t bytes[RECORD_FRAME_LEN];
	struct record_tie ties[RECORD_TIES];
};

/* The most bytes that a message of this kind has. */
static inline unsigned int record_longest(enum record_kind kind)
{
	return kind == RECORD_TRUNK ? RECORD_FRAME_LEN : RECORD_MAD_LEN;
}

static inline bool record_same_id(const struct record_id *a, const struct record_id *b)
{
	return a->context == b->context && a->handle == b->handle;
}

/*
 * Files. Written as pcapng with interfaces "device/port"; read as pcapng or pcap, also those of
 * other programs, of which only CM messages are read.
 *
 * Functions return 0 or a negative errno. A message in why (of why_len bytes) names the packet and
 * the error. No function closes the file. A writer or reader is used by one thread at a time.
 */
struct capture_writer;

/* Begins a file. Returns NULL on an error, which is in why. */
struct capture_writer *capture_create(FILE *to, char *why, size_t why_len);

/*
 * Writes a message and flushes it. A port gets an interface when it is first seen. Comments tie the
 * packet to its id. After an error the file ends with the last complete packet, if it can be
 * truncated; then only capture_close() may follow.
 */
int capture_write(struct capture_writer *to, const struct record_port *ports,
		  unsigned int n_ports, const struct record_entry *entry);

/*
 * Writes the number of messages and of drops of each port, and frees the writer. n_ports may be 0.
 * Returns the error of capture_write(), too.
 */
int capture_close(struct capture_writer *to, const struct record_port *ports,
		  unsigned int n_ports);

/* A message of a file. */
struct capture_seen {
	unsigned int number;		/* of the packet, from 1, as Wireshark numbers it */
	struct record_port port;	/* its device is the interface's name if that is no port */
	struct record_entry entry;
	char comment[RECORD_COMMENT_LEN];	/* of a person or another program; "": none */
};

/* Most ports of a file; messages of further ports have this index. */
#define CAPTURE_PORTS 1024

/* Totals of a file. */
struct capture_total {
	unsigned int packets;
	unsigned int messages;		/* packets that are CM messages or frames of a trunk */
	unsigned int unread;		/* packets of a type of link that cannot be read */
	int unread_link;		/* type of the link of the first of them */
	char recorder[128];		/* the program that wrote the file; "": unknown */
	unsigned int n_ports;		/* in the order in which the file names them */
	struct record_port *ports;	/* of capture_total_free() */
	uint64_t dropped_elsewhere;	/* at ports for which there was no room */
};

/*
 * Calls each() for each message in order; stops when it returns non-zero, and returns that.
 * -EBADMSG: the file is damaged; -ENODATA: it ends within a packet; -EINVAL: it is no capture. The
 * messages before the damage have been given to each(). total may be NULL; it is filled in, too,
 * when an error is returned, and capture_total_free() frees its ports.
 */
int capture_read_total(FILE *from, int (*each)(const struct capture_seen *seen, void *arg),
		       void *arg, struct capture_total *total, char *why, size_t why_len);

/* Frees the ports, and leaves none. */
void capture_total_free(struct capture_total *total);

/* capture_read_total() without the total. */
int capture_read(FILE *from, int (*each)(const struct capture_seen *seen, void *arg), void *arg,
		 char *why, size_t why_len);

/*
 * Prints a line: number, time since before or time of day, port, way, name, peers, communication
 * IDs, reason, id and program. before: time of the previous message of the conversation; 0: there
 * is none. Implemented in capture/decode.
 */
void record_text(FILE *to, unsigned int number, const struct record_port *port,
		 const struct record_entry *entry, uint64_t before);

/*
 * Zeroes the private data (as IBTA defines them) of a CM message, and of the records of a trunk's
 * frame. The header of the RDMA IP CM service at the beginning of the private data of a REQ and a
 * SIDR_REQ, which has addresses and ports only, stays if cm_is_ip_header() finds one. A message
 * that is damaged or no CM message keeps its header only.
 */
void record_remove_private_data(struct record_entry *entry);

#endif
