/* SPDX-License-Identifier: MIT */
/* target_find.c - see target_find.h */
#include "bpf/target/target_find.h"

#include <elf.h>

#include "probes/area.h"

#define MAX_HEADERS    128u
#define MAX_NOTE_BYTES 65536u
#define PAGE           UINT64_C(4096) /* the smallest page size */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_ORDER ELFDATA2LSB
#else
#define OUR_ORDER ELFDATA2MSB
#endif

struct roots {
	uint64_t *addresses;
	unsigned most, count;
};

/* An ELF file in memory. */
struct image {
	const struct target_memory *memory;
	Elf64_Phdr headers[MAX_HEADERS];
	unsigned count;
	uint64_t bias; /* address in memory minus file's, mod 2^64 */
};

static void add_root(struct roots *roots, uint64_t address)
{
	for (unsigned i = 0; i < roots->count; i++)
		if (roots->addresses[i] == address)
			return;
	if (roots->count < roots->most)
		roots->addresses[roots->count++] = address;
}

static bool is_ours(const Elf64_Ehdr *header)
{
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_ident[EI_DATA] == OUR_ORDER &&
	       (header->e_type == ET_DYN || header->e_type == ET_EXEC) &&
	       header->e_phentsize == sizeof(Elf64_Phdr) &&
	       header->e_phnum > 0 && header->e_phnum <= MAX_HEADERS;
}

/* The segment at the beginning of the file tells where all others are in
 * memory. */
static bool find_bias(struct image *image, uint64_t start)
{
	for (unsigned i = 0; i < image->count; i++) {
		const Elf64_Phdr *header = &image->headers[i];

		if (header->p_type == PT_LOAD && header->p_offset < PAGE) {
			image->bias =
				start - (header->p_vaddr - header->p_offset);
			return true;
		}
	}
	return false;
}

/* Read the program headers at @start. Return: 0; -ENOENT (no ELF file that can
 * be loaded here); -ESRCH; -EFBIG. */
static int read_image(struct image *image, uint64_t start)
{
	Elf64_Ehdr header;
	uint64_t at;
	int code = target_copy(image->memory, start, &header, sizeof(header));

	if (target_is_over(code))
		return code;
	if (code || !is_ours(&header) ||
	    !target_add(start, header.e_phoff, &at))
		return -ENOENT;
	image->count = header.e_phnum;
	code = target_copy(image->memory, at, image->headers,
			   image->count * sizeof(*image->headers));
	if (target_is_over(code))
		return code;
	return code || !find_bias(image, start) ? -ENOENT : 0;
}

static size_t round_up(size_t n, size_t align)
{
	return (n + align - 1) / align * align;
}

/* Add the roots that notes of skua point to. @notes is a copy of memory from
 * @address on. Sizes in notes are below 2^32, and sums have 64 bits, so they do
 * not overflow. */
static void read_notes(const char *notes, size_t bytes, size_t align,
		       uint64_t address, struct roots *roots)
{
	size_t at = 0;

	while (bytes - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name = at + sizeof(note), content, offset_bytes = 8;
		int64_t offset;

		memcpy(&note, notes + at, sizeof(note));
		content = round_up(name + note.n_namesz, align);
		at = round_up(content + note.n_descsz, align);
		if (content + note.n_descsz > bytes)
			return;
		if (note.n_type == AREA_NOTE_TYPE &&
		    note.n_namesz == sizeof(AREA_NOTE_NAME) &&
		    memcmp(notes + name, AREA_NOTE_NAME,
			   sizeof(AREA_NOTE_NAME)) == 0 &&
		    note.n_descsz >= offset_bytes) {
			memcpy(&offset, notes + content, offset_bytes);
			add_root(roots, address + content + (uint64_t)offset);
		}
		if (at > bytes)
			return;
	}
}

static int read_segment(const struct image *image, const Elf64_Phdr *header,
			struct roots *roots)
{
	char notes[MAX_NOTE_BYTES];
	uint64_t address = image->bias + header->p_vaddr;
	size_t bytes = header->p_filesz < sizeof(notes)
			       ? (size_t)header->p_filesz
			       : sizeof(notes);
	int code = target_copy(image->memory, address, notes, bytes);

	if (!code)
		read_notes(notes, bytes, header->p_align == 8 ? 8 : 4, address,
			   roots);
	return target_is_over(code) ? code : 0;
}

int target_find_roots(const struct target_memory *memory,
		      const struct target_mapping *mappings, size_t count,
		      uint64_t *roots, unsigned most, unsigned *found)
{
	struct roots list = { .addresses = roots, .most = most };
	struct image image = { .memory = memory };
	int code = 0;

	for (size_t i = 0; !code && i < count; i++) {
		/* Mappings without a file are searched, too: some programs copy
		 * themselves. */
		if (!mappings[i].readable || mappings[i].offset != 0)
			continue;
		code = read_image(&image, mappings[i].start);
		for (unsigned k = 0; !code && k < image.count; k++)
			if (image.headers[k].p_type == PT_NOTE)
				code = read_segment(&image, &image.headers[k],
						    &list);
		if (code == -ENOENT)
			code = 0;
	}
	*found = list.count;
	return code;
}
