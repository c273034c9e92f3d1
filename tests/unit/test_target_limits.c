/* SPDX-License-Identifier: MIT */
/* test_target_limits.c - what is said of a process that costs more than it may, by a
 * folder that stands in for that of /proc */
#include <fcntl.h>
#include <sys/stat.h>

#include "bpf/target/target.h"
#include "bpf/target/target_parts.h"
#include "tests/unit/support.h"

#define START UINT64_C(0x400000)
#define BYTES 4096u

/* Its only mapping is of map_files/START-END. */
struct fake {
	char path[32];
	struct target target;
	struct target_mapping mapping;
	struct stat file;
	char maps[32], mapped[80];
};

static int read_fake(void *context, uint64_t address, void *to, size_t bytes)
{
	int fd = open(context, O_RDONLY | O_CLOEXEC);
	ssize_t got = pread(fd, to, bytes, (off_t)(address - START));

	close(fd);
	return got == (ssize_t)bytes ? 0 : -EFAULT;
}

static void make(struct fake *fake)
{
	int fd;

	*fake = (struct fake){ .path = "/tmp/skua-limits-XXXXXX" };
	assert_non_null(mkdtemp(fake->path));
	snprintf(fake->maps, sizeof(fake->maps), "%.24s/maps", fake->path);
	fake->target.pid = 4242;
	fake->target.folder = open(fake->path, O_RDONLY | O_DIRECTORY);
	assert_true(fake->target.folder >= 0);
	fake->target.memory_folder = fake->target.folder;
	target_budget_begin(&fake->target.budget);
	fake->target.budget.ending = true; /* no more of it comes with time */
	assert_int_equal(mkdirat(fake->target.folder, "map_files", 0700), 0);
	snprintf(fake->mapped, sizeof(fake->mapped), "%.24s/map_files/%jx-%jx",
		 fake->path, (uintmax_t)START, (uintmax_t)(START + BYTES));
	fd = open(fake->mapped, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	assert_int_equal(fstat(fd, &fake->file), 0);
	close(fd);
	fake->mapping = (struct target_mapping){ .start = START,
						 .end = START + BYTES,
						 .inode = fake->file.st_ino,
						 .device = fake->file.st_dev,
						 .path = (char *)"/lib/large" };
	fake->target.maps = &fake->mapping;
	fake->target.map_count = 1;
	fake->target.memory = (struct target_memory){ .read = read_fake,
						      .context = fake->mapped };
}

static void end(struct fake *fake)
{
	target_free_symbols(&fake->target);
	unlinkat(fake->target.folder, "maps", 0);
	unlink(fake->mapped);
	unlinkat(fake->target.folder, "map_files", AT_REMOVEDIR);
	close(fake->target.folder);
	rmdir(fake->path);
}

/* A line of one mapping, whose path fills the rest. */
static void write_maps(struct fake *fake, size_t bytes)
{
	static const char line[] = "400000-401000 r-xp 00000000 08:01 77 /";
	int fd = open(fake->maps, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		      0600);
	char *text = malloc(bytes);

	assert_true(fd >= 0);
	assert_non_null(text);
	memset(text, 'x', bytes);
	memcpy(text, line, sizeof(line) - 1);
	assert_int_equal(write(fd, text, bytes), bytes);
	free(text);
	close(fd);
}

/* The target's own, which it frees. */
static void read_maps(struct fake *fake, size_t bytes, int code)
{
	write_maps(fake, bytes);
	fake->target.maps = NULL;
	fake->target.map_count = 0;
	assert_int_equal(target_read_maps(&fake->target), code);
	free(fake->target.maps);
	free(fake->target.maps_text);
	fake->target.maps_text = NULL;
}

TEST(maps__up_to_their_limit__are_read)
{
	struct fake fake;

	make(&fake);
	read_maps(&fake, TARGET_PROC_BYTES - 2, 0);
	assert_int_equal(fake.target.map_count, 1);
	assert_string_equal(fake.target.complaint.text, "");
	end(&fake);
}

TEST(maps__beyond_their_limit__are_named_with_it)
{
	static const size_t sizes[] = { TARGET_PROC_BYTES - 1,
					TARGET_PROC_BYTES,
					2 * TARGET_PROC_BYTES };

	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		struct fake fake;

		make(&fake);
		read_maps(&fake, sizes[i], -EFBIG);
		assert_string_equal(fake.target.complaint.text,
				    "process 4242 has too many mappings; "
				    "allowed: 16 MiB of /proc/4242/maps");
		end(&fake);
	}
}

TEST(maps__work_is_spent__names_how_much_there_is)
{
	struct fake fake;

	make(&fake);
	fake.target.maps_bytes = 1 << 20; /* the last time */
	fake.target.budget.left = (64 << 20) - 1;
	read_maps(&fake, 4096, -EFBIG);
	assert_string_equal(fake.target.complaint.text,
			    "process 4242 costs too much to read; allowed: "
			    "256 MiB at once, and 64 MiB more each second");
	fake.target.maps_bytes = 1 << 20;
	fake.target.budget.left = 64 << 20;
	read_maps(&fake, 4096, 0);
	end(&fake);
}

TEST(symbol__work_is_spent__names_the_file)
{
	char text[TARGET_NAME];
	struct fake fake;

	make(&fake);
	/* It is opened, and compared with what is mapped; no more. */
	fake.target.budget.left = (128 << 10) + TARGET_READ_COST;
	assert_false(target_symbol(&fake.target, START + 16, text));
	assert_string_equal(text, "large+0x10");
	assert_string_equal(target_symbols_missing(&fake.target),
			    "/lib/large has more symbols than may be read of "
			    "a process: some names of functions are not known");
	end(&fake);
}

TEST(symbol__nothing_may_be_opened__names_the_file)
{
	char text[TARGET_NAME];
	struct fake fake;

	make(&fake);
	fake.target.budget.left = (128 << 10) - 1;
	assert_false(target_symbol(&fake.target, START + 16, text));
	assert_string_equal(text, "large+0x10");
	assert_string_equal(target_symbols_missing(&fake.target),
			    "/lib/large is not read, as the process has cost "
			    "too much: some names of functions are not known");
	end(&fake);
}

TEST(symbol__no_elf_file__is_told_from_that)
{
	char text[TARGET_NAME];
	struct fake fake;

	make(&fake);
	assert_false(target_symbol(&fake.target, START + 16, text));
	assert_string_equal(target_symbols_missing(&fake.target),
			    "/lib/large has no symbol there: some names of "
			    "functions are not known");
	end(&fake);
}

TEST(tables__more_than_may_be_held__name_the_file)
{
	struct fake fake;
	int fd;

	make(&fake);
	fd = target_open_mapped(&fake.target, &fake.mapping);
	assert_true(fd >= 0);
	assert_false(target_hold_tables(&fake.target, fd, "/lib/large"));
	assert_string_equal(target_symbols_missing(&fake.target),
			    "/lib/large has more symbols than are kept of a "
			    "process: some names of functions are not known");
	assert_int_equal(fake.target.budget.held, 0);
	close(fd);
	end(&fake);
}
