/* SPDX-License-Identifier: MIT */
/* main.c - the command line of a peer: like that of skua-bench, with fewer options */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/peers/harness/case.h"

/* The beginning of each message, such as "skua-peer-tbb run uts". */
static char who[64];

static void add_who(const char *word)
{
	size_t used = strlen(who);

	snprintf(who + used, sizeof(who) - used, " %s", word);
}

__attribute__((noreturn, format(printf, 1, 2))) static void
refuse(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs(who, stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

/* ---- cases ---------------------------------------------------------------- */

static const struct harness_case *find_in(const struct harness_case *cases,
					  const char *name)
{
	for (; cases->name != NULL; cases++)
		if (strcmp(cases->name, name) == 0)
			return cases;
	return NULL;
}

static const struct harness_case *find_case(const char *name)
{
	static const struct harness_case *const all[] = {
		harness_tasks, harness_forks, harness_regions, harness_arrays,
		harness_echo
	};
	const struct harness_case *found = NULL;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && !found; i++)
		found = find_in(all[i], name);
	return found;
}

/* Refuse a peer that names a case which does not exist: helps the author of
 * a new peer. */
static void check_rounds(const struct harness_peer *peer)
{
	for (const struct harness_round *r = peer->rounds; r->name; r++)
		if (find_case(r->name) == NULL)
			refuse(": its list of cases has '%s', which the harness "
			       "does not have",
			       r->name);
}

static const char *names(const struct harness_peer *peer)
{
	static char text[600];

	text[0] = '\0';
	for (const struct harness_round *r = peer->rounds; r->name; r++) {
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s%s",
			 used > 0 ? ", " : "", r->name);
	}
	return text;
}

static const struct harness_round *find_round(const struct harness_peer *peer,
					      const char *name)
{
	if (name == NULL || name[0] == '-')
		refuse(": a workload is needed before any options; allowed: %s",
		       names(peer));
	for (const struct harness_round *r = peer->rounds; r->name; r++)
		if (strcmp(r->name, name) == 0)
			return r;
	refuse(": no workload '%s'; allowed: %s", name, names(peer));
}

/* ---- options -------------------------------------------------------------- */

static unsigned parse_number(const char *option, const char *text, unsigned min,
			     unsigned max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)text[0]) || *end != '\0' || n < min ||
	    n > max)
		refuse(": %s is '%s'; allowed: %u to %u", option, text, min,
		       max);
	return (unsigned)n;
}

static bool is(const char *word, const char *option)
{
	size_t length = strlen(option);

	return strncmp(word, option, length) == 0 &&
	       (word[length] == '\0' || word[length] == '=');
}

/* Return the value of an option, which follows "=" or is the next word. */
static const char *value_of(const char *option, int *i, char **argv)
{
	const char *rest = argv[*i] + strlen(option);
	const char *value = *rest == '=' ? rest + 1 : argv[++*i];

	if (value == NULL)
		refuse(": %s needs a value", option);
	return value;
}

static unsigned number_of(const char *option, int *i, char **argv, unsigned min,
			  unsigned max)
{
	return parse_number(option, value_of(option, i, argv), min, max);
}

static const char *word_of(const char *option, int *i, char **argv,
			   const char *const *allowed)
{
	const char *value = value_of(option, i, argv);

	for (unsigned j = 0; allowed[j] != NULL; j++)
		if (strcmp(value, allowed[j]) == 0)
			return value;
	refuse(": %s is '%s'; allowed: %s, %s%s%s", option, value, allowed[0],
	       allowed[1], allowed[2] ? ", " : "",
	       allowed[2] ? allowed[2] : "");
}

/* Parse an option of a case with a client. Return: whether it is one. */
static bool parse_client(struct harness *h, int *i, char **argv)
{
	static const char *const modes[] = { "auto", "spin", "sleep", NULL };
	static const char *const forms[] = { "polls", "fibers", NULL };
	const char *word = argv[*i];

	if (is(word, "--client"))
		h->client = word_of("--client", i, argv, modes);
	else if (is(word, "--form"))
		word_of("--form", i, argv, forms);
	else if (is(word, "--requests"))
		h->requests = number_of("--requests", i, argv, 0, 1000000000);
	else
		return false;
	return true;
}

/* Parse an option that only some cases have. Return: whether this case has it. */
static bool parse_own(const struct harness_case *c, struct harness *h, int *i,
		      char **argv)
{
	const char *word = argv[*i], *value;

	if (c->takes_tree && is(word, "--tree")) {
		value = value_of("--tree", i, argv);
		h->tree = uts_tree_find(value);
		if (h->tree == NULL)
			refuse(": --tree is '%s'; allowed: %s", value,
			       UTS_TREE_NAMES);
		return true;
	}
	if (c->takes_input && is(word, "--input")) {
		value = value_of("--input", i, argv);
		if (!sort_input_valid(value))
			refuse(": --input is '%s'; allowed: %s", value,
			       SORT_INPUTS);
		h->input = value;
		return true;
	}
	if (c->n_max > 0 && is(word, "--n")) {
		h->n = number_of("--n", i, argv, c->n_min, c->n_max);
		return true;
	}
	return c->takes_client && parse_client(h, i, argv);
}

static void parse(struct harness_run *run, struct harness *h, int *i,
		  char **argv)
{
	const struct harness_case *c = run->what;
	const char *word = argv[*i];

	if (is(word, "--workers"))
		h->workers =
			number_of("--workers", i, argv, 1, HARNESS_WORKERS_MAX);
	else if (is(word, "--rounds"))
		run->rounds =
			number_of("--rounds", i, argv, 1, HARNESS_ROUNDS_MAX);
	else if (strcmp(word, "--json") == 0)
		run->json = true;
	else if (is(word, "--json"))
		refuse(": %s: --json takes no value", word);
	else if (parse_own(c, h, i, argv))
		return;
	else if (word[0] == '-')
		refuse(": no option '%s'; allowed: --workers --rounds "
		       "--json%s%s%s%s",
		       word, c->takes_tree ? " --tree" : "",
		       c->n_max > 0 ? " --n" : "",
		       c->takes_input ? " --input" : "",
		       c->takes_client ? " --client --requests --form" : "");
	else
		refuse(": unexpected argument '%s'", word);
}

/* ---- verbs ---------------------------------------------------------------- */

static bool is_help(const char *word)
{
	return word != NULL &&
	       (strcmp(word, "--help") == 0 || strcmp(word, "-?") == 0 ||
		strcmp(word, "help") == 0);
}

static void print_help(const struct harness_peer *peer)
{
	printf("Usage: %s list | run WORKLOAD [--workers N] [--rounds R] "
	       "[--json]\n"
	       "Measure %s %s on workloads of skua-bench: %s.\n"
	       "uts also takes --tree %s; region, loops and sorts: --n N;\n"
	       "sorts: --input %s;\n"
	       "echo_*: --client %s, --requests N\n",
	       who, peer->name, peer->version, names(peer), UTS_TREE_NAMES,
	       SORT_INPUTS, ECHO_CLIENT_MODES);
}

static void list(const struct harness_peer *peer)
{
	for (const struct harness_round *r = peer->rounds; r->name; r++)
		printf("%-24s %s\n", r->name, find_case(r->name)->description);
}

/* The client of an echo server needs a CPU of its own. */
static unsigned default_workers(const struct harness_case *what)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN) - what->takes_client;

	if (cpus < 1)
		return 1;
	return cpus > HARNESS_WORKERS_MAX ? HARNESS_WORKERS_MAX
					  : (unsigned)cpus;
}

static int run_case(const struct harness_peer *peer, char **argv)
{
	static struct harness h;
	struct harness_run run = { .peer = peer, .rounds = 5 };
	const struct harness_round *round;

	add_who("run");
	round = find_round(peer, argv[0]);
	add_who(round->name);
	run.run = round->run;
	run.what = find_case(round->name);
	h.workers = default_workers(run.what);
	h.tree = uts_tree_find("T1");
	h.n = run.what->n;
	h.input = "random";
	h.echo = echo_case_find(round->name);
	h.client = "auto";
	for (int i = 1; argv[i] != NULL; i++)
		parse(&run, &h, &i, argv);
	return harness_measure(&run, &h) ? 0 : 1;
}

int harness_main(const struct harness_peer *peer, char **argv)
{
	const char *verb = argv[1];

	snprintf(who, sizeof(who), "skua-peer-%s", peer->name);
	check_rounds(peer);
	if (verb == NULL)
		refuse(": a verb is needed; allowed: list, run");
	if (is_help(verb) || is_help(argv[2])) {
		print_help(peer);
		return 0;
	}
	if (strcmp(verb, "run") == 0)
		return run_case(peer, argv + 2);
	if (strcmp(verb, "list") != 0)
		refuse(": no verb '%s'; allowed: list, run", verb);
	if (argv[2] != NULL)
		refuse(" list: unexpected argument '%s'", argv[2]);
	list(peer);
	return 0;
}
