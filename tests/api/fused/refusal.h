/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Private data of the server's rejects. */
#ifndef FUSED_REFUSAL_H
#define FUSED_REFUSAL_H

#define REFUSAL "not today"

#endif /* FUSED_REFUSAL_H */
