/* SPDX-License-Identifier: MIT */
/* stall_stack.c - see stall_stack.h */
#include "core/stall/stall_stack.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/os/futex.h"
#include "probes/counters.h"

/* The most frames of the handler itself, which the report leaves out. */
#define OWN_FRAMES 4u

/* The request that the calling thread answers. Initial-exec, so that a signal handler may
 * read it: the first access of another thread-local could allocate. */
static _Thread_local struct stall_stack *mine
	__attribute__((tls_model("initial-exec")));

/* interrupted_at - return the address at which the signal interrupted the thread, or NULL */
static const void *interrupted_at(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (const void *)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (const void *)context->uc_mcontext.pc;
#else
	(void)context;
	return NULL;
#endif
}

static void note(struct stall_stack *stack, const ucontext_t *context)
{
	struct stall_answer *answer = &stack->answer;
	void *frames[STALL_STACK_FRAMES + OWN_FRAMES];
	unsigned count = (unsigned)backtrace(
		frames, (int)(STALL_STACK_FRAMES + OWN_FRAMES));
	const void *here = interrupted_at(context);
	unsigned first = 0;

	while (first < count && frames[first] != here)
		first++;
	if (first == count)
		first = 0; /* not found: keep all frames */
	answer->count = count - first < STALL_STACK_FRAMES ? count - first
							   : STALL_STACK_FRAMES;
	memcpy(answer->frames, frames + first, answer->count * sizeof(*frames));
	for (unsigned i = 0; i < 2; i++)
		answer->words[i] = counter_read(stack->words[i]);
	answer->at_ns = clock_now_ns();
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	struct stall_stack *stack = mine;
	int saved = errno;
	uint32_t number;

	(void)signal;
	(void)info;
	/* Another sender may have sent the signal: then no request is pending. */
	if (stack && stall_stack_asked(stack, &number)) {
		note(stack, context);
		stall_stack_answered(stack, number);
		futex_wake(&stack->answered, 1);
	}
	errno = saved;
}

static bool is_ours(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) &&
	       action->sa_sigaction == on_signal;
}

bool stall_stack_usable(int signal)
{
	struct sigaction action;

	return sigaction(signal, NULL, &action) == 0 && is_ours(&action);
}

/* take - install our handler, unless there is another. Two threads may do so at once. */
static bool take(int signal)
{
	struct sigaction action = { .sa_flags = 0 };

	if (sigaction(signal, NULL, &action) != 0)
		return false;
	if (is_ours(&action))
		return true;
	if ((action.sa_flags & SA_SIGINFO) || action.sa_handler != SIG_DFL)
		return false;
	action = (struct sigaction){
		.sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK,
	};
	/* No signal interrupts the handler: its stack would show frames of the other
	 * handler. */
	sigfillset(&action.sa_mask);
	return sigaction(signal, &action, NULL) == 0;
}

int stall_stack_prepare(int wanted)
{
	void *frame;

	/* The first backtrace() may load a library, which a handler must not do. */
	backtrace(&frame, 1);
	if (wanted)
		return take(wanted) ? wanted : 0;
	for (int signal = SIGRTMAX; signal >= SIGRTMIN; signal--) {
		if (take(signal))
			return signal;
	}
	return 0;
}

void stall_stack_enter(struct stall_stack *stack, int signal)
{
	sigset_t set;

	mine = stack;
	if (!signal)
		return;
	sigemptyset(&set);
	sigaddset(&set, signal);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* wait_for_answer - sleep until request @number is answered; return false at the deadline */
static bool wait_for_answer(struct stall_stack *stack, uint32_t number,
			    uint64_t deadline_ns)
{
	while (stall_stack_pending(stack)) {
		if (clock_now_ns() >= deadline_ns)
			return false;
		/* Sleep while @answered is the number of the request before. */
		futex_wait_until(&stack->answered, number - 1, deadline_ns);
	}
	return true;
}

bool stall_stack_ask(struct stall_stack *stack, pid_t tid, int signal,
		     uint64_t patience_ns)
{
	uint64_t deadline_ns = clock_now_ns() + patience_ns;
	uint32_t number;

	/* Send no signal that has another handler now, or the default action, which
	 * would end the process. */
	if (stall_stack_pending(stack) || !stall_stack_usable(signal))
		return false;
	number = stall_stack_asks(stack);
	if (tgkill(getpid(), tid, signal) != 0) {
		/* The signal was not sent, so no thread will answer.
		 * Relaxed: the release in the next stall_stack_asks() publishes it. */
		atomic_store_relaxed(&stack->answered, number);
		return false;
	}
	return wait_for_answer(stack, number, deadline_ns);
}
