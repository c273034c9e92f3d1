/* SPDX-License-Identifier: MIT */
/* victims.c - see victims.h */
#include "core/idle/victims.h"

enum stage { OWN_GROUP, OTHERS, NODE, SAMPLES, NODES, END };

static void begin_line(struct victims *v, unsigned line)
{
	v->line = line;
	v->left = work_map_read(v->map, line, v->kind);
	v->injected = false;
	if (line == v->own_line)
		v->left &= ~v->own_bit;
	else if (v->kind == WORK_TASKS)
		v->injected = work_map_read(v->map, line, WORK_INJECTED) != 0;
}

void victims_begin(struct victims *v)
{
	v->stage = OWN_GROUP;
	v->step = 0;
	v->rotation = rng_below(v->rng, v->groups->groups[v->own_line].count);
	begin_line(v, v->own_line);
}

static const struct llc_node *own_node(const struct victims *v)
{
	return &v->groups->nodes[v->groups->groups[v->own_line].node];
}

/* ---- lines ----------------------------------------------------------------- */

/* The line behind those of all groups: external threads, which are in no group
 * and have jobs only. */
static bool next_of_others(struct victims *v)
{
	if (v->step++ > 0 || v->kind == WORK_TASKS)
		return false;
	begin_line(v, v->groups->count);
	return true;
}

static bool next_of_node(struct victims *v)
{
	const struct llc_node *node = own_node(v);

	if (node->count == 1)
		return false;
	if (v->step == 0)
		v->start = rng_below(v->rng, node->count);
	while (v->step < node->count) {
		unsigned line =
			node->first + (v->start + v->step++) % node->count;

		if (line != v->own_line) {
			begin_line(v, line);
			return true;
		}
	}
	return false;
}

/* Begin a random group: in turn, one of the nearest nodes and one of all other
 * nodes. */
static bool next_sample(struct victims *v)
{
	const struct llc_node *own = own_node(v), *node;
	unsigned among;

	if (v->reach != VICTIMS_SAMPLE || v->step == v->samples ||
	    v->groups->node_count == 1)
		return false;
	among = v->step++ % 2 == 0 ? own->nearest : v->groups->node_count - 1;
	node = &v->groups->nodes[own->others[rng_below(v->rng, among)]];
	begin_line(v, node->first + rng_below(v->rng, node->count));
	return true;
}

static bool next_of_nodes(struct victims *v)
{
	const struct llc_node *own = own_node(v), *node;

	if (v->reach != VICTIMS_ALL ||
	    v->node_step == v->groups->node_count - 1)
		return false;
	node = &v->groups->nodes[own->others[v->node_step]];
	if (v->step == 0)
		v->start = rng_below(v->rng, node->count);
	begin_line(v, node->first + (v->start + v->step++) % node->count);
	if (v->step == node->count) {
		v->step = 0;
		v->node_step++;
	}
	return true;
}

static bool next_of_stage(struct victims *v)
{
	switch ((enum stage)v->stage) {
	case OTHERS:
		return next_of_others(v);
	case NODE:
		return next_of_node(v);
	case SAMPLES:
		return next_sample(v);
	case NODES:
		return next_of_nodes(v);
	default:
		return false;
	}
}

static bool next_line(struct victims *v)
{
	while (v->stage != END) {
		if (next_of_stage(v))
			return true;
		v->stage++;
		v->step = 0;
		v->node_step = 0;
	}
	return false;
}

/* ---- bits ------------------------------------------------------------------ */

/* Return the lowest set bit of @bits from bit @rotation on; if there is none,
 * the lowest of all. */
static unsigned first_bit(uint64_t bits, unsigned rotation)
{
	uint64_t behind = bits & (UINT64_MAX << rotation);

	return (unsigned)__builtin_ctzll(behind ? behind : bits);
}

bool victims_next(struct victims *v, struct victim *victim)
{
	uint64_t near;

	while (!v->left && !v->injected) {
		if (!next_line(v))
			return false;
	}
	*victim = (struct victim){
		.line = v->line,
		.far = v->stage == SAMPLES || v->stage == NODES,
		.injected = v->injected,
	};
	if (v->injected) {
		v->injected = false;
		return true;
	}
	near = v->line == v->own_line ? v->left & v->siblings : 0;
	victim->bit = first_bit(near ? near : v->left, v->rotation);
	v->left &= ~(UINT64_C(1) << victim->bit);
	return true;
}
