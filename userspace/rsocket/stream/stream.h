/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A stream socket: its connection, its queue pair, and both directions of its data. */
#ifndef RCL_RSOCKET_STREAM_H
#define RCL_RSOCKET_STREAM_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "rsocket/cq.h"
#include "rsocket/pages.h"
#include "rsocket/service.h"
#include "rsocket/sock.h"
#include "rsocket/wait.h"
#include "rsocket/wire.h"

/** RCL_CONTROL_SLOTS - work requests of the send queue that are kept for control messages */
#define RCL_CONTROL_SLOTS 4

/** RCL_SEND_LEAST - free bytes of the send buffer without which nothing is sent */
#define RCL_SEND_LEAST 2048

/**
 * enum rcl_stream_state - states of a stream
 * @RCL_STREAM_NEW: neither bound nor connected
 * @RCL_STREAM_BOUND: rbind() was called
 * @RCL_STREAM_LISTENING: it has requests, and no data
 * @RCL_STREAM_ADDRESS: the address of the peer is being resolved
 * @RCL_STREAM_ROUTE: the route to it is being resolved
 * @RCL_STREAM_CONNECTING: the request was sent
 * @RCL_STREAM_ACCEPTING: the reply was sent
 * @RCL_STREAM_UP: connected
 * @RCL_STREAM_FAILED: it could not be connected
 * @RCL_STREAM_DOWN: the connection has ended; received data may be left
 */
enum rcl_stream_state {
	RCL_STREAM_NEW,
	RCL_STREAM_BOUND,
	RCL_STREAM_LISTENING,
	RCL_STREAM_ADDRESS,
	RCL_STREAM_ROUTE,
	RCL_STREAM_CONNECTING,
	RCL_STREAM_ACCEPTING,
	RCL_STREAM_UP,
	RCL_STREAM_FAILED,
	RCL_STREAM_DOWN,
};

struct rcl_events;
struct rcl_maps;

/**
 * struct rcl_tx - the direction to the peer
 * @buf: ring of @size bytes: what was posted, and is not sent yet
 * @pages: its pages, with room for entries of the peer's array behind the ring
 * @mr: its memory region
 * @size: bytes
 * @offset: where the next byte is written
 * @bytes: bytes of the ring that were posted in all
 * @bytes_done: of these, bytes that are free again
 * @slots: work requests that were posted in all
 * @slots_done: of these, those that have completed
 * @slots_most: work requests of the send queue
 * @controls: control messages that were posted in all
 * @controls_done: of these, those that have completed
 * @bytes_signaled: value of @bytes at the last signaled work request
 * @slots_signaled: value of @slots then
 * @seq: number of the next message that needs a credit
 * @limit: number of the first message that the peer does not take yet
 * @spare: credits that are left to control messages
 * @target: what is left of the range that is being filled
 * @sgl: our array of ranges, which the peer fills
 * @index: of the next entry
 * @news: messages that may have had an entry which was not read yet
 * @owed: DISCONNECT or SHUTDOWN has to be sent when there is a work request for it
 * @owed_control: which of them
 * @mute: iWARP: this end has accepted, and may send nothing before the peer has sent something
 * @error: why a work request has failed, a negative errno; 0: none has
 *
 * All counters wrap around.
 */
struct rcl_tx {
	uint8_t *buf;
	struct rcl_pages pages;
	struct ibv_mr *mr;
	uint32_t size;
	uint32_t offset;
	uint32_t bytes;
	uint32_t bytes_done;
	uint32_t slots;
	uint32_t slots_done;
	uint32_t slots_most;
	uint8_t controls;
	uint8_t controls_done;
	uint32_t bytes_signaled;
	uint32_t slots_signaled;
	uint16_t seq;
	uint16_t limit;
	uint16_t spare;
	struct rcl_target target;
	volatile struct rcl_target *sgl;
	unsigned int index;
	uint32_t news;
	bool owed;
	enum rcl_control owed_control;
	bool mute;
	int error;
};

/**
 * struct rcl_rx - the direction from the peer
 * @pages: the memory that the peer may write to: the ring, on iWARP @posted messages, @table
 * @table: our array of ranges, and our table of mappings
 * @mr: memory region of @pages
 * @buf: the ring of two halves, behind it the messages
 * @size: its bytes
 * @offset: of the next byte for the program
 * @avail: bytes for the program
 * @freed: bytes that the program has taken since a half was announced
 * @room: announced bytes that the peer has not filled
 * @give: offset of the half that is announced next
 * @most: data messages that the peer may send before it gets a credit
 * @posted: work requests of the receive queue
 * @next_msg: iWARP: the buffer of a message that is posted next
 * @count: data messages that were received in all
 * @told: value of @count when the last limit was told
 * @tells_len: completions have told how many bytes were written
 * @peer: the peer's array of ranges
 * @peer_index: of its entry that is written next
 */
struct rcl_rx {
	struct rcl_pages pages;
	uint8_t *table;
	struct ibv_mr *mr;
	uint8_t *buf;
	uint32_t size;
	uint32_t offset;
	uint32_t avail;
	uint32_t freed;
	uint32_t room;
	uint32_t give;
	uint32_t most;
	uint32_t posted;
	uint32_t next_msg;
	uint16_t count;
	uint16_t told;
	bool tells_len;
	struct rcl_target peer;
	unsigned int peer_index;
};

/**
 * struct rcl_stream - a stream socket
 * @sock: what all sockets have; the first member
 * @state: &enum rcl_stream_state
 * @can_recv: neither end has ended this direction
 * @can_send: likewise
 * @shut_send: this end has ended the direction to the peer
 * @closed: rclose() was called
 * @left: the service thread ends it, and has a reference
 * @iwarp: messages are SENDs after an RDMA WRITE, which has no immediate data there
 * @swap: the peer has the other byte order
 * @sleeper: a thread is in ibv_get_cq_event(): nobody else may take events of the channel
 * @spin: whether a call looks for completions for a while before it sleeps
 * @tries: times that the current step of the connect was tried
 * @id: of the connection manager; NULL: none yet
 * @events: the channel of @id
 * @route: value of RDMA_ROUTE, or NULL
 * @route_len: its length
 * @dst: address that rconnect() was called with
 * @comp: completion channel of both queues
 * @recv_cq: completion queue of receives
 * @send_cq: completion queue of sends; it is armed only while a thread waits for room
 * @tx: direction to the peer
 * @rx: direction from the peer
 * @peer_iomaps: entries of the peer's table of mappings, which is behind its array of ranges
 * @maps: mappings of riomap(); see iomap.h
 * @next: an accepted socket before raccept(): next in the list of the listener
 * @answered: likewise: its request was accepted
 * @ready: likewise: raccept() may take it
 * @hello: an accepted socket: what the peer has told
 * @param: an accepted socket: parameters of the request
 * @alive: task of the service thread for keep-alive, and for what rshutdown() and rclose() have
 *         left to send
 * @keepalive_s: seconds between messages that show whether the peer is there; 0: off
 * @probe_at: time of the next of them
 * @probe_end: time at which the last one has to have completed; RCL_FOREVER: it need not
 * @probe_slot: value of @tx.slots after it
 * @keepalive: SO_KEEPALIVE
 * @keepidle_s: TCP_KEEPIDLE; 0: none was set
 * @tos: IP_TOS
 * @nodelay: TCP_NODELAY
 * @v6only: IPV6_V6ONLY
 * @linger: after rclose(): time at which the connection is ended in any case
 */
struct rcl_stream {
	struct rcl_sock sock;
	enum rcl_stream_state state;
	bool can_recv;
	bool can_send;
	bool shut_send;
	bool closed;
	bool left;
	bool iwarp;
	bool swap;
	bool sleeper;
	struct rcl_spin spin;
	unsigned int tries;
	struct rdma_cm_id *id;
	struct rcl_events *events;
	void *route;
	size_t route_len;
	struct sockaddr_storage dst;
	struct ibv_comp_channel *comp;
	struct rcl_cq recv_cq;
	struct rcl_cq send_cq;
	struct rcl_tx tx;
	struct rcl_rx rx;
	uint32_t peer_iomaps;
	struct rcl_maps *maps;
	struct rcl_stream *next;
	bool answered;
	bool ready;
	struct rcl_hello hello;
	struct rdma_conn_param param;
	struct rcl_task alive;
	uint32_t keepalive_s;
	int64_t probe_at;
	int64_t probe_end;
	uint32_t probe_slot;
	bool keepalive;
	uint32_t keepidle_s;
	uint8_t tos;
	bool nodelay;
	bool v6only;
	int64_t linger;
};

/** rcl_stream_of - the stream of a socket of type SOCK_STREAM */
static inline struct rcl_stream *rcl_stream_of(struct rcl_sock *sock)
{
	return (struct rcl_stream *)(void *)sock;
}

/** rcl_stream_is_over - both directions have ended; what was sent may still be under way */
static inline bool rcl_stream_is_over(const struct rcl_stream *s)
{
	return s->state >= RCL_STREAM_UP && !s->can_recv && !s->can_send;
}

/** rcl_stream_ops - the calls of streams */
extern const struct rcl_sock_ops rcl_stream_ops;

#endif /* RCL_RSOCKET_STREAM_H */
