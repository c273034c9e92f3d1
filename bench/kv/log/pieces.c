/* SPDX-License-Identifier: MIT */
/* pieces.c - records in pieces of memory, each of which becomes a frame */
#include "bench/kv/log/pieces.h"

#include <stdlib.h>

/* Bytes of a piece, unless a record needs more. A guess: the C library has blocks of this size
 * at hand, and a write of one is cheap for each of its records. */
#define PIECE ((1u << 16) - 64)

static struct piece *add_piece(struct pieces *pieces, size_t size)
{
	size_t room = FRAME_HEADER + size;
	struct piece *piece;

	if (room < PIECE)
		room = PIECE;
	piece = malloc(sizeof(*piece) + room);
	if (!piece)
		return NULL;
	*piece = (struct piece){ .used = FRAME_HEADER, .room = room };
	if (pieces->last)
		pieces->last->next = piece;
	else
		pieces->first = piece;
	pieces->last = piece;
	return piece;
}

char *pieces_add(struct pieces *pieces, size_t size)
{
	struct piece *piece = pieces->last;
	char *at;

	if (!piece || piece->blob || piece->room - piece->used < size)
		piece = add_piece(pieces, size);
	if (!piece)
		return NULL;
	at = piece->data + piece->used;
	piece->used += size;
	pieces->bytes += size;
	return at;
}

void pieces_end_with(struct pieces *pieces, struct blob *blob)
{
	blob_take(blob);
	pieces->last->blob = blob;
}

void pieces_join(struct pieces *pieces, struct pieces *more)
{
	if (!more->first)
		return;
	if (pieces->last)
		pieces->last->next = more->first;
	else
		pieces->first = more->first;
	pieces->last = more->last;
	pieces->bytes += more->bytes;
	*more = (struct pieces){ NULL, NULL, 0 };
}

struct piece *pieces_take(struct pieces *pieces)
{
	struct piece *piece = pieces->first;

	if (!piece)
		return NULL;
	pieces->first = piece->next;
	if (!piece->next)
		pieces->last = NULL;
	pieces->bytes -= piece->used - FRAME_HEADER;
	return piece;
}

void piece_free(struct piece *piece)
{
	if (piece->blob)
		blob_drop(piece->blob);
	free(piece);
}

void pieces_free(struct pieces *pieces)
{
	struct piece *piece;

	while ((piece = pieces_take(pieces)))
		piece_free(piece);
}
