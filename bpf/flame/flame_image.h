/* SPDX-License-Identifier: MIT */
/**
 * flame_image.h - a file that a process has mapped, or the part of the kernel that it
 * has (the vDSO): its functions, and how to find their callers
 *
 * All that is read is hostile.
 */
#ifndef SKUA_BPF_FLAME_IMAGE_H
#define SKUA_BPF_FLAME_IMAGE_H

#include "bpf/flame/flame_reader.h"
#include "bpf/target/target_parts.h"

/* A function that an address is in: its name, or where it is, as "[libc.so.6+0x27230]" or
 * "[libc.so.6]"; where it begins in memory, or 0 if that is not known; the address. */
struct flame_function {
	const char *name;
	uint64_t start;
	uint64_t address;
};

struct image;

/* image_open - NULL: no memory. A file that cannot be read has no names. @reader:
 * borrowed until the image is closed, and longer than the reader is asked */
struct image *image_open(struct target *target, struct reader *reader,
			 const struct target_mapping *mapping);
void image_close(struct image *image);

/* image_open_file - of a file that is mapped by nobody; @fd is the image's from here on.
 * It knows nothing by addresses in memory. Return: NULL: no memory */
struct image *image_open_file(int fd, const char *path, struct reader *reader,
			      struct target_budget *budget);

/* image_look - the function and the line of the code that is so far behind where the
 * first byte of the file is mapped. Return: is there a function? */
bool image_look(struct image *image, uint64_t ahead,
		struct flame_function *function, struct line *line);

/* image_is_of - is the mapping one of this file? Those below are */
bool image_is_of(const struct image *image,
		 const struct target_mapping *mapping);

void image_find(struct image *image, const struct target_mapping *mapping,
		uint64_t address, struct flame_function *out);

/* image_line - where the code comes from, by reader_line() */
void image_line(struct image *image, const struct target_mapping *mapping,
		uint64_t address, struct line *out);

/* image_rule - Return: false: the file does not tell */
bool image_rule(struct image *image, const struct target_mapping *mapping,
		uint64_t address, struct flame_rule *out);

#endif
