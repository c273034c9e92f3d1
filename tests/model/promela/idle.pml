/* SPDX-License-Identifier: MIT */
/*
 * idle.pml - the idle protocol of core/idle/IDLE.md, rules I1 to I7
 *
 * Modelled: the searchers' count, the parked bits, the parkers, the sentinel;
 * workers with a LIFO slot, a local queue and an inbox, and workers that never
 * sleep; the injection queue with its lock and its cut; producers outside and
 * inside, a timer, an event source that a worker sleeps in or calls for ever,
 * and the end. There is no timeout but the deadlines of the sentinel. Each piece
 * names the functions that it stands for, and the rules that it follows.
 *
 * What must hold. A task waits, in its poll, until MEET tasks have started, so
 * that work that a sleeping worker should have taken leaves everybody stuck:
 * - W1: every task is polled in the end (ltl w1);
 * - W5: with REPEAT producers go on for ever, and so do polls (no cycle without
 *   progress).
 * Fairness: w1 and W5 assume weak fairness: a process that can take a step from
 * some time on takes one. No choice within a process is assumed to be fair: a
 * worker may search for ever.
 *
 * Memory. A step is one atomic operation, and all see it at once, with two
 * exceptions. (1) A store or read-modify-write before a fence of the protocol
 * is *late*: its own process is past it, others still load what was there
 * before. The fence makes it visible, or any moment before that, or the end of
 * the look behind the place of the fence, if a variant has left the fence out.
 * A process has one late store, and a late decrement of the count behind it.
 * With its fence a late store is over within one step, and costs no states. (2)
 * With a sentinel, a parked bit that its own worker has cleared may be seen set
 * by loads (not by read-modify-writes) until that worker's next fence or late
 * store. Reordering of loads is not modelled; the explorer does that on the code
 * itself.
 *
 * Left out: identities of tasks (they are counted); rings that are full; the
 * urgent lane (as the injection queue); the streaks that order what is at hand;
 * draining (pool.h); loop_drive(); the futex (a parker's state is slept on);
 * more than 64 workers; the value of delays: a deadline is one of few times in
 * order, and a look at the LIFO slots is due at any moment.
 *
 * Safety, that is no lost wake-up at any place, is the explorer's: it runs the
 * code itself (model_idle*.c, model_worker.c, model_sentinel.c, mutants.py).
 *
 * A configuration (see run): WORKERS; PRODUCERS, threads that push BATCH tasks
 * each; BOUND, tasks spawned from outside onto worker 0, 1, ...; CHILDREN, the
 * tasks that the first one to be polled spawns; TIMER, it waits for a timer first;
 * POLLER, worker 0 has an event source, registered before it runs (1) or meanwhile
 * (2), and sleeps in it, or AWAKE, the source has no park, and the worker never
 * sleeps while it has it; SPIN, no worker ever sleeps; MEET; REPEAT.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef PRODUCERS
#define PRODUCERS 0
#endif
#ifndef BATCH
#define BATCH 1
#endif
#ifndef BOUND
#define BOUND 0
#endif
#ifndef CHILDREN
#define CHILDREN 0
#endif
#ifndef POLLER
#define POLLER 0
#endif
#ifndef MEET
#define MEET 0
#endif

#ifdef TIMER
#define SENTINEL
#endif
#if POLLER
#define EVENTS 1
#else
#define EVENTS 0
#endif

#define TOTAL (PRODUCERS * BATCH + BOUND + CHILDREN + EVENTS)
/* Workers, producers, bound spawns, the poller's registrant, who ends all. */
#define PROCESSES (WORKERS + PRODUCERS + BOUND + 2)
#define ENDER     (PROCESSES - 1)
#define REGISTRANT (PROCESSES - 2)

/* The fence that a variant leaves out, of idle_notify(). */
#ifdef NO_PRODUCER_FENCE
#define PRODUCER_FENCE 0
#define FENCE_MISSING
#else
#define PRODUCER_FENCE 1
#endif

#define BIT(i) (1 << (i))
#define ALL    (BIT(WORKERS) - 1)

/* ---- what the threads share ---------------------------------------------- */

/* struct idle */
byte searching;
byte parked;
byte last_choice; /* index + 1 */

/* struct parker */
#define EMPTY     0
#define PARKED    1
#define NOTIFIED  2
#define ELSEWHERE 3
#define CALLING   4
byte parker[WORKERS];

/* struct worker: how many tasks; a thief's claim on the queue */
byte ring[WORKERS];
bool claimed[WORKERS];
byte lifo[WORKERS];
byte inbox[WORKERS];

/* struct inject_queue: positions of nodes, modulo 8; a bit for each node that
 * is linked, which is to say that the one before it, or head, leads there */
#define FREE   0
#define HELD   1
#define MARKED 2
byte inject_head;
byte inject_tail;
byte linked;
byte inject_lock;
#define INJECT_LENGTH  ((inject_tail - inject_head) & 7)
#define LINKED(i)      ((linked >> ((i) & 7)) & 1)
#define INJECT_VISIBLE (inject_head != inject_tail && LINKED(inject_head))

bool stopping;

/* The tasks. */
bool first_polled;
byte started;
byte finished;
byte ended; /* workers */
byte ended_counted; /* of them: still searchers */
byte calls; /* from outside, under way */

/* Times, in their order; a look at the LIFO slots has no fixed one. */
#define NEAR  1
#define LOOK  2
#define LATER 3
#define NEVER 4
#ifdef SENTINEL
byte now;
byte next = NEVER; /* pool_next_timer_ns() */
byte holder;       /* struct sentinel: index + 1 */
byte summoned;     /* likewise: who was asked last to be it */
byte until = NEVER;
bool slow;
bool quiet; /* nobody was awake at the last look: QUIET_MAX is 1 */
byte seen;  /* a bit for each item in a slot that the last look saw */
byte clearing; /* parked bits cleared, which loads may see set: see (2) */
#define SEEN_PARKED (parked | clearing)
#else
#define SEEN_PARKED parked
#endif
#define WATCHES 0

#if POLLER
bool poller_added;
bool poller_listed;
bool poller_lives;
bool rung;  /* unpark was called */
bool event; /* there is something to find */
#define HAS_POLLER (me == 0 && poller_listed)
#endif

/* pollers_added() */
#if POLLER
#define POLLER_ADDED (me == 0 && poller_added)
#else
#define POLLER_ADDED false
#endif

/* stays_awake(), pollers_awake_owner() */
#if defined(SPIN)
#define STAYS_AWAKE true
#elif defined(AWAKE)
#define STAYS_AWAKE HAS_POLLER
#endif

/* timers_due() */
#ifdef TIMER
#define TIMER_DUE (next <= now)
#else
#define TIMER_DUE false
#endif

/* ---- late stores, and fences --------------------------------------------- */

#define NOTHING  0
#define LINK     1 /* inject_queue_push(): its last step; argument: the node */
#define RING     2 /* the tail of the own local queue, one further */
#define INBOX    3 /* the same as LINK, in the inbox of the argument */
#define SET_BIT  4 /* the own parked bit */
#define STOP     5
#define ADD      6 /* the timer's time */
#define UNTIL    7 /* until; and slow, if the argument has 8 */
#define RETIRE   8 /* until, last_choice, holder */
byte late[PROCESSES];
byte late_what[PROCESSES];
/*
 * Whose decrement of searching is late, + 1. It comes behind the other late
 * store of its process, and is the only one: other read-modify-writes of the
 * count wait until it is over.
 */
byte decreasing;

inline make_visible(p)
{
	if
	:: late[p] == LINK -> linked = linked | BIT(late_what[p])
	:: late[p] == RING -> ring[late_what[p]]++
	:: late[p] == INBOX -> inbox[late_what[p]]++
	:: late[p] == SET_BIT -> parked = parked | BIT(p)
	:: late[p] == STOP -> stopping = true
#ifdef SENTINEL
	:: late[p] == ADD -> next = NEAR
	:: late[p] == UNTIL ->
		until = late_what[p] & 7;
		if
		:: (late_what[p] & 8) -> slow = true
		:: else
		fi
	:: late[p] == RETIRE -> last_choice = 0; until = NEVER; holder = 0
#endif
	:: else
	fi;
	late[p] = NOTHING;
	late_what[p] = 0;
#ifdef SENTINEL
	clearing = clearing & ~BIT(p);
#endif
	if
	:: decreasing == p + 1 -> searching--; decreasing = 0
	:: else
	fi
}

/* A store that may be late; the one before is over. */
inline store(what, argument)
{
	make_visible(me);
	late[me] = what;
	late_what[me] = argument
}

inline fence(there)
{
	if
	:: there -> make_visible(me)
	:: else
	fi
}

/* The end of a look: a fence that was left out delays no longer than that. */
#ifdef FENCE_MISSING
#define LOOKED atomic { make_visible(me) };
#else
#define LOOKED
#endif

/* What is late may become visible at any moment. */
#if defined(FENCE_MISSING) || defined(SENTINEL)
active proctype memory()
{
	byte p;
end:
	do
#ifdef FENCE_MISSING
	:: atomic { late[0] || decreasing == 1 -> make_visible(0) }
	:: atomic { late[1] || decreasing == 2 -> make_visible(1) }
	:: atomic { late[2] || decreasing == 3 -> make_visible(2) }
#if PROCESSES > 3
	:: atomic { late[3] || decreasing == 4 -> make_visible(3) }
#endif
#if PROCESSES > 4
	:: atomic { late[4] || decreasing == 5 -> make_visible(4) }
#endif
#if PROCESSES > 5
	:: atomic { late[5] || decreasing == 6 -> make_visible(5) }
#endif
#if PROCESSES > 6
#error "more processes than memory() knows of"
#endif
#endif
#ifdef SENTINEL
	:: atomic { clearing & 1 -> make_visible(0) }
	:: atomic { clearing & 2 -> make_visible(1) }
	:: atomic { clearing & 4 -> make_visible(2) }
#endif
	od
}
#endif

/* ---- core/idle/parker.h -------------------------------------------------------- */

/* parker_unpark() */
inline parker_unpark(i)
{
	atomic {
		old = parker[i];
		parker[i] = (old == ELSEWHERE || old == CALLING -> CALLING :
								  NOTIFIED)
	}
#if POLLER
	if
	:: old == ELSEWHERE ->
		/* The callback: pollers.c, wake(). */
		atomic { assert(poller_lives); rung = true };
		parker[i] = NOTIFIED
	:: else
	fi;
#endif
	old = 0
}

/* parker_park() */
inline parker_park()
{
	if
	:: atomic { parker[me] == EMPTY -> parker[me] = PARKED };
	   atomic { parker[me] == NOTIFIED -> parker[me] = EMPTY }
	:: atomic { parker[me] == NOTIFIED -> parker[me] = EMPTY }
	fi
}

/* ---- core/idle/claim.c, wake.c, idle.c ---------------------------------------- */

/* claim_worker(), claim_any(): the bits of a word, the last choice at the end. The
 * other hints of whom to try first are left out. */
inline claim_any()
{
	woke = false;
	word = SEEN_PARKED;
	do
	:: word == 0 -> break
	:: else ->
		atomic {
			target = 0;
			do
			:: !(word & BIT(target)) -> target++
			/* The waker may run on the CPU of the others. */
			:: target + 1 == last_choice && word != BIT(target) ->
				target++
			:: word & BIT(target) -> break
			od;
#ifdef SENTINEL
			!(clearing & BIT(target));
#endif
			word = word & ~BIT(target);
			if
			:: parked & BIT(target) ->
				parked = parked & ~BIT(target);
				woke = true;
				word = 0
			:: else
			fi
		}
	od;
	if
	:: woke -> parker_unpark(target)
	:: else
	fi;
	target = 0
}

/* The own late decrement counts for its own process. */
#define SEARCHING_SEEN (searching - (decreasing == me + 1 -> 1 : 0))

/* idle_wake(), I4; the fence of I1 comes before. */
inline idle_wake()
{
	do
	:: SEARCHING_SEEN != 0 -> break
	:: else ->
		if
		:: SEEN_PARKED == 0 -> break
		:: else ->
			if
			:: atomic { searching == 0 && !decreasing ->
				    searching = 1 };
			   claim_any();
			   if
			   :: woke -> break
			   :: else ->
				take_count_back();
			   fi
			:: atomic { searching != 0 && !decreasing }; break
			fi
		fi
	od;
	woke = false;
	LOOKED
}

/* I4: nobody was left to wake. */
inline take_count_back()
{
	atomic {
		!decreasing;
		assert(searching > 0);
		decreasing = me + 1;
		fence(1)
	}
}

/* idle_wake_worker(), I1 and I4; a fence comes before. */
inline idle_wake_worker(i)
{
	if
	:: !(SEEN_PARKED & BIT(i))
	:: else ->
		atomic { !decreasing -> searching++ };
		atomic {
			if
			:: parked & BIT(i) -> parked = parked & ~BIT(i);
					      woke = true
			:: else
			fi
		}
		if
		:: woke -> parker_unpark(i)
		:: else -> take_count_back(); idle_wake()
		fi;
		woke = false
	fi;
	LOOKED
}

/* idle_wake_all() */
inline idle_wake_all()
{
	do
	:: atomic { !decreasing -> searching++ };
	   claim_any();
	   if
	   :: woke
	   :: else -> break
	   fi
	od;
	atomic { !decreasing -> searching-- };
	woke = false
}

/* idle_try_search() */
inline idle_try_search()
{
	if
	:: 2 * searching >= WORKERS
	:: else -> atomic { !decreasing -> searching++; searches = true }
	fi
}

/* idle_leave_search(), I3; the look of who was the last is the worker's. */
inline idle_leave_search()
{
	atomic {
		!decreasing;
		assert(searching > 0);
		was_last = searching == 1;
		decreasing = me + 1;
		searches = false;
		if
		:: was_last -> fence(1)
#ifdef SENTINEL
		:: !was_last && (clearing & BIT(me)) /* late, behind that */
#endif
		:: else -> make_visible(me)
		fi
	}
}

/* idle_park_begin(), I2 */
inline idle_park_begin()
{
	atomic {
		store(SET_BIT, 0);
		if
		:: !searches -> fence(1)
		:: else
		fi
	};
	if
	:: searches ->
		atomic {
			!decreasing;
			assert(searching > 0);
			decreasing = me + 1;
			searches = false;
			fence(1)
		}
	:: else
	fi
}

/* idle_park_cancel(), I2 and I7 */
inline idle_park_cancel()
{
	LOOKED
	atomic {
		if
		:: parked & BIT(me) ->
			parked = parked & ~BIT(me);
#ifdef SENTINEL
			clearing = clearing | BIT(me)
#endif
		:: else -> searches = true
		fi
	};
	if
	:: !searches -> atomic { !decreasing -> searching++; searches = true }
	:: else
	fi
#ifdef SENTINEL
	;
	atomic { fence(1) } /* I7 */
#endif
}

/* ---- core/queue/inject_queue.c -------------------------------------------------- */

/* inject_queue_push(), and the fence of idle_notify(). */
inline inject_push(count)
{
	atomic {
		node = inject_tail;
		word = 1;
		do
		:: word < count ->
			linked = linked | BIT((node + word) & 7);
			word++
		:: else -> break
		od;
		word = 0;
		inject_tail = (inject_tail + count) & 7
		;
		store(LINK, node);
		fence(PRODUCER_FENCE);
		node = 0
	}
}

/* take_locked(): all that is linked, less the last node before a cut. */
inline take_linked()
{
	count = 0;
	do
	:: INJECT_VISIBLE && (((inject_head + 1) & 7) == inject_tail ||
			      LINKED(inject_head + 1)) ->
		linked = linked & ~BIT(inject_head);
		inject_head = (inject_head + 1) & 7;
		count++
	:: else -> break
	od;
	/* Empty, all positions are alike. */
	if
	:: inject_head == inject_tail -> inject_head = 0; inject_tail = 0
	:: else
	fi
}

/* inject_queue_take(), I5: how many, and whether others were turned away. */
inline inject_take()
{
	count = 0;
	turned_away = false;
	d_step { take_linked() }
}

/* ---- core/loop/sentinel.c ------------------------------------------------------ */

#ifdef SENTINEL
/* sentinel_summon(), I6: ends a parked worker's park without claiming it. */
inline sentinel_summon()
{
	do
	:: holder != 0 -> atomic { target = holder - 1 }; break
	:: else ->
		atomic {
			if
			:: SEEN_PARKED == 0 -> target = WORKERS
			:: else ->
				target = 0;
				do
				:: !(SEEN_PARKED & BIT(target)) -> target++
				:: else -> break
				od;
				/* summon_parked() */
				summoned = target + 1;
				fence(1)
			fi
		};
		if
		:: target == WORKERS -> break
		:: else
		fi;
		if
		:: SEEN_PARKED & BIT(target) -> break
		:: else
		fi
	od;
	if
	:: target < WORKERS -> parker_unpark(target)
	:: else
	fi;
	target = 0
}

/* sentinel_filled(), I6 */
inline sentinel_filled()
{
	skip
}

/* something_to_watch() */
inline something_to_watch()
{
	something = false;
	if
	:: WATCHES && SEEN_PARKED != ALL -> something = true
	:: else -> something = next != NEVER
	fi
}

/* take_role() */
inline take_role()
{
	atomic {
		if
		:: holder == 0 ->
			holder = me + 1;
			last_choice = me + 1;
			summoned = 0;
			slow = false;
			quiet = false;
			seen = 0;
			something = true
		:: else -> something = false
		fi
	}
}

/* give_role(), I7 */
inline give_role()
{
	atomic {
		store(RETIRE, 0);
		fence(1)
	}
}

#define MY_HOLDER (late[me] == RETIRE -> 0 : holder)

/* sentinel_enter(), I6 and I7: until when may this worker sleep? */
inline sentinel_enter()
{
	mine = NEVER;
	if
	:: MY_HOLDER == me + 1 -> something = true
	:: MY_HOLDER != 0 && MY_HOLDER != me + 1 -> something = false
	:: else ->
		something_to_watch();
		if
		:: something -> take_role()
		:: else
		fi
	fi;
	do
	:: !something -> break
	:: else ->
		/* quiet: it waits for timers alone, and is slow. */
		atomic {
			mine = next;
			if
			:: WATCHES && !quiet && mine > LOOK -> mine = LOOK
			:: else
			fi;
			store(UNTIL, mine | (quiet && mine != NEVER -> 8 : 0));
			fence(1)
		};
		if
		:: next < mine -> goto again
		:: else
		fi;
		if
		:: WATCHES && quiet && mine != NEVER && SEEN_PARKED != ALL ->
			atomic { quiet = false; slow = false };
			goto again
		:: else
		fi;
		if
		:: mine != NEVER -> break
		:: else
		fi;
		give_role();
		something_to_watch();
		if
		:: something -> take_role()
		:: else
		fi;
again:
		mine = NEVER
	od;
	something = false;
	LOOKED
}

/* sentinel_check(): early, if the sleep was ended before the time. */
inline sentinel_check(early)
{
	if
	:: early && !slow
	:: else ->
		atomic { quiet = SEEN_PARKED == ALL; slow = false };
		target = 0;
		do
		:: target == WORKERS || hand -> break
		:: else ->
			atomic {
				if
				:: target == me || lifo[target] == 0 ->
					seen = seen & ~BIT(target)
				:: else ->
					if
					:: seen & BIT(target) ->
						lifo[target] = 0;
						hand = true
					:: else -> seen = seen | BIT(target)
					fi
				fi;
				target++
			}
		od;
		target = 0
	fi
}

/* sentinel_watch(), I6: a worker that is awake and has nothing to do. A look is
 * due at any moment. */
inline sentinel_watch()
{
	skip
}

/* sentinel_leave(): passes on the role, or a summons (I6). */
inline sentinel_leave()
{
	if
	:: holder == me + 1 -> give_role(); something_to_watch()
	:: holder != me + 1 && summoned == me + 1 ->
		summoned = 0;
		something_to_watch()
	:: else
	fi;
	if
	:: something -> sentinel_summon()
	:: else
	fi;
	something = false;
	LOOKED
	skip
}
#endif

/* ---- core/loop/work.c, work_shared.c ------------------------------------------- */

/* idle_notify() behind a push that store() has made, I1. */
inline push_ring()
{
	atomic {
		store(RING, me);
		fence(PRODUCER_FENCE)
	}
}

/* work_schedule_owner() */
inline work_schedule_owner()
{
	if
	:: atomic { lifo[me] == 0 -> lifo[me] = 1 };
#ifdef SENTINEL
	   sentinel_filled()
#endif
	:: atomic { lifo[me] != 0 ->
		    push_ring() }; /* the displaced one */
#ifdef SENTINEL
	   atomic { seen = seen & ~BIT(me) }; /* another item */
#endif
	   idle_wake()
	fi
}

/* notify_rest(), I1 and I5 */
inline notify_rest(rest)
{
#ifndef NO_REST
	if
	:: rest || (hand && ring[me] > 0) -> idle_wake()
	:: else
	fi
#else
	skip
#endif
}

#define TAKEN_FROM_INBOX skip

/* work_take_injected(): what was taken is in no queue until it is in this one. */
inline work_take_injected()
{
	inject_take();
	see_to = turned_away || count > 1;
	if
	:: count > 0 ->
		hand = true;
		if
		:: count > 1 ->
			atomic { ring[me] = ring[me] + count - 1; count = 0 }
		:: else -> count = 0
		fi
	:: else
	fi;
	turned_away = false
}

/* fetch_injected() */
inline fetch_injected()
{
	work_take_injected();
	notify_rest(see_to);
	see_to = false
}

/* work_next() */
inline work_next()
{
	hand = false;
#if BOUND
	if
	:: atomic { inbox[me] > 0 ->
		    inbox[me]--;
		    hand = true;
		    TAKEN_FROM_INBOX };
	   notify_rest(false)
	:: inbox[me] == 0
	fi;
#endif
	if
	:: hand
	:: else ->
#if BATCH > 1
		/* Is a look at the injection queue due? */
		if
		:: true
		:: INJECT_VISIBLE -> fetch_injected()
		fi;
#endif
		atomic {
			if
			:: hand
			:: !hand && lifo[me] > 0 -> lifo[me] = 0; hand = true
			:: !hand && lifo[me] == 0 && ring[me] > 0 ->
				ring[me]--;
				hand = true
			:: else
			fi
		};
		if
		:: hand
		:: else -> fetch_injected()
		fi
	fi
}

/* steal() from one victim: half, rounded up. */
inline steal_from(victim)
{
	atomic {
		count = 0;
		if
		:: !claimed[victim] && ring[victim] > 0 ->
			count = ring[victim] - ring[victim] / 2;
			ring[victim] = ring[victim] - count;
			claimed[victim] = count > 1;
			hand = true
		:: else
		fi
	};
	if
	:: count > 1 ->
		claimed[victim] = false;
		ring[me] = ring[me] + count - 1
	:: else
	fi;
	count = 0
}

/* work_find(): the inbox, the injection queue, the others. */
inline work_find()
{
	hand = false;
#if BOUND
	if
	:: atomic { inbox[me] > 0 ->
		    inbox[me]--;
		    hand = true;
		    TAKEN_FROM_INBOX }
	:: inbox[me] == 0
	fi;
#endif
#ifndef SEARCHES_RINGS_ALONE
	if
	:: hand
	:: else -> work_take_injected(); see_to = false
	fi;
#endif
#if WORKERS > 1
	if
	:: hand
	:: else ->
#if WORKERS == 2
		steal_from(1 - me)
#else
		/* From a random one on. */
		if
		:: other = (me + 1) % WORKERS
		:: other = (me + 2) % WORKERS
		fi;
		steal_from(other);
		if
		:: hand
		:: else -> steal_from(WORKERS - me - other)
		fi;
		other = 0
#endif
	fi
#endif
}

/* work_visible() */
inline work_visible()
{
	visible = INJECT_VISIBLE;
	do
	:: other == WORKERS || visible -> break
	:: else -> atomic { visible = ring[other] > 0; other++ }
	od;
	other = 0
}

/* ---- core/loop/timers.c -------------------------------------------------------- */

#ifdef TIMER
/* timers_add(), I6 */
inline timers_add()
{
	atomic {
		store(ADD, 0);
		fence(1)
	};
	if
	:: until > NEAR -> sentinel_summon()
	:: else
	fi;
	LOOKED
}

/* timers_fire_due(): takes the deadline, and queues the timer's task. */
inline timers_fire_due()
{
	if
	:: atomic { next <= now -> next = NEVER };
	   work_schedule_owner()
	:: next > now
	fi
}

/* Time passes. */
active proctype clock()
{
end:
	next == NEAR;
	now = NEAR
}
#endif

/* A sleeper's deadline has come; a look is due at any moment. */
#ifdef SENTINEL
#define DEADLINE (mine == LOOK || mine <= now)
#else
#define DEADLINE false
#endif

/* ---- core/driver/pollers.c ------------------------------------------------------- */

#if POLLER
/* pollers_run_owner() */
inline pollers_run_owner()
{
	if
	:: me == 0 ->
		if
		:: atomic { poller_added -> poller_added = false;
			    poller_listed = true }
		:: !poller_added
		fi;
		if
		:: poller_listed && event ->
			/* The callback wakes a task, and is done. */
			work_schedule_owner();
			atomic { event = false;
				 poller_listed = false;
				 poller_lives = false }
		:: !poller_listed || !event
		fi
	:: else
	fi
}

/* pollers_park_owner(), parker_begin(), parker_end() */
inline pollers_park_owner()
{
	if
	:: atomic { parker[me] == EMPTY -> parker[me] = ELSEWHERE };
	   atomic { rung || event || DEADLINE -> rung = false };
	   if
	   :: atomic { parker[me] == ELSEWHERE -> parker[me] = EMPTY }
	   :: atomic { parker[me] == NOTIFIED -> parker[me] = EMPTY }
	   fi
	:: atomic { parker[me] == NOTIFIED -> parker[me] = EMPTY }
	fi
}

/* skua_runtime_add_poller() */
proctype registrant()
{
	byte me = REGISTRANT;
	byte old, target, word;
	bool woke;

	poller_added = true;
	idle_wake_worker(0);
	calls--
}

/* The event that the poller waits for. */
proctype device()
{
	event = true
}
#endif

/* ---- core/loop/loop.c, core/loop/search.c ------------------------------------ */

/* end_tick(): nobody relies on who is in it, as a callback may take its time. */
inline end_tick()
{
#ifdef TIMER
	timers_fire_due();
#endif
#if POLLER
	pollers_run_owner();
#endif
#if defined(TIMER) || POLLER
	/* I1: a task that yielded does not run next after all. */
	if
	:: lifo[me] > 0 && ring[me] > 0 ->
		atomic { fence(1) };
		idle_wake()
	:: else
	fi
#else
	skip
#endif
}

/* next_task() */
inline next_task()
{
	work_next();
#if defined(TIMER) || POLLER
	if
	:: hand
	:: else -> end_tick(); work_next()
	fi
#endif
}

/* search(), for any time, but not beyond a timer */
inline search()
{
	do
	:: true ->
		work_find();
		if
		:: hand -> break
		:: else
		fi;
		if
		:: true -> break
		:: !TIMER_DUE -> skip
		fi
	od
}

/*
 * sleep_parked(): goes on behind it when a waker has claimed the worker, and to
 * found if something came due. It is counted then in both cases.
 */
inline sleep_parked()
{
	do
	:: !(parked & BIT(me)) -> break
	:: else ->
#ifdef SENTINEL
		sentinel_enter();
#endif
#if POLLER && !defined(AWAKE)
		if
		:: HAS_POLLER ->
			pollers_park_owner();
			if
			:: parked & BIT(me) -> idle_park_cancel(); goto found
			:: else
			fi
		:: else ->
#endif
#ifdef SENTINEL
			if
			:: mine == NEVER -> parker_park()
			:: else ->
				/* parker_park_until() */
				if
				:: atomic { parker[me] == EMPTY ->
					    parker[me] = PARKED };
				   if
				   :: parker[me] == NOTIFIED -> woke = true
				   :: DEADLINE
				   fi
				:: parker[me] == NOTIFIED -> woke = true
				fi;
				parker[me] = EMPTY;
				mine = NEVER;
				if
				:: parked & BIT(me) ->
					sentinel_check(woke);
					woke = false;
					if
					:: hand || TIMER_DUE ->
						idle_park_cancel();
						goto found
					:: else
					fi
				:: else -> woke = false
				fi
			fi
#else
			parker_park()
#endif
#if POLLER && !defined(AWAKE)
		fi
#endif
	od;
	searches = true;
#ifdef SENTINEL
	atomic { fence(1) } /* I7 */
#endif
}

/* The poll function, and what poll_task() does with what it returns. */
inline poll_task()
{
	hand = false;
#ifdef SENTINEL
	seen = seen & ~BIT(me);
#endif
	atomic {
		visible = !first_polled;
		first_polled = true
	};
	if
	:: visible ->
		visible = false;
		other = 0;
		do
		:: other == CHILDREN -> break
		:: else -> work_schedule_owner(); other++
		od;
		other = 0;
#ifdef TIMER
		timers_add();
		goto polled /* SKUA_PENDING */
#endif
	:: else
	fi;
#if MEET
	started++;
	atomic { started >= MEET -> finished++ };
#else
	finished++;
#endif
progress:
	skip
}

proctype worker(byte me)
{
	byte old, target, word, count, other;
	bool hand, searches, was_last, woke, see_to, visible, turned_away, marked;
#ifdef SENTINEL
	byte mine = NEVER;
	bool something, waited;
#endif

	/* loop_run(), and the rounds of wait_for_task() */
tick:
	next_task();
	if
	:: hand ->
#ifdef SENTINEL
		if
		:: waited -> goto leave
		:: else
		fi;
#endif
		goto run_it
	:: !hand && stopping -> goto leave
	:: else
	fi;
#ifdef STAYS_AWAKE
	/* stay_awake(): no searcher, but looks as one would, I3. Its fence
	 * needs no step: what it took is in its queue before. */
	if
	:: STAYS_AWAKE ->
		work_find();
		if
		:: hand -> goto rest
		:: else
		fi;
#ifdef SENTINEL
		sentinel_watch();
#endif
		goto waiting
	:: else
	fi;
#endif

	/* search_and_sleep(), I2 */
	idle_try_search();
search_on:
	if
	:: searches ->
		search();
		if
		:: hand || TIMER_DUE -> goto found
		:: else
		fi
	:: else
	fi;
	idle_park_begin();
	work_find(); /* I2 */
	if
	:: hand || stopping || POLLER_ADDED -> idle_park_cancel(); goto found
	:: else
	fi;
	LOOKED
asleep:
	sleep_parked();
	if
	:: stopping -> goto waiting
	:: else -> goto search_on
	fi;

	/* found(), with a task or without, I3 */
found:
	idle_leave_search();
	if
	:: was_last -> was_last = false
	:: else -> goto waiting
	fi;
	/* wake_for_rest() */
rest:
	work_visible();
	LOOKED
	if
	:: visible -> visible = false; idle_wake()
	:: else
	fi;
waiting:
	if
	:: hand
	:: else ->
#ifdef SENTINEL
		waited = true;
#endif
		goto tick
	fi;
leave:
#ifdef SENTINEL
	waited = false;
	sentinel_leave();
#endif
	if
	:: hand
	:: else -> goto done_for
	fi;
run_it:
	poll_task();
polled:
	goto tick;
done_for:
	atomic {
		make_visible(me);
		ended_counted = ended_counted + searches;
		ended++
	}
}

/* ---- outside -------------------------------------------------------------- */

/* pool_inject(), as skua_task_spawn() from outside */
proctype producer(byte me)
{
	byte old, target, word, node;
	bool woke;

#ifdef REPEAT
again:
#endif
	inject_push(BATCH);
	idle_wake();
#ifdef REPEAT
	atomic { finished >= BATCH -> finished = finished - BATCH };
	goto again
#else
	calls--
#endif
}

/* pool_inject_home(), as skua_task_spawn_on() from outside */
proctype bound_producer(byte me; byte home)
{
	byte old, target, word;
	bool woke;

	atomic {
		store(INBOX, home);
		fence(1)
	};
	idle_wake_worker(home);
	calls--
}

/* pool_stop(), when all is done */
proctype ender()
{
	byte me = ENDER;
	byte old, target, word;
	bool woke;

	finished == TOTAL && calls == 0; /* the end is a test of its own */
	atomic {
		store(STOP, 0);
		fence(1)
	};
	idle_wake_all();
	LOOKED
	ended == WORKERS && calls == 0; /* pool_wait_calls() */
	/* A worker that pool_stop() woke ends as a searcher; a count that leaked
	 * would disable every later wake-up. */
	assert(searching == ended_counted && parked == 0)
}

init
{
	byte i;

	atomic {
#if POLLER
		poller_lives = true;
		poller_listed = POLLER == 1;
		run device();
#if POLLER == 2
		run registrant();
#endif
#endif
		calls = PRODUCERS + BOUND + (POLLER == 2 -> 1 : 0);
		i = 0;
		do
		:: i < WORKERS -> run worker(i); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < PRODUCERS -> run producer(WORKERS + i); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < BOUND ->
			run bound_producer(WORKERS + PRODUCERS + i, i % WORKERS);
			i++
		:: else -> break
		od;
		i = 0;
#ifndef REPEAT
		run ender()
#endif
	}
}

#ifdef W1
ltl w1 { <> (finished == TOTAL) }
#endif
