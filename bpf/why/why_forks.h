/* SPDX-License-Identifier: MIT */
/* why_forks.h - prints where the time of calls of skua_run() went */
#ifndef SKUA_BPF_WHY_FORKS_H
#define SKUA_BPF_WHY_FORKS_H

#include <jansson.h>

#include "bpf/why/why.h"

/* why_print_forks - print a paragraph, unless there were no calls */
void why_print_forks(FILE *file, const struct why *why);

/* why_forks_verdict - write a verdict to @text, of @bytes. Return: false: there were no calls */
bool why_forks_verdict(const struct why *why, char *text, size_t bytes);

/* why_forks_json - return the same figures */
json_t *why_forks_json(const struct why *why);

#endif
