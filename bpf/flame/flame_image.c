/* SPDX-License-Identifier: MIT */
/*
 * flame_image.c - see flame_image.h
 *
 * A file's functions are those of its symbol tables. Where there is no symbol, as in a
 * stripped file, the table of what is to be unwound still tells where functions begin.
 */
#include "bpf/flame/flame_image.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST_BYTES   (UINT64_C(1) << 29) /* of a symbol table, or its names */
#define MOST_OF_VDSO (UINT64_C(1) << 20)

/* As the file has addresses. @name: the file's, or else, if it was asked for, ours. */
struct symbol {
	uint64_t from, to;
	const char *name;
};

struct symbols {
	struct symbol *list;
	size_t count;
};

struct image {
	uint64_t inode;
	char *path;
	char *name; /* "[libc.so.6]": of functions without one */
	int fd;
	void *memory; /* of the vDSO */
	Elf *elf;
	Dwarf_CFI *rules;
	struct symbols symbols;
	struct symbols starts; /* of functions, which may have no symbol */
};

/* ---- symbols --------------------------------------------------------------- */

static unsigned underscores(const char *name)
{
	return (unsigned)strspn(name, "_");
}

/* Of those in one place, the one with the plainest name comes first. */
static int compare(const void *a, const void *b)
{
	const struct symbol *left = a, *right = b;

	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	if (!left->name || !right->name)
		return 0;
	if (underscores(left->name) != underscores(right->name))
		return underscores(left->name) < underscores(right->name) ? -1
									  : 1;
	return strcmp(left->name, right->name);
}

static bool is_function(const GElf_Sym *symbol)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0;
}

/* What has no length goes on up to the next symbol, or the end of its section. */
static bool find_end(const struct image *image, const GElf_Sym *symbol,
		     uint64_t *out)
{
	Elf_Scn *section =
		symbol->st_size == 0 && symbol->st_shndx < SHN_LORESERVE
			? elf_getscn(image->elf, symbol->st_shndx)
			: NULL;
	GElf_Shdr header;

	if (section && gelf_getshdr(section, &header))
		return target_add(header.sh_addr, header.sh_size, out);
	return target_add(symbol->st_value, symbol->st_size, out);
}

static void add_symbols(struct image *image, Elf_Scn *section,
			const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data ? data->d_size / header->sh_entsize : 0;
	struct symbols *symbols = &image->symbols;
	struct symbol *more = reallocarray(
		symbols->list, symbols->count + count + 1, sizeof(*more));

	if (!more)
		return;
	symbols->list = more;
	for (size_t i = 0; i < count; i++) {
		GElf_Sym symbol;
		const char *name;
		uint64_t end;

		if (!gelf_getsym(data, (int)i, &symbol) ||
		    !is_function(&symbol) || !find_end(image, &symbol, &end))
			continue;
		name = elf_strptr(image->elf, header->sh_link, symbol.st_name);
		if (name && *name)
			symbols->list[symbols->count++] =
				(struct symbol){ symbol.st_value, end, name };
	}
}

/* One a place, up to the next at most. */
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

static void read_symbols(struct image *image)
{
	Elf_Scn *section = NULL;

	if (elf_kind(image->elf) != ELF_K_ELF)
		return;
	while ((section = elf_nextscn(image->elf, section)) != NULL) {
		GElf_Shdr header, names;
		Elf_Scn *linked;

		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB &&
		     header.sh_type != SHT_DYNSYM) ||
		    header.sh_entsize == 0 || header.sh_size > MOST_BYTES)
			continue;
		linked = elf_getscn(image->elf, header.sh_link);
		if (linked && gelf_getshdr(linked, &names) &&
		    names.sh_size <= MOST_BYTES)
			add_symbols(image, section, &header);
	}
	order_symbols(&image->symbols);
}

static struct symbol *find_symbol(const struct symbols *symbols,
				  uint64_t address)
{
	size_t low = 0, high = symbols->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->list[middle].from <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && address < symbols->list[low - 1].to
		       ? &symbols->list[low - 1]
		       : NULL;
}

/* ---- functions without a symbol -------------------------------------------- */

/* The beginning of .eh_frame_hdr, in the form that linkers give it; pairs follow, of
 * where a function begins and what tells how to unwind it, from that section on. */
struct unwind_header {
	uint8_t version, frame, count, table; /* how each is encoded */
	int32_t frame_offset;
	uint32_t functions;
};

#define UNWIND_COUNT 0x03 /* 32 bits */
#define UNWIND_TABLE 0x3b /* from the section on, 32 bits with a sign */

static void add_starts(struct image *image, const GElf_Phdr *part,
		       const char *bytes, size_t size)
{
	struct unwind_header header;
	size_t most = (size - sizeof(header)) / 8;
	struct symbols *starts = &image->starts;

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

static void read_starts(struct image *image)
{
	size_t count = 0;

	if (elf_getphdrnum(image->elf, &count) != 0)
		return;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr part;
		Elf_Data *data;

		if (!gelf_getphdr(image->elf, (int)i, &part) ||
		    part.p_type != PT_GNU_EH_FRAME ||
		    part.p_filesz < sizeof(struct unwind_header) ||
		    part.p_filesz > MOST_BYTES)
			continue;
		data = elf_getdata_rawchunk(image->elf, (int64_t)part.p_offset,
					    part.p_filesz, ELF_T_BYTE);
		if (data)
			add_starts(image, &part, data->d_buf, data->d_size);
		return;
	}
}

/* "[file+0x1230]" */
static void name_start(const struct image *image, struct symbol *start)
{
	char *name;

	if (!start->name &&
	    asprintf(&name, "%.*s+0x%jx]", (int)strlen(image->name) - 1,
		     image->name, (uintmax_t)start->from) >= 0)
		start->name = name;
}

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

/* ---- how to unwind --------------------------------------------------------- */

#if defined(__x86_64__)
enum { NUMBER_FP = 6, NUMBER_SP = 7, NUMBER_RETURN = 16 };
#elif defined(__aarch64__)
enum { NUMBER_FP = 29, NUMBER_SP = 31, NUMBER_RETURN = 30 };
#else
#error "which numbers do DWARF's tables give the registers here?"
#endif

#define MOST_TERMS 8u

/* A number, and perhaps a register that it is added to; 0: none. */
struct term {
	int reg;
	uint64_t number;
};

/* An operation on the two terms at @t, of which one has a register at most. */
static bool combine(unsigned atom, struct term *t)
{
	int reg = t[0].reg ? t[0].reg : t[1].reg;

	if ((t[0].reg && t[1].reg) || (reg && atom != DW_OP_plus))
		return false;
	switch (atom) {
	case DW_OP_plus:
		t[0].number += t[1].number;
		break;
	case DW_OP_and:
		t[0].number &= t[1].number;
		break;
	case DW_OP_ge:
		t[0].number = (int64_t)t[0].number >= (int64_t)t[1].number;
		break;
	case DW_OP_shl:
		t[0].number = t[1].number < 64 ? t[0].number << t[1].number : 0;
		break;
	default:
		return false;
	}
	t[0].reg = reg;
	return true;
}

/* What is called through a procedure linkage table has the address in a sum; other
 * operations compilers use in other places than calls. */
static bool evaluate(const Dwarf_Op *ops, size_t count, uint64_t address,
		     struct term *out)
{
	struct term terms[MOST_TERMS];
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned atom = ops[i].atom;

		if (atom == DW_OP_bregx && used < MOST_TERMS)
			terms[used++] = (struct term){ (int)ops[i].number,
						       ops[i].number2 };
		else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31 &&
			 used < MOST_TERMS)
			terms[used++] =
				(struct term){ (int)(atom - DW_OP_breg0),
					       ops[i].number };
		else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31 &&
			 used < MOST_TERMS)
			terms[used++] = (struct term){ 0, atom - DW_OP_lit0 };
		else if (used < 2 || !combine(atom, &terms[--used - 1]))
			return false;
		if (used > 0 && terms[used - 1].reg == NUMBER_RETURN)
			terms[used - 1] =
				(struct term){ 0, terms[used - 1].number +
							  address };
	}
	*out = terms[0];
	return used == 1;
}

static bool read_base(Dwarf_Frame *frame, uint64_t address,
		      struct flame_rule *out)
{
	struct term base;
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_frame_cfa(frame, &ops, &count) != 0 ||
	    !evaluate(ops, count, address, &base) ||
	    (base.reg != NUMBER_SP && base.reg != NUMBER_FP))
		return false;
	out->base_is_fp = base.reg == NUMBER_FP;
	out->base_offset = (int64_t)base.number;
	return true;
}

static enum flame_where read_register(Dwarf_Frame *frame, int number,
				      int64_t *offset)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (dwarf_frame_register(frame, number, memory, &ops, &count) != 0)
		return FLAME_NOWHERE;
	if (count == 0)
		return ops ? FLAME_NOWHERE : FLAME_SAME;
	if (ops[0].atom != DW_OP_call_frame_cfa || count > 2 ||
	    (count == 2 && ops[1].atom != DW_OP_plus_uconst))
		return FLAME_NOWHERE;
	*offset = count == 2 ? (int64_t)ops[1].number : 0;
	return FLAME_SAVED;
}

bool image_rule(struct image *image, const struct target_mapping *mapping,
		uint64_t address, struct flame_rule *out)
{
	Dwarf_Frame *frame;
	uint64_t wanted;
	bool known;

	if (!image->rules || !file_address(image, mapping, address, &wanted) ||
	    dwarf_cfi_addrframe(image->rules, wanted, &frame) != 0)
		return false;
	known = read_base(frame, wanted, out);
	if (known) {
		out->back =
			read_register(frame, NUMBER_RETURN, &out->back_offset);
		out->fp = read_register(frame, NUMBER_FP, &out->fp_offset);
	}
	free(frame);
	return known;
}

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

static void open_elf(struct target *target, struct image *image,
		     const struct target_mapping *mapping)
{
	elf_version(EV_CURRENT);
	if (strcmp(mapping->path, "[vdso]") == 0) {
		open_vdso(target, image, mapping);
	} else if (mapping->inode != 0) {
		image->fd = target_open_mapped(target, mapping);
		if (image->fd >= 0)
			image->elf = elf_begin(image->fd, ELF_C_READ, NULL);
	}
	if (!image->elf)
		return;
	read_symbols(image);
	read_starts(image);
	image->rules = dwarf_getcfi_elf(image->elf);
}

struct image *image_open(struct target *target,
			 const struct target_mapping *mapping)
{
	struct image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	image->inode = mapping->inode;
	image->path = strdup(mapping->path);
	image->name = make_name(mapping->path);
	image->fd = -1;
	if (!image->path || !image->name) {
		image_close(image);
		return NULL;
	}
	open_elf(target, image, mapping);
	return image;
}

void image_close(struct image *image)
{
	for (size_t i = 0; i < image->starts.count; i++)
		free((void *)(uintptr_t)image->starts.list[i].name);
	free(image->starts.list);
	free(image->symbols.list);
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

/* By its symbol; or else by where it begins. */
static struct symbol *find_function(const struct image *image, uint64_t address)
{
	struct symbol *symbol = find_symbol(&image->symbols, address);

	if (symbol)
		return symbol;
	symbol = find_symbol(&image->starts, address);
	if (symbol)
		name_start(image, symbol);
	return symbol;
}

void image_find(struct image *image, const struct target_mapping *mapping,
		uint64_t address, struct flame_function *out)
{
	uint64_t wanted = 0;
	struct symbol *symbol = NULL;

	if (file_address(image, mapping, address, &wanted))
		symbol = find_function(image, wanted);
	out->name = symbol && symbol->name ? symbol->name : image->name;
	out->start = symbol ? address - (wanted - symbol->from) : 0;
}
