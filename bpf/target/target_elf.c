/* SPDX-License-Identifier: MIT */
/* target_elf.c - see target_elf.h */
#include "bpf/target/target_elf.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_SEGMENTS 128u
#define HEADERS       64u   /* of sections, at once */
#define SYMBOLS       2048u /* at once */
#define UNWIND_NAME   ".eh_frame"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_ORDER ELFDATA2LSB
#else
#define OUR_ORDER ELFDATA2MSB
#endif

struct elf {
	int fd;
	struct target_budget *budget;
	Elf64_Ehdr header;
};

/* As much as there is, up to @bytes; -errno. */
static ssize_t read_some(const struct elf *elf, uint64_t offset, void *to,
			 size_t bytes)
{
	ssize_t got;

	if (!target_budget_spend(elf->budget, TARGET_READ_COST + bytes))
		return -EFBIG;
	if (offset > INT64_MAX)
		return -EILSEQ;
	do
		got = pread(elf->fd, to, bytes, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static int read_whole(const struct elf *elf, uint64_t offset, void *to,
		      size_t bytes)
{
	ssize_t got = read_some(elf, offset, to, bytes);

	if (got < 0)
		return (int)got;
	return (size_t)got == bytes ? 0 : -EILSEQ;
}

static int begin(struct elf *elf, int fd, struct target_budget *budget)
{
	const Elf64_Ehdr *header = &elf->header;
	int code;

	*elf = (struct elf){ .fd = fd, .budget = budget };
	code = read_whole(elf, 0, &elf->header, sizeof(elf->header));
	if (code)
		return code;
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
			       header->e_ident[EI_CLASS] == ELFCLASS64 &&
			       header->e_ident[EI_DATA] == OUR_ORDER &&
			       header->e_phentsize == sizeof(Elf64_Phdr) &&
			       header->e_phnum <= MOST_SEGMENTS &&
			       (header->e_shnum == 0 ||
				header->e_shentsize == sizeof(Elf64_Shdr))
		       ? 0
		       : -EILSEQ;
}

static int section_at(const struct elf *elf, uint32_t index, Elf64_Shdr *out)
{
	if (index >= elf->header.e_shnum)
		return -EILSEQ;
	return read_whole(
		elf, elf->header.e_shoff + (uint64_t)index * sizeof(Elf64_Shdr),
		out, sizeof(*out));
}

/* Where the file wants to have what is at that offset. */
static int find_address(const struct elf *elf, uint64_t offset, uint64_t *out)
{
	Elf64_Phdr segments[MOST_SEGMENTS];
	int code = read_whole(elf, elf->header.e_phoff, segments,
			      elf->header.e_phnum * sizeof(*segments));

	for (unsigned i = 0; code == 0 && i < elf->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &segments[i];

		if (segment->p_type != PT_LOAD || offset < segment->p_offset ||
		    offset - segment->p_offset >= segment->p_filesz)
			continue;
		*out = segment->p_vaddr + (offset - segment->p_offset);
		return 0;
	}
	return code ? code : -ENOENT;
}

/* ---- a symbol -------------------------------------------------------------- */

static bool is_at(const Elf64_Sym *symbol, uint64_t address)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
	       address >= symbol->st_value &&
	       address - symbol->st_value <
		       (symbol->st_size ? symbol->st_size : 1);
}

static int read_name(const struct elf *elf, const Elf64_Shdr *names,
		     uint32_t at, char *text, size_t size)
{
	ssize_t got;

	if (at >= names->sh_size)
		return -ENOENT;
	if (names->sh_size - at < size)
		size = (size_t)(names->sh_size - at) + 1;
	got = read_some(elf, names->sh_offset + at, text, size - 1);
	if (got < 0)
		return (int)got;
	text[got] = 0;
	return *text ? 0 : -ENOENT;
}

static int search_table(const struct elf *elf, const Elf64_Shdr *table,
			uint64_t address, char *text, size_t size)
{
	Elf64_Sym symbols[SYMBOLS];
	uint64_t count = table->sh_size / sizeof(*symbols);
	Elf64_Shdr names;
	int code = table->sh_entsize == sizeof(*symbols)
			   ? section_at(elf, table->sh_link, &names)
			   : -ENOENT;

	for (uint64_t first = 0; code == 0 && first < count; first += SYMBOLS) {
		size_t some = count - first < SYMBOLS ? count - first : SYMBOLS;

		code = read_whole(elf,
				  table->sh_offset + first * sizeof(*symbols),
				  symbols, some * sizeof(*symbols));
		for (size_t i = 0; code == 0 && i < some; i++) {
			if (!is_at(&symbols[i], address))
				continue;
			code = read_name(elf, &names, symbols[i].st_name, text,
					 size);
			if (code == 0)
				return 0;
			code = code == -ENOENT ? 0 : code;
		}
	}
	return code ? code : -ENOENT;
}

/* ---- sections -------------------------------------------------------------- */

/* With each in turn, until one gives what is not -ENOENT. */
static int each_section(const struct elf *elf,
			int (*with)(const struct elf *elf,
				    const Elf64_Shdr *section, void *context),
			void *context)
{
	Elf64_Shdr sections[HEADERS];
	unsigned count = elf->header.e_shnum;
	int code = -ENOENT;

	for (unsigned at = 0; code == -ENOENT && at < count; at += HEADERS) {
		unsigned some = count - at < HEADERS ? count - at : HEADERS;
		int got = read_whole(
			elf, elf->header.e_shoff + at * sizeof(*sections),
			sections, some * sizeof(*sections));

		if (got)
			return got;
		for (unsigned i = 0; code == -ENOENT && i < some; i++)
			code = with(elf, &sections[i], context);
	}
	return code;
}

struct search {
	uint32_t type;
	uint64_t address;
	char *text;
	size_t size;
};

static int search_section(const struct elf *elf, const Elf64_Shdr *section,
			  void *context)
{
	const struct search *search = context;
	int code;

	if (section->sh_type != search->type)
		return -ENOENT;
	code = search_table(elf, section, search->address, search->text,
			    search->size);
	return code == -EILSEQ ? -ENOENT : code; /* the next may be sound */
}

int target_elf_symbol(int fd, struct target_budget *budget, uint64_t offset,
		      char *text, size_t size)
{
	struct search search = { .type = SHT_SYMTAB,
				 .text = text,
				 .size = size };
	struct elf elf;
	int code = begin(&elf, fd, budget);

	if (code == 0)
		code = find_address(&elf, offset, &search.address);
	if (code)
		return code;
	code = each_section(&elf, search_section, &search);
	if (code != -ENOENT)
		return code;
	search.type = SHT_DYNSYM;
	return each_section(&elf, search_section, &search);
}

/* ---- how large ------------------------------------------------------------- */

struct sum {
	Elf64_Shdr names;
	uint64_t bytes;
};

static bool is_unwind(const struct elf *elf, const struct sum *sum,
		      const Elf64_Shdr *section)
{
	char name[sizeof(UNWIND_NAME)] = "";

	return (section->sh_flags & SHF_ALLOC) != 0 &&
	       read_name(elf, &sum->names, section->sh_name, name,
			 sizeof(name)) == 0 &&
	       strcmp(name, UNWIND_NAME) == 0;
}

static int add_section(const struct elf *elf, const Elf64_Shdr *section,
		       void *context)
{
	struct sum *sum = context;
	bool table = section->sh_type == SHT_SYMTAB ||
		     section->sh_type == SHT_DYNSYM ||
		     section->sh_type == SHT_STRTAB;

	if (!table && !is_unwind(elf, sum, section))
		return -ENOENT;
	if (__builtin_add_overflow(sum->bytes, section->sh_size, &sum->bytes))
		return -EFBIG;
	return -ENOENT;
}

uint64_t target_elf_tables(int fd, struct target_budget *budget)
{
	struct sum sum = { .bytes = 0 };
	struct elf elf;
	int code = begin(&elf, fd, budget);

	if (code)
		return UINT64_MAX;
	/* More sections than 16 bits can count: so many, libelf would keep. */
	if (elf.header.e_shnum == 0)
		return elf.header.e_shoff ? UINT64_MAX : 0;
	if (section_at(&elf, elf.header.e_shstrndx, &sum.names) != 0)
		return UINT64_MAX;
	code = each_section(&elf, add_section, &sum);
	return code == -ENOENT ? sum.bytes : UINT64_MAX;
}
