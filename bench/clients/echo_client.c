/* SPDX-License-Identifier: MIT */
/*
 * echo_client.c - skua-echo-client: measure an echo server from outside
 *
 * The server starts this program (echo_start.h) and tells it by lines on stdin what to
 * do; its answers are lines on stdout:
 *
 *	at the start  the number of requests in a round, and the parameters as JSON
 *	"round"       "right" or "wrong", and the time of an operation in nanoseconds
 *	end of file   the figures of all rounds but the first: a line for each, its name and
 *	              its value as JSON; and the program ends
 *
 * The first round is a warm-up. The client stays on the last of its CPUs. If the server's
 * workers leave that CPU alone, it does not sleep, so that the server's sends wake nobody.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/clients/echo_load.h"
#include "bench/clients/threads_usage.h"
#include "bench/harness/clock.h"
#include "bench/harness/latencies.h"
#include "bpf/cli/args.h"

/* A round that takes longer has failed. */
#define ROUND_MAX_S 120

/* Descriptors beside the connections. */
#define SPARE_DESCRIPTORS 64

#define EXIT_SKIPPED 77

struct options {
	const char *workload;
	const char *mode;
	uint64_t port;
	uint64_t pid;
	uint64_t workers;
	uint64_t requests;
};

/**
 * struct client - the measurement
 * @timed: the number of timed rounds
 * @ns: the sum of their wall-clock times
 * @server, @client: the sums of the CPU time and context switches in them
 */
struct client {
	const struct echo_case *what;
	struct options options;
	struct echo_load load;
	struct histogram round;
	struct latencies latencies;
	uint64_t timed;
	uint64_t ns;
	struct threads_usage server;
	struct threads_usage client;
};

/* ---- a round -------------------------------------------------------------- */

static void add_usage(struct threads_usage *sum,
		      const struct threads_usage *before,
		      const struct threads_usage *after)
{
	sum->cpu_ns += after->cpu_ns - before->cpu_ns;
	sum->switches += after->switches - before->switches;
}

static double per_request(const struct client *c, uint64_t sum, uint64_t rounds)
{
	return (double)sum / ((double)c->options.requests * (double)rounds);
}

/* Print the outcome of the round in c->round. */
static void print_round(const struct client *c, uint64_t cpu_ns, uint64_t wrong)
{
	double ns = c->what->latency
			    ? (double)histogram_percentile(&c->round, 50)
			    : per_request(c, cpu_ns, 1);

	printf("%s %.2f\n", wrong == 0 ? "right" : "wrong", ns);
	fflush(stdout);
}

static int measure_round(struct client *c, bool timed)
{
	struct threads_usage server[2], client[2];
	pid_t pid = (pid_t)c->options.pid;
	uint64_t wrong = 0, start;
	int err = threads_usage_read(pid, &server[0]);

	threads_usage_read(getpid(), &client[0]);
	memset(&c->round, 0, sizeof(c->round));
	start = clock_ns();
	if (err == 0)
		err = echo_load_round(&c->load, c->options.requests, &c->round,
				      &wrong);
	start = clock_ns() - start;
	if (err == 0)
		err = threads_usage_read(pid, &server[1]);
	if (err != 0)
		return err;
	threads_usage_read(getpid(), &client[1]);
	print_round(c, server[1].cpu_ns - server[0].cpu_ns, wrong);
	if (!timed)
		return 0;
	c->timed++;
	c->ns += start;
	add_usage(&c->server, &server[0], &server[1]);
	add_usage(&c->client, &client[0], &client[1]);
	latencies_add(&c->latencies, &c->round, 1);
	return 0;
}

/* ---- figures -------------------------------------------------------------- */

static void print_figures(const struct client *c)
{
	double cpu_ns = per_request(c, c->server.cpu_ns, c->timed);
	json_t *latencies = latencies_json(&c->latencies);

	printf("requests_per_s %.0f\n", (double)c->options.requests *
						(double)c->timed * 1e9 /
						(double)c->ns);
	printf("server_cpu_ns %.1f\n", cpu_ns);
	printf("requests_per_cpu_s %.0f\n", cpu_ns > 0 ? 1e9 / cpu_ns : 0);
	printf("server_switches %.4f\n",
	       per_request(c, c->server.switches, c->timed));
	printf("client_cpu_ns %.1f\n",
	       per_request(c, c->client.cpu_ns, c->timed));
	printf("client_spins %d\n", c->load.spin);
	fputs("latency_ns ", stdout);
	if (latencies != NULL)
		json_dumpf(latencies, stdout,
			   JSON_COMPACT | JSON_REAL_PRECISION(12));
	putchar('\n');
	json_decref(latencies);
}

/* ---- start ---------------------------------------------------------------- */

/* Stay on the last CPU. Return: the number of CPUs. */
static unsigned pin(void)
{
	cpu_set_t cpus, one;
	size_t last = CPU_SETSIZE - 1;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
		return 1;
	while (!CPU_ISSET(last, &cpus))
		last--;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	sched_setaffinity(0, sizeof(one), &one);
	return (unsigned)CPU_COUNT(&cpus);
}

/* Return: 0; EXIT_SKIPPED with the reason printed, if there are not enough descriptors. */
static int allow_descriptors(unsigned connections)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= connections + SPARE_DESCRIPTORS)
		return 0;
	fprintf(stderr,
		ARGS_PROGRAM ": skipped: %u connections need %u descriptors; "
			     "the limit is %ju (ulimit -Hn)\n",
		connections, connections + SPARE_DESCRIPTORS,
		(uintmax_t)limit.rlim_cur);
	return EXIT_SKIPPED;
}

static bool spins(const struct options *options, unsigned cpus)
{
	if (strcmp(options->mode, "auto") != 0)
		return strcmp(options->mode, "spin") == 0;
	return options->workers < cpus;
}

static int run(struct client *c)
{
	char line[16];
	bool warm = false;
	int err = echo_load_open(&c->load, (unsigned)c->options.port);

	if (err != 0)
		return err;
	printf("%ju {\"connections\":%u,\"active\":%u,\"requests\":%ju,"
	       "\"client\":\"%s\"}\n",
	       (uintmax_t)c->options.requests, c->what->connections,
	       c->what->active, (uintmax_t)c->options.requests,
	       c->options.mode);
	fflush(stdout);
	while (err == 0 && fgets(line, sizeof(line), stdin) != NULL) {
		alarm(ROUND_MAX_S); /* its signal ends the program */
		err = measure_round(c, warm);
		alarm(0);
		warm = true;
	}
	if (err == 0 && c->timed > 0)
		print_figures(c);
	return err;
}

/* ---- options -------------------------------------------------------------- */

static error_t check(void *input)
{
	struct options *options = input;
	const struct echo_case *what =
		options->workload ? echo_case_find(options->workload) : NULL;

	if (what == NULL)
		return args_refuse("the workload is '%s'; allowed: echo_1, "
				   "echo_50, echo_10k",
				   options->workload ? options->workload : "");
	if (options->port == 0 || options->pid == 0)
		return args_refuse("--port and --pid are needed");
	if (!echo_client_mode(options->mode))
		return args_refuse(
			"--client is '%s'; allowed: " ECHO_CLIENT_MODES,
			options->mode);
	if (options->requests == 0)
		options->requests = what->requests;
	return 0;
}

static const struct args_verb verb = {
	.doc = "Measure an echo server: its CPU time and context switches for "
	       "each request of 64 bytes, and the latencies. A part of "
	       "skua-bench's workloads echo_1, echo_50 and echo_10k, whose "
	       "servers start it.",
	ARGS_FILE(struct options, "WORKLOAD", workload),
	.check = check,
	ARGS_OPTIONS(
		ARGS_NUMBER_OF(struct options, "port", port, 1, 65535, "PORT",
			       "The server's TCP port, on 127.0.0.1"),
		ARGS_PID(struct options, "The server's process"),
		ARGS_NUMBER_OF(struct options, "workers", workers, 1, 1024, "N",
			       "The server's workers (default 1)"),
		ARGS_NUMBER_OF(struct options, "requests", requests, 0,
			       1000000000, "N",
			       "Requests of a round (default 0: those of the "
			       "workload)"),
		ARGS_TEXT_OF(struct options, "client", mode, "MODE",
			     "spin, sleep, or auto (default): spin if the "
			     "workers leave a CPU free")),
};

int main(int argc, char **argv)
{
	static struct client c = { .options = { .workers = 1,
						.mode = "auto" } };
	unsigned cpus = pin();
	int code;

	if (argc < 2 || strcmp(argv[1], "run") != 0) {
		fputs(ARGS_PROGRAM ": a verb is needed; allowed: run\n",
		      stderr);
		return EXIT_USAGE;
	}
	if (args_parse_verb(&verb, "run", argc - 1, argv + 1, &c.options) != 0)
		return EXIT_USAGE;
	c.what = echo_case_find(c.options.workload);
	c.load.connections = c.what->connections;
	c.load.active = c.what->active;
	c.load.spin = spins(&c.options, cpus);
	code = allow_descriptors(c.what->connections);
	if (code == 0 && run(&c) != 0)
		code = EXIT_FAILED;
	echo_load_close(&c.load);
	latencies_free(&c.latencies);
	return args_flush(code);
}
