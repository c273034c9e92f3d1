/* SPDX-License-Identifier: MIT */
/* report_page.c - see report.h; page/ makes the page */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bench/report/subprocess.h"
#include "bench/report/peers.h"
#include "bench/report/report.h"

/* Exit code of `env` if there is no python3, and of page/ if there is no
 * gnuplot. */
enum { EXIT_NO_PROGRAM = 127, EXIT_SKIPPED = 77 };

static int complain(const char *why)
{
	fprintf(stderr, ARGS_PROGRAM " report: no report.html: %s\n", why);
	return -EIO;
}

/* Print the program's output, or why it could not make the page. Return: 0;
 * -EIO. */
static int judge(const char *folder, struct subprocess *child)
{
	switch (child->code) {
	case EXIT_OK:
		fprintf(stderr, "written: %s/report.html\n", folder);
		return 0;
	case EXIT_NO_PROGRAM:
		complain("python3 is not installed");
		return 0;
	case EXIT_SKIPPED:
		complain(subprocess_last_line(child->err));
		return 0;
	default:
		fputs(child->err, stderr);
		return complain("the program that makes it failed");
	}
}

static int run(const char *folder, char *page, char *json, char *html)
{
	char env[] = "env", python[] = "python3", clean[] = "-B";
	char *const argv[] = { env, python, clean, page, json, html, NULL };
	struct subprocess child;
	int err = subprocess_run("/usr/bin/env", argv, &child);

	if (err != 0)
		return complain(strerror(-err));
	err = judge(folder, &child);
	subprocess_free(&child);
	return err;
}

int report_write_page(const char *folder)
{
	char *self = peers_self(), *page = NULL, *json = NULL, *html = NULL;
	int err;

	if (self == NULL)
		return complain("the path of this program is unknown");
	if (asprintf(&page, "%.*s/page", (int)(strrchr(self, '/') - self),
		     self) < 0 ||
	    asprintf(&json, "%s/report.json", folder) < 0 ||
	    asprintf(&html, "%s/report.html", folder) < 0)
		err = complain(strerror(ENOMEM));
	else
		err = run(folder, page, json, html);
	free(self);
	free(page);
	free(json);
	free(html);
	return err;
}
