/* SPDX-License-Identifier: MIT */
/* flame_folded.c - stacks as lines of text, a format shared with other tools */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/flame/flame.h"

#define MAX_LINE (1u << 20) /* in bytes */

static int fail(char *why, int err, uint64_t line, const char *what)
{
	snprintf(why, FLAME_TEXT, "line %" PRIu64 ": %s", line, what);
	return err;
}

/* ---- reading --------------------------------------------------------------- */

/* Read a line, without its end. Return: its length; -1 at the end of the file;
 * -2 if it is longer than MAX_LINE. */
static ssize_t next_line(FILE *file, char *line)
{
	size_t length = 0;
	int c;

	while ((c = getc(file)) != EOF && c != '\n') {
		if (length == MAX_LINE)
			return -2;
		line[length++] = (char)c;
	}
	return c == EOF && length == 0 ? -1 : (ssize_t)length;
}

/* Parse the number after the last blank. Return: false if there is none. */
static bool parse_count(const char *line, size_t length, size_t *end,
			uint64_t *out)
{
	size_t at = length;

	*out = 0;
	while (at > 0 && line[at - 1] >= '0' && line[at - 1] <= '9')
		at--;
	if (at == length || length - at > 16 || at < 2 || line[at - 1] != ' ')
		return false;
	for (size_t i = at; i < length; i++)
		*out = *out * 10 + (uint64_t)(line[i] - '0');
	*end = at - 1;
	return true;
}

static int enter_all(struct flame *flame, const char *line, size_t length)
{
	int err = 0;

	for (size_t at = 0; err == 0 && at <= length;) {
		const char *end = memchr(line + at, ';', length - at);
		size_t next = end ? (size_t)(end - line) : length;

		err = flame_enter(flame, line + at, next - at);
		at = next + 1;
	}
	return err;
}

static int read_line(struct flame *flame, char *line, size_t length,
		     uint64_t number, char *why)
{
	uint64_t samples;
	size_t end;
	int err;

	if (length > 0 && line[length - 1] == '\r')
		length--;
	if (length == 0)
		return 0;
	if (!parse_count(line, length, &end, &samples))
		return fail(why, -EILSEQ, number,
			    "not a folded stack: functions with ';' between "
			    "them, a blank, and a number of samples");
	err = enter_all(flame, line, end);
	if (err == -ENOMEM)
		return fail(why, err, number, "no memory");
	if (err == -E2BIG)
		return fail(why, err, number,
			    "more than 1,048,576 different places in stacks");
	if (flame_count(flame, samples))
		return fail(why, -EOVERFLOW, number,
			    "more than 2^53 samples in all");
	return 0;
}

int flame_read(struct flame *flame, FILE *file, char *why)
{
	char *line = malloc(MAX_LINE);
	ssize_t length = 0;
	int err = 0;

	if (!line)
		return fail(why, -ENOMEM, 1, "no memory");
	for (uint64_t number = 1; err == 0; number++) {
		length = next_line(file, line);
		if (length == -2)
			err = fail(why, -EILSEQ, number, "longer than 1 MiB");
		if (length < 0)
			break;
		err = read_line(flame, line, (size_t)length, number, why);
	}
	if (err == 0 && ferror(file)) {
		snprintf(why, FLAME_TEXT, "%s", strerror(errno));
		err = -EIO;
	}
	free(line);
	return err;
}

/* ---- writing --------------------------------------------------------------- */

static void write_stack(const struct flame_node *nodes, uint32_t at, FILE *file)
{
	uint32_t stack[FLAME_DEPTH];
	unsigned depth = 0;
	uint64_t own = nodes[at].own;

	for (; at != 0; at = nodes[at].parent)
		stack[depth++] = at;
	while (depth-- > 0)
		fprintf(file, "%s%c", nodes[stack[depth]].name,
			depth > 0 ? ';' : ' ');
	fprintf(file, "%" PRIu64 "\n", own);
}

/* Writes each node before its children. */
void flame_write_folded(const struct flame *flame, FILE *file)
{
	const struct flame_node *nodes = flame_nodes(flame);
	uint32_t at = nodes[0].child;

	while (at != 0) {
		if (nodes[at].own > 0)
			write_stack(nodes, at, file);
		if (nodes[at].child != 0) {
			at = nodes[at].child;
			continue;
		}
		while (at != 0 && nodes[at].sibling == 0)
			at = nodes[at].parent;
		at = nodes[at].sibling;
	}
}
