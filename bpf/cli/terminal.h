/* SPDX-License-Identifier: MIT */
/**
 * terminal.h - draws text again and again in the same place
 *
 * Uses the terminal's alternate screen, which disappears at the end, also after a
 * signal. Threads: one. There is only one terminal, so the state is global.
 */
#ifndef SKUA_BPF_CLI_TERMINAL_H
#define SKUA_BPF_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* terminal_is_utf8 - return true if characters beyond ASCII can be printed */
bool terminal_is_utf8(void);

/* terminal_begin - switch to the alternate screen. Return: false if standard
 * output is not a terminal that can do this */
bool terminal_begin(void);

/* terminal_end - restore the terminal and the handling of signals */
void terminal_end(void);

/**
 * terminal_draw - draw the output of @print, as much as fits on the screen
 * @print: writes to @file. Return: false if something is missing
 * @of: passed to @print
 *
 * Return: what @print returned; false if there is no memory.
 */
bool terminal_draw(bool (*print)(void *of, FILE *file), void *of);

/* terminal_rows - return the number of lines on the screen; terminal_columns -
 * return the number of columns */
unsigned terminal_rows(void);
unsigned terminal_columns(void);

/* The event that ended terminal_wait(). */
enum terminal_event {
	TERMINAL_NOTHING, /* the time has passed */
	TERMINAL_RESIZED,
	TERMINAL_QUIT, /* the key q, or a signal that ends programs */
};

/* terminal_wait - wait for @ns nanoseconds or an event */
enum terminal_event terminal_wait(uint64_t ns);

/* terminal_signal - return the signal that ended the wait, for the caller to
 * raise it again; 0: none */
int terminal_signal(void);

#endif
