/* SPDX-License-Identifier: MIT */
/**
 * flame_dwarf.h - in which lines of which sources the code of an ELF file is, by DWARF
 *
 * libdw believes what a file says: a hostile one makes it read and write where it should
 * not, or take any memory. So this is for processes alone that have nothing to lose
 * (flame_lines.h).
 */
#ifndef SKUA_BPF_FLAME_DWARF_H
#define SKUA_BPF_FLAME_DWARF_H

#include <stdint.h>

struct dwarf;

/* dwarf_open - of a file, which is borrowed. Return: NULL if it has no
 * debug information, or there is no memory */
struct dwarf *dwarf_open(int fd);

/* dwarf_find - the line, from 1, of the code at an address of the file; 0: it is not
 * known. @source: receives the path of its source, good as long as the process */
int dwarf_find(struct dwarf *dwarf, uint64_t address, const char **source);

#endif
