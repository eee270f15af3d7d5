/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* QPs for connections over iWARP. */
#ifndef STRESS_FARM_H
#define STRESS_FARM_H

int farm_run(const char *device);

#endif /* STRESS_FARM_H */
