/* SPDX-License-Identifier: MIT */
/* options.c - see options.h */
#include "bench/load/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"

/* The most bytes of one batch. */
#define BATCH_BYTES_MAX (UINT64_C(64) << 20)

static error_t parse_rate(void *of, char *text)
{
	struct options *options = of;
	char *end;

	options->rate_given = true;
	options->rate = 0;
	if (!strcmp(text, "max"))
		return 0;
	if (*text >= '0' && *text <= '9')
		options->rate = strtod(text, &end);
	if (!(options->rate >= 1 && options->rate <= 1e8) || *end)
		return args_refuse("--rate is '%s'; allowed: 1 to 100000000 "
				   "requests a second, or max",
				   text);
	return 0;
}

static error_t refuse_mix(const char *text)
{
	return args_refuse("--mix is '%s'; allowed: GET:SET:INCR:PING, of "
			   "which the last ones may be left out: whole "
			   "numbers up to 1000000, such as 80:20; not all 0",
			   text);
}

static error_t parse_mix(void *of, char *text)
{
	struct options *options = of;
	const char *at = text;
	uint64_t sum = 0;
	char *end;

	memset(options->parts, 0, sizeof(options->parts));
	for (unsigned kind = 0; kind < REQUEST_KINDS; kind++) {
		if (*at < '0' || *at > '9')
			return refuse_mix(text);
		options->parts[kind] = strtoul(at, &end, 10);
		if (options->parts[kind] > 1000000)
			return refuse_mix(text);
		sum += options->parts[kind];
		if (!*end)
			return sum ? 0 : refuse_mix(text);
		if (*end != ':')
			return refuse_mix(text);
		at = end + 1;
	}
	return refuse_mix(text);
}

static error_t check(void *of)
{
	const struct options *options = of;

	if (!options->rate_given)
		return args_refuse("--rate is needed: requests a second, or "
				   "max");
	if (options->pipeline * (options->value_size + 100) > BATCH_BYTES_MAX)
		return args_refuse("--pipeline times --value-size is over "
				   "64 MiB; allowed: less");
	return 0;
}

#define NUMBER(name, field, least, most, arg, text) \
	ARGS_NUMBER_OF(struct options, name, field, least, most, arg, text)
#define SECONDS(option, of, least, text)                                      \
	{                                                                     \
		.name = option, .arg = "SECONDS", .doc = text,                \
		.value = ARGS_SECONDS, .field = offsetof(struct options, of), \
		.min = least, .max = 86400                                    \
	}

static const struct args_verb verb = {
	.doc = "Load a server that speaks the protocol of Redis, and measure "
	       "the latencies of its replies, its CPU time and its "
	       "instructions. With --rate N, requests are sent at the random "
	       "times of a Poisson process, whether or not earlier ones were "
	       "answered, and a latency begins at the time that the schedule "
	       "gives the request. With --rate max, each connection waits for "
	       "its replies.",
	.check = check,
	ARGS_OPTIONS(
		ARGS_TEXT_OF(struct options, "host", host, "HOST",
			     "The server's name or address (default: "
			     "127.0.0.1)"),
		NUMBER("port", port, 1, 65535, "PORT",
		       "The server's TCP port (default: 6379)"),
		ARGS_PARSED("rate", parse_rate, "RATE",
			    "Send RATE requests a second; max: as many as the "
			    "server answers"),
		NUMBER("connections", connections, 1, 1000000, "N",
		       "Use N connections (default: 50)"),
		NUMBER("pipeline", pipeline, 1, 10000, "N",
		       "Send N requests together (default: 1); each N arrive "
		       "at once"),
		SECONDS("seconds", seconds, 0.01,
			"Measure for SECONDS (default: 10)"),
		SECONDS("warm-up", warm_up, 0,
			"Load the server for SECONDS before (default: 1)"),
		SECONDS("grace", grace, 0,
			"Wait SECONDS at most for the last replies (default: "
			"2)"),
		ARGS_PARSED("mix", parse_mix, "GET:SET:INCR:PING",
			    "Parts of each kind of request; the last ones may "
			    "be left out (default: 80:20)"),
		NUMBER("keys", keys, 1, 100000000, "N",
		       "Choose among N keys at random (default: 100000)"),
		NUMBER("value-size", value_size, 0, 16777216, "BYTES",
		       "Size of the values of SET (default: 32)"),
		ARGS_FLAG_OF(struct options, "fill", fill,
			     "SET each key before the warm-up"),
		NUMBER("seed", seed, 0, 1e15, "N",
		       "Seed of the keys and the times (default: 1)"),
		ARGS_PID(struct options,
			 "The server's process (default: what INFO says, if "
			 "the server is on this machine)"),
		ARGS_FLAG_OF(struct options, "sleep", sleep,
			     "Sleep while there is nothing to do, instead of "
			     "spinning: for a server on the same CPU"),
		ARGS_JSON(struct options, "Print one line of JSON")),
};

int options_parse(struct options *options, int argc, char **argv)
{
	*options = (struct options){
		.host = "127.0.0.1",
		.port = 6379,
		.connections = 50,
		.pipeline = 1,
		.seconds = 10,
		.warm_up = 1,
		.grace = 2,
		.parts = { [REQUEST_GET] = 80, [REQUEST_SET] = 20 },
		.keys = 100000,
		.value_size = 32,
		.seed = 1,
	};
	return args_parse_verb(&verb, "", argc, argv, options);
}
