/* SPDX-License-Identifier: MIT */
/* test_flame.c - folded stacks are read and written, and drawn as what they are */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/flame/flame.h"
#include "bpf/flame/flame_kernel.h"
#include "tests/unit/support.h"

/* The graph read from @text; @err receives the error, @why its text. */
static struct flame *read_text(const char *text, size_t size, int *err,
			       char *why)
{
	struct flame *flame = flame_new();
	FILE *file = fmemopen((void *)(uintptr_t)text, size, "r");

	assert_non_null(flame);
	assert_non_null(file);
	*err = flame_read(flame, file, why);
	fclose(file);
	assert_int_equal(flame_sort(flame), 0);
	return flame;
}

static struct flame *read_good(const char *text)
{
	char why[FLAME_TEXT];
	int err;
	struct flame *flame = read_text(text, strlen(text), &err, why);

	assert_int_equal(err, 0);
	return flame;
}

/* Read, and written again; to be freed. */
static char *folded(const char *text)
{
	struct flame *flame = read_good(text);
	size_t size;
	char *out;
	FILE *file = open_memstream(&out, &size);

	flame_write_folded(flame, file);
	fclose(file);
	flame_free(flame);
	return out;
}

static void assert_folded(const char *text, const char *expected)
{
	char *out = folded(text);

	assert_string_equal(out, expected);
	free(out);
}

static char *drawn(const char *text, const char *title)
{
	struct flame *flame = read_good(text);
	size_t size;
	char *out;
	FILE *file = open_memstream(&out, &size);

	flame_write_svg(flame, file, title, "");
	fclose(file);
	flame_free(flame);
	return out;
}

static void assert_refused(const char *text, size_t size, int expected,
			   const char *said)
{
	char why[FLAME_TEXT];
	int err;

	flame_free(read_text(text, size, &err, why));
	assert_int_equal(err, expected);
	assert_non_null(strstr(why, said));
}

static unsigned occurrences(const char *text, const char *part)
{
	unsigned count = 0;

	while ((text = strstr(text, part)) != NULL) {
		text += strlen(part);
		count++;
	}
	return count;
}

/* ---- reading --------------------------------------------------------------- */

TEST(read__same_stacks__are_added)
{
	assert_folded("a;b 1\na;b 2\na 4\n", "a 4\na;b 3\n");
}

TEST(read__several__those_with_more_first)
{
	assert_folded("a 1\nc;x 2\nb;z 1\nb;y 1\nc;w 3\n",
		      "c;w 3\nc;x 2\nb;y 1\nb;z 1\na 1\n");
}

TEST(read__blanks_in_names__stay)
{
	assert_folded("a b;operator new(unsigned long) 12 7\n",
		      "a b;operator new(unsigned long) 12 7\n");
}

TEST(read__recursion__is_deeper)
{
	assert_folded("a;a;a 1\na;a 1\n", "a;a 1\na;a;a 1\n");
}

TEST(read__no_last_line_end__is_read)
{
	assert_folded("a 1\r\n\nb 2", "b 2\na 1\n");
}

TEST(read__odd_names__are_made_harmless)
{
	assert_folded("a\x1b[2J\x7f 1\n", "a?[2J? 1\n");
	assert_folded("n\xc3\xa4her;\xe2\x82\xac;\xf0\x9f\x90\xa6 1\n",
		      "n\xc3\xa4her;\xe2\x82\xac;\xf0\x9f\x90\xa6 1\n");
	/* Cut, overlong, a surrogate, no character, beyond all, a control. */
	assert_folded("\xc3;\xc0\xaf;\xed\xa0\x80;\xef\xbf\xbf;"
		      "\xf4\x90\x80\x80;\xc2\x85 1\n",
		      "?;??;???;???;????;?? 1\n");
	assert_folded(";a; 1\n", "?;a;? 1\n");
}

TEST(read__not_folded__says_the_line)
{
	static const char *const wrong[] = {
		"a\n",
		"a;b\n",
		"a -1\n",
		"a 1.5\n",
		" 1\n",
		"12\n",
		"a 12345678901234567\n",
		"a 1 \n",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char text[64];

		snprintf(text, sizeof(text), "a 1\n%s", wrong[i]);
		assert_refused(text, strlen(text), -EILSEQ, "line 2: ");
	}
	assert_refused("a\0b 1\n", 6, 0, "");
}

TEST(read__more_samples_than_a_double_has__says_so)
{
	const char *text = "a 9007199254740992\nb 1\n";

	assert_refused(text, strlen(text), -EOVERFLOW, "line 2: more than");
}

TEST(read__a_line_without_end__says_so)
{
	size_t size = 2u << 20;
	char *text = malloc(size);

	memset(text, 'a', size);
	assert_refused(text, size, -EILSEQ, "longer than");
	free(text);
}

TEST(read__too_deep__counts_for_what_is_above)
{
	char text[4 * FLAME_DEPTH] = "";
	struct flame *flame;

	for (unsigned i = 0; i < FLAME_DEPTH + 10; i++)
		strcpy(text + 2 * i, "a;");
	strcpy(text + 2 * (FLAME_DEPTH + 10), "a 3\n");
	flame = read_good(text);
	assert_int_equal(flame_node_count(flame), FLAME_DEPTH + 1);
	assert_int_equal(flame_nodes(flame)[FLAME_DEPTH].own, 3);
	assert_int_equal(flame_nodes(flame)[0].total, 3);
	flame_free(flame);
}

TEST(enter__too_many_nodes__counts_up_to_there)
{
	struct flame *flame = flame_new();
	char name[16];
	int err = 0;

	for (unsigned i = 0; err == 0 && i <= FLAME_NODES; i++) {
		snprintf(name, sizeof(name), "%u", i);
		err = flame_enter(flame, "a", 1);
		if (err == 0)
			err = flame_enter(flame, name, strlen(name));
		assert_int_equal(flame_count(flame, 1), 0);
	}
	assert_int_equal(err, -E2BIG);
	assert_int_equal(flame_node_count(flame), FLAME_NODES);
	assert_int_equal(flame_nodes(flame)[1].own, 1);
	assert_int_equal(flame_nodes(flame)[1].total, FLAME_NODES - 1);
	flame_free(flame);
}

/* ---- the picture ----------------------------------------------------------- */

TEST(svg__names__are_escaped)
{
	char *out = drawn("<b>&\"x\";]]></title> 1\n", "t<&\x01\xff");

	assert_non_null(strstr(out, ">t&lt;&amp;??"));
	assert_non_null(strstr(out, "<title>&lt;b&gt;&amp;&quot;x&quot;\n"));
	assert_non_null(strstr(out, "<title>]]&gt;&lt;/title&gt;\n"));
	free(out);
}

TEST(svg__frames__are_as_wide_as_they_have_samples)
{
	char *out = drawn("a;b 1\na;c 2\nd 1\n", "");

	/* 1176 points for 4 samples: a, in it c and b, then d. */
	assert_non_null(strstr(out, "data-x=\"0\" data-n=\"3\"><title>a\n"));
	assert_non_null(strstr(out, "3 samples, 75.00 %</title>"
				    "<rect x=\"12.00\" y=\"84\" "
				    "width=\"881.50\""));
	assert_non_null(strstr(out, "data-x=\"0\" data-n=\"2\"><title>c\n"));
	assert_non_null(strstr(out, "data-x=\"2\" data-n=\"1\"><title>b\n"));
	assert_non_null(strstr(out, "1 samples, 25.00 %</title>"
				    "<rect x=\"600.00\" y=\"103\" "
				    "width=\"293.50\""));
	assert_non_null(strstr(out, "data-x=\"3\" data-n=\"1\"><title>d\n"));
	free(out);
}

TEST(svg__too_narrow__is_left_out)
{
	char *out = drawn("a 1000000\nb;c 1\n", "");

	assert_int_equal(occurrences(out, "<title>"), 1);
	free(out);
}

TEST(svg__long_name__is_cut_to_its_width)
{
	char *out = drawn("a 9\nfunction_of_a_long_name 1\n", "");

	assert_non_null(strstr(out, ">function_of_a..</text>"));
	free(out);
}

TEST(svg__nothing__is_a_picture_too)
{
	char *out = drawn("\n", "empty");

	assert_non_null(strstr(out, "data-total=\"0\""));
	assert_null(strstr(out, "<title>"));
	assert_null(strstr(out, "nan"));
	free(out);
}

TEST(svg__functions_of_the_kernel__are_dark)
{
	char *out = drawn("a;read_[k];b 1\na;[kernel] 1\n", "");

	assert_int_equal(occurrences(out, "<g class=\"f k\""), 2);
	assert_non_null(strstr(out, "<title>read_[k]\n"));
	free(out);
}

/* ---- the kernel ------------------------------------------------------------ */

static int read_kernel(const char *text, struct flame_kernel **out)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int err;

	assert_non_null(file);
	err = flame_kernel_read(out, file);
	fclose(file);
	return err;
}

TEST(kernel__address_in_a_function__is_its)
{
	struct flame_kernel *kernel;

	assert_int_equal(read_kernel("0000000000000020 A not_code\n"
				     "ffffffff81000000 T first\n"
				     "ffffffff81000000 t alias\n"
				     "ffffffff81000100 D data\n"
				     "ffffffff81000200 W last\n"
				     "ffffffff80000000 t added\t[module]\n",
				     &kernel),
			 0);
	assert_string_equal(flame_kernel_find(kernel, 0xffffffff81000000),
			    "first_[k]");
	assert_string_equal(flame_kernel_find(kernel, 0xffffffff810001ff),
			    "first_[k]");
	assert_string_equal(flame_kernel_find(kernel, UINT64_MAX), "last_[k]");
	assert_string_equal(flame_kernel_find(kernel, 0xffffffff80000001),
			    "added_[k]");
	assert_string_equal(flame_kernel_find(kernel, 0x20), "[kernel]_[k]");
	flame_kernel_free(kernel);
}

TEST(kernel__hidden_or_odd__says_so)
{
	static const char *const none[] = {
		"\n",
		"0000000000000000 T first\n0000000000000000 t second\n",
		"ffffffff81000000\n",
		"ffffffff81000000 T\n",
		"T first\n",
	};
	struct flame_kernel *kernel;

	for (size_t i = 0; i < COUNT_OF(none); i++) {
		assert_int_equal(read_kernel(none[i], &kernel), -EACCES);
		assert_null(kernel);
	}
}
