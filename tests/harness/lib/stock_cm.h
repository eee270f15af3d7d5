/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The stock rdma_cm through its own device, in as few words as possible. */
#ifndef STOCK_CM_H
#define STOCK_CM_H

#include <stdint.h>

/* A descriptor; the test is skipped without the stock stack. */
int stock_open(void);
/* An id of the caller's network namespace. */
uint32_t stock_id(int fd);
/* 0 or a negative errno. */
int stock_bind(int fd, uint32_t id, const char *ip, uint16_t port);
int stock_listen(int fd, uint32_t id);
/* Whether stock may listen there now: 0 or a negative errno; it does not when this returns. */
int stock_may_listen(const char *ip, uint16_t port);

#endif /* STOCK_CM_H */
