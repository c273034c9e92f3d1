/* SPDX-License-Identifier: MIT */
/**
 * stress_jobs.c - each job is run once, and what it writes is seen by its join
 *
 * Random trees of calls, some of whose children are forked one in another, some
 * in a scope, and of which some yield their CPU, so that jobs stay stolen and
 * their joins sleep. Roots are called from outside, by more threads than there
 * are places for external threads, from tasks, and from within jobs, while other tasks come
 * and go. Each root's count is compared with that of the same tree by itself.
 */
#include <sched.h>

#include "core/base/rng.h"
#include "skua/skua.h"
#include "tests/stress/stress.h"

#define CHILDREN_MAX 6u
#define CALLERS_MAX  20u
#define DEPTH        12u

static struct skua_runtime *rt;
static atomic_u64 jobs_made;
static uint64_t jobs_wanted;

/* A node of a tree, which its seed describes. */
struct node {
	struct skua_job job; /* first: a job is its node */
	uint64_t seed;
	unsigned depth;
	unsigned runs;  /* plain: a second run beside it is a race */
	uint64_t nodes; /* the result: of the tree below, itself included */
};

enum shape { NESTED, SCOPE, FLAT, OUTSIDE };

struct children {
	unsigned count;
	enum shape shape;
	bool yields;
	struct node node[CHILDREN_MAX];
};

static void node_run(struct skua_ctx ctx, struct skua_job *job);

/* The children that the seed gives. */
static void children_of(const struct node *node, struct children *children)
{
	struct rng rng;

	rng_init(&rng, node->seed);
	children->count = node->depth == 0 ? 0 : rng_below(&rng, 4);
	if (children->count == 3)
		children->count = rng_below(&rng, CHILDREN_MAX) + 1;
	children->shape = (enum shape)rng_below(&rng, 3);
	if (rng_below(&rng, 64) == 0)
		children->shape = OUTSIDE;
	children->yields = rng_below(&rng, 16) == 0;
	for (unsigned i = 0; i < children->count; i++)
		children->node[i] = (struct node){
			.job = { node_run },
			.seed = (uint64_t)rng_next(&rng) << 32 | rng_next(&rng),
			.depth = node->depth - 1,
		};
}

/* Without forks. */
static uint64_t count(const struct node *node)
{
	struct children children;
	uint64_t nodes = 1;

	children_of(node, &children);
	for (unsigned i = 0; i < children.count; i++)
		nodes += count(&children.node[i]);
	return nodes;
}

/* Fork the first, and the others within. */
static void fork_nested(struct skua_ctx ctx, struct children *children,
			unsigned i)
{
	struct node *node = &children->node[i];
	struct skua_ctx inner;

	if (i == children->count)
		return;
	inner = skua_fork(ctx, &node->job);
	fork_nested(inner, children, i + 1);
	if (skua_reclaim(inner, &node->job))
		node_run(ctx, &node->job);
}

static void fork_scope(struct skua_ctx ctx, struct children *children)
{
	struct skua_scope scope = skua_scope_begin(ctx);

	for (unsigned i = 0; i < children->count; i++)
		skua_scope_fork(&scope, &children->node[i].job);
	skua_scope_join(&scope);
}

/* One after the other. */
static void fork_flat(struct skua_ctx ctx, struct children *children)
{
	for (unsigned i = 0; i < children->count; i++) {
		struct node *node = &children->node[i];
		struct skua_ctx inner = skua_fork(ctx, &node->job);

		if (node->seed % 8 == 0)
			sched_yield();
		if (skua_reclaim(inner, &node->job))
			node_run(ctx, &node->job);
	}
}

static void run_children(struct skua_ctx ctx, void *arg)
{
	fork_scope(ctx, arg);
}

static void node_run(struct skua_ctx ctx, struct skua_job *job)
{
	struct node *node = (struct node *)job;
	struct children children;

	node->runs++;
	children_of(node, &children);
	if (children.yields)
		sched_yield();
	if (children.shape == NESTED)
		fork_nested(ctx, &children, 0);
	else if (children.shape == SCOPE)
		fork_scope(ctx, &children);
	else if (children.shape == FLAT)
		fork_flat(ctx, &children);
	else if (skua_run(rt, run_children, &children) != 0)
		stress_fail("a call within a job was refused");
	node->nodes = 1;
	for (unsigned i = 0; i < children.count; i++) {
		if (children.node[i].runs != 1)
			stress_fail("a job was run %u times",
				    children.node[i].runs);
		node->nodes += children.node[i].nodes;
	}
}

/* ---- roots ---------------------------------------------------------------- */

static void root(struct skua_ctx ctx, void *arg)
{
	struct node *node = arg;

	node_run(ctx, &node->job);
}

static struct node new_root(struct rng *rng)
{
	return (struct node){ .seed = rng_next(rng),
			      .depth = rng_below(rng, DEPTH) };
}

static void check(const struct node *node)
{
	uint64_t nodes = count(node);

	if (node->nodes != nodes)
		stress_fail("a tree of %" PRIu64 " nodes came to %" PRIu64,
			    nodes, node->nodes);
	atomic_fetch_add_relaxed(&jobs_made, nodes - 1);
}

static bool enough(void)
{
	return atomic_load_relaxed(&jobs_made) >= jobs_wanted;
}

/* ---- from tasks ----------------------------------------------------------- */

struct caller {
	struct skua_task task; /* first: a task is its caller */
	struct rng rng;
};

static enum skua_poll call_in_task(struct skua_task *self)
{
	struct caller *caller = (struct caller *)self;
	struct node node = new_root(&caller->rng);

	if (rng_below(&caller->rng, 4) == 0)
		return SKUA_YIELD; /* as tasks that do not fork */
	root(skua_task_ctx(self), &node);
	check(&node);
	return enough() ? SKUA_DONE : SKUA_YIELD;
}

/* ---- from outside --------------------------------------------------------- */

static void *call_outside(void *arg)
{
	struct caller *caller = arg;

	while (!enough()) {
		struct node node = new_root(&caller->rng);

		if (skua_run(rt, root, &node) != 0)
			stress_fail("a call was refused");
		check(&node);
	}
	return NULL;
}

/* @outside threads and @inside tasks, on so many workers. Return: jobs stolen. */
static uint64_t run_round(unsigned workers, unsigned outside, unsigned inside)
{
	struct skua_config config = { .size = sizeof(config),
				      .workers = workers };
	static struct caller callers[CALLERS_MAX], tasks[CALLERS_MAX];
	struct skua_stats stats;

	if (skua_runtime_create(&rt, &config, NULL) != 0)
		stress_fail("no runtime");
	for (unsigned i = 0; i < inside; i++) {
		rng_init(&tasks[i].rng, workers + i);
		tasks[i].task = (struct skua_task)SKUA_TASK_INIT(call_in_task);
		if (skua_task_spawn(rt, &tasks[i].task) != 0)
			stress_fail("a task was refused");
	}
	for (unsigned i = 0; i < outside; i++)
		rng_init(&callers[i].rng, 100 * workers + i);
	stress_threads(outside, call_outside, callers, sizeof(callers[0]));
	if (skua_runtime_drain(rt) != 0)
		stress_fail("drain");
	if (skua_runtime_stats(rt, &stats) != 0 ||
	    skua_runtime_destroy(rt) != 0)
		stress_fail("destroy");
	return stats.total.jobs_stolen;
}

int main(void)
{
	static const struct {
		unsigned workers, outside, inside;
	} rounds[] = {
		{ 1, 1, 0 },  { 2, 1, 0 },  { 2, 0, 3 },   { 2, 2, 2 },
		{ 3, 2, 1 },  { 3, 20, 0 }, { 8, 1, 0 },   { 8, 0, 10 },
		{ 8, 18, 9 }, { 64, 3, 0 }, { 64, 2, 20 },
	};
	unsigned count = sizeof(rounds) / sizeof(rounds[0]);
	uint64_t ops = stress_ops() / 5;
	uint64_t stolen = 0;

	for (unsigned i = 0; i < count; i++) {
		jobs_wanted = (i + 1) * (ops / count + 1);
		stolen += run_round(rounds[i].workers, rounds[i].outside,
				    rounds[i].inside);
	}
	if (stolen == 0)
		stress_fail("no job was stolen: nothing was tested");
	printf("jobs: %" PRIu64 " operations, %" PRIu64
	       " stolen by workers, each "
	       "run once\n",
	       atomic_load_relaxed(&jobs_made), stolen);
	return 0;
}
