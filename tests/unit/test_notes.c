/* SPDX-License-Identifier: MIT */
/* test_notes.c - the probes of this program are found in its file, and nothing in
 * others */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf/trace/notes.h"
#include "probes/probes.h"
#include "tests/unit/probe_attach.h"
#include "tests/unit/support.h"

/* clang-format off */
#define ROW(name, count) { #name, count },
static const struct {
	const char *name;
	unsigned arguments;
} expected[] = { PROBES(ROW) };
/* clang-format on */

/* A file with these bytes. */
static int make_file(const void *bytes, size_t size)
{
	int fd = memfd_create("notes", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	return fd;
}

static const struct notes_probe *find(const struct notes *notes,
				      const char *name)
{
	for (unsigned i = 0; i < notes->count; i++)
		if (strcmp(notes->probes[i].name, name) == 0)
			return &notes->probes[i];
	return NULL;
}

static void read__own_program__has_all_probes(void **state)
{
	int fd = open(PROBE_FILE, O_RDONLY | O_CLOEXEC);
	struct notes notes;

	(void)state;
	if (!PROBES_EXIST)
		skip_aloud("no probes on this architecture");
	/* They are linked with what is called. */
	probe_worker_stop(0);
	assert_int_equal(notes_read(fd, &notes), 0);
	assert_int_equal(notes.count, COUNT_OF(expected));
	for (size_t i = 0; i < COUNT_OF(expected); i++) {
		const struct notes_probe *probe =
			find(&notes, expected[i].name);
		struct probe_site site;

		assert_non_null(probe);
		assert_int_equal(probe->arguments, expected[i].arguments);
		assert_true(probe_find(expected[i].name, &site));
		assert_int_equal(probe->offset, site.nop);
		assert_int_equal(probe->semaphore, site.semaphore);
	}
	close(fd);
}

static void read__cut_anywhere__finds_all_or_nothing(void **state)
{
	struct probe_elf elf = { .size = 0 };

	(void)state;
	assert_true(probe_elf_open(&elf));
	for (size_t size = 0; size < elf.size; size += 1 + elf.size / 97) {
		int fd = make_file(elf.bytes, size);
		struct notes notes;
		int err = notes_read(fd, &notes);

		assert_true(err == -ENOEXEC || err == -EILSEQ);
		assert_int_equal(notes.count, 0);
		close(fd);
	}
	munmap((void *)elf.bytes, elf.size);
}

static void read__no_elf_file__is_refused(void **state)
{
	static const char *const others[] = { "", "\177ELF",
					      "#!/bin/sh\nexit 0\n" };
	struct notes notes;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(others); i++) {
		int fd = make_file(others[i], strlen(others[i]));

		assert_int_equal(notes_read(fd, &notes), -ENOEXEC);
		close(fd);
	}
}

static void read__no_file__tells_why(void **state)
{
	struct notes notes;

	(void)state;
	assert_int_equal(notes_read(-1, &notes), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read__own_program__has_all_probes),
		cmocka_unit_test(read__cut_anywhere__finds_all_or_nothing),
		cmocka_unit_test(read__no_elf_file__is_refused),
		cmocka_unit_test(read__no_file__tells_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
