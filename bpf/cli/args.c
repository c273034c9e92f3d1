/* SPDX-License-Identifier: MIT */
/* args.c - see args.h */
#include "bpf/cli/args.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The call of args_parse() in progress. A global, because argp does not pass
 * its own hook on to child parsers. */
static struct parsing {
	const struct argp *argp;
	const char *who;
	void *input;
	bool refused; /* an error was printed */
} * parsing;

error_t args_refuse(const char *format, ...)
{
	va_list list;

	parsing->refused = true;
	fprintf(stderr, ARGS_PROGRAM "%s%s: ", *parsing->who ? " " : "",
		parsing->who);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	return EINVAL;
}

error_t args_number(const char *option, const char *text, uint64_t min,
		    uint64_t max, uint64_t *out)
{
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	/* strtoull() also accepts blanks and signs. */
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 ||
	    value < min || value > max)
		return args_refuse("%s is '%s'; allowed: %ju to %ju", option,
				   text, (uintmax_t)min, (uintmax_t)max);
	*out = value;
	return 0;
}

error_t args_seconds(const char *option, const char *text, double min,
		     double max, double *out)
{
	char *end;
	double value = strtod(text, &end);

	/* strtod() also accepts blanks, signs, "inf", "nan" and hexadecimal
	 * numbers. */
	if (strspn(text, "0123456789.") != strlen(text) || end == text ||
	    *end != '\0' || !(value >= min && value <= max))
		return args_refuse("%s is '%s'; allowed: seconds, %.10g to "
				   "%.10g",
				   option, text, min, max);
	*out = value;
	return 0;
}

error_t args_time(const char *option, const char *text, uint64_t max_ns,
		  uint64_t *out_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	size_t digits = strspn(text, "0123456789."), i = 0;
	char *end;
	double value = strtod(text, &end);

	while (i < 4 && strcmp(text + digits, units[i].name) != 0)
		i++;
	/* strtod() also accepts hexadecimal numbers, whose end differs. */
	if (i == 4 || digits == 0 || end != text + digits ||
	    !(value * units[i].ns <= (double)max_ns))
		return args_refuse("%s is '%s'; allowed: a number and ns, us, "
				   "ms or s, as 2ms; up to %.10gs",
				   option, text, (double)max_ns / 1e9);
	*out_ns = (uint64_t)(value * units[i].ns);
	return 0;
}

static bool ends(const struct argp_option *option)
{
	return option->name == NULL && option->key == 0 && option->doc == NULL;
}

/* Append " --name" for each option of @argp and of its child parsers. */
static void list_options(const struct argp *argp, char *text, size_t size)
{
	const struct argp_option *option = argp->options;
	const struct argp_child *child = argp->children;

	for (; option != NULL && !ends(option); option++) {
		size_t used = strlen(text);

		if (option->name != NULL)
			snprintf(text + used, size - used, " --%s",
				 option->name);
	}
	for (; child != NULL && child->argp != NULL; child++)
		list_options(child->argp, text, size);
}

/* Find the option for a word "--name", "--name=value" or "-n". NULL: there is
 * none. */
static const struct argp_option *find_option(const struct argp *argp,
					     const char *word)
{
	const struct argp_option *option = argp->options;
	const struct argp_child *child = argp->children;
	size_t length = strcspn(word, "=");

	for (; option != NULL && !ends(option); option++) {
		if (word[0] == '-' && word[1] != '-' && word[1] != '\0' &&
		    word[2] == '\0' && word[1] == option->key)
			return option;
		if (strncmp(word, "--", 2) == 0 && option->name != NULL &&
		    strlen(option->name) == length - 2 &&
		    memcmp(option->name, word + 2, length - 2) == 0)
			return option;
	}
	for (; child != NULL && child->argp != NULL; child++) {
		option = find_option(child->argp, word);
		if (option != NULL)
			return option;
	}
	return NULL;
}

static void refuse_option(const char *word)
{
	char allowed[1024] = "";

	list_options(parsing->argp, allowed, sizeof(allowed));
	args_refuse("no option '%s'; allowed:%s", word, allowed);
}

/*
 * Print why argp stopped, which it does not report. The bad word is the one before
 * state->next, or that at state->next if it is a single dash with several letters.
 */
static void explain(const struct argp_state *state)
{
	const char *word = state->argv[state->next - 1];
	const struct argp_option *option = find_option(parsing->argp, word);
	bool valued = strchr(word, '=') != NULL;

	if (option != NULL && option->arg == NULL && valued)
		args_refuse("%s: --%s takes no value", word, option->name);
	else if (option != NULL && option->arg != NULL && !valued)
		args_refuse("%s needs a value", word);
	else if (state->next < state->argc &&
		 (state->next == 1 || option != NULL || word[0] != '-'))
		refuse_option(state->argv[state->next]);
	else
		refuse_option(word);
}

enum { OPTION_HELP = '?' };

static const struct argp_option root_options[] = {
	{ .name = "help", .key = OPTION_HELP, .doc = "Print this help" },
	{ 0 },
};

/* Whether the word is a process number given without --pid: the verb must have
 * that option, and no file may have this name. */
static bool is_process(const char *word)
{
	return word[0] != '\0' && word[strspn(word, "0123456789")] == '\0' &&
	       find_option(parsing->argp, "--pid") != NULL &&
	       access(word, F_OK) != 0;
}

/* The parser above that of the verb: handles the start, --help, and errors. */
static error_t parse_root(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = parsing->input;
		return 0;
	case OPTION_HELP:
		argp_help(state->root_argp, stdout, ARGP_HELP_STD_HELP,
			  state->argv[0]);
		exit(args_flush(EXIT_OK));
	case ARGP_KEY_ARG:
		if (is_process(arg))
			return args_refuse("unexpected argument '%s'; allowed: "
					   "--pid %s",
					   arg, arg);
		if (parsing->argp->args_doc) /* the verb takes arguments */
			return ARGP_ERR_UNKNOWN;
		return args_refuse("unexpected argument '%s'", arg);
	case ARGP_KEY_ERROR:
		if (!parsing->refused)
			explain(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int args_parse(const struct argp *argp, const char *who, int argc, char **argv,
	       void *input)
{
	struct parsing this = { .argp = argp, .who = who, .input = input };
	const struct argp_child children[] = { { .argp = argp }, { 0 } };
	const struct argp root = { .options = root_options,
				   .parser = parse_root,
				   .children = children };
	char name[80];
	char *first = argv[0];
	error_t err;

	snprintf(name, sizeof(name), ARGS_PROGRAM "%s%s", *who ? " " : "", who);
	argv[0] = name;
	parsing = &this;
	err = argp_parse(&root, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL,
			 NULL);
	parsing = NULL;
	argv[0] = first;
	return err == 0 ? 0 : -EINVAL;
}

/* ---- tables of options ------------------------------------------------------ */

#define MAX_OPTIONS 24u
/* Keys of options without a letter begin here. */
#define FIRST_KEY 0x100
/* In --help, @more options come after all groups that argp numbers itself. */
#define MORE_GROUP 1

/* Input of the parser of a table. */
struct table_input {
	const struct args_verb *verb;
	char *options; /* the verb's struct */
};

static error_t set_value(const struct args_option *option, char *options,
			 char *text)
{
	void *field = options + option->field;
	char name[40];

	snprintf(name, sizeof(name), "--%s", option->name);
	switch (option->value) {
	case ARGS_FLAG:
		*(bool *)field = true;
		return 0;
	case ARGS_TEXT:
		*(const char **)field = text;
		return 0;
	case ARGS_NUMBER:
		return args_number(name, text, (uint64_t)option->min,
				   (uint64_t)option->max, field);
	case ARGS_SECONDS:
		return args_seconds(name, text, option->min, option->max,
				    field);
	case ARGS_TIME:
		return args_time(name, text, (uint64_t)option->max, field);
	default:
		return option->parse(field, text);
	}
}

/* The key of option @i, counted over both tables. */
static int key_of(const struct args_option *option, unsigned i)
{
	return option->key ? option->key : FIRST_KEY + (int)i;
}

error_t args_add_path(void *files, char *path)
{
	struct args_files *to = files;

	to->paths[to->count++] = path;
	return 0;
}

static error_t set_file(const struct table_input *in, char *text)
{
	const char **file = (const char **)(in->options + in->verb->file);
	const char *doc = in->verb->file_doc;
	unsigned bracket = doc[0] == '['; /* its other bracket is at the end */

	if (in->verb->add_file)
		return in->verb->add_file(file, text);
	if (*file)
		return args_refuse("unexpected argument '%s'; allowed: one "
				   "%.*s",
				   text, (int)(strlen(doc) - 2 * bracket),
				   doc + bracket);
	*file = text;
	return 0;
}

static error_t parse_table(int key, char *text, struct argp_state *state)
{
	const struct table_input *in = state->input;
	const struct args_verb *verb = in->verb;
	unsigned i = 0;

	if (key == ARGP_KEY_ARG && verb->file_doc)
		return set_file(in, text);
	if (key == ARGP_KEY_END)
		return verb->check ? verb->check(in->options) : 0;
	for (; verb->options[i].name; i++) {
		if (key == key_of(&verb->options[i], i))
			return set_value(&verb->options[i], in->options, text);
	}
	for (unsigned k = 0; verb->more && verb->more[k].name; k++, i++) {
		if (key == key_of(&verb->more[k], i))
			return set_value(&verb->more[k], verb->more_options,
					 text);
	}
	return ARGP_ERR_UNKNOWN;
}

/* Append the options of a table to @list, which has @count so far. Return: the
 * new count. */
static unsigned list_table(const struct args_option *table, unsigned count,
			   int group, struct argp_option *list)
{
	unsigned headers = count && group ? 1 : 0;

	for (; table->name; table++, count++) {
		assert(count < MAX_OPTIONS);
		list[count + headers] = (struct argp_option){
			.name = table->name,
			.key = key_of(table, count),
			.arg = table->arg,
			.doc = table->doc,
			.group = group,
		};
	}
	return count;
}

int args_parse_verb(const struct args_verb *verb, const char *who, int argc,
		    char **argv, void *options)
{
	struct argp_option list[MAX_OPTIONS + 2] = { { 0 } };
	struct table_input input = { verb, options };
	const struct argp argp = { .options = list,
				   .parser = parse_table,
				   .args_doc = verb->file_doc,
				   .doc = verb->doc };
	unsigned count = list_table(verb->options, 0, 0, list);

	if (verb->more) {
		list[count] = (struct argp_option){ .doc = verb->more_header,
						    .group = MORE_GROUP };
		list_table(verb->more, count, MORE_GROUP, list);
	}
	return args_parse(&argp, who, argc, argv, &input);
}

bool args_is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-?") == 0 ||
	       strcmp(word, "help") == 0;
}

int args_flush(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	perror(ARGS_PROGRAM ": cannot write the results");
	return EXIT_FAILED;
}
