/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Commands of rdma_ucm's ABI without a library, for the device of rdma_ucm or of rdma_cm_alt_ucm.
 * They return 0 or a negative errno; those called ucm_get_*() and ucm_expect_*() fail the test on
 * an error.
 */
#ifndef UCM_CALLS_H
#define UCM_CALLS_H

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include "ktap.h"

#define UCM_NODE "/dev/infiniband/rdma_cm"
#define UCM_HOST "10.9.0.1"	/* on rxe0 */

/* Event types. */
enum {
	ADDR_RESOLVED = 0, ROUTE_RESOLVED = 2, CONNECT_REQUEST = 4, CONNECT_RESPONSE = 5,
	REJECTED = 8, ESTABLISHED = 9, DISCONNECTED = 10, DEVICE_REMOVAL = 11, MULTICAST_JOIN = 12,
};

int ucm_open(void);
/* Any command, with the lengths that its header states; @size: bytes at @cmd. */
int ucm_call(int fd, uint32_t number, const void *cmd, size_t size, uint16_t in, uint16_t out);

#define CALL(fd, name, cmd, out) \
	ucm_call(fd, RDMA_USER_CM_CMD_##name, &(cmd), sizeof(cmd), sizeof(cmd), out)

#define PTR(object) ((uintptr_t)&(object))

int ucm_create(int fd, uint64_t uid, uint16_t ps, uint32_t *id);
uint32_t ucm_get_id(int fd, uint64_t uid);
int ucm_destroy(int fd, uint32_t id, uint32_t *reported);
int ucm_migrate(int to, int from, uint32_t id, uint32_t *reported);
struct sockaddr_in ucm_address(const char *ip, uint16_t port);
int ucm_bind(int fd, uint32_t id, const char *ip, uint16_t port);
int ucm_resolve(int fd, uint32_t id, uint16_t port);
int ucm_resolve_route(int fd, uint32_t id);
int ucm_get_event(int fd, struct rdma_ucm_event_resp *resp);
bool ucm_is_readable(int fd, int ms);
/* Wait for an event without an error. @resp: NULL, or where it goes. */
void ucm_expect_event(int fd, uint32_t type, uint32_t id, uint64_t uid,
		      struct rdma_ucm_event_resp *resp);
/* A new id of TCP gets a route to a port, or listens; and so does one that there is. */
uint32_t ucm_get_routed(int fd, uint64_t uid, uint16_t port);
void ucm_expect_route(int fd, uint32_t id, uint64_t uid, uint16_t port);
uint32_t ucm_get_listener(int fd, uint64_t uid, uint16_t port);
void ucm_expect_listen(int fd, uint32_t id, uint16_t port);
/* @size: all of the struct, or without the ECE data of older libraries. */
int ucm_connect(int fd, uint32_t id, size_t size);
int ucm_accept(int fd, uint32_t id, uint64_t uid, bool valid, size_t size);
int ucm_disconnect(int fd, uint32_t id);

#define OLD_CONNECT offsetof(struct rdma_ucm_connect, ece)
#define OLD_ACCEPT offsetof(struct rdma_ucm_accept, ece)

#endif /* UCM_CALLS_H */
