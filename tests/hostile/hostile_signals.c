/* SPDX-License-Identifier: MIT */
/**
 * hostile_signals.c - send ten thousand signals a second, each of which causes a wake
 *
 * A thread sends signals to workers and to the outside threads that spawn and join,
 * alternately with and without SA_RESTART. On an outside thread the handler wakes a task,
 * which the library allows. Workers normally block the signal; here it is unblocked. The
 * handler must not call the library on a worker, and therefore asks another thread to wake
 * the task. From time to time the sender waits until each wake has been followed by a
 * poll.
 */
#include <errno.h>
#include <semaphore.h>
#include <signal.h>

#include "tests/hostile/hostile.h"

#define PERIOD_NS UINT64_C(100000)
#define RECEIVERS 4u
/* The greatest number of signals before the sender waits until all wakes
 * have arrived. */
#define BURST 32u
/* The greatest number of outside threads that receive signals. */
#define OUTSIDE 4u

/* A task that is polled after each wake. */
struct receiver {
	struct skua_task task;
	struct skua_waker waker;
	atomic_u32 asked; /* number of wakes */
	atomic_u32 seen;  /* number of wakes before its last poll */
	atomic_u32 over;
};

static struct receiver receivers[RECEIVERS];
static atomic_u32 handled;
static _Thread_local bool on_worker;

static enum skua_poll receive(struct skua_task *task)
{
	struct receiver *r = (struct receiver *)task;

	/* Relaxed, all accesses: a wake orders what came before it. */
	atomic_store_relaxed(&r->seen, atomic_load_relaxed(&r->asked));
	return atomic_load_relaxed(&r->over) ? SKUA_DONE : SKUA_PENDING;
}

static void wake(uint32_t n)
{
	struct receiver *r = &receivers[n % RECEIVERS];

	atomic_fetch_add_relaxed(&r->asked, 1);
	skua_waker_wake_by_ref(r->waker);
}

/* ---- the handler, and the thread that wakes on behalf of workers ---------- */

static sem_t posts;
static atomic_u32 posted;
static atomic_u32 relayed;
static atomic_u32 relay_over;

static void on_signal(int number)
{
	int saved = errno;
	/* Relaxed, all: counts. */
	uint32_t n = atomic_fetch_add_relaxed(&handled, 1);

	(void)number;
	if (on_worker) {
		atomic_fetch_add_relaxed(&posted, 1);
		sem_post(&posts);
	} else {
		wake(n);
	}
	errno = saved;
}

static void *relay(void *arg)
{
	(void)arg;
	for (uint32_t n = 0;; n++) {
		while (sem_wait(&posts) != 0)
			;
		if (atomic_load_relaxed(&relay_over))
			return NULL;
		wake(n);
		atomic_fetch_add_relaxed(&relayed, 1);
	}
}

static void unblock(unsigned worker)
{
	sigset_t set;

	(void)worker;
	on_worker = true;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* ---- the outside threads ------------------------------------------------- */

/* Held while a signal is sent, so that the target cannot end meanwhile. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t outside[OUTSIDE];
static unsigned outsiders;

static void enter(void)
{
	pthread_mutex_lock(&lock);
	if (outsiders == OUTSIDE)
		stress_fail("more threads than there is room for");
	outside[outsiders++] = pthread_self();
	pthread_mutex_unlock(&lock);
}

static void leave(void)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < outsiders; i++) {
		if (pthread_equal(outside[i], pthread_self())) {
			outside[i] = outside[--outsiders];
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}

/* ---- the sender ---------------------------------------------------------- */

static uint64_t sent;

static void choose_restart(bool restart)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigemptyset(&action.sa_mask);
	action.sa_flags = restart ? SA_RESTART : 0;
	sigaction(SIGUSR1, &action, NULL);
}

static void send_one(struct hostile *h, struct rng *rng)
{
	uint32_t target;

	pthread_mutex_lock(&lock);
	target = rng_below(rng, h->workers + outsiders);
	if (pthread_kill(target < h->workers ? h->threads[target]
					     : outside[target - h->workers],
			 SIGUSR1) != 0)
		stress_fail("a signal was refused");
	pthread_mutex_unlock(&lock);
	sent++;
}

static bool all_arrived(void)
{
	if (atomic_load_relaxed(&posted) != atomic_load_relaxed(&relayed))
		return false;
	for (unsigned i = 0; i < RECEIVERS; i++) {
		if (atomic_load_relaxed(&receivers[i].seen) !=
		    atomic_load_relaxed(&receivers[i].asked))
			return false;
	}
	return true;
}

static void *storm(void *arg)
{
	struct hostile *h = arg;
	uint64_t when_ns = skua_now_ns();
	struct rng rng;

	rng_init(&rng, h->workers);
	for (uint32_t burst = 0; !hostile_over(h); burst++) {
		choose_restart(burst % 2 == 0);
		for (uint32_t i = rng_below(&rng, BURST); i > 0; i--) {
			send_one(h, &rng);
			when_ns += PERIOD_NS;
			hostile_nap_until(when_ns);
		}
		/* Hangs here if a wake was lost. */
		while (!all_arrived())
			hostile_nap(PERIOD_NS);
	}
	return NULL;
}

/* ---- a part -------------------------------------------------------------- */

static void spawn_receivers(struct hostile *h)
{
	for (unsigned i = 0; i < RECEIVERS; i++) {
		struct receiver *r = &receivers[i];

		hostile_check(skua_task_init(&r->task, receive), "init");
		atomic_init(&r->asked, 0);
		atomic_init(&r->seen, 0);
		atomic_init(&r->over, 0);
		hostile_check(skua_task_spawn(h->rt, &r->task), "spawn");
		r->waker = skua_task_waker(&r->task);
	}
}

static void join_receivers(void)
{
	for (unsigned i = 0; i < RECEIVERS; i++) {
		atomic_store_relaxed(&receivers[i].over, 1);
		skua_waker_wake(receivers[i].waker);
		hostile_check(skua_task_join(&receivers[i].task), "join");
	}
}

static uint64_t run_part(unsigned workers, uint64_t tasks)
{
	static struct hostile h;
	pthread_t sender;
	pthread_t relayer;
	uint64_t done;

	atomic_store_relaxed(&relay_over, 0);
	choose_restart(true);
	hostile_open(&h, workers, unblock);
	spawn_receivers(&h);
	if (pthread_create(&relayer, NULL, relay, NULL) != 0 ||
	    pthread_create(&sender, NULL, storm, &h) != 0)
		stress_fail("cannot create a thread");
	done = hostile_run(&h, tasks, enter, leave);
	atomic_store_relaxed(&h.over, 1);
	pthread_join(sender, NULL);
	/* A worker's last signal may still be pending. It does not matter
	 * whether the relay thread still wakes the task for it. */
	atomic_store_relaxed(&relay_over, 1);
	sem_post(&posts);
	pthread_join(relayer, NULL);
	join_receivers();
	hostile_close(&h);
	return done;
}

int main(void)
{
	uint64_t done = 0;

	sem_init(&posts, 0, 0);
	done += run_part(2, hostile_tasks() / 2);
	done += run_part(8, hostile_tasks() / 2);
	printf("signals: %" PRIu64 " tasks, each done once; %" PRIu64
	       " signals sent, %" PRIu32 " handled, %" PRIu32
	       " of them on workers, each wake followed by a poll\n",
	       done, sent, atomic_load_relaxed(&handled),
	       atomic_load_relaxed(&posted));
	return 0;
}
