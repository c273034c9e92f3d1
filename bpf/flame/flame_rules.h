/* SPDX-License-Identifier: MIT */
/**
 * flame_rules.h - how to find who called a function, by the tables that compilers write
 * for exceptions
 *
 * Of these a little is understood: what is so where functions call others.
 */
#ifndef SKUA_BPF_FLAME_RULES_H
#define SKUA_BPF_FLAME_RULES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* Where the caller has what a register was. */
enum flame_where {
	FLAME_NOWHERE,
	FLAME_SAME,  /* in the register */
	FLAME_SAVED, /* in memory */
};

/* Of an instruction: the caller's stack pointer is that of this function, or its frame
 * pointer, and an offset; from there other offsets lead to what was saved. */
struct flame_rule {
	bool base_is_fp;
	enum flame_where back; /* the address to go back to */
	enum flame_where fp;   /* the caller's frame pointer */
	int64_t base_offset;
	int64_t back_offset;
	int64_t fp_offset;
};

/* flame_rule_read - of an address in the file. Return: false: the table does not tell */
bool flame_rule_read(Dwarf_CFI *table, uint64_t address,
		     struct flame_rule *out);

#endif
