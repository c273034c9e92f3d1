// SPDX-License-Identifier: MIT
//! values.rs - tasks that send a value once, an item to all, and the latest value
//! (bench/workloads/tasks/values.c)

use super::{runtime, Countdown};
use crate::harness::{leak, Options, Runs, Workload};
use std::future::Future;
use std::sync::atomic::Ordering::Release;
use std::sync::mpsc::Receiver;
use tokio::runtime::Runtime;
use tokio::sync::{broadcast, oneshot, watch, Semaphore};

const CAPACITY: usize = 128;
const BATCH: u64 = CAPACITY as u64 / 2;

struct Values {
    name: &'static str,
    rt: Runtime,
    receivers: usize,
    times: u64,
    sums: &'static [Runs], // of what each receiver has received
    countdown: &'static Countdown,
    wait: Receiver<()>,
    start: fn(&Values),
}

impl Values {
    fn new(options: &Options, name: &'static str, receivers: usize, times: u64) -> Values {
        let (countdown, wait) = Countdown::new();
        Values {
            name,
            rt: runtime(options),
            receivers,
            times,
            sums: leak(receivers.max(1)),
            countdown,
            wait,
            start: |_| (),
        }
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let countdown = self.countdown;
        self.rt.spawn(async move {
            task.await;
            countdown.one();
        });
    }
}

impl Workload for Values {
    fn ops(&self) -> u64 {
        self.times
    }

    fn params(&self) -> String {
        let (receivers, times) = (self.receivers, self.times);
        format!("{{\"receivers\":{receivers},\"times\":{times}}}")
    }

    fn prepare(&mut self) {
        self.sums.iter().for_each(Runs::reset);
    }

    fn round(&mut self) {
        self.countdown.left.store(self.receivers + 1, Release);
        (self.start)(self);
        self.wait.recv().unwrap();
    }

    fn check(&mut self) -> bool {
        let expected = self.sums.len() as u64 * (self.times * (self.times + 1) / 2);
        let sum: u64 = self.sums.iter().map(Runs::get).sum();
        if sum != expected {
            eprintln!("{}: received {sum}, not {expected}", self.name);
        }
        sum == expected
    }
}

pub fn oneshot(options: &Options) -> Box<dyn Workload> {
    Box::new(Values {
        start: |b| {
            let (own, times) = (&b.sums[0], b.times);
            b.spawn(async move {
                let mut sum = 0;
                for i in 1..=times {
                    let (sender, receiver) = oneshot::channel();
                    sender.send(i).unwrap();
                    sum += receiver.await.unwrap();
                }
                own.add(sum);
            });
        },
        ..Values::new(options, "oneshot", 0, 1_000_000)
    })
}

pub fn broadcast(options: &Options) -> Box<dyn Workload> {
    Box::new(Values {
        start: |b| {
            let (receivers, times) = (b.receivers as u32, b.times);
            let (sender, _) = broadcast::channel(CAPACITY);
            let caught_up: &'static Semaphore = Box::leak(Box::new(Semaphore::new(0)));
            let all: Vec<_> = b.sums.iter().map(|_| sender.subscribe()).collect();
            b.spawn(async move {
                for i in 1..=times {
                    sender.send(i).unwrap();
                    if i % BATCH == 0 {
                        caught_up.acquire_many(receivers).await.unwrap().forget();
                    }
                }
            });
            for (own, mut receiver) in b.sums.iter().zip(all) {
                b.spawn(async move {
                    let mut sum = 0;
                    for i in 1..=times {
                        sum += receiver.recv().await.unwrap();
                        if i % BATCH == 0 {
                            caught_up.add_permits(1);
                        }
                    }
                    own.add(sum);
                });
            }
        },
        ..Values::new(options, "broadcast", 4, 200_000)
    })
}

pub fn watch(options: &Options) -> Box<dyn Workload> {
    Box::new(Values {
        start: |b| {
            let (own, times) = (&b.sums[0], b.times);
            let (there, mut there_seen) = watch::channel(0);
            let (back, mut back_seen) = watch::channel(0);
            b.spawn(async move {
                let mut sum = 0;
                for i in 1..=times {
                    there.send(i).unwrap();
                    back_seen.changed().await.unwrap();
                    sum += *back_seen.borrow_and_update();
                }
                own.add(sum);
            });
            b.spawn(async move {
                for _ in 1..=times {
                    there_seen.changed().await.unwrap();
                    let number = *there_seen.borrow_and_update();
                    let _ = back.send(number);
                }
            });
        },
        ..Values::new(options, "watch", 1, 100_000)
    })
}
