/* SPDX-License-Identifier: MIT */
/* machine.c - see machine.h */
#include "bench/report/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "skua/skua.h"

#define TEXT_1(x) #x
#define TEXT(x)   TEXT_1(x)

#define VERSION_TEXT             \
	TEXT(SKUA_VERSION_MAJOR) \
	"." TEXT(SKUA_VERSION_MINOR) "." TEXT(SKUA_VERSION_PATCH)

#if defined(__clang__)
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* Read the model from /proc/cpuinfo. Not every architecture's kernel gives
 * one. */
static void read_cpu_model(char *text, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	snprintf(text, size, "unknown");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		const char *value = strstr(line, ": ");

		if (strncmp(line, "model name", 10) != 0 || value == NULL)
			continue;
		snprintf(text, size, "%.*s", (int)strcspn(value + 2, "\n"),
			 value + 2);
		break;
	}
	if (file != NULL)
		fclose(file);
}

#ifdef __OPTIMIZE__
#define OPTIMISED "optimised"
#else
#define OPTIMISED "not optimised"
#endif

#ifdef NDEBUG
#define ASSERTIONS ""
#else
#define ASSERTIONS ", with assertions"
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZER ", with a sanitizer"
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZER ", with a sanitizer"
#endif
#ifndef SANITIZER
#define SANITIZER ""
#endif

json_t *machine_json(void)
{
	time_t now = time(NULL);
	struct utsname name;
	struct tm utc;
	char model[128], when[32];

	read_cpu_model(model, sizeof(model));
	uname(&name);
	gmtime_r(&now, &utc);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc);
	return json_pack("{s:s, s:s, s:I, s:s++, s:s, s:s, s:s}", "skua",
			 VERSION_TEXT, "cpu", model, "cpus",
			 (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "kernel",
			 name.sysname, " ", name.release, "compiler", COMPILER,
			 "build", OPTIMISED ASSERTIONS SANITIZER, "time", when);
}
