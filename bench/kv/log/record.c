/* SPDX-License-Identifier: MIT */
/* record.c - records of the log: commands that have changed keys, as bytes */
#include "bench/kv/log/record.h"

#include <stdlib.h>

size_t record_command_size(size_t argc, const struct bytes *argv)
{
	size_t size = 4;

	for (size_t i = 0; i < argc; i++)
		size += 4 + argv[i].size;
	return size;
}

char *record_put_header(char *at, int64_t now_ms, uint32_t commands)
{
	at = record_put_64(at, (uint64_t)now_ms);
	return record_put_32(at, commands);
}

char *record_put_command(char *at, size_t argc, const struct bytes *argv)
{
	at = record_put_32(at, (uint32_t)argc);
	for (size_t i = 0; i < argc; i++) {
		at = record_put_32(at, (uint32_t)argv[i].size);
		memcpy(at, argv[i].data, argv[i].size);
		at += argv[i].size;
	}
	return at;
}

void record_batch_add(struct record_batch *batch, size_t argc,
		      const struct bytes *argv)
{
	size_t size = record_command_size(argc, argv);
	size_t room = batch->room * 2;
	char *data;

	if (batch->room - batch->used < size) {
		if (room < batch->used + size)
			room = batch->used + size;
		data = realloc(batch->data, room);
		batch->failed |= !data;
		if (!data)
			return;
		batch->data = data;
		batch->room = room;
	}
	record_put_command(batch->data + batch->used, argc, argv);
	batch->used += size;
	batch->commands++;
}

/* A batch with more room gives it back. A guess. */
#define KEPT 4096u

void record_batch_clear(struct record_batch *batch)
{
	struct record_batch empty = { .data = batch->data,
				      .room = batch->room };

	if (empty.room > KEPT) {
		free(empty.data);
		empty = (struct record_batch){ .data = NULL };
	}
	*batch = empty;
}

static size_t left(const struct record_reader *reader)
{
	return (size_t)(reader->end - reader->next);
}

/* Make room for the arguments, each of which has at least 4 bytes. */
static enum record_result begin_command(struct record_reader *reader)
{
	struct bytes *argv;
	size_t argc;

	if (left(reader) < 4)
		return RECORD_BAD;
	argc = record_get_32(reader->next);
	reader->next += 4;
	if (argc == 0 || argc > left(reader) / 4)
		return RECORD_BAD;
	if (argc > reader->room) {
		argv = realloc(reader->argv, argc * sizeof(*argv));
		if (!argv)
			return RECORD_NO_MEMORY;
		reader->argv = argv;
		reader->room = argc;
	}
	reader->argc = argc;
	return RECORD_COMMAND;
}

static bool begin_record(struct record_reader *reader)
{
	if (left(reader) < RECORD_HEADER)
		return false;
	reader->now_ms = (int64_t)record_get_64(reader->next);
	reader->commands = record_get_32(reader->next + 8);
	reader->next += RECORD_HEADER;
	return reader->commands > 0 && reader->now_ms > 0;
}

enum record_result record_next(struct record_reader *reader)
{
	enum record_result result;

	if (!reader->commands) {
		if (!left(reader))
			return RECORD_END;
		if (!begin_record(reader))
			return RECORD_BAD;
	}
	result = begin_command(reader);
	if (result != RECORD_COMMAND)
		return result;
	for (size_t i = 0; i < reader->argc; i++) {
		size_t size;

		if (left(reader) < 4)
			return RECORD_BAD;
		size = record_get_32(reader->next);
		reader->next += 4;
		if (size > left(reader))
			return RECORD_BAD;
		reader->argv[i] = (struct bytes){ reader->next, size };
		reader->next += size;
	}
	reader->commands--;
	return RECORD_COMMAND;
}

void record_reader_free(struct record_reader *reader)
{
	free(reader->argv);
	reader->argv = NULL;
	reader->argc = reader->room = 0;
}
