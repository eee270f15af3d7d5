/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rxe2, a device of the test's own above the network device d2, which goes away and comes back.
 * tests/api/abi/run deletes what the last test of a program leaves.
 */
#ifndef OWN_DEVICE_H
#define OWN_DEVICE_H

#define OWN_ADDR "10.14.0.1"	/* on rxe2 */
#define OWN_SILENT "10.14.0.99"	/* a neighbour that is resolved and does not answer; veth only */
#define OWN_NOBODY "10.14.0.77"	/* a neighbour that is not resolved */

/* What d2 is. On a dummy device all neighbours are resolved. */
#define OWN_VETH "veth peer name d3"
#define OWN_DUMMY "dummy"

/* Remove the devices that a failed test has left, and add them. Skips the test on failure. */
void add_own_device(const char *type);
/* Remove rxe2. Fails when the removal waits for an answer, which would take more than a minute. */
void remove_own_device(void);
void readd_own_device(void);
/* Remove d2, and rxe2 if it is still there. */
void delete_own_device(void);

#endif /* OWN_DEVICE_H */
