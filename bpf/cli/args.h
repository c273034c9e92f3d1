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

/* args_is_help - does the word in the place of a verb ask for help? */
bool args_is_help(const char *word);

/* args_flush - that exit code, if all results were written: they may be on their
 * way to a full disk */
int args_flush(int code);

#endif
