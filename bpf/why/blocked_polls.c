/* SPDX-License-Identifier: MIT */
/* blocked_polls.c - see blocked_polls.h */
#include "bpf/why/blocked_polls.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/cli/clock.h"
#include "bpf/flame/flame_stack.h"
#include "bpf/programs/block.h"
#include "bpf/programs/programs.h"
#include "bpf/cli/grow.h"

#include "block.skel.h"

#define MAX_PLACES   4096u
#define MAX_WORKERS  2048u /* limit of workers to watch */
#define MORE_WORKERS 64u   /* room for workers that start later */

struct blocked_polls {
	struct target *target;
	struct flame_names *names;
	struct block_bpf *program;
	struct ring_buffer *ring;
	struct blocked_polls_place *places;
	size_t count, room;
	/* Blocks that began before the tool started, with the data that the BPF
	 * program could not read. */
	struct block *before;
	size_t before_count, before_room;
	uint64_t least_ns;
	uint64_t left_out; /* blocks in places beyond MAX_PLACES */
	int error;
};

/* ---- places ---------------------------------------------------------------- */

static bool place_matches(const struct blocked_polls_place *place,
			  const char *type,
			  const struct flame_function *functions,
			  unsigned count)
{
	if (place->function_count != count || strcmp(place->type, type) != 0)
		return false;
	for (unsigned i = 0; i < count; i++)
		if (place->functions[i].address != functions[i].address)
			return false;
	return true;
}

static struct blocked_polls_place *
add_place(struct blocked_polls *off, const char *type,
	  const struct flame_function *functions, unsigned count)
{
	struct blocked_polls_place *place;
	size_t bytes = count * sizeof(*functions);

	if (off->count == MAX_PLACES) {
		off->left_out++;
		return NULL;
	}
	if (!grow(&off->places, sizeof(*place), off->count, &off->room)) {
		off->error = -ENOMEM;
		return NULL;
	}
	place = &off->places[off->count];
	*place = (struct blocked_polls_place){ .function_count = count,
					       .functions = malloc(bytes + 1) };
	if (!place->functions) {
		off->error = -ENOMEM;
		return NULL;
	}
	snprintf(place->type, sizeof(place->type), "%s", type);
	memcpy(place->functions, functions, bytes);
	off->count++;
	return place;
}

static struct blocked_polls_place *
find_place(struct blocked_polls *off, const struct sample *sample, bool *whole)
{
	struct flame_function functions[FLAME_FRAMES];
	unsigned count = flame_stack_read(off->names, sample, functions, whole);
	const char *type =
		flame_names_type(off->names, sample->type, sample->poll);

	for (size_t i = 0; i < off->count; i++)
		if (place_matches(&off->places[i], type, functions, count))
			return &off->places[i];
	return add_place(off, type, functions, count);
}

static void count_block(struct blocked_polls *off, const struct block *block,
			bool still)
{
	uint64_t ns = block->until_ns - block->from_ns;
	bool whole;
	struct blocked_polls_place *place =
		find_place(off, &block->sample, &whole);

	if (!place)
		return;
	place->whole = whole;
	place->before |= block->before != 0;
	place->still += still;
	place->times++;
	place->ns += ns;
	if (place->longest_ns < ns)
		place->longest_ns = ns;
}

/* ---- blocks that began before ------------------------------------------------ */

static bool read_word(struct blocked_polls *off, uint64_t address, __u64 *out)
{
	return target_read(off->target, address, out, sizeof(*out)) == 0;
}

static bool read_function(struct blocked_polls *off,
			  const struct sample_worker *where, uint64_t task,
			  __u64 *out)
{
	uint64_t at = where->poll;
	uint32_t flags = 0;

	if (where->flags)
		target_read(off->target, task + where->flags, &flags,
			    sizeof(flags));
	if (flags & SAMPLE_FIBER)
		at = where->fiber;
	return read_word(off, task + at, out);
}

/* The BPF program cannot read the memory of a worker that sleeps already, so
 * the tool does, in the same way as look() and read_stack() in look.h. A poll
 * that ends in between is not reported. */
static bool read_sample(struct blocked_polls *off,
			const struct sample_worker *where,
			struct sample *sample)
{
	uint32_t bytes = 0;
	__u64 task;

	if (!read_word(off, where->task, &task) || task == 0 ||
	    !read_function(off, where, task, &sample->poll) ||
	    !read_word(off, task + where->type, &sample->type))
		return false;
	while (bytes < SAMPLE_STACK &&
	       target_read(off->target, sample->sp + bytes,
			   sample->stack + bytes, SAMPLE_PIECE) == 0)
		bytes += SAMPLE_PIECE;
	sample->bytes = bytes;
	sample->of = SAMPLE_TASK;
	return true;
}

/* Look up a worker's block in the program's map. Return: true if the worker
 * sleeps. */
static bool look_up(const struct blocked_polls *off, uint32_t tid,
		    struct block *block)
{
	int map = bpf_map__fd(off->program->maps.asleep);

	return bpf_map_lookup_elem(map, &tid, block) == 0 &&
	       block->from_ns != 0;
}

/* Look up the names while the process exists: it may end when this poll does. */
static void learn_names(struct blocked_polls *off, const struct sample *sample)
{
	struct flame_function functions[FLAME_FRAMES];
	bool whole;

	flame_stack_read(off->names, sample, functions, &whole);
	flame_names_type(off->names, sample->type, sample->poll);
}

static void keep_before(struct blocked_polls *off, uint32_t tid,
			const struct sample_worker *where)
{
	struct block *block;

	if (!grow(&off->before, sizeof(*block), off->before_count,
		  &off->before_room)) {
		off->error = -ENOMEM;
		return;
	}
	block = &off->before[off->before_count];
	if (look_up(off, tid, block) && block->before &&
	    read_sample(off, where, &block->sample)) {
		learn_names(off, &block->sample);
		off->before_count++;
	}
}

static const struct block *find_before(const struct blocked_polls *off,
				       const struct block *block)
{
	for (size_t i = 0; i < off->before_count; i++)
		if (off->before[i].tid == block->tid &&
		    off->before[i].from_ns == block->from_ns)
			return &off->before[i];
	return NULL;
}

static void count_any(struct blocked_polls *off, const struct block *block,
		      bool still)
{
	const struct block *before =
		block->before ? find_before(off, block) : NULL;
	struct block whole;

	if (before) {
		whole = *before;
		whole.until_ns = block->until_ns;
		block = &whole;
	}
	if (block->sample.of == SAMPLE_TASK)
		count_block(off, block, still);
}

static int on_block(void *context, void *data, size_t size)
{
	struct blocked_polls *off = context;
	const struct block *block = data;

	if (size >= offsetof(struct block, sample.stack) &&
	    size - offsetof(struct block, sample.stack) >= block->sample.bytes)
		count_any(off, block, false);
	return off->error;
}

/* ---- workers --------------------------------------------------------------- */

/* Call a function for each worker that the BPF program knows. */
static void each_worker(struct blocked_polls *off,
			void (*with)(struct blocked_polls *off, uint32_t tid,
				     const struct sample_worker *where))
{
	int map = bpf_map__fd(off->program->maps.workers);
	struct sample_worker where;
	uint32_t tid, *last = NULL;

	while (bpf_map_get_next_key(map, last, &tid) == 0) {
		if (bpf_map_lookup_elem(map, &tid, &where) == 0)
			with(off, tid, &where);
		last = &tid;
	}
}

static void make_room(struct blocked_polls *off, uint32_t tid,
		      const struct sample_worker *where)
{
	static const struct block nothing;

	(void)where;
	/* A worker that has an entry may sleep already: keep it. */
	bpf_map_update_elem(bpf_map__fd(off->program->maps.asleep), &tid,
			    &nothing, BPF_NOEXIST);
}

static int tell_workers(struct blocked_polls *off)
{
	int code = flame_tell_workers(off->target,
				      bpf_map__fd(off->program->maps.workers));

	if (code < 0)
		return code;
	each_worker(off, make_room);
	return 0;
}

static unsigned count_workers(struct target *target)
{
	unsigned count = MORE_WORKERS;

	for (unsigned i = 0; i < target_runtimes(target); i++)
		count += target_runtime(target, i)->area.worker_count;
	return count < MAX_WORKERS ? count : MAX_WORKERS;
}

/* ---- beginning ------------------------------------------------------------- */

static int fail(char *why, int err)
{
	snprintf(why, BLOCKED_POLLS_TEXT, "%s",
		 err == -ENOMEM ? strerror(ENOMEM) : programs_reason(err));
	return err;
}

static int load(struct blocked_polls *off, uint64_t least_ns)
{
	pid_t pid = target_pid(off->target);
	uint32_t tgid;
	int err;

	programs_begin();
	err = programs_find(pid, &tgid);
	if (err)
		return err;
	off->program = block_bpf__open();
	if (!off->program)
		return -errno;
	bpf_map__set_max_entries(off->program->maps.asleep,
				 count_workers(off->target));
	off->program->rodata->tgid = tgid;
	off->program->rodata->namespace = flame_namespace_of(pid);
	off->program->rodata->least_ns = least_ns;
	err = block_bpf__load(off->program);
	if (err)
		return err;
	off->ring = ring_buffer__new(bpf_map__fd(off->program->maps.blocks),
				     on_block, off, NULL);
	return off->ring ? 0 : -errno;
}

/* Attach to the switches before the scan, so that each sleeping worker is
 * either found by the scan or seen when it leaves. */
static int attach(struct blocked_polls *off)
{
	struct block_bpf *program = off->program;
	int err;

	program->links.on_switch =
		bpf_program__attach(program->progs.on_switch);
	if (!program->links.on_switch)
		return -errno;
	err = programs_iterate(program->progs.find_asleep);
	if (err)
		return err;
	each_worker(off, keep_before);
	return off->error;
}

int blocked_polls_start(struct blocked_polls **out, struct target *target,
			uint64_t least_ns, char *why)
{
	struct blocked_polls *off = calloc(1, sizeof(*off));
	int err;

	*out = off;
	if (off)
		off->names = flame_names_new(target);
	if (!off || !off->names)
		return fail(why, -ENOMEM);
	off->target = target;
	off->least_ns = least_ns;
	err = load(off, least_ns);
	if (err == 0)
		err = tell_workers(off);
	if (err == 0)
		err = attach(off);
	return err ? fail(why, err) : 0;
}

/* ---- taking blocks --------------------------------------------------------- */

int blocked_polls_take(struct blocked_polls *off, bool ended)
{
	/* The blocks may already be of a program that the process has
	 * executed. */
	if (!ended && !target_alive(off->target))
		return -ESRCH;
	ring_buffer__consume(off->ring);
	flame_names_look_again(off->names);
	if (!ended)
		tell_workers(off);
	return off->error;
}

static void count_still(struct blocked_polls *off, uint32_t tid,
			const struct sample_worker *where)
{
	struct block block;

	(void)where;
	if (!look_up(off, tid, &block))
		return;
	block.until_ns = now_ns();
	if (block.until_ns - block.from_ns >= off->least_ns)
		count_any(off, &block, true);
}

static int compare(const void *left, const void *right)
{
	const struct blocked_polls_place *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return strcmp(a->type, b->type);
}

int blocked_polls_finish(struct blocked_polls *off)
{
	each_worker(off, count_still);
	if (off->count > 0)
		qsort(off->places, off->count, sizeof(*off->places), compare);
	return off->error;
}

size_t blocked_polls_keep_type(struct blocked_polls *off, const char *type)
{
	size_t kept = 0;

	for (size_t i = 0; i < off->count; i++) {
		if (strcmp(off->places[i].type, type) == 0)
			off->places[kept++] = off->places[i];
		else
			free(off->places[i].functions);
	}
	return off->count = kept;
}

const struct blocked_polls_place *
blocked_polls_places(const struct blocked_polls *off, size_t *count)
{
	*count = off->count;
	return off->places;
}

struct blocked_polls_counts
blocked_polls_counts(const struct blocked_polls *off)
{
	return (struct blocked_polls_counts){ .times = off->program->bss->times,
					      .ns = off->program->bss->sum_ns,
					      .lost = off->program->bss->lost +
						      off->left_out };
}

void blocked_polls_line(const struct blocked_polls *off,
			const struct flame_function *function, struct line *out)
{
	flame_names_line(off->names, function->address, out);
}

void blocked_polls_hurry(struct blocked_polls *off)
{
	flame_names_hurry(off->names);
}

void blocked_polls_stop(struct blocked_polls *off)
{
	if (!off)
		return;
	ring_buffer__free(off->ring);
	if (off->program)
		block_bpf__destroy(off->program);
	for (size_t i = 0; i < off->count; i++)
		free(off->places[i].functions);
	free(off->places);
	free(off->before);
	flame_names_free(off->names);
	free(off);
}
