/* SPDX-License-Identifier: MIT */
/**
 * args.h - parses options with argp, and prints each error as one line
 *
 * argp's own errors do not say what is allowed, and add a line of advice. Here each
 * error is one line on stderr: the program, what was wrong, and what is allowed.
 */
#ifndef SKUA_BPF_CLI_ARGS_H
#define SKUA_BPF_CLI_ARGS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes of all commands of the project. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1, /* the command could not run, or a result was wrong */
	EXIT_USAGE = 2,
};

/* Name of the program in messages. */
#ifndef ARGS_PROGRAM
#define ARGS_PROGRAM "skua-bench"
#endif

/**
 * args_parse - parse the arguments of a verb
 * @argp: the verb's parser; it passes input to its child parsers
 * @who: the verb's name in messages and --help, for example "run uts"; "" if the program has
 *       no verbs
 * @argc, @argv: argv[0] is skipped
 * @input: passed to @argp
 *
 * --help prints the help and exits. Return: 0; -EINVAL after printing the error.
 */
int args_parse(const struct argp *argp, const char *who, int argc, char **argv,
	       void *input);

/**
 * args_refuse - print an error of an argument; call it only from a parser
 *
 * Return: EINVAL, which the parser returns.
 */
error_t args_refuse(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/**
 * args_number - parse a decimal number within limits; call it only from a parser
 * @option: its name, for the message
 *
 * Return: 0, or EINVAL after args_refuse().
 */
error_t args_number(const char *option, const char *text, uint64_t min,
		    uint64_t max, uint64_t *out);

/**
 * args_seconds - parse a number of seconds within limits, which may have decimals; call it
 * only from a parser
 * @option: its name, for the message
 *
 * Return: 0, or EINVAL after args_refuse().
 */
error_t args_seconds(const char *option, const char *text, double min,
		     double max, double *out);

/**
 * args_time - parse a time with its unit, such as 2ms or 1.5us; call it only from a parser
 * @option: its name, for the message
 * @max_ns: the longest time allowed
 *
 * Units are ns, us, ms and s.
 * Return: 0, or EINVAL after args_refuse().
 */
error_t args_time(const char *option, const char *text, uint64_t max_ns,
		  uint64_t *out_ns);

/* An option of a verb, and the field of the verb's struct that it sets. */
struct args_option {
	const char *name; /* without "--" */
	char key;         /* 'p' for "-p"; 0: no letter */
	const char *arg;  /* the value's name in --help; NULL: none */
	const char *doc;
	enum {
		ARGS_FLAG,    /* bool: true */
		ARGS_TEXT,    /* const char * */
		ARGS_NUMBER,  /* uint64_t, @min to @max */
		ARGS_SECONDS, /* double, @min to @max */
		ARGS_TIME,    /* uint64_t in nanoseconds, up to @max */
		ARGS_OTHER,   /* set by @parse */
	} value;
	size_t field; /* offset in the verb's struct */
	double min, max;
	/* @field: address of the field, or of the verb's struct if none is given.
	 * Return: 0, or what args_refuse() returned. */
	error_t (*parse)(void *field, char *text);
};

/* Options of several verbs. Each sets the field of its name: uint64_t pid,
 * double seconds, double interval, const char *out, bool json. */
#define ARGS_MAX_PID 4194304 /* the kernel's limit */
#define ARGS_PID(type, text)                                                  \
	{                                                                     \
		.name = "pid", .key = 'p', .arg = "PID", .doc = text,         \
		.value = ARGS_NUMBER, .field = offsetof(type, pid), .min = 1, \
		.max = ARGS_MAX_PID                                           \
	}
#define ARGS_FOR(type, least, most, otherwise)                           \
	{                                                                \
		.name = "for", .arg = "SECONDS",                         \
		.doc = "End after SECONDS (default: " otherwise ")",     \
		.value = ARGS_SECONDS, .field = offsetof(type, seconds), \
		.min = least, .max = most                                \
	}
#define ARGS_INTERVAL(type, least, most, text)                            \
	{                                                                 \
		.name = "interval", .arg = "SECONDS", .doc = text,        \
		.value = ARGS_SECONDS, .field = offsetof(type, interval), \
		.min = least, .max = most                                 \
	}
#define ARGS_OUTPUT(type, text)                                           \
	{                                                                 \
		.name = "output", .key = 'o', .arg = "FILE", .doc = text, \
		.value = ARGS_TEXT, .field = offsetof(type, out)          \
	}
#define ARGS_FLAG_OF(type, name_of, field_of, text)               \
	{                                                         \
		.name = name_of, .doc = text, .value = ARGS_FLAG, \
		.field = offsetof(type, field_of)                 \
	}
#define ARGS_JSON(type, text) ARGS_FLAG_OF(type, "json", json, text)
#define ARGS_TEXT_OF(type, name_of, field_of, arg_of, text)           \
	{                                                             \
		.name = name_of, .arg = arg_of, .doc = text,          \
		.value = ARGS_TEXT, .field = offsetof(type, field_of) \
	}
#define ARGS_NUMBER_OF(type, name_of, field_of, least, most, arg_of, text) \
	{                                                                  \
		.name = name_of, .arg = arg_of, .doc = text,               \
		.value = ARGS_NUMBER, .field = offsetof(type, field_of),   \
		.min = least, .max = most                                  \
	}
#define ARGS_PARSED(name_of, parse_of, arg_of, text)         \
	{                                                    \
		.name = name_of, .arg = arg_of, .doc = text, \
		.value = ARGS_OTHER, .parse = parse_of       \
	}

/**
 * struct args_verb - the options of a verb
 * @doc: text of --help
 * @file_doc: name of the argument that is no option, such as "[FILE]"; NULL: there is none
 * @file: offset of the field that receives it: a const char *, or what @add_file fills
 * @add_file: called for each such argument, with the address of that field; NULL: one
 *            argument is allowed
 * @check: called after the last option, to refuse combinations; NULL: all are allowed
 * @options: ends with an entry without a name
 * @more: further options, which set fields of @more_options; --help shows them below
 *        @more_header. NULL: none
 */
struct args_verb {
	const char *doc;
	const char *file_doc;
	size_t file;
	error_t (*add_file)(void *file, char *text);
	error_t (*check)(void *options);
	const struct args_option *options;
	const struct args_option *more;
	const char *more_header;
	void *more_options;
};

/* The arguments that are no options. @paths: has room for all arguments */
struct args_files {
	const char **paths;
	size_t count;
};

/* args_add_path - as args_verb.add_file, add an argument to a struct args_files */
error_t args_add_path(void *files, char *path);

/* Initializers of struct args_verb: the argument that is no option and its
 * field; the options. */
#define ARGS_FILE(type, text, field_of) \
	.file_doc = text, .file = offsetof(type, field_of)
#define ARGS_OPTIONS(...)                       \
	.options = (const struct args_option[]) \
	{                                       \
		__VA_ARGS__,                    \
		{                               \
			0                       \
		}                               \
	}

/**
 * args_parse_verb - call args_parse() for a verb with a table of options
 * @options: the verb's struct, set to its defaults
 */
int args_parse_verb(const struct args_verb *verb, const char *who, int argc,
		    char **argv, void *options);

/* args_is_help - return true if the word in the place of a verb asks for help */
bool args_is_help(const char *word);

/* args_flush - flush standard output. Return: @code; EXIT_FAILED if not all
 * results could be written, for example because a disk is full */
int args_flush(int code);

#endif
