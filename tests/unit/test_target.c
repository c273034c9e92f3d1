/* SPDX-License-Identifier: MIT */
/* test_target.c - debug areas that are as they should be, and that are not */
#include <sys/sysmacros.h>

#include "tests/unit/support.h"

#include "bpf/target/target_proc.h"
#include "tests/fuzz/target_memory.h"

struct state {
	struct fake fake;
	struct target_memory memory;
	struct target_list list;
	struct target_complaint said;
	struct target_snapshot snapshot;
};

static int set_up(void **state)
{
	struct state *s = calloc(1, sizeof(*s));

	fake_make(&s->fake);
	s->memory = fake_memory(&s->fake);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct state *s = *state;

	target_free_snapshot(&s->snapshot);
	target_list_free(&s->list);
	fake_free(&s->fake);
	free(s);
	return 0;
}

EACH_TEST(set_up, tear_down);

static struct area_root *root_of(struct state *s)
{
	return (void *)s->fake.regions[FAKE_ROOT].bytes;
}

static struct area_runtime *runtime_of(struct state *s)
{
	return (void *)s->fake.regions[FAKE_RUNTIME].bytes;
}

static struct area_worker *worker_of(struct state *s)
{
	return (void *)s->fake.regions[FAKE_WORKER].bytes;
}

static struct fake_elf *elf_of(struct state *s)
{
	return (void *)s->fake.regions[FAKE_ELF].bytes;
}

static unsigned roots_of(struct state *s)
{
	uint64_t roots[TARGET_MAX_ROOTS] = { 0 };
	unsigned count;

	assert_int_equal(fake_roots(&s->memory, roots, &count), 0);
	if (count)
		assert_int_equal(roots[0], fake_address(FAKE_ROOT));
	return count;
}

static int list(struct state *s)
{
	return target_list_add(&s->list, &s->memory, fake_address(FAKE_ROOT),
			       &s->said);
}

static void refuses(struct state *s, int code, const char *text)
{
	assert_int_equal(list(s), code);
	assert_int_equal(s->list.count, 0);
	if (!strstr(s->said.text, text))
		fail_msg("'%s' does not say '%s'", s->said.text, text);
}

static int take(struct state *s)
{
	return target_area_snapshot(&s->memory, &s->list.runtimes[0],
				    fake_now_ns, &s->snapshot, &s->said);
}

static void change(struct state *s, unsigned at_read, enum fake_region region,
		   size_t offset, uint64_t value)
{
	s->fake.changes[s->fake.change_count++] =
		(struct fake_change){ s->fake.reads + at_read, region, offset,
				      value };
}

/* ---- finding --------------------------------------------------------------- */

TEST(find__note__leads_to_root)
{
	assert_int_equal(roots_of(*state), 1);
}

TEST(find__note_behind_others__leads_to_root)
{
	struct state *s = *state;
	struct fake_elf *elf = elf_of(s);

	/* The bytes before it are as the header of a note without content. */
	elf->note.p_vaddr -= sizeof(Elf64_Nhdr);
	elf->note.p_filesz += sizeof(Elf64_Nhdr);
	memset((char *)elf + offsetof(struct fake_elf, content) -
		       sizeof(Elf64_Nhdr),
	       0, sizeof(Elf64_Nhdr));
	elf->note.p_memsz = 0;
	elf->note.p_align = 0;
	assert_int_equal(roots_of(s), 1);
}

TEST(find__no_elf_file__finds_nothing)
{
	struct state *s = *state;

	elf_of(s)->header.e_ident[1] = 'X';
	assert_int_equal(roots_of(s), 0);
}

TEST(find__many_headers__finds_nothing)
{
	struct state *s = *state;

	/* There they are, one more than is read. */
	s->fake.regions[FAKE_ELF].bytes =
		realloc(s->fake.regions[FAKE_ELF].bytes, 16384);
	s->fake.regions[FAKE_ELF].size = 16384;
	elf_of(s)->header.e_phnum = 129;
	assert_int_equal(roots_of(s), 0);
	elf_of(s)->header.e_phnum = 2;
	assert_int_equal(roots_of(s), 1);
}

TEST(find__headers_elsewhere__finds_nothing)
{
	struct state *s = *state;

	elf_of(s)->header.e_phoff = UINT64_MAX - 8;
	assert_int_equal(roots_of(s), 0);
}

TEST(find__note_larger_than_segment__finds_nothing)
{
	struct state *s = *state;

	elf_of(s)->content.header.n_descsz = UINT32_MAX;
	assert_int_equal(roots_of(s), 0);
	elf_of(s)->content.header.n_descsz = 8;
	elf_of(s)->content.header.n_namesz = UINT32_MAX;
	assert_int_equal(roots_of(s), 0);
}

TEST(find__other_name_or_type__finds_nothing)
{
	struct state *s = *state;

	elf_of(s)->content.header.n_type = 2;
	assert_int_equal(roots_of(s), 0);
	elf_of(s)->content.header.n_type = 1;
	elf_of(s)->content.name[4] = 'x';
	assert_int_equal(roots_of(s), 0);
}

TEST(find__process_gone__says_so)
{
	struct state *s = *state;
	uint64_t roots[TARGET_MAX_ROOTS];
	unsigned count;

	s->fake.gone = true;
	assert_int_equal(fake_roots(&s->memory, roots, &count), -ESRCH);
}

/* ---- the list -------------------------------------------------------------- */

TEST(list__sound__has_the_runtime)
{
	struct state *s = *state;

	assert_int_equal(list(s), 0);
	assert_int_equal(s->list.count, 1);
	assert_string_equal(s->list.runtimes[0].version, "1.2.3");
	assert_int_equal(s->list.runtimes[0].workers[1],
			 fake_address(FAKE_WORKER_2));
}

TEST(list__longer_structs_of_later_versions__are_read)
{
	struct state *s = *state;

	root_of(s)->bytes += 64;
	runtime_of(s)->bytes += 64;
	runtime_of(s)->worker_bytes += 64;
	assert_int_equal(list(s), 0);
}

TEST(list__wrong_magic__is_no_root)
{
	struct state *s = *state;

	root_of(s)->magic++;
	refuses(s, -ENOENT, "");
}

TEST(list__other_abi__names_both)
{
	struct state *s = *state;

	root_of(s)->abi = 7;
	refuses(s, -EPROTO, "of ABI version 7; this command reads version 2");
}

TEST(list__no_size__is_refused)
{
	struct state *s = *state;

	root_of(s)->bytes = 0;
	refuses(s, -EILSEQ, "0 bytes");
}

TEST(list__circle__ends)
{
	struct state *s = *state;

	runtime_of(s)->next = fake_address(FAKE_RUNTIME);
	refuses(s, -EILSEQ, "longer than its count, 1");
	root_of(s)->count = UINT64_MAX;
	refuses(s, -EILSEQ, "runtimes; allowed: 0 to 256");
}

TEST(list__shorter_than_count__is_refused)
{
	struct state *s = *state;

	root_of(s)->count = 2;
	refuses(s, -EILSEQ, "address without memory");
}

TEST(list__no_runtime_there__is_refused)
{
	struct state *s = *state;

	runtime_of(s)->magic = 0;
	refuses(s, -EILSEQ, "an entry that is not a runtime");
	root_of(s)->runtimes = 8;
	refuses(s, -EILSEQ, "address without memory");
}

TEST(list__four_billion_workers__is_refused)
{
	struct state *s = *state;

	runtime_of(s)->worker_count = UINT32_MAX;
	refuses(s, -EILSEQ, "4294967295 workers; allowed: 1 to 2048");
	runtime_of(s)->worker_count = 0;
	refuses(s, -EILSEQ, "0 workers");
}

TEST(list__workers_without_size__is_refused)
{
	struct state *s = *state;

	runtime_of(s)->worker_bytes = 0;
	refuses(s, -EILSEQ, "a worker has 0 bytes; allowed: ");
}

TEST(list__no_workers_there__is_refused)
{
	struct state *s = *state;

	runtime_of(s)->workers = UINT64_MAX - 3;
	refuses(s, -EILSEQ, "address without memory");
}

TEST(list__changed_meanwhile__is_read_again)
{
	struct state *s = *state;

	change(s, 3, FAKE_ROOT, offsetof(struct area_root, changes), 4);
	assert_int_equal(list(s), 0);
	assert_int_equal(s->list.count, 1);
	assert_int_equal(s->list.runtimes[0].changes, 4);
}

TEST(list__odd_for_ever__is_given_up)
{
	struct state *s = *state;

	root_of(s)->changes = 3;
	refuses(s, -EBUSY, "changed at each attempt");
	assert_in_range(s->fake.pauses, 1, 1000);
}

TEST(list__version_without_end__is_ended)
{
	struct state *s = *state;

	memset(root_of(s)->version, 'v', sizeof(root_of(s)->version));
	root_of(s)->version[2] = '\033';
	assert_int_equal(list(s), 0);
	assert_string_equal(s->list.runtimes[0].version, "vv?vvvvvvvvvvvv");
}

/* ---- snapshots ------------------------------------------------------------- */

TEST(snapshot__sound__adds_up)
{
	struct state *s = *state;

	assert_int_equal(list(s), 0);
	assert_int_equal(take(s), 0);
	assert_int_equal(s->snapshot.total.tasks_spawned, 21);
	assert_int_equal(s->snapshot.total.tasks_polled, 41);
	assert_int_equal(s->snapshot.tasks_spawned, 21 + 100 - 4);
	assert_int_equal(s->snapshot.queue_depth, 10);
	assert_int_equal(s->snapshot.injection_depth, 2);
	assert_int_equal(s->snapshot.jobs_stolen_outside, 9);
	assert_int_equal(s->snapshot.workers[1].samples.poll.count[9], 6);
}

TEST(snapshot__list_changed__says_so)
{
	struct state *s = *state;

	assert_int_equal(list(s), 0);
	change(s, 5, FAKE_ROOT, offsetof(struct area_root, changes), 4);
	assert_int_equal(take(s), -EAGAIN);
}

TEST(snapshot__worker_elsewhere__is_refused)
{
	struct state *s = *state;

	assert_int_equal(list(s), 0);
	s->list.runtimes[0].workers[0] = UINT64_MAX - 5;
	assert_int_equal(take(s), -EFAULT);
}

TEST(snapshot__times_change_meanwhile__belong_together)
{
	struct state *s = *state;

	assert_int_equal(list(s), 0);
	/* Read first: refused, the worker, its times, and again. */
	change(s, 2, FAKE_WORKER, offsetof(struct area_worker, times.run_ns),
	       70);
	change(s, 2, FAKE_WORKER, offsetof(struct area_worker, times.park_ns),
	       80);
	assert_int_equal(take(s), 0);
	assert_int_equal(s->snapshot.workers[0].area.times.run_ns, 70);
	assert_int_equal(s->snapshot.workers[0].area.times.park_ns, 80);
}

TEST(snapshot__queue_goes_backwards__has_a_bound)
{
	struct state *s = *state;
	uint64_t *words = (void *)s->fake.regions[FAKE_QUEUE].bytes;

	words[FAKE_TAIL] = 3;
	words[FAKE_PUSHED] = 5;
	assert_int_equal(list(s), 0);
	assert_int_equal(take(s), 0);
	assert_int_equal(s->snapshot.workers[0].queue_depth, 32768);
	assert_int_equal(s->snapshot.injection_depth, 0);
}

/* ---- looks ----------------------------------------------------------------- */

TEST(look__in_a_poll__tells_which)
{
	struct state *s = *state;
	struct target_now now;

	assert_int_equal(list(s), 0);
	assert_int_equal(
		target_area_look(&s->memory, &s->list.runtimes[0], 1, &now), 0);
	assert_int_equal(now.task, fake_address(FAKE_TASK));
	assert_int_equal(now.tasks_polled, 21);
	assert_int_equal(now.poll, 0xabcd);
	assert_int_equal(now.type, 0x1234);
}

/* The poll function of all fibers says nothing. */
TEST(look__fiber__tells_its_function)
{
	struct state *s = *state;
	struct target_now now;
	uint64_t *task = (void *)s->fake.regions[FAKE_TASK].bytes;

	task[6] = AREA_TASK_FIBER;
	task[7] = 0xf1be;
	assert_int_equal(list(s), 0);
	assert_int_equal(
		target_area_look(&s->memory, &s->list.runtimes[0], 1, &now), 0);
	assert_int_equal(now.poll, 0xf1be);
	assert_int_equal(now.type, 0x1234);
	/* A library that is older does not tell which tasks are fibers. */
	root_of(s)->bytes = offsetof(struct area_root, task_flags);
	assert_int_equal(list(s), 0);
	assert_int_equal(
		target_area_look(&s->memory, &s->list.runtimes[1], 1, &now), 0);
	assert_int_equal(now.poll, 0xabcd);
}

/* Return the label that a look at worker 0 finds. */
static uint64_t label_seen(struct state *s)
{
	struct target_now now;

	assert_int_equal(
		target_area_look(&s->memory, &s->list.runtimes[0], 0, &now), 0);
	assert_int_equal(now.poll, 0xabcd);
	return now.label;
}

TEST(look__label_of_this_poll__is_told)
{
	struct state *s = *state;

	worker_of(s)->label = 0x1abe1;
	worker_of(s)->label_poll = worker_of(s)->counters.tasks_polled;
	assert_int_equal(list(s), 0);
	assert_int_equal(label_seen(s), 0x1abe1);
	/* An earlier poll has set the label. */
	worker_of(s)->label_poll--;
	assert_int_equal(label_seen(s), 0);
}

TEST(look__label_changes_meanwhile__is_not_guessed)
{
	struct state *s = *state;

	worker_of(s)->label = 0x1abe1;
	worker_of(s)->label_poll = worker_of(s)->counters.tasks_polled;
	assert_int_equal(list(s), 0);
	change(s, 2, FAKE_WORKER, offsetof(struct area_worker, label), 0x2abe1);
	assert_int_equal(label_seen(s), 0);
}

TEST(look__older_library__has_no_label)
{
	struct state *s = *state;

	worker_of(s)->label = 0x1abe1;
	worker_of(s)->label_poll = worker_of(s)->counters.tasks_polled;
	runtime_of(s)->worker_bytes = offsetof(struct area_worker, label);
	assert_int_equal(list(s), 0);
	assert_int_equal(label_seen(s), 0);
}

TEST(look__poll_ends_meanwhile__does_not_guess)
{
	struct state *s = *state;
	struct target_now now;

	assert_int_equal(list(s), 0);
	change(s, 2, FAKE_WORKER,
	       offsetof(struct area_worker, counters.tasks_polled), 99);
	assert_int_equal(
		target_area_look(&s->memory, &s->list.runtimes[0], 0, &now), 0);
	assert_int_equal(now.task, fake_address(FAKE_TASK));
	assert_int_equal(now.poll, 0);
	assert_int_equal(now.type, 0);
}

TEST(look__task_elsewhere__has_no_name)
{
	struct state *s = *state;
	struct target_now now;

	assert_int_equal(list(s), 0);
	worker_of(s)->task = UINT64_MAX - 20;
	assert_int_equal(
		target_area_look(&s->memory, &s->list.runtimes[0], 0, &now), 0);
	assert_int_equal(now.poll, 0);
	assert_int_equal(
		target_area_look(&s->memory, &s->list.runtimes[0], 2, &now),
		-EFAULT);
}

/* ---- /proc ----------------------------------------------------------------- */

TEST(maps__lines__are_read)
{
	char text[] = "55d0c8a00000-55d0c8a01000 r--p 00000000 fe:01 1234"
		      "                       /usr/bin/a b (deleted)\n"
		      "7ffd0000-7ffe0000 rw-p 00001000 00:00 0 \n"
		      "what is this\n"
		      "9-8 r--p 0 00:00 0\n";
	struct target_mapping *maps;

	assert_int_equal(target_parse_maps(text, &maps), 2);
	assert_int_equal(maps[0].start, 0x55d0c8a00000);
	assert_int_equal(maps[0].inode, 1234);
	assert_int_equal(maps[0].device, makedev(0xfe, 1));
	assert_true(maps[0].readable);
	assert_string_equal(maps[0].path, "/usr/bin/a b (deleted)");
	assert_int_equal(maps[1].offset, 4096);
	assert_string_equal(maps[1].path, "");
	free(maps);
}

TEST(status__in_a_container__has_its_own_number)
{
	struct target_status status;

	assert_int_equal(
		target_parse_status("Name:\tx\nState:\tS (sleeping)\n"
				    "Tgid:\t77\nPPid:\t4\nUid:\t0\t5\t0\t0\n"
				    "NSpid:\t77\t12\t3\n"
				    "VmSize:\t 1 kB\n",
				    &status),
		0);
	assert_int_equal(status.own, 3);
	assert_int_equal(status.process, 77);
	assert_int_equal(status.parent, 4);
	assert_int_equal(status.owner, 5);
	assert_int_equal(status.state, 'S');
	assert_true(status.has_memory);
	assert_false(status.kernel_thread);
	assert_int_equal(target_parse_status("State:\t\n", &status), -EILSEQ);
}

/* A process that is ending has no memory either, for a moment. */
TEST(status__without_memory__tells_a_kernel_thread_from_a_process_that_ends)
{
#define WITHOUT_MEMORY(more) \
	"State:\tR (running)\nTgid:\t77\nPid:\t77\n" more "Uid:\t0\t0\t0\t0\n"
	struct target_status status;

	assert_int_equal(
		target_parse_status(WITHOUT_MEMORY("PPid:\t1\n"), &status), 0);
	assert_false(status.has_memory);
	assert_false(status.kernel_thread);
	target_parse_status(WITHOUT_MEMORY("PPid:\t2\n"), &status);
	assert_true(status.kernel_thread);
	target_parse_status(WITHOUT_MEMORY("PPid:\t2\nKthread:\t0\n"), &status);
	assert_false(status.kernel_thread);
	target_parse_status(WITHOUT_MEMORY("PPid:\t0\nKthread:\t1\n"), &status);
	assert_true(status.kernel_thread);
#undef WITHOUT_MEMORY
}
