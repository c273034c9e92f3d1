/* SPDX-License-Identifier: MIT */
/**
 * doctor.h - report what a machine and the privileges of the user allow
 *
 * A check reads files. Where it is harmless, the check also tries the
 * operation: it opens a counter, loads a program of two instructions, or reads
 * memory. When the files describe another machine, nothing is tried.
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
 * @root: folder with a file tree as at /, of another machine; NULL: this
 *     machine
 * @pid: process to examine; 0: this process
 */
struct doctor {
	const char *root;
	pid_t pid;
};

/**
 * struct doctor_report - result of one check
 * @name: name of the check
 * @state: whether everything was found, a part, or nothing
 * @found: a few words on what was found
 * @why: reason why something is missing; "" if nothing is
 * @advice: how to get what is missing, or ""
 */
struct doctor_report {
	const char *name;
	enum doctor_state state;
	char found[200];
	char why[240];
	const char *advice;
};

#define DOCTOR_CHECKS 28u

/* doctor_examine - run all checks; @reports has room for DOCTOR_CHECKS
 * reports */
void doctor_examine(const struct doctor *doctor, struct doctor_report *reports);

/* ---- for the checks -------------------------------------------------------- */

/* doctor_found - describe what was found; leaves the state as it is (DOCTOR_OK
 * at first) */
void doctor_found(struct doctor_report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* doctor_lacks - set the state, the reason why something is missing, and the
 * advice */
void doctor_lacks(struct doctor_report *report, enum doctor_state state,
		  const char *advice, const char *why_format, ...)
	__attribute__((format(printf, 4, 5)));

/* doctor_read - read the beginning of a file into @text, without the final
 * newline. A path below /proc/self means the examined process. Control
 * characters become '?'. Return: false if the file cannot be read or is empty;
 * @text is "" then */
bool doctor_read(const struct doctor *doctor, const char *path, char *text,
		 size_t size);

/* doctor_read_raw - the same, with all characters as they are, and the final newline. Return: the
 * number of bytes; 0 if the file cannot be read or is empty */
size_t doctor_read_raw(const struct doctor *doctor, const char *path,
		       char *text, size_t size);

/* doctor_line - copy the rest of the first line that begins with @key, without
 * the colon and space after the key. @text is "" if there is no such line */
void doctor_line(const struct doctor *doctor, const char *path, const char *key,
		 char *text, size_t size);

/* doctor_release - return the kernel's version as 1000 * major + minor; 0:
 * unknown */
unsigned doctor_release(const struct doctor *doctor);

/* doctor_can - return whether this process has the capability. CAP_SYS_ADMIN
 * counts as CAP_PERFMON and CAP_BPF, as in the kernel */
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
	doctor_schedstat, doctor_environment;
/* doctor_io.c */
doctor_check doctor_uring, doctor_files, doctor_watches, doctor_maps;
/* doctor_machine.c */
doctor_check doctor_kernel, doctor_numa, doctor_tsc, doctor_huge_pages,
	doctor_isolated, doctor_governor, doctor_turbo, doctor_smt,
	doctor_steal;

#endif
