/* SPDX-License-Identifier: MIT */
/* test_kv_log.c - the log of skua-kv: records, frames, and the judgement of a file */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/kv/log/reader.h"
#include "tests/unit/unit.h"

/* ---- a file in memory -------------------------------------------------------------- */

static char image[1 << 22];
static struct log_source source;
static struct frame_file file;
static int read_error;

/* Reads are short, so that a reader that expects full ones fails. */
static ssize_t read_image(void *ctx, void *buffer, size_t size, uint64_t offset)
{
	(void)ctx;
	if (read_error)
		return read_error;
	if (offset >= source.size)
		return 0;
	if (size > source.size - offset)
		size = (size_t)(source.size - offset);
	if (size > 100000)
		size = 100000;
	memcpy(buffer, image + offset, size);
	return (ssize_t)size;
}

static int begin(void **state)
{
	(void)state;
	memset(image, 0, sizeof(image));
	frame_file_create(&file, image);
	source = (struct log_source){ read_image, NULL, FRAME_FILE_HEADER };
	read_error = 0;
	return 0;
}

static int end(void **state)
{
	(void)state;
	return 0;
}

EACH_TEST(begin, end);

/* Add a frame with one record: SET key VALUE. Return: its place */
static uint64_t add(struct bytes value, uint64_t synced)
{
	struct bytes argv[] = { { "SET", 3 }, { "key", 3 }, value };
	uint64_t offset = source.size;
	char *frame = image + offset;
	size_t size = RECORD_HEADER + record_command_size(3, argv);
	char *at = record_put_header(frame + FRAME_HEADER, 1000, 1);

	at = record_put_command(at, 3, argv);
	assert_ptr_equal(at, frame + FRAME_HEADER + size);
	frame_seal(&file, frame, size, offset, synced);
	source.size += FRAME_HEADER + size;
	return offset;
}

static uint64_t add_text(const char *value, uint64_t synced)
{
	return add((struct bytes){ value, strlen(value) }, synced);
}

/* The values that the visits have seen, one after the other. */
static char seen[100];
static uint64_t seen_bytes;
static unsigned stop_at;

static bool see(void *ctx, uint64_t offset, struct bytes records)
{
	struct record_reader reader = { .next = records.data,
					.end = records.data + records.size };
	unsigned *visits = ctx;

	assert_true(offset >= FRAME_FILE_HEADER);
	while (record_next(&reader) == RECORD_COMMAND) {
		assert_int_equal(reader.argc, 3);
		assert_int_equal(reader.now_ms, 1000);
		seen_bytes += reader.argv[2].size;
		snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen),
			 "%.*s,",
			 reader.argv[2].size < 10 ? (int)reader.argv[2].size
						  : 10,
			 reader.argv[2].data);
	}
	record_reader_free(&reader);
	return ++*visits != stop_at;
}

static struct log_found read_log(void)
{
	struct log_found found;
	unsigned visits = 0;

	seen[0] = '\0';
	seen_bytes = 0;
	log_read(&source, see, &visits, &found);
	return found;
}

/* ---- records ---------------------------------------------------------------------- */

TEST(record__of_several_commands__is_read_as_written)
{
	static const char binary[] = "a\0b\r\n";
	struct bytes set[] = { { "SET", 3 }, { "", 0 }, { binary, 5 } };
	struct bytes del[] = { { "DEL", 3 } };
	char data[200];
	char *at = record_put_header(data, 77, 2);
	struct record_reader reader = { .next = data };

	at = record_put_command(at, 3, set);
	at = record_put_command(at, 1, del);
	at = record_put_header(at, INT64_MAX, 1);
	at = record_put_command(at, 1, del);
	reader.end = at;
	assert_int_equal(record_next(&reader), RECORD_COMMAND);
	assert_int_equal(reader.now_ms, 77);
	assert_int_equal(reader.commands, 1);
	assert_int_equal(reader.argc, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_true(bytes_equal(reader.argv[i], set[i]));
	assert_int_equal(record_next(&reader), RECORD_COMMAND);
	assert_int_equal(reader.argc, 1);
	assert_int_equal(reader.commands, 0);
	assert_int_equal(record_next(&reader), RECORD_COMMAND);
	assert_int_equal(reader.now_ms, INT64_MAX);
	assert_int_equal(record_next(&reader), RECORD_END);
	record_reader_free(&reader);
}

TEST(record__cut_anywhere__is_bad)
{
	struct bytes argv[] = { { "SET", 3 }, { "key", 3 }, { "value", 5 } };
	char data[200];
	char *end_at =
		record_put_command(record_put_header(data, 1, 1), 3, argv);

	for (char *cut = data + 1; cut < end_at; cut++) {
		struct record_reader reader = { .next = data, .end = cut };

		assert_int_equal(record_next(&reader), RECORD_BAD);
		record_reader_free(&reader);
	}
}

/* Numbers that would need more than there is. */
TEST(record__with_wild_numbers__is_bad)
{
	static const unsigned places[] = { 8, 12, 16 };

	for (unsigned i = 0; i < 3; i++) {
		struct bytes argv[] = { { "SET", 3 }, { "k", 1 }, { "v", 1 } };
		char data[100];
		char *at = record_put_header(data, 1, 1);
		struct record_reader reader = { .next = data };
		enum record_result result;

		reader.end = record_put_command(at, 3, argv);
		record_put_32(data + places[i], UINT32_MAX);
		do {
			result = record_next(&reader);
		} while (result == RECORD_COMMAND);
		assert_int_equal(result, RECORD_BAD);
		record_reader_free(&reader);
	}
}

/* The record of a large value is lost, and with it the log, if there is no memory for it. */
TEST(batch__of_one_command__takes_no_more_room_than_it_needs)
{
	static const char value[1 << 16];
	struct bytes argv[] = { { "SET", 3 },
				{ "key", 3 },
				{ value, 1 << 16 } };
	struct record_batch batch = { .data = NULL };
	size_t size = record_command_size(3, argv);

	record_batch_add(&batch, 3, argv);
	assert_int_equal(batch.room, size);
	/* More of them move a few times, however many they are. */
	record_batch_add(&batch, 3, argv);
	record_batch_add(&batch, 3, argv);
	record_batch_add(&batch, 3, argv);
	assert_int_equal(batch.room, 4 * size);
	record_batch_add(&batch, 3, argv);
	assert_int_equal(batch.room, 8 * size);
	assert_int_equal(batch.used, 5 * size);
	assert_int_equal(batch.commands, 5);
	assert_false(batch.failed);
	free(batch.data);
}

/* ---- files ------------------------------------------------------------------------ */

TEST(file__whole__gives_all_frames)
{
	struct log_found found;

	add_text("one", 0);
	add_text("two", source.size);
	add_text("three", source.size);
	found = read_log();
	assert_int_equal(found.verdict, LOG_WHOLE);
	assert_int_equal(found.frames, 3);
	assert_int_equal(found.end, source.size);
	assert_string_equal(seen, "one,two,three,");
}

TEST(file__with_frames_larger_than_a_read__gives_all)
{
	static char large[1500000];
	struct log_found found;

	memset(large, 'x', sizeof(large));
	add_text("one", 0);
	add((struct bytes){ large, sizeof(large) }, 0);
	add((struct bytes){ large, sizeof(large) - 1 }, 0);
	add_text("last", 0);
	found = read_log();
	assert_int_equal(found.verdict, LOG_WHOLE);
	assert_int_equal(found.frames, 4);
	assert_int_equal(seen_bytes, 3 + sizeof(large) * 2 - 1 + 4);
}

TEST(file__with_zeros_at_its_end__is_whole)
{
	struct log_found found;
	uint64_t good;

	add_text("one", 0);
	good = source.size;
	for (unsigned i = 1; i < 100; i++) {
		source.size = good + i;
		found = read_log();
		assert_int_equal(found.verdict, LOG_WHOLE);
		assert_int_equal(found.end, good);
	}
	source.size = good + (3u << 20);
	assert_int_equal(read_log().verdict, LOG_WHOLE);
	image[source.size - 1] = 1;
	found = read_log();
	assert_int_equal(found.verdict, LOG_TORN);
	assert_int_equal(found.end, good);
}

/* However much of the last frame is missing, or has become zero. */
TEST(file__torn_anywhere__ends_before)
{
	struct log_found found;
	uint64_t good, whole;
	static char copy[1000];

	add_text("one", 0);
	good = source.size;
	add_text("second", good);
	whole = source.size;
	for (uint64_t cut = good + 1; cut < whole; cut++) {
		source.size = cut;
		found = read_log();
		assert_int_equal(found.verdict, LOG_TORN);
		assert_int_equal(found.end, good);
		assert_string_equal(seen, "one,");
	}
	source.size = whole;
	memcpy(copy, image, whole);
	for (uint64_t cut = good + 1; cut < whole; cut++) {
		memset(image + cut, 0, whole - cut);
		found = read_log();
		/* The bytes that are missing may have been zeros. */
		assert_int_equal(found.verdict, memcmp(copy, image, whole)
							? LOG_TORN
							: LOG_WHOLE);
		memcpy(image, copy, whole);
	}
}

TEST(file__with_a_changed_byte_anywhere__gives_no_wrong_record)
{
	uint64_t first, second;

	first = add_text("one", 0);
	second = add_text("two", source.size);
	add_text("three", source.size);
	for (uint64_t at = first; at < source.size; at++) {
		struct log_found found;

		image[at] ^= 0x10;
		found = read_log();
		if (at < second) {
			assert_int_equal(found.verdict, LOG_DAMAGED);
			assert_int_equal(found.end, first);
			assert_true(found.next >= second);
			assert_string_equal(seen, "");
		} else {
			assert_true(found.verdict == LOG_DAMAGED ||
				    found.verdict == LOG_TORN);
			assert_true(found.end >= second);
		}
		image[at] ^= 0x10;
	}
	assert_int_equal(read_log().verdict, LOG_WHOLE);
}

/* After the crash of a machine, a page may be missing before one that is there. */
TEST(file__with_a_hole_that_was_never_synced__is_torn)
{
	uint64_t hole, after, synced;
	struct log_found found;

	add_text("one", 0);
	synced = source.size;
	hole = add_text("two", synced);
	after = add_text("three", synced);
	memset(image + hole, 0, after - hole);
	found = read_log();
	assert_int_equal(found.verdict, LOG_TORN);
	assert_int_equal(found.end, hole);
	/* A later frame knows that the hole was on the disk. */
	add_text("four", after);
	found = read_log();
	assert_int_equal(found.verdict, LOG_DAMAGED);
	assert_int_equal(found.end, hole);
}

/* The next good frame is farther away than one read reaches. */
TEST(file__damaged_far_before_a_good_frame__is_damaged)
{
	static char large[2500000];
	uint64_t first = add((struct bytes){ large, sizeof(large) }, 0);
	uint64_t last = add_text("last", source.size);
	struct log_found found;

	image[first + 2000000] ^= 1;
	found = read_log();
	assert_int_equal(found.verdict, LOG_DAMAGED);
	assert_int_equal(found.end, first);
	assert_int_equal(found.next, last);
}

/* A frame that was copied within the file, or from another one, is not good. */
TEST(file__with_a_frame_of_another_place__is_not_whole)
{
	uint64_t first = add_text("one", 0);
	uint64_t size = source.size - first;

	memcpy(image + source.size, image + first, size);
	source.size += size;
	assert_int_equal(read_log().verdict, LOG_TORN);
	assert_string_equal(seen, "one,");
	begin(NULL);
	assert_int_equal(source.size, FRAME_FILE_HEADER);
}

TEST(file__that_is_no_log__is_refused)
{
	static const char text[] = "no log, but more than forty bytes of text";

	memcpy(image, text, sizeof(text));
	for (source.size = 1; source.size < sizeof(text); source.size++)
		assert_int_equal(read_log().verdict, LOG_FOREIGN);
}

TEST(file__without_a_whole_header__is_new)
{
	for (source.size = 0; source.size < FRAME_FILE_HEADER; source.size++)
		assert_int_equal(read_log().verdict, LOG_NEW);
	assert_int_equal(read_log().verdict, LOG_WHOLE);
	memset(image, 0, FRAME_FILE_HEADER);
	assert_int_equal(read_log().verdict, LOG_NEW);
	source.size++;
	assert_int_equal(read_log().verdict, LOG_FOREIGN);
}

TEST(file__that_cannot_be_read__is_unread)
{
	struct log_found found;

	add_text("one", 0);
	read_error = -EIO;
	found = read_log();
	assert_int_equal(found.verdict, LOG_UNREAD);
	assert_int_equal(found.error, -EIO);
}

TEST(file__with_a_visit_that_stops__stops)
{
	struct log_found found;
	uint64_t second;

	add_text("one", 0);
	second = add_text("two", 0);
	stop_at = 2;
	found = read_log();
	stop_at = 0;
	assert_int_equal(found.verdict, LOG_STOPPED);
	assert_int_equal(found.end, second);
}
