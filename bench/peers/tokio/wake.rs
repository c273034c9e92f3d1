// SPDX-License-Identifier: MIT
//! wake.rs - an external thread wakes a waiting task, as in bench/workloads/tasks/wake.c

use crate::harness::{clock_ns, leak, percentiles, Options, Workload};
use crate::runtime;
use std::future::Future;
use std::os::raw::{c_int, c_long};
use std::pin::Pin;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::thread;
use tokio::runtime::Runtime;

const WAKES: u32 = 1000;
const GAP_US: u64 = 60;
/// The waking thread waits for a landing by spinning for this long, then it also yields.
const SPIN_NS: u64 = 200_000;
const LOST_NS: u64 = 10_000_000_000;

#[cfg(target_arch = "x86_64")]
const SYS_FUTEX: c_long = 202;
#[cfg(not(target_arch = "x86_64"))]
const SYS_FUTEX: c_long = 98;
const FUTEX_WAIT_PRIVATE: c_int = 128;
const FUTEX_WAKE_PRIVATE: c_int = 129;

type CpuSet = [u64; 16];

extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn sched_getaffinity(pid: c_int, size: usize, cpus: *mut CpuSet) -> c_int;
    fn sched_setaffinity(pid: c_int, size: usize, cpus: *const CpuSet) -> c_int;
}

/// Pins this thread to the first or the last of its CPUs. If that fails, the figures are
/// less precise, but not wrong.
pub fn pin(last: bool) {
    let mut cpus: CpuSet = [0; 16];
    unsafe { sched_getaffinity(0, std::mem::size_of::<CpuSet>(), &mut cpus) };
    let mut allowed = (0..1024).filter(|cpu| cpus[cpu / 64] >> (cpu % 64) & 1 == 1);
    let cpu = if last { allowed.last() } else { allowed.next() };
    if let Some(cpu) = cpu {
        let mut one: CpuSet = [0; 16];
        one[cpu / 64] = 1 << (cpu % 64);
        unsafe { sched_setaffinity(0, std::mem::size_of::<CpuSet>(), &one) };
    }
}

/// Where a woken task or thread reports that it is awake.
#[repr(align(128))]
#[derive(Default)]
struct Landing {
    ns: AtomicU64,
    count: AtomicU32,
}

impl Landing {
    fn land(&self, ns: u64) {
        self.ns.store(ns, Relaxed);
        self.count.fetch_add(1, Release);
    }

    /// Waits for landing number `count`. Returns its time.
    fn wait(&self, count: u32) -> u64 {
        let start = clock_ns();
        while self.count.load(Acquire) != count {
            let waited = clock_ns() - start;
            assert!(waited < LOST_NS, "a wake was lost");
            if waited > SPIN_NS {
                thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        self.ns.load(Relaxed)
    }
}

#[derive(Default)]
struct Sleepers {
    of_task: Landing,
    of_thread: Landing,
    waker: Mutex<Option<Waker>>,
    word: AtomicU32, // the futex on which the thread sleeps
    stop: AtomicBool,
}

struct SleepingTask {
    all: &'static Sleepers,
    told: bool,
}

impl Future for SleepingTask {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let now = clock_ns();
        if self.all.stop.load(Relaxed) {
            return Poll::Ready(());
        }
        if !self.told {
            *self.all.waker.lock().unwrap() = Some(cx.waker().clone());
            self.told = true;
        }
        self.all.of_task.land(now);
        Poll::Pending
    }
}

fn sleeping_thread(all: &'static Sleepers) {
    pin(false);
    for seen in 0.. {
        while all.word.load(Acquire) == seen {
            let no_timeout = std::ptr::null::<u8>();
            unsafe { syscall(SYS_FUTEX, &all.word, FUTEX_WAIT_PRIVATE, seen, no_timeout) };
        }
        if all.stop.load(Relaxed) {
            return;
        }
        all.of_thread.land(clock_ns());
    }
}

fn wake_thread(all: &Sleepers) {
    all.word.fetch_add(1, Release);
    unsafe { syscall(SYS_FUTEX, &all.word, FUTEX_WAKE_PRIVATE, 1) };
}

struct Wake {
    _rt: Runtime,
    all: &'static Sleepers,
    waker: Waker,
    thread: Option<thread::JoinHandle<()>>,
    wakes: u32, // number of wakes so far, of the task and of the thread
    task_ns: Vec<u64>,
    thread_ns: Vec<u64>,
    of_round: Vec<u64>,
}

/// Spins for the gap, wakes, and waits for the landing. Returns the latency, in ns.
fn measure_wake(wake: impl Fn(), landing: &Landing) -> u64 {
    let count = landing.count.load(Relaxed) + 1;
    let end = clock_ns() + GAP_US * 1000;
    while clock_ns() < end {
        std::hint::spin_loop();
    }
    let start = clock_ns();
    wake();
    landing.wait(count) - start
}

impl Workload for Wake {
    fn ops(&self) -> u64 {
        WAKES as u64
    }

    fn params(&self) -> String {
        format!("{{\"wakes\":{WAKES},\"gap\":{GAP_US}}}")
    }

    fn prepare(&mut self) {
        if self.wakes == WAKES {
            self.thread_ns.clear(); // drop the times of the warm-up
        }
        self.of_round.clear();
    }

    fn round(&mut self) {
        for _ in 0..WAKES {
            let ns = measure_wake(|| self.waker.wake_by_ref(), &self.all.of_task);
            self.of_round.push(ns);
            let ns = measure_wake(|| wake_thread(self.all), &self.all.of_thread);
            self.thread_ns.push(ns);
        }
        self.wakes += WAKES;
    }

    fn check(&mut self) -> bool {
        let polls = self.all.of_task.count.load(Acquire);
        let expected = self.wakes + 1; // the task was polled once before the first wake
        if polls != expected {
            eprintln!("wake: {polls} polls so far, not {expected}");
        }
        polls == expected
    }

    fn sample(&mut self, _: u64) -> f64 {
        self.task_ns.extend(&self.of_round);
        self.of_round.sort_unstable();
        self.of_round[(self.of_round.len() - 1) / 2] as f64
    }

    fn figures(&mut self) -> Vec<(&'static str, String)> {
        vec![
            ("latency_ns", percentiles(&mut self.task_ns, 1)),
            ("futex_latency_ns", percentiles(&mut self.thread_ns, 1)),
        ]
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        self.all.stop.store(true, Relaxed);
        self.waker.wake_by_ref();
        wake_thread(self.all);
        self.thread.take().unwrap().join().unwrap();
    }
}

pub fn wake(options: &Options) -> Box<dyn Workload> {
    let rt = runtime(options);
    let all: &'static Sleepers = &leak(1)[0];
    rt.spawn(SleepingTask { all, told: false });
    all.of_task.wait(1);
    let waker = all.waker.lock().unwrap().take().unwrap();
    let thread = Some(thread::spawn(move || sleeping_thread(all)));
    pin(true);
    Box::new(Wake {
        _rt: rt,
        all,
        waker,
        thread,
        wakes: 0,
        task_ns: Vec::new(),
        thread_ns: Vec::new(),
        of_round: Vec::new(),
    })
}
