// SPDX-License-Identifier: MIT
//! timers.rs - add and drop very many timers, and measure how late timers fire, as in
//! bench/workloads/tasks/timers.c

use crate::harness::{clock_ns, leak, percentiles, scatter, Options, Workload};
use crate::{runtime, Stop};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::task::{unconstrained, yield_now};
use tokio::time::{sleep_until, Sleep};

const TIMERS: usize = 1_000_000;
const SLEEPERS: u64 = 1000;
/// Number of timers added or dropped in one poll.
const BATCH: usize = 1000;
const FAR_NS: u64 = 3_600_000_000_000;
const NEAR_NS: u64 = 1_000_000;
const WITHIN_NS: u64 = 50_000_000;

#[derive(Default)]
struct Sleeper {
    late_ns: AtomicU64,
    ran: AtomicBool,
    early: AtomicBool,
}

struct Timers {
    rt: Runtime,
    workers: usize,
    sleepers: &'static [Sleeper],
    awake: &'static AtomicU64,
    stop: Stop,
    add_ns: u64,
    cancel_ns: u64,
    sum_add_ns: u64,
    sum_cancel_ns: u64,
    rounds: u64,
    late_ns: Vec<u64>,
}

type FarTimers = Vec<Pin<Box<Sleep>>>;

/// Registers a batch of timers with the runtime. A Sleep registers itself in its first poll.
struct AddBatch<'a>(&'a mut FarTimers);

impl Future for AddBatch<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let start = Instant::now();
        let far = &mut self.0;
        let end = TIMERS.min(far.len() + BATCH);
        while far.len() < end {
            let ns = FAR_NS + scatter(far.len() as u64) % FAR_NS;
            let mut sleep = Box::pin(sleep_until((start + Duration::from_nanos(ns)).into()));
            assert!(sleep.as_mut().poll(cx).is_pending());
            far.push(sleep);
        }
        Poll::Ready(())
    }
}

async fn add_far() -> (FarTimers, u64) {
    let mut far = Vec::with_capacity(TIMERS);
    let mut ns = 0;
    while far.len() < TIMERS {
        let start = clock_ns();
        AddBatch(&mut far).await;
        ns += clock_ns() - start;
        yield_now().await;
    }
    (far, ns)
}

async fn cancel_far(mut far: FarTimers) -> u64 {
    let mut ns = 0;
    far.reverse(); // so that they are dropped in the order in which they were added
    while !far.is_empty() {
        let start = clock_ns();
        far.truncate(far.len().saturating_sub(BATCH));
        ns += clock_ns() - start;
        yield_now().await;
    }
    ns
}

async fn sleep_once(i: u64, sleeper: &'static Sleeper, awake: &'static AtomicU64) {
    let due = Instant::now() + Duration::from_nanos(NEAR_NS + scatter(i) % WITHIN_NS);
    sleep_until(due.into()).await;
    let now = Instant::now();
    sleeper.early.store(now < due, Relaxed);
    let late = now.saturating_duration_since(due);
    sleeper.late_ns.store(late.as_nanos() as u64, Relaxed);
    sleeper.ran.store(true, Relaxed);
    awake.fetch_add(1, Release);
}

async fn be_busy(stop: Stop) {
    while !stop.load(Relaxed) {
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(10) {
            std::hint::spin_loop();
        }
        yield_now().await;
    }
}

impl Timers {
    fn sleep_beside_load(&self) {
        self.stop.store(false, Relaxed);
        let busy: Vec<_> = (0..2 * self.workers)
            .map(|_| self.rt.spawn(be_busy(self.stop)))
            .collect();
        for (i, sleeper) in (0..).zip(self.sleepers) {
            self.rt.spawn(sleep_once(i, sleeper, self.awake));
        }
        let start = Instant::now();
        while self.awake.load(Acquire) < SLEEPERS && start.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(1));
        }
        self.stop.store(true, Relaxed);
        for task in busy {
            self.rt.block_on(task).unwrap();
        }
    }
}

impl Workload for Timers {
    fn ops(&self) -> u64 {
        TIMERS as u64
    }

    fn params(&self) -> String {
        format!("{{\"timers\":{TIMERS},\"sleepers\":{SLEEPERS}}}")
    }

    fn prepare(&mut self) {
        self.awake.store(0, Relaxed);
        for sleeper in self.sleepers {
            sleeper.ran.store(false, Relaxed);
        }
    }

    fn round(&mut self) {
        // Unconstrained, because otherwise one poll could handle at most 128 timers.
        let task = self.rt.spawn(unconstrained(add_far()));
        let (far, ns) = self.rt.block_on(task).unwrap();
        self.add_ns = ns;
        self.sleep_beside_load();
        let task = self.rt.spawn(unconstrained(cancel_far(far)));
        self.cancel_ns = self.rt.block_on(task).unwrap();
    }

    fn check(&mut self) -> bool {
        let count = |f: fn(&Sleeper) -> bool| self.sleepers.iter().filter(|s| f(s)).count();
        let lost = count(|s| !s.ran.load(Relaxed));
        let early = count(|s| s.early.load(Relaxed));
        if lost + early > 0 {
            eprintln!("timers: {early} of the near ones early, {lost} lost");
        }
        lost + early == 0
    }

    fn sample(&mut self, _: u64) -> f64 {
        self.rounds += 1;
        self.sum_add_ns += self.add_ns;
        self.sum_cancel_ns += self.cancel_ns;
        let late = self.sleepers.iter().map(|s| s.late_ns.load(Relaxed));
        self.late_ns.extend(late);
        (self.add_ns + self.cancel_ns) as f64 / TIMERS as f64
    }

    fn figures(&mut self) -> Vec<(&'static str, String)> {
        let timers = self.rounds as f64 * TIMERS as f64;
        vec![
            ("add_ns", format!("{:.2}", self.sum_add_ns as f64 / timers)),
            (
                "cancel_ns",
                format!("{:.2}", self.sum_cancel_ns as f64 / timers),
            ),
            ("latency_ns", percentiles(&mut self.late_ns, 1)),
        ]
    }
}

pub fn timers(options: &Options) -> Box<dyn Workload> {
    Box::new(Timers {
        rt: runtime(options),
        workers: options.workers,
        sleepers: leak(SLEEPERS as usize),
        awake: &leak(1)[0],
        stop: &leak(1)[0],
        add_ns: 0,
        cancel_ns: 0,
        sum_add_ns: 0,
        sum_cancel_ns: 0,
        rounds: 0,
        late_ns: Vec::new(),
    })
}
