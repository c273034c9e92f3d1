/* SPDX-License-Identifier: MIT */
/* terminal.c - see terminal.h */
#include "bpf/cli/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static struct {
	bool begun;
	bool raw; /* keys arrive one by one and are not echoed */
	struct termios before;
	sigset_t mask_before;
} terminal;

/* Set by signal handlers, which run only in terminal_wait(). */
static volatile sig_atomic_t resized, ended_by;

static const int endings[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

#define ENDINGS (sizeof(endings) / sizeof(*endings))

bool terminal_is_utf8(void)
{
	setlocale(LC_CTYPE, "");
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static void on_signal(int number)
{
	if (number == SIGWINCH)
		resized = 1;
	else
		ended_by = number;
}

/* Block the signals except in terminal_wait(), so that none is missed, and none
 * arrives while the screen is drawn. */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGWINCH);
	sigaction(SIGWINCH, &action, NULL);
	for (unsigned i = 0; i < ENDINGS; i++) {
		sigaddset(&mask, endings[i]);
		sigaction(endings[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &mask, &terminal.mask_before);
}

static void take_keys(void)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &terminal.before) != 0)
		return;
	raw = terminal.before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	terminal.raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

bool terminal_begin(void)
{
	const char *term = secure_getenv("TERM");

	if (!isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0)
		return false;
	catch_signals();
	take_keys();
	/* Alternate screen, hidden cursor. */
	fputs("\033[?1049h\033[?25l", stdout);
	fflush(stdout);
	terminal.begun = true;
	return true;
}

void terminal_end(void)
{
	if (!terminal.begun)
		return;
	terminal.begun = false;
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	if (terminal.raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
	for (unsigned i = 0; i < ENDINGS; i++)
		signal(endings[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, &terminal.mask_before, NULL);
}

static struct winsize size(void)
{
	struct winsize found;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 ||
	    found.ws_col == 0 || found.ws_row == 0)
		found = (struct winsize){ .ws_col = 80, .ws_row = 24 };
	return found;
}

unsigned terminal_rows(void)
{
	return size().ws_row;
}

unsigned terminal_columns(void)
{
	return size().ws_col;
}

/* Draw a line, up to @columns characters; text from ESC to m has no width.
 * Return: the next line. */
static const char *draw_line(const char *text, unsigned columns)
{
	unsigned used = 0;
	bool code = false;

	for (; *text && *text != '\n'; text++) {
		bool begins = ((unsigned char)*text & 0xc0) != 0x80;

		code |= *text == '\033';
		if (begins && !code)
			used++;
		if (used <= columns || code)
			putchar(*text);
		code &= *text != 'm';
	}
	fputs("\033[K", stdout);
	return *text ? text + 1 : text;
}

static void draw_text(const char *text)
{
	unsigned rows = terminal_rows(), columns = terminal_columns();

	fputs("\033[H", stdout);
	for (unsigned i = 0; i < rows && *text; i++) {
		fputs(i ? "\r\n" : "", stdout);
		text = draw_line(text, columns);
	}
	fputs("\033[J", stdout);
	fflush(stdout);
}

bool terminal_draw(bool (*print)(void *of, FILE *file), void *of)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	bool drawn = false;

	if (file) {
		drawn = print(of, file);
		if (fclose(file) == 0)
			draw_text(text);
	}
	free(text);
	return drawn;
}

enum terminal_event terminal_wait(uint64_t ns)
{
	struct pollfd keys = { .fd = terminal.raw ? STDIN_FILENO : -1,
			       .events = POLLIN };
	const struct timespec time = { .tv_sec = (time_t)(ns / 1000000000u),
				       .tv_nsec = (long)(ns % 1000000000u) };
	char key;

	if (ppoll(&keys, 1, &time,
		  terminal.begun ? &terminal.mask_before : NULL) > 0) {
		ssize_t got = read(STDIN_FILENO, &key, 1);

		/* The terminal is gone: nothing more will come from it. */
		if (got <= 0)
			terminal.raw = false;
		else if (key == 'q' || key == 'Q')
			return TERMINAL_QUIT;
	}
	if (ended_by)
		return TERMINAL_QUIT;
	if (resized) {
		resized = 0;
		return TERMINAL_RESIZED;
	}
	return TERMINAL_NOTHING;
}

int terminal_signal(void)
{
	return ended_by;
}
