/* SPDX-License-Identifier: MIT */
/**
 * pick_several.h - choose the processes that a verb works on together, such as the
 * ranks of an MPI job
 */
#ifndef SKUA_BPF_TARGET_PICK_SEVERAL_H
#define SKUA_BPF_TARGET_PICK_SEVERAL_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/target/target.h"

/* The help text of --job. */
#define PICK_JOB_HELP                                                       \
	"All processes that use skua among those that the process PID has " \
	"started, such as the ranks of an mpirun"

/**
 * struct pick - the processes that the user has named; zero it before the first use
 * @pids, @count: arguments of --pid, each once; pick_free() frees them
 * @job: the argument of --job; 0: none was given
 */
struct pick {
	uint64_t *pids;
	size_t count, room;
	uint64_t job;
};

/* pick_add - as args_option.parse, add the processes of an argument of --pid, such as "12" or
 * "12,13", to a struct pick. Changes @text. Return: 0, or what args_refuse() returned */
error_t pick_add(void *pick, char *text);

/* pick_check - refuse --job with --pid; call it only from a parser. Return: as
 * pick_add() */
error_t pick_check(const struct pick *pick);
void pick_free(struct pick *pick);

/* struct picked - open processes; zero it before the first use */
struct picked {
	struct target **targets;
	size_t count, room;
};

/**
 * pick_several - open the processes of @pick, which names at least one, or a job
 * @out: empty; receives them in the order of their ranks, those without a rank last. The
 *       caller closes it with picked_close() in any case
 * @verb: for messages
 *
 * Return: EXIT_OK; EXIT_FAILED after printing the error: a process of --pid cannot
 * be read, or none of --job has skua in it.
 */
int pick_several(struct picked *out, const char *verb, const struct pick *pick);

/* picked_add - append a target, which @picked then owns. Return: EXIT_OK; EXIT_FAILED after
 * closing it and printing the error */
int picked_add(struct picked *picked, const char *verb, struct target *target);
void picked_close(struct picked *picked);

#endif
