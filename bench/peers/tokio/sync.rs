// SPDX-License-Identifier: MIT
//! sync.rs - tasks that lock, wait and signal (bench/workloads/tasks/sync.c)

use super::{runtime, Countdown};
use crate::harness::{leak, Options, Runs, Workload};
use std::cell::UnsafeCell;
use std::future::Future;
use std::sync::atomic::Ordering::Release;
use std::sync::mpsc::Receiver;
use tokio::runtime::Runtime;
use tokio::sync::{Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore};

/// A number that the semaphore guards.
struct Guarded(UnsafeCell<u64>);

// The semaphore has one permit.
unsafe impl Sync for Guarded {}

/// The objects of a round.
struct Shared {
    mutex: Mutex<u64>,
    rwlock: RwLock<u64>,
    semaphore: Semaphore,
    guarded: Guarded,
    notifies: Vec<Notify>,
    barrier: Barrier,
    once: OnceCell<u64>,
}

struct SyncTasks {
    name: &'static str,
    rt: Runtime,
    tasks: usize,
    times: u64,
    counted: &'static [Runs], // by each task
    shared: &'static Shared,
    expected: u64, // what all tasks have counted, and the shared number, together
    countdown: &'static Countdown,
    wait: Receiver<()>,
    start: fn(&SyncTasks),
}

impl SyncTasks {
    fn new(options: &Options, name: &'static str, tasks: usize, times: u64) -> SyncTasks {
        let (countdown, wait) = Countdown::new();
        SyncTasks {
            name,
            rt: runtime(options),
            tasks,
            times,
            counted: leak(tasks),
            shared: SyncTasks::shared(tasks),
            expected: tasks as u64 * times,
            countdown,
            wait,
            start: |_| (),
        }
    }

    /// One is never freed: there is one for each round.
    fn shared(tasks: usize) -> &'static Shared {
        Box::leak(Box::new(Shared {
            mutex: Mutex::new(0),
            rwlock: RwLock::new(1),
            semaphore: Semaphore::new(1),
            guarded: Guarded(UnsafeCell::new(0)),
            notifies: (0..tasks).map(|_| Notify::new()).collect(),
            barrier: Barrier::new(tasks),
            once: OnceCell::new(),
        }))
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let countdown = self.countdown;
        self.rt.spawn(async move {
            task.await;
            countdown.one();
        });
    }
}

impl Workload for SyncTasks {
    fn ops(&self) -> u64 {
        self.tasks as u64 * self.times
    }

    fn params(&self) -> String {
        format!("{{\"tasks\":{},\"times\":{}}}", self.tasks, self.times)
    }

    fn prepare(&mut self) {
        self.counted.iter().for_each(Runs::reset);
        self.shared = SyncTasks::shared(self.tasks);
    }

    fn round(&mut self) {
        self.countdown.left.store(self.tasks, Release);
        (self.start)(self);
        self.wait.recv().unwrap();
    }

    fn check(&mut self) -> bool {
        let counted: u64 = self.counted.iter().map(Runs::get).sum();
        let shared = *self.shared.mutex.try_lock().unwrap();
        let sum = counted + shared + unsafe { *self.shared.guarded.0.get() };
        if sum != self.expected {
            eprintln!("{}: counted {sum}, not {}", self.name, self.expected);
        }
        sum == self.expected
    }
}

const ALONE: u64 = 1_000_000;

fn mutex_of(options: &Options, name: &'static str, tasks: usize, times: u64) -> SyncTasks {
    SyncTasks {
        start: |b| {
            for _ in 0..b.tasks {
                let (shared, times) = (b.shared, b.times);
                b.spawn(async move {
                    for _ in 0..times {
                        *shared.mutex.lock().await += 1;
                    }
                });
            }
        },
        ..SyncTasks::new(options, name, tasks, times)
    }
}

pub fn mutex(options: &Options) -> Box<dyn Workload> {
    Box::new(mutex_of(options, "mutex", 1, ALONE))
}

pub fn mutex_contended(options: &Options) -> Box<dyn Workload> {
    Box::new(mutex_of(options, "mutex_contended", 8, 50_000))
}

pub fn rwlock(options: &Options) -> Box<dyn Workload> {
    Box::new(SyncTasks {
        start: |b| {
            let (shared, own, times) = (b.shared, &b.counted[0], b.times);
            b.spawn(async move {
                for _ in 0..times {
                    own.add(*shared.rwlock.read().await);
                }
            });
        },
        ..SyncTasks::new(options, "rwlock", 1, ALONE)
    })
}

pub fn semaphore(options: &Options) -> Box<dyn Workload> {
    Box::new(SyncTasks {
        start: |b| {
            let (shared, times) = (b.shared, b.times);
            b.spawn(async move {
                for _ in 0..times {
                    let _permit = shared.semaphore.acquire().await.unwrap();
                    unsafe { *shared.guarded.0.get() += 1 };
                }
            });
        },
        ..SyncTasks::new(options, "semaphore", 1, ALONE)
    })
}

pub fn notify(options: &Options) -> Box<dyn Workload> {
    Box::new(SyncTasks {
        start: |b| {
            let all = &b.shared.notifies;
            all[0].notify_one();
            for (i, own) in b.counted.iter().enumerate() {
                let (notify, next) = (&all[i], &all[(i + 1) % all.len()]);
                let times = b.times;
                b.spawn(async move {
                    for _ in 0..times {
                        notify.notified().await;
                        own.add(1);
                        next.notify_one();
                    }
                });
            }
        },
        ..SyncTasks::new(options, "notify", 2, 100_000)
    })
}

pub fn barrier(options: &Options) -> Box<dyn Workload> {
    Box::new(SyncTasks {
        expected: 10_000, // leaders
        start: |b| {
            for own in b.counted {
                let (shared, times) = (b.shared, b.times);
                b.spawn(async move {
                    for _ in 0..times {
                        own.add(shared.barrier.wait().await.is_leader() as u64);
                    }
                });
            }
        },
        ..SyncTasks::new(options, "barrier", 8, 10_000)
    })
}

pub fn once(options: &Options) -> Box<dyn Workload> {
    Box::new(SyncTasks {
        start: |b| {
            let (shared, own, times) = (b.shared, &b.counted[0], b.times);
            b.spawn(async move {
                for _ in 0..times {
                    own.add(*shared.once.get_or_init(|| async { 1 }).await);
                }
            });
        },
        ..SyncTasks::new(options, "once", 1, ALONE)
    })
}
