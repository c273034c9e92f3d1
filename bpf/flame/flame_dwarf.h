/* SPDX-License-Identifier: MIT */
/**
 * flame_dwarf.h - lines of sources and rules of callers in an ELF file, by libdw
 *
 * Only for a process that has nothing to lose (flame_reader.h). Nothing is freed before
 * that process ends.
 */
#ifndef SKUA_BPF_FLAME_DWARF_H
#define SKUA_BPF_FLAME_DWARF_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/flame/flame_rules.h"

struct dwarf;

/* dwarf_open - of a file, which is borrowed. Return: NULL if it is no ELF file, or there
 * is no memory */
struct dwarf *dwarf_open(int fd);

/* dwarf_line - the line, from 1, of the code at an address of the file; 0: it is not
 * known. @source: receives the path of its source, valid as long as the process */
int dwarf_line(struct dwarf *dwarf, uint64_t address, const char **source);

/* dwarf_rule - Return: false: the file does not tell */
bool dwarf_rule(struct dwarf *dwarf, uint64_t address, struct flame_rule *out);

#endif
