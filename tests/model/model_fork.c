/* SPDX-License-Identifier: MIT */
/**
 * model_fork.c - core/os/process_generation.c: threads that make the first runtimes of a process
 *
 * All get the same generation, which is none of an ancestor's, and there is one
 * page. A child is a page that reads as 0 again.
 */
#include <sys/mman.h>
#include <unistd.h>

#define mmap(at, size, prot, flags, fd, offset) ((void)(size), new_page())
#define munmap(at, size)                        unmapped(at)
#define madvise(at, size, advice)               wiped(at)

static void *new_page(void);
static void unmapped(const void *page);
static int wiped(const void *page);

#include "core/os/process_generation.c"

#define ADOPTERS 3

static atomic_u32 pages[ADOPTERS];
static bool gone[ADOPTERS]; /* plain */
static unsigned mapped;
static uint32_t generations[ADOPTERS];
static uint32_t ancestors; /* their latest generation */

static void *new_page(void)
{
	atomic_init(&pages[mapped], 0);
	gone[mapped] = false;
	return &pages[mapped++];
}

static void unmapped(const void *page)
{
	gone[(const atomic_u32 *)page - pages] = true;
}

static int wiped(const void *page)
{
	(void)page;
	return 0;
}

static void setup(void)
{
	atomic_init(&process_generation_page, NULL);
	atomic_init(&latest, 0);
	mapped = 0;
	ancestors = 0;
	for (unsigned i = 0; i < ADOPTERS; i++)
		generations[i] = UINT32_MAX;
}

static void setup_child(void)
{
	setup();
	atomic_init(&process_generation_page, new_page());
	atomic_init(&latest, 4);
	ancestors = 4;
}

/* The number is a field of a task's flags: no process has one beyond. */
static void setup_last(void)
{
	setup();
	atomic_init(&latest, PROCESS_GENERATION_MAX - 1);
}

static void setup_used_up(void)
{
	setup();
	atomic_init(&latest, PROCESS_GENERATION_MAX);
}

static void adopt(unsigned i)
{
	explore_assert(process_generation_adopt(&generations[i]) == 0);
	/* As the owner of a runtime asks from then on. */
	explore_assert(process_generation() == generations[i]);
}

static void adopts_0(void)
{
	adopt(0);
}

static void adopts_1(void)
{
	adopt(1);
}

static void adopts_2(void)
{
	adopt(2);
}

static void check(void)
{
	explore_assert(generations[0] > ancestors);
	for (unsigned i = 0; i < ADOPTERS; i++)
		explore_assert(generations[i] == UINT32_MAX ||
			       generations[i] == generations[0]);
	explore_assert(
		!gone[atomic_load_relaxed(&process_generation_page) - pages]);
}

static void check_last(void)
{
	/* A thread that comes too late for it finds it in the page, or has none. */
	explore_assert(generations[0] == PROCESS_GENERATION_MAX ||
		       generations[0] == 0);
	explore_assert(generations[1] == PROCESS_GENERATION_MAX ||
		       generations[1] == 0);
	explore_assert(generations[0] || generations[1]);
}

static void asks_0(void)
{
	if (process_generation_adopt(&generations[0]) != 0)
		generations[0] = 0;
}

static void asks_1(void)
{
	if (process_generation_adopt(&generations[1]) != 0)
		generations[1] = 0;
}

static void check_used_up(void)
{
	explore_assert(generations[0] == 0 && generations[1] == 0);
	explore_assert(process_generation() == 0);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("two_adopt", setup, check, adopts_0, adopts_1) },
	{ EXPLORE_PASS("three_adopt", setup, check, adopts_0, adopts_1,
		       adopts_2) },
	{ EXPLORE_PASS("two_adopt_in_a_child", setup_child, check, adopts_0,
		       adopts_1) },
	{ EXPLORE_PASS("two_adopt_the_last", setup_last, check_last, asks_0,
		       asks_1) },
	{ EXPLORE_PASS("two_adopt__used_up", setup_used_up, check_used_up,
		       asks_0, asks_1) },
};

EXPLORE_MAIN(cases)
