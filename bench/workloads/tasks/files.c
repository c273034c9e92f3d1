/* SPDX-License-Identifier: MIT */
/*
 * files.c - fibers that read and write blocks of a file
 *
 * The file has BLOCKS blocks, and is small enough to stay in memory. Each fiber reads
 * blocks in an order of its own, and writes every tenth back. A block has its number in
 * each word, which the fibers check. An operation is a read or a write of a block.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/workloads/workloads.h"
#include "bpf/cli/args.h"

#define BLOCKS      4096u
#define BLOCK_BYTES 4096u
#define WORDS       (BLOCK_BYTES / sizeof(uint64_t))
#define WRITE_EVERY 10u

struct file_options {
	uint64_t fibers;
	uint64_t times; /* operations of each */
};

struct files;

struct file_fiber {
	alignas(128) struct skua_fiber fiber; /* first: it is cast back */
	struct files *shared;
	uint64_t seed;
	uint64_t done, wrong;
	uint64_t block[WORDS];
};

struct files {
	struct file_options options;
	struct skua_runtime *rt;
	struct file_fiber *fibers;
	int fd;
};

/* ---- the file ------------------------------------------------------------ */

static bool write_blocks(int fd)
{
	uint64_t block[WORDS];

	for (uint64_t i = 0; i < BLOCKS; i++) {
		for (unsigned word = 0; word < WORDS; word++)
			block[word] = i;
		if (write(fd, block, BLOCK_BYTES) != BLOCK_BYTES)
			return false;
	}
	return true;
}

/* Return: a descriptor; -1, after a message. */
static int make_file(void)
{
	char path[] = "/tmp/skua-files.XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0) {
		fprintf(stderr, "files: cannot create %s: %s\n", path,
			strerror(errno));
		return -1;
	}
	unlink(path);
	if (!write_blocks(fd)) {
		fprintf(stderr, "files: cannot write %u KiB to /tmp: %s\n",
			BLOCKS * BLOCK_BYTES / 1024, strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

/* ---- rounds -------------------------------------------------------------- */

static uint64_t next_block(struct file_fiber *f)
{
	f->seed = f->seed * UINT64_C(6364136223846793005) +
		  UINT64_C(1442695040888963407);
	return (f->seed >> 33) % BLOCKS;
}

static void use_blocks(struct skua_fiber *self)
{
	struct file_fiber *f = (struct file_fiber *)self;
	struct files *files = f->shared;

	for (uint64_t i = 0; i < files->options.times; i++) {
		uint64_t block = next_block(f);
		int64_t offset = (int64_t)(block * BLOCK_BYTES);
		ssize_t bytes;

		if (i % WRITE_EVERY == WRITE_EVERY - 1) {
			for (unsigned word = 0; word < WORDS; word++)
				f->block[word] = block;
			bytes = skua_file_write(files->rt, files->fd, f->block,
						BLOCK_BYTES, offset,
						SKUA_FOREVER_NS);
		} else {
			bytes = skua_file_read(files->rt, files->fd, f->block,
					       BLOCK_BYTES, offset,
					       SKUA_FOREVER_NS);
		}
		f->wrong += bytes != BLOCK_BYTES || f->block[0] != block ||
			    f->block[WORDS - 1] != block;
		f->done++;
	}
}

static int files_round(struct workload_run *run)
{
	struct files *files = run->state;
	int err = 0, drain_err;

	for (uint64_t i = 0; err == 0 && i < files->options.fibers; i++) {
		struct file_fiber *f = &files->fibers[i];

		err = skua_fiber_init(&f->fiber, use_blocks, 0);
		if (err == 0)
			err = skua_task_spawn(files->rt, &f->fiber.task);
	}
	drain_err = skua_runtime_drain(files->rt);
	return err != 0 ? err : drain_err;
}

static int files_setup(struct workload_run *run)
{
	struct files *files = run->state;

	files->options = *(const struct file_options *)run->options;
	files->rt = run->rt;
	run->ops = files->options.fibers * files->options.times;
	files->fibers =
		aligned_alloc(alignof(struct file_fiber),
			      files->options.fibers * sizeof(*files->fibers));
	if (files->fibers == NULL)
		return -ENOMEM;
	files->fd = make_file();
	if (files->fd < 0) {
		free(files->fibers);
		return -EIO;
	}
	return 0;
}

static void files_teardown(struct workload_run *run)
{
	struct files *files = run->state;

	close(files->fd);
	free(files->fibers);
}

static void files_prepare(struct workload_run *run)
{
	struct files *files = run->state;

	for (uint64_t i = 0; i < files->options.fibers; i++)
		files->fibers[i] =
			(struct file_fiber){ .shared = files, .seed = i + 1 };
}

static bool files_check(struct workload_run *run)
{
	const struct files *files = run->state;
	uint64_t done = 0, wrong = 0;

	for (uint64_t i = 0; i < files->options.fibers; i++) {
		done += files->fibers[i].done;
		wrong += files->fibers[i].wrong;
	}
	if (done == run->ops && wrong == 0)
		return true;
	fprintf(stderr, "files: %ju of %ju operations, %ju wrong\n",
		(uintmax_t)done, (uintmax_t)run->ops, (uintmax_t)wrong);
	return false;
}

/* ---- options ------------------------------------------------------------- */

static json_t *file_params(const void *arg)
{
	const struct file_options *options = arg;

	return json_pack("{s:I, s:I}", "fibers", (json_int_t)options->fibers,
			 "times", (json_int_t)options->times);
}

static const struct file_options files_defaults = { .fibers = 8,
						    .times = 20000 };

WORKLOAD(files, "Fibers read and write blocks of a file",
	 ARGS_OPTIONS(ARGS_NUMBER_OF(struct file_options, "fibers", fibers, 1,
				     10000, "N", "Number of fibers"),
		      ARGS_NUMBER_OF(struct file_options, "times", times, 1,
				     1000000000, "N", "Operations of each")),
	 .options_size = sizeof(struct file_options), .params = file_params,
	 .state_bytes = sizeof(struct files), .setup = files_setup,
	 .teardown = files_teardown, .prepare = files_prepare,
	 .check = files_check, .defaults = &files_defaults,
	 .report = &files_defaults, .report_count = 1, .round = files_round);
