/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A datagram socket: its UDP socket, queue pairs, destinations and received datagrams.
 *
 * Functions that are passed a socket, or a local address, destination or way of one, expect
 * rcl_sock.lock to be held unless their comment says otherwise.
 */
#ifndef RCL_RSOCKET_DGRAM_H
#define RCL_RSOCKET_DGRAM_H

#include <rdma/rdma_cma.h>
#include <sys/queue.h>

#include "rsocket/cq.h"
#include "rsocket/dgram/dgram_wire.h"
#include "rsocket/pages.h"
#include "rsocket/service.h"
#include "rsocket/sock.h"
#include "rsocket/wait.h"

/* Most local addresses from which a socket sends by RDMA. */
#define RCL_LOCALS_MOST 16

/* Most destinations of a socket; the least recently used one is forgotten. */
#define RCL_PEERS_MOST 1024

/* Buckets of the hash table of destinations. */
#define RCL_PEER_BUCKETS 256

/* Most destinations whose way is resolved at the same time. */
#define RCL_RESOLVES_MOST 16

struct rcl_local;
struct rcl_peer;
struct rcl_way;

/**
 * struct rcl_datagram - a received datagram
 * @next: in the queue
 * @local: the owner of the buffer with the datagram; NULL: received over UDP, @data follows this
 *         struct
 * @slot: number of the buffer
 * @from: its sender
 * @data: the bytes
 * @len: their number
 */
struct rcl_datagram {
	STAILQ_ENTRY(rcl_datagram) next;
	struct rcl_local *local;
	uint32_t slot;
	union rcl_inet from;
	const uint8_t *data;
	size_t len;
};

/**
 * struct rcl_local - a local address, its queue pair and buffers
 * @next: in the list of the socket, to the end of the socket
 * @addr: the address, and the port of the UDP socket
 * @id: of the connection manager
 * @comp: completion channel of both queues
 * @recv_cq: completion queue of receives
 * @send_cq: completion queue of sends; it is armed only while a thread waits for room
 * @mem: buffers of receives, and behind them those of sends
 * @pages: their memory
 * @mr: their memory region
 * @slots: one for each receive; in the queue while it holds a datagram
 * @rq_size: number of receives
 * @ways: by number of the send: its way, while it is in progress
 * @free: numbers of the sends that are not in progress
 * @free_count: their number
 * @sq_size: number of sends
 * @inline_len: longest datagram that is posted inline
 * @mtu: bytes of the longest packet of the port
 * @needs_grh: packets have a global route header, also within the subnet
 * @dead: its adapter is gone, or its queue pair has failed; freed when another one is created
 * @waits: number of threads that wait for room in its send queue
 */
struct rcl_local {
	struct rcl_local *next;
	union rcl_inet addr;
	struct rdma_cm_id *id;
	struct ibv_comp_channel *comp;
	struct rcl_cq recv_cq;
	struct rcl_cq send_cq;
	uint8_t *mem;
	struct rcl_pages pages;
	struct ibv_mr *mr;
	struct rcl_datagram *slots;
	uint32_t rq_size;
	struct rcl_way **ways;
	uint16_t *free;
	uint32_t free_count;
	uint32_t sq_size;
	uint32_t inline_len;
	uint32_t mtu;
	bool needs_grh;
	bool dead;
	unsigned int waits;
};

/**
 * struct rcl_resolve - a way that is being resolved
 * @link: in the list of the socket
 * @id: of the connection manager; its context is this struct
 * @peer: the destination; NULL: it was forgotten
 * @qpn: number of its queue pair
 */
struct rcl_resolve {
	LIST_ENTRY(rcl_resolve) link;
	struct rdma_cm_id *id;
	struct rcl_peer *peer;
	uint32_t qpn;
};

/**
 * struct rcl_peer - a destination
 * @link: in its bucket
 * @used: in the list of all, the most recently used one first
 * @addr: address and port of its UDP socket
 * @local: local address from which it is reached
 * @way: way to its queue pair; NULL: unknown, datagrams are sent over UDP
 * @resolve: resolution of the way in progress, or NULL
 * @qpn: number of its queue pair; 0: unknown
 * @heard: time of its last datagram, nanoseconds of CLOCK_MONOTONIC
 * @asked: time of the last datagram that was sent to it over UDP, which it answers
 * @retry: the way is not resolved again before this time
 */
struct rcl_peer {
	LIST_ENTRY(rcl_peer) link;
	TAILQ_ENTRY(rcl_peer) used;
	union rcl_inet addr;
	struct rcl_local *local;
	struct rcl_way *way;
	struct rcl_resolve *resolve;
	uint32_t qpn;
	int64_t heard;
	int64_t asked;
	int64_t retry;
};

/*
 * struct rcl_dgram - a datagram socket
 * @sock: the base; the first member
 * @started: its sizes are fixed, and the service thread serves it
 * @closed: rclose() was called
 * @shut_recv: nothing is received any more
 * @shut_send: nothing is sent any more
 * @connected: rconnect() has set @peer
 * @peer: the only destination from which datagrams are received
 * @udp: the UDP socket
 * @udp_task: reads it
 * @channel: events of all ids
 * @cm_task: reads them
 * @gate: held by the service thread around @sock.lock; see rcl_dgram_give_way()
 * @served: the service thread waits for @sock.lock
 * @tos: IP_TOS; negative: not set
 * @locals: local addresses that are in use
 * @local_count: their number
 * @buckets: destinations by address
 * @peers: all destinations
 * @peer_count: their number
 * @resolves: resolutions in progress
 * @resolve_count: their number
 * @queue: received datagrams, oldest first
 * @udp_count: number of these that came over UDP
 * @failed_until: unknown senders are not answered before this time
 * @spin: how long a call polls for completions before it sleeps
 */
struct rcl_dgram {
	struct rcl_sock sock;
	bool started;
	bool closed;
	bool shut_recv;
	bool shut_send;
	bool connected;
	union rcl_inet peer;
	int udp;
	struct rcl_task udp_task;
	struct rdma_event_channel *channel;
	struct rcl_task cm_task;
	pthread_mutex_t gate;
	atomic_bool served;
	int tos;
	struct rcl_local *locals;
	unsigned int local_count;
	LIST_HEAD(, rcl_peer) buckets[RCL_PEER_BUCKETS];
	TAILQ_HEAD(rcl_peer_list, rcl_peer) peers;
	unsigned int peer_count;
	LIST_HEAD(, rcl_resolve) resolves;
	unsigned int resolve_count;
	STAILQ_HEAD(, rcl_datagram) queue;
	unsigned int udp_count;
	int64_t failed_until;
	struct rcl_spin spin;
};

/* The datagram socket of a socket of type SOCK_DGRAM. */
static inline struct rcl_dgram *rcl_dgram_of(struct rcl_sock *sock)
{
	return (struct rcl_dgram *)(void *)sock;
}

/** rcl_dgram_ops - the operations of datagram sockets */
extern const struct rcl_sock_ops rcl_dgram_ops;

#endif /* RCL_RSOCKET_DGRAM_H */
