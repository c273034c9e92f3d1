/* SPDX-License-Identifier: MIT */
/**
 * case_kind.h - the kinds of the cases of a select: a table with one row for each kind
 *
 * A kind with a verb (await.h) waits in the list of its object, or of a descriptor at its
 * direction. The end of a task or of a group has no wait in a list: the select itself is told
 * of it (select_join.h, select_group.h), and of the wait of its case only the stage is used,
 * which says whether the case is armed. The others wait for nothing, or for a time.
 */
#ifndef SKUA_CORE_SELECT_CASE_KIND_H
#define SKUA_CORE_SELECT_CASE_KIND_H

#include <errno.h>

#include "core/base/clock.h"
#include "core/channel/verbs.h"
#include "core/io/ready.h"
#include "core/select/select_group.h"
#include "core/select/select_join.h"
#include "core/sync/verbs.h"
#include "skua/select.h"

/* The wait for an end. Return: as the functions of select_join.h. */
struct end_verb {
	int (*arm)(void *object, struct skua_wait *select);
	int (*look)(void *object);
	int (*withdraw)(void *object, struct skua_wait *select);
};

struct case_kind {
	/* Return: are the operands valid? */
	bool (*fits)(const struct skua_select_case *it);
	/* Return: -EAGAIN: not now. Otherwise what the operation returns. */
	int (*attempt)(struct skua_select_case *it);
	const struct wait_verb *verb;
	/* Return: the amount of the wait. NULL: the amount is the address of the item. */
	uint64_t (*amount)(const struct skua_select_case *it);
	/* Of a kind that has another object, or no fixed verb. Return: the verb. */
	const struct wait_verb *(*begin)(struct skua_select_case *it,
					 uint64_t *amount, void **object);
	const struct end_verb *end;
	/* A step that returns 0 has received nothing yet: an attempt must follow. */
	bool gets_later;
};

/* ---- operands --------------------------------------------------------------- */

static bool needs_nothing(const struct skua_select_case *it)
{
	(void)it;
	return true;
}

static bool has_object(const struct skua_select_case *it)
{
	return it->object;
}

static bool has_item(const struct skua_select_case *it)
{
	return it->object && it->item;
}

static bool has_subscription(const struct skua_select_case *it)
{
	const struct skua_subscription *subscription = it->object;

	return subscription && subscription->broadcast && it->item;
}

static bool has_permits(const struct skua_select_case *it)
{
	return it->object && it->amount > 0 && it->amount <= SKUA_MAX_PERMITS;
}

static bool has_events(const struct skua_select_case *it)
{
	return it->object && ready_events_fit(it->amount);
}

static struct skua_io handle_of(const struct skua_select_case *it)
{
	return *(const struct skua_io *)it->object;
}

static uint64_t amount_given(const struct skua_select_case *it)
{
	return it->amount;
}

static uint64_t amount_reader(const struct skua_select_case *it)
{
	(void)it;
	return 0;
}

static uint64_t amount_writer(const struct skua_select_case *it)
{
	(void)it;
	return 1;
}

/* ---- attempts --------------------------------------------------------------- */

static int never(struct skua_select_case *it)
{
	(void)it;
	return -EAGAIN;
}

static int try_send(struct skua_select_case *it)
{
	return skua_channel_send_try(it->object, it->item);
}

static int try_receive(struct skua_select_case *it)
{
	return skua_channel_receive_try(it->object, it->item);
}

static int try_oneshot(struct skua_select_case *it)
{
	return skua_oneshot_receive_try(it->object, it->item);
}

static int try_subscription(struct skua_select_case *it)
{
	return skua_subscription_receive_try(it->object, it->item, &it->amount);
}

static int try_watch(struct skua_select_case *it)
{
	return skua_watch_changed_try(it->object, &it->amount, it->item);
}

static int try_lock(struct skua_select_case *it)
{
	return skua_mutex_lock_try(it->object);
}

static int try_permits(struct skua_select_case *it)
{
	return skua_semaphore_acquire_try(it->object, it->amount);
}

static int try_event(struct skua_select_case *it)
{
	return skua_event_is_set(it->object) ? 0 : -EAGAIN;
}

static int try_notify(struct skua_select_case *it)
{
	return notify_take(it->object) ? 0 : -EAGAIN;
}

static int try_join(struct skua_select_case *it)
{
	return select_join_try(it->object);
}

static int try_time(struct skua_select_case *it)
{
	bool has_come =
		it->amount != SKUA_FOREVER_NS && clock_now_ns() >= it->amount;

	return has_come ? 0 : -EAGAIN;
}

static int try_io(struct skua_select_case *it)
{
	return skua_io_wait_try(handle_of(it), (short)it->amount);
}

static int try_group(struct skua_select_case *it)
{
	return select_group_try(it->object);
}

static int try_read_lock(struct skua_select_case *it)
{
	return skua_rwlock_read_try(it->object);
}

static int try_write_lock(struct skua_select_case *it)
{
	return skua_rwlock_write_try(it->object);
}

static int try_spsc_send(struct skua_select_case *it)
{
	return skua_spsc_send_try(it->object, it->item);
}

static int try_spsc_receive(struct skua_select_case *it)
{
	return skua_spsc_receive_try(it->object, it->item);
}

/* ---- special waits ----------------------------------------------------------- */

static const struct wait_verb *
begin_subscription(struct skua_select_case *it, uint64_t *amount, void **object)
{
	const struct skua_subscription *subscription = it->object;

	*object = subscription->broadcast;
	*amount = subscription->next;
	return &broadcast_verb;
}

/* The slot of the descriptor is the object. */
static const struct wait_verb *begin_io(struct skua_select_case *it,
					uint64_t *amount, void **object)
{
	const struct wait_verb *verb =
		ready_begin(&it->wait, handle_of(it), it->amount, object);

	*amount = (uintptr_t)*object;
	return verb;
}

/* ---- ends ------------------------------------------------------------------- */

static int arm_join(void *task, struct skua_wait *select)
{
	return select_join_arm(task, select);
}

static int look_join(void *task)
{
	return select_join_look(task);
}

static int withdraw_join(void *task, struct skua_wait *select)
{
	return select_join_withdraw(task, select);
}

static const struct end_verb join_end = { arm_join, look_join, withdraw_join };

static int arm_group(void *group, struct skua_wait *select)
{
	return select_group_arm(group, select);
}

static int look_group(void *group)
{
	return select_group_look(group);
}

static int withdraw_group(void *group, struct skua_wait *select)
{
	return select_group_withdraw(group, select);
}

static const struct end_verb group_end = { arm_group, look_group,
					   withdraw_group };

/* ---- the table -------------------------------------------------------------- */

/* clang-format off */
static const struct case_kind case_kinds[] = {
	[SKUA_SELECT_NEVER] = { .fits = needs_nothing, .attempt = never },
	[SKUA_SELECT_SEND] = { .fits = has_item, .attempt = try_send,
		.verb = &channel_send_verb },
	[SKUA_SELECT_RECEIVE] = { .fits = has_item, .attempt = try_receive,
		.verb = &channel_receive_verb },
	[SKUA_SELECT_ONESHOT] = { .fits = has_item, .attempt = try_oneshot,
		.verb = &oneshot_verb },
	[SKUA_SELECT_SUBSCRIPTION] = { .fits = has_subscription, .attempt = try_subscription,
		.begin = begin_subscription, .gets_later = true },
	[SKUA_SELECT_WATCH] = { .fits = has_item, .attempt = try_watch,
		.verb = &watch_verb, .amount = amount_given, .gets_later = true },
	[SKUA_SELECT_LOCK] = { .fits = has_object, .attempt = try_lock,
		.verb = &mutex_verb },
	[SKUA_SELECT_PERMITS] = { .fits = has_permits, .attempt = try_permits,
		.verb = &semaphore_verb, .amount = amount_given },
	[SKUA_SELECT_EVENT] = { .fits = has_object, .attempt = try_event,
		.verb = &event_verb },
	[SKUA_SELECT_NOTIFY] = { .fits = has_object, .attempt = try_notify,
		.verb = &notify_verb },
	[SKUA_SELECT_JOIN] = { .fits = has_object, .attempt = try_join,
		.end = &join_end },
	[SKUA_SELECT_TIME] = { .fits = needs_nothing, .attempt = try_time },
	[SKUA_SELECT_IO] = { .fits = has_events, .attempt = try_io,
		.begin = begin_io },
	[SKUA_SELECT_GROUP] = { .fits = has_object, .attempt = try_group,
		.end = &group_end },
	[SKUA_SELECT_READ_LOCK] = { .fits = has_object, .attempt = try_read_lock,
		.verb = &rwlock_read_verb, .amount = amount_reader },
	[SKUA_SELECT_WRITE_LOCK] = { .fits = has_object, .attempt = try_write_lock,
		.verb = &rwlock_write_verb, .amount = amount_writer },
	[SKUA_SELECT_SPSC_SEND] = { .fits = has_item, .attempt = try_spsc_send,
		.verb = &spsc_send_verb },
	[SKUA_SELECT_SPSC_RECEIVE] = { .fits = has_item, .attempt = try_spsc_receive,
		.verb = &spsc_receive_verb },
};
/* clang-format on */

#define CASE_KINDS (sizeof(case_kinds) / sizeof(*case_kinds))

/* The kind of a case is one of these: checked by case_fits(). */
static inline const struct case_kind *
case_kind_of(const struct skua_select_case *it)
{
	return &case_kinds[it->kind];
}

static inline bool case_fits(const struct skua_select_case *it)
{
	return (uint32_t)it->kind < CASE_KINDS && case_kind_of(it)->fits(it);
}

/* case_try - Return: -EAGAIN: not now. Otherwise what the operation returns. */
static inline int case_try(struct skua_select_case *it)
{
	return case_kind_of(it)->attempt(it);
}

/* case_waits - has the case a wait in the list of its object, or of a descriptor? */
static inline bool case_waits(const struct skua_select_case *it)
{
	return case_kind_of(it)->verb || case_kind_of(it)->begin;
}

/* case_verb - the verb of a case that waits, the amount and the object of its wait */
static inline const struct wait_verb *case_verb(struct skua_select_case *it,
						uint64_t *amount, void **object)
{
	const struct case_kind *kind = case_kind_of(it);

	if (kind->begin)
		return kind->begin(it, amount, object);
	*object = it->object;
	*amount = kind->amount ? kind->amount(it) : (uintptr_t)it->item;
	return kind->verb;
}

#endif
