/* SPDX-License-Identifier: MIT */
/* flame_sample.c - see flame_sample.h */
#include "bpf/flame/flame_sample.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bpf/flame/flame_kernel.h"
#include "bpf/flame/flame_names.h"
#include "bpf/flame/flame_stack.h"
#include "bpf/programs/sample.h"
#include "bpf/programs/programs.h"

#include "sample.skel.h"

#define MAX_ROW 32u /* size of a thread's name in the picture */

/* The buffer holds the samples of 0.2 s, twice the time between two calls of
 * flame_sample_take(), within these limits. */
#define MIN_BUFFER (UINT32_C(4) << 20)
#define MAX_BUFFER (UINT32_C(128) << 20)

struct flame_sampler {
	struct target *target;
	struct flame *flame;
	struct flame_names *names;
	struct flame_kernel *kernel; /* NULL: without names */
	struct sample_bpf *program;
	struct bpf_link **links; /* one per CPU */
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

static const char *name_thread(const struct sample *sample, char *text)
{
	snprintf(text, MAX_ROW, "(thread %.*s)", SAMPLE_COMM, sample->comm);
	return text;
}

/* Return the name for the first row. @text: MAX_ROW bytes */
static const char *first_row(struct flame_sampler *s,
			     const struct sample *sample, char *text)
{
	static const char *const states[] = {
		[AREA_STARTING] = "(starting)",
		[AREA_RUNNING] = "(between tasks)",
		[AREA_SEARCHING] = "(searching)",
		[AREA_PARKED] = "(parking)", /* before or after its sleep */
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
		return name_thread(sample, text);
	default:
		return "(unknown)";
	}
}

/* Without names, the kernel is one function. */
static void enter_kernel(struct flame_sampler *s, const struct sample *sample)
{
	uint32_t count = sample->kernel_count;

	if (!s->kernel || count == 0 || count > SAMPLE_KERNEL)
		enter(s, "[kernel]");
	else
		while (count-- > 0)
			/* A return address is that after the call: look up the
			 * byte before it. */
			enter(s, flame_kernel_find(s->kernel,
						   sample->kernel_stack[count] -
							   (count > 0)));
}

/* Add the functions, the outermost first. If the sample is of a task, begin with
 * its poll function. */
static void enter_stack(struct flame_sampler *s, const struct sample *sample)
{
	struct flame_function functions[FLAME_FRAMES];
	bool whole;
	unsigned count = flame_stack_read(s->names, sample, functions, &whole);

	s->counts.unrooted += !whole;
	while (count-- > 0)
		enter(s, functions[count].name);
	if (sample->kernel)
		enter_kernel(s, sample);
}

static int on_sample(void *context, void *data, size_t size)
{
	struct flame_sampler *s = context;
	const struct sample *sample = data;
	char row[MAX_ROW];

	if (size < offsetof(struct sample, stack) ||
	    size - offsetof(struct sample, stack) < sample->bytes)
		return 0;
	enter(s, first_row(s, sample, row));
	enter_stack(s, sample);
	s->counts.samples++;
	flame_count(s->flame, 1);
	return 0;
}

/* ---- beginning ------------------------------------------------------------- */

static int fail(char *why, int err, const char *what, const char *reason)
{
	snprintf(why, FLAME_TEXT, "%s%s", what, reason);
	return err;
}

/* Size of the buffer, a power of two. */
static uint32_t buffer_size(unsigned rate)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t wanted = (uint64_t)cpus * rate * sizeof(struct sample) / 5;
	uint32_t size = MIN_BUFFER;

	while (size < wanted && size < MAX_BUFFER)
		size *= 2;
	return size;
}

static int load(struct flame_sampler *s, unsigned rate, char *why)
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
	bpf_map__set_max_entries(s->program->maps.samples, buffer_size(rate));
	s->program->rodata->tgid = tgid;
	s->program->rodata->namespace = flame_namespace_of(pid);
	s->program->rodata->kernel_stacks = s->kernel != NULL;
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
			 "--rate is %u; allowed: up to the kernel's "
			 "limit, the sysctl kernel.perf_event_max_sample_rate",
			 rate);
	else
		snprintf(why, FLAME_TEXT, "CPUs cannot be sampled: %s",
			 strerror(-err));
	return err;
}

/* Start a clock on each CPU that is online, as the process may run on any of
 * them. */
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

/* CPU time of the process; @before if the process has ended. */
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
		       struct flame *flame, unsigned rate,
		       struct flame_kernel *kernel, char *why)
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
	s->kernel = kernel;
	err = load(s, rate, why);
	if (err != 0)
		return err;
	flame_tell_workers(s->target, bpf_map__fd(s->program->maps.workers));
	s->cpu_before_s = cpu_time(s, 0);
	return attach(s, rate, why);
}

/* ---- taking samples -------------------------------------------------------- */

int flame_sample_take(struct flame_sampler *s, bool ended)
{
	double cpu_s;

	/* The samples may already be of a program that the process has
	 * executed. */
	if (!ended && !target_alive(s->target))
		return -ESRCH;
	ring_buffer__consume(s->ring);
	s->counts.lost = s->program->bss->lost;
	cpu_s = cpu_time(s, s->cpu_before_s + s->counts.cpu_s);
	s->counts.cpu_s = cpu_s - s->cpu_before_s;
	flame_names_look_again(s->names);
	if (!ended)
		flame_tell_workers(s->target,
				   bpf_map__fd(s->program->maps.workers));
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
