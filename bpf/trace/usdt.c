/* SPDX-License-Identifier: MIT */
/* usdt.c - see usdt.h */
#include "bpf/trace/usdt.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "bpf/target/target_elf.h"

#define MAX_CONTENT 512u /* bytes; no note of skua is longer */

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

#define MAX_PLACES (sizeof(places) / sizeof(*places))

struct reading {
	struct target_elf elf;
	uint64_t size; /* bytes in the file */
	Elf64_Phdr segments[TARGET_ELF_SEGMENTS];
	Elf64_Shdr mark, notes; /* valid if has_mark, has_notes */
	bool has_mark, has_notes;
	struct usdt_probes *out;
};

/* ---- the file -------------------------------------------------------------- */

static bool is_ours(const Elf64_Ehdr *header)
{
	return header->e_machine == OUR_MACHINE &&
	       (header->e_type == ET_DYN || header->e_type == ET_EXEC);
}

/* Keep the first section of each name. */
static int find_sections(const struct target_elf *elf,
			 const Elf64_Shdr *section, const char *name,
			 void *context)
{
	struct reading *reading = context;

	(void)elf;
	if (!reading->has_mark && strcmp(name, ".stapsdt.base") == 0) {
		reading->mark = *section;
		reading->has_mark = true;
	} else if (!reading->has_notes && strcmp(name, ".note.stapsdt") == 0) {
		reading->notes = *section;
		reading->has_notes = true;
	}
	return reading->has_mark && reading->has_notes ? 0 : -ENOENT;
}

static int begin(struct reading *reading, int fd, struct target_budget *budget)
{
	struct stat status;
	int code;

	if (fstat(fd, &status) != 0)
		return -errno;
	reading->size = (uint64_t)status.st_size;
	code = target_elf_begin(&reading->elf, fd, budget);
	if (code == 0 && !is_ours(&reading->elf.header))
		return -ENOEXEC;
	/* Tracers find notes by sections only. */
	if (code || reading->elf.header.e_shnum == 0)
		return code;
	code = target_elf_segments(&reading->elf, reading->segments);
	if (code)
		return code;
	code = target_elf_each_section(&reading->elf, true, find_sections,
				       reading);
	return code == -ENOENT ? 0 : code;
}

/* Return the file offset of the byte that a segment with all @flags loads at
 * @address; 0: there is none (at offset 0 is the ELF header). */
static uint64_t file_offset(const struct reading *reading, uint64_t address,
			    uint32_t flags)
{
	for (unsigned i = 0; i < reading->elf.header.e_phnum; i++) {
		const Elf64_Phdr *segment = &reading->segments[i];

		uint64_t ahead = address - segment->p_vaddr;

		if (segment->p_type == PT_LOAD &&
		    (segment->p_flags & flags) == flags &&
		    address >= segment->p_vaddr && ahead < segment->p_filesz &&
		    segment->p_offset < reading->size &&
		    ahead < reading->size - segment->p_offset)
			return segment->p_offset + ahead;
	}
	return 0;
}

/* ---- notes ----------------------------------------------------------------- */

/* Count the arguments of "8@%rdi 8@%rsi". Return: -1 if one is not where the
 * calling convention puts it. */
static int count_places(const char *text)
{
	unsigned count = 0;

	while (*text) {
		size_t length;

		if (count == MAX_PLACES)
			return (int)count; /* the rest is not checked */
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

	return length > 0 && length < USDT_NAME && name[length] == 0;
}

/* Add the probe of a note. Its content is three addresses and three strings. */
static void add_probe(const struct reading *reading, const char *content,
		      size_t bytes)
{
	struct usdt_probes *out = reading->out;
	struct usdt_probe *probe = &out->probes[out->count];
	const char *strings[3], *end = content + bytes;
	uint64_t words[3], base = reading->mark.sh_addr, moved;
	int arguments;

	if (bytes < sizeof(words))
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
	moved = base && words[1] ? base - words[1] : 0;
	probe->offset = file_offset(reading, words[0] + moved, PF_X);
	probe->semaphore = file_offset(reading, words[2] + moved, PF_W);
	if (!probe->offset || !probe->semaphore)
		return;
	strcpy(probe->name, strings[1]);
	probe->arguments = (unsigned)arguments;
	out->count++;
}

static uint64_t round_up(uint64_t n)
{
	return (n + 3) / 4 * 4;
}

/* Read a note at offset @at of the section. Notes that cannot be skua's are
 * skipped. */
static int read_note(const struct reading *reading, uint64_t at,
		     const Elf64_Nhdr *note)
{
	char bytes[sizeof("stapsdt") + MAX_CONTENT];
	size_t size = sizeof("stapsdt") + note->n_descsz;
	int code;

	if (note->n_type != 3 || note->n_namesz != sizeof("stapsdt") ||
	    note->n_descsz > MAX_CONTENT)
		return 0;
	code = target_elf_read(&reading->elf, reading->notes.sh_offset,
			       at + sizeof(*note), bytes, size);
	if (code == 0 && memcmp(bytes, "stapsdt", sizeof("stapsdt")) == 0)
		add_probe(reading, bytes + sizeof("stapsdt"), note->n_descsz);
	return code;
}

/* Read all notes. Sizes in notes are below 2^32, and sums have 64 bits, so they
 * do not overflow. */
static int read_notes(const struct reading *reading)
{
	uint64_t at = 0, bytes = reading->notes.sh_size;
	int code = 0;

	while (code == 0 && reading->out->count < MAX_USDT_PROBES &&
	       at <= bytes && bytes - at >= sizeof(Elf64_Nhdr)) {
		uint64_t content, end;
		Elf64_Nhdr note;

		code = target_elf_read(&reading->elf, reading->notes.sh_offset,
				       at, &note, sizeof(note));
		if (code)
			return code;
		content = sizeof(note) + round_up(note.n_namesz);
		end = content + note.n_descsz;
		if (end > bytes - at)
			return 0;
		code = read_note(reading, at, &note);
		at += content + round_up(note.n_descsz);
	}
	return code;
}

int usdt_read(int fd, struct target_budget *budget, struct usdt_probes *out)
{
	struct reading reading = { .out = out };
	int code;

	out->count = 0;
	code = begin(&reading, fd, budget);
	if (code == 0)
		code = read_notes(&reading);
	if (code)
		out->count = 0;
	return code;
}
