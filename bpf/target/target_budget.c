/* SPDX-License-Identifier: MIT */
/* target_budget.c - see target_budget.h */
#include "bpf/target/target_budget.h"

#include "bpf/cli/clock.h"

#include <signal.h>

#define CHECK_EACH (UINT64_C(1) << 20)
#define SECOND_NS  UINT64_C(1000000000)

/* A signal is pending only if the verb has blocked it; such a verb ends when
 * it sees the signal. Without the block, the signal would have ended the
 * process. */
bool target_is_signalled(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && (sigismember(&pending, SIGINT) ||
					     sigismember(&pending, SIGTERM));
}

static void refill(struct target_budget *budget)
{
	uint64_t now = now_ns(), passed = now - budget->at_ns;
	uint64_t seconds = passed / SECOND_NS, rest = passed % SECOND_NS;

	if (seconds > budget->most / TARGET_WORK_SECOND)
		seconds = budget->most / TARGET_WORK_SECOND;
	budget->left += seconds * TARGET_WORK_SECOND +
			rest * (TARGET_WORK_SECOND >> 20) / (SECOND_NS >> 20);
	if (budget->left > budget->most)
		budget->left = budget->most;
	budget->at_ns = now;
}

static void check(struct target_budget *budget)
{
	if (!budget->ending)
		refill(budget);
	if (!budget->ending && target_is_signalled()) {
		budget->ending = true;
		if (budget->left > TARGET_WORK_LAST)
			budget->left = TARGET_WORK_LAST;
	}
	budget->checked = budget->left;
}

void target_budget_begin(struct target_budget *budget)
{
	*budget = (struct target_budget){ .left = TARGET_WORK,
					  .checked = TARGET_WORK,
					  .most = TARGET_WORK,
					  .at_ns = now_ns() };
}

void target_budget_raise(struct target_budget *budget, uint64_t work)
{
	budget->left += work;
	budget->checked += work;
	budget->most += work;
}

bool target_budget_spend(struct target_budget *budget, uint64_t work)
{
	if (budget->checked - budget->left >= CHECK_EACH || work > budget->left)
		check(budget);
	if (work > budget->left)
		return false;
	budget->left -= work;
	return true;
}

bool target_budget_hold(struct target_budget *budget, uint64_t bytes)
{
	if (bytes > TARGET_HELD - budget->held)
		return false;
	budget->held += bytes;
	return true;
}
