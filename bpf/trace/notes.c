/* SPDX-License-Identifier: MIT */
/* notes.c - see notes.h */
#include "bpf/trace/notes.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_HEADERS 128u
#define MOST_BYTES   (UINT64_C(1) << 24) /* of a section */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_ORDER ELFDATA2LSB
#else
#define OUR_ORDER ELFDATA2MSB
#endif

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
static const char *const places[] = { "8@%rdi", "8@%rsi", "8@%rdx", "8@%rcx" };
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
static const char *const places[] = { "8@x0", "8@x1", "8@x2", "8@x3" };
#else
#define OUR_MACHINE EM_NONE
static const char *const places[] = { "", "", "", "" };
#endif

#define MOST_PLACES (sizeof(places) / sizeof(*places))

struct elf {
	int fd;
	uint64_t size;
	Elf64_Ehdr header;
	Elf64_Phdr *segments;
	Elf64_Shdr *sections;
	char *names; /* of sections; ends with a 0 */
	size_t name_bytes;
	uint64_t base; /* address of the mark; 0: there is none */
};

/* ---- the file -------------------------------------------------------------- */

/* All of it; -EILSEQ if the file ends before. */
static int read_at(int fd, uint64_t offset, void *to, size_t bytes)
{
	while (bytes > 0) {
		ssize_t got;

		if (offset > INT64_MAX - bytes)
			return -EILSEQ;
		got = pread(fd, to, bytes, (off_t)offset);
		if (got == 0)
			return -EILSEQ;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got < 0)
			continue;
		to = (char *)to + got;
		offset += (uint64_t)got;
		bytes -= (size_t)got;
	}
	return 0;
}

/* The same to memory of its own, with a 0 behind. */
static int read_new(int fd, uint64_t offset, uint64_t bytes, void *out)
{
	char *data;
	int err;

	if (bytes > MOST_BYTES)
		return -EILSEQ;
	data = malloc(bytes + 1);
	if (!data)
		return -ENOMEM;
	data[bytes] = 0;
	err = read_at(fd, offset, data, bytes);
	if (err)
		free(data);
	else
		memcpy(out, &data, sizeof(data));
	return err;
}

static bool is_ours(const Elf64_Ehdr *header)
{
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 &&
	       header->e_ident[EI_DATA] == OUR_ORDER &&
	       header->e_machine == OUR_MACHINE &&
	       (header->e_type == ET_DYN || header->e_type == ET_EXEC);
}

static int read_tables(struct elf *elf)
{
	const Elf64_Ehdr *header = &elf->header;
	const Elf64_Shdr *strings;
	int err;

	if (header->e_shnum == 0) /* no tracer finds notes without it */
		return 0;
	if (header->e_phentsize != sizeof(Elf64_Phdr) ||
	    header->e_shentsize != sizeof(Elf64_Shdr) ||
	    header->e_phnum > MOST_HEADERS ||
	    header->e_shstrndx >= header->e_shnum)
		return -EILSEQ;
	err = read_new(elf->fd, header->e_phoff,
		       header->e_phnum * sizeof(Elf64_Phdr), &elf->segments);
	if (!err)
		err = read_new(elf->fd, header->e_shoff,
			       header->e_shnum * sizeof(Elf64_Shdr),
			       &elf->sections);
	if (err)
		return err;
	strings = &elf->sections[header->e_shstrndx];
	elf->name_bytes = strings->sh_size;
	return read_new(elf->fd, strings->sh_offset, strings->sh_size,
			&elf->names);
}

static const Elf64_Shdr *find_section(const struct elf *elf, const char *name)
{
	for (unsigned i = 0; elf->names && i < elf->header.e_shnum; i++) {
		const Elf64_Shdr *section = &elf->sections[i];

		if (section->sh_name < elf->name_bytes &&
		    strcmp(elf->names + section->sh_name, name) == 0)
			return section;
	}
	return NULL;
}

/* Where in the file is what is loaded at @address, with all of these flags? 0:
 * nowhere, as where the header of the file is. */
static uint64_t file_offset(const struct elf *elf, uint64_t address,
			    uint32_t flags)
{
	for (unsigned i = 0; i < elf->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		uint64_t ahead = address - segment->p_vaddr;

		if (segment->p_type == PT_LOAD &&
		    (segment->p_flags & flags) == flags &&
		    address >= segment->p_vaddr && ahead < segment->p_filesz &&
		    segment->p_offset < elf->size &&
		    ahead < elf->size - segment->p_offset)
			return segment->p_offset + ahead;
	}
	return 0;
}

/* ---- notes ----------------------------------------------------------------- */

/* As "8@%rdi 8@%rsi"; -1: somewhere else. */
static int count_places(const char *text)
{
	unsigned count = 0;

	while (*text) {
		size_t length;

		if (count == MOST_PLACES)
			return (int)count; /* the rest is not looked at */
		length = strlen(places[count]);
		if (strncmp(text, places[count], length) != 0 ||
		    (text[length] != ' ' && text[length] != 0))
			return -1;
		text += length + (text[length] == ' ');
		count++;
	}
	return (int)count;
}

static bool is_name(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz_");

	return length > 0 && length < NOTES_NAME && name[length] == 0;
}

/* The content of a note: three addresses, three strings. */
static void add_probe(const struct elf *elf, const char *content, size_t bytes,
		      struct notes *out)
{
	struct notes_probe *probe = &out->probes[out->count];
	const char *strings[3], *end = content + bytes;
	uint64_t words[3], moved;
	int arguments;

	if (bytes < sizeof(words) || out->count == NOTES_MOST)
		return;
	memcpy(words, content, sizeof(words));
	content += sizeof(words);
	for (unsigned i = 0; i < 3; i++) {
		const char *zero = memchr(content, 0, (size_t)(end - content));

		if (!zero)
			return;
		strings[i] = content;
		content = zero + 1;
	}
	arguments = count_places(strings[2]);
	if (strcmp(strings[0], "skua") != 0 || !is_name(strings[1]) ||
	    arguments < 0)
		return;
	moved = elf->base && words[1] ? elf->base - words[1] : 0;
	probe->offset = file_offset(elf, words[0] + moved, PF_X);
	probe->semaphore = file_offset(elf, words[2] + moved, PF_W);
	if (!probe->offset || !probe->semaphore)
		return;
	strcpy(probe->name, strings[1]);
	probe->arguments = (unsigned)arguments;
	out->count++;
}

static size_t round_up(size_t n)
{
	return (n + 3) / 4 * 4;
}

/* All sizes are below 2^32, and are added as 64 bits. */
static void read_notes(const struct elf *elf, const char *notes, size_t bytes,
		       struct notes *out)
{
	size_t at = 0;

	while (at <= bytes && bytes - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name = at + sizeof(note), content;

		memcpy(&note, notes + at, sizeof(note));
		content = name + round_up(note.n_namesz);
		at = content + round_up(note.n_descsz);
		if (content + note.n_descsz > bytes)
			return;
		if (note.n_type == 3 && note.n_namesz == sizeof("stapsdt") &&
		    memcmp(notes + name, "stapsdt", sizeof("stapsdt")) == 0)
			add_probe(elf, notes + content, note.n_descsz, out);
	}
}

int notes_read(int fd, struct notes *out)
{
	struct elf elf = { .fd = fd };
	struct stat status;
	const Elf64_Shdr *mark, *section;
	char *notes = NULL;
	int err;

	out->count = 0;
	if (fstat(fd, &status) != 0)
		return -errno;
	elf.size = (uint64_t)status.st_size;
	err = read_at(fd, 0, &elf.header, sizeof(elf.header));
	if (err == -EILSEQ || (!err && !is_ours(&elf.header)))
		return -ENOEXEC;
	if (!err)
		err = read_tables(&elf);
	mark = err ? NULL : find_section(&elf, ".stapsdt.base");
	elf.base = mark ? mark->sh_addr : 0;
	section = err ? NULL : find_section(&elf, ".note.stapsdt");
	if (section)
		err = read_new(fd, section->sh_offset, section->sh_size,
			       &notes);
	if (notes)
		read_notes(&elf, notes, section->sh_size, out);
	free(notes);
	free(elf.names);
	free(elf.sections);
	free(elf.segments);
	return err;
}
