/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the library shows to its users; everything else is hidden. */
#ifndef RCL_EXPORT_H
#define RCL_EXPORT_H

#define RCL_EXPORT __attribute__((visibility("default")))

#endif /* RCL_EXPORT_H */
