/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The table of objects that events name. The cookie of an event is a slot and its generation, not a
 * pointer: a late event of a freed object finds nothing.
 */
#ifndef RCL_TABLE_H
#define RCL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * enum rcl_kind - the type of an object
 * @RCL_KIND_ID: a struct rcl_id
 * @RCL_KIND_MEMBER: a struct rcl_member
 */
enum rcl_kind {
	RCL_KIND_ID = 1,
	RCL_KIND_MEMBER,
};

/**
 * rcl_table_add - add an object, with one reference for the caller
 * @kind: its type
 * @object: the object
 *
 * Return: its cookie, never 0; 0 when there is no memory
 */
uint64_t rcl_table_add(enum rcl_kind kind, void *object);

/**
 * rcl_table_get - find an object and take a reference
 * @kind: the type that it must have
 * @cookie: from rcl_table_add(), or any other value that an event has
 *
 * Return: the object, or NULL when there is none, it was removed, or it has another type
 */
void *rcl_table_get(enum rcl_kind kind, uint64_t cookie);

/**
 * rcl_table_put - drop a reference
 * @cookie: of the object
 *
 * Return: true when it was the last one; the caller frees the object
 */
bool rcl_table_put(uint64_t cookie);

/**
 * rcl_table_kill - rcl_table_get() does not find the object any more; drops the reference of
 *                  rcl_table_add()
 * @cookie: of the object
 *
 * Return: as rcl_table_put()
 */
bool rcl_table_kill(uint64_t cookie);

/**
 * rcl_table_each - call a function for each object of a type, with the table locked
 * @kind: the type
 * @look: called with the object and @arg; must not add, kill or put objects
 * @arg: passed to @look
 *
 * Objects that were removed, but still have references, are among them.
 */
void rcl_table_each(enum rcl_kind kind, void (*look)(void *object, void *arg), void *arg);

/** rcl_table_lock - keep all objects: nobody adds one or drops a last reference */
void rcl_table_lock(void);

/** rcl_table_unlock - release the lock of rcl_table_lock() */
void rcl_table_unlock(void);

#endif /* RCL_TABLE_H */
