/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A kernel for the unit tests: behind the library's table of system calls,
 * with queues that are pipes, and failures on demand.
 */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

#include <stdbool.h>
#include <rdma/rdma_cm_alt.h>

#define FAKE_COMMANDS (RDMA_CM_ALT_CMD_END - RDMA_CM_ALT_CMD_BASE)
#define FAKE_MAX_IDS 512
#define FAKE_NO_EVENT -1
#define FAKE_CANNED 1	/* the CM leaves a command to the canned answer */

/**
 * struct fake_id - an id of the fake kernel
 * @alive: created and not destroyed
 * @fd: queue of its events
 * @cookie: in its events
 * @reported: number of events that were read
 */
struct fake_id {
	bool alive;
	int fd;
	__u64 cookie;
	__u32 reported;
};

/**
 * struct fake_member - a membership of the fake kernel
 * @alive: joined and not left
 * @id: handle of its id
 * @cookie: in its events
 * @reported: number of events that were read
 */
struct fake_member {
	bool alive;
	__u32 id;
	__u64 cookie;
	__u32 reported;
};

/**
 * struct fake_cm_ops - a CM between the ids of the process, in place of the canned answers
 * @place: an id was created, or binds or resolves its addresses; 0 or a negative errno
 * @fill: puts the route and the QP attributes of its id into an event
 * @command: answers a command: 0, a negative errno, or FAKE_CANNED
 * @closed: a queue is closed
 *
 * All are called with the lock of the kernel held.
 */
struct fake_cm_ops {
	int (*place)(__u32 handle, const struct rdma_cm_alt_pipeline *pipe);
	void (*fill)(struct rdma_cm_alt_event *event);
	int (*command)(unsigned int cmd, void *arg);
	void (*closed)(int fd);
};

/**
 * struct fake_kernel - its knobs and its records of calls
 * @open_error: errno of the next opens; 0: they work
 * @fail: errno of a command's next call, by number - RDMA_CM_ALT_CMD_BASE
 * @calls: calls of each command, and entries of batches
 * @reads: calls of read() for events, those included that found none
 * @record_size: of an event
 * @features: RDMA_CM_ALT_FEATURE_*
 * @nonblock: new queues have O_NONBLOCK
 * @mmap_error: mmap() fails
 * @on_map: changes the header of a ring when it is mapped; NULL: none
 * @on_call: runs before a command; NULL: nothing
 * @on_return: runs after a command, before its call returns; NULL: nothing
 * @batch_most: entries after which a signal ends a batch; 0: none does
 * @on_answer: changes the answer to a command, and its return value; NULL: none
 * @route: route of every id
 * @config_dir: stands for stock's directory in configfs; NULL: there is none
 * @qp: QP attributes in events
 * @attr: answer of QP_ATTR
 * @group: address handle attributes of a group that is joined
 * @addr_event: event that ends resolving an address, or FAKE_NO_EVENT
 * @route_event: event that ends resolving a route, or FAKE_NO_EVENT
 * @connect_event: event that ends a connect, or FAKE_NO_EVENT
 * @accept_event: event that ends an accept, or FAKE_NO_EVENT
 * @disconnect_event: event that ends a disconnect, or FAKE_NO_EVENT
 * @join_event: event that ends a join, or FAKE_NO_EVENT
 * @service_event: event that ends resolving a service, or FAKE_NO_EVENT
 * @services: service records of every id
 * @service_count: their number
 * @meanwhile: runs inside of the next connect, which fails with ECONNABORTED; NULL: nothing
 * @status: of those events when they are errors
 * @cm: NULL: ids have no peers, and the answers are canned
 * @path: opened last
 * @context_fd: descriptor of the device that was opened last
 * @last: the struct of the last call of each command, as it was passed
 * @private_data: of the last connect, accept or reject, the value of the last option, or the name
 *                of the last service
 * @ids: by handle
 * @members: by handle
 */
struct fake_kernel {
	int open_error;
	int fail[FAKE_COMMANDS];
	int calls[FAKE_COMMANDS];
	int reads;
	__u32 record_size;
	__u64 features;
	bool nonblock;
	bool mmap_error;
	void (*on_map)(struct rdma_cm_alt_ring *header);
	void (*on_call)(unsigned int cmd);
	void (*on_return)(unsigned int cmd);
	__u32 batch_most;
	void (*on_answer)(unsigned int cmd, void *arg, int *ret);
	struct rdma_cm_alt_route route;
	const char *config_dir;
	struct rdma_cm_alt_qp_attr qp;
	struct ib_uverbs_qp_attr attr;
	struct ib_uverbs_ah_attr group;
	int addr_event;
	int route_event;
	int connect_event;
	int accept_event;
	int disconnect_event;
	int join_event;
	int service_event;
	const struct rdma_cm_alt_service *services;
	__u32 service_count;
	void (*meanwhile)(void);
	int status;
	const struct fake_cm_ops *cm;
	char path[128];
	int context_fd;
	union {
		struct rdma_cm_alt_resolve resolve;
		struct rdma_cm_alt_connect connect;
		struct rdma_cm_alt_listen listen;
		struct rdma_cm_alt_accept accept;
		struct rdma_cm_alt_reject reject;
		struct rdma_cm_alt_option option;
		struct rdma_cm_alt_set_queue set_queue;
		struct rdma_cm_alt_qp_attr_get qp_attr;
		struct rdma_cm_alt_join join;
		struct rdma_cm_alt_leave leave;
		struct rdma_cm_alt_post_event post_event;
		struct rdma_cm_alt_resolve_service resolve_service;
		struct rdma_cm_alt_services services;
		__u8 bytes[1024];
	} last[FAKE_COMMANDS];
	__u8 private_data[512];
	struct fake_id ids[FAKE_MAX_IDS];
	struct fake_member members[FAKE_MAX_IDS];
};

extern struct fake_kernel fake;

/** FAKE - index of a command in the arrays of struct fake_kernel */
#define FAKE(name) (RDMA_CM_ALT_CMD_##name - RDMA_CM_ALT_CMD_BASE)

/** fake_install - start with a fresh kernel, in front of the library */
void fake_install(void);

/** fake_remove - close all that is open */
void fake_remove(void);

/** fake_event - a record with route and QP attributes for an id */
struct rdma_cm_alt_event fake_event(__u32 type, __u32 handle);

/** fake_post - put a record on the queue of the id that it is for */
void fake_post(const struct rdma_cm_alt_event *event);

/** fake_post_to - put a record on the queue of this descriptor, whatever id it names */
void fake_post_to(int fd, const struct rdma_cm_alt_event *event);

/** fake_post_type - the same with no more than a type and a status */
void fake_post_type(__u32 type, __u32 handle, int status);

/** fake_post_locked - fake_post() by the CM, with the lock held */
void fake_post_locked(const struct rdma_cm_alt_event *event);

/** fake_child_locked - fake_child() by the CM, with the lock held; 0: too many ids */
__u32 fake_child_locked(__u32 listener);

/** fake_kernel_lock - take the lock of the kernel, for knobs of the CM */
void fake_kernel_lock(void);

/** fake_kernel_unlock - release it */
void fake_kernel_unlock(void);

/** fake_post_member - an event of a membership */
void fake_post_member(__u32 type, __u32 member, int status);

/**
 * fake_request - a connection request for a listener
 * @listener: its handle
 *
 * Return: handle of the new id
 */
__u32 fake_request(__u32 listener);

/** fake_child - the new id of a request alone, for an event of the caller's own */
__u32 fake_child(__u32 listener);

/** fake_id_alive - is there an id with this handle? */
bool fake_id_alive(__u32 handle);

/** fake_copy - copy the descriptor of a queue, as dup() does, for fake_uncopy() */
int fake_copy(int fd);

/** fake_copy_over - the same over another queue, as dup2() does */
void fake_copy_over(int fd, int over);

/** fake_uncopy - close the copy */
void fake_uncopy(int copy);

/** fake_open_queues - queues that are open */
int fake_open_queues(void);

#endif /* FAKE_KERNEL_H */
