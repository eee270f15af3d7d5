/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Connection requests that threads are handling. Another thread may read an event of such a
 * request's id before the first one has made the id.
 */
#ifndef RCL_REQUEST_H
#define RCL_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "id/cmid.h"

/** rcl_request_begin - a thread has read a request, and goes on to handle it */
void rcl_request_begin(void);

/** rcl_request_end - the thread has made the id of the request, or rejected the request */
void rcl_request_end(void);

/** rcl_requests_pending - is a thread handling a request? */
bool rcl_requests_pending(void);

/** rcl_requests_in_child - in the child of a fork() no other thread is */
void rcl_requests_in_child(void);

/**
 * rcl_request_owe - the last look for the id of an event that has no cookie
 * @handle: of the kernel
 *
 * The event is lost if there is no id, but it counts when the id appears: the kernel has delivered
 * it, and rdma_destroy_id() waits for it.
 *
 * Return: the id with a reference, or NULL
 */
struct rcl_id *rcl_request_owe(uint32_t handle);

/**
 * rcl_request_settle - count the events that were lost as acknowledged
 * @id: the id of a request, which has its handle
 */
void rcl_request_settle(struct rcl_id *id);

#endif /* RCL_REQUEST_H */
