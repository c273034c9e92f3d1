/* SPDX-License-Identifier: MIT */
/**
 * target_budget.h - how much one process may cost the tools that look at it
 *
 * Work is counted in bytes: those that were read, and TARGET_READ_COST for each
 * read. The count depends on the process alone, and not on how busy the machine
 * is. A target may spend TARGET_WORK at once, and TARGET_WORK_SECOND more for each
 * second that passes: less than a loop can spend, so that each loop ends. After SIGINT or SIGTERM, which a verb has blocked, it may spend
 * TARGET_WORK_LAST, and no more: tens of milliseconds.
 *
 * Rejected: CPU time, as a recorder that writes much would pay for that too.
 */
#ifndef SKUA_BPF_TARGET_BUDGET_H
#define SKUA_BPF_TARGET_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define TARGET_WORK        (UINT64_C(256) << 20)
#define TARGET_WORK_SECOND (UINT64_C(64) << 20)
#define TARGET_WORK_LAST   (UINT64_C(32) << 20)
#define TARGET_READ_COST   UINT64_C(2048)
#define TARGET_HELD        (UINT64_C(24) << 20) /* of tables of its files */

/**
 * struct target_budget - of one process
 * @left: work
 * @checked: what was left when the clock and the signals were looked at
 * @at_ns: when that was
 * @held: bytes of tables that are kept
 * @ending: a signal has come
 */
struct target_budget {
	uint64_t left, checked;
	uint64_t at_ns;
	uint64_t held;
	bool ending;
};

/* target_is_signalled - has SIGINT or SIGTERM come, which a verb has blocked? */
bool target_is_signalled(void);

void target_budget_begin(struct target_budget *budget);

/* target_budget_spend - Return: false: so much is not left; then it is not spent */
bool target_budget_spend(struct target_budget *budget, uint64_t work);

/* target_budget_hold - the same for memory that is kept until the end */
bool target_budget_hold(struct target_budget *budget, uint64_t bytes);

#endif
