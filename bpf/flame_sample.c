/* SPDX-License-Identifier: MIT */
/* flame_sample.c - see flame_sample.h */
#include "bpf/flame_sample.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bpf/flame_names.h"
#include "bpf/kernel/sample.h"
#include "bpf/programs.h"

#include "sample.skel.h"

struct flame_sampler {
	struct target *target;
	struct flame *flame;
	struct flame_names *names;
	struct sample_bpf *program;
	struct bpf_link **links; /* one a CPU */
	unsigned link_count;
	struct ring_buffer *ring;
	struct flame_counts counts;
	double cpu_before_s;
	int error;
};

/* ---- stacks ---------------------------------------------------------------- */

static void enter(struct flame_sampler *s, const char *name)
{
	int err = flame_enter(s->flame, name, strlen(name));

	if (err == -ENOMEM)
		s->error = err;
}

static const char *first_row(struct flame_sampler *s,
			     const struct sample *sample)
{
	static const char *const states[] = {
		[AREA_STARTING] = "(starting)",
		[AREA_RUNNING] = "(between tasks)",
		[AREA_SEARCHING] = "(searching)",
		[AREA_PARKED] = "(parking)", /* on its way, or back */
		[AREA_JOB] = "(job)",
	};

	switch (sample->of) {
	case SAMPLE_TASK:
		return flame_names_type(s->names, sample->type, sample->poll);
	case SAMPLE_STATE:
		if (sample->state < sizeof(states) / sizeof(states[0]))
			return states[sample->state];
		return "(unknown)";
	case SAMPLE_OTHER:
		return "(other threads)";
	default:
		return "(unknown)";
	}
}

/* Where a function was left, the address is behind the call. */
static bool find(struct flame_sampler *s, const struct sample *sample,
		 unsigned frame, struct flame_function *out)
{
	return flame_names_find(s->names, sample->frames[frame] - (frame > 0),
				out);
}

/* How many functions the stack has: what no code is at is an error of those that do
 * not keep the frame pointer. For a task, up to its poll function, if that is there. */
static unsigned measure(struct flame_sampler *s, const struct sample *sample)
{
	struct flame_function function;
	unsigned count = 0, outermost = 0;

	while (count < sample->count && find(s, sample, count, &function)) {
		count++;
		if (sample->of == SAMPLE_TASK && sample->poll != 0 &&
		    function.start == sample->poll)
			outermost = count;
	}
	return outermost ? outermost : count;
}

/* A poll function that the stack does not reach was called all the same. */
static void enter_poll(struct flame_sampler *s, const struct sample *sample,
		       unsigned count)
{
	struct flame_function function;

	if (sample->of != SAMPLE_TASK ||
	    (count > 0 && find(s, sample, count - 1, &function) &&
	     function.start == sample->poll))
		return;
	s->counts.unrooted++;
	if (flame_names_find(s->names, sample->poll, &function))
		enter(s, function.name);
}

static int on_sample(void *context, void *data, size_t size)
{
	struct flame_sampler *s = context;
	const struct sample *sample = data;
	unsigned count;

	if (size < offsetof(struct sample, frames) ||
	    sample->count > SAMPLE_FRAMES ||
	    size - offsetof(struct sample, frames) <
		    sample->count * sizeof(sample->frames[0]))
		return 0;
	enter(s, first_row(s, sample));
	count = measure(s, sample);
	enter_poll(s, sample, count);
	while (count-- > 0) {
		struct flame_function function;

		if (find(s, sample, count, &function))
			enter(s, function.name);
	}
	if (sample->kernel)
		enter(s, "[kernel]");
	s->counts.cut += sample->count == SAMPLE_FRAMES;
	s->counts.samples++;
	flame_count(s->flame, 1);
	return 0;
}

/* ---- workers --------------------------------------------------------------- */

static void tell_worker(struct flame_sampler *s,
			const struct target_runtime *runtime, unsigned index)
{
	uint64_t worker = runtime->workers[index], tid;
	const struct sample_worker where = {
		.tid = worker + offsetof(struct area_worker, tid),
		.state = worker + offsetof(struct area_worker, times.state),
		.task = worker + offsetof(struct area_worker, task),
		.poll = runtime->task_poll,
		.type = runtime->task_type,
	};
	uint32_t key;

	if (target_read(s->target, where.tid, &tid, sizeof(tid)) != 0)
		return;
	key = (uint32_t)tid;
	if (key != 0)
		bpf_map_update_elem(bpf_map__fd(s->program->maps.workers), &key,
				    &where, BPF_ANY);
}

/* Those that have ended stay: the program looks whether they are what they were. */
static void tell_workers(struct flame_sampler *s)
{
	if (target_refresh(s->target) != 0)
		return;
	for (unsigned i = 0; i < target_runtimes(s->target); i++) {
		const struct target_runtime *runtime =
			target_runtime(s->target, i);

		for (unsigned k = 0; k < runtime->area.worker_count; k++)
			tell_worker(s, runtime, k);
	}
}

/* ---- beginning ------------------------------------------------------------- */

static int fail(char *why, int err, const char *what, const char *reason)
{
	snprintf(why, FLAME_TEXT, "%s%s", what, reason);
	return err;
}

/* The namespace that the process is in, and its threads have their numbers of. */
static unsigned namespace_of(pid_t pid)
{
	struct stat status;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	return stat(path, &status) == 0 ? (unsigned)status.st_ino : 0;
}

static int load(struct flame_sampler *s, char *why)
{
	pid_t pid = target_pid(s->target);
	uint32_t tgid;
	int err;

	programs_begin();
	err = programs_find(pid, &tgid);
	if (err != 0)
		return fail(why, err, "", programs_reason(err));
	s->program = sample_bpf__open();
	if (!s->program)
		return fail(why, -errno, "", programs_reason(-errno));
	s->program->rodata->tgid = tgid;
	s->program->rodata->namespace = namespace_of(pid);
	err = sample_bpf__load(s->program);
	if (err != 0)
		return fail(why, err, "", programs_reason(err));
	s->ring = ring_buffer__new(bpf_map__fd(s->program->maps.samples),
				   on_sample, s, NULL);
	return s->ring ? 0 : fail(why, -errno, "", programs_reason(-errno));
}

static int open_clock(int cpu, unsigned rate)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_freq = rate,
					.freq = 1,
					.exclude_idle = 1 };
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
			  PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int explain_clock(int err, unsigned rate, char *why)
{
	if (err == -EACCES || err == -EPERM)
		return fail(why, err, "no permission to sample CPUs: ",
			    "run the tool as root, or with CAP_PERFMON");
	if (err == -EMFILE)
		return fail(why, err, "", "too many open files: ulimit -n");
	if (err == -EINVAL)
		snprintf(why, FLAME_TEXT,
			 "the kernel does not sample at a rate of %u: "
			 "kernel.perf_event_max_sample_rate says what it does",
			 rate);
	else
		snprintf(why, FLAME_TEXT, "CPUs cannot be sampled: %s",
			 strerror(-err));
	return err;
}

/* A clock on each CPU that is there: the process may be anywhere. */
static int attach(struct flame_sampler *s, unsigned rate, char *why)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	s->links =
		calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(struct bpf_link *));
	if (!s->links)
		return fail(why, -ENOMEM, "", strerror(ENOMEM));
	for (long cpu = 0; cpu < cpus; cpu++) {
		int fd = open_clock((int)cpu, rate);
		struct bpf_link *link;

		if (fd == -ENODEV)
			continue;
		if (fd < 0)
			return explain_clock(fd, rate, why);
		link = bpf_program__attach_perf_event(s->program->progs.sample,
						      fd);
		if (!link) {
			int err = -errno;

			close(fd);
			return fail(why, err, "", programs_reason(err));
		}
		s->links[s->link_count++] = link;
	}
	return 0;
}

/* CPU time of the process; what it was before if it is no more. */
static double cpu_time(const struct flame_sampler *s, double before)
{
	struct timespec time;
	clockid_t clock;

	if (clock_getcpuclockid(target_pid(s->target), &clock) != 0 ||
	    clock_gettime(clock, &time) != 0)
		return before;
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int flame_sample_start(struct flame_sampler **out, struct target *target,
		       struct flame *flame, unsigned rate, char *why)
{
	struct flame_sampler *s = calloc(1, sizeof(*s));
	int err;

	*out = s;
	if (s)
		s->names = flame_names_new(target);
	if (!s || !s->names)
		return fail(why, -ENOMEM, "", strerror(ENOMEM));
	s->target = target;
	s->flame = flame;
	err = load(s, why);
	if (err != 0)
		return err;
	tell_workers(s);
	s->cpu_before_s = cpu_time(s, 0);
	return attach(s, rate, why);
}

/* ---- going on -------------------------------------------------------------- */

int flame_sample_take(struct flame_sampler *s, bool ended)
{
	double cpu_s;

	/* Else they may be of another program. */
	if (!ended && !target_alive(s->target))
		return -ESRCH;
	ring_buffer__consume(s->ring);
	s->counts.lost = s->program->bss->lost;
	cpu_s = cpu_time(s, s->cpu_before_s + s->counts.cpu_s);
	s->counts.cpu_s = cpu_s - s->cpu_before_s;
	flame_names_look_again(s->names);
	if (!ended)
		tell_workers(s);
	return s->error;
}

const struct flame_counts *flame_sample_counts(const struct flame_sampler *s)
{
	return &s->counts;
}

void flame_sample_stop(struct flame_sampler *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->link_count; i++)
		bpf_link__destroy(s->links[i]);
	free(s->links);
	ring_buffer__free(s->ring);
	if (s->program)
		sample_bpf__destroy(s->program);
	flame_names_free(s->names);
	free(s);
}
