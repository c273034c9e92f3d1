/* SPDX-License-Identifier: MIT */
/**
 * target_budget.h - limit how much one process may cost the tools that read it
 *
 * Work is counted in bytes: the bytes read, and TARGET_READ_COST for each read.
 * The count depends on the process alone, not on how busy the machine is. A
 * target may spend TARGET_WORK at once, and TARGET_WORK_SECOND more for each
 * second that passes. A loop spends faster than that, so each loop ends. After
 * SIGINT or SIGTERM, if the verb has blocked it, only TARGET_WORK_LAST is left,
 * which is spent in tens of milliseconds.
 *
 * Rejected: CPU time, because a recorder that writes much would pay for that,
 * too.
 */
#ifndef SKUA_BPF_TARGET_BUDGET_H
#define SKUA_BPF_TARGET_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define TARGET_WORK        (UINT64_C(256) << 20)
#define TARGET_WORK_SECOND (UINT64_C(64) << 20)
#define TARGET_WORK_LAST   (UINT64_C(32) << 20)
#define TARGET_WORK_FIBERS \
	(UINT64_C(1) << 30) /* more, to read 100,000 fibers */
#define TARGET_READ_COST UINT64_C(2048)
#define TARGET_HELD      (UINT64_C(24) << 20) /* bytes of file tables kept */

/**
 * struct target_budget - the budget of one process
 * @left: work that is left
 * @checked: @left at the last check of the clock and of signals
 * @at_ns: time of that check
 * @most: the most that is ever left
 * @held: bytes of tables that are kept
 * @ending: a signal has come
 */
struct target_budget {
	uint64_t left, checked, most;
	uint64_t at_ns;
	uint64_t held;
	bool ending;
};

/* target_is_signalled - return whether a blocked SIGINT or SIGTERM is
 * pending */
bool target_is_signalled(void);

void target_budget_begin(struct target_budget *budget);

/* target_budget_raise - allow @work more */
void target_budget_raise(struct target_budget *budget, uint64_t work);

/* target_budget_spend - spend @work. Return: false if less is left; nothing is
 * spent then */
bool target_budget_spend(struct target_budget *budget, uint64_t work);

/* target_budget_hold - reserve @bytes of memory until the end. Return: false if
 * less is left; nothing is reserved then */
bool target_budget_hold(struct target_budget *budget, uint64_t bytes);

#endif
