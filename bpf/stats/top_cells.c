/* SPDX-License-Identifier: MIT */
/* top_cells.c - see top_cells.h */
#include "bpf/stats/top_cells.h"

#include <string.h>

#define BAR    10u
#define LEVELS 8u

static const char *const eighths[LEVELS + 1] = { " ", "▏", "▎", "▍", "▌",
						 "▋", "▊", "▉", "█" };

void top_add_bar(struct table *table, double part, bool line_art)
{
	char text[TABLE_CELL] = "";
	unsigned filled = (unsigned)(part * BAR * LEVELS + 0.5);

	for (unsigned i = 0; i < BAR; i++) {
		unsigned level = filled > i * LEVELS ? filled - i * LEVELS : 0;

		level = level < LEVELS ? level : LEVELS;
		if (line_art)
			strcat(text, eighths[level]);
		else
			strcat(text, level >= LEVELS / 2 ? "#" : ".");
	}
	table_add(table, "%s %3.0f %%", text, 100 * part);
}

uint64_t top_whole(double rate)
{
	return rate < 1e18 ? (uint64_t)(rate + 0.5) : (uint64_t)1e18;
}

void top_add_rate(struct table *table, double rate)
{
	if (rate > 0 && rate < 9.95)
		table_add(table, "%.1f", rate);
	else if (rate >= 0)
		table_count(table, top_whole(rate));
	else
		table_add(table, "-");
}

void top_add_part(struct table *table, double part)
{
	if (part >= 0)
		table_add(table, "%.0f %%", 100 * part);
	else
		table_add(table, "-");
}

void top_add_time(struct table *table, double ns)
{
	char text[32];

	if (ns > 0)
		table_add(table, "%s", text_time(text, ns));
	else
		table_add(table, "-");
}

void top_add_mean(struct table *table, uint64_t sum, uint64_t count)
{
	top_add_time(table, count ? (double)sum / (double)count : 0);
}
