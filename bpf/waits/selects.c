/* SPDX-License-Identifier: MIT */
/* selects.c - see selects.h */
#include "bpf/waits/selects.h"

/* The wait of a case for a join or a time, whose struct area_armed is not used. */
static struct target_wait no_wait(const struct area_select_case *it)
{
	bool join = it->kind == AREA_SELECT_JOIN;

	return (struct target_wait){
		.armed.object = join ? it->object : 0,
		.armed.amount = it->amount,
		.verb.kind = join ? AREA_WAITS_JOIN : AREA_WAITS_TIME,
	};
}

static bool read_case(struct target *target, const struct target_wait *whole,
		      uint64_t address, struct target_wait *out)
{
	struct area_select_case it;

	if (target_read(target, address, &it, sizeof(it)) != 0 ||
	    it.kind == AREA_SELECT_NEVER)
		return false;
	if (it.kind == AREA_SELECT_JOIN || it.kind == AREA_SELECT_TIME) {
		*out = no_wait(&it);
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
