/* SPDX-License-Identifier: MIT */
/**
 * guest.c - the first process of a guest: it makes the checks, and turns it off
 *
 * usage: init CHECK...
 *
 * Prints "guest: begun", a line "ok NAME" or "FAIL NAME" for each, and last how
 * many there were: without that line the guest has not come to its end. A check that
 * hangs fails, so then the emulated kernel hangs.
 */
#include "tests/guest/guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Longer than any check takes, and shorter than tests/guest/run waits: a check that
 * hangs then fails with a report. */
#define CHECK_SECONDS 90u

static const struct check {
	const char *name;
	void (*run)(void);
} checks[] = {
	{ "machine", guest_machine }, { "pinning", guest_pinning },
	{ "pages", guest_pages },     { "steals", guest_steals },
	{ "shrink", guest_shrink },   { "offline", guest_offline },
	{ "home", guest_home },
};

/* ---- what the checks share ------------------------------------------------- */

struct skua_topology *guest_topology(void)
{
	struct skua_topology *topology;
	struct skua_error err;

	if (skua_topology_load(&topology, NULL, &err) != 0)
		stress_fail("the machine cannot be read: %s", err.text);
	return topology;
}

const struct skua_cpu *guest_cpu(const struct skua_topology *topology,
				 unsigned cpu)
{
	const struct skua_cpu *cpus;
	unsigned count = skua_topology_cpus(topology, &cpus);

	for (unsigned i = 0; i < count; i++) {
		if (cpus[i].cpu == cpu)
			return &cpus[i];
	}
	stress_fail("CPU %u is not in the topology", cpu);
}

void guest_cpus(unsigned *cpus, unsigned workers)
{
	struct skua_error err;
	int count = skua_runtime_plan(NULL, cpus, workers, NULL, &err);

	if (count != (int)workers)
		stress_fail("%d workers are planned, not %u", count, workers);
}

void guest_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		stress_fail("\"%s\" to %s: %s", text, path, strerror(errno));
	close(fd);
}

/* ---- the first process ----------------------------------------------------- */

static void mount_at(const char *folder, const char *type)
{
	mkdir(folder, 0755);
	if (mount(type, folder, type, 0, NULL) != 0)
		stress_fail("%s at %s: %s", type, folder, strerror(errno));
}

static void prepare(void)
{
	int console;

	mount_at("/dev", "devtmpfs");
	console = open("/dev/console", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		dup2(console, fd);
	mount_at("/proc", "proc");
	mount_at("/sys", "sysfs");
	mount_at("/cgroup", "cgroup2");
	guest_put("/cgroup/cgroup.subtree_control", "+cpuset +cpu");
}

/* Print one file of a thread of @process, or nothing if it cannot be read. */
static void show_file(pid_t process, const char *thread, const char *name)
{
	char path[sizeof("/proc//task//") + 64];
	char text[4096];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/%s", (int)process,
		 thread, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	length = read(fd, text, sizeof(text));
	close(fd);
	if (length > 0)
		printf("%s:\n%.*s", path, (int)length, text);
}

/* Print where each thread of @process is, so that the log explains the hang. */
static void show_threads(pid_t process)
{
	char path[64];
	struct dirent *entry;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	threads = opendir(path);
	while (threads && (entry = readdir(threads)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		show_file(process, entry->d_name, "stat");
		show_file(process, entry->d_name, "syscall");
		show_file(process, entry->d_name, "stack");
	}
	if (threads)
		closedir(threads);
}

/* Wait until the check ends. One that takes too long is killed, after its threads
 * were printed. Return: whether it passed. */
static bool ends_well(pid_t child)
{
	int status = 0;
	pid_t ended = 0;

	for (unsigned i = 0; ended == 0 && i < 10 * CHECK_SECONDS; i++) {
		usleep(100000);
		ended = waitpid(child, &status, WNOHANG);
	}
	if (ended == 0) {
		printf("guest: the check has not ended after %u s\n",
		       CHECK_SECONDS);
		show_threads(child);
		kill(child, SIGKILL);
		ended = waitpid(child, &status, 0);
	}
	return ended == child && status == 0;
}

/* Make the check in a process of its own, which also undoes what the check changes
 * about its process. */
static bool passes(const struct check *check)
{
	pid_t child = fork();

	if (child == 0) {
		setvbuf(stdout, NULL, _IOLBF, 0);
		check->run();
		exit(0);
	}
	return child > 0 && ends_well(child);
}

/* An unknown name is a check that fails. */
static bool make_check(const char *name)
{
	bool passed = false;

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if (strcmp(checks[i].name, name) == 0)
			passed = passes(&checks[i]);
	}
	printf("%s %s\n", passed ? "ok" : "FAIL", name);
	fflush(stdout);
	return passed;
}

int main(int argc, char **argv)
{
	int passed = 0;

	if (getpid() != 1)
		stress_fail("only as the first process of a guest: see "
			    "tests/guest/run");
	prepare();
	printf("guest: begun\n");
	fflush(stdout);
	for (int i = 1; i < argc; i++)
		passed += make_check(argv[i]);
	printf("guest: %d passed, %d failed\n", passed, argc - 1 - passed);
	fflush(stdout);
	reboot(RB_POWER_OFF);
}
