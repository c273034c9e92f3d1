/* SPDX-License-Identifier: MIT */
/**
 * target_memory.h - the memory of a process that skua runs in, made by hand
 *
 * An ELF file with a note, a root, a runtime with two workers, and what those lead
 * to: each at an address of its own, with nothing around it. A test changes what it
 * likes, also at the n-th read.
 */
#ifndef SKUA_TESTS_FUZZ_TARGET_MEMORY_H
#define SKUA_TESTS_FUZZ_TARGET_MEMORY_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/target/target_area.h"
#include "bpf/target/target_find.h"

#define FAKE_WORKERS 2u
#define FAKE_PID     4242u
#define FAKE_NOW     UINT64_C(5000000)

/* Each region is at its number and one, times this. */
#define FAKE_APART UINT64_C(0x100000)

enum fake_region {
	FAKE_ELF,
	FAKE_ROOT,
	FAKE_RUNTIME,
	FAKE_POINTERS, /* to workers */
	FAKE_WORKER,
	FAKE_WORKER_2,
	FAKE_SAMPLES,
	FAKE_SAMPLES_2,
	FAKE_TASK,
	FAKE_QUEUE,
	FAKE_REGIONS
};

/* Words of FAKE_QUEUE. */
enum fake_word {
	FAKE_HEAD,
	FAKE_TAIL,
	FAKE_OUTSIDE,
	FAKE_REFUSED,
	FAKE_PUSHED,
	FAKE_TAKEN,
	FAKE_URGENT_PUSHED,
	FAKE_URGENT_TAKEN,
	FAKE_WORDS
};

struct fake_elf {
	Elf64_Ehdr header;
	Elf64_Phdr load, note;
	struct {
		Elf64_Nhdr header;
		char name[8];
		char offset[8]; /* not aligned */
	} content;
};

/* At which read what is written where. */
struct fake_change {
	unsigned at_read;
	enum fake_region region;
	size_t offset;
	uint64_t value;
};

#define FAKE_CHANGES 8u

struct fake {
	struct {
		unsigned char *bytes;
		size_t size; /* 0: nothing is mapped there */
	} regions[FAKE_REGIONS];
	struct fake_change changes[FAKE_CHANGES];
	unsigned change_count;
	unsigned reads, pauses;
	bool gone; /* the process has ended */
};

static inline uint64_t fake_address(enum fake_region region)
{
	return ((uint64_t)region + 1) * FAKE_APART;
}

static inline void fake_apply(struct fake *fake, const struct fake_change *c)
{
	if (fake->regions[c->region].size >= sizeof(c->value) &&
	    c->offset <= fake->regions[c->region].size - sizeof(c->value))
		memcpy(fake->regions[c->region].bytes + c->offset, &c->value,
		       sizeof(c->value));
}

static inline int fake_read(void *context, uint64_t address, void *to,
			    size_t bytes)
{
	struct fake *fake = context;
	uint64_t region = address / FAKE_APART - 1;
	uint64_t offset = address % FAKE_APART;

	for (unsigned i = 0; i < fake->change_count; i++)
		if (fake->changes[i].at_read == fake->reads)
			fake_apply(fake, &fake->changes[i]);
	fake->reads++;
	if (fake->gone)
		return -ESRCH;
	if (region >= FAKE_REGIONS || offset > fake->regions[region].size ||
	    bytes > fake->regions[region].size - offset)
		return -EFAULT;
	memcpy(to, fake->regions[region].bytes + offset, bytes);
	return 0;
}

static inline void fake_pause(void *context)
{
	((struct fake *)context)->pauses++;
}

static inline struct target_memory fake_memory(struct fake *fake)
{
	return (struct target_memory){ .read = fake_read,
				       .pause = fake_pause,
				       .context = fake };
}

static inline uint64_t fake_now_ns(void)
{
	return FAKE_NOW;
}

static inline void *fake_map(struct fake *fake, enum fake_region region,
			     size_t size)
{
	fake->regions[region].bytes = calloc(1, size);
	fake->regions[region].size = size;
	return fake->regions[region].bytes;
}

static inline void fake_make_elf(struct fake *fake)
{
	struct fake_elf *elf = fake_map(fake, FAKE_ELF, sizeof(*elf));
	size_t content = offsetof(struct fake_elf, content);
	uint64_t offset;

	memcpy(elf->header.e_ident, ELFMAG, SELFMAG);
	elf->header.e_ident[EI_CLASS] = ELFCLASS64;
	elf->header.e_ident[EI_DATA] = ELFDATA2LSB;
	elf->header.e_type = ET_DYN;
	elf->header.e_phoff = offsetof(struct fake_elf, load);
	elf->header.e_phentsize = sizeof(elf->load);
	elf->header.e_phnum = 2;
	elf->load = (Elf64_Phdr){ .p_type = PT_LOAD };
	elf->note = (Elf64_Phdr){ .p_type = PT_NOTE,
				  .p_vaddr = content,
				  .p_filesz = sizeof(elf->content),
				  .p_align = 4 };
	elf->content.header = (Elf64_Nhdr){ .n_namesz = sizeof("skua"),
					    .n_descsz = sizeof(int64_t),
					    .n_type = AREA_NOTE_TYPE };
	strcpy(elf->content.name, "skua");
	offset = fake_address(FAKE_ROOT) - fake_address(FAKE_ELF) -
		 offsetof(struct fake_elf, content.offset);
	memcpy(elf->content.offset, &offset, sizeof(offset));
}

static inline void fake_make_root(struct fake *fake)
{
	struct area_root *root = fake_map(fake, FAKE_ROOT, sizeof(*root));

	*root = (struct area_root){
		.magic = AREA_ROOT_MAGIC,
		.abi = AREA_ABI,
		.bytes = sizeof(*root),
		.changes = 2,
		.runtimes = fake_address(FAKE_RUNTIME),
		.count = 1,
		.version = "1.2.3",
		.task_poll = 16,
		.task_type = 40,
		.task_state = 24,
		.fiber_fn = 56,
		.fiber_context = 64,
		.fiber_wait = 64,
		.task_flags = 48,
	};
}

static inline uint64_t fake_word_at(enum fake_word word)
{
	return fake_address(FAKE_QUEUE) + 8 * (uint64_t)word;
}

static inline void fake_make_runtime(struct fake *fake)
{
	struct area_runtime *runtime =
		fake_map(fake, FAKE_RUNTIME, sizeof(*runtime));
	uint64_t *words = fake_map(fake, FAKE_QUEUE, 8 * FAKE_WORDS);

	runtime->magic = AREA_RUNTIME_MAGIC;
	runtime->abi = AREA_ABI;
	runtime->bytes = sizeof(*runtime);
	runtime->pid = FAKE_PID;
	runtime->worker_count = FAKE_WORKERS;
	runtime->worker_bytes = sizeof(struct area_worker);
	runtime->workers = fake_address(FAKE_POINTERS);
	runtime->started_ns = 1000;
	runtime->outside = fake_word_at(FAKE_OUTSIDE);
	runtime->refused = fake_word_at(FAKE_REFUSED);
	runtime->inject_pushed = fake_word_at(FAKE_PUSHED);
	runtime->inject_taken = fake_word_at(FAKE_TAKEN);
	runtime->urgent_pushed = fake_word_at(FAKE_URGENT_PUSHED);
	runtime->urgent_taken = fake_word_at(FAKE_URGENT_TAKEN);
	runtime->external_jobs_stolen[3] = 9;
	words[FAKE_HEAD] = UINT64_C(7) << 16;
	words[FAKE_TAIL] = 12;
	words[FAKE_OUTSIDE] = UINT64_C(100) << 16 | 3;
	words[FAKE_REFUSED] = 4;
	words[FAKE_PUSHED] = 30;
	words[FAKE_TAKEN] = 28;
}

static inline void fake_make_worker(struct fake *fake, unsigned index)
{
	enum fake_region at = FAKE_WORKER + index,
			 samples = FAKE_SAMPLES + index;
	struct area_worker *worker = fake_map(fake, at, sizeof(*worker));
	struct area_samples *sample = fake_map(fake, samples, sizeof(*sample));
	uint64_t *pointers = (void *)fake->regions[FAKE_POINTERS].bytes;

	pointers[index] = fake_address(at);
	worker->index = index;
	worker->samples = fake_address(samples);
	worker->queue_head = fake_word_at(FAKE_HEAD);
	worker->queue_tail = fake_word_at(FAKE_TAIL);
	worker->task = fake_address(FAKE_TASK);
	worker->counters.tasks_spawned = 10 + index;
	worker->counters.tasks_polled = 20 + index;
	worker->times = (struct area_times){ .state = AREA_RUNNING,
					     .since_ns = 4000000,
					     .run_ns = 50 };
	sample->poll.count[9] = 6;
	sample->types[0] = (struct area_type){
		.poll = 0xabcd, .polls = 6, .run_ns = 60, .longest_ns = 11
	};
}

static inline void fake_make(struct fake *fake)
{
	uint64_t *task;

	*fake = (struct fake){ .reads = 0 };
	fake_make_elf(fake);
	fake_make_root(fake);
	fake_make_runtime(fake);
	fake_map(fake, FAKE_POINTERS, 8 * FAKE_WORKERS);
	for (unsigned i = 0; i < FAKE_WORKERS; i++)
		fake_make_worker(fake, i);
	task = fake_map(fake, FAKE_TASK, 72);
	task[2] = 0xabcd;
	task[5] = 0x1234;
}

static inline void fake_free(struct fake *fake)
{
	for (unsigned i = 0; i < FAKE_REGIONS; i++)
		free(fake->regions[i].bytes);
}

/* fake_roots - as in a process whose maps tell of the ELF file alone */
static inline int fake_roots(const struct target_memory *memory,
			     uint64_t *roots, unsigned *count)
{
	const struct target_mapping mapping = {
		.start = fake_address(FAKE_ELF),
		.end = fake_address(FAKE_ELF) + 4096,
		.inode = 1,
		.readable = true,
		.path = (char *)"/fake",
	};

	return target_find_roots(memory, &mapping, 1, roots, TARGET_MAX_ROOTS,
				 count);
}

#endif
