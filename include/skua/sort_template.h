/* SPDX-License-Identifier: MIT */
/**
 * sort_template.h - a parallel sort for one type, with its comparison inlined
 *
 * A sort with a callback (skua/sort.h) makes a call for each comparison. A program
 * that makes three definitions and then includes this file gets functions without
 * such calls:
 *
 *	#define SKUA_SORT_NAME sort_longs
 *	#define SKUA_SORT_TYPE long
 *	#define SKUA_SORT_LESS(a, b, arg) (*(a) < *(b))
 *	#include <skua/sort_template.h>
 *
 *	static void sort_longs(struct skua_ctx ctx, long *base, size_t count,
 *			       void *arg);
 *	static void sort_longs_stable(struct skua_ctx ctx, long *base,
 *				      size_t count, long *buffer, void *arg);
 *
 * SKUA_SORT_LESS takes two pointers to const items, and @arg, and tells whether the
 * first item belongs before the second. It should be a strict weak order. If it is
 * not (always true, random, "less or equal"), the order of the result is unspecified;
 * but the result has each item once, the sort reads and writes nothing outside the
 * arrays, and it ends. The sort copies items by assignment, also while it compares
 * other items, so a comparison must read only its two items. No exception may leave
 * it.
 *
 * Include the file at file scope. All names that begin with sort_longs_ belong to it.
 * It undefines the three definitions, so that a program may include it again. In C++
 * the type needs a default constructor, and copies that do not throw.
 *
 * sort_longs is unstable: equal items end up in any order. It needs no memory except
 * the stack: 64 items and some kilobytes. It takes time O(n log n) at worst; O(n) if
 * the items are in order, or in reverse order with no two equal; O(n log k) if there
 * are k different items. If the array consists of two such runs, the sort merges
 * them.
 *
 * sort_longs_stable keeps the order of equal items. @buffer has space for @count
 * items; its content does not matter. It takes time O(n log n) at worst, and O(n) in
 * the same cases; it does not sort again parts that are in order, or reversed. On the
 * stack it needs about 300 items, and some kilobytes.
 *
 * Both functions: Threads: the thread of @ctx, which is not checked. Blocks: until
 * the parts that other threads took are done. Allocates: nothing. An array of no
 * items or of one item may be NULL.
 *
 * Sources of the algorithms: introspective sort by Musser (1997); pseudo-medians and
 * Lomuto's partition without branches as in the works of Alexandrescu, and of
 * Bergdoll and Peters; the treatment of equal items and of patterns from Peters'
 * pattern-defeating quicksort (2021); merging from both ends at once from van den
 * Hoven's quadsort (2020); merges cut at medians as in Cormen et al.
 */
#ifndef SKUA_SORT_TEMPLATE_H
#define SKUA_SORT_TEMPLATE_H

#include <skua/parallel.h>

/* Arrays of up to this many items are sorted without recursion. */
#define SKUA_SORT_SMALL 32
/* Arrays of fewer items are sorted without a fork. */
#define SKUA_SORT_FORKED 1024
/* Number of items between two checks whether other threads ask for work. */
#define SKUA_SORT_CHUNK 8192
/* With fewer items, one thread alone checks whether the array is in order. */
#define SKUA_SORT_CHECKED 2048
/* Number of items that are compared before one branch tells whether they are in
 * order. */
#define SKUA_SORT_AT_ONCE 16
/* Two runs are merged through the stack if they have at most this many bytes, or at
 * most 64 items. */
#define SKUA_SORT_IN_PLACE 4096

/* Unroll the next loop four times. Clang does so by itself. */
#if defined(__GNUC__) && !defined(__clang__)
#define SKUA_SORT_UNROLL _Pragma("GCC unroll 4")
#else
#define SKUA_SORT_UNROLL
#endif

#define SKUA_SORT_PASTE_(a, b) a##_##b
#define SKUA_SORT_PASTE(a, b)  SKUA_SORT_PASTE_(a, b)
/* Make a name that belongs to the current sort. */
#define SKUA_SORT_(name) SKUA_SORT_PASTE(SKUA_SORT_NAME, name)

/* Attributes of a function that each sort has, private to the sort. */
#define SKUA_SORTER static inline
/* Attributes of such a function whose loops the compiler should specialise for
 * constant arguments. */
#define SKUA_SORTER_INLINED __attribute__((always_inline)) static inline
/* Attributes of such a function with a large frame, which would enlarge the frame
 * of its caller. */
#define SKUA_SORTER_APART          __attribute__((noinline)) static
#define skua_sorter_before         SKUA_SORT_(before)
#define skua_sorter_break_pattern  SKUA_SORT_(break_pattern)
#define skua_sorter_copy           SKUA_SORT_(copy)
#define skua_sorter_eight          SKUA_SORT_(eight)
#define skua_sorter_ends           SKUA_SORT_(ends)
#define skua_sorter_ends_of        SKUA_SORT_(ends_of)
#define skua_sorter_few            SKUA_SORT_(few)
#define skua_sorter_first_run      SKUA_SORT_(first_run)
#define skua_sorter_four           SKUA_SORT_(four)
#define skua_sorter_heap           SKUA_SORT_(heap)
#define skua_sorter_in_front       SKUA_SORT_(in_front)
#define skua_sorter_in_place_call  SKUA_SORT_(in_place_call)
#define skua_sorter_in_place_few   SKUA_SORT_(in_place_few)
#define skua_sorter_in_place_job   SKUA_SORT_(in_place_job)
#define skua_sorter_in_place_most  SKUA_SORT_(in_place_most)
#define skua_sorter_item           SKUA_SORT_(item)
#define skua_sorter_less           SKUA_SORT_(less)
#define skua_sorter_lomuto         SKUA_SORT_(lomuto)
#define skua_sorter_median         SKUA_SORT_(median)
#define skua_sorter_merge          SKUA_SORT_(merge)
#define skua_sorter_merge_all      SKUA_SORT_(merge_all)
#define skua_sorter_merge_both     SKUA_SORT_(merge_both)
#define skua_sorter_merge_call     SKUA_SORT_(merge_call)
#define skua_sorter_merge_cut      SKUA_SORT_(merge_cut)
#define skua_sorter_merge_halves   SKUA_SORT_(merge_halves)
#define skua_sorter_merge_here     SKUA_SORT_(merge_here)
#define skua_sorter_merge_in_place SKUA_SORT_(merge_in_place)
#define skua_sorter_merge_job      SKUA_SORT_(merge_job)
#define skua_sorter_merge_rank     SKUA_SORT_(merge_rank)
#define skua_sorter_merge_rest     SKUA_SORT_(merge_rest)
#define skua_sorter_merge_sort     SKUA_SORT_(merge_sort)
#define skua_sorter_partition      SKUA_SORT_(partition)
#define skua_sorter_partition_call SKUA_SORT_(partition_call)
#define skua_sorter_partition_few  SKUA_SORT_(partition_few)
#define skua_sorter_partition_job  SKUA_SORT_(partition_job)
#define skua_sorter_pick           SKUA_SORT_(pick)
#define skua_sorter_pivot          SKUA_SORT_(pivot)
#define skua_sorter_quick          SKUA_SORT_(quick)
#define skua_sorter_quick_call     SKUA_SORT_(quick_call)
#define skua_sorter_quick_job      SKUA_SORT_(quick_job)
#define skua_sorter_rotate         SKUA_SORT_(rotate)
#define skua_sorter_run            SKUA_SORT_(run)
#define skua_sorter_run_breaks     SKUA_SORT_(run_breaks)
#define skua_sorter_run_find       SKUA_SORT_(run_find)
#define skua_sorter_run_reverse    SKUA_SORT_(run_reverse)
#define skua_sorter_sift           SKUA_SORT_(sift)
#define skua_sorter_small          SKUA_SORT_(small)
#define skua_sorter_stable_call    SKUA_SORT_(stable_call)
#define skua_sorter_stable_job     SKUA_SORT_(stable_job)
#define skua_sorter_step_back      SKUA_SORT_(step_back)
#define skua_sorter_step_front     SKUA_SORT_(step_front)
#define skua_sorter_steps          SKUA_SORT_(steps)
#define skua_sorter_swap           SKUA_SORT_(swap)

#endif

#if defined(SKUA_SORT_NAME) && defined(SKUA_SORT_TYPE) && \
	defined(SKUA_SORT_LESS)

typedef SKUA_SORT_TYPE skua_sorter_item;

SKUA_SORTER bool skua_sorter_less(const skua_sorter_item *a,
				  const skua_sorter_item *b,
				  void *arg) SKUA_NOTHROW
{
	(void)arg;
	return SKUA_SORT_LESS(a, b, arg);
}

/* Return @b if @second, else @a, without a branch; compilers would emit one. */
SKUA_SORTER const skua_sorter_item *skua_sorter_pick(bool second,
						     const skua_sorter_item *a,
						     const skua_sorter_item *b)
{
	const uintptr_t first = SKUA_REINTERPRET_CAST(uintptr_t, a);
	const uintptr_t other = SKUA_REINTERPRET_CAST(uintptr_t, b);
	const uintptr_t mask = 0 - SKUA_STATIC_CAST(uintptr_t, second);

	return SKUA_REINTERPRET_CAST(const skua_sorter_item *,
				     first ^ ((first ^ other) & mask));
}

SKUA_SORTER void skua_sorter_swap(skua_sorter_item *a, skua_sorter_item *b)
{
	const skua_sorter_item held = *a;

	*a = *b;
	*b = held;
}

#include <skua/sort_small.h>
#include <skua/sort_merge.h>
#include <skua/sort_runs.h>
#include <skua/sort_quick.h>
#include <skua/sort_stable.h>

#undef SKUA_SORT_NAME
#undef SKUA_SORT_TYPE
#undef SKUA_SORT_LESS

#elif defined(SKUA_SORT_NAME) || defined(SKUA_SORT_TYPE) || \
	defined(SKUA_SORT_LESS)
#error "SKUA_SORT_NAME, SKUA_SORT_TYPE and SKUA_SORT_LESS: all three or none"
#endif
