/* SPDX-License-Identifier: MIT */
/**
 * fuzz_flame.c - any file of folded stacks, read, written again and drawn
 *
 * Of what is read holds: a node has the samples of those below it and its own;
 * siblings differ, and those with more come first; what is written is read as the same;
 * the picture is XML: no control characters, a '<' begins each of its tags, which end
 * one inside the other.
 */
#include <errno.h>
#include <string.h>

#include "bpf/flame/flame.h"
#include "tests/fuzz/fuzz.h"

#define DEPTH 16u

static int read_bytes(struct flame **out, const void *data, size_t size)
{
	FILE *file = fmemopen((void *)(uintptr_t)data, size, "r");
	char why[FLAME_TEXT] = "";
	int err;

	*out = flame_new();
	if (!file || !*out)
		abort();
	err = flame_read(*out, file, why);
	fuzz_check((err == 0) == (why[0] == '\0'), "%d: '%s'", err, why);
	fclose(file);
	fuzz_check(flame_sort(*out) == 0, "not sorted");
	return err;
}

static void check_node(const struct flame_node *nodes, uint32_t at)
{
	uint64_t sum = nodes[at].own, last = UINT64_MAX;

	for (uint32_t i = nodes[at].child; i != 0; i = nodes[i].sibling) {
		fuzz_check(nodes[i].parent == at, "the child of another");
		fuzz_check(nodes[i].depth == nodes[at].depth + 1, "its depth");
		fuzz_check(nodes[i].total <= last, "not in order");
		fuzz_check(nodes[i].sibling == 0 ||
				   strcmp(nodes[i].name,
					  nodes[nodes[i].sibling].name) != 0,
			   "%s twice", nodes[i].name);
		last = nodes[i].total;
		sum += nodes[i].total;
	}
	fuzz_check(sum == nodes[at].total, "%" PRIu64 " of %" PRIu64, sum,
		   nodes[at].total);
}

static char *fold(const struct flame *flame, size_t *size)
{
	char *out;
	FILE *file = open_memstream(&out, size);

	flame_write_folded(flame, file);
	fclose(file);
	return out;
}

static void check_folded(const struct flame *flame)
{
	struct flame *again;
	size_t size, size_again;
	char *text = fold(flame, &size), *text_again;

	if (size == 0) {
		free(text);
		return;
	}
	fuzz_check(read_bytes(&again, text, size) == 0, "not read: %s", text);
	text_again = fold(again, &size_again);
	fuzz_check(strcmp(text, text_again) == 0, "\n%s\n%s", text, text_again);
	free(text);
	free(text_again);
	flame_free(again);
}

/* The tag at @text, and behind it. */
static const char *check_tag(const char *text, char stack[][16],
			     unsigned *depth)
{
	const char *end = strchr(text, '>');
	size_t length = strcspn(text + 1, " >");

	fuzz_check(end, "a tag without an end");
	if (text[1] == '/') {
		fuzz_check(*depth > 0 && strncmp(stack[*depth - 1], text + 2,
						 length - 1) == 0,
			   "the end of another: %.20s", text);
		(*depth)--;
	} else if (end[-1] != '/') {
		fuzz_check(*depth < DEPTH && length < 16, "no tag: %.20s",
			   text);
		snprintf(stack[(*depth)++], 16, "%.*s", (int)length, text + 1);
	}
	return end + 1;
}

static void check_svg(const struct flame *flame, const char *title)
{
	char stack[DEPTH][16];
	unsigned depth = 0;
	size_t size;
	char *out;
	FILE *file = open_memstream(&out, &size);
	const char *at, *end;

	flame_write_svg(flame, file, title, title);
	fclose(file);
	at = strstr(out, "<svg");
	end = strstr(out, "<![CDATA[");
	fuzz_check(at && end && strlen(out) == size, "no picture");
	while (at < end) {
		if (*at == '<') {
			at = check_tag(at, stack, &depth);
			continue;
		}
		fuzz_check((unsigned char)*at >= ' ' || *at == '\n',
			   "a %d in the text", *at);
		fuzz_check(*at != '>' || depth > 0, "a > in the text");
		if (*at == '&')
			fuzz_check(strncmp(at, "&lt;", 4) == 0 ||
					   strncmp(at, "&gt;", 4) == 0 ||
					   strncmp(at, "&amp;", 5) == 0 ||
					   strncmp(at, "&quot;", 6) == 0,
				   "a & in the text");
		at++;
	}
	fuzz_check(depth == 2, "%u tags are open", depth);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char title[32] = "";
	struct flame *flame;

	if (size == 0)
		return 0;
	memcpy(title, data, size < 31 ? size : 31);
	read_bytes(&flame, data, size);
	for (uint32_t i = 0; i < flame_node_count(flame); i++)
		check_node(flame_nodes(flame), i);
	check_folded(flame);
	check_svg(flame, title);
	flame_free(flame);
	return 0;
}
