/* SPDX-License-Identifier: MIT */
/* echo.c - the cases in which a client in another process asks an echo server */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clients/echo_start.h"
#include "bench/peers/harness/case.h"

/* The client, and whether all answers of its last round were right. */
static struct echo_client client;
static bool right;

/* The client has said why, or whether it skips the case. */
__attribute__((noreturn)) static void give_up(void)
{
	int code = echo_client_end(&client);

	exit(code != 0 ? code : 1);
}

static uint64_t echo_requests(const struct harness *h)
{
	return h->requests != 0 ? h->requests : h->echo->requests;
}

static void echo_params(const struct harness *h, FILE *file)
{
	fprintf(file,
		"{\"connections\":%u,\"active\":%u,\"requests\":%ju,"
		"\"client\":\"%s\"}",
		h->echo->connections, h->echo->active,
		(uintmax_t)echo_requests(h), h->client);
}

/* Start the client and the server. The client comes first, because it takes the last of
 * the CPUs that this thread has. */
static void start(struct harness *h, void (*serve)(struct harness *h))
{
	unsigned port;

	h->listener = echo_listen(&port);
	if (h->listener < 0) {
		fprintf(stderr, "%s: cannot listen: %s\n", h->echo->name,
			strerror(-h->listener));
		exit(1);
	}
	if (echo_client_start(&client, h->echo->name, port, h->workers,
			      h->client, h->requests) != 0)
		exit(1);
	echo_pin_server(h->workers);
	serve(h);
	if (echo_client_ready(&client) != 0)
		give_up();
}

static void echo_prepare(struct harness *h)
{
	(void)h;
}

static double echo_time(struct harness *h, void (*serve)(struct harness *h),
			bool timed)
{
	double ns;

	if (!timed)
		start(h, serve);
	if (echo_client_round(&client, &ns, &right) != 0)
		give_up();
	return ns;
}

static bool echo_check(const struct harness *h)
{
	if (!right)
		fprintf(stderr, "%s: wrong answers\n", h->echo->name);
	return right;
}

static void echo_figures(FILE *file)
{
	char *line = NULL, *figure;
	size_t size = 0;

	while ((figure = echo_client_figure(&client, &line, &size)) != NULL) {
		char *value = strchr(figure, ' ');

		if (value == NULL)
			continue;
		*value++ = '\0';
		fprintf(file, ",\"%s\":%s", figure, value);
	}
	free(line);
	echo_client_end(&client);
}

#define ECHO_CASE(name_, description_)                              \
	HARNESS_CASE(name_, description_, .takes_client = true,     \
		     .count = echo_requests, .params = echo_params, \
		     .prepare = echo_prepare, .check = echo_check,  \
		     .time = echo_time, .figures = echo_figures)

const struct harness_case harness_echo[] = {
	ECHO_CASE("echo_1", "Echo 64 bytes over TCP, one connection"),
	ECHO_CASE("echo_50", "Echo 64 bytes over TCP, 50 connections"),
	ECHO_CASE("echo_10k",
		  "Echo 64 bytes over TCP, 10,000 connections, 100 at a time"),
	{ .name = NULL },
};
