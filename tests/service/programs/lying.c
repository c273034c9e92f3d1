/* SPDX-License-Identifier: MIT */
/*
 * lying.c KIND [FILE] - a process that says of itself what costs others most
 *
 * It has a root of its own, with a runtime and workers that are all made by hand;
 * no thread of it works. It prints "ready", and ends with its standard input.
 *
 *	honest    one runtime, one worker, one type
 *	runtimes  256 runtimes of 4,096 workers each, which are all the same one
 *	workers   a runtime of 2,048 workers, which are all the same one
 *	types     992 workers, each with 31 types that no other has
 *	unmapped  the same, and the types are nowhere, among 2,000 mappings
 *	symbols   types that are functions of FILE, which it makes: a sparse ELF file
 *		  with a table of symbols of 4 GiB
 *	unwind    a thread in code of FILE, which it makes: a sparse ELF file without
 *		  sections, with an unwind table of 256 MiB
 *	whole     the same, and the table is small, but the file has 1 GiB
 *	functions the same, and the file has 480,000 symbols, which are not in order
 *	notes     2,000 mappings that begin as an ELF file full of notes
 *	changing  a list of runtimes that changes all the time
 *	circle    a list of runtimes that leads back to its beginning
 *	tasks     a table of tasks that is all of them done, each with a type of its own
 *	fibers    a list of stacks that leads back to its beginning, and is full of
 *		  fibers that wait in a list that does so as well
 *	descriptors  a table of descriptors that leads back to its first part, and is full
 *		  of tasks that wait, each with a type of its own
 *	ring      a worker whose ring always has more events than it holds, also of
 *		  waits for locks, whose names lead back to the first one
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "probes/area.h"
#include "probes/events.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

#define RUNTIMES  256u
#define WORKERS   4096u
#define LOOKED_AT 2048u
#define TYPED     992u
#define MAPPINGS  2000u
#define EVENTS    4096u
#define NOTES     (64u << 10)
#define SEGMENTS  128u
#define TABLE     (UINT64_C(4) << 30)
#define FUNCTIONS 8u
#define UNWIND    (UINT64_C(256) << 20)
#define SYMBOLS   480000u

/* An instruction that jumps to itself. */
#ifdef __x86_64__
#define LOOP 0xfeebu
#else
#define LOOP 0x14000000u
#endif

static struct area_root root;
static struct area_runtime runtimes[RUNTIMES];
static struct area_worker worker;
static struct area_samples samples;
static uint64_t same[WORKERS];
static struct event events[EVENTS];
static struct area_worker *many_workers;
static struct area_samples *many_samples;

static uint64_t address(const volatile void *of)
{
	return (uint64_t)(uintptr_t)of;
}

static void die(const char *what)
{
	fprintf(stderr, "lying: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- as an honest one -------------------------------------------------------- */

/* The note is found as the linker has it: in a section of this program. */
#define TEXT(x)  #x
#define VALUE(x) TEXT(x)
__asm__(".pushsection .note.skua, \"a\", %note\n"
	".balign 4\n"
	".long 2f - 1f, 4f - 3f, 1\n"
	"1: .asciz \"skua\"\n"
	"2: .balign 4\n"
	"3: .quad lying_root - 3b\n"
	"4: .balign 4\n"
	".popsection\n");
extern struct area_root lying_root __attribute__((alias("root")));

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct area_type row(uint64_t type)
{
	return (struct area_type){ .type = type,
				   .poll = type,
				   .polls = 100,
				   .run_ns = 1000,
				   .longest_ns = 100,
				   .waits = 10,
				   .wait_ns = 100,
				   .longest_wait_ns = 10 };
}

static void make_runtime(struct area_runtime *out, uint32_t workers)
{
	*out = (struct area_runtime){ .magic = AREA_RUNTIME_MAGIC,
				      .abi = AREA_ABI,
				      .bytes = sizeof(*out),
				      .pid = (uint32_t)getpid(),
				      .worker_count = workers,
				      .worker_bytes = sizeof(worker),
				      .workers = address(same),
				      .started_ns = now_ns(),
				      .sample = 1 };
}

static void be_honest(void)
{
	static const char name[40] = "honest";

	samples.types[0] = row(address(name));
	worker = (struct area_worker){ .cpu = -1,
				       .node = -1,
				       .tid = (uint64_t)getpid(),
				       .samples = address(&samples) };
	for (unsigned i = 0; i < WORKERS; i++)
		same[i] = address(&worker);
	make_runtime(&runtimes[0], 1);
	root = (struct area_root){ .magic = AREA_ROOT_MAGIC,
				   .abi = AREA_ABI,
				   .bytes = sizeof(root),
				   .runtimes = address(&runtimes[0]),
				   .count = 1,
				   .version = "0.1.0" };
}

/* ---- lies -------------------------------------------------------------------- */

static void lie_runtimes(void)
{
	for (unsigned i = 0; i < RUNTIMES; i++) {
		make_runtime(&runtimes[i], WORKERS);
		if (i > 0)
			runtimes[i - 1].next = address(&runtimes[i]);
	}
	root.count = RUNTIMES;
}

static void lie_workers(void)
{
	make_runtime(&runtimes[0], LOOKED_AT);
}

static void lie_types_at(uint64_t first, uint64_t apart)
{
	many_workers = calloc(TYPED, sizeof(*many_workers));
	many_samples = calloc(TYPED, sizeof(*many_samples));
	if (!many_workers || !many_samples)
		die("types");
	for (unsigned i = 0; i < TYPED; i++) {
		many_workers[i] = worker;
		many_workers[i].samples = address(&many_samples[i]);
		same[i] = address(&many_workers[i]);
		for (unsigned k = 0; k + 1 < AREA_TYPES; k++, first += apart)
			many_samples[i].types[k] = row(first);
	}
	make_runtime(&runtimes[0], TYPED);
}

static void lie_types(void)
{
	size_t count = TYPED * (AREA_TYPES - 1);
	char(*names)[40] = calloc(count, sizeof(*names));

	if (!names)
		die("names");
	for (size_t i = 0; i < count; i++)
		snprintf(names[i], sizeof(names[i]), "type-%zu-of-too-many", i);
	lie_types_at(address(names), sizeof(*names));
}

static void *map(int fd, size_t bytes, int protection)
{
	void *at = mmap(NULL, bytes, protection, MAP_PRIVATE, fd, 0);

	return at == MAP_FAILED ? (die("mmap"), NULL) : at;
}

static int make_file(const void *start, size_t bytes, uint64_t size)
{
	int fd = memfd_create("lying", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)size) != 0 ||
	    pwrite(fd, start, bytes, 0) != (ssize_t)bytes)
		die("memfd");
	return fd;
}

static void lie_unmapped(void)
{
	int fd = make_file("x", 1, 4096);

	for (unsigned i = 0; i < MAPPINGS; i++)
		map(fd, 4096, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE);
	lie_types_at(4096, 16);
}

static Elf64_Ehdr elf_header(unsigned segments)
{
	Elf64_Ehdr header = { .e_type = ET_DYN,
#ifdef __x86_64__
			      .e_machine = EM_X86_64,
#else
			      .e_machine = EM_AARCH64,
#endif
			      .e_version = EV_CURRENT,
			      .e_ehsize = sizeof(header),
			      .e_phoff = sizeof(header),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = (uint16_t)segments };

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	return header;
}

static int make_sparse(const char *path, const void *start, size_t bytes,
		       uint64_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, (off_t)size) != 0 ||
	    pwrite(fd, start, bytes, 0) != (ssize_t)bytes)
		die(path);
	return fd;
}

/* A file whose symbols begin at SYMBOLS_AT, behind 64 KB that may be mapped as code. */
#define SYMBOLS_AT 65536u

static const Elf64_Phdr code_segment = { .p_type = PT_LOAD,
					 .p_flags = PF_R | PF_X,
					 .p_filesz = SYMBOLS_AT,
					 .p_memsz = SYMBOLS_AT };

/* The three sections of such a file: none, its symbols, and their names. */
static void add_sections(Elf64_Ehdr *header, Elf64_Shdr *sections,
			 uint64_t names_at, uint64_t names_size,
			 uint64_t symbols_size)
{
	header->e_shoff = (uint64_t)((char *)sections - (char *)header);
	header->e_shentsize = sizeof(Elf64_Shdr);
	header->e_shnum = 3;
	header->e_shstrndx = 2;
	sections[1] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
				    .sh_offset = SYMBOLS_AT,
				    .sh_size = symbols_size,
				    .sh_link = 2,
				    .sh_entsize = sizeof(Elf64_Sym) };
	sections[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				    .sh_offset = names_at,
				    .sh_size = names_size };
}

/* Its code is mapped; no symbol but the last has it. */
static void lie_symbols(const char *path)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr load;
		Elf64_Shdr sections[3];
		char names[64];
	} file = { .header = elf_header(1), .load = code_segment };
	char *code;
	int fd;

	add_sections(&file.header, file.sections,
		     offsetof(__typeof__(file), names), TABLE, TABLE);
	fd = make_sparse(path, &file, sizeof(file), TABLE + SYMBOLS_AT);
	code = map(fd, SYMBOLS_AT, PROT_READ | PROT_EXEC);
	for (unsigned i = 0; i < FUNCTIONS; i++)
		samples.types[i] = row(address(code) + 4096 * (i + 1));
	for (unsigned i = 0; i < FUNCTIONS; i++)
		samples.types[i].type = 0;
}

static void lie_notes(void)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[SEGMENTS];
	} file = { .header = elf_header(SEGMENTS) };
	int fd;

	file.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_filesz = NOTES };
	for (unsigned i = 1; i < SEGMENTS; i++)
		file.segments[i] = (Elf64_Phdr){ .p_type = PT_NOTE,
						 .p_vaddr = 16384,
						 .p_filesz = NOTES };
	fd = make_file(&file, sizeof(file), 2 * NOTES);
	for (unsigned i = 0; i < MAPPINGS; i++)
		map(fd, 2 * NOTES, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE);
}

static void *change(void *unused)
{
	(void)unused;
	while (true)
		__atomic_fetch_add(&root.changes, 2, __ATOMIC_RELAXED);
	return NULL;
}

static void begin(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) != 0)
		die("a thread");
}

/* A quarter of the time is enough for the samples of what @run does. */
static void pause_it(int signal)
{
	(void)signal;
	nanosleep(&(struct timespec){ .tv_nsec = 3000000 }, NULL);
}

/* Run code of FILE, which loops, in a thread that pauses again and again. */
static void begin_code(char *code)
{
	struct itimerval timer = { .it_interval.tv_usec = 1000,
				   .it_value.tv_usec = 1000 };
	sigset_t pauses;

	sigemptyset(&pauses);
	sigaddset(&pauses, SIGPROF);
	signal(SIGPROF, pause_it);
	begin((void *(*)(void *))(uintptr_t)code);
	/* Of this thread: so the other one gets the signal. */
	pthread_sigmask(SIG_BLOCK, &pauses, NULL);
	setitimer(ITIMER_PROF, &timer, NULL);
}

static void lie_changing(void)
{
	make_runtime(&runtimes[0], LOOKED_AT);
	begin(change);
}

/* An unwinder of its code wants the table, and the functions in it. */
static void make_unwind(const char *path, uint32_t bytes)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr load, unwind;
		struct {
			uint8_t version, frame, count, table;
			int32_t ahead;
			uint32_t functions;
		} table;
		uint32_t code;
	} file = { .header = elf_header(2),
		   .load = { .p_type = PT_LOAD,
			     .p_flags = PF_R | PF_X,
			     .p_filesz = 65536,
			     .p_memsz = 65536 },
		   .unwind = { .p_type = PT_GNU_EH_FRAME,
			       .p_offset = offsetof(__typeof__(file), table),
			       .p_vaddr = offsetof(__typeof__(file), table),
			       .p_filesz = bytes },
		   .table = { .version = 1,
			      .frame = 0x1b,
			      .count = 0x03,
			      .table = 0x3b,
			      .ahead = 8192,
			      .functions = bytes / 8 - 2 },
		   .code = LOOP };
	int fd = make_sparse(path, &file, sizeof(file), 4 * UNWIND);
	char *code = map(fd, SYMBOLS_AT, PROT_READ | PROT_EXEC);

	begin_code(code + offsetof(__typeof__(file), code));
}

static void lie_unwind(const char *path)
{
	make_unwind(path, UNWIND);
}

static void lie_whole(const char *path)
{
	make_unwind(path, 4096);
}

static void lie_functions(const char *path)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr load;
		Elf64_Shdr sections[3];
		char names[8];
		uint32_t code;
	} file = { .header = elf_header(1),
		   .load = code_segment,
		   .names = "\0name",
		   .code = LOOP };
	const uint64_t bytes = SYMBOLS * sizeof(Elf64_Sym);
	Elf64_Sym *symbols = calloc(SYMBOLS, sizeof(*symbols));
	char *code;
	int fd;

	add_sections(&file.header, file.sections,
		     offsetof(__typeof__(file), names), sizeof(file.names),
		     bytes);
	for (uint64_t i = 0; symbols && i < SYMBOLS; i++)
		symbols[i] = (Elf64_Sym){ .st_name = 1,
					  .st_info = STT_FUNC,
					  .st_shndx = 1,
					  .st_value = 1 + i * 7919 % 1000003,
					  .st_size = 1 };
	fd = make_sparse(path, &file, sizeof(file), SYMBOLS_AT + bytes);
	if (!symbols ||
	    pwrite(fd, symbols, bytes, SYMBOLS_AT) != (ssize_t)bytes)
		die(path);
	free(symbols);
	code = map(fd, SYMBOLS_AT, PROT_READ | PROT_EXEC);
	begin_code(code + offsetof(__typeof__(file), code));
}

static void lie_circle(void)
{
	runtimes[0].next = address(&runtimes[0]);
	root.count = RUNTIMES;
}

static void lie_tasks(void)
{
	const uint64_t count = UINT64_C(1) << 17;
	struct area_task *table = calloc(count, sizeof(*table));
	char(*names)[40] = calloc(count, sizeof(*names));
	uint64_t *polls = calloc(count, sizeof(*polls));

	if (!table || !names || !polls)
		die("tasks");
	for (uint64_t i = 0; i < count; i++) {
		snprintf(names[i], sizeof(names[i]), "type-%ju", (uintmax_t)i);
		table[i].task = address(&polls[i]);
		table[i].type = address(names[i]);
		table[i].poll = 0;
		table[i].state = AREA_TASK_DONE;
	}
	runtimes[0].tasks = address(table);
	runtimes[0].task_slots = UINT64_MAX;
}

static void lie_fibers(void)
{
	static struct area_stacks stacks;
	static struct area_arena arena;
	static struct area_stack stack;
	static struct area_armed armed;
	static struct area_verb verb = { .kind = AREA_WAITS_MUTEX };
	static struct area_waiters object;
	static uint64_t fiber[16];

	for (unsigned i = 0; i < AREA_ARENA_STACKS; i++)
		arena.stacks[i] = address(&stack);
	arena.next = address(&arena);
	stacks.arenas = address(&arena);
	stack.fiber = address(fiber);
	for (unsigned i = 0; i < 16; i++)
		fiber[i] = address(&armed);
	armed = (struct area_armed){ .next = address(&armed),
				     .object = address(&object),
				     .waiter = address(fiber),
				     .verb = address(&verb) };
	object.first = address(&armed);
	root.fiber_fn = root.fiber_context = 8;
	root.fiber_wait = 16;
	for (unsigned i = 0; i < RUNTIMES; i++) {
		runtimes[i].stacks = address(&stacks);
		runtimes[i].stacks_count = UINT32_MAX;
		runtimes[i].stacks_bytes = 0;
	}
}

static void lie_descriptors(void)
{
	static struct area_verb verb = { .kind = AREA_WAITS_IO_READ };
	static uint64_t chunks[WORKERS];
	const uint32_t count = UINT32_C(1) << 17;
	struct area_descriptor *slots = calloc(count, sizeof(*slots));
	struct area_armed *waits = calloc(count, sizeof(*waits));
	char(*names)[40] = calloc(count, sizeof(*names));
	uint64_t(*tasks)[2] = calloc(count, sizeof(*tasks));

	if (!slots || !waits || !names || !tasks)
		die("descriptors");
	for (uint32_t i = 0; i < count; i++) {
		snprintf(names[i], sizeof(names[i]), "type-%u", i);
		tasks[i][1] = address(names[i]);
		waits[i] = (struct area_armed){ .next = address(&waits[i]),
						.object = address(&slots[i]),
						.waiter = address(tasks[i]),
						.verb = address(&verb) };
		slots[i] = (struct area_descriptor){
			.word[0] = AREA_IO_ARMED,
			.wait[0] = address(&waits[i]),
			.owner = 1,
			.fd = (int32_t)i,
		};
	}
	for (unsigned i = 0; i < WORKERS; i++)
		chunks[i] = address(slots);
	root.task_type = 8;
	root.fiber_wait = 8;
	runtimes[0].descriptors = address(chunks);
	runtimes[0].descriptor_chunks = UINT32_MAX;
	runtimes[0].descriptor_slots = count;
	runtimes[0].descriptor_owner = 1;
}

static void *record(void *unused)
{
	(void)unused;
	while (true)
		__atomic_fetch_add(&worker.ring_head, EVENTS, __ATOMIC_RELAXED);
	return NULL;
}

static void lie_ring(void)
{
	static struct area_name name;
	static uint64_t names;

	name.next = names = address(&name);
	for (unsigned i = 0; i < RUNTIMES; i++)
		runtimes[i].names = address(&names);
	for (unsigned i = 0; i < EVENTS; i += 4) {
		events[i] = (struct event){ .kind = EVENT_WAIT,
					    .detail = AREA_WAITS_MUTEX,
					    .a = 4096,
					    .b = 4096 + 16 * i };
		events[i + 1] = (struct event){ .kind = EVENT_HELD,
						.a = address(&events[i]) };
		for (unsigned k = i + 2; k < i + 4; k++)
			events[k] = (struct event){ .kind = EVENT_BEGIN,
						    .detail = EVENT_NAME_TYPE,
						    .b = 4096 + 16 * k };
	}
	worker.ring = address(events);
	worker.ring_events = EVENTS;
	begin(record);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*lie)(void);
	} kinds[] = {
		{ "runtimes", lie_runtimes },
		{ "workers", lie_workers },
		{ "types", lie_types },
		{ "unmapped", lie_unmapped },
		{ "notes", lie_notes },
		{ "changing", lie_changing },
		{ "circle", lie_circle },
		{ "ring", lie_ring },
		{ "tasks", lie_tasks },
		{ "fibers", lie_fibers },
		{ "descriptors", lie_descriptors },
	};
	static const struct {
		const char *name;
		void (*lie)(const char *path);
	} with_file[] = { { "symbols", lie_symbols },
			  { "unwind", lie_unwind },
			  { "whole", lie_whole },
			  { "functions", lie_functions } };
	const char *kind = argc > 1 ? argv[1] : "";
	bool known = strcmp(kind, "honest") == 0;

	be_honest();
	for (unsigned i = 0; i < COUNT_OF(kinds); i++)
		if (strcmp(kind, kinds[i].name) == 0) {
			kinds[i].lie();
			known = true;
		}
	for (unsigned i = 0; argc > 2 && i < COUNT_OF(with_file); i++)
		if (strcmp(kind, with_file[i].name) == 0) {
			with_file[i].lie(argv[2]);
			known = true;
		}
	if (!known) {
		fprintf(stderr, "lying: no kind '%s'\n", kind);
		return 2;
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
