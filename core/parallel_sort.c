/* SPDX-License-Identifier: MIT */
/**
 * parallel_sort.c - sorts of any items
 *
 * Items of the sizes of a register are sorted by instances of
 * skua/sort_template.h. Of others, their addresses are, or their keys and
 * indices; then each item is moved once.
 */
#include "skua/sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/parallel_loop.h"

struct order {
	int (*compare)(const void *a, const void *b, void *arg);
	void *arg;
};

static inline int order_compare(const void *order, const void *a, const void *b)
{
	const struct order *it = order;

	return it->compare(a, b, it->arg);
}

/* ---- instances ------------------------------------------------------------- */

/* Whatever they are to the caller. */
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

/* Items that stay where they are until all is known. Equal ones are compared by
 * their addresses: that makes it stable. */
typedef const char *address;

static inline bool address_less(const address *a, const address *b, void *order)
{
	int result = order_compare(order, *a, *b);

	return result < 0 || (result == 0 && *a < *b);
}

#define SKUA_SORT_NAME            sort_addresses
#define SKUA_SORT_TYPE            address
#define SKUA_SORT_LESS(a, b, arg) address_less(a, b, arg)
#include <skua/sort_template.h>

struct keyed {
	uint64_t key;
	address item;
};

#define SKUA_SORT_NAME sort_keyed
#define SKUA_SORT_TYPE struct keyed
#define SKUA_SORT_LESS(a, b, arg) \
	(((a)->key < (b)->key) |  \
	 (((a)->key == (b)->key) & ((a)->item < (b)->item)))
#include <skua/sort_template.h>

/* ---- arguments and memory -------------------------------------------------- */

static int check(struct skua_ctx ctx, const void *base, size_t count,
		 size_t size, bool callback)
{
	if (!callback || parallel_valid(ctx, 0, count))
		return -EINVAL;
	return parallel_array_valid(base, count, size);
}

/* Memory for @count elements of @size bytes; NULL: there is none. */
static void *take(size_t count, size_t size)
{
	int saved = errno;
	void *memory =
		count <= PTRDIFF_MAX / size ? malloc(count * size) : NULL;

	errno_restore(saved);
	return memory;
}

/* ---- items that are moved once --------------------------------------------- */

/*
 * Where the n-th item of the result is: the address that is in element n of a
 * table of elements of @stride bytes, @offset bytes behind its begin.
 */
struct moves {
	char *base, *scratch;
	size_t size;
	const char *table;
	size_t stride, offset;
};

static int gather(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	const struct moves *it = arg;

	(void)ctx;
	for (size_t i = begin; i < end; i++) {
		address item;

		memcpy(&item, it->table + i * it->stride + it->offset,
		       sizeof(item));
		memcpy(it->scratch + i * it->size, item, it->size);
	}
	return 0;
}

static int put_back(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	const struct moves *it = arg;

	(void)ctx;
	memcpy(it->base + begin * it->size, it->scratch + begin * it->size,
	       (end - begin) * it->size);
	return 0;
}

static void move_all(struct skua_ctx ctx, size_t count, struct moves *moves)
{
	(void)skua_for(ctx, 0, count, 0, gather, moves);
	(void)skua_for(ctx, 0, count, 0, put_back, moves);
}

/* What a sort by addresses, or by keys, goes through in parallel first. */
struct table {
	char *base;
	size_t size;
	address *addresses;
	struct keyed *keyed;
	uint64_t (*key)(const void *item, void *arg);
	void *arg;
};

static int fill_addresses(struct skua_ctx ctx, size_t begin, size_t end,
			  void *arg)
{
	const struct table *it = arg;

	(void)ctx;
	for (size_t i = begin; i < end; i++)
		it->addresses[i] = it->base + i * it->size;
	return 0;
}

static int fill_keyed(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	const struct table *it = arg;

	(void)ctx;
	for (size_t i = begin; i < end; i++) {
		it->keyed[i].item = it->base + i * it->size;
		it->keyed[i].key = it->key(it->keyed[i].item, it->arg);
	}
	return 0;
}

static int sort_by_address(struct skua_ctx ctx, char *base, size_t count,
			   size_t size, struct order *order)
{
	struct table table = { .base = base,
			       .size = size,
			       .addresses = take(count, sizeof(address)) };
	struct moves moves = { .base = base,
			       .scratch = take(count, size),
			       .size = size,
			       .table = (char *)table.addresses,
			       .stride = sizeof(address) };
	bool enough = table.addresses && moves.scratch;

	if (enough) {
		(void)skua_for(ctx, 0, count, 0, fill_addresses, &table);
		sort_addresses(ctx, table.addresses, count, order);
		move_all(ctx, count, &moves);
	}
	free(table.addresses);
	free(moves.scratch);
	return enough ? 0 : -ENOMEM;
}

/* ---------------------------------------------------------------------------- */

/* A copy of an item is aligned as the item is. */
static bool is_aligned(const void *base, size_t size)
{
	return (uintptr_t)base % size == 0;
}

int skua_sort(struct skua_ctx ctx, void *base, size_t count, size_t size,
	      int (*compare)(const void *a, const void *b, void *arg),
	      void *arg)
{
	struct order order = { compare, arg };

	if (check(ctx, base, count, size, compare != NULL))
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

	if (check(ctx, base, count, size, compare != NULL))
		return -EINVAL;
	if (count < 2)
		return 0;
	if ((size != 4 && size != 8 && size != 16) || !is_aligned(base, size))
		return sort_by_address(ctx, base, count, size, &order);
	buffer = take(count, size);
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

int skua_sort_by_key(struct skua_ctx ctx, void *base, size_t count, size_t size,
		     uint64_t (*key)(const void *item, void *arg), void *arg)
{
	struct table table = {
		.base = base, .size = size, .key = key, .arg = arg
	};
	struct moves moves = { .base = base,
			       .size = size,
			       .stride = sizeof(struct keyed),
			       .offset = offsetof(struct keyed, item) };
	bool enough;

	if (check(ctx, base, count, size, key != NULL))
		return -EINVAL;
	if (count < 2)
		return 0;
	table.keyed = take(count, sizeof(struct keyed));
	moves.table = (char *)table.keyed;
	moves.scratch = take(count, size);
	enough = table.keyed && moves.scratch;
	if (enough) {
		(void)skua_for(ctx, 0, count, 0, fill_keyed, &table);
		sort_keyed(ctx, table.keyed, count, NULL);
		move_all(ctx, count, &moves);
	}
	free(table.keyed);
	free(moves.scratch);
	return enough ? 0 : -ENOMEM;
}
