// SPDX-License-Identifier: MIT
//! main.rs - Tokio on the workloads of skua-bench
//!
//! The first nine workloads, with their constants, come from Tokio's own benchmark
//! rt_multi_threaded. They are written here like those in skua's bench/workloads/tasks/:
//!
//!   spawn_many_local         20 times: an external thread spawns 10,000 empty
//!                            tasks; the last task wakes it
//!   spawn_many_worker        the same, by a task, which joins each
//!   spawn_many_remote_idle   like spawn_many_local, but the thread joins each
//!                            task (block_on)
//!   spawn_many_remote_busy1  the same, 5 times, while two tasks for each worker
//!                            use 10 us and yield, again and again
//!   spawn_many_remote_busy2  5 times 1,000 tasks, while one chain of tasks for
//!                            each worker runs: each task uses 10 us and spawns
//!                            its successor
//!   yield_many               5 times: 200 tasks yield 1,000 times each
//!   ping_pong                50 times: 1,000 tasks, each of which spawns a
//!                            partner, sends it a number and awaits an answer
//!   chained_spawn            100 times: 1,000 tasks, each spawns the next one
//!   join_one                 200,000 times: a task spawns a task and awaits it
//!
//! The others come from skua:
//!
//!   wake          an external thread wakes a task 1,000 times, 60 us apart; in
//!                 turn, it wakes a thread that sleeps on a futex
//!   parallel_map  an external thread spawns 10,000 tasks of about 1 us
//!   timers        one task adds and drops 10^6 timers; meanwhile 1,000 tasks
//!                 sleep 1 to 51 ms beside two busy tasks for each worker
//!   mutex, mutex_contended, rwlock, semaphore, notify, barrier, once
//!                 the same with tokio::sync, and a task for each fiber (sync.rs)
//!   select_1, select_2, select_8
//!                 the same with tokio::sync and select! (selects.rs)
//!   oneshot, broadcast, watch
//!                 the same with tokio::sync (values.rs)
//!   blocking, blocking_sleeps
//!                 the same with spawn_blocking() (blocking.rs)
//!   uts           unbalanced tree search with a task for each node
//!   echo_1, echo_50, echo_10k
//!                 echo servers, which a client in another process asks (echo.rs)
//!   rpc           20,000 calls in an open loop with a task for each call, by the
//!                 same plan, spawned by a pinned thread that spins
//!
//! Differences that cannot be avoided:
//! - Some versions of Tokio (such as 1.24) poll the LIFO slot without a bound. The chains
//!   of spawn_many_remote_busy2 then starve all other tasks, and the workload is skipped
//!   (exit code 77).
//! - Tokio allocates each task.
//! - Where skua waits for its runtime to drain, this program waits with an atomic count
//!   and a channel, as Tokio's benchmark does.
//! - Tokio's workers are not pinned. On a busy machine, the worker that `wake` or `rpc`
//!   wakes may take over the caller's CPU.
//! - Tokio's timers have a resolution of 1 ms, and each far timer is an allocation.
//! - uts counts live tasks with one counter for all workers; skua has one for each.
//!
//! The runtime has its I/O and time drivers enabled, as in Tokio's benchmark.

mod blocking;
mod channels;
mod echo;
mod files;
#[path = "../harness/mod.rs"]
mod harness;
mod rpc;
mod selects;
mod sync;
mod timers;
mod uts;
mod values;
mod wake;

use harness::{case, check_runs, leak, map, Case, Options, Peer, Runs, Workload};
use std::process::exit;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::yield_now;

fn runtime(options: &Options) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(options.workers).enable_all();
    builder.build().unwrap()
}

// ---- wait for the last of many tasks ----------------------------------------

struct Countdown {
    left: AtomicUsize,
    done: SyncSender<()>,
}

impl Countdown {
    fn new() -> (&'static Countdown, Receiver<()>) {
        let (done, wait) = sync_channel(1);
        let left = AtomicUsize::new(0);
        (Box::leak(Box::new(Countdown { left, done })), wait)
    }

    fn one(&self) {
        if self.left.fetch_sub(1, AcqRel) == 1 {
            self.done.send(()).unwrap();
        }
    }
}

// ---- tasks that keep the workers busy (bench/workloads/background_load.c) ----

type Stop = &'static AtomicBool;

/// Ends the load when it is dropped.
struct StopAtEnd(Stop);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Uses 10 us. Returns false if the load must stop.
fn stall(stop: Stop) -> bool {
    let start = Instant::now();
    if stop.load(Relaxed) {
        return false;
    }
    while start.elapsed() < Duration::from_micros(10) {
        thread::yield_now();
    }
    true
}

fn start_yielding(rt: &Runtime, stop: Stop) {
    rt.spawn(async move {
        while stall(stop) {
            yield_now().await;
        }
    });
}

fn chain_link(stop: Stop) {
    if stall(stop) {
        tokio::spawn(async move { chain_link(stop) });
    }
}

// ---- batches of tasks ---------------------------------------------------------

struct Batches {
    name: &'static str,
    stop: StopAtEnd, // before the runtime ends
    rt: Runtime,
    runs: &'static [Runs], // one for each task
    repeat: u64,
    tasks: u64,    // in a batch; runs[] is shorter if the batch reuses a task
    per_task: u64, // operations
    expected: u64, // runs of a task
    more_params: &'static str,
    countdown: &'static Countdown,
    wait: Receiver<()>,
    whole_round: fn(&Batches),
}

impl Batches {
    fn new(options: &Options, name: &'static str, tasks: usize, repeat: u64) -> Batches {
        let (countdown, wait) = Countdown::new();
        Batches {
            name,
            stop: StopAtEnd(&leak(1)[0]),
            rt: runtime(options),
            runs: leak(tasks),
            repeat,
            tasks: tasks as u64,
            per_task: 1,
            expected: repeat,
            more_params: "",
            countdown,
            wait,
            whole_round: |_| (),
        }
    }

    /// Spawns a batch of `tasks` tasks, each of which counts down, and waits for the last.
    fn drain(&self, tasks: usize, spawn: impl FnOnce()) {
        self.countdown.left.store(tasks, Release);
        spawn();
        self.wait.recv().unwrap();
    }
}

impl Workload for Batches {
    fn ops(&self) -> u64 {
        self.tasks * self.repeat * self.per_task
    }

    fn params(&self) -> String {
        let (tasks, repeat) = (self.tasks, self.repeat);
        format!(
            "{{\"tasks\":{tasks},\"repeat\":{repeat}{}}}",
            self.more_params
        )
    }

    fn prepare(&mut self) {
        self.runs.iter().for_each(Runs::reset);
    }

    fn round(&mut self) {
        (self.whole_round)(self);
    }

    fn check(&mut self) -> bool {
        check_runs(self.name, self.runs, self.expected)
    }
}

fn spawn_many_local(options: &Options) -> Box<dyn Workload> {
    Box::new(Batches {
        more_params: ",\"await\":\"drain\"",
        whole_round: |b| {
            let countdown = b.countdown;
            for _ in 0..b.repeat {
                b.drain(b.runs.len(), || {
                    for runs in b.runs {
                        b.rt.spawn(async move {
                            runs.add_one();
                            countdown.one();
                        });
                    }
                });
            }
        },
        ..Batches::new(options, "spawn_many_local", 10_000, 20)
    })
}

fn spawn_many_worker(options: &Options) -> Box<dyn Workload> {
    Box::new(Batches {
        more_params: ",\"await\":\"join\"",
        whole_round: |b| {
            let (all, repeat) = (b.runs, b.repeat);
            let driver = b.rt.spawn(async move {
                let mut handles = Vec::with_capacity(all.len());
                for _ in 0..repeat {
                    for runs in all {
                        handles.push(tokio::spawn(async { runs.add_one() }));
                    }
                    for handle in handles.drain(..) {
                        handle.await.unwrap();
                    }
                }
            });
            b.rt.block_on(driver).unwrap();
        },
        ..Batches::new(options, "spawn_many_worker", 10_000, 20)
    })
}

fn spawn_many_remote(options: &Options, name: &'static str, tasks: usize, repeat: u64) -> Batches {
    Batches {
        more_params: ",\"await\":\"join\"",
        whole_round: |b| {
            let mut handles = Vec::with_capacity(b.runs.len());
            for _ in 0..b.repeat {
                for runs in b.runs {
                    handles.push(b.rt.spawn(async { runs.add_one() }));
                }
                b.rt.block_on(async {
                    for handle in handles.drain(..) {
                        handle.await.unwrap();
                    }
                });
            }
        },
        ..Batches::new(options, name, tasks, repeat)
    }
}

fn spawn_many_remote_idle(options: &Options) -> Box<dyn Workload> {
    let name = "spawn_many_remote_idle";
    Box::new(spawn_many_remote(options, name, 10_000, 20))
}

fn spawn_many_remote_busy1(options: &Options) -> Box<dyn Workload> {
    let b = spawn_many_remote(options, "spawn_many_remote_busy1", 10_000, 5);
    for _ in 0..2 * options.workers {
        start_yielding(&b.rt, b.stop.0);
    }
    Box::new(b)
}

/// A task that has not run after this time is starved: it will never run.
const STARVED: Duration = Duration::from_secs(10);

fn spawn_many_remote_busy2(options: &Options) -> Box<dyn Workload> {
    let name = "spawn_many_remote_busy2";
    let b = spawn_many_remote(options, name, 1000, 5);
    let (ran, wait) = sync_channel(options.workers);
    for _ in 0..options.workers {
        let (stop, ran) = (b.stop.0, ran.clone());
        b.rt.spawn(async move {
            ran.send(()).unwrap();
            chain_link(stop)
        });
    }
    // Wait until all chains run. Only then can a test task show whether others still run.
    let all_run = (0..options.workers).all(|_| wait.recv_timeout(STARVED).is_ok());
    b.rt.spawn(async move { ran.send(()).unwrap() });
    if !all_run || wait.recv_timeout(STARVED).is_err() {
        eprintln!(
            "{name}: skipped: chains of tasks kept another one from running for {STARVED:?}; \
             this Tokio takes from its LIFO slot without a bound"
        );
        exit(77);
    }
    Box::new(b)
}

const YIELDS: u64 = 1000;

fn yield_many(options: &Options) -> Box<dyn Workload> {
    let b = Batches::new(options, "yield_many", 200, 5);
    Box::new(Batches {
        per_task: YIELDS,
        expected: (YIELDS + 1) * b.repeat,
        more_params: ",\"yields\":1000",
        whole_round: |b| {
            let countdown = b.countdown;
            for _ in 0..b.repeat {
                b.drain(b.runs.len(), || {
                    for runs in b.runs {
                        b.rt.spawn(async move {
                            runs.add_one();
                            for _ in 0..YIELDS {
                                yield_now().await;
                                runs.add_one();
                            }
                            countdown.one();
                        });
                    }
                });
            }
        },
        ..b
    })
}

async fn ping(number: u64, right: &'static Runs, countdown: &'static Countdown) {
    let (to_pong, at_pong) = oneshot::channel::<u64>();
    let (to_ping, at_ping) = oneshot::channel::<u64>();
    tokio::spawn(async move {
        let number = at_pong.await.unwrap();
        to_ping.send(!number).unwrap();
    });
    to_pong.send(number).unwrap();
    if at_ping.await.unwrap() == !number {
        right.add_one();
    }
    countdown.one();
}

fn ping_pong(options: &Options) -> Box<dyn Workload> {
    Box::new(Batches {
        whole_round: |b| {
            let (countdown, all) = (b.countdown, b.runs);
            for _ in 0..b.repeat {
                b.drain(all.len(), || {
                    b.rt.spawn(async move {
                        for (number, right) in (0..).zip(all) {
                            tokio::spawn(ping(number, right, countdown));
                        }
                    });
                });
            }
        },
        ..Batches::new(options, "ping_pong", 1000, 50)
    })
}

fn next_link(links: &'static [Runs], countdown: &'static Countdown) {
    links[0].add_one();
    if links.len() > 1 {
        tokio::spawn(async move { next_link(&links[1..], countdown) });
    } else {
        countdown.one();
    }
}

fn chained_spawn(options: &Options) -> Box<dyn Workload> {
    Box::new(Batches {
        whole_round: |b| {
            let (countdown, links) = (b.countdown, b.runs);
            for _ in 0..b.repeat {
                b.drain(1, || {
                    b.rt.spawn(async move { next_link(links, countdown) });
                });
            }
        },
        ..Batches::new(options, "chained_spawn", 1000, 100)
    })
}

const CHILDREN: u64 = 1000 * 200;

fn join_one(options: &Options) -> Box<dyn Workload> {
    Box::new(Batches {
        tasks: 1000,
        expected: CHILDREN,
        whole_round: |b| {
            let child = &b.runs[0];
            let parent = b.rt.spawn(async move {
                for joined in 1..=CHILDREN {
                    tokio::spawn(async { child.add_one() }).await.unwrap();
                    assert_eq!(child.get(), joined, "a child had not run");
                }
            });
            b.rt.block_on(parent).unwrap();
        },
        ..Batches::new(options, "join_one", 1, 200)
    })
}

// ---- parallel_map -------------------------------------------------------------

struct Map {
    rt: Runtime,
    items: &'static [map::Item],
    countdown: &'static Countdown,
    wait: Receiver<()>,
}

impl Workload for Map {
    fn ops(&self) -> u64 {
        map::ITEMS
    }

    fn params(&self) -> String {
        map::params()
    }

    fn prepare(&mut self) {
        map::clear(self.items);
    }

    fn round(&mut self) {
        let countdown = self.countdown;
        countdown.left.store(self.items.len(), Release);
        for (number, item) in (0..).zip(self.items) {
            self.rt.spawn(async move {
                item.fill(number);
                countdown.one();
            });
        }
        self.wait.recv().unwrap();
    }

    fn check(&mut self) -> bool {
        map::check(self.items)
    }
}

fn parallel_map(options: &Options) -> Box<dyn Workload> {
    let (countdown, wait) = Countdown::new();
    Box::new(Map {
        rt: runtime(options),
        items: leak(map::ITEMS as usize),
        countdown,
        wait,
    })
}

// ---- all ----------------------------------------------------------------------

/// Options of the workloads with a client. --form concerns only skua.
const ECHO: &[&str] = &["--client", "--requests", "--form"];

const PEER: Peer = Peer {
    name: "tokio",
    version: env!("SKUA_PEER_VERSION"),
    cases: &[
        case(
            "parallel_map",
            "Compute a function of many numbers, one task for each",
            parallel_map,
        ),
        Case {
            takes: &["--tree"],
            ..case("uts", "Search an unbalanced tree, one task for each node", uts::uts)
        },
        case(
            "spawn_many_local",
            "Spawn 10,000 empty tasks from outside, wait for all",
            spawn_many_local,
        ),
        case(
            "spawn_many_worker",
            "Spawn 10,000 empty tasks from inside a task, join all",
            spawn_many_worker,
        ),
        case(
            "spawn_many_remote_idle",
            "Spawn 10,000 empty tasks from outside, join each",
            spawn_many_remote_idle,
        ),
        case(
            "spawn_many_remote_busy1",
            "Like spawn_many_remote_idle, beside tasks that yield",
            spawn_many_remote_busy1,
        ),
        case(
            "spawn_many_remote_busy2",
            "Like spawn_many_remote_idle, beside chains of tasks",
            spawn_many_remote_busy2,
        ),
        case("yield_many", "200 tasks yield 1,000 times each", yield_many),
        case(
            "ping_pong",
            "1,000 tasks exchange two messages with a partner each",
            ping_pong,
        ),
        case(
            "chained_spawn",
            "Each of 1,000 tasks spawns the next one",
            chained_spawn,
        ),
        case(
            "join_one",
            "A task spawns an empty task and waits for it",
            join_one,
        ),
        case(
            "mutex",
            "A task locks and unlocks a mutex that is free",
            sync::mutex,
        ),
        case(
            "mutex_contended",
            "Eight tasks lock and unlock one mutex",
            sync::mutex_contended,
        ),
        case(
            "rwlock",
            "A task locks a lock as a reader, and unlocks it",
            sync::rwlock,
        ),
        case(
            "semaphore",
            "A task takes a permit, and releases it",
            sync::semaphore,
        ),
        case(
            "notify",
            "Two tasks notify each other in turn",
            sync::notify,
        ),
        case(
            "barrier",
            "Eight tasks meet at a barrier again and again",
            sync::barrier,
        ),
        case(
            "once",
            "A task asks for something that is initialised",
            sync::once,
        ),
        case(
            "channel",
            "A task sends an item, and receives it",
            channels::channel,
        ),
        Case {
            takes: &["--pairs", "--times"],
            ..case(
                "channel_mpmc",
                "Tasks send, and as many others receive",
                channels::channel_mpmc,
            )
        },
        case(
            "channel_round_trip",
            "Two tasks send an item to and fro",
            channels::channel_round_trip,
        ),
        case(
            "select_1",
            "A task answers items from one channel, by a select",
            selects::select_1,
        ),
        case(
            "select_2",
            "A task answers items from 2 channels, by a select",
            selects::select_2,
        ),
        case(
            "select_8",
            "A task answers items from 8 channels, by a select",
            selects::select_8,
        ),
        case(
            "spsc",
            "A task sends, and another one receives",
            channels::spsc,
        ),
        case(
            "files",
            "Tasks read and write blocks of a file",
            files::files,
        ),
        case(
            "oneshot",
            "A task sends a number once, and receives it",
            values::oneshot,
        ),
        case(
            "broadcast",
            "A task sends numbers, and four receive each",
            values::broadcast,
        ),
        case(
            "watch",
            "Two tasks set a number, and wait for the other's",
            values::watch,
        ),
        case(
            "blocking",
            "A task calls a function by spawn_blocking()",
            blocking::blocking,
        ),
        case(
            "blocking_sleeps",
            "Tasks call a function that sleeps for 50 us",
            blocking::blocking_sleeps,
        ),
        case(
            "wake",
            "Latency of a task woken by a thread that is no worker",
            wake::wake,
        ),
        case(
            "timers",
            "Add and drop 10^6 timers; lateness of timers under load",
            timers::timers,
        ),
        Case {
            takes: ECHO,
            busy_caller: true,
            ..case(
                "echo_1",
                "Echo 64 bytes over TCP, one connection",
                echo::echo_1,
            )
        },
        Case {
            takes: ECHO,
            busy_caller: true,
            ..case(
                "echo_50",
                "Echo 64 bytes over TCP, 50 connections",
                echo::echo_50,
            )
        },
        Case {
            takes: ECHO,
            busy_caller: true,
            ..case(
                "echo_10k",
                "Echo 64 bytes over TCP, 10,000 connections, 100 at a time",
                echo::echo_10k,
            )
        },
        Case {
            takes: &["--service", "--load", "--calls", "--seed"],
            busy_caller: true,
            ..case(
                "rpc",
                "Calls in an open loop, compared with an ideal queue",
                rpc::rpc,
            )
        },
    ],
};

fn main() {
    PEER.main()
}
