/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The one open of the rdma_cm_alt device that a process needs, and the
 * commands that go through it.
 */
#ifndef RCL_CONTEXT_H
#define RCL_CONTEXT_H

#include <rdma/rdma_cm_alt.h>
#include <stdbool.h>
#include <stddef.h>

/** RCL_DEVICE_VARIABLE - of the environment: the path of the device */
#define RCL_DEVICE_VARIABLE "RDMA_CM_ALT_DEVICE"

/** RCL_DEVICE_PATHS - without it the first one of these that is there */
#define RCL_DEVICE_PATHS "/dev/rdma_cm_alt", "/dev/infiniband/rdma_cm_alt"

/**
 * rcl_context_open - open the device if that did not happen yet
 *
 * Return: 0; -ENODEV when there is no such device, or another negative errno
 */
int rcl_context_open(void);

/** rcl_context_close - close the device again; only for tests */
void rcl_context_close(void);

/** rcl_context_hold - there is one more id that lives in the open device */
void rcl_context_hold(void);

/** rcl_context_drop - there is one less */
void rcl_context_drop(void);

/** rcl_context_lock - before fork(): nobody else opens the device */
void rcl_context_lock(void);

/** rcl_context_unlock - after fork(), in both processes */
void rcl_context_unlock(void);

/** rcl_context_record_size - bytes of an event record; open the context first */
size_t rcl_context_record_size(void);

/** rcl_context_has - can the kernel do this? (RDMA_CM_ALT_FEATURE_*); open the context first */
bool rcl_context_has(__u64 feature);

/**
 * rcl_context_call - a command; use RCL_CALL
 * @request: RDMA_CM_ALT_*
 * @arg: its struct
 *
 * A program that closes all descriptors, to become a daemon, closes ours: it is
 * opened again, unless there are ids that went with it.
 *
 * Return: 0 or a negative errno
 */
int rcl_context_call(unsigned long request, void *arg);

/** RCL_CALL - command NAME with the struct at @cmd, whose size is filled in */
#define RCL_CALL(NAME, cmd) ({					\
	__typeof__(cmd) rcl_cmd = (cmd);			\
								\
	rcl_cmd->size = sizeof(*rcl_cmd);			\
	rcl_context_call(RDMA_CM_ALT_##NAME, rcl_cmd);		\
})

#endif /* RCL_CONTEXT_H */
