/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Datagrams of the fake data path. ibv_create_ah(), ibv_query_port() and ibv_query_gid() are here.
 */
#ifndef FAKE_UD_H
#define FAKE_UD_H

#include <infiniband/verbs.h>

struct fake_qp;
struct fake_send;

#define FAKE_LID 0x11
#define FAKE_MTU 4096

/**
 * fake_ud_deliver - deliver a datagram, or drop it, as nobody learns
 * @from: the QP that sends it
 * @send: the work request
 * @data: the datagram
 *
 * One is dropped without a QP of that number or with another Q_Key, without a receive, and if it
 * does not fit the receive behind 40 bytes for the GRH.
 *
 * Context: with the lock of the fabric held
 */
void fake_ud_deliver(struct fake_qp *from, const struct fake_send *send, const void *data);

#endif /* FAKE_UD_H */
