/* SPDX-License-Identifier: MIT */
/**
 * flame_rules.h - how to find the caller of a function, by the tables that compilers
 * write for exceptions
 *
 * Of these a little is understood: what is so where functions call others.
 */
#ifndef SKUA_BPF_FLAME_RULES_H
#define SKUA_BPF_FLAME_RULES_H

#include <stdbool.h>
#include <stdint.h>

/* Where the caller has what a register was. */
enum flame_where {
	FLAME_NOWHERE,
	FLAME_SAME,  /* in the register */
	FLAME_SAVED, /* in memory */
};

/* The register that a sum begins with. */
enum flame_base { FLAME_SP, FLAME_FP };

/* Of an instruction: the caller's stack pointer is that of this function, or its frame
 * pointer, and an offset; from there other offsets lead to what was saved. */
struct flame_rule {
	enum flame_base base;
	enum flame_where back; /* the address to go back to */
	enum flame_where fp;   /* the caller's frame pointer */
	int64_t base_offset;
	int64_t back_offset;
	int64_t fp_offset;
};

struct Dwarf_CFI_s; /* libdw's Dwarf_CFI */

/* flame_rule_read - of an address in the file. Return: false: the table does not tell */
bool flame_rule_read(struct Dwarf_CFI_s *table, uint64_t address,
		     struct flame_rule *out);

#endif
