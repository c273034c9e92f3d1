/* SPDX-License-Identifier: MIT */
/* rewrite_file.c - the new file of a rewrite */
#include "bench/kv/log/rewrite_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "bench/kv/log/file.h"

/* The copy is synced after so many bytes: a large sync would hold up those of the log. A guess. */
#define SYNC_BYTES (4u << 20)

int rewrite_file_sync(struct log *log)
{
	struct rewrite *r = &log->rewrite;
	int code = skua_file_sync(log->runtime, r->fd, 0, SKUA_FOREVER_NS);

	if (!code)
		r->synced = r->offset;
	return code;
}

/* Return the piece with its blob as one, in its place; NULL: no memory, and the piece is
 * freed. */
static struct piece *make_whole(struct piece *piece)
{
	struct blob *blob = piece->blob;
	struct piece *whole;

	if (!blob)
		return piece;
	whole = malloc(sizeof(*whole) + piece->used + blob->size);
	if (whole) {
		*whole = (struct piece){ .used = piece->used + blob->size };
		memcpy(whole->data, piece->data, piece->used);
		memcpy(whole->data + piece->used, blob->data, blob->size);
	}
	piece_free(piece);
	return whole;
}

/* Write a piece as a frame, and free it. */
static int write_piece(struct log *log, struct piece *piece)
{
	struct rewrite *r = &log->rewrite;
	int code;

	piece = make_whole(piece);
	if (!piece)
		return -ENOMEM;
	frame_seal(&r->file, piece->data, piece->used - FRAME_HEADER, r->offset,
		   r->synced);
	code = file_write(log->runtime, r->fd, piece->data, piece->used,
			  r->offset);
	if (!code)
		r->offset += piece->used;
	piece_free(piece);
	if (!code && r->offset - r->synced >= SYNC_BYTES)
		code = rewrite_file_sync(log);
	return code;
}

int rewrite_file_write_copy(struct log *log)
{
	struct rewrite *r = &log->rewrite;
	struct pieces pieces;
	struct piece *piece;
	int code;

	rewrite_lock(log);
	pieces = r->copy;
	r->copy = (struct pieces){ NULL, NULL, 0 };
	code = r->error;
	rewrite_unlock(log);
	while (!code && (piece = pieces_take(&pieces)))
		code = write_piece(log, piece);
	pieces_free(&pieces);
	return code;
}

int rewrite_file_create(struct log *log)
{
	struct rewrite *r = &log->rewrite;
	struct stat old;
	int fd;

	file_remove(log->runtime, r->path);
	fd = skua_file_open(log->runtime, r->path, O_RDWR | O_CREAT | O_EXCL,
			    0600, SKUA_FOREVER_NS);
	if (fd < 0)
		return fd;
	r->fd = fd;
	r->offset = FRAME_FILE_HEADER;
	r->synced = 0;
	if (flock(fd, LOCK_EX | LOCK_NB) || fstat(log->fd, &old) ||
	    fchmod(fd, old.st_mode & 0777))
		return -errno;
	return file_begin(log->runtime, fd, &r->file);
}

/* Write a last record, which changes nothing: its frame says how much of the file is on the
 * disk, so that a damage before is found. It removes a key that no client has: its name is a
 * secret of the file. */
static int write_end(struct log *log)
{
	struct rewrite *r = &log->rewrite;
	struct bytes argv[] = { { "DEL", 3 },
				{ (const char *)&r->file.key,
				  sizeof(r->file.key) } };
	struct pieces pieces = { NULL, NULL, 0 };
	char *at = pieces_add(&pieces,
			      RECORD_HEADER + record_command_size(2, argv));

	if (!at)
		return -ENOMEM;
	record_put_command(record_put_header(at, 1, 1), 2, argv);
	return write_piece(log, pieces_take(&pieces));
}

int rewrite_file_replace(struct log *log)
{
	int code = rewrite_file_write_copy(log);

	if (!code)
		code = write_end(log);
	if (!code)
		code = rewrite_file_sync(log);
	return code ? code
		    : file_rename(log->runtime, log->rewrite.path, log->path);
}
