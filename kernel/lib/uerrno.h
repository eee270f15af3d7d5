/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Errnos for user space. */
#ifndef RCA_UERRNO_H
#define RCA_UERRNO_H

int rca_user_errno(int err);

#endif /* RCA_UERRNO_H */
