/* SPDX-License-Identifier: MIT */
/**
 * flame_dwarf.h - source lines and unwind rules of an ELF file, read with libdw
 *
 * libdw trusts the file, so call this only in the restricted child process of
 * flame_reader.h. Memory is freed only when that process ends.
 */
#ifndef SKUA_BPF_FLAME_DWARF_H
#define SKUA_BPF_FLAME_DWARF_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/flame/flame_rules.h"

struct dwarf;

/* dwarf_open - open a file, which is borrowed. Return: NULL if it is no ELF
 * file, or there is no memory */
struct dwarf *dwarf_open(int fd);

/* dwarf_line - return the line, counted from 1, of the code at an address of
 * the file; 0 if it is unknown. @source: receives the path of the source file,
 * valid until the process ends */
int dwarf_line(struct dwarf *dwarf, uint64_t address, const char **source);

/* dwarf_rule - find the unwind rule at an address of the file. Return: false if
 * there is none */
bool dwarf_rule(struct dwarf *dwarf, uint64_t address, struct flame_rule *out);

#endif
