/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the server says to those whom it rejects. */
#ifndef FUSED_REFUSAL_H
#define FUSED_REFUSAL_H

#define REFUSAL "not today"

#endif /* FUSED_REFUSAL_H */
