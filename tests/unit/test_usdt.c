/* SPDX-License-Identifier: MIT */
/* test_usdt.c - the probes of this program are found in its file, and nothing in
 * others */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf/trace/usdt.h"
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

static int read_notes(int fd, struct usdt_probes *out)
{
	struct target_budget budget;

	target_budget_begin(&budget);
	return usdt_read(fd, &budget, out);
}

static const struct usdt_probe *find(const struct usdt_probes *notes,
				     const char *name)
{
	for (unsigned i = 0; i < notes->count; i++)
		if (strcmp(notes->probes[i].name, name) == 0)
			return &notes->probes[i];
	return NULL;
}

TEST(read__own_program__has_all_probes)
{
	int fd = open(PROBE_FILE, O_RDONLY | O_CLOEXEC);
	struct usdt_probes notes;

	if (!PROBES_EXIST)
		skip_aloud("no probes on this architecture");
	/* They are linked with what is called. */
	probe_worker_stop(0);
	assert_int_equal(read_notes(fd, &notes), 0);
	assert_int_equal(notes.count, COUNT_OF(expected));
	for (size_t i = 0; i < COUNT_OF(expected); i++) {
		const struct usdt_probe *probe = find(&notes, expected[i].name);
		struct probe_site site;

		assert_non_null(probe);
		assert_int_equal(probe->arguments, expected[i].arguments);
		assert_true(probe_find(expected[i].name, &site));
		assert_int_equal(probe->offset, site.nop);
		assert_int_equal(probe->semaphore, site.semaphore);
	}
	close(fd);
}

TEST(read__cut_anywhere__finds_all_or_nothing)
{
	struct probe_elf elf = { .size = 0 };

	assert_true(probe_elf_open(&elf));
	for (size_t size = 0; size < elf.size; size += 1 + elf.size / 97) {
		int fd = make_file(elf.bytes, size);
		struct usdt_probes notes;
		int err = read_notes(fd, &notes);

		assert_true(err == -ENOEXEC || err == -EILSEQ);
		assert_int_equal(notes.count, 0);
		close(fd);
	}
	munmap((void *)elf.bytes, elf.size);
}

TEST(read__no_elf_file__is_refused)
{
	static const char *const others[] = { "", "\177ELF",
					      "#!/bin/sh\nexit 0\n" };
	struct usdt_probes notes;

	for (size_t i = 0; i < COUNT_OF(others); i++) {
		int fd = make_file(others[i], strlen(others[i]));

		assert_int_equal(read_notes(fd, &notes), -ENOEXEC);
		close(fd);
	}
}

TEST(read__no_file__tells_why)
{
	struct usdt_probes notes;

	assert_int_equal(read_notes(-1, &notes), -EBADF);
}

/* ---- what it costs ----------------------------------------------------------- */

/* This program, once more, to be changed. */
struct copy {
	int fd;
	size_t size;
	char *bytes;
};

static void copy_open(struct copy *copy)
{
	struct probe_elf elf = { .size = 0 };

	assert_true(probe_elf_open(&elf));
	copy->size = elf.size;
	copy->fd = make_file(elf.bytes, elf.size);
	munmap((void *)elf.bytes, elf.size);
	copy->bytes = mmap(NULL, copy->size, PROT_READ | PROT_WRITE, MAP_SHARED,
			   copy->fd, 0);
	assert_true(copy->bytes != MAP_FAILED);
}

static void copy_close(struct copy *copy)
{
	munmap(copy->bytes, copy->size);
	close(copy->fd);
}

static Elf64_Shdr *copy_notes(struct copy *copy)
{
	const struct probe_elf elf = { .bytes = copy->bytes,
				       .size = copy->size };

	return (Elf64_Shdr *)(uintptr_t)probe_elf_notes(&elf);
}

TEST(read__any_smaller_budget__says_so)
{
	struct target_budget budget;
	struct usdt_probes notes;
	struct copy copy;
	uint64_t all;

	if (!PROBES_EXIST)
		skip_aloud("no probes on this architecture");
	copy_open(&copy);
	target_budget_begin(&budget);
	budget.ending = true; /* no more of it comes with time */
	assert_int_equal(usdt_read(copy.fd, &budget, &notes), 0);
	assert_int_equal(notes.count, COUNT_OF(expected));
	all = TARGET_WORK - budget.left;
	assert_int_equal(budget.held, 0);
	for (uint64_t left = 0; left < all; left += 997) {
		budget.left = left;
		assert_int_equal(usdt_read(copy.fd, &budget, &notes), -EFBIG);
		assert_int_equal(notes.count, 0);
	}
	budget.left = all - 1;
	assert_int_equal(usdt_read(copy.fd, &budget, &notes), -EFBIG);
	budget.left = all;
	assert_int_equal(usdt_read(copy.fd, &budget, &notes), 0);
	copy_close(&copy);
}

/* A hole is full of notes that are empty. */
TEST(read__sparse_notes__are_paid_for)
{
	static const uint64_t sizes[] = { UINT64_C(16) << 20, UINT64_C(1)
								      << 40 };

	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		struct target_budget budget;
		Elf64_Shdr *section;
		struct usdt_probes notes;
		struct copy copy;

		copy_open(&copy);
		section = copy_notes(&copy);
		assert_non_null(section);
		section->sh_offset = copy.size;
		section->sh_size = sizes[i];
		assert_int_equal(
			ftruncate(copy.fd, (off_t)(copy.size + sizes[i])), 0);
		target_budget_begin(&budget);
		budget.ending = true;
		assert_int_equal(usdt_read(copy.fd, &budget, &notes), -EFBIG);
		assert_int_equal(notes.count, 0);
		copy_close(&copy);
	}
}

TEST(read__names_of_any_size__are_not_kept)
{
	static const uint64_t sizes[] = { UINT64_C(17) << 20, UINT64_C(1) << 62,
					  UINT64_MAX };
	struct usdt_probes notes;
	struct copy copy;
	Elf64_Ehdr header;
	Elf64_Shdr *sections;

	if (!PROBES_EXIST)
		skip_aloud("no probes on this architecture");
	copy_open(&copy);
	memcpy(&header, copy.bytes, sizeof(header));
	sections = (void *)(copy.bytes + header.e_shoff);
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		sections[header.e_shstrndx].sh_size = sizes[i];
		assert_int_equal(read_notes(copy.fd, &notes), 0);
		assert_int_equal(notes.count, COUNT_OF(expected));
	}
	copy_close(&copy);
}
