/* SPDX-License-Identifier: MIT */
/**
 * record.h - records of the log: commands that have changed keys, as bytes
 *
 * A record is what one command has done, or one transaction: the time that it saw, the
 * number of its commands, and the commands with their arguments. A replay runs the commands
 * at that time, and so gives the same values and the same times of expiry, whatever a
 * command computes from its time.
 *
 *	record:  time in ms (8 bytes), number of commands (4), commands
 *	command: number of arguments (4), arguments
 *	argument: size (4), bytes
 *
 * All numbers have their lowest byte first. Nothing here reads or writes files: frame.h puts
 * records into frames, which have checksums.
 */
#ifndef SKUA_BENCH_KV_RECORD_H
#define SKUA_BENCH_KV_RECORD_H

#include <endian.h>

#include "bench/kv/resp/number.h"

#define RECORD_HEADER 12u /* bytes before the first command */

/* record_put_32, record_put_64 - write a number. Return: the place after it */
static inline char *record_put_32(char *at, uint32_t number)
{
	number = htole32(number);
	memcpy(at, &number, sizeof(number));
	return at + sizeof(number);
}

static inline char *record_put_64(char *at, uint64_t number)
{
	number = htole64(number);
	memcpy(at, &number, sizeof(number));
	return at + sizeof(number);
}

/* record_get_32, record_get_64 - read a number */
static inline uint32_t record_get_32(const char *at)
{
	uint32_t number;

	memcpy(&number, at, sizeof(number));
	return le32toh(number);
}

static inline uint64_t record_get_64(const char *at)
{
	uint64_t number;

	memcpy(&number, at, sizeof(number));
	return le64toh(number);
}

/* record_command_size - return the bytes of a command in a record */
size_t record_command_size(size_t argc, const struct bytes *argv);

/* record_put_header - write the beginning of a record: RECORD_HEADER bytes. Return: the place
 * after it */
char *record_put_header(char *at, int64_t now_ms, uint32_t commands);

/* record_put_command - write a command: record_command_size() bytes. Return: the place after
 * it */
char *record_put_command(char *at, size_t argc, const struct bytes *argv);

/**
 * struct record_batch - the commands of a record that come one after the other; zeroed at first
 * @rewrite: for log_add()
 * @failed: there was no memory for one, or for the whole of what it does
 * @changed: a client has changed something; otherwise, keys have only expired
 */
struct record_batch {
	char *data;
	size_t used, room;
	uint64_t rewrite;
	uint32_t commands;
	bool failed, changed;
};

/* record_batch_add - add a command */
void record_batch_add(struct record_batch *batch, size_t argc,
		      const struct bytes *argv);

/* record_batch_clear - forget the commands, and keep the memory for the next ones unless it is
 * large */
void record_batch_clear(struct record_batch *batch);

/**
 * struct record_reader - takes records apart; set @next and @end, and zero the rest
 * @next, @end: the bytes that were not read yet
 * @now_ms: time of the record that was begun last
 * @commands: commands of it that were not read yet
 * @argc, @argv: the command that was read last; its bytes lie in the record
 * @room: private
 */
struct record_reader {
	const char *next, *end;
	int64_t now_ms;
	uint32_t commands;
	size_t argc, room;
	struct bytes *argv;
};

/* RECORD_END: there are no more bytes. RECORD_COMMAND: a command was read. RECORD_BAD: the
 * bytes are no record. RECORD_NO_MEMORY: there is no memory for the arguments. */
enum record_result { RECORD_END, RECORD_COMMAND, RECORD_BAD, RECORD_NO_MEMORY };

/* record_next - read the next command, of this record or the next one */
enum record_result record_next(struct record_reader *reader);

/* record_reader_free - free the memory of a reader */
void record_reader_free(struct record_reader *reader);

#endif
