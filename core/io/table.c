/* SPDX-License-Identifier: MIT */
/* table.c - see table.h */
#include "core/io/table.h"

#include <sys/mman.h>

_Atomic(struct table_chunk *) table_chunks[TABLE_CHUNKS];

struct io_slot *table_make(int fd)
{
	_Atomic(struct table_chunk *) *place =
		&table_chunks[(unsigned)fd / TABLE_CHUNK_SLOTS];
	struct table_chunk *old = NULL, *chunk;
	struct io_slot *slot = table_find(fd);
	int saved = errno; /* the library never sets it */

	if (slot)
		return slot;
	chunk = mmap(NULL, sizeof(*chunk), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved;
	if (chunk == MAP_FAILED)
		return NULL;
	/* Release: the zeros. Pairs with table_find(). If another thread was
	 * faster, its chunk stays. */
	if (!atomic_cas_release(place, &old, chunk))
		munmap(chunk, sizeof(*chunk));
	return table_find(fd);
}

int table_next(int fd)
{
	for (unsigned n = (unsigned)fd; n < TABLE_NUMBERS;
	     n = (n / TABLE_CHUNK_SLOTS + 1) * TABLE_CHUNK_SLOTS) {
		/* Relaxed: table_find() acquires. */
		if (atomic_load_relaxed(&table_chunks[n / TABLE_CHUNK_SLOTS]))
			return (int)n;
	}
	return -1;
}
