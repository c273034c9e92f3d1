/* SPDX-License-Identifier: MIT */
/*
 * jobs.pml - help for jobs, core/idle/IDLE.md, section "Jobs", rules F1 to F4
 *
 * Modelled: the jobs of each thread, private and public, with wanted (J4);
 * guests and a task that fork and join; thieves, and how they end a sleep in a
 * join; joins that take jobs meanwhile, of their thief first, and sleep in
 * team.asleep; the helpers' seats; workers that search, take a seat, steal,
 * run, give it up, turn to a task, park; the searchers' count, the parked bits
 * and the wake path, as in idle.pml; and the end. There is no timeout. Each
 * piece names the functions that it stands for, and the rules that it follows.
 *
 * What must hold. Some jobs, and who forks them, wait until MEET of them have
 * begun, or until more is asked for, so that a public job that a sleeper should
 * have taken leaves everybody stuck:
 * - safety: no such end (spin's invalid end state); no job is run twice; after
 *   the end nobody has a seat, no bit is set, nothing is public, and the count
 *   of the searchers is right (assertions);
 * - W1: roots and tasks come to their ends, and so each join returns (ltl w1);
 * - W5: with REPEAT guests go on for ever, and so do jobs (no cycle without
 *   progress).
 * Fairness: w1 and W5 assume weak fairness: a process that can take a step from
 * some time on takes one. No choice within a process is assumed to be fair: a
 * worker may search for ever, and a join may spin for ever.
 *
 * Memory. A step is one atomic operation, and all see it at once, but for a
 * store or read-modify-write before a fence of the protocol, which is *late*,
 * as in idle.pml: its own process is past it, others still load what was there
 * before; until the fence, or any moment before that, or the end of the look
 * behind the place of the fence, if a variant has left the fence out.
 * Reordering of loads is not modelled; the explorer does that on the code
 * itself.
 *
 * Left out: the steps of a steal, of a fork and of split_deque_await_owner() beside
 * each other (model_split_deque); team.sleepy, the summary of asleep (model_joins),
 * and team.forking; pinned workers, and who sleeps on which CPU; guests beyond the
 * places; NESTED_MAX; queues of workers, the sentinel, timers and pollers, and
 * workers that never sleep, all of which idle.pml has; a task is in the
 * injection queue, or in the LIFO slot of its worker.
 *
 * A configuration (see run): WORKERS; BUSY, workers more, which run tasks all
 * the time; ASLEEP, the last workers sleep when it begins; GUESTS, of which the
 * first does GUEST, and the second OTHER; TASK, what a task does that worker 0
 * has when it begins; PARENT, what a job of that kind does: all of these are
 * names of roots, see below; PUBLIC, each fork is asked for; SPAWNS, tasks that
 * jobs leave to their workers, which wait for the meeting; PRODUCERS, threads
 * that push a task each; MEET; REPEAT.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef BUSY
#define BUSY 0
#endif
#ifndef GUESTS
#define GUESTS 1
#endif
#ifndef SPAWNS
#define SPAWNS 0
#endif
#ifndef PRODUCERS
#define PRODUCERS 0
#endif
#ifndef MEET
#define MEET 0
#endif
#ifdef TASK
#define INSIDE 1
#else
#define INSIDE 0
#define TASK END
#endif
#ifndef GUEST
#define GUEST fork_one
#endif
#ifndef OTHER
#define OTHER GUEST
#endif
#ifdef PARENT
#define PARENTS 1
#else
#define PARENTS 0
#define PARENT END
#endif

#ifdef PUBLIC
#define ALWAYS true
#else
#define ALWAYS false
#endif

#define TEAM   (WORKERS + BUSY) /* team->workers */
#define PLACES (WORKERS + GUESTS)
/* Workers, guests, producers, who ends all. */
#define PROCESSES (PLACES + PRODUCERS + 1)
#define ENDER     (PROCESSES - 1)

/* Fences that a variant leaves out; the rest are 1. */
#ifdef NO_PUBLISHER_FENCE /* team_notify() */
#define PUBLISHER_FENCE 0
#else
#define PUBLISHER_FENCE 1
#endif
#ifdef NO_SLEEPER_FENCE /* team_sleep_begin() */
#define SLEEPER_FENCE 0
#else
#define SLEEPER_FENCE 1
#endif
#ifdef NO_PARKER_FENCE /* idle_park_begin() */
#define PARKER_FENCE 0
#else
#define PARKER_FENCE 1
#endif
#ifdef NO_LEAVE_FENCE /* idle_leave_search() */
#define LEAVE_FENCE 0
#else
#define LEAVE_FENCE 1
#endif
#ifdef NO_SEAT_FENCE /* team_sign_off() */
#define SEAT_FENCE 0
#else
#define SEAT_FENCE 1
#endif
#ifdef NO_GUEST_FENCE /* team_leave() */
#define GUEST_FENCE 0
#else
#define GUEST_FENCE 1
#endif

#if !(PUBLISHER_FENCE && SLEEPER_FENCE && PARKER_FENCE && LEAVE_FENCE && \
      SEAT_FENCE && GUEST_FENCE)
#define FENCE_MISSING
#endif

#define BIT(i) (1 << (i))
#define ALL    (BIT(WORKERS) - 1)

/* ---- what jobs and roots do ---------------------------------------------- */

/* Steps, the first one lowest; behind the last one it joins what is forked. */
#define END     0
#define LEAF    1 /* fork a job that meets */
#define PLAIN   2 /* fork one that does nothing */
#define NESTED  3 /* fork one that does PARENT */
#define SPAWNER 4 /* fork one that spawns a task, and comes to the meeting */
#define KINDS   4
#define MEETS   5 /* wait for the meeting */
#define COMES   6
#define JOINS   7 /* the newest */
#define SPAWN   8
#define ASKED   9 /* wait until more is asked for */
#define AWAITS  10 /* likewise until the meeting, of which it is no part */
#define DO(step, rest) ((step) + 16 * (rest))

#define fork_one        DO(LEAF, MEETS)
#define fork_plain      PLAIN
#define fork_nested     NESTED
#define fork_two        DO(LEAF, DO(LEAF, MEETS))
#define fork_twice      DO(PLAIN, DO(JOINS, DO(LEAF, MEETS)))
#define fork_asked      DO(PLAIN, DO(ASKED, DO(LEAF, MEETS)))
#define fork_then_wait  DO(PLAIN, DO(JOINS, AWAITS))
#define fork_many       DO(PLAIN, DO(LEAF, DO(LEAF, asked_to_fork)))
#define asked_to_fork   DO(ASKED, DO(PLAIN, MEETS))
#define fork_spawner    DO(SPAWNER, DO(LEAF, MEETS))
#define until_asked     ASKED
#define fork_three_nested DO(PLAIN, DO(PLAIN, NESTED))
#define fork_five_nested DO(PLAIN, DO(PLAIN, fork_three_nested))

#define DOES(kind)                                              \
	(kind == LEAF   -> MEETS :                              \
	(kind == NESTED -> PARENT :                             \
	(kind == SPAWNER -> DO(SPAWN, COMES) : END)))

/* Jobs below each other that one thread is in, and forked at once. */
#define DEPTH 4
#define SLOTS 6

/* ---- what the threads share ---------------------------------------------- */

/* struct idle, and its parkers */
byte searching;
byte parked;
bool notified[WORKERS];

/* struct team */
byte guests;
byte helpers;
byte asleep; /* a bit for each place */

/* struct forks: the park in a join; struct jobs */
bool ended[PLACES];
byte tail[PLACES];
byte split[PLACES];
bool wanted[PLACES];
bool all_stolen[PLACES];

/* Slots of jobs: DONE, or OWN, or TAKEN by a thief, and what their job does. */
#define DONE     0
#define OWN      1
#define TAKEN(p) (2 + (p))
#define AWAITED  64
byte slot[PLACES * SLOTS];
byte job[PLACES * SLOTS];
#define AT(p, position) ((p) * SLOTS + (position))

/* Whether there may be jobs in this place, at any time. */
#define FORKS(p) ((p) >= WORKERS || PARENTS || ((p) == 0 && INSIDE))
#define PUBLIC_AT(p) (tail[p] < split[p])

/* Tasks. */
byte inject;
byte lifo[WORKERS];
bool stopping;

byte met;
byte left = GUESTS + INSIDE + SPAWNS + 2 * PRODUCERS; /* roots, tasks, calls */
byte over; /* threads */
byte over_counted; /* of them: still searchers */

/* ---- late stores, and fences --------------------------------------------- */

#define NOTHING  0
#define PUBLISH  1 /* what is public: up to the argument */
#define SLEEP    2 /* the own bit of asleep */
#define SET_BIT  3 /* the own parked bit */
#define SIGN_OFF 4
#define LEAVE    5 /* of a guest */
#define INJECT   6
#define STOP     7
byte late[PROCESSES];
byte late_what[PROCESSES];
byte decreasing; /* whose decrement of searching is late, + 1: see idle.pml */

inline make_visible(p)
{
	if
	:: late[p] == PUBLISH -> split[p] = late_what[p]
	:: late[p] == SLEEP -> asleep = asleep | BIT(p)
	:: late[p] == SET_BIT -> parked = parked | BIT(p)
	:: late[p] == SIGN_OFF -> assert(helpers > 0); helpers--
	:: late[p] == LEAVE -> assert(guests > 0); guests--
	:: late[p] == INJECT -> inject++
	:: late[p] == STOP -> stopping = true
	:: else
	fi;
	late[p] = NOTHING;
	late_what[p] = 0;
	if
	:: decreasing == p + 1 -> searching--; decreasing = 0
	:: else
	fi
}

/* Nothing is late for long if each fence is there. */
#ifdef FENCE_MISSING
#define EARLIER make_visible(me);
#else
#define EARLIER
#endif

/* A store that may be late; the one before is over. */
inline store(what, argument)
{
	EARLIER
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

/* What is late may become visible at any moment. */
active proctype memory()
{
	byte p;
end:
	do
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
	od
}
#else
#define LOOKED
#endif

/* ---- core/idle/idle.c: see idle.pml ------------------------------------------- */

/* claim_any() */
inline claim_any()
{
	woke = false;
	word = parked;
	do
	:: word == 0 -> break
	:: else ->
		d_step {
			target = 0;
			do
			:: !(word & BIT(target)) -> target++
			:: else -> break
			od;
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
	:: woke -> d_step { notified[target] = true; target = 0 }
	:: else -> target = 0
	fi
}

/* The own late decrement counts for its own process. */
#define SEARCHING_SEEN (searching - (decreasing == me + 1 -> 1 : 0))

/* idle_wake(), I4 */
inline idle_wake()
{
	do
	:: SEARCHING_SEEN != 0 || parked == 0 -> break
	:: else ->
		if
		:: d_step { searching == 0 && !decreasing -> searching = 1 };
		   claim_any();
		   if
		   :: woke -> break
		   :: else -> d_step { assert(searching > 0); searching-- }
		   fi
		:: d_step { searching != 0 && !decreasing }; break
		fi
	od;
	woke = false
}

/* idle_wake_all() */
inline idle_wake_all()
{
	do
	:: d_step { !decreasing -> searching++ };
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
	:: 2 * searching >= TEAM
	:: else -> d_step { !decreasing -> searching++; searches = true }
	fi
}

/* idle_leave_search(), I3 */
inline idle_leave_search()
{
	d_step {
		!decreasing;
		assert(searching > 0);
		was_last = searching == 1;
		decreasing = me + 1;
		searches = false;
		if
		:: was_last -> fence(LEAVE_FENCE)
		:: else -> make_visible(me)
		fi
	}
}

/* idle_park_begin(), I2 */
inline idle_park_begin()
{
	d_step {
		store(SET_BIT, 0);
		if
		:: !searches -> fence(PARKER_FENCE)
		:: else
		fi
	};
	if
	:: searches ->
		d_step {
			!decreasing;
			assert(searching > 0);
			decreasing = me + 1;
			searches = false;
			fence(PARKER_FENCE)
		}
	:: else
	fi
}

/* idle_park_cancel(), I2 */
inline idle_park_cancel()
{
	LOOKED
	d_step {
		if
		:: parked & BIT(me) -> parked = parked & ~BIT(me)
		:: else -> searches = true
		fi
	};
	if
	:: !searches -> d_step { !decreasing -> searching++; searches = true }
	:: else
	fi
}

/* ---- core/queue/split_deque.c --------------------------------------------------------- */

/* Nothing is left but what was stolen. */
inline set_all_stolen()
{
	all_stolen[me] = true;
	wanted[me] = true
}

/* split_deque_publish_owner(), of what ends at head */
inline jobs_publish()
{
	EARLIER
	wanted[me] = false; /* J4 */
	if
	:: all_stolen[me] ->
		all_stolen[me] = false;
		tail[me] = head - 1;
		split[me] = head - 1;
		store(PUBLISH, head)
	:: else ->
		store(PUBLISH, split[me] + (head - split[me] + 1) / 2)
	fi
}

/* take_back(), split_deque_reclaim_owner(), in one step */
inline jobs_reclaim()
{
	EARLIER
	if
	:: all_stolen[me] -> own = false
	:: !all_stolen[me] && tail[me] >= head -> own = false; set_all_stolen()
	:: else ->
		own = true;
		split[me] = tail[me] + (head - tail[me]) / 2;
		if
		:: split[me] == head - 1 && tail[me] == head - 1 ->
			set_all_stolen()
		:: else
		fi
	fi
}

/* split_deque_steal() by steal_from() in fork_join.c, J3 */
inline steal_from(p)
{
	d_step {
		if
		:: p != me && PUBLIC_AT(p) ->
			victim = p + 1;
			spot = tail[p];
			assert((slot[AT(p, spot)] & ~AWAITED) == OWN);
			slot[AT(p, spot)] = slot[AT(p, spot)] - OWN + TAKEN(me);
			tail[p]++;
			more = PUBLIC_AT(p)
		:: else
		fi
	};
#ifndef NOT_WANTED
	if
	:: victim != 0 && !more -> wanted[victim - 1] = true /* J4 */
	:: else
	fi
#endif
}

/* ---- core/fork_join/team.c --------------------------------------------------------- */

/* may_help() */
#define MAY_HELP (guests == 0 || guests + helpers < TEAM)


/* team_sign_off(), F3 */
inline team_sign_off()
{
	d_step {
		seat = false;
		store(SIGN_OFF, 0);
		fence(SEAT_FENCE)
	}
}

/* team_visible() */
inline team_visible()
{
	visible = false;
	place = 0;
	do
	:: place == PLACES || visible -> break
	:: else ->
		d_step {
			do
			:: place < PLACES && !FORKS(place) -> place++
			:: else -> break
			od;
			if
			:: place < PLACES ->
				visible = PUBLIC_AT(place);
				place++
			:: else
			fi
		}
	od;
	place = 0
}

/* team_sign_on(), once a job was seen; without guests, helpers are not
 * counted. */
inline team_sign_on()
{
	team_visible();
	if
	:: visible ->
		visible = false;
		saw = guests;
		if
		:: saw == 0 -> helps = true
		:: else ->
#ifdef SEAT_IN_STEPS
			if
			:: saw + helpers < TEAM ->
				d_step {
					seat = saw + helpers < TEAM;
					helpers++
				};
				if
				:: seat -> helps = true
				:: else -> helpers--
				fi
			:: else
			fi
#else
			d_step {
				if
				:: saw + helpers < TEAM ->
					helpers++;
					seat = true;
					helps = true
				:: else
				fi
			}
#endif
		fi;
		saw = 0
	:: else
	fi
}

/* wake_lines() */
inline wake_asleep()
{
	word = asleep;
	do
	:: word == 0 -> break
	:: else ->
		d_step {
			target = 0;
			do
			:: !(word & BIT(target)) -> target++
			:: else -> break
			od;
			word = word & ~BIT(target);
			if
			:: asleep & BIT(target) ->
				asleep = asleep & ~BIT(target);
				woke = true;
				word = 0
			:: else
			fi
		}
	od;
	if
	:: woke -> d_step { ended[target] = true; target = 0 }
	:: else -> target = 0
	fi
}

/* team_wake() */
inline team_wake()
{
	wake_asleep();
	if
	:: woke -> woke = false
	:: else ->
		if
		:: MAY_HELP -> idle_wake()
		:: else
		fi
	fi;
	LOOKED
}

/* ---- core/fork_join/fork_join.c -------------------------------------------------------- */

/* fork_join_steal_owner(): of anybody, from a random one on. */
inline forks_steal()
{
	if
	:: first = 0
#if GUESTS > 1 || INSIDE || PARENTS
	:: first = WORKERS
#endif
	fi;
	place = 0;
	do
	:: place == PLACES || victim != 0 -> break
	:: else ->
		d_step {
			do
			:: place < PLACES &&
			   !(FORKS((first + place) % PLACES) &&
			     (first + place) % PLACES != me) ->
				place++
			:: else -> break
			od
		};
		if
		:: place < PLACES ->
			steal_from((first + place) % PLACES);
			place++
		:: else
		fi
	od;
	atomic { place = 0; first = 0 }
}

/* A call: of a job that was stolen, if victim is set, or of an own one. */
inline call(kind)
{
	top++;
	assert(top <= DEPTH);
	rest[top - 1] = DOES(kind);
	from[top - 1] = victim;
	at[top - 1] = spot;
	victim = 0;
	spot = 0;
	more = false
}

/* The slot of what is joined, and that it is asked to be told of its end. */
#define JOINED slot[AT(me, head - 1)]
inline jobs_await()
{
	d_step {
		awaits = JOINED != DONE;
		if
		:: awaits -> JOINED = JOINED | AWAITED
		:: else
		fi
	}
}

/* ---- core/loop/loop.c, core/loop/search.c ------------------------------------ */

/* work_find() */
inline work_find()
{
#if PRODUCERS || SPAWNS
	d_step {
		if
		:: inject > 0 -> inject--; hand = true
		:: else
		fi
	}
#else
	skip
#endif
}

/* find() */
inline find()
{
	work_find();
	do
	:: hand || victim != 0 -> break
	:: else ->
		team_sign_on();
		if
		:: helps ->
			helps = false;
			forks_steal();
			if
			:: victim == 0 && seat ->
				team_sign_off();
#ifdef NO_SEAT_LOOK
				break
#endif
			:: victim == 0 && !seat -> break
			:: else
			fi
		:: else -> break
		fi
	od
}

/* idle_notify() behind a push, I1 */
inline push_injected()
{
	d_step { store(INJECT, 0); fence(1) };
	idle_wake()
}

/* next_task(), of those that are modelled */
inline next_task()
{
#if PRODUCERS || SPAWNS
	atomic {
		if
		:: lifo[me] > 0 -> lifo[me]--; hand = true; spawned = true
		:: lifo[me] == 0 && inject > 0 -> inject--; hand = true
		:: else
		fi
	}
#else
	skip
#endif
}

/* ---- threads ------------------------------------------------------------- */

/* Where it goes on behind wakes and passes_on. */
#define TO_STEP   0
#define TO_RUNS   1
#define TO_POLL   2
#define TO_JOINED 3
#define TO_SLEEP  4
#define TO_TAKEN  5
#define TO_LEFT   6

#define STEP   (rest[top - 1] & 15)
#define PASSED rest[top - 1] = rest[top - 1] >> 4

proctype thread(byte me)
{
	byte target, word, place, victim, spot, first, head, top,
		after, saw;
	int rest[DEPTH];
	byte forked[DEPTH], from[DEPTH], at[DEPTH];
	bool hand, spawned, more, seat, helps, own, awaits, searches, was_last, woke,
		woken, visible;

	if
	:: me >= WORKERS -> goto enter
#if INSIDE
	:: atomic { me == 0 -> top = 1; rest[0] = TASK; goto step }
#endif
#ifdef ASLEEP
	:: me >= WORKERS - ASLEEP && me < WORKERS -> goto parks
#endif
	:: else
	fi;

	/* loop_run(), and the rounds of wait_for_task() */
tick:
	next_task();
	if
	:: hand -> goto poll
	:: !hand && stopping -> goto leaves
	:: else
	fi;

	/* search_and_sleep(), I2 */
	idle_try_search();
	if
	:: searches -> goto look
	:: else
	fi;
park:
	idle_park_begin();
#ifdef NO_RECHECK
	goto looked;
#endif
look:
	find(); /* search(); or I2, F2 */
	if
	:: searches && (hand || victim != 0) -> goto found
	:: searches && !hand && victim == 0 ->
		/* for any time */
		if
		:: goto look
		:: goto park
		fi
	:: else
	fi;
looked:
	if
	:: hand || victim != 0 || stopping -> idle_park_cancel(); goto found
	:: else
	fi;
	LOOKED
parks:
	/* sleep_parked() */
	do
	:: !(parked & BIT(me)) -> break
	:: else -> d_step { notified[me] -> notified[me] = false }
	od;
	searches = true;
	if
	:: stopping -> goto leaves
	:: else -> goto look
	fi;

	/* found(), I3 */
found:
	idle_leave_search();
	if
	:: was_last -> was_last = false
	:: else -> goto taken
	fi;
	/* wake_for_rest(), I3 and F3 */
#if PRODUCERS || SPAWNS
	if
	:: inject > 0 -> idle_wake()
	:: else
	fi;
#endif
#ifndef SEARCHER_BLIND
	atomic { after = TO_TAKEN; goto passes_on };
#endif
	LOOKED
taken:
	if
	:: hand -> goto poll
	:: victim != 0 -> goto runs /* run_job() */
	:: else -> goto tick
	fi;

	/* poll_task() */
poll:
	if
	:: spawned -> spawned = false; met >= MEET
	:: else
	fi;
	atomic { hand = false; left--; goto tick };

	/* What is left of run_job(): between two jobs it sees to its tasks. */
job_done:
	if
	:: seat -> team_sign_off()
	:: else -> goto tick
	fi;
#if PRODUCERS || SPAWNS
	next_task();
	if
	:: hand ->
#ifndef WORKER_KEEPS
		atomic { after = TO_POLL; goto passes_on }; /* F4 */
#endif
		LOOKED
		goto poll
	:: else
	fi;
#endif
	goto tick;

	/* skua_run(), team_enter() */
enter:
	atomic {
		guests++;
		top = 1;
		rest[0] = (me == WORKERS -> GUEST : OTHER);
		goto step
	};

	/* fork_join_run_owner(): what was stolen */
runs:
	atomic { call(job[AT(victim - 1, spot)]) };

	/* The user's function. */
step:
	if
	:: STEP >= 1 && STEP <= KINDS ->
		/* skua_fork() */
		atomic {
			job[AT(me, head)] = STEP;
			slot[AT(me, head)] = OWN;
			head++;
			forked[top - 1]++;
			PASSED;
			if
			:: wanted[me] || ALWAYS ->
				/* skua_fork_wanted(), F1 */
				jobs_publish();
				fence(PUBLISHER_FENCE)
			:: else -> goto step
			fi
		};
		goto wakes
	:: STEP == MEETS ->
		d_step { met++; PASSED };
		atomic { met >= MEET -> goto step }
	:: atomic { STEP == COMES -> met++; PASSED; goto step }
	:: atomic { STEP == AWAITS && met >= MEET -> PASSED; goto step }
	:: atomic { STEP == ASKED && wanted[me] -> PASSED; goto step }
	:: STEP == SPAWN ->
		atomic {
			PASSED;
			if
			:: me < WORKERS -> lifo[me]++; goto step
			:: else
			fi
		};
		push_injected();
		LOOKED
		goto step
	:: atomic { STEP == JOINS -> PASSED; goto join }
	:: STEP == END && forked[top - 1] > 0 -> goto join
	:: STEP == END && forked[top - 1] == 0 -> goto returns
	fi;

	/* skua_join(): private, or skua_reclaim_shared() */
join:
	atomic {
		assert(late[me] == NOTHING);
		if
		:: !all_stolen[me] && head > split[me] -> own = true
		:: else
		fi
	};
#if defined(TAKES_BACK_IN_STEPS) || defined(PUTS_BACK_SILENTLY)
	if
	:: own || all_stolen[me]
	:: else ->
		spot = tail[me];
		d_step {
			if
			:: spot >= head -> set_all_stolen()
			:: else ->
				spot = spot + (head - spot) / 2;
				place = tail[me];
				split[me] = spot;
				if
				:: place >= head -> set_all_stolen()
				:: else -> own = true
				fi
			fi
		};
		atomic {
			if
#ifdef TAKES_BACK_IN_STEPS
			:: own && place > spot ->
#else
			:: own && place >= spot ->
#endif
				spot = place + (head - place) / 2;
				split[me] = spot
			:: else
			fi;
			if
			:: own && spot == head - 1 && place == head - 1 ->
				set_all_stolen()
			:: else
			fi;
			spot = 0;
			place = 0
		}
	fi;
#else
	d_step {
		if
		:: own
		:: else -> jobs_reclaim()
		fi
	};
#endif
	if
	:: atomic { own ->
		    own = false;
		    head--;
		    forked[top - 1]--;
		    slot[AT(me, head)] = DONE;
		    call(job[AT(me, head)]);
		    job[AT(me, head)] = END;
		    goto step }
	:: else
	fi;

	/* fork_join_wait_owner(), spin() */
joining:
	if
	:: d_step { JOINED != DONE ->
		    first = (JOINED & ~AWAITED) - TAKEN(0) }
	:: JOINED == DONE ->
		/* F4: woken for jobs, and none taken. */
#ifndef JOINER_KEEPS
		if
		:: atomic { woken -> woken = false;
			    after = TO_JOINED;
			    goto passes_on }
		:: else
		fi;
#endif
joined:
		atomic {
			woken = false;
			head--;
			forked[top - 1]--;
			goto step
		}
	fi;
	/* help(): of the thief first; then of strangers, unless tasks wait */
	if
	:: FORKS(first) -> steal_from(first)
	:: else
	fi;
	first = 0;
	if
	:: victim == 0 && inject == 0 -> forks_steal()
	:: else
	fi;
	if
	:: victim != 0 ->
		woken = false;
#ifndef THIEF_SILENT
		if
		:: atomic { more -> after = TO_RUNS; goto wakes } /* F3 */
		:: else
		fi;
#endif
		goto runs
	:: else ->
		if
		:: goto joining
		:: true
		fi
	fi;
#ifndef JOINER_KEEPS
	if
	:: atomic { woken -> woken = false;
		    after = TO_SLEEP;
		    goto passes_on }
	:: else
	fi;
#endif
	/* sleep_in_join() */
sleep:
	if
	:: inject > 0 ->
		jobs_await();
		if
		:: awaits ->
			d_step { ended[me] -> ended[me] = false };
			awaits = false
		:: else
		fi;
		goto joining
	:: else
	fi;
	/* team_sleep_begin(), F2 */
	d_step { store(SLEEP, 0); fence(SLEEPER_FENCE) };
#ifndef NO_SLEEPER_LOOK
	team_visible();
#endif
	LOOKED
	do
	:: visible -> break
	:: else ->
		jobs_await();
		if
		:: awaits && (asleep & BIT(me)) ->
			d_step { ended[me] -> ended[me] = false }
		:: else -> break
		fi
	od;
	/* team_sleep_end() */
	atomic {
		woken = !(asleep & BIT(me));
		asleep = asleep & ~BIT(me);
		visible = false;
		awaits = false;
		goto joining
	};

	/* The end of fork_join_run_owner(), of an own job, or of a root. */
returns:
	skip;
progress:
	atomic {
		top--;
		victim = from[top];
		spot = at[top];
		from[top] = 0;
		at[top] = 0;
		if
		:: victim == 0 && top > 0 -> goto step
		:: victim == 0 && top == 0 -> goto root_done
		:: else
		fi
	};
	/* split_deque_done() */
	d_step {
		awaits = (slot[AT(victim - 1, spot)] & AWAITED) != 0;
		slot[AT(victim - 1, spot)] = DONE;
		job[AT(victim - 1, spot)] = END
	};
#ifndef THIEF_LEAVES_SLEEPER
	if
	:: awaits -> ended[victim - 1] = true
	:: else
	fi;
#endif
	atomic {
		awaits = false;
		victim = 0;
		spot = 0;
		if
		:: top > 0 -> goto joining
		:: else -> goto job_done
		fi
	};

root_done:
	if
	:: me < WORKERS -> atomic { left--; goto tick }
	:: else
	fi;
	/* team_leave(), F3 */
	d_step { store(LEAVE, 0); fence(GUEST_FENCE) };
#ifndef GUEST_SILENT
	atomic { after = TO_LEFT; goto passes_on };
#endif
	LOOKED
left_team:
#ifdef REPEAT
	goto enter;
#endif
	atomic { left--; goto ends };

	/* team_pass_on(); and team_wake(), which team_notify() calls */
passes_on:
	team_visible();
	LOOKED
	if
	:: visible -> visible = false
	:: else -> goto back
	fi;
wakes:
	team_wake();
back:
	atomic {
		first = after;
		after = TO_STEP;
		if
		:: first == TO_STEP -> goto step
		:: first == TO_RUNS -> first = 0; goto runs
		:: first == TO_POLL -> first = 0; goto poll
		:: first == TO_JOINED -> first = 0; goto joined
		:: first == TO_SLEEP -> first = 0; goto sleep
		:: first == TO_TAKEN -> first = 0; goto taken
		:: first == TO_LEFT -> first = 0; goto left_team
		fi
	};

leaves:
	atomic {
		make_visible(me);
		over_counted = over_counted + searches;
		over++
	};
ends:
	skip
}

/* pool_inject(), as skua_task_spawn() from outside */
proctype producer(byte me)
{
	byte target, word;
	bool woke;

	push_injected();
	LOOKED
	left--
}

/* pool_stop(), when all is done */
proctype ender()
{
	byte me = ENDER;
	byte target, word;
	bool woke;

	left == 0;
	d_step { store(STOP, 0); fence(1) };
	idle_wake_all();
	over == WORKERS;
	assert(searching == over_counted && parked == 0);
	assert(helpers == 0 && guests == 0 && asleep == 0 && inject == 0);
	do
	:: target == PLACES -> break
	:: else -> assert(!PUBLIC_AT(target)); target++
	od
}

init
{
	byte i;

	atomic {
#ifdef ASLEEP
		parked = ALL & ~(BIT(WORKERS - ASLEEP) - 1);
#endif
		do
		:: i < PLACES ->
			all_stolen[i] = true;
			wanted[i] = true;
			run thread(i);
			i++
		:: else -> break
		od;
		do
		:: i < PLACES + PRODUCERS -> run producer(i); i++
		:: else -> break
		od;
		i = 0;
#ifndef REPEAT
		run ender()
#endif
	}
}

#ifdef W1
ltl w1 { <> (left == 0) }
#endif
