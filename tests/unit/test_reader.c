/* SPDX-License-Identifier: MIT */
/* test_reader.c - lines and callers of the code of this program, as its own file says */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/flame/flame_reader.h"
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

static void assert_no_children(void)
{
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
}

TEST(line__function__its_file_and_line)
{
	struct reader *reader = reader_new(READER_LIMITS);
	int fd = open_self(), file = reader_add(reader, fd);
	struct line line;

	assert_int_equal(add_up(3), 9);
	reader_line(reader, file, in_file(add_up), &line);
	if (line.number == 0)
		skip_aloud("built without debug information");
	assert_string_equal(last_of(&line), "test_reader.c");
	assert_in_range(line.number, ADD_UP_ENDS - 9, ADD_UP_ENDS);
	reader_line(reader, file, UINT64_MAX, &line);
	assert_int_equal(line.number, 0);
	assert_string_equal(line.source, "");
	reader_line(reader, file, 0, &line);
	assert_int_equal(line.number, 0);
	reader_line(reader, -1, in_file(add_up), &line);
	assert_int_equal(line.number, 0);
	reader_line(reader, file, in_file(add_up), &line);
	assert_string_equal(last_of(&line), "test_reader.c");
	reader_free(reader);
	close(fd);
	assert_no_children();
}

/* Where a function begins, its caller's address is the last on the stack, or still in
 * the register. */
TEST(rule__first_instruction__nothing_saved)
{
	struct reader *reader = reader_new(READER_LIMITS);
	int fd = open_self(), file = reader_add(reader, fd);
	struct flame_rule rule;

	assert_true(reader_rule(reader, file, in_file(add_up), &rule));
	assert_int_equal(rule.base, FLAME_SP);
	assert_int_equal(rule.fp, FLAME_SAME);
#ifdef __x86_64__
	assert_int_equal(rule.base_offset, 8);
	assert_int_equal(rule.back, FLAME_SAVED);
	assert_int_equal(rule.back_offset, -8);
#else
	assert_int_equal(rule.back, FLAME_SAME);
#endif
	assert_false(reader_rule(reader, file, UINT64_MAX, &rule));
	reader_free(reader);
	close(fd);
}

TEST(two_files__asked_in_turn__each_its_own)
{
	struct reader *reader = reader_new(READER_LIMITS);
	int text = memfd_create("text", MFD_CLOEXEC), fd = open_self();
	int none = reader_add(reader, text), file = reader_add(reader, fd);
	struct flame_rule rule;
	struct line line;

	for (int i = 0; i < 3; i++) {
		assert_false(reader_rule(reader, none, in_file(add_up), &rule));
		assert_true(reader_rule(reader, file, in_file(add_up), &rule));
		reader_line(reader, none, in_file(add_up), &line);
		assert_int_equal(line.number, 0);
	}
	reader_free(reader);
	close(text);
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

/* As with a file that libdw does not survive: the question is not asked again, others
 * are, of three children in all. */
TEST(child_ends__others_are_asked_of_the_next)
{
	struct reader *reader = reader_new(READER_LIMITS);
	int fd = open_self(), files[4];
	struct flame_rule rule;
	struct line line;

	for (int i = 0; i < 4; i++)
		files[i] = reader_add(reader, fd);
	assert_true(reader_rule(reader, files[3], in_file(add_up), &rule));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(kill(child_of(getpid()), SIGKILL), 0);
		assert_false(
			reader_rule(reader, files[i], in_file(add_up), &rule));
		assert_false(
			reader_rule(reader, files[i], in_file(add_up), &rule));
		assert_true(
			reader_rule(reader, files[3], in_file(add_up), &rule));
	}
	reader_line(reader, files[0], 0, &line);
	assert_int_equal(kill(child_of(getpid()), SIGKILL), 0);
	for (int i = 2; i < 4; i++)
		assert_false(
			reader_rule(reader, files[i], in_file(add_up), &rule));
	assert_no_children();
	reader_free(reader);
	close(fd);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A child that does not answer is left when somebody waits for the end. Otherwise it
 * is waited for, 20 seconds: the bound below is of neither. */
TEST(child_does_not_answer__hurry__ended)
{
	struct reader *reader = reader_new(READER_LIMITS);
	int fd = open_self(), file = reader_add(reader, fd);
	uint64_t begin = now_ns();
	struct flame_rule rule;

	assert_true(reader_rule(reader, file, in_file(add_up), &rule));
	assert_int_equal(kill(child_of(getpid()), SIGSTOP), 0);
	reader_hurry(reader);
	assert_false(reader_rule(reader, file, in_file(add_up), &rule));
	assert_true(now_ns() - begin < UINT64_C(10000000000));
	assert_no_children();
	reader_free(reader);
	close(fd);
}

TEST(child_does_not_answer__signal__ended)
{
	struct reader *reader = reader_new(READER_LIMITS);
	int fd = open_self(), file = reader_add(reader, fd);
	uint64_t begin = now_ns();
	struct flame_rule rule;
	sigset_t term, before;
	int which;

	assert_true(reader_rule(reader, file, in_file(add_up), &rule));
	assert_int_equal(kill(child_of(getpid()), SIGSTOP), 0);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &before);
	kill(getpid(), SIGTERM);
	assert_false(reader_rule(reader, file, in_file(add_up), &rule));
	assert_true(now_ns() - begin < UINT64_C(10000000000));
	sigwait(&term, &which);
	sigprocmask(SIG_SETMASK, &before, NULL);
	assert_no_children();
	reader_free(reader);
	close(fd);
}

/* It has the file and the socket, and no others. */
TEST(child__has_two_descriptors)
{
	struct reader *reader = reader_new(READER_LIMITS);
	int fd = open_self(), file = reader_add(reader, fd);
	struct line line;
	struct dirent *entry;
	unsigned count = 0;
	char path[64];
	DIR *folder;

	reader_line(reader, file, 0, &line);
	reader_line(reader, file, 0, &line);
	snprintf(path, sizeof(path), "/proc/%d/fd", child_of(getpid()));
	folder = opendir(path);
	assert_non_null(folder);
	while ((entry = readdir(folder)) != NULL)
		count += entry->d_name[0] != '.';
	closedir(folder);
	assert_int_equal(count, 2);
	reader_free(reader);
	close(fd);
}
