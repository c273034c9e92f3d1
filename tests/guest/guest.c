/* SPDX-License-Identifier: MIT */
/**
 * guest.c - the first process of a guest: it makes the checks, and turns it off
 *
 * usage: init CHECK...
 *
 * Prints "guest: begun", a line "ok NAME" or "FAIL NAME" for each, and last how
 * many there were: without that line the guest has not come to its end.
 */
#include "tests/guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* In a process of its own: what it does to itself ends with it. */
static bool passes(const struct check *check)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		setvbuf(stdout, NULL, _IOLBF, 0);
		check->run();
		exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
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
