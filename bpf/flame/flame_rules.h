/* SPDX-License-Identifier: MIT */
/**
 * flame_rules.h - unwind rules: how to find the caller of a function, from the tables
 * that compilers write for exceptions
 *
 * Only the operations that occur at calls are understood.
 */
#ifndef SKUA_BPF_FLAME_RULES_H
#define SKUA_BPF_FLAME_RULES_H

#include <stdbool.h>
#include <stdint.h>

/* Where to find the value that a register had in the caller. */
enum flame_where {
	FLAME_NOWHERE,
	FLAME_SAME,  /* still in the register */
	FLAME_SAVED, /* in the stack */
};

/* The register that the caller's stack pointer is computed from. */
enum flame_base { FLAME_SP, FLAME_FP };

/* The rule at an instruction. The caller's stack pointer is @base plus
 * @base_offset; registers were saved at @back_offset and @fp_offset from
 * there. */
struct flame_rule {
	enum flame_base base;
	enum flame_where back; /* the return address */
	enum flame_where fp;   /* the caller's frame pointer */
	int64_t base_offset;
	int64_t back_offset;
	int64_t fp_offset;
};

struct Dwarf_CFI_s; /* libdw's Dwarf_CFI */

/* flame_rule_read - read the rule for an address of the file. Return: false if
 * the table has none */
bool flame_rule_read(struct Dwarf_CFI_s *table, uint64_t address,
		     struct flame_rule *out);

#endif
