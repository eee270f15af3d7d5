/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The configuration file and the environment: which sockets become rsockets, and their sizes.
 */
#ifndef RCL_PRELOAD_CONFIG_H
#define RCL_PRELOAD_CONFIG_H

#include <stdbool.h>

/**
 * struct rcl_settings - settings from the environment; 0: not set
 * @sq_size: RS_SQ_SIZE, messages
 * @rq_size: RS_RQ_SIZE, messages
 * @inline_size: RS_INLINE, bytes
 * @fork_safe: RDMAV_FORK_SAFE
 */
struct rcl_settings {
	int sq_size;
	int rq_size;
	int inline_size;
	int fork_safe;
};

/* The configuration file; tests replace it before the first use. */
extern const char *rcl_config_path;

/*
 * The settings, read at the first use, which reports bad lines and values on stderr and skips them.
 */
const struct rcl_settings *rcl_config_settings(void);

/*
 * Should a socket be an rsocket: does a line of the file fit this program and the socket, or has
 * the file no lines? @type: SOCK_STREAM or SOCK_DGRAM, without flags. @protocol: 0 or the protocol.
 */
bool rcl_config_wants(int domain, int type, int protocol);

/* Discards the settings; for tests, while no other thread runs. */
void rcl_config_reset(void);

#endif /* RCL_PRELOAD_CONFIG_H */
