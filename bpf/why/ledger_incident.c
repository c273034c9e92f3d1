/* SPDX-License-Identifier: MIT */
/* ledger_incident.c - groups slow items with the same cause, to report them
 * once */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/why/ledger.h"

/* ---- grouping ------------------------------------------------------------ */

/* Whether two items have the same culprit, or without a culprit the same
 * worker. A stop hits all workers of the process. Items are not grouped by time
 * that a task took itself, as it delays no other task, nor by unknown time. */
static bool is_one(const struct ledger_reason *a, const struct ledger_reason *b)
{
	bool stopped = a->how == LEDGER_STOP;

	if (a->kind == LEDGER_RUNNING || a->kind == LEDGER_UNKNOWN ||
	    a->kind != b->kind || !ledger_is_alike(a, b) ||
	    stopped != (b->how == LEDGER_STOP))
		return false;
	if (stopped || a->culprit[0])
		return strcmp(a->culprit, b->culprit) == 0 &&
		       strcmp(a->label, b->label) == 0;
	return b->culprit[0] == '\0' && a->track == b->track;
}

/* Find the incident during which @slow began. Items come in the order of
 * from_ns. */
static struct ledger_incident *find(struct ledger_verdict *v,
				    const struct ledger_slow *slow)
{
	for (size_t i = v->incident_count; i > 0; i--) {
		struct ledger_incident *in = &v->incidents[i - 1];

		if (slow->item.from_ns < in->to_ns &&
		    is_one(&slow->reasons[0], &v->slow[in->worst].reasons[0]))
			return in;
	}
	return NULL;
}

static void count_hit(struct ledger_incident *in, uint32_t name)
{
	unsigned i = 0;

	in->tasks++;
	while (i < in->hit_count && in->hits[i].name != name)
		i++;
	if (i == LEDGER_HITS)
		return;
	if (i == in->hit_count)
		in->hits[in->hit_count++].name = name;
	in->hits[i].count++;
}

/* @index: in v->slow, where the slowest comes first. */
static void add_slow(struct ledger_verdict *v, size_t index)
{
	const struct ledger_slow *slow = &v->slow[index];
	struct ledger_incident *in = find(v, slow);

	if (!in) {
		in = &v->incidents[v->incident_count++];
		*in = (struct ledger_incident){ .from_ns = slow->item.from_ns,
						.worst = index };
	}
	if (in->to_ns < slow->item.end_ns)
		in->to_ns = slow->item.end_ns;
	if (in->worst > index)
		in->worst = index;
	count_hit(in, slow->item.name);
}

/* ---- sorting ------------------------------------------------------------- */

struct order {
	uint64_t from_ns;
	size_t index;
};

static int compare_orders(const void *left, const void *right)
{
	const struct order *a = left, *b = right;

	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return a->index < b->index ? -1 : 1;
}

static int compare_incidents(const void *left, const void *right)
{
	const struct ledger_incident *a = left, *b = right;

	return a->worst < b->worst ? -1 : 1;
}

static int compare_hits(const void *left, const void *right)
{
	const struct ledger_hit *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a->name < b->name ? -1 : 1;
}

int ledger_find_incidents(struct ledger_verdict *v, size_t count)
{
	struct order *orders = calloc(count + 1, sizeof(*orders));

	v->incidents = calloc(count + 1, sizeof(*v->incidents));
	if (!orders || !v->incidents) {
		free(orders);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		orders[i] = (struct order){ v->slow[i].item.from_ns, i };
	qsort(orders, count, sizeof(*orders), compare_orders);
	for (size_t i = 0; i < count; i++)
		add_slow(v, orders[i].index);
	free(orders);
	qsort(v->incidents, v->incident_count, sizeof(*v->incidents),
	      compare_incidents);
	for (size_t i = 0; i < v->incident_count; i++)
		qsort(v->incidents[i].hits, v->incidents[i].hit_count,
		      sizeof(*v->incidents[i].hits), compare_hits);
	return 0;
}
