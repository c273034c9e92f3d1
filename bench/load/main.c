/* SPDX-License-Identifier: MIT */
/* main.c - skua-load: load a server that speaks the protocol of Redis */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/load/drive.h"
#include "bench/load/options.h"
#include "bench/load/output.h"
#include "bpf/cli/args.h"

/* Descriptors beside the connections. */
#define SPARE_DESCRIPTORS 64

#define EXIT_SKIPPED 77

/* Requests that --fill sends together. */
#define FILL_BATCH 16

#define FILL_NS (UINT64_C(3600) * 1000000000)

struct address {
	struct sockaddr_storage at;
	socklen_t size;
	bool local; /* of the loopback interface */
};

static uint64_t in_ns(double seconds)
{
	return (uint64_t)(seconds * 1e9);
}

static bool is_local(const struct sockaddr *at)
{
	if (at->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)at;

		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	}
	return IN6_IS_ADDR_LOOPBACK(
		&((const struct sockaddr_in6 *)(const void *)at)->sin6_addr);
}

/* Return whether a server listens there. */
static bool listens(const struct addrinfo *at)
{
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool found = fd >= 0 && !connect(fd, at->ai_addr, at->ai_addrlen);

	if (fd >= 0)
		close(fd);
	return found;
}

/* Choose the first address of the host at which a server listens. If there is none, the
 * first address: its error is printed later. */
static int find_address(const struct options *options, struct address *out)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *all, *found;
	char port[16];
	int code;

	snprintf(port, sizeof(port), "%u", (unsigned)options->port);
	code = getaddrinfo(options->host, port, &hints, &all);
	if (code) {
		fprintf(stderr, "skua-load: --host %s: %s\n", options->host,
			gai_strerror(code));
		return -ENOENT;
	}
	found = all;
	while (found && all->ai_next && !listens(found))
		found = found->ai_next;
	if (!found)
		found = all;
	memcpy(&out->at, found->ai_addr, found->ai_addrlen);
	out->size = found->ai_addrlen;
	out->local = is_local(found->ai_addr);
	freeaddrinfo(all);
	return 0;
}

/* Connect, load the server, and print the error if that fails. */
static int run(struct drive *drive, const struct options *options,
	       const struct address *address)
{
	const char *step;
	int err = drive_open(drive, (const void *)&address->at, address->size,
			     address->local && !options->pid, &step);

	if (!err) {
		step = "in the warm-up, all connections were ended by";
		server_check(drive->server);
		err = drive_run(drive);
	}
	if (err)
		fprintf(stderr, "skua-load: %s %s, port %u: %s\n", step,
			options->host, (unsigned)options->port, strerror(-err));
	return err;
}

/* Return: an exit code. */
static int allow_descriptors(uint64_t connections)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= connections + SPARE_DESCRIPTORS)
		return EXIT_OK;
	fprintf(stderr,
		"skua-load: skipped: %ju connections need %ju descriptors; "
		"the limit is %ju (ulimit -Hn)\n",
		(uintmax_t)connections,
		(uintmax_t)connections + SPARE_DESCRIPTORS,
		(uintmax_t)limit.rlim_cur);
	return EXIT_SKIPPED;
}

static struct request_mix mix_of(const struct options *options)
{
	struct request_mix mix = {
		.keys = options->keys,
		.value_size = options->value_size,
		.seed = options->seed,
		.batch = (unsigned)options->pipeline,
	};

	memcpy(mix.parts, options->parts, sizeof(mix.parts));
	return mix;
}

/* SET each key once. */
static int fill(const struct options *options, const struct address *address)
{
	static struct drive drive; /* is large */
	struct request_mix mix = mix_of(options);
	struct requests requests;
	struct server server = { 0 };
	int code;

	mix.batch = FILL_BATCH;
	if (requests_make_all(&requests, &mix)) {
		fputs("skua-load: --fill: no memory for the requests\n",
		      stderr);
		return -ENOMEM;
	}
	drive = (struct drive){
		.requests = &requests,
		.connections = 1,
		.measured_ns = FILL_NS,
		.passes = 1,
		.sleeps = true,
		.server = &server,
	};
	code = run(&drive, options, address);
	if (!code && !output_ok(&drive)) {
		fprintf(stderr, "skua-load: --fill: %s\n",
			drive.tally.errors ? drive.tally.error[0].name
					   : "no replies");
		code = -EPROTO;
	}
	drive_close(&drive);
	requests_free(&requests);
	server_free(&server);
	return code;
}

/* Load the server, and print the figures. Return: an exit code. */
static int load(const struct options *options, const struct address *address,
		const struct requests *requests)
{
	static struct drive drive; /* is large */
	struct server server = { .pid = (pid_t)options->pid };
	int code;

	drive = (struct drive){
		.requests = requests,
		.rate = options->rate,
		.connections = (unsigned)options->connections,
		.seed = options->seed,
		.warm_up_ns = in_ns(options->warm_up),
		.measured_ns = in_ns(options->seconds),
		.grace_ns = in_ns(options->grace),
		.sleeps = options->sleep,
		.server = &server,
	};
	if (!server.pid && !address->local)
		strcpy(server.why, "the server is not on this machine");
	code = run(&drive, options, address);
	if (!code && options->json)
		output_json(&drive, options);
	else if (!code)
		output_text(&drive, options);
	code = code || !output_ok(&drive) ? EXIT_FAILED : EXIT_OK;
	drive_close(&drive);
	server_free(&server);
	return code;
}

int main(int argc, char **argv)
{
	struct options options;
	struct address address;
	struct requests requests;
	struct request_mix mix;
	int code;

	if (options_parse(&options, argc, argv))
		return EXIT_USAGE;
	code = allow_descriptors(options.connections);
	if (code)
		return code;
	if (find_address(&options, &address))
		return EXIT_FAILED;
	if (options.fill && fill(&options, &address))
		return EXIT_FAILED;
	mix = mix_of(&options);
	if (requests_make(&requests, &mix)) {
		fputs("skua-load: no memory for the requests\n", stderr);
		return EXIT_FAILED;
	}
	code = load(&options, &address, &requests);
	requests_free(&requests);
	return args_flush(code);
}
