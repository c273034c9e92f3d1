/* SPDX-License-Identifier: MIT */
/*
 * symbolize.c - skua symbolize: adds functions and source lines to the places in a text
 *
 * A place is a file and an offset from its first byte in memory, such as "hog+0x4dd7",
 * as in the log of a stall. The text is copied unchanged, and each place with a known
 * function is followed by the function and its line in parentheses.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/cli/args.h"
#include "bpf/target/pick_process.h"
#include "bpf/flame/flame_image.h"
#include "bpf/verbs.h"

#define MAX_MODULES 64u
#define MAX_NAME    256u

/* Limits for all lines of a log, with files named by the user. */
#define OWN_LIMITS ((struct reader_limits){ UINT64_C(512) << 20, 60 })

struct module {
	char name[MAX_NAME];
	const char *path;    /* of a file named by the user */
	int fd;              /* of that file, until it has an image */
	struct image *image; /* NULL: there is no such file */
};

struct symbolizer {
	uint64_t pid;
	struct target *target;       /* NULL: only files named by the user */
	struct target_budget budget; /* for these files */
	struct module modules[MAX_MODULES];
	unsigned count;
	struct reader *reader;
	const char *missing; /* the first module without a file */
};

/* ---- options --------------------------------------------------------------- */

static const char *last_of(const char *path)
{
	const char *last = strrchr(path, '/');

	return last ? last + 1 : path;
}

static error_t add_file(void *input, char *path)
{
	struct symbolizer *s = input;
	struct module *module = &s->modules[s->count];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return args_refuse("%s: %s", path, strerror(errno));
	if (s->count == MAX_MODULES || strlen(last_of(path)) >= MAX_NAME) {
		close(fd);
		return args_refuse("%s: too many files, or a name that is too "
				   "long; allowed: %u files, names of %u bytes",
				   path, MAX_MODULES, MAX_NAME - 1);
	}
	snprintf(module->name, MAX_NAME, "%s", last_of(path));
	module->path = path;
	module->fd = fd;
	s->count++;
	return 0;
}

static error_t check(void *input)
{
	const struct symbolizer *s = input;

	return s->pid == 0 && s->count == 0
		       ? args_refuse("no files; allowed: --pid PID, or FILE...")
		       : 0;
}

static const struct args_verb verb = {
	.doc = "Copy standard input to standard output. After each place such "
	       "as program+0x4dd7, add its function and source line. Stall "
	       "reports in a log contain such places. FILEs: the program and "
	       "its libraries, as the process had them",
	.file_doc = "[FILE...]",
	.add_file = add_file,
	.check = check,
	ARGS_OPTIONS(ARGS_PID(struct symbolizer,
			      "Use the files that this process has mapped")),
};

/* ---- files ----------------------------------------------------------------- */

static int open_files(struct symbolizer *s)
{
	s->reader = reader_new(s->pid ? READER_LIMITS : OWN_LIMITS);
	for (unsigned i = 0; s->reader && i < s->count; i++) {
		struct module *module = &s->modules[i];

		module->image = image_open_file(module->fd, module->path,
						s->reader, &s->budget);
	}
	if (s->reader)
		return EXIT_OK;
	fprintf(stderr, ARGS_PROGRAM " symbolize: %s\n", strerror(ENOMEM));
	return EXIT_FAILED;
}

static const struct target_mapping *find_mapping(const struct target *target,
						 const char *name)
{
	for (size_t i = 0; i < target->map_count; i++) {
		const struct target_mapping *mapping = &target->maps[i];

		if (mapping->inode != 0 &&
		    strcmp(last_of(mapping->path), name) == 0)
			return mapping;
	}
	return NULL;
}

static struct image *open_mapped(struct symbolizer *s, const char *name)
{
	const struct target_mapping *mapping =
		s->target ? find_mapping(s->target, name) : NULL;

	return mapping ? image_open(s->target, s->reader, mapping) : NULL;
}

/* Return: NULL if there is none. */
static struct image *find_image(struct symbolizer *s, const char *name)
{
	struct module *module;

	for (unsigned i = 0; i < s->count; i++)
		if (strcmp(s->modules[i].name, name) == 0)
			return s->modules[i].image;
	if (s->count == MAX_MODULES)
		return NULL;
	module = &s->modules[s->count++];
	snprintf(module->name, MAX_NAME, "%s", name);
	module->image = open_mapped(s, name);
	if (!module->image && !s->missing)
		s->missing = module->name;
	return module->image;
}

/* ---- the text -------------------------------------------------------------- */

/* Whether the letter can be part of a file's name in a stack. */
static bool is_name_char(char letter)
{
	return !isspace((unsigned char)letter) &&
	       !strchr("()[]<>\"',;=", letter);
}

/* Copy the name that ends at @plus, where "+0x" is, and begins at @text or
 * later. Return: false if there is no name. */
static bool read_name(const char *text, const char *plus, char *name)
{
	const char *from = plus;

	while (from > text && is_name_char(from[-1]) && plus - from < MAX_NAME)
		from--;
	if (from == plus || plus - from >= MAX_NAME)
		return false;
	snprintf(name, MAX_NAME, "%.*s", (int)(plus - from), from);
	return true;
}

static void print_place(struct symbolizer *s, const char *name, uint64_t ahead)
{
	struct image *image = find_image(s, name);
	struct flame_function function;
	struct line line;
	char text[MAX_NAME];

	if (!image || !image_look(image, ahead, &function, &line))
		return;
	snprintf(text, sizeof(text), "%s", function.name);
	target_printable(text, sizeof(text));
	if (line.number > 0)
		printf(" (%s at %s:%d)", text, line.source, line.number);
	else
		printf(" (%s)", text);
}

static void copy_line(struct symbolizer *s, const char *text)
{
	const char *from = text, *plus;

	while ((plus = strstr(from, "+0x")) != NULL) {
		const char *digits = plus + 3;
		size_t length = strspn(digits, "0123456789abcdef");
		char name[MAX_NAME];

		fwrite(from, 1, (size_t)(digits + length - from), stdout);
		if (length > 0 && length <= 16 && read_name(from, plus, name))
			print_place(s, name, strtoull(digits, NULL, 16));
		from = digits + length;
	}
	fputs(from, stdout);
}

static int copy(struct symbolizer *s)
{
	char *text = NULL;
	size_t room = 0;

	/* A 0 byte ends its line. */
	while (getline(&text, &room, stdin) >= 0) {
		copy_line(s, text);
		fflush(stdout); /* the reader may wait for this line */
	}
	free(text);
	if (s->missing)
		fprintf(stderr,
			ARGS_PROGRAM " symbolize: no file for %s, and perhaps "
				     "for others; name it as FILE\n",
			s->missing);
	return args_flush(EXIT_OK);
}

int verb_symbolize(int argc, char **argv)
{
	static struct symbolizer s;
	int code = EXIT_OK;

	target_budget_begin(&s.budget);
	if (args_parse_verb(&verb, "symbolize", argc, argv, &s) != 0)
		return EXIT_USAGE;
	if (s.pid)
		code = pick_process(&s.target, "symbolize", s.pid);
	if (code == EXIT_OK)
		code = open_files(&s);
	if (code == EXIT_OK)
		code = copy(&s);
	for (unsigned i = 0; i < s.count; i++)
		if (s.modules[i].image)
			image_close(s.modules[i].image);
	reader_free(s.reader);
	target_close(s.target);
	return code;
}
