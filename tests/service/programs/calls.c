/* SPDX-License-Identifier: MIT */
/*
 * calls.c - two tasks that take turns on one worker, and functions that they call,
 * until a line or the end of its standard input
 *
 * Three quarters of the work are of the type `parser`: parse, parse_line, hash_word; a
 * quarter is of a task without a type: count_words, hash_word.
 *
 * With an argument there are two threads more: `reader`, which has the kernel work for
 * it, and `hasher`, in hash_leaf.
 */
#include <skua/skua.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PIECE 20000u /* steps: some microseconds */

static bool stopping;
static unsigned long sums[2];

__attribute__((noinline)) static unsigned long hash_word(unsigned long word,
							 unsigned steps)
{
	for (unsigned i = 0; i < steps; i++) {
		word = word * 6364136223846793005ul + 1442695040888963407ul;
		__asm__ volatile("" : "+r"(word));
	}
	return word;
}

__attribute__((noinline)) static unsigned long parse_line(unsigned long word)
{
	/* No tail call: it has to be seen as the caller. */
	return hash_word(word, 3 * PIECE) + 1;
}

static enum skua_poll go_on(void)
{
	/* Relaxed: nothing comes with it. */
	return __atomic_load_n(&stopping, __ATOMIC_RELAXED) ? SKUA_DONE
							    : SKUA_YIELD;
}

static enum skua_poll parse(struct skua_task *self)
{
	(void)self;
	sums[0] += parse_line(sums[0]) + 1;
	return go_on();
}

static enum skua_poll count_words(struct skua_task *self)
{
	(void)self;
	sums[1] += hash_word(sums[1], PIECE) + 1;
	return go_on();
}

static void *read_on(void *zeros)
{
	static char page[65536];

	/* Not by read(), in which sanitizers work themselves. */
	while (go_on() == SKUA_YIELD)
		if (syscall(SYS_read, *(int *)zeros, page, sizeof(page)) < 0)
			break;
	return NULL;
}

/* As people write it by hand: no table tells its caller. */
unsigned long hash_leaf(unsigned long steps);
__asm__(".text\n"
	".type hash_leaf, %function\n"
	"hash_leaf:\n"
#ifdef __aarch64__
	"1: subs x0, x0, #1\n"
	"b.ne 1b\n"
#else
	"mov %rdi, %rax\n"
	"1: dec %rax\n"
	"jnz 1b\n"
#endif
	"ret\n"
	".size hash_leaf, . - hash_leaf\n");

static void *hash_on(void *sum)
{
	while (go_on() == SKUA_YIELD)
		*(unsigned long *)sum += hash_leaf(PIECE);
	return NULL;
}

static int start(pthread_t *thread, const char *name, void *(*run)(void *),
		 void *arg)
{
	return pthread_create(thread, NULL, run, arg) != 0 ||
	       pthread_setname_np(*thread, name) != 0;
}

int main(int argc, char **argv)
{
	static const struct skua_task_type parser = SKUA_TASK_TYPE("parser");
	static struct skua_task tasks[2];
	struct skua_config config = { .size = sizeof(config), .workers = 1 };
	struct skua_runtime *rt;
	pthread_t reader, hasher;
	unsigned long sum = 0;
	int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	(void)argv;
	if (skua_runtime_create(&rt, &config, NULL) != 0)
		return 1;
	skua_task_init(&tasks[0], parse);
	skua_task_set_type(&tasks[0], &parser);
	skua_task_init(&tasks[1], count_words);
	for (unsigned i = 0; i < 2; i++)
		if (skua_task_spawn(rt, &tasks[i]) != 0)
			return 1;
	if (argc > 1 &&
	    (zeros < 0 || start(&reader, "reader", read_on, &zeros) ||
	     start(&hasher, "hasher", hash_on, &sum)))
		return 1;
	printf("ready\n");
	fflush(stdout);
	getchar();
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	if (argc > 1) {
		pthread_join(reader, NULL);
		pthread_join(hasher, NULL);
	}
	return skua_runtime_drain(rt) != 0 || skua_runtime_destroy(rt) != 0;
}
