/* SPDX-License-Identifier: MIT */
/**
 * fuzz_elf.c - any ELF file, as one that a process has mapped
 *
 * The first byte says whether the rest is such a file as it is; or else a program
 * that writes one: symbols, and sections that count; and then bytes that are changed
 * anywhere. The model has the whole file in memory, and adds with 128 bits.
 */
#include "bpf/target/target_elf.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define MAX_CHANGES 12u
#define NAME        24u
#define CODE        0x40u /* in the file, as loaded at: */
#define CODE_VADDR  0x401040u
#define CODE_BYTES  0xc0u

/* What target_elf.c reads at once, all of it or nothing. */
#define HEADERS 64u
#define SYMBOLS 2048u

typedef unsigned __int128 wide;

static const char strings[] =
	"\0open\0close\0a_name_that_is_longer_than_the_room\0f";
static const char names[] = "\0.eh_frame\0.eh_frame_hdr\0.eh_frame_more\0.text";

enum { NONE, SYMTAB, DYNSYM, STRINGS, NAMES, COUNTED, COUNTED_2, SECTIONS };

/* A file, and what is asked: where a function is that begins there. */
struct made {
	unsigned char bytes[65536];
	size_t size;
	uint64_t offset;
};

/* ---- a file ------------------------------------------------------------------ */

static size_t put(struct made *made, const void *bytes, size_t size)
{
	size_t at = made->size;

	memcpy(made->bytes + at, bytes, size);
	made->size += size;
	return at;
}

static Elf64_Shdr section_of(uint32_t type, size_t at, size_t bytes)
{
	return (Elf64_Shdr){ .sh_type = type,
			     .sh_offset = at,
			     .sh_size = bytes };
}

static Elf64_Shdr put_symbols(struct made *made, struct fuzz_input *in,
			      uint32_t type, unsigned most)
{
	static const uint8_t places[] = { 0, 1, 6, 12, 48, 49, 200 };
	unsigned count = fuzz_below(in, most);
	Elf64_Shdr section =
		section_of(type, made->size, count * sizeof(Elf64_Sym));

	for (unsigned i = 0; i < count; i++) {
		uint8_t kind = fuzz_byte(in);
		Elf64_Sym symbol = {
			.st_name = places[kind % sizeof(places)],
			.st_info = kind & 0x80 ? STT_OBJECT : STT_FUNC,
			.st_value = CODE_VADDR + fuzz_byte(in),
			.st_size = fuzz_below(in, 32),
		};

		put(made, &symbol, sizeof(symbol));
	}
	section.sh_entsize = sizeof(Elf64_Sym);
	section.sh_link = STRINGS;
	return section;
}

static Elf64_Shdr put_counted(struct fuzz_input *in)
{
	static const uint32_t types[] = { SHT_PROGBITS, SHT_STRTAB, SHT_SYMTAB,
					  SHT_DYNSYM };
	static const uint8_t places[] = { 0, 1, 11, 25, 40 };
	uint8_t kind = fuzz_byte(in);
	Elf64_Shdr section = section_of(types[kind % 4], 0, fuzz_byte(in));

	section.sh_name = places[fuzz_below(in, sizeof(places))];
	section.sh_flags = kind & 0x80 ? SHF_COMPRESSED : 0;
	return section;
}

static void make(struct made *made, struct fuzz_input *in)
{
	const uint32_t second = fuzz_below(in, 2) ? PT_GNU_EH_FRAME : PT_NOTE;
	const Elf64_Phdr segments[] = {
		{ .p_type = second, .p_filesz = fuzz_byte(in) },
		{ .p_type = PT_LOAD,
		  .p_offset = CODE,
		  .p_vaddr = CODE_VADDR,
		  .p_filesz = CODE_BYTES },
	};
	Elf64_Shdr sections[SECTIONS] = { { 0 } };
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB },
		.e_phentsize = sizeof(*segments),
		.e_phnum = COUNT_OF(segments),
		.e_shentsize = sizeof(*sections),
		.e_shnum = SECTIONS,
		.e_shstrndx = NAMES,
	};

	memset(made, 0, sizeof(*made));
	made->size = sizeof(header);
	header.e_phoff = put(made, segments, sizeof(segments));
	sections[SYMTAB] = put_symbols(made, in, SHT_SYMTAB, 8);
	sections[DYNSYM] = put_symbols(made, in, SHT_DYNSYM, 4);
	sections[COUNTED] = put_counted(in);
	sections[COUNTED_2] = put_counted(in);
	header.e_shoff = made->size;
	made->size += sizeof(sections);
	sections[STRINGS] =
		section_of(SHT_STRTAB, put(made, strings, sizeof(strings)),
			   sizeof(strings));
	sections[NAMES] = section_of(
		SHT_STRTAB, put(made, names, sizeof(names)), sizeof(names));
	memcpy(made->bytes + header.e_shoff, sections, sizeof(sections));
	memcpy(made->bytes, &header, sizeof(header));
	made->offset = CODE + fuzz_byte(in);
}

static void change(struct made *made, struct fuzz_input *in)
{
	unsigned changes = fuzz_below(in, MAX_CHANGES);

	for (unsigned i = 0; i < changes; i++) {
		unsigned kind = fuzz_below(in, 4);
		size_t at = (size_t)fuzz_number(in, 2), bytes = kind ? 8 : 1;
		uint64_t value = fuzz_number(in, kind == 3 ? 2 : kind ? 8 : 1);

		if (kind == 2)
			made->size = at < made->size ? at : made->size;
		else if (at + bytes <= made->size)
			memcpy(made->bytes + at,
			       &(uint64_t){ kind == 3 ? ~value : value },
			       bytes);
	}
}

/* ---- the model --------------------------------------------------------------- */

struct model {
	const struct made *file;
	Elf64_Ehdr header;
};

/* Return: false: not all of it is in the file. Nothing is anywhere. */
static bool look(const struct made *file, wide at, void *to, size_t bytes)
{
	if (bytes == 0)
		return at <= INT64_MAX;
	if (at + bytes > file->size)
		return false;
	memcpy(to, file->bytes + (size_t)at, bytes);
	return true;
}

static int model_begin(struct model *m, const struct made *file)
{
	m->file = file;
	if (!look(file, 0, &m->header, sizeof(m->header)) ||
	    memcmp(m->header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    m->header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    m->header.e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	return m->header.e_phentsize == sizeof(Elf64_Phdr) &&
			       m->header.e_phnum <= TARGET_ELF_SEGMENTS &&
			       (m->header.e_shnum == 0 ||
				m->header.e_shentsize == sizeof(Elf64_Shdr))
		       ? 0
		       : -EILSEQ;
}

static int model_segments(const struct model *m, Elf64_Phdr *out)
{
	return look(m->file, m->header.e_phoff, out,
		    m->header.e_phnum * sizeof(*out))
		       ? 0
		       : -EILSEQ;
}

static bool model_section(const struct model *m, unsigned index,
			  Elf64_Shdr *out)
{
	return index < m->header.e_shnum &&
	       look(m->file, (wide)m->header.e_shoff + index * sizeof(*out),
		    out, sizeof(*out));
}

/* Headers are there by groups. */
static bool model_has_group(const struct model *m, unsigned index)
{
	unsigned behind = index / HEADERS * HEADERS + HEADERS;
	Elf64_Shdr last;

	if (behind > m->header.e_shnum)
		behind = m->header.e_shnum;
	return model_section(m, behind - 1, &last);
}

/* As much of a string as fits @size bytes; "": nothing. False: it is nowhere. */
static bool model_text(const struct model *m, const Elf64_Shdr *table,
		       uint32_t index, char *text, size_t size)
{
	wide at = (wide)table->sh_offset + index;
	wide end = (wide)table->sh_offset + table->sh_size;
	size_t count = 0;

	*text = 0;
	if (index >= table->sh_size)
		return true;
	if (end > at + size - 1)
		end = at + size - 1;
	if (end > INT64_MAX)
		return false;
	while (count + 1 < size && at < end && at < m->file->size &&
	       m->file->bytes[at])
		text[count++] = (char)m->file->bytes[at++];
	text[count] = 0;
	return true;
}

static bool model_search_table(const struct model *m, const Elf64_Shdr *table,
			       uint64_t address, char *text)
{
	uint64_t count = table->sh_size / sizeof(Elf64_Sym);
	Elf64_Shdr strings_of;

	if (table->sh_entsize != sizeof(Elf64_Sym) ||
	    !model_section(m, table->sh_link, &strings_of))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t behind = i / SYMBOLS * SYMBOLS + SYMBOLS;
		Elf64_Sym symbol;

		if (behind > count)
			behind = count;
		if ((wide)table->sh_offset + (wide)behind * sizeof(symbol) >
		    m->file->size)
			return false;
		look(m->file, (wide)table->sh_offset + i * sizeof(symbol),
		     &symbol, sizeof(symbol));
		if ((symbol.st_info & 15) != STT_FUNC ||
		    address < symbol.st_value ||
		    (wide)address >=
			    (wide)symbol.st_value +
				    (symbol.st_size ? symbol.st_size : 1))
			continue;
		if (!model_text(m, &strings_of, symbol.st_name, text, NAME))
			return false;
		if (*text)
			return true;
	}
	return false;
}

static int model_search(const struct model *m, uint32_t type, uint64_t address,
			char *text)
{
	for (unsigned i = 0; i < m->header.e_shnum; i++) {
		Elf64_Shdr section;

		if (!model_has_group(m, i))
			return -EILSEQ;
		model_section(m, i, &section);
		if (section.sh_type == type &&
		    model_search_table(m, &section, address, text))
			return 0;
	}
	return -ENOENT;
}

static int model_symbol(const struct made *file, char *text)
{
	Elf64_Phdr segments[TARGET_ELF_SEGMENTS];
	struct model m;
	int code = model_begin(&m, file);

	if (code == 0)
		code = model_segments(&m, segments);
	if (code)
		return code;
	for (unsigned i = 0; i < m.header.e_phnum; i++) {
		const Elf64_Phdr *s = &segments[i];
		uint64_t address = s->p_vaddr + (file->offset - s->p_offset);

		if (s->p_type != PT_LOAD || file->offset < s->p_offset ||
		    (wide)file->offset >= (wide)s->p_offset + s->p_filesz)
			continue;
		code = model_search(&m, SHT_SYMTAB, address, text);
		return code != -ENOENT
			       ? code
			       : model_search(&m, SHT_DYNSYM, address, text);
	}
	return -ENOENT;
}

/* Return: false: too many to tell. */
static bool model_add(const Elf64_Shdr *section, wide *sum)
{
	bool symbols = section->sh_type == SHT_SYMTAB ||
		       section->sh_type == SHT_DYNSYM;

	if (!symbols && section->sh_type != SHT_STRTAB)
		return true;
	*sum += (wide)section->sh_size * (symbols ? 2 : 1);
	return (section->sh_flags & SHF_COMPRESSED) == 0;
}

static uint64_t model_tables(const struct made *file)
{
	Elf64_Phdr segments[TARGET_ELF_SEGMENTS];
	Elf64_Shdr section;
	struct model m;
	wide sum;

	if (model_begin(&m, file) != 0 || model_segments(&m, segments) != 0 ||
	    (m.header.e_shnum == 0 && m.header.e_shoff != 0))
		return UINT64_MAX;
	sum = (wide)m.header.e_shnum * 512;
	for (unsigned i = 0; i < m.header.e_phnum; i++)
		if (segments[i].p_type == PT_GNU_EH_FRAME)
			sum += (wide)segments[i].p_filesz * 4;
	for (unsigned i = 0; i < m.header.e_shnum; i++)
		if (!model_has_group(&m, i) ||
		    !model_section(&m, i, &section) ||
		    !model_add(&section, &sum))
			return UINT64_MAX;
	return sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}

/* ---- what holds -------------------------------------------------------------- */

static void check_budget(const struct target_budget *budget)
{
	fuzz_check(budget->left <= TARGET_WORK, "%ju is left",
		   (uintmax_t)budget->left);
	fuzz_check(budget->held == 0, "%ju is held", (uintmax_t)budget->held);
}

static void check_symbol(int fd, const struct made *file, uint64_t left)
{
	struct target_budget budget;
	char text[NAME + 1], expected[NAME];
	int wanted = model_symbol(file, expected), code;

	memset(text, '~', sizeof(text));
	target_budget_begin(&budget);
	budget.ending = true; /* no more of it comes with time */
	budget.left = left;
	code = target_elf_symbol(fd, &budget, file->offset, text, NAME);
	check_budget(&budget);
	fuzz_check(text[NAME] == '~', "beyond the room");
	if (code == -EFBIG)
		return;
	fuzz_check(code == wanted, "%d, not %d", code, wanted);
	fuzz_check(
		code || (memchr(text, 0, NAME) && strcmp(text, expected) == 0),
		"%.24s, not %s", text, expected);
}

static void check_tables(int fd, const struct made *file, uint64_t left)
{
	struct target_budget budget;
	uint64_t wanted = model_tables(file), bytes;

	target_budget_begin(&budget);
	budget.ending = true;
	budget.left = left;
	bytes = target_elf_tables(fd, &budget);
	check_budget(&budget);
	fuzz_check(bytes == wanted ||
			   (bytes == UINT64_MAX && left < TARGET_WORK),
		   "%ju bytes, not %ju", (uintmax_t)bytes, (uintmax_t)wanted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct made made;
	struct fuzz_input in = { data, data + size };
	unsigned how = fuzz_below(&in, 8);
	uint64_t left = how % 4 == 2 ? 64 * fuzz_number(&in, 2) : TARGET_WORK;
	int fd = memfd_create("elf", MFD_CLOEXEC);

	if (how % 4 == 3) {
		made.offset = fuzz_number(&in, 2);
		made.size = (size_t)(in.end - in.next);
		if (made.size > sizeof(made.bytes))
			made.size = sizeof(made.bytes);
		memcpy(made.bytes, in.next, made.size);
	} else {
		make(&made, &in);
		change(&made, &in);
	}
	if (fd < 0 || write(fd, made.bytes, made.size) != (ssize_t)made.size)
		abort();
	check_symbol(fd, &made, left);
	check_tables(fd, &made, left);
	close(fd);
	return 0;
}
