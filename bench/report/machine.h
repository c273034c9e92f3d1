/* SPDX-License-Identifier: MIT */
/* machine.h - describe the machine of the measurements */
#ifndef SKUA_BENCH_REPORT_MACHINE_H
#define SKUA_BENCH_REPORT_MACHINE_H

#include <jansson.h>

/**
 * machine_json - return a description of this machine and build
 *
 * Return: {"skua","cpu","cpus","kernel","compiler","build","time"}, a new reference; NULL
 * if there is no memory.
 */
json_t *machine_json(void);

#endif
