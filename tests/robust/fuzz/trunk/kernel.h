/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the sources of kernel/trunk/ need of the kernel's headers, in user space. */
#ifndef FUZZ_KERNEL_H
#define FUZZ_KERNEL_H

#include <asm-generic/errno.h>
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef uint16_t __be16;
typedef uint32_t __be32;
typedef uint64_t __be64;

#define cpu_to_be16 htobe16
#define cpu_to_be32 htobe32
#define cpu_to_be64 htobe64
#define be16_to_cpu be16toh
#define be32_to_cpu be32toh
#define be64_to_cpu be64toh

#define __packed __attribute__((packed))
#define static_assert(condition) _Static_assert(condition, #condition)
#define BIT(n) (1U << (n))
#define ALIGN(n, to) (((n) + (to) - 1) / (to) * (to))
#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define max_t(type, a, b) ((type)(a) > (type)(b) ? (type)(a) : (type)(b))

enum ib_mtu { IB_MTU_256 = 1, IB_MTU_4096 = 5 };
enum ib_qp_type { IB_QPT_RC = 2, IB_QPT_UC = 3, IB_QPT_XRC_INI = 9 };

#endif /* FUZZ_KERNEL_H */
