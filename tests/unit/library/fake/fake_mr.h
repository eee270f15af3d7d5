/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Memory regions of the fake data path, and the copies that a device makes. ibv_reg_mr() is here.
 */
#ifndef FAKE_MR_H
#define FAKE_MR_H

#include <stdbool.h>
#include <infiniband/verbs.h>

/**
 * fake_mr_local - does a region allow this access of the own device?
 * @pd: protection domain of the QP
 * @sge: the memory; zero bytes need no region
 * @write: the device writes to it
 *
 * Context: with the lock of the fabric held
 *
 * Return: true if it does
 */
bool fake_mr_local(struct ibv_pd *pd, const struct ibv_sge *sge, bool write);

/**
 * fake_mr_remote - does a region allow the peer to write?
 * @pd: protection domain of the QP that receives the write
 * @rkey: of the write
 * @addr: first byte
 * @length: bytes; zero bytes need no region
 *
 * Context: with the lock of the fabric held
 *
 * Return: true if it does
 */
bool fake_mr_remote(struct ibv_pd *pd, uint32_t rkey, uint64_t addr, uint32_t length);

/**
 * fake_dma_write - write to the memory of a program as a device does
 * @addr: first byte
 * @data: what to write
 * @length: bytes
 *
 * The stores are atomic, so that TSan reports the programs that read without a completion, but
 * not those that poll the memory itself with atomic loads.
 */
void fake_dma_write(uint64_t addr, const void *data, uint32_t length);

#endif /* FAKE_MR_H */
