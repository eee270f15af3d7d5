/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The table of live objects. The kernel gives events a cookie, a slot and its
 * generation, so that a late event never reaches freed memory.
 */
#ifndef RCL_TABLE_H
#define RCL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * rcl_table_add - enter an object, with one reference for the caller
 * @object: what rcl_table_get() will return
 *
 * Return: its cookie, never 0; 0 when there is no memory
 */
uint64_t rcl_table_add(void *object);

/**
 * rcl_table_get - find an object and take a reference
 * @cookie: from rcl_table_add()
 *
 * Return: the object, or NULL when it is dead or never lived
 */
void *rcl_table_get(uint64_t cookie);

/**
 * rcl_table_put - drop a reference
 * @cookie: of the object
 *
 * Return: true when it was the last one; the caller frees the object
 */
bool rcl_table_put(uint64_t cookie);

/**
 * rcl_table_kill - nobody finds the object any more; drops the reference of
 *                  rcl_table_add()
 * @cookie: of the object
 *
 * Return: as rcl_table_put()
 */
bool rcl_table_kill(uint64_t cookie);

/** rcl_table_lock - before fork(): nobody else changes the table */
void rcl_table_lock(void);

/** rcl_table_unlock - after fork(), in both processes */
void rcl_table_unlock(void);

#endif /* RCL_TABLE_H */
