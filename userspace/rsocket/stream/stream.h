/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A stream socket: its connection, its queue pair, and both directions of its data.
 *
 * Functions that are passed a stream expect rcl_sock.lock to be held unless their comment says
 * otherwise.
 */
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

/* Work requests of the send queue that are reserved for control messages. */
#define RCL_CONTROL_SLOTS 4

/* Nothing is sent while the send buffer has fewer free bytes. */
#define RCL_SEND_LEAST 2048

/**
 * enum rcl_stream_state - states of a stream
 * @RCL_STREAM_NEW: neither bound nor connected
 * @RCL_STREAM_BOUND: rbind() was called
 * @RCL_STREAM_LISTENING: rlisten() was called
 * @RCL_STREAM_ADDRESS: the address of the peer is being resolved
 * @RCL_STREAM_ROUTE: the route to it is being resolved
 * @RCL_STREAM_CONNECTING: the request was sent
 * @RCL_STREAM_ACCEPTING: the reply was sent
 * @RCL_STREAM_UP: connected
 * @RCL_STREAM_FAILED: the connect has failed
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
 * @buf: ring of @size bytes: data that was posted and not sent yet
 * @pages: its pages, with room for entries of the peer's array behind the ring
 * @mr: its memory region
 * @size: bytes
 * @offset: where the next byte is written
 * @bytes: total of posted bytes of the ring
 * @bytes_done: total of bytes that are free again
 * @slots: total of posted work requests
 * @slots_done: total of completed work requests
 * @slots_most: work requests of the send queue
 * @controls: total of posted control messages
 * @controls_done: total of completed control messages
 * @bytes_signaled: value of @bytes at the last signaled work request
 * @slots_signaled: likewise, of @slots
 * @seq: number of the next message that needs a credit
 * @limit: number of the first message that may not be sent yet
 * @spare: credits that are reserved for control messages
 * @first: the range that the peer has announced when it connected
 * @target: the rest of the range that is being filled
 * @sgl: our array of ranges, which the peer fills
 * @index: of the next entry
 * @news: received credit messages that may announce an unread entry
 * @owed: a control message has to be sent when a work request is free
 * @owed_control: enum rcl_control of what is @owed
 * @mute: iWARP: this end has accepted, and may not send before the peer has
 * @error: negative errno of the first work request that has failed; 0: none
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
	struct rcl_target first;
	struct rcl_target target;
	struct rcl_target *sgl;
	unsigned int index;
	uint32_t news;
	bool owed;
	enum rcl_control owed_control;
	bool mute;
	int error;
};

/**
 * struct rcl_rx - the direction from the peer
 * @pages: memory that the peer may write: the ring, with iWARP @posted messages, and @table
 * @table: our array of ranges, and our table of mappings
 * @mr: memory region of @pages
 * @buf: the ring of two halves, followed by the messages
 * @size: its bytes
 * @offset: of the next byte for the program
 * @avail: bytes for the program
 * @least: SO_RCVLOWAT
 * @freed: bytes that the program has read since a half was announced
 * @room: announced bytes that the peer has not filled yet
 * @give: offset of the half that is announced next
 * @most: data messages that the peer may send without a new credit
 * @posted: work requests of the receive queue
 * @next_msg: iWARP: the next message buffer to post
 * @count: total of received data messages
 * @told: value of @count when the last limit was announced
 * @more: messages may have been left in the completion queue
 * @peer: the peer's array of ranges
 * @peer_index: the entry that is written next
 */
struct rcl_rx {
	struct rcl_pages pages;
	uint8_t *table;
	struct ibv_mr *mr;
	uint8_t *buf;
	uint32_t size;
	uint32_t offset;
	uint32_t avail;
	uint32_t least;
	uint32_t freed;
	uint32_t room;
	uint32_t give;
	uint32_t most;
	uint32_t posted;
	uint32_t next_msg;
	uint16_t count;
	uint16_t told;
	bool more;
	struct rcl_target peer;
	unsigned int peer_index;
};

/**
 * struct rcl_stream - a stream socket
 * @sock: the base; the first member
 * @state: &enum rcl_stream_state
 * @can_recv: neither end has closed this direction
 * @can_send: likewise
 * @shut_send: this end has closed the direction to the peer
 * @closed: rclose() was called
 * @left: the service thread ends it, and has a reference
 * @iwarp: messages are SENDs after an RDMA WRITE, as iWARP has no immediate data
 * @swap: the peer has the other byte order
 * @librdmacm: the peer is librdmacm
 * @sleeper: a thread is in ibv_get_cq_event(): no other thread may read events of the channel
 * @unread: the channel has an event, which woke a thread; read before the next arming
 * @spin: how long a call polls for completions before it sleeps
 * @tries: number of attempts of the current step of the connect
 * @id: of the connection manager; NULL: none yet
 * @events: the channel of @id
 * @route: value of RDMA_ROUTE, or NULL
 * @route_len: its length
 * @dst: address that rconnect() was called with
 * @pd: protection domain of its queue pair and memory regions
 * @comp: completion channel of both queues
 * @recv_cq: completion queue of receives
 * @send_cq: completion queue of sends; it is armed only while a thread waits for room
 * @wake_cq: completion queue of @wake_qp, with the same channel
 * @wake_qp: queue pair without a peer, whose flushed receives wake a thread; NULL: none was needed
 * @tx: direction to the peer
 * @rx: direction from the peer
 * @peer_iomaps: entries of the peer's table of mappings, which follows its array of ranges
 * @maps: mappings of riomap(); see iomap.h
 * @next: an accepted socket before raccept(): next in the list of the listener
 * @answered: likewise: its request was accepted
 * @ready: likewise: raccept() may take it
 * @hello: an accepted socket: the hello of the peer
 * @param: an accepted socket: parameters of the request
 * @alive: task of the service thread for keep-alive, and for messages that rshutdown() and rclose()
 *         could not send
 * @keepalive_s: seconds between keep-alive probes; 0: off
 * @probe_at: time of the next probe
 * @probe_end: time at which the last probe must have completed; RCL_FOREVER: none is in progress
 * @probe_slot: value of @tx.slots after that probe
 * @keepalive: SO_KEEPALIVE
 * @keepidle_s: TCP_KEEPIDLE; 0: not set
 * @tos: IP_TOS
 * @nodelay: TCP_NODELAY
 * @v6only: IPV6_V6ONLY
 * @reuseaddr: SO_REUSEADDR, set before rbind()
 * @linger: after rclose(): when the connection is ended unless the peer has received more
 * @linger_slots: value of @tx.slots_done when @linger was set
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
	bool librdmacm;
	bool sleeper;
	bool unread;
	struct rcl_spin spin;
	unsigned int tries;
	struct rdma_cm_id *id;
	struct rcl_events *events;
	void *route;
	size_t route_len;
	struct sockaddr_storage dst;
	struct ibv_pd *pd;
	struct ibv_comp_channel *comp;
	struct rcl_cq recv_cq;
	struct rcl_cq send_cq;
	struct rcl_cq wake_cq;
	struct ibv_qp *wake_qp;
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
	int reuseaddr;
	int64_t linger;
	uint32_t linger_slots;
};

/** rcl_stream_of - the stream of a socket of type SOCK_STREAM */
static inline struct rcl_stream *rcl_stream_of(struct rcl_sock *sock)
{
	return (struct rcl_stream *)(void *)sock;
}

/* Both directions are closed; data may still be in flight. */
static inline bool rcl_stream_is_over(const struct rcl_stream *s)
{
	return s->state >= RCL_STREAM_UP && !s->can_recv && !s->can_send;
}

/** rcl_stream_ops - the operations of streams */
extern const struct rcl_sock_ops rcl_stream_ops;

#endif /* RCL_RSOCKET_STREAM_H */
