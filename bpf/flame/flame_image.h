/* SPDX-License-Identifier: MIT */
/**
 * flame_image.h - a file that a process has mapped, or the vDSO that the kernel mapped:
 * its functions, source lines and unwind rules
 *
 * Everything read from the file is hostile.
 */
#ifndef SKUA_BPF_FLAME_IMAGE_H
#define SKUA_BPF_FLAME_IMAGE_H

#include "bpf/flame/flame_reader.h"
#include "bpf/target/target_parts.h"

/* The function that contains an address. @name: its name, or the place, as
 * "[libc.so.6+0x27230]" or "[libc.so.6]". @start: its first address in memory;
 * 0: unknown. @address: the address itself. */
struct flame_function {
	const char *name;
	uint64_t start;
	uint64_t address;
};

struct image;

/* image_open - open a mapped file. A file that cannot be read has no names.
 * @reader: borrowed; it must not be used after the image is closed. Return:
 * NULL if there is no memory */
struct image *image_open(struct target *target, struct reader *reader,
			 const struct target_mapping *mapping);
void image_close(struct image *image);

/* image_open_file - open a file that no process has mapped; it must not be used
 * with addresses in memory. @fd: the image closes it, also on failure. Return:
 * NULL if there is no memory */
struct image *image_open_file(int fd, const char *path, struct reader *reader,
			      struct target_budget *budget);

/* image_look - find the function and the line of the code @ahead bytes after
 * the place where the first byte of the file is mapped. Return: true if there
 * is a function */
bool image_look(struct image *image, uint64_t ahead,
		struct flame_function *function, struct line *line);

/* image_is_of - return true if the mapping is one of this file. The functions
 * below need such a mapping */
bool image_is_of(const struct image *image,
		 const struct target_mapping *mapping);

void image_find(struct image *image, const struct target_mapping *mapping,
		uint64_t address, struct flame_function *out);

/* image_line - find the source line of the code at an address, by reader_line() */
void image_line(struct image *image, const struct target_mapping *mapping,
		uint64_t address, struct line *out);

/* image_rule - find the unwind rule at an address, by reader_rule(). Return:
 * false if the file has none */
bool image_rule(struct image *image, const struct target_mapping *mapping,
		uint64_t address, struct flame_rule *out);

#endif
