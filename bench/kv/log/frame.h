/* SPDX-License-Identifier: MIT */
/**
 * frame.h - the file of the log: a header, and frames of records
 *
 * A frame holds the records that the log writes together: those of all commands that waited
 * for the write. After a crash, a frame is valid as a whole or not at all. Its checksum has
 * 64 bits: SipHash-1-3, with a random key from the file's header, over the frame's header,
 * its place in the file, and its records. A frame of another file, or at another place,
 * therefore has a wrong checksum.
 *
 *	file:   magic (16 bytes), key (16), checksum of these (8), frames
 *	frame:  mark (4), zero (4), bytes of records (8), synced (8), checksum (8), records
 *
 * The mark is derived from the key, so that no client can put one into a value. @synced is
 * the number of bytes of the file that were certainly on the disk when the frame was written.
 * It decides what a bad frame before good ones means. If a good frame says that the bad one
 * had been synced, the file is damaged. Otherwise the crash of a machine has lost bytes that
 * were never synced; it may lose them in any order.
 *
 * The file may end with zeros that the log has written ahead.
 */
#ifndef SKUA_BENCH_KV_FRAME_H
#define SKUA_BENCH_KV_FRAME_H

#include "bench/kv/log/record.h"
#include "bench/kv/store/hash.h"

#define FRAME_FILE_HEADER 40u /* bytes at the start of the file */
#define FRAME_HEADER      32u /* bytes before the records of a frame */

/* struct frame_file - what the header of a file says */
struct frame_file {
	struct hash_secret key;
	uint32_t mark;
};

/* frame_file_create - choose a key, and write the header of a file */
void frame_file_create(struct frame_file *file, char out[FRAME_FILE_HEADER]);

/* frame_file_read - read the header of a file. Return: false: it is none */
bool frame_file_read(struct frame_file *file,
		     const char data[FRAME_FILE_HEADER]);

/* frame_file_is_begun - tell whether a file of @size bytes, at most FRAME_FILE_HEADER, is one
 * whose header was being written when the machine crashed */
bool frame_file_is_begun(const char *data, size_t size);

/**
 * frame_seal - write the header of a frame
 * @frame: FRAME_HEADER bytes, which are written, and then the records
 * @size: bytes of the records
 * @offset: place of the frame in the file
 * @synced: bytes of the file that have reached the disk
 */
void frame_seal(const struct frame_file *file, char *frame, size_t size,
		uint64_t offset, uint64_t synced);

/**
 * frame_size - read the header of a frame
 * @header: FRAME_HEADER bytes
 * @room: bytes of the file after the header
 *
 * Return: bytes of the records; 0: there is no frame here.
 */
uint64_t frame_size(const struct frame_file *file, const char *header,
		    uint64_t room);

/* frame_synced - return @synced of the header of a frame */
static inline uint64_t frame_synced(const char *header)
{
	return record_get_64(header + 16);
}

/* frame_is_good - tell whether the checksum of a frame is right. @frame: header and records;
 * @size: frame_size() */
bool frame_is_good(const struct frame_file *file, const char *frame,
		   size_t size, uint64_t offset);

#endif
