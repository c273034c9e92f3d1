/* SPDX-License-Identifier: MIT */
/* why_forks.c - see why_forks.h */
#include "bpf/why/why_forks.h"

#include "bpf/cli/json.h"
#include "bpf/cli/table.h"

/* Smaller shares are left out. */
#define SHOWN 0.005
/* Further callers are counted; in JSON they are left out. */
#define SHOWN_CALLERS 8u
#define JSON_CALLERS  64u

static uint64_t sum(const uint64_t *parts, unsigned count)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < count; i++)
		all += parts[i];
	return all;
}

/* ---- text ------------------------------------------------------------------- */

/* Print the shares of parts, in percent. */
static void print_shares(FILE *file, const uint64_t *parts, unsigned count,
			 const char *(*name)(unsigned))
{
	uint64_t all = sum(parts, count);
	const char *comma = "";

	for (unsigned i = 0; i < count; i++) {
		double share = (double)parts[i] / (double)all;

		if (share < SHOWN)
			continue;
		fprintf(file, "%s%.0f %% %s", comma, 100 * share, name(i));
		comma = ", ";
	}
	fputc('\n', file);
}

static void print_workers(FILE *file, const char *when, const uint64_t *parts)
{
	if (sum(parts, LEDGER_FORK_WORKERS) == 0)
		return;
	fprintf(file, "    workers %s: ", when);
	print_shares(file, parts, LEDGER_FORK_WORKERS, ledger_fork_worker_name);
}

static void print_times(FILE *file, const char *what,
			const struct ledger_fork_times *times)
{
	char count[32], time[32], longest[32];

	fprintf(file, "    %s: %s", what, text_count(count, times->count));
	if (times->count > 0)
		fprintf(file, ", for %s in total, longest %s",
			text_time(time, (double)times->ns),
			text_time_in(longest, (double)times->longest_ns,
				     (double)times->ns));
	fputc('\n', file);
}

/* Print how long after their wake-ups workers ran jobs. */
static void print_took(FILE *file, const struct ledger_fork_times *took)
{
	double mean = (double)took->ns / (double)took->count;
	char count[32], time[32], longest[32];

	fprintf(file,
		"; %s ran a job, %s after the wake-up on average, at most %s",
		text_count(count, took->count),
		text_time_in(time, mean, (double)took->longest_ns),
		text_time(longest, (double)took->longest_ns));
}

static void print_wakes(FILE *file, const struct ledger_forks *f)
{
	char count[32];

	if (f->took.count + f->in_vain == 0)
		return;
	fprintf(file, "    wake-ups of workers: %s",
		text_count(count, f->took.count + f->in_vain));
	if (f->took.count > 0)
		print_took(file, &f->took);
	if (f->in_vain > 0)
		fprintf(file, "; %s found no job left",
			text_count(count, f->in_vain));
	fputc('\n', file);
}

/* ---- callers ------------------------------------------------------------------ */

static uint64_t time_of(const struct ledger_fork_caller *caller)
{
	return sum(caller->parts, LEDGER_FORK_PARTS);
}

/* Collect the callers with the longest times, the longest first. Return: their number, at most
 * @room */
static unsigned rank_callers(const struct ledger_forks *f,
			     const struct ledger_fork_caller **out,
			     unsigned room)
{
	unsigned count = 0;

	for (size_t i = 0; i < f->caller_count; i++) {
		const struct ledger_fork_caller *caller = &f->callers[i];
		unsigned at = count < room ? count++ : room;

		for (; at > 0 && time_of(out[at - 1]) < time_of(caller); at--)
			if (at < room)
				out[at] = out[at - 1];
		if (at < room)
			out[at] = caller;
	}
	return count;
}

/* Write the name of a caller, as "thread 7 in total", to @text. */
#define CALLER_TEXT (TRACE_TEXT + 32)
static void name_caller(const struct why *why,
			const struct ledger_fork_caller *caller, char *text)
{
	int used = caller->thread
			   ? snprintf(text, CALLER_TEXT, "thread %u",
				      caller->thread)
			   : snprintf(text, CALLER_TEXT, "an unknown thread");

	if (caller->root != LEDGER_NOBODY)
		snprintf(text + used, (size_t)(CALLER_TEXT - used), " in %s",
			 why->ledger.names[caller->root]);
}

static void print_caller(FILE *file, const struct why *why,
			 const struct ledger_fork_caller *caller)
{
	char who[CALLER_TEXT], count[32], time[32], jobs[32];

	name_caller(why, caller, who);
	fprintf(file, "    %s: %s call%s, %s; workers took %s job%s\n        ",
		who, text_count(count, caller->calls.count),
		caller->calls.count == 1 ? "" : "s",
		text_time(time, (double)caller->calls.ns),
		text_count(jobs, caller->jobs.count),
		caller->jobs.count == 1 ? "" : "s");
	print_shares(file, caller->parts, LEDGER_FORK_PARTS,
		     ledger_fork_part_name);
}

/* A single caller has no figures of its own: they are those of all. */
static void print_callers(FILE *file, const struct why *why)
{
	const struct ledger_forks *f = &why->ledger.forks;
	const struct ledger_fork_caller *callers[SHOWN_CALLERS];
	unsigned count = rank_callers(f, callers, SHOWN_CALLERS);
	char who[CALLER_TEXT];

	if (count == 1) {
		name_caller(why, callers[0], who);
		fprintf(file, "    caller: %s\n", who);
	}
	for (unsigned i = 0; count > 1 && i < count; i++)
		print_caller(file, why, callers[i]);
	if (f->caller_count > count)
		fprintf(file, "    and %zu callers with shorter times\n",
			f->caller_count - count);
}

static void print_calls(FILE *file, const struct ledger_forks *f)
{
	char count[32], time[32];

	fprintf(file, "fork-join: %s call%s of skua_run() took %s",
		text_count(count, f->calls.count),
		f->calls.count == 1 ? "" : "s",
		text_time(time, (double)f->calls.ns));
	if (f->unseen > 0)
		fprintf(file, "; %s began before the recording",
			text_count(count, f->unseen));
	if (f->apart > 0)
		fprintf(file,
			"; %s could not share jobs, because too many threads "
			"called it",
			text_count(count, f->apart));
	if (f->lost)
		fputs("; events are missing, so these figures are not exact",
		      file);
	fputc('\n', file);
}

void why_print_forks(FILE *file, const struct why *why)
{
	const struct ledger_forks *f = &why->ledger.forks;

	if (sum(f->parts, LEDGER_FORK_PARTS) == 0)
		return;
	print_calls(file, f);
	fputs("    callers: ", file);
	print_shares(file, f->parts, LEDGER_FORK_PARTS, ledger_fork_part_name);
	print_callers(file, why);
	print_workers(file, "while callers were alone", f->alone);
	print_workers(file, "in the rest of that time", f->rest);
	print_times(file, "jobs that workers took", &f->jobs);
	print_times(file, "waits of callers at joins", &f->joins);
	print_wakes(file, f);
	fputc('\n', file);
}

/* Name the caller in a verdict about all of them; nothing if there is one. */
static void add_caller(const struct why *why, unsigned part, char *text,
		       size_t bytes)
{
	const struct ledger_forks *f = &why->ledger.forks;
	const struct ledger_fork_caller *most = &f->callers[0];
	char who[CALLER_TEXT];

	if (f->caller_count < 2)
		return;
	for (size_t i = 1; i < f->caller_count; i++)
		if (f->callers[i].parts[part] > most->parts[part])
			most = &f->callers[i];
	name_caller(why, most, who);
	snprintf(text, bytes, "; %.0f %% of that was of %s",
		 100 * (double)most->parts[part] / (double)f->parts[part], who);
}

bool why_forks_verdict(const struct why *why, char *text, size_t bytes)
{
	const struct ledger_forks *f = &why->ledger.forks;
	uint64_t all = sum(f->parts, LEDGER_FORK_PARTS);
	uint64_t alone = sum(f->alone, LEDGER_FORK_WORKERS);
	unsigned most = 0, did = 0;
	int used;

	if (all == 0)
		return false;
	for (unsigned i = 1; i < LEDGER_FORK_PARTS; i++)
		most = f->parts[i] > f->parts[most] ? i : most;
	for (unsigned i = 1; i < LEDGER_FORK_WORKERS; i++)
		did = f->alone[i] > f->alone[did] ? i : did;
	used = snprintf(text, bytes,
			"callers of skua_run() were %s for %.0f %% of the time "
			"of the calls",
			ledger_fork_part_name(most),
			100 * (double)f->parts[most] / (double)all);
	if (most == LEDGER_FORK_ALONE && alone > 0)
		used += snprintf(text + used, bytes - (size_t)used,
				 "; workers were %s for %.0f %% of that",
				 ledger_fork_worker_name(did),
				 100 * (double)f->alone[did] / (double)alone);
	add_caller(why, most, text + used, bytes - (size_t)used);
	return true;
}

/* ---- JSON -------------------------------------------------------------------- */

static void set_parts(json_t *object, const char *key, const uint64_t *parts,
		      unsigned count, const char *(*name)(unsigned))
{
	json_t *to = json_object();
	char word[32];

	for (unsigned i = 0; i < count; i++) {
		snprintf(word, sizeof(word), "%s", name(i));
		for (char *c = word; *c; c++)
			*c = *c == ' ' ? '_' : *c;
		json_set_count(to, word, parts[i]);
	}
	json_object_set_new(object, key, to);
}

static void set_times(json_t *object, const char *key,
		      const struct ledger_fork_times *times)
{
	json_t *to = json_object();

	json_set_count(to, "count", times->count);
	json_set_count(to, "ns", times->ns);
	json_set_count(to, "longest_ns", times->longest_ns);
	json_object_set_new(object, key, to);
}

static json_t *caller_json(const struct why *why,
			   const struct ledger_fork_caller *caller)
{
	json_t *object = json_object();

	json_set_count(object, "thread", caller->thread);
	json_set_count(object, "runtime", caller->runtime);
	json_object_set_new(
		object, "function",
		caller->root == LEDGER_NOBODY
			? json_null()
			: json_string(why->ledger.names[caller->root]));
	set_times(object, "calls", &caller->calls);
	set_parts(object, "parts_ns", caller->parts, LEDGER_FORK_PARTS,
		  ledger_fork_part_name);
	set_times(object, "jobs", &caller->jobs);
	set_times(object, "joins", &caller->joins);
	return object;
}

/* Those with the longest times, the longest first. */
static json_t *callers_json(const struct why *why)
{
	const struct ledger_fork_caller *callers[JSON_CALLERS];
	unsigned count =
		rank_callers(&why->ledger.forks, callers, JSON_CALLERS);
	json_t *array = json_array();

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(array, caller_json(why, callers[i]));
	return array;
}

json_t *why_forks_json(const struct why *why)
{
	const struct ledger_forks *f = &why->ledger.forks;
	json_t *object = json_object();

	if (f->calls.count == 0) {
		json_decref(object);
		return json_null();
	}
	set_times(object, "calls", &f->calls);
	json_set_count(object, "began_before", f->unseen);
	json_set_count(object, "without_place", f->apart);
	json_object_set_new(object, "exact", json_boolean(!f->lost));
	set_parts(object, "callers_ns", f->parts, LEDGER_FORK_PARTS,
		  ledger_fork_part_name);
	set_parts(object, "workers_alone_ns", f->alone, LEDGER_FORK_WORKERS,
		  ledger_fork_worker_name);
	set_parts(object, "workers_rest_ns", f->rest, LEDGER_FORK_WORKERS,
		  ledger_fork_worker_name);
	set_times(object, "jobs", &f->jobs);
	set_times(object, "joins", &f->joins);
	set_times(object, "took_job", &f->took);
	json_set_count(object, "woken_in_vain", f->in_vain);
	json_set_count(object, "caller_count", f->caller_count);
	json_object_set_new(object, "callers", callers_json(why));
	return object;
}
