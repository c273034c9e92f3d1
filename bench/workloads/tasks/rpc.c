/* SPDX-License-Identifier: MIT */
/*
 * rpc.c - serve calls that arrive in an open loop
 *
 * Calls arrive at random times (a Poisson process), whether or not earlier calls are
 * done. Each call is a task that is busy for its service time. The sojourn time of a call
 * lasts from its planned arrival, not from its later spawn, to its end. The slowdown is
 * the sojourn time divided by the service time.
 *
 * Two references serve the same calls. A simulated queue without any overhead shows the
 * best times that are possible without knowing service times in advance. Bare threads
 * without a scheduler show the best times that are possible on this machine; they need a
 * CPU for each thread and one for the caller.
 *
 * The calling thread spins between arrivals, pinned to the last CPU. The default
 * number of workers is therefore one less than the number of CPUs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bench/harness/clock.h"
#include "bench/harness/latencies.h"
#include "bench/harness/pin.h"
#include "bench/workloads/tasks/rpc_bare.h"
#include "bench/workloads/tasks/rpc_plan.h"
#include "bench/workloads/workloads.h"

/* Time from the start of a round to the earliest possible arrival. */
#define LEAD_NS 1000000u

static const char *const service_names[RPC_SERVICES] = {
	[RPC_EXPONENTIAL] = "exponential",
	[RPC_BIMODAL] = "bimodal",
};

struct rpc_options {
	enum rpc_service service;
	uint64_t load_percent;
	uint64_t calls;
	uint64_t seed;
};

/* A call's task. */
struct request {
	struct skua_task task; /* first: it is cast back */
	uint64_t service_ns;
	uint64_t end_ns; /* 0: not yet served */
};

struct rpc {
	struct rpc_options options;
	struct skua_runtime *rt;
	unsigned workers;
	struct pin pin;
	struct rpc_call *calls;
	struct request *requests;
	uint64_t round;
	uint64_t start_ns; /* when the plan of this round starts */

	/* Times of all timed rounds. */
	struct latencies sojourn_ns;
	struct latencies slowdown;
	struct rpc_times simulated;
	struct rpc_times bare; /* only with @with_bare */
	bool with_bare;
	int err;
};

/* ---- a round -------------------------------------------------------------- */

static enum skua_poll serve(struct skua_task *self)
{
	struct request *request = (struct request *)self;

	request->end_ns = clock_spin_until(clock_ns() + request->service_ns);
	return SKUA_DONE;
}

static void rpc_prepare(struct workload_run *run)
{
	struct rpc *rpc = run->state;
	const struct rpc_options *o = &rpc->options;

	rpc_plan(rpc->calls, o->calls, o->service, (unsigned)o->load_percent,
		 rpc->workers, o->seed + rpc->round++);
	for (uint64_t i = 0; i < o->calls; i++) {
		struct request *request = &rpc->requests[i];

		skua_task_init(&request->task, serve);
		request->service_ns = rpc->calls[i].service_ns;
		request->end_ns = 0;
	}
}

static int rpc_round(struct workload_run *run)
{
	struct rpc *rpc = run->state;
	int err = 0;

	rpc->start_ns = clock_ns() + LEAD_NS;
	for (uint64_t i = 0; err == 0 && i < rpc->options.calls; i++) {
		clock_spin_until(rpc->start_ns + rpc->calls[i].arrival_ns);
		err = skua_task_spawn(rpc->rt, &rpc->requests[i].task);
	}
	for (uint64_t i = 0; err == 0 && i < rpc->options.calls; i++)
		err = skua_task_join(&rpc->requests[i].task);
	return err;
}

static uint64_t sojourn_ns(const struct rpc *rpc, uint64_t i)
{
	return rpc->requests[i].end_ns -
	       (rpc->start_ns + rpc->calls[i].arrival_ns);
}

/* Check that each call ended no earlier than its arrival plus its service
 * time. */
static bool rpc_check(struct workload_run *run)
{
	const struct rpc *rpc = run->state;
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < rpc->options.calls; i++)
		wrong += rpc->requests[i].end_ns <
			 rpc->start_ns + rpc->calls[i].arrival_ns +
				 rpc->calls[i].service_ns;
	if (wrong == 0)
		return true;
	fprintf(stderr, "rpc: %ju calls were not served for their time\n",
		(uintmax_t)wrong);
	return false;
}

/* ---- results -------------------------------------------------------------- */

/* Serve the same calls by bare threads. If the threads cannot start, leave
 * these figures out from now on. */
static void serve_bare(struct rpc *rpc)
{
	int err;

	if (!rpc->with_bare)
		return;
	err = rpc_bare(rpc->calls, rpc->options.calls, rpc->workers, &rpc->pin,
		       &rpc->bare);
	if (err == 0)
		return;
	fprintf(stderr, "rpc: the figures of bare threads are left out: %s\n",
		strerror(-err));
	rpc->with_bare = false;
}

/* Return the median sojourn time of the round. */
static double rpc_sample(struct workload_run *run, uint64_t round_ns)
{
	struct rpc *rpc = run->state;
	uint64_t calls = rpc->options.calls;
	struct rpc_times *round = calloc(1, sizeof(*round));
	double median = 0;

	(void)round_ns;
	if (round == NULL) {
		rpc->err = -ENOMEM;
		return median;
	}
	for (uint64_t i = 0; i < calls; i++)
		rpc_times_record(round, &rpc->calls[i], sojourn_ns(rpc, i));
	latencies_add(&rpc->sojourn_ns, &round->sojourn_ns, 1);
	latencies_add(&rpc->slowdown, &round->slowdown, RPC_SLOWDOWN_ONE);
	median = (double)histogram_percentile(&round->sojourn_ns, 50);
	free(round);
	if (rpc->err == 0)
		rpc->err = rpc_simulate(rpc->calls, calls, rpc->workers,
					&rpc->simulated);
	serve_bare(rpc);
	return median;
}

static double slowdown_at(const struct histogram *slowdown, double percent)
{
	return (double)histogram_percentile(slowdown, percent) /
	       RPC_SLOWDOWN_ONE;
}

static json_t *slowdown_json(const struct histogram *slowdown)
{
	return json_pack(
		"{s:f, s:f, s:f, s:f, s:f}", "p50", slowdown_at(slowdown, 50),
		"p90", slowdown_at(slowdown, 90), "p99",
		slowdown_at(slowdown, 99), "p999", slowdown_at(slowdown, 99.9),
		"p9999", slowdown_at(slowdown, 99.99));
}

static json_t *own_slowdown_json(const struct latencies *slowdown)
{
	json_t *object = slowdown_json(&slowdown->all);

	json_object_set_new(object, "rounds", latencies_rounds(slowdown));
	return object;
}

static json_t *rpc_figures(struct workload_run *run)
{
	const struct rpc *rpc = run->state;
	json_t *figures;

	if (rpc->err != 0)
		return NULL;
	figures = json_pack(
		"{s:o, s:o, s:o, s:o, s:f}", "latency_ns",
		latencies_json(&rpc->sojourn_ns), "queue_latency_ns",
		histogram_json(&rpc->simulated.sojourn_ns), "slowdown",
		own_slowdown_json(&rpc->slowdown), "queue_slowdown",
		slowdown_json(&rpc->simulated.slowdown), "p999_of_queue",
		slowdown_at(&rpc->slowdown.all, 99.9) /
			slowdown_at(&rpc->simulated.slowdown, 99.9));
	if (rpc->with_bare) {
		json_object_set_new(figures, "bare_slowdown",
				    slowdown_json(&rpc->bare.slowdown));
		json_object_set_new(
			figures, "p999_of_bare",
			json_real(slowdown_at(&rpc->slowdown.all, 99.9) /
				  slowdown_at(&rpc->bare.slowdown, 99.9)));
	}
	return figures;
}

/* ---- set-up --------------------------------------------------------------- */

static int rpc_setup(struct workload_run *run)
{
	const struct rpc_options *options = run->options;
	struct rpc *rpc = run->state;

	run->ops = options->calls;
	rpc->options = *options;
	rpc->rt = run->rt;
	rpc->workers = run->workers;
	rpc->calls = calloc(options->calls, sizeof(*rpc->calls));
	rpc->requests = calloc(options->calls, sizeof(*rpc->requests));
	if (rpc->calls == NULL || rpc->requests == NULL)
		return -ENOMEM;
	pin_caller(&rpc->pin);
	rpc->with_bare = pin_leaves_cpu(&rpc->pin, rpc->workers);
	return 0;
}

static void rpc_teardown(struct workload_run *run)
{
	struct rpc *rpc = run->state;

	pin_restore(&rpc->pin);
	latencies_free(&rpc->sojourn_ns);
	latencies_free(&rpc->slowdown);
	free(rpc->calls);
	free(rpc->requests);
}

/* ---- options -------------------------------------------------------------- */

static error_t parse_service(void *input, char *text)
{
	struct rpc_options *options = input;

	for (unsigned i = 0; i < RPC_SERVICES; i++) {
		if (strcmp(text, service_names[i]) == 0) {
			options->service = (enum rpc_service)i;
			return 0;
		}
	}
	return args_refuse("--service is '%s'; allowed: exponential, bimodal",
			   text);
}

static json_t *rpc_params(const void *arg)
{
	const struct rpc_options *options = arg;

	return json_pack("{s:s, s:I, s:I, s:I}", "service",
			 service_names[options->service], "load",
			 (json_int_t)options->load_percent, "calls",
			 (json_int_t)options->calls, "seed",
			 (json_int_t)options->seed);
}

#define CALLS 20000
#define WITH(service, load)                 \
	{                                   \
		(service), (load), CALLS, 1 \
	}

static const struct rpc_options defaults = WITH(RPC_EXPONENTIAL, 60);

static const struct rpc_options reported[] = {
	WITH(RPC_EXPONENTIAL, 30), WITH(RPC_EXPONENTIAL, 60),
	WITH(RPC_EXPONENTIAL, 80), WITH(RPC_BIMODAL, 30),
	WITH(RPC_BIMODAL, 60),     WITH(RPC_BIMODAL, 80),
};

WORKLOAD(
	rpc, "Calls in an open loop, compared with an ideal queue",
	ARGS_OPTIONS(
		ARGS_PARSED(
			"service", parse_service, "NAME",
			"exponential (mean 10 us, the default) or "
			"bimodal (1 ms for one in 200, 10 us for the others)"),
		ARGS_NUMBER_OF(struct rpc_options, "load", load_percent, 1, 95,
			       "PERCENT",
			       "Percent of the workers' capacity (default 60)"),
		ARGS_NUMBER_OF(struct rpc_options, "calls", calls, 1, 10000000,
			       "N", "Calls in a round (default 20000)"),
		ARGS_NUMBER_OF(struct rpc_options, "seed", seed, 0, 1000000,
			       "N",
			       "Seed of the first round's calls (default 1)")),
	.options_size = sizeof(struct rpc_options), .defaults = &defaults,
	.report = reported,
	.report_count = sizeof(reported) / sizeof(reported[0]),
	.params = rpc_params, .busy_caller = true, .latency = true,
	.sample = rpc_sample, .figures = rpc_figures,
	WORKLOAD_CALLS(rpc, struct rpc));
