/* SPDX-License-Identifier: MIT */
/**
 * doctor.h - what a machine, and the privileges of a user, allow
 *
 * A check looks at files, and where that does no harm tries: a counter is opened,
 * a program of two instructions is loaded, memory is read. Of another machine's
 * files nothing is tried.
 */
#ifndef SKUA_BPF_DOCTOR_H
#define SKUA_BPF_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum doctor_state { DOCTOR_OK, DOCTOR_PARTLY, DOCTOR_MISSING };

/**
 * struct doctor - the machine and the process to examine
 * @root: a folder with a tree as at /; NULL: this machine
 * @pid: a process; 0: this one
 */
struct doctor {
	const char *root;
	pid_t pid;
};

/**
 * struct doctor_report - what came of a check
 * @name: of what was looked for
 * @found: a few words
 * @why: it is not all there; "": it is
 * @advice: what to do about that, or ""
 */
struct doctor_report {
	const char *name;
	enum doctor_state state;
	char found[200];
	char why[240];
	const char *advice;
};

#define DOCTOR_CHECKS 23u

/* doctor_examine - make all checks; @reports has room for DOCTOR_CHECKS */
void doctor_examine(const struct doctor *doctor, struct doctor_report *reports);

/* ---- for the checks -------------------------------------------------------- */

/* doctor_found - it is all there; what was found */
void doctor_found(struct doctor_report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* doctor_lacks - something is missing: also why, and what to do about it */
void doctor_lacks(struct doctor_report *report, enum doctor_state state,
		  const char *advice, const char *why_format, ...)
	__attribute__((format(printf, 4, 5)));

/* doctor_read - the beginning of a file, without the end of its last line; of
 * /proc/self: of the process. false: there is none, or nothing is in it */
bool doctor_read(const struct doctor *doctor, const char *path, char *text,
		 size_t size);

/* doctor_line - what follows the colon in a line that begins so; or "" */
void doctor_line(const struct doctor *doctor, const char *path, const char *key,
		 char *text, size_t size);

/* doctor_release - of the kernel, as 1000 * major + minor; 0: unknown */
unsigned doctor_release(const struct doctor *doctor);

/* doctor_can - does this process have the capability, or CAP_SYS_ADMIN, which
 * contains those for counters and BPF? */
bool doctor_can(const struct doctor *doctor, unsigned capability);

typedef void doctor_check(const struct doctor *doctor,
			  struct doctor_report *report);

/* doctor_counters.c */
doctor_check doctor_paranoid, doctor_hardware, doctor_software;
/* doctor_tracing.c */
doctor_check doctor_bpf, doctor_btf, doctor_uprobes, doctor_uprobe_multi,
	doctor_tracefs, doctor_bpffs;
/* doctor_process.c */
doctor_check doctor_memory, doctor_quota, doctor_locked, doctor_realtime,
	doctor_schedstat;
/* doctor_machine.c */
doctor_check doctor_kernel, doctor_numa, doctor_tsc, doctor_huge_pages,
	doctor_isolated, doctor_governor, doctor_turbo, doctor_smt,
	doctor_steal;

#endif
