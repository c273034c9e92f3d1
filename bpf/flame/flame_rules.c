/* SPDX-License-Identifier: MIT */
/* flame_rules.c - see flame_rules.h */
#include "bpf/flame/flame_rules.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__x86_64__)
enum { NUMBER_FP = 6, NUMBER_SP = 7, NUMBER_RETURN = 16 };
#elif defined(__aarch64__)
enum { NUMBER_FP = 29, NUMBER_SP = 31, NUMBER_RETURN = 30 };
#else
#error "which numbers do DWARF's tables give the registers here?"
#endif

#define MAX_TERMS 8u

/* A number, plus the value of a register if @reg is not 0. */
struct term {
	int reg;
	uint64_t number;
};

/* Apply an operation to the two terms at @t; at most one of them may have a
 * register. */
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

/* Compute the caller's stack pointer from a DWARF expression, as calls through
 * a procedure linkage table have one. Other operations occur only at places
 * that are no calls. */
static bool evaluate(const Dwarf_Op *ops, size_t count, uint64_t address,
		     struct term *out)
{
	struct term terms[MAX_TERMS];
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned atom = ops[i].atom;

		if (atom == DW_OP_bregx && used < MAX_TERMS)
			terms[used++] = (struct term){ (int)ops[i].number,
						       ops[i].number2 };
		else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31 &&
			 used < MAX_TERMS)
			terms[used++] =
				(struct term){ (int)(atom - DW_OP_breg0),
					       ops[i].number };
		else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31 &&
			 used < MAX_TERMS)
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
	out->base = base.reg == NUMBER_FP ? FLAME_FP : FLAME_SP;
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

bool flame_rule_read(Dwarf_CFI *table, uint64_t address, struct flame_rule *out)
{
	Dwarf_Frame *frame;
	bool known;

	if (dwarf_cfi_addrframe(table, address, &frame) != 0)
		return false;
	known = read_base(frame, address, out);
	if (known) {
		out->back =
			read_register(frame, NUMBER_RETURN, &out->back_offset);
		out->fp = read_register(frame, NUMBER_FP, &out->fp_offset);
	}
	free(frame);
	return known;
}
