/* SPDX-License-Identifier: MIT */
/* target_rank.h - the rank of a process in its MPI job */
#ifndef SKUA_BPF_TARGET_RANK_H
#define SKUA_BPF_TARGET_RANK_H

#include <stdint.h>
#include <stdio.h>

/* target_rank_find - find the rank in an environment: entries "NAME=VALUE" that
 * end with 0. Return: the rank; TARGET_NO_RANK (target.h) if there is none */
uint32_t target_rank_find(FILE *environment);

/* target_rank_read - find the rank of the process whose folder in /proc is
 * @folder, in the environment with which its program began. Return: as
 * target_rank_find() */
uint32_t target_rank_read(int folder);

#endif
