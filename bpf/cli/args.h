/* SPDX-License-Identifier: MIT */
/**
 * args.h - options by argp, with errors of one line
 *
 * argp's own errors do not say what is allowed, and add a line of advice. Here
 * each error is one line on stderr: the program, what was wrong, what is allowed.
 */
#ifndef SKUA_BPF_CLI_ARGS_H
#define SKUA_BPF_CLI_ARGS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes, as all commands of the project have them. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1, /* it could not run, or a result was wrong */
	EXIT_USAGE = 2,
};

/* The name of the program in messages. */
#ifndef ARGS_PROGRAM
#define ARGS_PROGRAM "skua-bench"
#endif

/**
 * args_parse - parse the arguments of a verb
 * @argp: the verb's parser; parsers below it get their input from it
 * @who: "run uts"; for messages and --help
 * @argc, @argv: argv[0] is skipped
 * @input: of @argp
 *
 * --help prints and exits. Return: 0; -EINVAL, and the error is printed.
 */
int args_parse(const struct argp *argp, const char *who, int argc, char **argv,
	       void *input);

/**
 * args_refuse - in a parser: print what is wrong
 *
 * Return: EINVAL, for the parser to return.
 */
error_t args_refuse(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/**
 * args_number - in a parser: a decimal number within limits
 * @option: its name, for the message
 *
 * Return: 0, or EINVAL after args_refuse().
 */
error_t args_number(const char *option, const char *text, uint64_t min,
		    uint64_t max, uint64_t *out);

/**
 * args_seconds - in a parser: a number of seconds within limits, with decimals
 * @option: its name, for the message
 *
 * Return: 0, or EINVAL after args_refuse().
 */
error_t args_seconds(const char *option, const char *text, double min,
		     double max, double *out);

/**
 * args_time - in a parser: a length of time with its unit, as 2ms or 1.5us
 * @option: its name, for the message
 * @max_ns: the longest that is allowed
 *
 * Units are ns, us, ms and s.
 * Return: 0, or EINVAL after args_refuse().
 */
error_t args_time(const char *option, const char *text, uint64_t max_ns,
		  uint64_t *out_ns);

/* An option of a verb, and the field of the verb's struct that it sets. */
struct args_option {
	const char *name; /* without "--" */
	char key;         /* 'p' for "-p"; 0: none */
	const char *arg;  /* of --help; NULL: it takes no value */
	const char *doc;
	enum {
		ARGS_FLAG,    /* bool: true */
		ARGS_TEXT,    /* const char * */
		ARGS_NUMBER,  /* uint64_t, @min to @max */
		ARGS_SECONDS, /* double, @min to @max */
		ARGS_TIME,    /* uint64_t: nanoseconds, up to @max */
		ARGS_OTHER,   /* by @parse */
	} value;
	size_t field; /* its offset */
	double min, max;
	/* @options: the verb's struct. Return: 0, or what args_refuse() returns. */
	error_t (*parse)(void *options, char *text);
};

/* The options that several verbs have, each with its field of the same name: a uint64_t
 * pid, a double seconds and interval, a const char *out, a bool json. */
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
		.doc = "End after so long (default: " otherwise ")",     \
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
 * @doc: of --help
 * @file_doc: of an argument that is no option, as "[FILE]"; NULL: the verb takes none
 * @file: offset of the const char * that receives it
 * @add_file: for verbs that take several; instead of @file
 * @check: after the last option; NULL: they all go together
 * @options: up to one without a name
 * @more: further options, with their own struct, below a header in --help; NULL: none
 */
struct args_verb {
	const char *doc;
	const char *file_doc;
	size_t file;
	error_t (*add_file)(void *options, char *text);
	error_t (*check)(void *options);
	const struct args_option *options;
	const struct args_option *more;
	const char *more_header;
	void *more_options;
};

/* In a struct args_verb: the argument that is no option, with its field; the options. */
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
 * args_parse_verb - args_parse() for a verb with a table of options
 * @options: the verb's struct, with its defaults
 */
int args_parse_verb(const struct args_verb *verb, const char *who, int argc,
		    char **argv, void *options);

/* args_is_help - does the word in the place of a verb ask for help? */
bool args_is_help(const char *word);

/* args_flush - that exit code, if all results were written: they may be on their
 * way to a full disk */
int args_flush(int code);

#endif
