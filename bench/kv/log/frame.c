/* SPDX-License-Identifier: MIT */
/* frame.c - the file of the log: a header, and frames of records */
#include "bench/kv/log/frame.h"

#include <sys/random.h>
#include <time.h>

/* The number is the version of the format. */
static const char magic[16] = "skua-kv log 1\n";

static uint32_t mark_of(const struct hash_secret *key)
{
	/* Not zero: the file may end with zeros. */
	return (uint32_t)hash_bytes(key, "mark", 4) | 1;
}

void frame_file_create(struct frame_file *file, char out[FRAME_FILE_HEADER])
{
	struct timespec now;
	char *at = out;

	/* Without random bytes, a key that no earlier file has. */
	if (getrandom(&file->key, sizeof(file->key), 0) != sizeof(file->key)) {
		clock_gettime(CLOCK_REALTIME, &now);
		file->key.words[0] = (uint64_t)now.tv_sec;
		file->key.words[1] = (uint64_t)now.tv_nsec;
	}
	file->mark = mark_of(&file->key);
	memcpy(at, magic, sizeof(magic));
	at = record_put_64(at + sizeof(magic), file->key.words[0]);
	at = record_put_64(at, file->key.words[1]);
	record_put_64(at, hash_bytes(&file->key, out, (size_t)(at - out)));
}

bool frame_file_read(struct frame_file *file,
		     const char data[FRAME_FILE_HEADER])
{
	if (memcmp(data, magic, sizeof(magic)) != 0)
		return false;
	file->key.words[0] = record_get_64(data + 16);
	file->key.words[1] = record_get_64(data + 24);
	file->mark = mark_of(&file->key);
	return record_get_64(data + 32) == hash_bytes(&file->key, data, 32);
}

bool frame_file_is_begun(const char *data, size_t size)
{
	static const char zeros[FRAME_FILE_HEADER];

	return memcmp(data, zeros, size) == 0 ||
	       memcmp(data, magic,
		      size < sizeof(magic) ? size : sizeof(magic)) == 0;
}

/* The checksum of a frame. The other fields of its header are set. */
static uint64_t checksum(const struct frame_file *file, const char *frame,
			 size_t size, uint64_t offset)
{
	char words[40];

	memcpy(words, frame, 24);
	record_put_64(words + 24, offset);
	record_put_64(words + 32,
		      hash_bytes(&file->key, frame + FRAME_HEADER, size));
	return hash_bytes(&file->key, words, sizeof(words));
}

void frame_seal(const struct frame_file *file, char *frame, size_t size,
		uint64_t offset, uint64_t synced)
{
	char *at = record_put_32(frame, file->mark);

	at = record_put_32(at, 0);
	at = record_put_64(at, size);
	at = record_put_64(at, synced);
	record_put_64(at, checksum(file, frame, size, offset));
}

uint64_t frame_size(const struct frame_file *file, const char *header,
		    uint64_t room)
{
	uint64_t size = record_get_64(header + 8);

	if (record_get_32(header) != file->mark || record_get_32(header + 4))
		return 0;
	return size <= room ? size : 0;
}

bool frame_is_good(const struct frame_file *file, const char *frame,
		   size_t size, uint64_t offset)
{
	return record_get_64(frame + 24) == checksum(file, frame, size, offset);
}
