/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The rdma_cm_alt device, which a process opens once, and the commands that go through it.
 */
#ifndef RCL_CONTEXT_H
#define RCL_CONTEXT_H

#include <rdma/rdma_cm_alt.h>
#include <stdbool.h>
#include <stddef.h>

/** RCL_DEVICE_VARIABLE - environment variable with the path of the device */
#define RCL_DEVICE_VARIABLE "RDMA_CM_ALT_DEVICE"

/** RCL_DEVICE_PATHS - without the variable the first of these that exists */
#define RCL_DEVICE_PATHS "/dev/rdma_cm_alt", "/dev/infiniband/rdma_cm_alt"

/**
 * rcl_context_open - open the device if it is not open
 *
 * Return: 0, -ENODEV when there is no such device, or another negative errno
 */
int rcl_context_open(void);

/** rcl_context_close - close the device; only for tests */
void rcl_context_close(void);

/** rcl_context_hold - count an id that was created through the open device */
void rcl_context_hold(void);

/** rcl_context_drop - the id is gone */
void rcl_context_drop(void);

/** rcl_context_lock - before fork(): take the lock of the device */
void rcl_context_lock(void);

/** rcl_context_unlock - after fork(), in both processes */
void rcl_context_unlock(void);

/** rcl_context_record_size - bytes of an event record; open the context first */
size_t rcl_context_record_size(void);

/** rcl_context_has - has the kernel this RDMA_CM_ALT_FEATURE_*? Open the context first */
bool rcl_context_has(__u64 feature);

/**
 * rcl_context_call - execute a command; use RCL_CALL
 * @request: RDMA_CM_ALT_*
 * @arg: its struct
 *
 * A program that closes all descriptors to become a daemon closes that of the device, too. It is
 * opened again, unless there were ids, which are lost with it.
 *
 * Return: 0 or a negative errno
 */
int rcl_context_call(unsigned long request, void *arg);

/** RCL_CALL_SIZE - execute command NAME with the first @bytes of the struct at @cmd */
#define RCL_CALL_SIZE(NAME, cmd, bytes) ({			\
	__typeof__(cmd) rcl_cmd = (cmd);			\
								\
	rcl_cmd->size = (bytes);				\
	rcl_context_call(RDMA_CM_ALT_##NAME, rcl_cmd);		\
})

/** RCL_CALL - RCL_CALL_SIZE() with the whole struct */
#define RCL_CALL(NAME, cmd) RCL_CALL_SIZE(NAME, cmd, sizeof(*(cmd)))

/** RCL_CALL_WITHOUT - RCL_CALL_SIZE() with a struct that ends before @member, an unused output */
#define RCL_CALL_WITHOUT(NAME, cmd, member) \
	RCL_CALL_SIZE(NAME, cmd, offsetof(__typeof__(*(cmd)), member))

#endif /* RCL_CONTEXT_H */
