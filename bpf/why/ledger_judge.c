/* SPDX-License-Identifier: MIT */
/* ledger_judge.c - finds the slowest items and what their time went to */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/sorted.h"
#include "bpf/why/ledger.h"

/* If its largest cause has at least this share of a part, no other cause is
 * named. */
#define ALONE 0.8

#define SLOW_MIN 10u
#define SLOW_MAX 1000u
#define REASONS  64u /* distinct reasons that are kept */

/* ---- ranks --------------------------------------------------------------- */

/* Sort the slowest first. */
static int compare_items(const void *left, const void *right)
{
	const struct ledger_item *a = left, *b = right;

	if (ledger_took(a) != ledger_took(b))
		return compare_numbers(ledger_took(b), ledger_took(a));
	if (a->from_ns != b->from_ns)
		return compare_numbers(a->from_ns, b->from_ns);
	return compare_numbers(a->task, b->task);
}

static int compare_types(const void *left, const void *right)
{
	const struct ledger_type *a = left, *b = right;

	int order = compare_numbers(b->longest_ns, a->longest_ns);

	return order ? order : compare_numbers(a->name, b->name);
}

static uint64_t slow_of(uint64_t count)
{
	uint64_t slow = count / 100 > 0 ? count / 100 : 1;

	return slow < SLOW_MAX ? slow : SLOW_MAX;
}

static void sum_up(uint64_t *sums, const struct ledger_split *split)
{
	for (unsigned i = 0; i < LEDGER_PARTS; i++)
		sums[i] += split->parts[i];
}

/* Count the next slowest item of a type. @type->count items so far were slower;
 * @count: number of items of the type. */
static void rank_item(struct ledger_type *type, uint64_t count,
		      const struct ledger_item *item,
		      const struct ledger_split *split)
{
	uint64_t rank = type->count++, took = ledger_took(item);

	if (rank == 0)
		type->longest_ns = took;
	if (rank == count / 1000) {
		type->p999_ns = took;
		memcpy(type->p999, split->parts, sizeof(type->p999));
	}
	if (rank == count / 100)
		type->p99_ns = took;
	if (rank == count / 2)
		type->p50_ns = took;
	if (rank < slow_of(count)) {
		sum_up(type->means, split);
		type->slow++;
	}
}

static bool is_split(const struct ledger_type *type, uint64_t count)
{
	return type->count < slow_of(count) || type->count == count / 1000;
}

/* Items are sorted: each is the next slowest of all, and of its type. */
static int rank(struct ledger *l, struct ledger_verdict *v)
{
	uint64_t *counts = calloc(l->name_count + 1, sizeof(*counts));
	struct ledger_split split = { .ahead = 0 };

	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < l->count; i++)
		counts[l->items[i].name]++;
	for (size_t i = 0; i < l->count; i++) {
		const struct ledger_item *item = &l->items[i];
		struct ledger_type *all = &v->types[0];
		struct ledger_type *type = &v->types[1 + item->name];

		if (is_split(all, l->count) ||
		    is_split(type, counts[item->name]))
			ledger_split(l, item, &split);
		rank_item(all, l->count, item, &split);
		rank_item(type, counts[item->name], item, &split);
	}
	free(counts);
	return 0;
}

static int make_types(struct ledger *l, struct ledger_verdict *v)
{
	size_t used = 1;

	v->types = calloc(l->name_count + 1, sizeof(*v->types));
	if (!v->types)
		return -ENOMEM;
	v->types[0].name = LEDGER_NOBODY;
	for (size_t i = 0; i < l->name_count; i++)
		v->types[1 + i].name = (uint32_t)i;
	if (rank(l, v))
		return -ENOMEM;
	for (size_t i = 0; i <= l->name_count; i++) {
		for (unsigned k = 0; k < LEDGER_PARTS; k++)
			if (v->types[i].slow > 0)
				v->types[i].means[k] /= v->types[i].slow;
		if (i > 0 && v->types[i].count > 0) /* jobs have names, too */
			v->types[used++] = v->types[i];
	}
	v->type_count = used;
	qsort(&v->types[1], used - 1, sizeof(*v->types), compare_types);
	return 0;
}

/* ---- the verdict --------------------------------------------------------- */

static bool is_alike(const struct ledger_reason *a,
		     const struct ledger_reason *b)
{
	return a->kind == b->kind && ledger_is_alike(a, b) &&
	       (a->how == LEDGER_STOP) == (b->how == LEDGER_STOP) &&
	       strcmp(a->culprit, b->culprit) == 0 &&
	       strcmp(a->label, b->label) == 0;
}

static void add_did(struct ledger_reason *to, const struct ledger_reason *what)
{
	to->ns += what->ns;
	to->times += what->times;
	if (to->longest_ns < what->longest_ns)
		to->longest_ns = what->longest_ns;
	for (unsigned i = 0; i < LEDGER_PARTS; i++)
		to->did[i] += what->did[i];
}

/* Add a reason. If the list has one with the same culprit, add to that one. */
static void add_reason(struct ledger_reason *reasons, unsigned *count,
		       const struct ledger_reason *what)
{
	unsigned i = 0;

	while (i < *count && !is_alike(&reasons[i], what))
		i++;
	if (i == REASONS)
		return;
	if (i == *count) {
		reasons[(*count)++] = *what;
		return;
	}
	add_did(&reasons[i], what);
	if (reasons[i].burst < what->burst) {
		reasons[i].burst = what->burst;
		reasons[i].burst_ns = what->burst_ns;
	}
}

/* Sum up the reasons @at and later ones, which have the same lock but other holders. The
 * sum has the name of the most important holder. */
static struct ledger_reason sum_lock(const struct ledger_reason *reasons,
				     unsigned count, unsigned at)
{
	struct ledger_reason sum = reasons[at];
	uint64_t most = sum.ns;

	for (unsigned i = at + 1; sum.lock && i < count; i++) {
		const struct ledger_reason *r = &reasons[i];

		if (!ledger_is_alike(r, &sum))
			continue;
		add_did(&sum, r);
		if (r->ns <= most)
			continue;
		most = r->ns;
		sum.holder = r->holder;
		memcpy(sum.culprit, r->culprit, sizeof(sum.culprit));
		memcpy(sum.label, r->label, sizeof(sum.label));
	}
	sum.others = (double)most < ALONE * (double)sum.ns;
	return sum;
}

/* Find the main cause of a part. */
static struct ledger_share share_of(const struct ledger_reason *reasons,
				    unsigned count, unsigned part,
				    uint64_t part_ns, uint64_t total_ns)
{
	struct ledger_share share = { .reason = { .kind = part,
						  .ns = part_ns } };
	bool found = false;

	for (unsigned i = 0; i < count; i++) {
		struct ledger_reason sum;

		if (ledger_part_of(&reasons[i]) != part)
			continue;
		sum = sum_lock(reasons, count, i);
		if (!found || sum.ns > share.reason.ns)
			share.reason = sum;
		found = true;
	}
	if (total_ns > 0) {
		share.share = (double)share.reason.ns / (double)total_ns;
		share.part_share = (double)part_ns / (double)total_ns;
	}
	share.several = share.reason.kind < LEDGER_PARTS &&
			(share.reason.culprit[0] || share.reason.lock) &&
			share.share < ALONE * share.part_share;
	return share;
}

double ledger_said(const struct ledger_share *share)
{
	return share->several ? share->part_share : share->share;
}

static int compare_shares(const void *a, const void *b)
{
	double x = ledger_said(a), y = ledger_said(b);

	return (x < y) - (x > y);
}

/* Compute the shares. @parts: sums over the judged items; they are zeroed. */
static void settle(const struct ledger_reason *reasons, unsigned count,
		   uint64_t *parts, struct ledger_verdict *v)
{
	uint64_t total_ns = 0;

	for (unsigned i = 0; i < LEDGER_PARTS; i++)
		total_ns += parts[i];
	while (v->share_count < LEDGER_NAMED) {
		unsigned part = 0;

		for (unsigned i = 1; i < LEDGER_PARTS; i++)
			if (parts[i] > parts[part])
				part = i;
		if (v->share_count > 0 && parts[part] <= total_ns / 10)
			break;
		v->shares[v->share_count++] =
			share_of(reasons, count, part, parts[part], total_ns);
		parts[part] = 0;
	}
	qsort(v->shares, v->share_count, sizeof(*v->shares), compare_shares);
}

/* If a poll has not ended, has taken an eighth of the recording or more, and
 * longer than any item, put it first: the tasks that wait for it are in no
 * item. */
static void settle_unfinished(const struct ledger *l, struct ledger_verdict *v)
{
	uint64_t start = trace_about(l->trace)->meta.start.monotonic_ns;
	const struct ledger_unfinished *most = NULL;
	struct ledger_reason *r = &v->shares[0].reason;

	for (unsigned i = 0; i < l->unfinished_count; i++)
		if (!most || l->unfinished[i].ns > most->ns)
			most = &l->unfinished[i];
	if (!most || most->ns < (l->stop_ns - start) / 8 ||
	    (l->count > 0 && most->ns <= ledger_took(&l->items[0])))
		return;
	memmove(&v->shares[1], v->shares,
		v->share_count++ * sizeof(*v->shares));
	v->shares[0] = (struct ledger_share){ .share = 0 };
	*r = (struct ledger_reason){ .kind = LEDGER_UNFINISHED,
				     .track = most->track,
				     .ns = most->ns,
				     .times = 1,
				     .longest_ns = most->ns,
				     .burst = most->behind,
				     .burst_ns = most->oldest_ns,
				     .unseen = most->unseen };
	if (most->name < l->name_count)
		snprintf(r->culprit, sizeof(r->culprit), "%s",
			 l->names[most->name]);
	if (most->label < l->name_count)
		snprintf(r->label, sizeof(r->label), "%s",
			 l->names[most->label]);
}

/* Number of items that took longer than a limit. Items are sorted. */
static size_t count_slower(const struct ledger *l, uint64_t slower_than_ns)
{
	size_t count = 0;

	while (count < l->count &&
	       ledger_took(&l->items[count]) > slower_than_ns)
		count++;
	return count;
}

/* Number of the slowest items that the verdict is about. */
static uint64_t judged_of(const struct ledger_verdict *v)
{
	uint64_t judged = slow_of(v->slower);

	if (v->slower_than_ns > 0)
		judged = SLOW_MAX;
	else if (judged < SLOW_MIN)
		judged = SLOW_MIN;
	return judged < v->slower ? judged : v->slower;
}

int ledger_judge(struct ledger *l, size_t most, uint64_t slower_than_ns,
		 struct ledger_verdict *v)
{
	struct ledger_reason reasons[REASONS];
	uint64_t parts[LEDGER_PARTS] = { 0 };
	unsigned count = 0;

	*v = (struct ledger_verdict){ .slower_than_ns = slower_than_ns };
	if (l->count > 0)
		qsort(l->items, l->count, sizeof(*l->items), compare_items);
	v->slower =
		slower_than_ns > 0 ? count_slower(l, slower_than_ns) : l->count;
	v->judged = judged_of(v);
	if (make_types(l, v))
		return -ENOMEM;
	v->slow_count = most < v->slower ? most : v->slower;
	v->looked = v->slow_count > v->judged ? v->slow_count : v->judged;
	v->slow = calloc(v->looked + 1, sizeof(*v->slow));
	if (!v->slow)
		return -ENOMEM;
	for (size_t i = 0; i < v->looked; i++) {
		struct ledger_slow *slow = &v->slow[i];

		slow->item = l->items[i];
		ledger_split(l, &slow->item, &slow->split);
		slow->reason_count = ledger_reasons(
			l, &slow->item, &slow->split, slow->reasons);
		if (i >= v->judged)
			continue;
		for (unsigned k = 0; k < slow->reason_count; k++)
			add_reason(reasons, &count, &slow->reasons[k]);
		sum_up(parts, &slow->split);
	}
	if (ledger_find_incidents(v, v->looked))
		return -ENOMEM;
	if (v->judged > 0)
		settle(reasons, count, parts, v);
	settle_unfinished(l, v);
	ledger_find_delays(l, v);
	return 0;
}

void ledger_free(struct ledger_verdict *v)
{
	free(v->slow);
	free(v->incidents);
	free(v->types);
	memset(v, 0, sizeof(*v));
}
