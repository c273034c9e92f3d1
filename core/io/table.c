/* SPDX-License-Identifier: MIT */
/* table.c - see table.h */
#include "core/io/table.h"

#include <sys/mman.h>

_Atomic(struct table_chunk *) table_chunks[TABLE_CHUNKS];

/* No chunk is at this index or above. It grows, from 0 up to TABLE_CHUNKS. Writers:
 * table_make(); readers: table_next(). */
static atomic_u32 chunks_end;

static void raise_end(uint32_t end)
{
	/* Relaxed: a first guess, which the compare-exchange verifies. */
	uint32_t old = atomic_load_relaxed(&chunks_end);

	/* Relaxed: the release of the chunk publishes it. The loop repeats when another
	 * thread has raised the end. */
	while (old < end && !atomic_cas_relaxed(&chunks_end, &old, end))
		;
}

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
	raise_end((unsigned)fd / TABLE_CHUNK_SLOTS + 1);
	/* Release: the zeros, and the end. Pairs with table_find(). If another thread was
	 * faster, its chunk stays. */
	if (!atomic_cas_release(place, &old, chunk))
		munmap(chunk, sizeof(*chunk));
	return table_find(fd);
}

int table_next(int fd)
{
	/* Relaxed: not older than the attachments that the caller knows of. */
	unsigned end = atomic_load_relaxed(&chunks_end) * TABLE_CHUNK_SLOTS;

	for (unsigned n = (unsigned)fd; n < end;
	     n = (n / TABLE_CHUNK_SLOTS + 1) * TABLE_CHUNK_SLOTS) {
		/* Relaxed: table_find() acquires. */
		if (atomic_load_relaxed(&table_chunks[n / TABLE_CHUNK_SLOTS]))
			return (int)n;
	}
	return -1;
}
