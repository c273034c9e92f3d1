/* SPDX-License-Identifier: MIT */
/**
 * fuzz_target.c - any memory as that of a process that skua runs in
 *
 * The first byte says whether the rest is a text as of /proc; or else a program
 * that changes a sound debug area: words anywhere in it, regions that are not
 * mapped or shorter, and words that change at the n-th read. The result is
 * shown as skua top shows it. The model is what holds of whatever was not refused.
 */
#include <string.h>

#include "bpf/target/target_proc.h"
#include "bpf/stats/top.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/target_memory.h"

/* The program may write that many words; nothing needs more reads. */
#define MAX_WRITES 64u
#define MAX_READS  200000u

/* ---- instead of a process -------------------------------------------------- */

static struct target_memory memory;

int target_look(struct target *target, const struct target_runtime *runtime,
		unsigned worker, struct target_now *out)
{
	(void)target;
	out->at_ns = FAKE_NOW;
	return target_area_look(&memory, runtime, worker, out);
}

bool target_name(struct target *target, uint64_t type, uint64_t poll,
		 char *text)
{
	(void)target;
	snprintf(text, TARGET_NAME, "%jx %jx", (uintmax_t)type,
		 (uintmax_t)poll);
	return false;
}

int target_read(struct target *target, uint64_t address, void *to, size_t bytes)
{
	(void)target;
	return memory.read(memory.context, address, to, bytes);
}

/* None of its threads is there any more. */
pid_t target_thread(struct target *target, uint32_t tid)
{
	(void)target;
	(void)tid;
	return 0;
}

pid_t target_pid(const struct target *target)
{
	(void)target;
	return FAKE_PID;
}

void target_comm(const struct target *target, char *text)
{
	(void)target;
	text[0] = 0;
}

unsigned target_runtimes(const struct target *target)
{
	(void)target;
	return 1;
}

const char *target_symbols_missing(const struct target *target)
{
	(void)target;
	return "";
}

/* ---- the program ----------------------------------------------------------- */

/* Values that are likely to matter. */
static const uint64_t values[] = {
	0,
	1,
	2,
	3,
	8,
	4096,
	4097,
	UINT32_MAX,
	UINT64_C(1) << 32,
	INT64_MAX,
	UINT64_MAX,
	UINT64_MAX - 7,
	AREA_ROOT_MAGIC,
	AREA_RUNTIME_MAGIC,
};

static uint64_t fuzz_value(struct fuzz_input *in)
{
	unsigned kind = fuzz_below(in, 4);

	if (kind == 0)
		return values[fuzz_below(in, (unsigned)COUNT_OF(values))];
	if (kind == 1)
		return fake_address(fuzz_below(in, FAKE_REGIONS));
	return fuzz_number(in, kind == 2 ? 1 : 8);
}

static struct fake_change fuzz_change(struct fuzz_input *in)
{
	struct fake_change change = { .region = fuzz_below(in, FAKE_REGIONS) };

	change.offset = (size_t)fuzz_number(in, 2);
	change.value = fuzz_value(in);
	return change;
}

static void fuzz_fake(struct fake *fake, struct fuzz_input *in)
{
	for (unsigned i = 0; i < MAX_WRITES && fuzz_more(in); i++) {
		unsigned kind = fuzz_below(in, 4);
		struct fake_change change = fuzz_change(in);

		if (kind == 0) {
			fake->regions[change.region].size =
				change.offset %
				(fake->regions[change.region].size + 1);
		} else if (kind == 1 && fake->change_count < FAKE_CHANGES) {
			change.at_read = fuzz_byte(in);
			fake->changes[fake->change_count++] = change;
		} else {
			fake_apply(fake, &change);
		}
	}
}

/* ---- what holds ------------------------------------------------------------ */

static void check_printable(const char *text, size_t size)
{
	fuzz_check(memchr(text, 0, size), "a text has no end");
	for (; *text; text++)
		fuzz_check(*text >= ' ' && *text <= '~', "%d is printed",
			   *text);
}

static void check_runtime(const struct target_runtime *runtime)
{
	const struct area_runtime *area = &runtime->area;

	fuzz_check(area->worker_count > 0 &&
			   area->worker_count <= TARGET_MAX_WORKERS,
		   "%u workers", area->worker_count);
	fuzz_check(area->worker_bytes >= offsetof(struct area_worker, finished),
		   "workers of %u bytes", area->worker_bytes);
	fuzz_check(area->magic == AREA_RUNTIME_MAGIC && area->abi == AREA_ABI,
		   "no runtime");
	fuzz_check(runtime->changes % 2 == 0, "read in a change");
	check_printable(runtime->version, sizeof(runtime->version));
}

static uint64_t word(const struct fake *fake, uint64_t address, bool *is_there)
{
	uint64_t region = address / FAKE_APART - 1, value = 0;
	uint64_t offset = address % FAKE_APART;

	*is_there = region < FAKE_REGIONS &&
		    fake->regions[region].size >= sizeof(value) &&
		    offset <= fake->regions[region].size - sizeof(value);
	if (*is_there)
		memcpy(&value, fake->regions[region].bytes + offset,
		       sizeof(value));
	return value;
}

/* True at the end of a call, as it was all the time: the list is as it
 * was when the runtime was found. */
static void check_same_list(const struct fake *fake,
			    const struct target_runtime *runtime)
{
	bool is_there;
	uint64_t changes =
		word(fake, runtime->root + offsetof(struct area_root, changes),
		     &is_there);

	fuzz_check(is_there && changes == runtime->changes,
		   "of a runtime that may be gone");
}

/* A name is of the task that is still there. */
static void check_look(const struct fake *fake,
		       const struct target_runtime *runtime, unsigned worker,
		       const struct target_now *now)
{
	bool is_there;
	uint64_t address = runtime->workers[worker];
	uint64_t polled = word(
		fake,
		address + offsetof(struct area_worker, counters.tasks_polled),
		&is_there);

	/* It may end before the last read, which is of the list. */
	for (unsigned i = 0; i < fake->change_count; i++)
		if (fake->changes[i].at_read + 1 == fake->reads)
			return;
	if (now->poll)
		fuzz_check(is_there && now->task && polled == now->tasks_polled,
			   "the poll function of another task");
}

static void check_snapshot(const struct target_snapshot *snapshot)
{
	for (unsigned i = 0; i < snapshot->worker_count; i++)
		fuzz_check(snapshot->workers[i].queue_depth <= 32768,
			   "a queue of %ju",
			   (uintmax_t)snapshot->workers[i].queue_depth);
}

/* ---- all of it ------------------------------------------------------------- */

static int snapshot_of(const struct fake *fake,
		       const struct target_runtime *runtime,
		       struct target_snapshot *out)
{
	struct target_complaint said = { "" };
	int code =
		target_area_snapshot(&memory, runtime, fake_now_ns, out, &said);

	if (code == 0) {
		check_same_list(fake, runtime);
		check_snapshot(out);
	}
	fuzz_check(code == 0 || said.text[0] || code == -ESRCH ||
			   code == -EFAULT,
		   "%d, and nothing is said", code);
	return code;
}

static void show(const struct target_runtime *runtime, struct top_runtime *top)
{
	const struct top_style style = { .line_art = top->looks % 2,
					 .rows = 8 };
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	top_end(top);
	for (unsigned i = 0; i < top->kind_count; i++) {
		double share = top_share(top, &top->kinds[i]);

		fuzz_check(share >= 0 && share < 1.000001, "a share of %f",
			   share);
	}
	top_text(file, NULL, runtime, top, &style);
	fclose(file);
	for (size_t i = 0; i < size; i++)
		fuzz_check(text[i] == '\n' || (unsigned char)text[i] >= ' ',
			   "%d is printed", text[i]);
	free(text);
}

/* An interval as skua top has it, which ends when something is refused. */
static void watch(const struct fake *fake, const struct target_runtime *runtime)
{
	struct top_runtime *top = calloc(1, sizeof(*top));
	int code;

	top->worker_count = runtime->area.worker_count;
	top->polls = calloc(top->worker_count, sizeof(*top->polls));
	top->threads = calloc(top->worker_count, sizeof(*top->threads));
	code = snapshot_of(fake, runtime, &top->after);
	top_begin(top);
	for (unsigned i = 0; code == 0 && i < 3; i++) {
		struct target_now now;

		code = target_look(NULL, runtime, 0, &now);
		if (code == 0) {
			check_same_list(fake, runtime);
			check_look(fake, runtime, 0, &now);
			code = top_look(NULL, runtime, top);
		}
		threads_read(NULL, runtime, top->threads);
	}
	if (code == 0)
		code = snapshot_of(fake, runtime, &top->after);
	if (code == 0)
		show(runtime, top);
	top_free(top);
	free(top);
}

static void run_memory(struct fuzz_input *in)
{
	uint64_t roots[TARGET_MAX_ROOTS];
	struct target_list list = { .count = 0 };
	struct fake fake;
	unsigned count = 0;
	bool sound = !fuzz_more(in);

	fake_make(&fake);
	memory = fake_memory(&fake);
	fuzz_fake(&fake, in);
	fake_roots(&memory, roots, &count);
	fuzz_check(count <= TARGET_MAX_ROOTS, "%u roots", count);
	for (unsigned i = 0; i < count; i++) {
		struct target_complaint said = { "" };

		target_list_add(&list, &memory, roots[i], &said);
		check_printable(said.text, sizeof(said.text));
	}
	fuzz_check(list.count <= TARGET_MAX_ROOTS * TARGET_MAX_RUNTIMES,
		   "%u runtimes", list.count);
	fuzz_check(!sound || list.count == 1, "a sound area is not read");
	for (unsigned i = 0; i < list.count && i < 8; i++) {
		check_runtime(&list.runtimes[i]);
		watch(&fake, &list.runtimes[i]);
	}
	fuzz_check(fake.reads < MAX_READS, "%u reads", fake.reads);
	target_list_free(&list);
	fake_free(&fake);
}

static void run_text(struct fuzz_input *in)
{
	size_t size = (size_t)(in->end - in->next);
	char *text = malloc(size + 1), *again = malloc(size + 1);
	struct target_mapping *maps;
	struct target_status status;
	ssize_t count;

	memcpy(text, in->next, size);
	text[size] = 0;
	memcpy(again, text, size + 1);
	target_parse_status(again, &status);
	count = target_parse_maps(text, &maps);
	for (ssize_t i = 0; i < count; i++) {
		fuzz_check(maps[i].start < maps[i].end, "an empty mapping");
		fuzz_check(maps[i].path >= text && maps[i].path <= text + size,
			   "a path elsewhere");
	}
	free(maps);
	target_printable(again, size + 1);
	check_printable(again, size + 1);
	free(text);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };

	if (fuzz_below(&in, 4) == 3)
		run_text(&in);
	else
		run_memory(&in);
	return 0;
}
