/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A CM between the ids of one process, for the fake kernel: a connect reaches the id that listens
 * at the address, and both ends get the events, the private data and the QP attributes that the
 * module gives them. All addresses are on one device. An id that is not bound connects from
 * route.src of struct fake_kernel, or from fd00::1.
 *
 * Left to the canned answers of the fake kernel are connects that resolve in the same call,
 * datagram connects, AF_IB and multicast. The knobs of struct fake_kernel for failures work as
 * without: addr_event and route_event for resolving, fail[] for any command.
 */
#ifndef FAKE_CM_H
#define FAKE_CM_H

#include <stdbool.h>
#include <rdma/rdma_cm_alt.h>

#define FAKE_UD_QKEY 0x01234567

/**
 * struct fake_cm - its knobs; set them before threads start, or with fake_kernel_lock()
 * @silent: connection requests get lost: fake_cm_time_out() ends the wait
 * @on_message: changes the event of a request, response or rejection on its way, as if the peer
 *              had sent other private data or parameters; called with the lock of the kernel held
 */
struct fake_cm {
	bool silent;
	void (*on_message)(struct rdma_cm_alt_event *event);
};

extern struct fake_cm fake_cm;

/** fake_cm_install - turn the CM on, until fake_install() */
void fake_cm_install(void);

/**
 * fake_cm_time_out - the request of an id is given up: UNREACHABLE
 * @handle: of the id
 */
void fake_cm_time_out(__u32 handle);

#endif /* FAKE_CM_H */
