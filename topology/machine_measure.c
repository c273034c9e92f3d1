/* SPDX-License-Identifier: MIT */
/* machine_measure.c - see machine_measure.h */
#include "topology/machine_measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/error.h"
#include "topology/latency_groups.h"
#include "topology/latency_measure.h"
#include "topology/quota.h"

#define NO_ROW UINT32_MAX

/* ---- which CPUs ------------------------------------------------------------ */

static bool may_measure(const struct cpu_list *allowed,
			const struct cpu_list *within, unsigned cpu)
{
	return cpu_list_contains(allowed, cpu) &&
	       (!within || cpu_list_contains(within, cpu));
}

/* is_first - tell whether no earlier CPU of the same core is chosen
 *
 * Siblings need not be adjacent, so it checks all earlier CPUs. */
static bool is_first(const struct machine *machine, unsigned i,
		     const bool *chosen)
{
	for (unsigned k = 0; k < i; k++)
		if (chosen[k] && machine->cpus[k].core == machine->cpus[i].core)
			return false;
	return true;
}

/* List as many of @chosen as can be measured, evenly spread. */
static int list_chosen(struct cpu_list *out, const struct machine *machine,
		       const bool *chosen, unsigned count)
{
	unsigned most = count < LATENCY_MAX_CPUS ? count : LATENCY_MAX_CPUS;
	unsigned at = 0;

	*out = (struct cpu_list){ malloc((most + 1) * sizeof(*out->cpus)), 0 };
	if (!out->cpus)
		return -ENOMEM;
	for (unsigned i = 0; i < machine->cpu_count; i++)
		if (chosen[i] && at++ * (size_t)most / count >= out->count)
			out->cpus[out->count++] = machine->cpus[i].cpu;
	return 0;
}

/* choose - choose one CPU of each core; @cores: receives the number of cores, including
 * those beyond LATENCY_MAX_CPUS, which are not measured */
static int choose(struct cpu_list *out, unsigned *cores,
		  const struct machine *machine, const struct cpu_list *within)
{
	bool *chosen = calloc(machine->cpu_count, sizeof(*chosen));
	struct cpu_list allowed;
	int code = chosen ? cpu_list_allowed(&allowed) : -ENOMEM;

	if (code) {
		free(chosen);
		return code;
	}
	for (unsigned i = 0; i < machine->cpu_count; i++) {
		chosen[i] =
			may_measure(&allowed, within, machine->cpus[i].cpu) &&
			is_first(machine, i, chosen);
		*cores += chosen[i];
	}
	code = list_chosen(out, machine, chosen, *cores);
	cpu_list_free(&allowed);
	free(chosen);
	return code;
}

/* ---- measuring ------------------------------------------------------------- */

static int remark_unknown(struct machine *machine, uint64_t budget_ns)
{
	const struct latency *latency = machine->latency;
	unsigned count = latency->cpus.count, pairs = count * (count - 1) / 2;
	unsigned known = 0;

	for (unsigned i = 0; i < count; i++)
		for (unsigned k = 0; k < i; k++)
			known += latency_between(latency, i, k) != 0;
	if (known == pairs)
		return 0;
	return machine_remark(machine,
			      "latency: of %u pairs of cores %u were not "
			      "measured within %u us",
			      pairs, pairs - known,
			      (unsigned)(budget_ns / 1000));
}

/* lacks_time - tell whether the control groups lack CPU time for @cpus CPUs
 *
 * The kernel would then throttle all players in the middle of a game. */
static bool lacks_time(unsigned cpus)
{
	struct quota quota;

	return quota_read(&quota, "/", NULL) == 0 && quota_below(&quota, cpus);
}

/* keep - store @latency in @machine, and give each CPU the row of its core */
static int keep(struct machine *machine, struct latency *latency)
{
	unsigned *rows = malloc(machine->cpu_count * sizeof(*rows));

	if (!rows) {
		latency_free(latency);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < machine->cpu_count; i++)
		rows[i] = NO_ROW;
	for (unsigned row = 0; row < latency->cpus.count; row++) {
		const struct skua_cpu *measured =
			machine_cpu(machine, latency->cpus.cpus[row]);

		for (unsigned i = 0; i < machine->cpu_count; i++)
			if (machine->cpus[i].core == measured->core)
				rows[i] = row;
	}
	latency_free(machine->latency);
	free(machine->rows);
	machine->latency = latency;
	machine->rows = rows;
	return 0;
}

static int measure(struct machine *machine, const struct cpu_list *cpus,
		   unsigned cores, uint64_t budget_ns)
{
	struct latency *latency;
	int code;

	if (cpus->count < 2)
		return machine_remark(
			machine, "latency not measured: at least two cores are "
				 "needed");
	if (lacks_time(cpus->count))
		return machine_remark(
			machine,
			"latency not measured: control groups leave less CPU "
			"time than the %u cores have",
			cpus->count);
	code = latency_measure(&latency, cpus, budget_ns);
	if (!code)
		code = keep(machine, latency);
	if (!code)
		code = remark_unknown(machine, budget_ns);
	if (!code && cpus->count < cores)
		return machine_remark(machine,
				      "latency: measured between %u of %u "
				      "cores only: no cache was changed",
				      cpus->count, cores);
	if (!code)
		code = latency_groups_split(machine, latency);
	return code < 0 ? code : 0;
}

int machine_measure(struct machine *machine, const struct cpu_list *within,
		    uint64_t budget_ns, struct skua_error *err)
{
	struct cpu_list cpus;
	unsigned cores = 0;
	int code;

	if (!machine->here)
		return error_set(err, -EINVAL,
				 "latency: only this machine can be measured; "
				 "the topology was not loaded from /");
	code = choose(&cpus, &cores, machine, within);
	if (!code) {
		code = measure(machine, &cpus, cores, budget_ns);
		cpu_list_free(&cpus);
	}
	if (code == -EAGAIN)
		return error_set(err, code,
				 "latency: no two threads could be created");
	return code ? error_set(err, code, "latency: %s", strerror(-code)) : 0;
}

/* ---- when to measure ------------------------------------------------------- */

bool machine_measure_due(const struct machine *machine, enum measure_when when)
{
	if (!machine->here)
		return false;
	if (when == MEASURE_IF_DOUBTFUL)
		return latency_groups_doubtful(machine, machine->is_virtual);
	return when == MEASURE_ALWAYS;
}

void machine_measure_when(struct machine *machine,
			  const struct cpu_list *within, enum measure_when when)
{
	struct skua_error err;

	if (machine_measure_due(machine, when) &&
	    machine_measure(machine, within, MACHINE_MEASURE_NS, &err))
		/* If there is no memory for the remark, it is left out. */
		(void)machine_remark(machine, "%s", err.text);
}

/* ---- results --------------------------------------------------------------- */

uint32_t machine_latency(const struct machine *machine, unsigned a, unsigned b)
{
	const struct skua_cpu *one = machine_cpu(machine, a);
	const struct skua_cpu *two = machine_cpu(machine, b);
	unsigned i, k;

	if (!machine->latency || !one || !two)
		return 0;
	i = machine->rows[one - machine->cpus];
	k = machine->rows[two - machine->cpus];
	if (i == NO_ROW || k == NO_ROW)
		return 0;
	return latency_between(machine->latency, i, k);
}
