/* SPDX-License-Identifier: MIT */
/* target_elf.c - see target_elf.h */
#include "bpf/target/target_elf.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define HEADERS 64u   /* section headers read at once */
#define SYMBOLS 2048u /* symbols read at once */

/* Memory that libelf and the reader of all symbols need: a constant for each
 * section; for a symbol table twice its size (the table, and 24 bytes for each
 * symbol read); for PT_GNU_EH_FRAME four times its size. */
#define SECTION_HELD  512u
#define SYMBOL_TIMES  2u
#define SEGMENT_TIMES 4u

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_ORDER ELFDATA2LSB
#else
#define OUR_ORDER ELFDATA2MSB
#endif

/* ---- the file -------------------------------------------------------------- */

/* Read up to @bytes. Return: bytes read, fewer at the end of the file;
 * -errno. */
static ssize_t read_some(const struct target_elf *elf, uint64_t from,
			 uint64_t ahead, void *to, size_t bytes)
{
	uint64_t offset, end;
	ssize_t got;

	if (!target_budget_spend(elf->budget, TARGET_READ_COST + bytes))
		return -EFBIG;
	if (__builtin_add_overflow(from, ahead, &offset) ||
	    __builtin_add_overflow(offset, bytes, &end) || end > INT64_MAX)
		return -EILSEQ;
	do
		got = pread(elf->fd, to, bytes, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

int target_elf_read(const struct target_elf *elf, uint64_t from, uint64_t ahead,
		    void *to, size_t bytes)
{
	ssize_t got = read_some(elf, from, ahead, to, bytes);

	if (got < 0)
		return (int)got;
	return (size_t)got == bytes ? 0 : -EILSEQ;
}

int target_elf_begin(struct target_elf *elf, int fd,
		     struct target_budget *budget)
{
	const Elf64_Ehdr *header = &elf->header;
	int code;

	*elf = (struct target_elf){ .fd = fd, .budget = budget };
	code = target_elf_read(elf, 0, 0, &elf->header, sizeof(elf->header));
	if (code == -EILSEQ ||
	    (code == 0 && (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
			   header->e_ident[EI_CLASS] != ELFCLASS64 ||
			   header->e_ident[EI_DATA] != OUR_ORDER)))
		return -ENOEXEC;
	if (code)
		return code;
	return header->e_phentsize == sizeof(Elf64_Phdr) &&
			       header->e_phnum <= TARGET_ELF_SEGMENTS &&
			       (header->e_shnum == 0 ||
				header->e_shentsize == sizeof(Elf64_Shdr))
		       ? 0
		       : -EILSEQ;
}

int target_elf_segments(const struct target_elf *elf,
			Elf64_Phdr out[TARGET_ELF_SEGMENTS])
{
	return target_elf_read(elf, elf->header.e_phoff, 0, out,
			       elf->header.e_phnum * sizeof(*out));
}

static int section_at(const struct target_elf *elf, uint32_t index,
		      Elf64_Shdr *out)
{
	if (index >= elf->header.e_shnum)
		return -EILSEQ;
	return target_elf_read(elf, elf->header.e_shoff,
			       (uint64_t)index * sizeof(*out), out,
			       sizeof(*out));
}

int target_elf_text(const struct target_elf *elf, const Elf64_Shdr *strings,
		    uint32_t at, char *text, size_t size)
{
	ssize_t got;

	if (at >= strings->sh_size)
		return -ENOENT;
	if (strings->sh_size - at < size)
		size = (size_t)(strings->sh_size - at) + 1;
	got = read_some(elf, strings->sh_offset, at, text, size - 1);
	if (got < 0)
		return (int)got;
	text[got] = 0;
	return *text ? 0 : -ENOENT;
}

static int call_with(const struct target_elf *elf, const Elf64_Shdr *section,
		     const Elf64_Shdr *strings, target_elf_with *with,
		     void *context)
{
	char name[TARGET_ELF_NAME] = "";
	int code = strings ? target_elf_text(elf, strings, section->sh_name,
					     name, sizeof(name))
			   : 0;

	if (code && code != -ENOENT)
		return code;
	return with(elf, section, code ? "" : name, context);
}

int target_elf_each_section(const struct target_elf *elf, bool names,
			    target_elf_with *with, void *context)
{
	Elf64_Shdr sections[HEADERS], strings;
	unsigned count = elf->header.e_shnum;
	int code = -ENOENT;

	if (names && count > 0) {
		code = section_at(elf, elf->header.e_shstrndx, &strings);
		if (code)
			return code;
		code = -ENOENT;
	}
	for (unsigned at = 0; code == -ENOENT && at < count; at += HEADERS) {
		unsigned some = count - at < HEADERS ? count - at : HEADERS;
		int got = target_elf_read(elf, elf->header.e_shoff,
					  at * sizeof(*sections), sections,
					  some * sizeof(*sections));

		if (got)
			return got;
		for (unsigned i = 0; code == -ENOENT && i < some; i++)
			code = call_with(elf, &sections[i],
					 names ? &strings : NULL, with,
					 context);
	}
	return code;
}

/* ---- a symbol -------------------------------------------------------------- */

struct search {
	uint32_t type; /* type of the sections to search */
	uint64_t address;
	char *text;
	size_t size;
};

/* Convert an offset in the file to the address that the file gives it. */
static int find_address(const struct target_elf *elf, uint64_t offset,
			uint64_t *out)
{
	Elf64_Phdr segments[TARGET_ELF_SEGMENTS];
	int code = target_elf_segments(elf, segments);

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

static bool is_at(const Elf64_Sym *symbol, uint64_t address)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
	       address >= symbol->st_value &&
	       address - symbol->st_value <
		       (symbol->st_size ? symbol->st_size : 1);
}

static int search_table(const struct target_elf *elf, const Elf64_Shdr *table,
			const struct search *search)
{
	Elf64_Sym symbols[SYMBOLS];
	uint64_t count = table->sh_size / sizeof(*symbols);
	Elf64_Shdr names;
	int code = table->sh_entsize == sizeof(*symbols)
			   ? section_at(elf, table->sh_link, &names)
			   : -ENOENT;

	for (uint64_t first = 0; code == 0 && first < count; first += SYMBOLS) {
		size_t some = count - first < SYMBOLS ? count - first : SYMBOLS;

		code = target_elf_read(elf, table->sh_offset,
				       first * sizeof(*symbols), symbols,
				       some * sizeof(*symbols));
		for (size_t i = 0; code == 0 && i < some; i++) {
			if (!is_at(&symbols[i], search->address))
				continue;
			code = target_elf_text(elf, &names, symbols[i].st_name,
					       search->text, search->size);
			if (code == 0)
				return 0;
			code = code == -ENOENT ? 0 : code;
		}
	}
	return code ? code : -ENOENT;
}

static int search_section(const struct target_elf *elf,
			  const Elf64_Shdr *section, const char *name,
			  void *context)
{
	const struct search *search = context;
	int code;

	(void)name;
	if (section->sh_type != search->type)
		return -ENOENT;
	code = search_table(elf, section, search);
	return code == -EILSEQ ? -ENOENT : code; /* the next may be intact */
}

int target_elf_symbol(int fd, struct target_budget *budget, uint64_t offset,
		      char *text, size_t size)
{
	struct search search = { .type = SHT_SYMTAB,
				 .text = text,
				 .size = size };
	struct target_elf elf;
	int code = target_elf_begin(&elf, fd, budget);

	if (code == 0)
		code = find_address(&elf, offset, &search.address);
	if (code)
		return code;
	code = target_elf_each_section(&elf, false, search_section, &search);
	if (code != -ENOENT)
		return code;
	search.type = SHT_DYNSYM;
	return target_elf_each_section(&elf, false, search_section, &search);
}

/* ---- how large ------------------------------------------------------------- */

/* Add bytes * times. Return: false on overflow. */
static bool add(uint64_t *sum, uint64_t bytes, unsigned times)
{
	return !__builtin_mul_overflow(bytes, times, &bytes) &&
	       !__builtin_add_overflow(*sum, bytes, sum);
}

static int add_section(const struct target_elf *elf, const Elf64_Shdr *section,
		       const char *name, void *context)
{
	bool symbols = section->sh_type == SHT_SYMTAB ||
		       section->sh_type == SHT_DYNSYM;
	bool counts = symbols || section->sh_type == SHT_STRTAB;

	(void)elf;
	(void)name;
	if (!counts)
		return -ENOENT;
	/* libelf allocates whatever size a compressed table claims. */
	if (section->sh_flags & SHF_COMPRESSED)
		return -EFBIG;
	return add(context, section->sh_size, symbols ? SYMBOL_TIMES : 1)
		       ? -ENOENT
		       : -EFBIG;
}

static int add_segments(const struct target_elf *elf, uint64_t *sum)
{
	Elf64_Phdr segments[TARGET_ELF_SEGMENTS];
	int code = target_elf_segments(elf, segments);

	for (unsigned i = 0; code == 0 && i < elf->header.e_phnum; i++)
		if (segments[i].p_type == PT_GNU_EH_FRAME &&
		    !add(sum, segments[i].p_filesz, SEGMENT_TIMES))
			code = -EFBIG;
	return code;
}

uint64_t target_elf_tables(int fd, struct target_budget *budget)
{
	struct target_elf elf;
	uint64_t sum;
	int code = target_elf_begin(&elf, fd, budget);

	if (code)
		return UINT64_MAX;
	/* There are more sections than the 16 bits of e_shnum can count. libelf
	 * would keep all of them. */
	if (elf.header.e_shnum == 0 && elf.header.e_shoff)
		return UINT64_MAX;
	sum = elf.header.e_shnum * (uint64_t)SECTION_HELD;
	code = add_segments(&elf, &sum);
	if (code == 0)
		code = target_elf_each_section(&elf, false, add_section, &sum);
	return code == -ENOENT ? sum : UINT64_MAX;
}
