/* SPDX-License-Identifier: MIT */
/* machine.h - the machine of the measurements */
#ifndef SKUA_BENCH_REPORT_MACHINE_H
#define SKUA_BENCH_REPORT_MACHINE_H

#include <jansson.h>

/**
 * machine_json - {"skua","cpu","cpus","kernel","compiler","time"}
 *
 * Return: NULL if there is no memory.
 */
json_t *machine_json(void);

#endif
