/* SPDX-License-Identifier: MIT */
/* why_lines.c - breaks long lines */
#include <string.h>

#include "bpf/cli/table.h"
#include "bpf/why/why.h"

/* Break a line into several if it is too long; the following ones are indented
 * by 4. */
static void wrap(FILE *file, char *line)
{
	size_t column = 0;

	for (char *next = line, *word; (word = strsep(&next, " "));) {
		size_t width = text_width(word);

		if (column > 4 && column + 1 + width > WHY_WIDTH) {
			fputs("\n    ", file);
			column = 4;
		} else if (word > line) {
			fputc(' ', file);
			column++;
		}
		fputs(word, file);
		column += width;
	}
	fputc('\n', file);
}

void why_wrap(FILE *file, char *text)
{
	for (char *next = text, *line; (line = strsep(&next, "\n"));)
		if (next) /* the last one is empty */
			wrap(file, line);
}
