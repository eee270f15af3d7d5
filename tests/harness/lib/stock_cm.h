/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Calls of the stock rdma_cm through its own device. */
#ifndef STOCK_CM_H
#define STOCK_CM_H

#include <stdint.h>

/* A descriptor of the stock device. Skips the test when there is none. */
int stock_open(void);
/* A command of its device; 0 or a negative errno. */
int stock_call(int fd, uint32_t cmd, const void *in, uint16_t in_len, uint16_t out_len);
/* An id in the caller's network namespace. */
uint32_t stock_id(int fd);
/* 0 or a negative errno. */
int stock_bind(int fd, uint32_t id, const char *ip, uint16_t port);
int stock_listen(int fd, uint32_t id);
/* Wait for an event, which is written to @resp: 0 or a negative errno. */
int stock_get_event(int fd, void *resp);
/* Try to listen with an id that is destroyed afterwards: 0 or a negative errno. */
int stock_may_listen(const char *ip, uint16_t port);

#endif /* STOCK_CM_H */
