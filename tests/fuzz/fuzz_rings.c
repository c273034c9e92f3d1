/* SPDX-License-Identifier: MIT */
/**
 * fuzz_rings.c - events are copied from rings in memory that may hold anything
 *
 * The input is a program that changes what the process has (a runtime with two
 * workers, its own words, rings and what is in them), lets the runtime come and
 * go, and has events copied. A read may fail, and other memory than the areas has
 * other contents at each read. In each case, no more is written than was
 * announced, what is written can be read, and nothing is read or kept that is
 * not there.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/recording/rings.h"
#include "bpf/recording/trace_file.h"
#include "bpf/target/target_memory.h"
#include "tests/fuzz/fuzz.h"

#define WORKERS 2u
#define STEPS   64u
#define MEMORY  UINT64_C(0x100000) /* where struct memory is */

struct memory {
	struct area_root root;
	struct area_runtime area;
	struct area_worker worker[WORKERS];
	uint64_t workers[WORKERS];
};

static struct memory memory;
static struct target_runtime runtime;
static struct fuzz_input input;
static bool present;

/* ---- in the place of target.c ---------------------------------------------- */

int target_read(struct target *target, uint64_t address, void *to, size_t bytes)
{
	unsigned char *at = to;

	(void)target;
	if (address >= MEMORY && address - MEMORY <= sizeof(memory) &&
	    bytes <= sizeof(memory) - (address - MEMORY)) {
		memcpy(to, (const char *)&memory + (address - MEMORY), bytes);
		return 0;
	}
	if (fuzz_below(&input, 16) == 1)
		return fuzz_below(&input, 2) ? -EFAULT : -ESRCH;
	/* The latest bytes of the input, again and again. */
	for (size_t i = 0; i < bytes; i++)
		at[i] = i < 64 ? fuzz_byte(&input) : at[i - 32];
	return 0;
}

int target_refresh(struct target *target)
{
	(void)target;
	runtime.changes = memory.root.changes;
	runtime.area = memory.area;
	return fuzz_below(&input, 32) == 1 ? -ESRCH : 0;
}

unsigned target_runtimes(const struct target *target)
{
	(void)target;
	return present;
}

const struct target_runtime *target_runtime(const struct target *target,
					    unsigned index)
{
	(void)target;
	fuzz_check(index == 0 && present, "runtime %u is asked for", index);
	return &runtime;
}

const struct target_runtime *target_find_runtime(const struct target *target,
						 uint64_t address,
						 uint64_t started_ns)
{
	(void)target;
	return present && address == runtime.address &&
			       started_ns == runtime.area.started_ns
		       ? &runtime
		       : NULL;
}

int target_record_until(struct target *target, uint64_t ns)
{
	(void)target;
	(void)ns;
	return 0;
}

/* In the same poll, without an input: it ends when the process does. */
int target_look(struct target *target, const struct target_runtime *of,
		unsigned worker, struct target_now *out)
{
	static uint64_t now_ns;

	(void)target;
	fuzz_check(of == &runtime && worker < WORKERS, "another is asked for");
	*out = (struct target_now){ .at_ns = ++now_ns, .task = 1, .poll = 1 };
	return 0;
}

void target_task(struct target *target, const struct target_runtime *runtime,
		 uint64_t task, uint64_t *type, uint64_t *poll)
{
	*type = *poll = 0;
	target_read(target, task + runtime->task_type, type, sizeof(*type));
	target_read(target, task + runtime->task_poll, poll, sizeof(*poll));
}

bool target_name(struct target *target, uint64_t type, uint64_t poll,
		 char *text)
{
	(void)target;
	(void)poll;
	snprintf(text, TARGET_NAME, "type %" PRIu64, type % 100);
	return true;
}

bool target_symbol(struct target *target, uint64_t address, char *text)
{
	return target_name(target, address, 0, text);
}

void target_printable(char *text, size_t size)
{
	text[size - 1] = '\0';
}

pid_t target_thread(struct target *target, uint32_t tid)
{
	(void)target;
	return (pid_t)tid;
}

/* ---- the program ----------------------------------------------------------- */

static void reset(void)
{
	memset(&memory, 0, sizeof(memory));
	memory.area.worker_count = WORKERS;
	memory.area.worker_bytes = sizeof(struct area_worker);
	memory.area.started_ns = 1;
	for (unsigned i = 0; i < WORKERS; i++)
		memory.workers[i] = MEMORY + offsetof(struct memory, worker) +
				    i * sizeof(struct area_worker);
	runtime = (struct target_runtime){
		.address = MEMORY + offsetof(struct memory, area),
		.root = MEMORY + offsetof(struct memory, root),
		.workers = memory.workers,
	};
	present = true;
}

/* A number that is likely one, or any. */
static uint64_t odd_number(void)
{
	unsigned shift = fuzz_below(&input, 65);

	if (shift == 64)
		return fuzz_number(&input, 8);
	return (UINT64_C(1) << shift) + fuzz_below(&input, 3) - 1;
}

/* Of a ring that is believed, no more than a file may grow by here. */
static uint64_t odd_events(void)
{
	uint64_t events = odd_number();

	return events > 4096 && events <= UINT64_C(1) << 26 ? 4096 : events;
}

static void change_ring(uint64_t *ring, uint64_t *events, uint64_t *head)
{
	switch (fuzz_below(&input, 4)) {
	case 0:
		*ring = odd_number();
		break;
	case 1:
		*events = odd_events();
		break;
	case 2:
		*head = odd_number();
		break;
	default:
		*head += fuzz_below(&input, 64);
	}
}

static void step(struct rings *rings)
{
	struct area_worker *w = &memory.worker[fuzz_below(&input, WORKERS)];
	double fullest;

	switch (fuzz_below(&input, 8)) {
	case 0:
		present = !present;
		memory.root.changes += 2;
		break;
	case 1:
		memory.root.changes = odd_number();
		break;
	case 2:
		memory.area.started_ns++;
		break;
	case 3:
		w->ring_error = (int64_t)odd_number();
		break;
	case 4:
		change_ring(&memory.area.ring, &memory.area.ring_events,
			    &memory.area.ring_head);
		break;
	case 5:
		rings_extend(rings, odd_number());
		break;
	case 6:
		rings_copy(rings, fuzz_below(&input, 2), &fullest);
		break;
	default:
		change_ring(&w->ring, &w->ring_events, &w->ring_head);
	}
}

/* The file has as many events of each stream as was announced, and as many are lost. */
static void check(const struct rings *rings, int file)
{
	uint64_t written = 0, found = 0;
	struct trace_event event;
	struct skua_error err;
	struct trace *trace;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	fuzz_check(trace_open(&trace, path, &err) == 0, "%s", err.text);
	for (unsigned i = 0; i < trace_sources(trace); i++) {
		const struct rings_stream *copied = rings_stream(rings, i);
		const struct trace_source *read = trace_source(trace, i);

		written += copied->written;
		fuzz_check(read->events == copied->written &&
				   read->lost == copied->lost,
			   "stream %u: %" PRIu64 " events and %" PRIu64
			   " lost, announced %" PRIu64 " and %" PRIu64,
			   i, read->events, read->lost, copied->written,
			   copied->lost);
	}
	while (trace_next(trace, &event))
		found++;
	trace_close(trace);
	fuzz_check(found == written,
		   "%" PRIu64 " events read, %" PRIu64 " written", found,
		   written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct trace_meta meta = { .pid = 1 };
	struct trace_writer writer;
	struct rings *rings = NULL;
	int file = memfd_create("trace", MFD_CLOEXEC);

	input = (struct fuzz_input){ data, data + size };
	reset();
	fuzz_check(trace_write_start(&writer, file, &meta) == 0, "no file");
	if (rings_open(&rings, NULL, &writer, odd_number(), NULL) == 0) {
		for (unsigned i = 0; i < STEPS && fuzz_more(&input); i++)
			step(rings);
		if (writer.error == 0)
			check(rings, file);
	}
	if (rings)
		rings_finish(rings);
	rings_close(rings);
	close(file);
	return 0;
}
