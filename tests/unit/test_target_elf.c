/* SPDX-License-Identifier: MIT */
/* test_target_elf.c - files that are as they should be, and that are not */
#include "bpf/target/target_elf.h"

#include <sys/mman.h>

#include "tests/unit/support.h"

#define CODE       0x1000u /* in the file */
#define CODE_VADDR 0x401000u
#define CODE_BYTES 0x800u
#define FUNCTION   0x100u /* behind CODE; of 16 bytes */
#define OTHER      0x200u
#define NAME       64u

/* Of file.sections. */
enum { NONE, SYMTAB, STRINGS, DYNSYM, NAMES, TABLE, SPARE, SECTIONS };

struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[SECTIONS];
	Elf64_Sym symbols[3];
	Elf64_Sym dynamic[2];
	char strings[64], names[64];
};

static const char strings[] = "\0first\0function\0other\0dynamic";
static const char names[] = "\0.eh_frame";

static uint32_t string_at(const char *text)
{
	for (size_t at = 1; at < sizeof(strings); at++)
		if (strcmp(strings + at, text) == 0)
			return (uint32_t)at;
	fail();
	return 0;
}

static Elf64_Sym function(const char *name, uint64_t ahead, uint64_t bytes)
{
	return (Elf64_Sym){ .st_name = string_at(name),
			    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			    .st_shndx = 1,
			    .st_value = CODE_VADDR + ahead,
			    .st_size = bytes };
}

static void set_section(struct file *file, unsigned index, uint32_t type,
			size_t offset, size_t bytes)
{
	file->sections[index] = (Elf64_Shdr){ .sh_type = type,
					      .sh_offset = offset,
					      .sh_size = bytes };
	if (type == SHT_SYMTAB || type == SHT_DYNSYM) {
		file->sections[index].sh_link = STRINGS;
		file->sections[index].sh_entsize = sizeof(Elf64_Sym);
	}
}

static void make(struct file *file)
{
	*file = (struct file){
		.header = { .e_type = ET_DYN,
			    .e_phoff = offsetof(struct file, segments),
			    .e_shoff = offsetof(struct file, sections),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = COUNT_OF(file->segments),
			    .e_shentsize = sizeof(Elf64_Shdr),
			    .e_shnum = SECTIONS,
			    .e_shstrndx = NAMES },
		.segments = { { .p_type = PT_NOTE },
			      { .p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_offset = CODE,
				.p_vaddr = CODE_VADDR,
				.p_filesz = CODE_BYTES } },
	};
	memcpy(file->header.e_ident, ELFMAG, SELFMAG);
	file->header.e_ident[EI_CLASS] = ELFCLASS64;
	file->header.e_ident[EI_DATA] =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
							  : ELFDATA2MSB;
	memcpy(file->strings, strings, sizeof(strings));
	memcpy(file->names, names, sizeof(names));
	file->symbols[1] = function("first", 0, FUNCTION);
	file->symbols[2] = function("function", FUNCTION, 16);
	file->dynamic[0] = function("other", OTHER, 16);
	file->dynamic[1] = function("dynamic", FUNCTION, 16);
	set_section(file, SYMTAB, SHT_SYMTAB, offsetof(struct file, symbols),
		    sizeof(file->symbols));
	set_section(file, STRINGS, SHT_STRTAB, offsetof(struct file, strings),
		    sizeof(strings));
	set_section(file, DYNSYM, SHT_DYNSYM, offsetof(struct file, dynamic),
		    sizeof(file->dynamic));
	set_section(file, NAMES, SHT_STRTAB, offsetof(struct file, names),
		    sizeof(names));
}

/* @size: it is cut there, or has a hole behind its content. */
static int open_sized(const void *bytes, size_t count, uint64_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, count), count);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static int open_file(const struct file *file)
{
	return open_sized(file, sizeof(*file), sizeof(*file));
}

static int symbol_with(int fd, struct target_budget *budget, uint64_t ahead,
		       char text[NAME])
{
	strcpy(text, "untouched");
	return target_elf_symbol(fd, budget, CODE + ahead, text, NAME);
}

/* The symbol that it finds, or the error. */
static int symbol_in(int fd, uint64_t ahead, char text[NAME])
{
	struct target_budget budget;
	int code;

	target_budget_begin(&budget);
	code = symbol_with(fd, &budget, ahead, text);
	close(fd);
	return code;
}

static void check_named(const struct file *file, uint64_t ahead,
			const char *name)
{
	char text[NAME];

	assert_int_equal(symbol_in(open_file(file), ahead, text), 0);
	assert_string_equal(text, name);
}

static void check_refused(const struct file *file, uint64_t ahead, int code)
{
	char text[NAME];

	assert_int_equal(symbol_in(open_file(file), ahead, text), code);
}

static uint64_t tables_in(int fd)
{
	struct target_budget budget;
	uint64_t bytes;

	target_budget_begin(&budget);
	bytes = target_elf_tables(fd, &budget);
	close(fd);
	return bytes;
}

static uint64_t tables_of(const struct file *file)
{
	return tables_in(open_file(file));
}

/* ---- a symbol ---------------------------------------------------------------- */

TEST(symbol__sound_file__is_named)
{
	struct file file;

	make(&file);
	check_named(&file, 0, "first");
	check_named(&file, FUNCTION - 1, "first");
	check_named(&file, FUNCTION, "function");
	check_named(&file, FUNCTION + 15, "function");
	check_named(&file, OTHER, "other"); /* which only .dynsym has */
	check_refused(&file, FUNCTION + 16, -ENOENT);
	check_refused(&file, CODE_BYTES - 1, -ENOENT);
	check_refused(&file, CODE_BYTES, -ENOENT);
	check_refused(&file, UINT64_MAX - CODE, -ENOENT);
}

TEST(symbol__no_room_for_name__is_cut)
{
	struct target_budget budget;
	struct file file;
	char text[4];
	int fd;

	make(&file);
	fd = open_file(&file);
	target_budget_begin(&budget);
	assert_int_equal(
		target_elf_symbol(fd, &budget, CODE, text, sizeof(text)), 0);
	assert_string_equal(text, "fir");
	close(fd);
}

TEST(symbol__name_without_end__ends_with_its_section)
{
	struct file file;

	make(&file);
	file.sections[STRINGS].sh_size = string_at("function") + 4;
	check_named(&file, FUNCTION, "func");
	/* One byte, and none. */
	file.sections[STRINGS].sh_size = string_at("function") + 1;
	check_named(&file, FUNCTION, "f");
	file.sections[STRINGS].sh_size = string_at("function");
	check_refused(&file, FUNCTION, -ENOENT);
}

TEST(symbol__name_without_end__ends_with_the_file)
{
	const size_t at = offsetof(struct file, strings);
	struct file file;
	char text[NAME];
	int fd;

	make(&file);
	file.sections[STRINGS].sh_size = UINT64_MAX;
	fd = open_sized(&file, sizeof(file), at + string_at("function") + 4);
	assert_int_equal(symbol_in(fd, FUNCTION, text), 0);
	assert_string_equal(text, "func");
}

TEST(symbol__names_overflow__next_table_is_used)
{
	struct file file;

	make(&file);
	/* Its sum with 64 bits is where "first" is. */
	set_section(&file, SPARE, SHT_STRTAB, 0, UINT64_MAX);
	file.sections[SPARE].sh_offset = UINT64_MAX - 0xffff;
	file.sections[SYMTAB].sh_link = SPARE;
	file.symbols[2].st_name =
		(uint32_t)(0x10000 + offsetof(struct file, strings) +
			   string_at("first"));
	check_named(&file, FUNCTION, "dynamic");
}

TEST(symbol__table_where_no_file_is__next_table_is_used)
{
	static const uint64_t offsets[] = {
		sizeof(struct file), (uint64_t)INT64_MAX - 48,
		(uint64_t)INT64_MAX, (uint64_t)INT64_MAX + 1,
		UINT64_MAX - 72,     UINT64_MAX,
	};
	struct file file;

	make(&file);
	for (size_t i = 0; i < COUNT_OF(offsets); i++) {
		file.sections[SYMTAB].sh_offset = offsets[i];
		check_named(&file, FUNCTION, "dynamic");
	}
}

TEST(symbol__impossible_size__next_table_is_used)
{
	struct file file;

	make(&file);
	file.sections[SYMTAB].sh_size = UINT64_MAX;
	check_named(&file, FUNCTION, "dynamic");
	make(&file);
	file.sections[SYMTAB].sh_entsize = 23;
	check_named(&file, FUNCTION, "dynamic");
	make(&file);
	file.sections[SYMTAB].sh_link = SECTIONS;
	check_named(&file, FUNCTION, "dynamic");
	make(&file);
	file.sections[SYMTAB].sh_size = 3 * sizeof(Elf64_Sym) - 1;
	check_named(&file, FUNCTION, "dynamic");
}

TEST(symbol__overlapping_sections__are_read_as_they_are)
{
	struct file file;
	char text[NAME];
	int code;

	make(&file);
	/* All of them are the whole file. */
	for (unsigned i = 0; i < SECTIONS; i++) {
		file.sections[i].sh_offset = 0;
		file.sections[i].sh_size = sizeof(file);
	}
	code = symbol_in(open_file(&file), OTHER, text);
	assert_true(code == -ENOENT || (code == 0 && text[0]));
	assert_int_equal(tables_of(&file),
			 SECTIONS * UINT64_C(512) + 6 * sizeof(file));
	/* The table is its own strings, and the headers' too. */
	make(&file);
	file.sections[SYMTAB].sh_link = SYMTAB;
	file.symbols[2].st_name = 0;
	check_named(&file, FUNCTION, "dynamic");
}

TEST(symbol__cut_anywhere__is_right_or_refused)
{
	struct file file;

	make(&file);
	for (size_t size = 0; size < sizeof(file); size++) {
		int fd = open_sized(&file, sizeof(file), size);
		char text[NAME];
		int code = symbol_in(fd, OTHER, text);

		if (code == 0)
			assert_int_equal(strncmp(text, "other", strlen(text)),
					 0);
		else
			assert_true(code == -ENOENT || code == -EILSEQ ||
				    (code == -ENOEXEC &&
				     size < sizeof(file.header)));
	}
}

TEST(symbol__header_of_others__is_refused)
{
	static const struct {
		size_t at;
		int code;
	} changes[] = {
		{ 0, -ENOEXEC },
		{ EI_CLASS, -ENOEXEC },
		{ EI_DATA, -ENOEXEC },
		{ offsetof(Elf64_Ehdr, e_phentsize), -EILSEQ },
		{ offsetof(Elf64_Ehdr, e_shentsize), -EILSEQ },
		{ offsetof(Elf64_Ehdr, e_phoff) + 7, -EILSEQ },
		{ offsetof(Elf64_Ehdr, e_shoff) + 7, -EILSEQ },
	};

	for (size_t i = 0; i < COUNT_OF(changes); i++) {
		struct file file;

		make(&file);
		((unsigned char *)&file)[changes[i].at] ^= 0xff;
		check_refused(&file, FUNCTION, changes[i].code);
	}
}

TEST(symbol__no_sections__is_not_there)
{
	struct file file;

	make(&file);
	file.header.e_shnum = 0;
	check_refused(&file, FUNCTION, -ENOENT);
}

/* Those before the last are empty. */
static int open_segments(unsigned count)
{
	struct {
		struct file file;
		Elf64_Phdr segments[TARGET_ELF_SEGMENTS + 1];
	} large = { .segments = { { .p_type = PT_NULL } } };

	make(&large.file);
	large.segments[count - 1] = large.file.segments[1];
	large.file.header.e_phoff = sizeof(large.file);
	large.file.header.e_phnum = (uint16_t)count;
	return open_sized(&large, sizeof(large), sizeof(large));
}

TEST(symbol__most_segments__are_read_and_no_more)
{
	char text[NAME];

	assert_int_equal(symbol_in(open_segments(TARGET_ELF_SEGMENTS - 1),
				   FUNCTION, text),
			 0);
	assert_int_equal(
		symbol_in(open_segments(TARGET_ELF_SEGMENTS), FUNCTION, text),
		0);
	assert_string_equal(text, "function");
	assert_int_equal(symbol_in(open_segments(TARGET_ELF_SEGMENTS + 1),
				   FUNCTION, text),
			 -EILSEQ);
}

TEST(symbol__segment_that_overflows__is_another)
{
	struct file file;

	make(&file);
	file.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
					 .p_offset = UINT64_MAX - CODE,
					 .p_vaddr = UINT64_MAX - 1,
					 .p_filesz = UINT64_MAX };
	check_named(&file, FUNCTION, "function");
}

/* ---- what it costs ----------------------------------------------------------- */

/* A hole is full of symbols that are none. */
static int open_sparse(uint64_t table)
{
	struct file file;

	make(&file);
	set_section(&file, SYMTAB, SHT_SYMTAB, sizeof(file), table);
	return open_sized(&file, sizeof(file), sizeof(file) + table);
}

TEST(symbol__sparse_table_within_the_budget__is_read)
{
	const uint64_t table = sizeof(Elf64_Sym) << 22; /* 96 MiB */
	struct target_budget budget;
	char text[NAME];
	int fd = open_sparse(table);

	target_budget_begin(&budget);
	budget.ending = true; /* no more of it comes with time */
	assert_int_equal(symbol_with(fd, &budget, FUNCTION, text), 0);
	assert_string_equal(text, "dynamic");
	assert_true(TARGET_WORK - budget.left > table);
	assert_true(TARGET_WORK - budget.left < table + table / 8);
	assert_int_equal(symbol_with(fd, &budget, FUNCTION, text), 0);
	assert_int_equal(symbol_with(fd, &budget, FUNCTION, text), -EFBIG);
	assert_string_equal(text, "untouched");
	assert_int_equal(budget.held, 0);
	close(fd);
}

TEST(symbol__sparse_table_beyond_the_budget__says_so)
{
	struct target_budget budget;
	char text[NAME];
	int fd = open_sparse(UINT64_C(1) << 40);

	target_budget_begin(&budget);
	budget.ending = true;
	assert_int_equal(symbol_with(fd, &budget, FUNCTION, text), -EFBIG);
	assert_true(budget.left < (64 << 10));
	close(fd);
}

/* A file with nothing wrong, and a budget that nobody fills up again. */
static int open_plain(struct target_budget *budget)
{
	struct file file;

	make(&file);
	target_budget_begin(budget);
	budget->ending = true;
	return open_file(&file);
}

TEST(symbol__any_smaller_budget__says_so)
{
	struct target_budget budget;
	int fd = open_plain(&budget);
	char text[NAME];
	uint64_t all;

	assert_int_equal(symbol_with(fd, &budget, OTHER, text), 0);
	all = TARGET_WORK - budget.left;
	for (uint64_t left = 0; left <= all; left += left == all - 1 ? 1 : 7) {
		left = left < all - 1 || left == all ? left : all - 1;
		budget.left = left;
		assert_int_equal(symbol_with(fd, &budget, OTHER, text),
				 left < all ? -EFBIG : 0);
	}
	close(fd);
}

/* ---- how large --------------------------------------------------------------- */

#define PLAIN                                                         \
	(SECTIONS * UINT64_C(512) + 2 * (3 + 2) * sizeof(Elf64_Sym) + \
	 sizeof(strings) + sizeof(names))

TEST(tables__sound_file__adds_up)
{
	struct file file;

	make(&file);
	assert_int_equal(tables_of(&file), PLAIN);
}

TEST(tables__overlapping__count_each)
{
	struct file file;

	make(&file);
	file.sections[SPARE] = file.sections[STRINGS];
	file.sections[TABLE] = file.sections[STRINGS];
	assert_int_equal(tables_of(&file), PLAIN + 2 * sizeof(strings));
}

/* They are read by another process, with limits of its own. */
TEST(tables__unwind_section__not_counted)
{
	struct file file;

	make(&file);
	set_section(&file, SPARE, SHT_PROGBITS, 0, 1000);
	file.sections[SPARE].sh_name = 1;
	assert_int_equal(tables_of(&file), PLAIN);
}

TEST(tables__unwind_segment__counts_with_its_list)
{
	struct file file;

	make(&file);
	file.segments[0] =
		(Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME, .p_filesz = 1000 };
	assert_int_equal(tables_of(&file), PLAIN + 4000);
	file.header.e_shnum = 0;
	file.header.e_shoff = 0;
	assert_int_equal(tables_of(&file), 4000);
	file.segments[0].p_filesz = UINT64_MAX / 4;
	assert_int_equal(tables_of(&file), UINT64_MAX / 4 * 4);
	file.segments[0].p_filesz = UINT64_MAX / 4 + 1;
	assert_int_equal(tables_of(&file), UINT64_MAX);
}

TEST(tables__sum_near_2_64__is_never_less)
{
	struct file file;

	make(&file);
	set_section(&file, SPARE, SHT_STRTAB, 0, 0);
	file.sections[SPARE].sh_size = UINT64_MAX - PLAIN - 1;
	assert_int_equal(tables_of(&file), UINT64_MAX - 1);
	file.sections[SPARE].sh_size++;
	assert_int_equal(tables_of(&file), UINT64_MAX);
	file.sections[SPARE].sh_size++;
	assert_int_equal(tables_of(&file), UINT64_MAX);
	file.sections[SPARE].sh_type = SHT_SYMTAB;
	file.sections[SPARE].sh_size = UINT64_C(1) << 63;
	assert_int_equal(tables_of(&file), UINT64_MAX);
}

TEST(tables__compressed__are_too_many)
{
	static const unsigned indices[] = { SYMTAB, STRINGS, DYNSYM, NAMES };
	struct file file;

	for (size_t i = 0; i < COUNT_OF(indices); i++) {
		make(&file);
		file.sections[indices[i]].sh_flags |= SHF_COMPRESSED;
		assert_int_equal(tables_of(&file), UINT64_MAX);
	}
	/* As those for debuggers often are, which nobody reads here. */
	make(&file);
	set_section(&file, SPARE, SHT_PROGBITS, 0, 1000);
	file.sections[SPARE].sh_flags = SHF_COMPRESSED;
	assert_int_equal(tables_of(&file), PLAIN);
}

TEST(tables__more_sections_than_are_counted__are_too_many)
{
	struct file file;

	make(&file);
	file.header.e_shnum = 0;
	assert_int_equal(tables_of(&file), UINT64_MAX);
}

TEST(tables__many_sections__are_more_than_may_be_held)
{
	struct file file;
	uint64_t bytes;

	make(&file);
	file.header.e_shnum = UINT16_MAX;
	file.header.e_shstrndx = 0;
	bytes = tables_in(open_sized(&file, sizeof(file), 8 << 20));
	assert_true(bytes > TARGET_HELD && bytes < UINT64_MAX);
}

TEST(tables__cut_anywhere__are_too_many)
{
	const size_t needed = offsetof(struct file, symbols);
	struct file file;

	make(&file);
	for (size_t size = 0; size < needed; size++)
		assert_int_equal(
			tables_in(open_sized(&file, sizeof(file), size)),
			UINT64_MAX);
	assert_int_equal(tables_in(open_sized(&file, sizeof(file), needed)),
			 PLAIN);
}

TEST(tables__budget_is_spent__are_too_many)
{
	struct target_budget budget;
	int fd = open_plain(&budget);
	uint64_t all;

	assert_int_equal(target_elf_tables(fd, &budget), PLAIN);
	all = TARGET_WORK - budget.left;
	budget.left = all - 1;
	assert_int_equal(target_elf_tables(fd, &budget), UINT64_MAX);
	budget.left = all;
	assert_int_equal(target_elf_tables(fd, &budget), PLAIN);
	close(fd);
}
