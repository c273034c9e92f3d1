/* SPDX-License-Identifier: MIT */
/*
 * flame_dwarf.c - see flame_dwarf.h
 *
 * The address ranges of all units are read once, because not every compiler writes the
 * table that lists them (.debug_aranges). Nothing is freed: the process ends soon.
 */
#include "bpf/cli/sorted.h"
#include "bpf/flame/flame_dwarf.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdlib.h>

#include "bpf/cli/grow.h"

/* Code of a compilation unit. */
struct range {
	uint64_t from, to;
	Dwarf_Off unit;
};

struct dwarf {
	Elf *elf;
	Dwarf_CFI *rules;
	Dwarf *file;
	struct range *ranges;
	size_t count, room;
	bool rules_opened, lines_opened;
};

static bool add_unit(struct dwarf *dwarf, Dwarf_Die *unit)
{
	Dwarf_Addr base, from, to;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(unit, at, &base, &from, &to)) > 0) {
		if (!grow(&dwarf->ranges, sizeof(*dwarf->ranges), dwarf->count,
			  &dwarf->room))
			return false;
		dwarf->ranges[dwarf->count++] =
			(struct range){ from, to, dwarf_dieoffset(unit) };
	}
	return true;
}

static int compare(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return compare_numbers(a->from, b->from);
}

static void read_units(struct dwarf *dwarf)
{
	Dwarf_Off at = 0, next;
	size_t header;

	while (dwarf_nextcu(dwarf->file, at, &next, &header, NULL, NULL,
			    NULL) == 0) {
		Dwarf_Die unit;

		if (dwarf_offdie(dwarf->file, at + header, &unit) &&
		    !add_unit(dwarf, &unit))
			break;
		at = next;
	}
	if (dwarf->count > 0)
		qsort(dwarf->ranges, dwarf->count, sizeof(struct range),
		      compare);
}

struct dwarf *dwarf_open(int fd)
{
	struct dwarf *dwarf = calloc(1, sizeof(*dwarf));

	elf_version(EV_CURRENT);
	if (dwarf)
		dwarf->elf = elf_begin(fd, ELF_C_READ, NULL);
	return dwarf && dwarf->elf ? dwarf : NULL;
}

/* ---- lines ----------------------------------------------------------------- */

static void open_lines(struct dwarf *dwarf)
{
	dwarf->lines_opened = true;
	dwarf->file = dwarf_begin_elf(dwarf->elf, DWARF_C_READ, NULL);
	if (dwarf->file)
		read_units(dwarf);
}

/* Return the range that contains @address; NULL if there is none. */
static const struct range *find_range(const struct dwarf *dwarf,
				      uint64_t address)
{
	size_t n = SORTED_UP_TO(dwarf->ranges, dwarf->count, from, address);

	return n > 0 && address < dwarf->ranges[n - 1].to
		       ? &dwarf->ranges[n - 1]
		       : NULL;
}

int dwarf_line(struct dwarf *dwarf, uint64_t address, const char **source)
{
	const struct range *range;
	Dwarf_Line *line = NULL;
	Dwarf_Die unit;
	int number = 0;

	if (!dwarf->lines_opened)
		open_lines(dwarf);
	range = find_range(dwarf, address);
	if (range && dwarf_offdie(dwarf->file, range->unit, &unit))
		line = dwarf_getsrc_die(&unit, address);
	*source = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	return *source && dwarf_lineno(line, &number) == 0 ? number : 0;
}

/* ---- rules ----------------------------------------------------------------- */

bool dwarf_rule(struct dwarf *dwarf, uint64_t address, struct flame_rule *out)
{
	if (!dwarf->rules_opened)
		dwarf->rules = dwarf_getcfi_elf(dwarf->elf);
	dwarf->rules_opened = true;
	return dwarf->rules && flame_rule_read(dwarf->rules, address, out);
}
