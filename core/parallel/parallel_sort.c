/* SPDX-License-Identifier: MIT */
/**
 * parallel_sort.c - sort items of any type, by comparison
 *
 * Instances of skua/sort_template.h sort items of 4, 8 or 16 bytes that are aligned to their
 * size. For other items they sort the addresses; then each item moves once.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/boundary.h"
#include "core/parallel/parallel_sort.h"
#include "skua/sort.h"

struct order {
	int (*compare)(const void *a, const void *b, void *arg);
	void *arg;
};

static inline int order_compare(const void *order, const void *a, const void *b)
{
	const struct order *it = order;
	int result = it->compare(a, b, it->arg);

	BOUNDARY(loop);
	return result;
}

/* ---- instances ------------------------------------------------------------- */

/* may_alias, because the caller's items may have any type. */
typedef uint32_t __attribute__((may_alias)) item4;
typedef uint64_t __attribute__((may_alias)) item8;
typedef struct {
	uint64_t half[2];
} __attribute__((may_alias, aligned(16))) item16;

#define SKUA_SORT_NAME            sort4
#define SKUA_SORT_TYPE            item4
#define SKUA_SORT_LESS(a, b, arg) (order_compare(arg, a, b) < 0)
#include <skua/sort_template.h>

#define SKUA_SORT_NAME            sort8
#define SKUA_SORT_TYPE            item8
#define SKUA_SORT_LESS(a, b, arg) (order_compare(arg, a, b) < 0)
#include <skua/sort_template.h>

#define SKUA_SORT_NAME            sort16
#define SKUA_SORT_TYPE            item16
#define SKUA_SORT_LESS(a, b, arg) (order_compare(arg, a, b) < 0)
#include <skua/sort_template.h>

/* Compares the items at two addresses. The items stay in place until their order is known.
 * Equal items are ordered by address, which makes the sort stable. */
static inline bool address_less(const sort_address *a, const sort_address *b,
				void *order)
{
	int result = order_compare(order, *a, *b);

	return result < 0 || (result == 0 && *a < *b);
}

#define SKUA_SORT_NAME            sort_addresses
#define SKUA_SORT_TYPE            sort_address
#define SKUA_SORT_LESS(a, b, arg) address_less(a, b, arg)
#include <skua/sort_template.h>

/* ---- by address ------------------------------------------------------------ */

static int fill_addresses(struct skua_ctx ctx, size_t begin, size_t end,
			  void *arg)
{
	const struct sort_moves *it = arg;

	(void)ctx;
	for (size_t i = begin; i < end; i++)
		it->addresses[i] = it->base + i * it->size;
	return 0;
}

static int sort_by_address(struct skua_ctx ctx, char *base, size_t count,
			   size_t size, struct order *order)
{
	struct sort_moves moves = { .base = base,
				    .scratch = sort_take(count, size),
				    .size = size,
				    .addresses = sort_take(
					    count, sizeof(sort_address)) };
	bool enough = moves.scratch && moves.addresses;

	if (enough) {
		(void)skua_for(ctx, 0, count, 0, fill_addresses, &moves);
		sort_addresses(ctx, moves.addresses, count, order);
		sort_move_all(ctx, count, &moves);
	}
	free(moves.addresses);
	free(moves.scratch);
	return enough ? 0 : -ENOMEM;
}

/* ---- the public functions ---------------------------------------------------- */

/* The instances may be used only for items with the alignment of their item type. */
static bool is_aligned(const void *base, size_t size)
{
	return (uintptr_t)base % size == 0;
}

int skua_sort(struct skua_ctx ctx, void *base, size_t count, size_t size,
	      int (*compare)(const void *a, const void *b, void *arg),
	      void *arg)
{
	struct order order = { compare, arg };

	if (sort_check(ctx, base, count, size, compare != NULL))
		return -EINVAL;
	if (count < 2)
		return 0;
	if (size == 4 && is_aligned(base, size))
		sort4(ctx, base, count, &order);
	else if (size == 8 && is_aligned(base, size))
		sort8(ctx, base, count, &order);
	else if (size == 16 && is_aligned(base, size))
		sort16(ctx, base, count, &order);
	else
		return sort_by_address(ctx, base, count, size, &order);
	return 0;
}

int skua_sort_stable(struct skua_ctx ctx, void *base, size_t count, size_t size,
		     int (*compare)(const void *a, const void *b, void *arg),
		     void *arg)
{
	struct order order = { compare, arg };
	void *buffer;

	if (sort_check(ctx, base, count, size, compare != NULL))
		return -EINVAL;
	if (count < 2)
		return 0;
	if ((size != 4 && size != 8 && size != 16) || !is_aligned(base, size))
		return sort_by_address(ctx, base, count, size, &order);
	buffer = sort_take(count, size);
	if (!buffer)
		return -ENOMEM;
	if (size == 4)
		sort4_stable(ctx, base, count, buffer, &order);
	else if (size == 8)
		sort8_stable(ctx, base, count, buffer, &order);
	else
		sort16_stable(ctx, base, count, buffer, &order);
	free(buffer);
	return 0;
}
