/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Attributes of the compiler, and the length of an array. */
#ifndef RCL_COMPILER_H
#define RCL_COMPILER_H

/** RCL_EXPORT - a symbol that the library exports; all others are hidden */
#define RCL_EXPORT __attribute__((visibility("default")))

/** RCL_PRINTF - printf style: argument @fmt is the format, @args its first value */
#define RCL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/** ARRAY_SIZE - number of members */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif /* RCL_COMPILER_H */
