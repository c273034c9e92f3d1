/* SPDX-License-Identifier: MIT */
/**
 * table.h - the slots of descriptors, by number
 *
 * Numbers of descriptors belong to the process, and the table as well: a handle needs no
 * runtime, and a descriptor can be attached to one runtime only. Slots come in chunks, which
 * are mapped when the first descriptor of a chunk is attached, and stay for ever. So a stale
 * handle, or a stale event, always finds a slot, which refuses it by its serial number. A
 * page of a chunk is in memory once one of its 64 slots was used.
 */
#ifndef SKUA_CORE_IO_TABLE_H
#define SKUA_CORE_IO_TABLE_H

#include "core/io/slot.h"

#define TABLE_CHUNK_SLOTS 1024u
#define TABLE_CHUNKS      32768u
#define TABLE_NUMBERS     (TABLE_CHUNKS * TABLE_CHUNK_SLOTS)

struct table_chunk {
	struct io_slot slots[TABLE_CHUNK_SLOTS];
};

/* Writer: table_make(), once each. */
extern _Atomic(struct table_chunk *) table_chunks[TABLE_CHUNKS]
	__attribute__((visibility("hidden")));

/* table_find - return the slot of a descriptor; NULL if it never had one */
static inline struct io_slot *table_find(int fd)
{
	struct table_chunk *chunk;

	if ((unsigned)fd >= TABLE_NUMBERS)
		return NULL;
	/* Acquire: the zeros of a new chunk. Pairs with table_make(). */
	chunk = atomic_load_acquire(
		&table_chunks[(unsigned)fd / TABLE_CHUNK_SLOTS]);
	return chunk ? &chunk->slots[(unsigned)fd % TABLE_CHUNK_SLOTS] : NULL;
}

/* table_make - return the slot of a descriptor below TABLE_NUMBERS; NULL: no memory */
struct io_slot *table_make(int fd);

/* table_next - return the first number from @fd on that may have a slot in use; -1: none */
int table_next(int fd);

#endif
