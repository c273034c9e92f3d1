/* SPDX-License-Identifier: MIT */
/* overflow.c - see overflow.h */
#include "core/fiber/overflow.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/fiber/fiber.h"
#include "core/fiber/fiber_stacks.h"

/* Writers: the thread that installs the handler, once for the process. The handler reads
 * the action after it was installed. */
static atomic_u32 installed;
static struct sigaction before;

/* ---- the message ------------------------------------------------------------- */

/* A line that is written by one call. Only functions that a signal handler may call. */
struct text {
	char bytes[400];
	size_t count;
};

static void add(struct text *text, const char *more)
{
	for (; *more && text->count < sizeof(text->bytes); more++)
		text->bytes[text->count++] = *more;
}

static void add_number(struct text *text, uint64_t number, unsigned base)
{
	char digits[24];
	unsigned at = sizeof(digits) - 1;

	digits[at] = 0;
	do {
		digits[--at] = "0123456789abcdef"[number % base];
		number /= base;
	} while (number);
	add(text, digits + at);
}

static void say(const struct skua_fiber *fiber, const struct stack *stack,
		const char *at)
{
	const struct skua_task_type *type = fiber->task.type;
	struct text text = { .count = 0 };

	add(&text, "skua: stack overflow in a fiber of type ");
	add(&text, type ? type->name : "(none)");
	add(&text, ", function 0x");
	add_number(&text, (uintptr_t)fiber->shown, 16);
	add(&text, ": its stack has ");
	add_number(&text, stack_bytes(stack), 10);
	add(&text, " bytes, and it needed ");
	add_number(&text, (uint64_t)((const char *)stack - at), 10);
	add(&text, " or more. Give it a larger one: stack_bytes of "
		   "skua_fiber_init(), fiber_stack, or SKUA_FIBER_STACK\n");
	if (write(STDERR_FILENO, text.bytes, text.count) < 0)
		return; /* nobody can be told */
}

/* ---- the handler ------------------------------------------------------------- */

/* Is the address in the guard below the stack of the calling fiber? */
static bool overflows(const struct skua_fiber *fiber, const char *at)
{
	const struct stack *stack = fiber ? fiber->stack : NULL;

	return stack && at < stack->low &&
	       at >= stack->low - sysconf(_SC_PAGESIZE);
}

/* Let the default action have the signal. It ends the process when the instruction faults
 * again, so that a core file shows the place; a signal that was sent comes again. */
static void pass_on_default(int signal, bool sent)
{
	sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	if (sent)
		raise(signal); /* is delivered when the handler returns */
}

/* Let the action that was there before have the signal. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
	const struct sigaction older = before;
	const bool sent = info->si_code <= 0; /* by a process or a thread */

	if (older.sa_flags & (int)SA_RESETHAND)
		before = (struct sigaction){ .sa_handler = SIG_DFL };
	if (older.sa_flags & SA_SIGINFO)
		older.sa_sigaction(signal, info, context);
	else if (older.sa_handler != SIG_DFL && older.sa_handler != SIG_IGN)
		older.sa_handler(signal);
	else if (older.sa_handler == SIG_DFL || !sent)
		pass_on_default(signal, sent);
}

static void handle(int signal, siginfo_t *info, void *context)
{
	const struct skua_fiber *fiber = fiber_current();
	int saved = errno;

	/* A code above 0: from the processor. */
	if (info->si_code > 0 && overflows(fiber, info->si_addr))
		say(fiber, fiber->stack, info->si_addr);
	pass_on(signal, info, context);
	errno = saved;
}

int overflow_install(void)
{
	struct sigaction action = { .sa_sigaction = handle,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };
	uint32_t not_yet = 0;

	/* Acquire, release: not needed; one thread at a time gets the right to
	 * install it. */
	if (!atomic_cas_acq_rel(&installed, &not_yet, 1))
		return -EALREADY;
	/* First: the handler reads it. The older handler runs within this one, so its mask
	 * holds for both. */
	if (sigaction(SIGSEGV, NULL, &before) == 0) {
		action.sa_mask = before.sa_mask;
		action.sa_flags |= before.sa_flags & (SA_NODEFER | SA_RESTART);
	}
	if (sigaction(SIGSEGV, &action, NULL) != 0) {
		/* Relaxed: as above. */
		atomic_store_relaxed(&installed, 0);
		return -errno;
	}
	return 0;
}

void overflow_prepare_thread(struct worker *worker)
{
	struct stack *stack;
	stack_t now;

	/* Relaxed: set before the runtime was created. */
	if (!atomic_load_relaxed(&installed) || sigaltstack(NULL, &now) != 0 ||
	    !(now.ss_flags & SS_DISABLE))
		return;
	stack = fiber_stacks_take(worker, 0);
	if (stack)
		sigaltstack(&(stack_t){ .ss_sp = stack->low,
					.ss_size = stack_bytes(stack) },
			    NULL);
}
