/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Default sizes and times of rsockets, set by the administrator. */
#ifndef RCL_RSOCKET_CONF_H
#define RCL_RSOCKET_CONF_H

#include <stdint.h>

/* The folder with a file for each setting, which has one number. */
#define RCL_RSOCKET_CONF "/etc/rdma/rsocket"

/**
 * struct rcl_rsocket_conf - the settings, and the files they are read from
 * @polling_us: polling_time: microseconds for which a call polls for completions before it sleeps
 * @inline_len: inline_default: largest number of bytes that are posted inline
 * @sq_size: sqsize_default: work requests of a send queue
 * @rq_size: rqsize_default: work requests of a receive queue
 * @recv_buf: mem_default: bytes of the receive buffer
 * @send_buf: wmem_default: bytes of the send buffer
 * @iomaps: iomap_size: number of mappings that the peer may create
 * @keepalive_s: keepalive_default: seconds between keep-alive probes of sockets for which the
 *               program has set no time; 0: none
 */
struct rcl_rsocket_conf {
	uint32_t polling_us;
	uint32_t inline_len;
	uint32_t sq_size;
	uint32_t rq_size;
	uint32_t recv_buf;
	uint32_t send_buf;
	uint32_t iomaps;
	uint32_t keepalive_s;
};

/**
 * rcl_rsocket_conf - the settings
 *
 * They are read from RCL_RSOCKET_CONF at the first call. The default is used if a file is missing,
 * or if it has no number in the valid range, which is logged.
 *
 * Context: Any thread.
 * Return: the settings
 */
const struct rcl_rsocket_conf *rcl_rsocket_conf(void);

/* Reads the settings of a folder; for rcl_rsocket_conf() and tests. */
void rcl_rsocket_conf_read(struct rcl_rsocket_conf *conf, const char *folder);

#endif /* RCL_RSOCKET_CONF_H */
