/* SPDX-License-Identifier: MIT */
/* environment.c - see environment.h */
#include "probes/environment.h"

#include <stdbool.h>
#include <string.h>

#define PREFIX  "SKUA_"
#define LONGEST 40u /* longer names are like none */

static const char *const names[] = {
	"SKUA_WORKERS",
	"SKUA_QUEUE_CAPACITY",
	"SKUA_STEAL_ATTEMPTS",
	"SKUA_MAX_QUEUED",
	"SKUA_SPIN_NS",
	"SKUA_LIFO_STEAL_DELAY_NS",
	"SKUA_STEAL_MAX",
	"SKUA_STEAL_MAX_FAR",
	"SKUA_FAR_DELAY_NS",
	"SKUA_FAR_SAMPLES",
	"SKUA_STALL_LIMIT_NS",
	"SKUA_FIBER_STACK",
	"SKUA_BLOCKING_THREADS",
	"SKUA_BLOCKING_QUEUED",
	"SKUA_BLOCKING_IDLE_NS",
	"SKUA_PLACEMENT",
	"SKUA_CPUS",
	"SKUA_UNPINNED",
	"SKUA_HUGE_PAGES",
	"SKUA_MEASURE_TOPOLOGY",
	"SKUA_TRACK_TASKS",
};

#define COUNT (sizeof(names) / sizeof(*names))

const char *environment_variable(size_t index)
{
	return index < COUNT ? names[index] : NULL;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The number of letters to insert, leave out or change, or of neighbours to exchange, that make
 * one word of the other. Both are at most LONGEST long. */
static unsigned distance(const char *a, size_t a_length, const char *b,
			 size_t b_length)
{
	unsigned rows[3][LONGEST + 1];

	for (size_t i = 0; i <= a_length; i++) {
		unsigned *row = rows[i % 3];
		const unsigned *last = rows[(i + 2) % 3];
		const unsigned *before = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (size_t k = 1; k <= b_length; k++) {
			if (i == 0) {
				row[k] = (unsigned)k;
				continue;
			}
			row[k] = least(least(row[k - 1], last[k]) + 1,
				       last[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] &&
			    a[i - 2] == b[k - 1])
				row[k] = least(row[k], before[k - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

/* Return how much a word differs from that of a variable; COUNT * LONGEST: they are not alike.
 * One letter of a short name may differ, and three of a long one; or its last words may be
 * missing. */
static unsigned difference(const char *word, size_t length, const char *known)
{
	size_t known_length = strlen(known);
	unsigned most = known_length < 6 ? 1 : known_length < 9 ? 2 : 3;
	unsigned differs = distance(word, length, known, known_length);

	if (differs > most && length > 3 && length < known_length &&
	    known[length] == '_' && memcmp(word, known, length) == 0)
		differs = most + 1;
	else if (differs > most)
		differs = COUNT * LONGEST;
	return differs;
}

const char *environment_meant(const char *entry)
{
	const size_t prefix = strlen(PREFIX);
	size_t length = strcspn(entry, "=");
	unsigned best = COUNT * LONGEST;
	const char *meant = NULL;

	if (length <= prefix || length > LONGEST ||
	    strncmp(entry, PREFIX, prefix) != 0)
		return NULL;
	for (size_t i = 0; i < COUNT; i++) {
		unsigned differs = difference(entry + prefix, length - prefix,
					      names[i] + prefix);

		if (differs == 0)
			return NULL;
		if (differs < best) {
			best = differs;
			meant = names[i];
		}
	}
	return meant;
}
