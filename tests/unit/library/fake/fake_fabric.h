/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The base of the fake data path: one lock for all of its objects, and complaints about what a
 * device does not forgive, though no call can return an error for it.
 *
 * The data path is in fake_mr (memory), fake_cq (completions), fake_qp (queues), fake_ud
 * (datagrams), fake_wire (messages between QPs) and fake_post (calls of programs), from the bottom
 * up. A test turns it on with fake_data_path_install().
 */
#ifndef FAKE_FABRIC_H
#define FAKE_FABRIC_H

/** fake_fabric_lock - take the lock of QPs, CQs, channels, MRs and address handles */
void fake_fabric_lock(void);

/** fake_fabric_unlock - release it */
void fake_fabric_unlock(void);

/**
 * fake_complain - note a mistake of the program; printed at once
 * @fmt: as of printf(), without a newline
 *
 * For example the overflow of a CQ. The fixture of the test fails if a complaint is left.
 *
 * Context: with the lock held
 */
void fake_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/**
 * fake_complaints - take the complaints, for a test that expects them
 *
 * Return: their number since the last call
 */
unsigned int fake_complaints(void);

#endif /* FAKE_FABRIC_H */
