/* SPDX-License-Identifier: MIT */
/*
 * flame_functions.c - see flame_functions.h
 *
 * Functions come from the symbol tables. Where there is no symbol, for example in a
 * stripped file, the unwind table still tells where functions begin.
 */
#include "bpf/cli/sorted.h"
#include "bpf/flame/flame_functions.h"

#include <gelf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/target/target_demangle.h"
#include "bpf/target/target_memory.h"

#define MAX_BYTES (UINT64_C(1) << 29) /* limit for a table, or for its names */
#define MAX_ALL   (UINT64_C(1) << 28) /* of all symbol tables together */

/* Size of a name that is shown. */
#define SHOWN 256u

/* A function, at addresses of the file. @name: the name in the file; NULL:
 * none. @shown: valid once @asked; NULL: show @name unchanged. */
struct symbol {
	uint64_t from, to;
	const char *name;
	char *shown;
	bool asked;
};

struct symbols {
	struct symbol *list;
	size_t count;
};

struct functions {
	Elf *elf;
	struct target_budget *budget;
	struct symbols symbols;
	struct symbols starts; /* from the unwind table, without names */
	uint64_t bytes;        /* size of the symbol tables read so far */
};

/* ---- symbols --------------------------------------------------------------- */

static unsigned underscores(const char *name)
{
	return (unsigned)strspn(name, "_");
}

/* Sort by address; at the same address the plainest name comes first. */
static int compare(const void *a, const void *b)
{
	const struct symbol *left = a, *right = b;

	int order = compare_numbers(left->from, right->from);

	if (order || !left->name || !right->name)
		return order;
	order = compare_numbers(underscores(left->name),
				underscores(right->name));
	return order ? order : strcmp(left->name, right->name);
}

static bool is_function(const GElf_Sym *symbol)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0;
}

/* A function without a length lasts until the next symbol or the end of its
 * section. */
static bool find_end(const struct functions *functions, const GElf_Sym *symbol,
		     uint64_t *out)
{
	Elf_Scn *section =
		symbol->st_size == 0 && symbol->st_shndx < SHN_LORESERVE
			? elf_getscn(functions->elf, symbol->st_shndx)
			: NULL;
	GElf_Shdr header;

	if (section && gelf_getshdr(section, &header))
		return target_add(header.sh_addr, header.sh_size, out);
	return target_add(symbol->st_value, symbol->st_size, out);
}

static void add_symbols(struct functions *functions, Elf_Scn *section,
			const GElf_Shdr *header)
{
	size_t each = gelf_fsize(functions->elf, ELF_T_SYM, 1, EV_CURRENT);
	struct symbols *symbols = &functions->symbols;
	struct symbol *more;
	Elf_Data *data;
	size_t count;

	if (header->sh_size > MAX_ALL - functions->bytes)
		return;
	functions->bytes += header->sh_size;
	data = elf_getdata(section, NULL);
	count = data && each > 0 ? data->d_size / each : 0;
	more = reallocarray(symbols->list, symbols->count + count + 1,
			    sizeof(*more));
	if (!more)
		return;
	symbols->list = more;
	for (size_t i = 0; i < count; i++) {
		GElf_Sym symbol;
		const char *name;
		uint64_t end;

		if (!gelf_getsym(data, (int)i, &symbol) ||
		    !is_function(&symbol) ||
		    !find_end(functions, &symbol, &end))
			continue;
		name = elf_strptr(functions->elf, header->sh_link,
				  symbol.st_name);
		if (name && *name)
			symbols->list[symbols->count++] = (struct symbol){
				.from = symbol.st_value, .to = end, .name = name
			};
	}
}

/* Keep one symbol per address, and end each where the next one begins. */
static void order_symbols(struct symbols *symbols)
{
	struct symbol *list = symbols->list;
	size_t kept = 0;

	if (symbols->count == 0)
		return;
	qsort(list, symbols->count, sizeof(*list), compare);
	for (size_t i = 1; i < symbols->count; i++) {
		if (list[i].from == list[kept].from)
			continue;
		if (list[kept].to > list[i].from)
			list[kept].to = list[i].from;
		list[++kept] = list[i];
	}
	symbols->count = kept + 1;
}

static void read_symbols(struct functions *functions)
{
	Elf_Scn *section = NULL;

	if (elf_kind(functions->elf) != ELF_K_ELF)
		return;
	while ((section = elf_nextscn(functions->elf, section)) != NULL) {
		GElf_Shdr header, names;
		Elf_Scn *linked;

		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB &&
		     header.sh_type != SHT_DYNSYM) ||
		    header.sh_entsize == 0)
			continue;
		linked = elf_getscn(functions->elf, header.sh_link);
		if (linked && gelf_getshdr(linked, &names) &&
		    names.sh_size <= MAX_BYTES)
			add_symbols(functions, section, &header);
	}
	order_symbols(&functions->symbols);
}

static struct symbol *find_symbol(const struct symbols *symbols,
				  uint64_t address)
{
	size_t n = SORTED_UP_TO(symbols->list, symbols->count, from, address);

	return n > 0 && address < symbols->list[n - 1].to
		       ? &symbols->list[n - 1]
		       : NULL;
}

/* ---- functions without a symbol -------------------------------------------- */

/* The head of .eh_frame_hdr in the form that linkers write. Pairs follow: the
 * start of a function, and the place of its unwind rules, both relative to the
 * section. */
struct unwind_header {
	uint8_t version, frame, count, table; /* encodings */
	int32_t frame_offset;
	uint32_t functions;
};

#define UNWIND_COUNT 0x03 /* unsigned 32 bits */
#define UNWIND_TABLE 0x3b /* signed 32 bits, relative to the section */

static void add_starts(struct functions *functions, const GElf_Phdr *part,
		       const char *bytes, size_t size)
{
	struct unwind_header header;
	size_t most = (size - sizeof(header)) / 8;
	struct symbols *starts = &functions->starts;

	memcpy(&header, bytes, sizeof(header));
	if (header.version != 1 || header.count != UNWIND_COUNT ||
	    header.table != UNWIND_TABLE)
		return;
	most = header.functions < most ? header.functions : most;
	starts->list = calloc(most + 1, sizeof(*starts->list));
	for (size_t i = 0; starts->list && i < most; i++) {
		int32_t from;

		memcpy(&from, bytes + sizeof(header) + 8 * i, sizeof(from));
		starts->list[starts->count++] =
			(struct symbol){ .from = part->p_vaddr +
						 (uint64_t)(int64_t)from,
					 .to = UINT64_MAX };
	}
	order_symbols(starts);
}

static void read_starts(struct functions *functions)
{
	size_t count = 0;

	if (elf_getphdrnum(functions->elf, &count) != 0)
		return;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr part;
		Elf_Data *data;

		if (!gelf_getphdr(functions->elf, (int)i, &part) ||
		    part.p_type != PT_GNU_EH_FRAME ||
		    part.p_filesz < sizeof(struct unwind_header) ||
		    part.p_filesz > MAX_BYTES)
			continue;
		data = elf_getdata_rawchunk(functions->elf,
					    (int64_t)part.p_offset,
					    part.p_filesz, ELF_T_BYTE);
		if (data)
			add_starts(functions, &part, data->d_buf, data->d_size);
		return;
	}
}

/* ---- names ------------------------------------------------------------------- */

/* "[file+0x1230]" */
static void name_start(struct symbol *start, const char *file)
{
	if (asprintf(&start->shown, "%.*s+0x%jx]", (int)strlen(file) - 1, file,
		     (uintmax_t)start->from) < 0)
		start->shown = NULL;
}

static void name_symbol(struct functions *functions, struct symbol *symbol)
{
	char text[SHOWN];

	if (target_demangle(functions->budget, symbol->name, text,
			    sizeof(text)) &&
	    target_budget_hold(functions->budget, strlen(text) + 1))
		symbol->shown = strdup(text);
}

static const char *name_of(struct functions *functions, struct symbol *symbol,
			   const char *file)
{
	if (!symbol->asked && symbol->name)
		name_symbol(functions, symbol);
	else if (!symbol->asked)
		name_start(symbol, file);
	symbol->asked = true;
	if (symbol->shown)
		return symbol->shown;
	return symbol->name ? symbol->name : file;
}

/* ---- interface -------------------------------------------------------------- */

struct functions *functions_read(Elf *elf, struct target_budget *budget)
{
	struct functions *functions = calloc(1, sizeof(*functions));

	if (!functions)
		return NULL;
	functions->elf = elf;
	functions->budget = budget;
	read_symbols(functions);
	read_starts(functions);
	return functions;
}

static void free_symbols(struct symbols *symbols)
{
	for (size_t i = 0; i < symbols->count; i++)
		free(symbols->list[i].shown);
	free(symbols->list);
}

void functions_free(struct functions *functions)
{
	if (!functions)
		return;
	free_symbols(&functions->starts);
	free_symbols(&functions->symbols);
	free(functions);
}

bool functions_find(struct functions *functions, uint64_t address,
		    const char *file, const char **name, uint64_t *from)
{
	struct symbol *symbol = find_symbol(&functions->symbols, address);

	if (!symbol)
		symbol = find_symbol(&functions->starts, address);
	if (!symbol)
		return false;
	*name = name_of(functions, symbol, file);
	*from = symbol->from;
	return true;
}
