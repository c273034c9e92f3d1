/* SPDX-License-Identifier: MIT */
/* selects.c - see selects.h */
#include "bpf/waits/selects.h"

/* The kind of wait of a case whose struct area_armed is not used; AREA_WAITS_NOTHING: it is
 * used. */
static enum area_wait_kind kind_without_wait(uint32_t kind)
{
	switch (kind) {
	case AREA_SELECT_JOIN:
		return AREA_WAITS_JOIN;
	case AREA_SELECT_GROUP:
		return AREA_WAITS_GROUP;
	case AREA_SELECT_TIME:
		return AREA_WAITS_TIME;
	default:
		return AREA_WAITS_NOTHING;
	}
}

static bool read_case(struct target *target, const struct target_wait *whole,
		      uint64_t address, struct target_wait *out)
{
	struct area_select_case it;
	enum area_wait_kind kind;

	if (target_read(target, address, &it, sizeof(it)) != 0 ||
	    it.kind == AREA_SELECT_NEVER)
		return false;
	kind = kind_without_wait(it.kind);
	if (kind != AREA_WAITS_NOTHING) {
		*out = (struct target_wait){
			.armed.object = kind == AREA_WAITS_TIME ? 0 : it.object,
			.armed.amount = it.amount,
			.verb.kind = kind,
		};
		return true;
	}
	return target_read_wait(target,
				address +
					offsetof(struct area_select_case, wait),
				out) &&
	       out->armed.waiter == whole->armed.waiter &&
	       out->verb.kind != AREA_WAITS_SELECT;
}

unsigned select_read(struct target *target, const struct target_wait *whole,
		     struct target_wait *out)
{
	struct area_select select;
	unsigned count = 0;

	if (whole->verb.second < sizeof(struct area_select_case) ||
	    target_read(target, whole->armed.object, &select, sizeof(select)) !=
		    0)
		return 0;
	for (uint32_t i = 0; i < select.count && i < SELECT_CASES; i++)
		count += read_case(target, whole,
				   select.cases +
					   i * (uint64_t)whole->verb.second,
				   &out[count]);
	return count;
}
