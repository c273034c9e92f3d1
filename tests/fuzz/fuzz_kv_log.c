/* SPDX-License-Identifier: MIT */
/**
 * fuzz_kv_log.c - any file as the log of skua-kv
 *
 * The first byte says whether the rest is a file as it is, after a good header, or a program
 * that writes frames, changes bytes, and cuts the file. In any case, the frames
 * that are read lie one after the other; the file, cut where the reader says, is whole and
 * has the same frames; and records come apart without reading beyond them. Of a program,
 * the frames that are read are the first ones that it has written, unchanged; a file that it
 * did not damage is whole; and damage before a frame that was written after a sync is called
 * damage.
 */
#include <string.h>

#include "bench/kv/log/reader.h"
#include "tests/fuzz/fuzz.h"

#define ROOM   65536u
#define FRAMES 64u

static char image[ROOM];
static size_t image_size;
static const struct frame_file key_only = { .key = { { 27, 1 } } };

/* The frames that a program has written: places, and copies of all bytes. */
static char written[ROOM];
static uint64_t places[FRAMES + 1];
static unsigned frames;
static uint64_t first_synced; /* bytes that the last frame knows to be synced */

static ssize_t read_image(void *ctx, void *buffer, size_t size, uint64_t offset)
{
	struct log_source *source = ctx;

	if (offset >= source->size)
		return 0;
	if (size > source->size - offset)
		size = (size_t)(source->size - offset);
	memcpy(buffer, image + offset, size);
	return (ssize_t)size;
}

/* ---- what holds ------------------------------------------------------------------ */

struct visits {
	uint64_t count, end;
	bool program;
};

static bool visit(void *ctx, uint64_t offset, struct bytes records)
{
	struct visits *visits = ctx;
	char *copy = malloc(records.size + 1);
	struct record_reader reader = { .next = copy,
					.end = copy + records.size };
	size_t commands = 0;

	fuzz_check(offset == visits->end, "a frame at %" PRIu64, offset);
	visits->end = offset + FRAME_HEADER + records.size;
	if (visits->program) {
		fuzz_check(visits->count < frames &&
				   places[visits->count] == offset,
			   "a frame that nobody has written");
		fuzz_check(memcmp(records.data, written + offset + FRAME_HEADER,
				  records.size) == 0,
			   "records that nobody has written");
	}
	visits->count++;
	/* A copy of exactly these bytes, so that a sanitizer sees a read beyond. */
	memcpy(copy, records.data, records.size);
	while (record_next(&reader) == RECORD_COMMAND) {
		fuzz_check(reader.argc > 0, "no arguments");
		for (size_t i = 0; i < reader.argc; i++)
			fuzz_check(
				reader.argv[i].data >= copy &&
					reader.argv[i].size <=
						(size_t)(reader.end -
							 reader.argv[i].data),
				"an argument beyond its record");
		fuzz_check(++commands <= records.size, "too many commands");
	}
	record_reader_free(&reader);
	free(copy);
	return true;
}

static struct log_found read_all(uint64_t size, bool program,
				 struct visits *visits)
{
	struct log_source source = { read_image, &source, size };
	struct log_found found;

	*visits =
		(struct visits){ .end = FRAME_FILE_HEADER, .program = program };
	log_read(&source, visit, visits, &found);
	return found;
}

static struct log_found check(bool program)
{
	struct visits visits, again;
	struct log_found found = read_all(image_size, program, &visits), cut;

	fuzz_check(found.frames == visits.count, "%" PRIu64 " frames",
		   found.frames);
	fuzz_check(found.verdict != LOG_UNREAD && found.verdict != LOG_STOPPED,
		   "verdict %d", found.verdict);
	if (found.verdict == LOG_NEW || found.verdict == LOG_FOREIGN)
		return found;
	fuzz_check(found.end == visits.end && found.end <= image_size,
		   "the end is %" PRIu64, found.end);
	fuzz_check(found.verdict != LOG_DAMAGED ||
			   (found.next > found.end && found.next < image_size),
		   "proof at %" PRIu64, found.next);
	cut = read_all(found.end, program, &again);
	fuzz_check(cut.verdict == LOG_WHOLE && again.count == visits.count,
		   "not whole after the cut");
	return found;
}

/* ---- the program ------------------------------------------------------------------ */

static void write_header(void)
{
	char *at = image;

	memset(image, 0, sizeof(image));
	memcpy(at, "skua-kv log 1\n", 14);
	at = record_put_64(at + 16, key_only.key.words[0]);
	at = record_put_64(at, key_only.key.words[1]);
	record_put_64(at, hash_bytes(&key_only.key, image, 32));
	image_size = FRAME_FILE_HEADER;
}

static void write_frame(struct fuzz_input *in, const struct frame_file *file)
{
	char argument[256] = "";
	struct bytes argv[4] = { { "SET", 3 } };
	char *frame = image + image_size, *at = frame + FRAME_HEADER;
	unsigned commands = fuzz_below(in, 3) + 1;
	size_t size;

	if (frames == FRAMES || image_size + 4096 > ROOM)
		return;
	memset(argument, (char)fuzz_byte(in), sizeof(argument));
	at = record_put_header(at, 1 + fuzz_byte(in), commands);
	while (commands--) {
		size_t argc = fuzz_below(in, 4) + 1;

		for (size_t i = 1; i < argc; i++)
			argv[i] = (struct bytes){ argument, fuzz_byte(in) };
		at = record_put_command(at, argc, argv);
	}
	size = (size_t)(at - frame) - FRAME_HEADER;
	/* Records may be anything; only their checksum is right. */
	if (fuzz_below(in, 4) == 3) {
		char *wild = frame + FRAME_HEADER + fuzz_byte(in) % size;

		*wild = (char)(*wild ^ fuzz_byte(in));
	}
	if (fuzz_below(in, 2))
		first_synced = image_size;
	frame_seal(file, frame, size, image_size, first_synced);
	places[frames++] = image_size;
	image_size += FRAME_HEADER + size;
	places[frames] = image_size;
}

static void run_program(struct fuzz_input *in)
{
	size_t whole, harmed_at = SIZE_MAX, zeros;
	struct frame_file file;
	struct log_found found;
	bool harmed = false;

	fuzz_check(frame_file_read(&file, image), "the header is not good");
	for (unsigned count = fuzz_below(in, FRAMES); count; count--)
		write_frame(in, &file);
	whole = image_size;
	memcpy(written, image, sizeof(written));
	zeros = fuzz_byte(in);
	if (image_size + zeros <= ROOM)
		image_size += zeros;
	while (fuzz_more(in) && frames) {
		size_t at = FRAME_FILE_HEADER +
			    fuzz_number(in, 2) % (whole - FRAME_FILE_HEADER);
		uint8_t by = fuzz_byte(in);

		image[at] = (char)(image[at] ^ by);
	}
	for (size_t i = 0; i < whole && !harmed; i++) {
		harmed = image[i] != written[i];
		harmed_at = i;
	}
	found = check(true);
	if (!harmed)
		fuzz_check(found.verdict == LOG_WHOLE && found.frames == frames,
			   "a good file has verdict %d", found.verdict);
	else
		fuzz_check(found.end <= harmed_at, "a harmed frame is good");
	/* The last frame, if it was not harmed, proves what it knows. */
	if (harmed && frames > 1 && harmed_at < first_synced &&
	    memcmp(image + places[frames - 1], written + places[frames - 1],
		   whole - places[frames - 1]) == 0)
		fuzz_check(found.verdict == LOG_DAMAGED,
			   "damage has verdict %d", found.verdict);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	bool raw = fuzz_byte(&in) == '#';
	size_t rest = (size_t)(in.end - in.next);

	frames = 0;
	first_synced = 0;
	write_header();
	if (!raw) {
		run_program(&in);
		return 0;
	}
	/* With a second mark, the header is a part of the input as well. */
	if (rest && in.next[0] == '#') {
		in.next++;
		rest--;
		image_size = 0;
	}
	if (rest > ROOM - image_size)
		return -1; /* says nothing new */
	memcpy(image + image_size, in.next, rest);
	image_size += rest;
	check(false);
	return 0;
}
