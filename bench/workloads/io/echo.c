/* SPDX-License-Identifier: MIT */
/*
 * echo.c - echo servers, which a client in another process asks
 *
 *   echo_1    one connection
 *   echo_50   50 connections, all active
 *   echo_10k  10,000 connections, of which 100 wait for an answer at any time
 *
 * An operation is a request of 64 bytes over loopback TCP. Its time is the median latency
 * in echo_1, and the CPU time of the server's threads in the others. The client is
 * skua-echo-client (bench/clients), which is the same for all servers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clients/echo_cases.h"
#include "bench/clients/echo_start.h"
#include "bench/workloads/io/echo_server.h"
#include "bench/workloads/workloads.h"
#include "bpf/cli/args.h"

struct echo_options {
	const struct echo_case *what;
	const char *client;
	uint64_t requests;
	bool fibers;
};

struct echo {
	const struct echo_options *options;
	struct echo_server server;
	struct echo_client client;
	double ns; /* of the last round */
	bool right;
	bool serving;
};

static uint64_t requests_of(const struct echo_options *options)
{
	return options->requests != 0 ? options->requests
				      : options->what->requests;
}

/* ---- rounds --------------------------------------------------------------- */

static int start_client(struct echo *echo, unsigned port, unsigned workers)
{
	const struct echo_options *options = echo->options;
	int err =
		echo_client_start(&echo->client, options->what->name, port,
				  workers, options->client, options->requests);

	return err != 0 ? err : echo_client_ready(&echo->client);
}

static int echo_setup(struct workload_run *run)
{
	struct echo *echo = run->state;
	unsigned port;
	int socket = echo_listen(&port);
	int err;

	echo->options = run->options;
	run->ops = requests_of(echo->options);
	if (socket < 0)
		return socket;
	err = echo_server_start(&echo->server, run->rt, socket,
				echo->options->fibers);
	if (err != 0)
		return err;
	echo->serving = true;
	return start_client(echo, port, run->workers);
}

static int echo_round(struct workload_run *run)
{
	struct echo *echo = run->state;

	return echo_client_round(&echo->client, &echo->ns, &echo->right);
}

static bool echo_check(struct workload_run *run)
{
	const struct echo *echo = run->state;

	if (!echo->right)
		fprintf(stderr, "%s: wrong answers\n",
			echo->options->what->name);
	if (echo->server.failed > 0)
		fprintf(stderr, "%s: %u connections had no task\n",
			echo->options->what->name, echo->server.failed);
	return echo->right && echo->server.failed == 0;
}

static double echo_sample(struct workload_run *run, uint64_t round_ns)
{
	const struct echo *echo = run->state;

	(void)round_ns;
	return echo->ns;
}

static json_t *echo_figures(struct workload_run *run)
{
	struct echo *echo = run->state;
	json_t *figures = json_object();
	char *line = NULL, *figure;
	size_t size = 0;

	while ((figure = echo_client_figure(&echo->client, &line, &size)) !=
	       NULL) {
		char *value = strchr(figure, ' ');

		if (value == NULL)
			continue;
		*value++ = '\0';
		json_object_set_new(figures, figure,
				    json_loads(value, JSON_DECODE_ANY, NULL));
	}
	free(line);
	return figures;
}

static void echo_teardown(struct workload_run *run)
{
	struct echo *echo = run->state;

	echo_client_end(&echo->client);
	if (echo->serving)
		echo_server_stop(&echo->server);
}

/* ---- options -------------------------------------------------------------- */

static json_t *echo_params(const void *arg)
{
	const struct echo_options *options = arg;

	return json_pack("{s:I, s:I, s:I, s:s, s:s}", "connections",
			 (json_int_t)options->what->connections, "active",
			 (json_int_t)options->what->active, "requests",
			 (json_int_t)requests_of(options), "client",
			 options->client, "form",
			 options->fibers ? "fibers" : "polls");
}

static error_t parse_form(void *input, char *text)
{
	struct echo_options *options = input;

	options->fibers = strcmp(text, "fibers") == 0;
	return options->fibers || strcmp(text, "polls") == 0
		       ? 0
		       : args_refuse("--form is '%s'; allowed: polls, fibers",
				     text);
}

static error_t parse_client(void *input, char *text)
{
	struct echo_options *options = input;

	options->client = text;
	return echo_client_mode(text)
		       ? 0
		       : args_refuse("--client is '%s'; "
				     "allowed: " ECHO_CLIENT_MODES,
				     text);
}

#define ECHO_WORKLOAD(name, description, options, ...)                         \
	WORKLOAD(name, description,                                            \
		 ARGS_OPTIONS(                                                 \
			 ARGS_PARSED("form", parse_form, "FORM",               \
				     "The server's tasks: polls (default) or " \
				     "fibers"),                                \
			 ARGS_PARSED("client", parse_client, "MODE",           \
				     "The client: spin, sleep, or auto "       \
				     "(default): spin if the workers leave a " \
				     "CPU free"),                              \
			 ARGS_NUMBER_OF(struct echo_options, "requests",       \
					requests, 0, 1000000000, "N",          \
					"Requests of a round (default 0: "     \
					"those of the workload)")),            \
		 .options_size = sizeof(struct echo_options),                  \
		 .params = echo_params, .defaults = &options[0],               \
		 .report = options,                                            \
		 .report_count = sizeof(options) / sizeof(options[0]),         \
		 .busy_caller = true, .state_bytes = sizeof(struct echo),      \
		 .setup = echo_setup, .teardown = echo_teardown,               \
		 .round = echo_round, .check = echo_check,                     \
		 .sample = echo_sample, .figures = echo_figures, __VA_ARGS__)

static const struct echo_options one[] = {
	{ .what = &echo_cases[ECHO_1], .client = "auto" },
	{ .what = &echo_cases[ECHO_1], .client = "auto", .fibers = true },
};
static const struct echo_options fifty[] = {
	{ .what = &echo_cases[ECHO_50], .client = "auto" },
	{ .what = &echo_cases[ECHO_50], .client = "auto", .fibers = true },
};
static const struct echo_options many[] = {
	{ .what = &echo_cases[ECHO_10K], .client = "auto" },
	{ .what = &echo_cases[ECHO_10K], .client = "auto", .fibers = true },
};

ECHO_WORKLOAD(echo_1, "Echo 64 bytes over TCP, one connection", one,
	      .latency = true);

ECHO_WORKLOAD(echo_50, "Echo 64 bytes over TCP, 50 connections", fifty,
	      .latency = false);

ECHO_WORKLOAD(echo_10k,
	      "Echo 64 bytes over TCP, 10,000 connections, 100 at a time", many,
	      .latency = false);
