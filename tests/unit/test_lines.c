/* SPDX-License-Identifier: MIT */
/* test_lines.c - where the code of this program comes from, as its own file says */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/flame/flame_lines.h"
#include "tests/unit/support.h"

/* As its code has an address of its own, it can be looked for. */
__attribute__((noinline)) static int add_up(int most)
{
	int sum = 0;

	for (int i = 0; i < most; i++)
		sum += i * most;
	__asm__ volatile("" : "+r"(sum));
	return sum;
}
enum { ADD_UP_ENDS = __LINE__ - 1 };

static int first_object(struct dl_phdr_info *info, size_t size, void *to)
{
	(void)size;
	*(uintptr_t *)to = info->dlpi_addr;
	return 1;
}

/* As the file has the address of a function. */
static uint64_t in_file(int (*function)(int))
{
	uintptr_t base = 0;

	dl_iterate_phdr(first_object, &base);
	return (uintptr_t)function - base;
}

#define PATIENCE_NS UINT64_C(60000000000)

static int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static const char *last_of(const struct line *line)
{
	const char *last = strrchr(line->source, '/');

	return last ? last + 1 : line->source;
}

static void lines__function__its_file_and_line(void **state)
{
	uint64_t patience_ns = PATIENCE_NS;
	int fd = open_self();
	struct lines *lines = lines_open(fd);
	struct line line;

	(void)state;
	assert_int_equal(add_up(3), 9);
	assert_non_null(lines);
	close(fd);
	lines_find(lines, in_file(add_up), &patience_ns, &line);
	if (line.number == 0)
		skip_aloud("built without debug information");
	assert_string_equal(last_of(&line), "test_lines.c");
	assert_in_range(line.number, ADD_UP_ENDS - 9, ADD_UP_ENDS);
	assert_true(patience_ns < PATIENCE_NS);
	lines_find(lines, UINT64_MAX, &patience_ns, &line);
	assert_int_equal(line.number, 0);
	assert_string_equal(line.source, "");
	lines_find(lines, 0, &patience_ns, &line);
	assert_int_equal(line.number, 0);
	lines_find(lines, in_file(add_up), &patience_ns, &line);
	assert_string_equal(last_of(&line), "test_lines.c");
	lines_close(lines);
	/* Nobody is left. */
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
}

static void lines__no_elf_file__none(void **state)
{
	uint64_t patience_ns = PATIENCE_NS;
	int fd = memfd_create("text", MFD_CLOEXEC);
	struct lines *lines = lines_open(fd);
	struct line line;

	(void)state;
	lines_find(lines, 0x1000, &patience_ns, &line);
	assert_int_equal(line.number, 0);
	lines_close(lines);
	close(fd);
}

/* The only one that there is. */
static pid_t child_of(pid_t pid)
{
	char path[64];
	FILE *file;
	int child = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", pid);
	file = fopen(path, "r");
	if (!file)
		skip_aloud("the kernel does not tell of children");
	assert_int_equal(fscanf(file, "%d", &child), 1);
	fclose(file);
	return child;
}

/* As a file does that libdw does not survive. */
static void lines__child_ends__none(void **state)
{
	uint64_t patience_ns = PATIENCE_NS;
	int fd = open_self();
	struct lines *lines = lines_open(fd);
	struct line line;

	(void)state;
	close(fd);
	assert_int_equal(kill(child_of(getpid()), SIGKILL), 0);
	for (int i = 0; i < 2; i++) {
		lines_find(lines, in_file(add_up), &patience_ns, &line);
		assert_int_equal(line.number, 0);
	}
	lines_close(lines);
}

/* And one with which it never ends. */
static void lines__child_does_not_answer__ended(void **state)
{
	uint64_t patience_ns = 10000000;
	int fd = open_self();
	struct lines *lines = lines_open(fd);
	struct line line;

	(void)state;
	close(fd);
	assert_int_equal(kill(child_of(getpid()), SIGSTOP), 0);
	lines_find(lines, in_file(add_up), &patience_ns, &line);
	assert_int_equal(line.number, 0);
	assert_int_equal(patience_ns, 0);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	lines_close(lines);
}

/* It has the file and the socket, and no others. */
static void lines__child__has_two_descriptors(void **state)
{
	uint64_t patience_ns = PATIENCE_NS;
	int fd = open_self();
	struct lines *lines = lines_open(fd);
	struct line line;
	struct dirent *entry;
	unsigned count = 0;
	char path[64];
	DIR *folder;

	(void)state;
	lines_find(lines, 0, &patience_ns, &line);
	snprintf(path, sizeof(path), "/proc/%d/fd", child_of(getpid()));
	folder = opendir(path);
	assert_non_null(folder);
	while ((entry = readdir(folder)) != NULL)
		count += entry->d_name[0] != '.';
	closedir(folder);
	assert_int_equal(count, 2);
	lines_close(lines);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines__function__its_file_and_line),
		cmocka_unit_test(lines__no_elf_file__none),
		cmocka_unit_test(lines__child_ends__none),
		cmocka_unit_test(lines__child_does_not_answer__ended),
		cmocka_unit_test(lines__child__has_two_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
