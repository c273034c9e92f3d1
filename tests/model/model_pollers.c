/* SPDX-License-Identifier: MIT */
/**
 * model_pollers.c - core/driver/pollers.c: pollers that others register
 *
 * Two threads register pollers while their worker looks at those it knows. Each
 * is looked at, with all that its registrar wrote, until it is done; then it is
 * gone.
 */
#include "core/driver/pollers.c"

#include <string.h>

#define POLLERS 2

static struct pollers pollers;
static struct skua_poller sources[POLLERS];
static unsigned letters[POLLERS]; /* plain: from registrars to the worker */
static unsigned polled;

static int poll_once(struct skua_poller *poller)
{
	explore_assert(explore_read(letters[poller - sources]) == 7);
	polled++;
	return SKUA_POLLER_DONE;
}

static void setup(void)
{
	pollers_init(&pollers);
	memset(sources, 0, sizeof(sources));
	memset(letters, 0, sizeof(letters));
	polled = 0;
	explore_watch(sources, sizeof(sources));
}

static void add(unsigned i)
{
	explore_write(letters[i], 7);
	sources[i].poll = poll_once;
	pollers_add(&pollers, &sources[i]);
}

static void adds_0(void)
{
	add(0);
}

static void adds_1(void)
{
	add(1);
}

static void worker(void)
{
	while (polled < POLLERS) {
		pollers_run_owner(&pollers);
		cpu_relax();
	}
}

static void check(void)
{
	explore_assert(polled == POLLERS && !pollers.list);
}

static void add_relaxed(void)
{
	explore_write(letters[1], 7);
	sources[1] = (struct skua_poller){ .poll = poll_once };
	atomic_store_relaxed(&pollers.added, &sources[1]);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("two_added", setup, check, worker, adds_0, adds_1) },
	{ EXPLORE_BUG("added_relaxed", "data race", setup, NULL, worker,
		      add_relaxed) },
};

EXPLORE_MAIN(cases)
