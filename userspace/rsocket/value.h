/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Values of options that are numbers. */
#ifndef RCL_RSOCKET_VALUE_H
#define RCL_RSOCKET_VALUE_H

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/** rcl_value_get - read a number; 0, or -EINVAL if the value is too short */
static inline int rcl_value_get(const void *value, socklen_t len, int *number)
{
	if (!value || len < sizeof(*number))
		return -EINVAL;
	memcpy(number, value, sizeof(*number));
	return 0;
}

/** rcl_value_put - return a number; 0, or -EINVAL if there is no room for it */
static inline int rcl_value_put(void *value, socklen_t *len, int number)
{
	if (!value || !len || *len < sizeof(number))
		return -EINVAL;
	memcpy(value, &number, sizeof(number));
	*len = sizeof(number);
	return 0;
}

#endif /* RCL_RSOCKET_VALUE_H */
