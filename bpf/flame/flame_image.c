/* SPDX-License-Identifier: MIT */
/* flame_image.c - see flame_image.h */
#include "bpf/flame/flame_image.h"

#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/flame/flame_functions.h"
#include "bpf/target/target_elf.h"

#define MOST_OF_VDSO (UINT64_C(1) << 20)

struct image {
	uint64_t inode;
	char *path;
	char *name; /* "[libc.so.6]": of functions without one */
	int fd;
	void *memory; /* of the vDSO */
	Elf *elf;
	Dwarf_CFI *rules;
	struct functions *functions;
	struct lines *lines; /* once they were asked for, if there are any */
	bool asked;
};

/* ---- opening --------------------------------------------------------------- */

/* "[file]", of "/folder/file (deleted)" and of "[vdso]". */
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

static void open_vdso(struct target *target, struct image *image,
		      const struct target_mapping *mapping)
{
	uint64_t bytes = mapping->end - mapping->start;

	image->memory = bytes <= MOST_OF_VDSO ? malloc(bytes) : NULL;
	if (image->memory &&
	    target_read(target, mapping->start, image->memory, bytes) == 0)
		image->elf = elf_memory(image->memory, bytes);
}

/* As dwarf_getcfi_elf() looks for it. */
static bool has_rules(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names = 0;

	if (elf_getshdrstrndx(elf, &names) != 0 || names == 0)
		return false;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		const char *name =
			gelf_getshdr(section, &header)
				? elf_strptr(elf, names, header.sh_name)
				: NULL;

		if (name && strcmp(name, ".eh_frame") == 0)
			return true;
	}
	return false;
}

/* Without that section, dwarf_getcfi_elf() has libelf read the whole file. */
static bool may_read_rules(struct target *target, const struct image *image)
{
	struct stat status;

	return image->memory || has_rules(image->elf) ||
	       (fstat(image->fd, &status) == 0 &&
		target_budget_hold(&target->budget, (uint64_t)status.st_size));
}

static void open_elf(struct target *target, struct image *image,
		     const struct target_mapping *mapping)
{
	elf_version(EV_CURRENT);
	if (strcmp(mapping->path, "[vdso]") == 0) {
		open_vdso(target, image, mapping);
	} else if (mapping->inode != 0) {
		image->fd = target_open_mapped(target, mapping);
		if (image->fd >= 0 &&
		    target_hold_tables(target, image->fd, mapping->path))
			image->elf = elf_begin(image->fd, ELF_C_READ, NULL);
	}
	if (!image->elf)
		return;
	image->functions = functions_read(image->elf, &target->budget);
	if (may_read_rules(target, image))
		image->rules = dwarf_getcfi_elf(image->elf);
}

/* @fd: the image's from here on. */
static struct image *make(int fd, const char *path, uint64_t inode)
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
	if (!image->path || !image->name) {
		image_close(image);
		return NULL;
	}
	return image;
}

struct image *image_open(struct target *target,
			 const struct target_mapping *mapping)
{
	struct image *image = make(-1, mapping->path, mapping->inode);

	if (image)
		open_elf(target, image, mapping);
	return image;
}

struct image *image_open_file(int fd, const char *path,
			      struct target_budget *budget)
{
	struct image *image = make(fd, path, 0);

	if (!image ||
	    !target_budget_hold(budget, target_elf_tables(fd, budget)))
		return image;
	elf_version(EV_CURRENT);
	image->elf = elf_begin(fd, ELF_C_READ, NULL);
	if (image->elf)
		image->functions = functions_read(image->elf, budget);
	return image;
}

void image_close(struct image *image)
{
	functions_free(image->functions);
	lines_close(image->lines);
	if (image->rules)
		dwarf_cfi_end(image->rules);
	elf_end(image->elf);
	if (image->fd >= 0)
		close(image->fd);
	free(image->memory);
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

/* ---- what is asked ----------------------------------------------------------- */

/* Where the file wants to have what is mapped at @address. */
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

	return image->rules && file_address(image, mapping, address, &wanted) &&
	       flame_rule_read(image->rules, wanted, out);
}

static void ask_line(struct image *image, uint64_t address,
		     uint64_t *patience_ns, struct line *out)
{
	if (!image->asked && image->elf && image->fd >= 0)
		image->lines = lines_open(image->fd);
	image->asked = true;
	if (image->lines)
		lines_find(image->lines, address, patience_ns, out);
}

void image_line(struct image *image, const struct target_mapping *mapping,
		uint64_t address, uint64_t *patience_ns, struct line *out)
{
	uint64_t wanted;

	if (file_address(image, mapping, address, &wanted))
		ask_line(image, wanted, patience_ns, out);
}

/* Where the file wants to have its first byte. */
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

bool image_look(struct image *image, uint64_t ahead, uint64_t *patience_ns,
		struct flame_function *function, struct line *line)
{
	uint64_t base, from;

	memset(line, 0, sizeof(*line));
	*function = (struct flame_function){ .name = image->name };
	if (!find_base(image, &base) || !image->functions ||
	    !functions_find(image->functions, base + ahead, image->name,
			    &function->name, &from) ||
	    function->name[0] == '[') /* that is where it is, again */
		return false;
	ask_line(image, base + ahead, patience_ns, line);
	return true;
}
