/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The calls of programs on QPs of the fake data path, and how a test turns the data path on. */
#ifndef FAKE_POST_H
#define FAKE_POST_H

#include <stdint.h>

/**
 * fake_data_path_install - give the fake libibverbs a data path
 *
 * For devices that are opened after this, until fake_verbs_reset(). QPs have numbers of their own
 * then, and exactly as many work requests as the program asks for.
 */
void fake_data_path_install(void);

/**
 * fake_qp_connect - move two QPs to RTS, as an iWARP driver does by itself
 * @num: number of one
 * @peer: number of the other
 *
 * Does nothing when one of them does not exist.
 */
void fake_qp_connect(uint32_t num, uint32_t peer);

#endif /* FAKE_POST_H */
