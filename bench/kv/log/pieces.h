/* SPDX-License-Identifier: MIT */
/* pieces.h - records in pieces of memory, each of which becomes a frame */
#ifndef SKUA_BENCH_KV_PIECES_H
#define SKUA_BENCH_KV_PIECES_H

#include "bench/kv/log/frame.h"
#include "bench/kv/resp/blob.h"

/**
 * struct piece - room for the header of a frame, and records
 * @blob: the last argument of the last record, which is not in @data; NULL: there is none
 * @used, @room: bytes of @data
 */
struct piece {
	struct piece *next;
	struct blob *blob;
	size_t used, room;
	char data[];
};

/* struct pieces - a list of pieces, zeroed at first. @bytes: of all records, without blobs */
struct pieces {
	struct piece *first, *last;
	size_t bytes;
};

/* pieces_add - make room for a record of @size bytes. Return: its place; NULL: no memory */
char *pieces_add(struct pieces *pieces, size_t size);

/* pieces_end_with - add a reference to a blob, the last argument of the record that was added
 * last */
void pieces_end_with(struct pieces *pieces, struct blob *blob);

/* pieces_join - move all pieces of another list to the end of this one */
void pieces_join(struct pieces *pieces, struct pieces *more);

/* pieces_take - remove the first piece. Return: it, for piece_free(); NULL: there is none */
struct piece *pieces_take(struct pieces *pieces);

/* piece_free, pieces_free - free one, or all */
void piece_free(struct piece *piece);
void pieces_free(struct pieces *pieces);

#endif
