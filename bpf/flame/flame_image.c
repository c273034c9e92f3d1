/* SPDX-License-Identifier: MIT */
/* flame_image.c - see flame_image.h */
#include "bpf/flame/flame_image.h"

#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/flame/flame_functions.h"
#include "bpf/target/target_elf.h"

#define MAX_VDSO_BYTES (UINT64_C(1) << 20)

struct image {
	uint64_t inode;
	char *path;
	char *name; /* "[libc.so.6]", for functions without a name */
	int fd;
	Elf *elf;
	struct functions *functions;
	struct reader *reader;
	int file; /* its number in the reader; -1: none */
};

/* ---- opening --------------------------------------------------------------- */

/* Return "[file]" for "/folder/file" or "/folder/file (deleted)"; "[vdso]"
 * stays. */
static char *make_name(const char *path)
{
	const char *file = strrchr(path, '/');
	const char *gone = strstr(path, " (deleted)");
	char *name;

	file = file ? file + 1 : path;
	if (!*file)
		return strdup("[no file]");
	if (*file == '[')
		return strdup(file);
	if (asprintf(&name, "[%.*s]",
		     gone && gone > file ? (int)(gone - file) : 200, file) < 0)
		return NULL;
	return name;
}

/* Copy the vDSO to a file. Return: its descriptor, or -1 if it cannot be read. */
static int copy_vdso(struct target *target,
		     const struct target_mapping *mapping)
{
	uint64_t bytes = mapping->end - mapping->start;
	void *memory = bytes <= MAX_VDSO_BYTES ? malloc(bytes) : NULL;
	int fd = memory ? memfd_create("vdso", MFD_CLOEXEC) : -1;

	if (fd >= 0 &&
	    (target_read(target, mapping->start, memory, bytes) != 0 ||
	     write(fd, memory, bytes) != (ssize_t)bytes)) {
		close(fd);
		fd = -1;
	}
	free(memory);
	return fd;
}

static void read_elf(struct image *image, struct target_budget *budget)
{
	elf_version(EV_CURRENT);
	image->elf = elf_begin(image->fd, ELF_C_READ, NULL);
	if (image->elf)
		image->functions = functions_read(image->elf, budget);
}

static void open_elf(struct target *target, struct image *image,
		     const struct target_mapping *mapping)
{
	bool vdso = strcmp(mapping->path, "[vdso]") == 0;

	if (vdso)
		image->fd = copy_vdso(target, mapping);
	else if (mapping->inode != 0)
		image->fd = target_open_mapped(target, mapping);
	if (image->fd >= 0 &&
	    (vdso || target_hold_tables(target, image->fd, mapping->path)))
		read_elf(image, &target->budget);
}

/* @fd: the image closes it, also on failure. */
static struct image *make(int fd, const char *path, uint64_t inode,
			  struct reader *reader)
{
	struct image *image = calloc(1, sizeof(*image));

	if (!image) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	image->inode = inode;
	image->path = strdup(path);
	image->name = make_name(path);
	image->fd = fd;
	image->reader = reader;
	if (!image->path || !image->name) {
		image_close(image);
		return NULL;
	}
	return image;
}

struct image *image_open(struct target *target, struct reader *reader,
			 const struct target_mapping *mapping)
{
	struct image *image = make(-1, mapping->path, mapping->inode, reader);

	if (!image)
		return NULL;
	open_elf(target, image, mapping);
	image->file = image->elf ? reader_add(reader, image->fd) : -1;
	return image;
}

struct image *image_open_file(int fd, const char *path, struct reader *reader,
			      struct target_budget *budget)
{
	struct image *image = make(fd, path, 0, reader);

	if (!image)
		return NULL;
	if (target_budget_hold(budget, target_elf_tables(fd, budget)))
		read_elf(image, budget);
	image->file = image->elf ? reader_add(reader, image->fd) : -1;
	return image;
}

void image_close(struct image *image)
{
	functions_free(image->functions);
	elf_end(image->elf);
	if (image->fd >= 0)
		close(image->fd);
	free(image->name);
	free(image->path);
	free(image);
}

bool image_is_of(const struct image *image,
		 const struct target_mapping *mapping)
{
	return image->inode == mapping->inode &&
	       strcmp(image->path, mapping->path) == 0;
}

/* ---- lookup ------------------------------------------------------------------ */

/* Convert an address in memory to one of the file. */
static bool file_address(const struct image *image,
			 const struct target_mapping *mapping, uint64_t address,
			 uint64_t *out)
{
	uint64_t offset = address - mapping->start + mapping->offset;
	size_t count = 0;

	if (!image->elf || elf_getphdrnum(image->elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(image->elf, (int)i, &header) ||
		    header.p_type != PT_LOAD || offset < header.p_offset ||
		    offset - header.p_offset >= header.p_filesz)
			continue;
		*out = header.p_vaddr + (offset - header.p_offset);
		return true;
	}
	return false;
}

void image_find(struct image *image, const struct target_mapping *mapping,
		uint64_t address, struct flame_function *out)
{
	uint64_t wanted, from;

	*out = (struct flame_function){ .name = image->name,
					.address = address };
	if (image->functions &&
	    file_address(image, mapping, address, &wanted) &&
	    functions_find(image->functions, wanted, image->name, &out->name,
			   &from))
		out->start = address - (wanted - from);
}

bool image_rule(struct image *image, const struct target_mapping *mapping,
		uint64_t address, struct flame_rule *out)
{
	uint64_t wanted;

	return file_address(image, mapping, address, &wanted) &&
	       reader_rule(image->reader, image->file, wanted, out);
}

void image_line(struct image *image, const struct target_mapping *mapping,
		uint64_t address, struct line *out)
{
	uint64_t wanted;

	memset(out, 0, sizeof(*out));
	if (file_address(image, mapping, address, &wanted))
		reader_line(image->reader, image->file, wanted, out);
}

/* The address that the file gives its first byte. */
static bool find_base(const struct image *image, uint64_t *out)
{
	size_t count = 0;

	if (!image->elf || elf_getphdrnum(image->elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(image->elf, (int)i, &header) &&
		    header.p_type == PT_LOAD) {
			*out = header.p_vaddr - header.p_offset;
			return true;
		}
	}
	return false;
}

bool image_look(struct image *image, uint64_t ahead,
		struct flame_function *function, struct line *line)
{
	uint64_t base, from;

	memset(line, 0, sizeof(*line));
	*function = (struct flame_function){ .name = image->name };
	if (!find_base(image, &base) || !image->functions ||
	    !functions_find(image->functions, base + ahead, image->name,
			    &function->name, &from) ||
	    function->name[0] == '[') /* only the place again */
		return false;
	reader_line(image->reader, image->file, base + ahead, line);
	return true;
}
