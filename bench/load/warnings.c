/* SPDX-License-Identifier: MIT */
/* warnings.c - see warnings.h */
#include "bench/load/warnings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* The generator is late if a hundredth of its sends are later than this, and than a part
 * of the latencies. */
#define LATE_NS   20000
#define LATE_PART 4

/* The generator is saturated if it is busy for more than this part of the time. */
#define BUSY 0.95

/* The part of the offered rate that the server must answer in time. */
#define ACHIEVED 0.99

/* The part of the time without a CPU that is reported. */
#define DELAYED 0.01

static void add(struct warnings *warnings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct warnings *warnings, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(warnings->text[warnings->count++], sizeof(*warnings->text),
		  format, args);
	va_end(args);
}

static void find_late(const struct drive *drive, struct warnings *out)
{
	double elapsed = (double)drive->elapsed_ns;
	double busy = 1 - (double)drive->idle_ns / elapsed;
	uint64_t late_ns =
		histogram_percentile(&drive->tally.late.histogram, 99);
	uint64_t p99_ns =
		histogram_percentile(&drive->tally.latency.histogram, 99);

	if (late_ns > LATE_NS && late_ns > p99_ns / LATE_PART)
		add(out,
		    "the generator was late: 1 %% of its sends by %.1f us or "
		    "more, and the latencies contain that",
		    (double)late_ns / 1e3);
	if (!drive->sleeps && busy > BUSY)
		add(out,
		    "the generator was busy for %.1f %% of the time: its own "
		    "CPU may limit the rate",
		    busy * 100);
	if ((double)drive->delayed_ns > elapsed * DELAYED)
		add(out,
		    "the generator waited for a CPU for %.1f %% of the time: "
		    "keep other programs off its CPU",
		    (double)drive->delayed_ns / elapsed * 100);
}

void warnings_find(const struct drive *drive, struct warnings *out)
{
	double seconds = (double)drive->elapsed_ns / 1e9;

	out->count = 0;
	if (!drive->elapsed_ns)
		return;
	if (drive->requests->keys)
		add(out,
		    "only %" PRIu64 " of the keys were used: the requests for "
		    "more exceed 128 MiB. Use a smaller --value-size, or fewer "
		    "--keys",
		    drive->requests->keys);
	find_late(drive, out);
	if (drive->rate > 0 &&
	    (double)drive->answered < ACHIEVED * (double)drive->arrived)
		add(out,
		    "the server answered %.0f requests a second, and %.0f "
		    "arrived",
		    (double)drive->answered / seconds,
		    (double)drive->arrived / seconds);
	if (drive->unanswered)
		add(out,
		    "%" PRIu64 " requests had no reply at the end: the "
		    "latencies contain their age then",
		    drive->unanswered);
	if (drive->lost)
		add(out,
		    "%" PRIu64 " requests were on connections that ended: no "
		    "latency contains them",
		    drive->lost);
	if (drive->held)
		add(out,
		    "%" PRIu64 " batches waited because a million had no "
		    "reply",
		    drive->held);
}
