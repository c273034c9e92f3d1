// SPDX-License-Identifier: MIT
//! channels.rs - tasks that send and receive (bench/workloads/tasks/channels.c)
//!
//! Tokio's channels of bounded length have a single receiver. If there are several receivers,
//! they share it by a mutex of Tokio, as programs do.

use super::{runtime, Countdown};
use crate::harness::{leak, Options, Runs, Workload};
use std::future::Future;
use std::sync::atomic::Ordering::Release;
use std::sync::mpsc::Receiver;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, Mutex};

const CAPACITY: usize = 128;

struct Channels {
    name: &'static str,
    rt: Runtime,
    pairs: usize,
    times: u64,
    sums: &'static [Runs], // of what each receiver has received
    tasks: usize,
    countdown: &'static Countdown,
    wait: Receiver<()>,
    start: fn(&Channels),
}

impl Channels {
    fn new(options: &Options, name: &'static str, pairs: usize, times: u64) -> Channels {
        let (countdown, wait) = Countdown::new();
        Channels {
            name,
            rt: runtime(options),
            pairs,
            times,
            sums: leak(pairs),
            tasks: 2 * pairs,
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

    fn spawn_sender(&self, sender: mpsc::Sender<u64>) {
        let times = self.times;
        self.spawn(async move {
            for i in 1..=times {
                sender.send(i).await.unwrap();
            }
        });
    }

    fn spawn_receiver(&self, own: &'static Runs, mut receiver: mpsc::Receiver<u64>) {
        let times = self.times;
        self.spawn(async move {
            let mut sum = 0;
            for _ in 1..=times {
                sum += receiver.recv().await.unwrap();
            }
            own.add(sum);
        });
    }

    fn spawn_pair(&self) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        self.spawn_sender(sender);
        self.spawn_receiver(&self.sums[0], receiver);
    }

    fn spawn_pairs(&self) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let (shared, times) = (Arc::new(Mutex::new(receiver)), self.times);
        for own in self.sums {
            let receiver = shared.clone();
            self.spawn_sender(sender.clone());
            self.spawn(async move {
                let mut sum = 0;
                for _ in 1..=times {
                    sum += receiver.lock().await.recv().await.unwrap();
                }
                own.add(sum);
            });
        }
    }
}

impl Workload for Channels {
    fn ops(&self) -> u64 {
        self.pairs as u64 * self.times
    }

    fn params(&self) -> String {
        let (pairs, times) = (self.pairs, self.times);
        format!("{{\"pairs\":{pairs},\"times\":{times}}}")
    }

    fn prepare(&mut self) {
        self.sums.iter().for_each(Runs::reset);
    }

    fn round(&mut self) {
        self.countdown.left.store(self.tasks, Release);
        (self.start)(self);
        self.wait.recv().unwrap();
    }

    fn check(&mut self) -> bool {
        let expected = self.pairs as u64 * (self.times * (self.times + 1) / 2);
        let sum: u64 = self.sums.iter().map(Runs::get).sum();
        if sum != expected {
            eprintln!("{}: received {sum}, not {expected}", self.name);
        }
        sum == expected
    }
}

pub fn channel(options: &Options) -> Box<dyn Workload> {
    Box::new(Channels {
        tasks: 1,
        start: |b| {
            let (own, times) = (&b.sums[0], b.times);
            let (sender, mut receiver) = mpsc::channel(CAPACITY);
            b.spawn(async move {
                let mut sum = 0;
                for i in 1..=times {
                    sender.send(i).await.unwrap();
                    sum += receiver.recv().await.unwrap();
                }
                own.add(sum);
            });
        },
        ..Channels::new(options, "channel", 1, 1_000_000)
    })
}

pub fn channel_mpmc(options: &Options) -> Box<dyn Workload> {
    Box::new(Channels {
        start: |b| match b.pairs {
            1 => b.spawn_pair(),
            _ => b.spawn_pairs(),
        },
        ..Channels::new(options, "channel_mpmc", options.pairs, options.times)
    })
}

pub fn channel_round_trip(options: &Options) -> Box<dyn Workload> {
    Box::new(Channels {
        start: |b| {
            let (own, times) = (&b.sums[0], b.times);
            let (there, mut there_out) = mpsc::channel(CAPACITY);
            let (back, mut back_out) = mpsc::channel(CAPACITY);
            b.spawn(async move {
                let mut sum = 0;
                for i in 1..=times {
                    there.send(i).await.unwrap();
                    sum += back_out.recv().await.unwrap();
                }
                own.add(sum);
            });
            b.spawn(async move {
                for _ in 1..=times {
                    let number: u64 = there_out.recv().await.unwrap();
                    back.send(number).await.unwrap();
                }
            });
        },
        ..Channels::new(options, "channel_round_trip", 1, 100_000)
    })
}

pub fn spsc(options: &Options) -> Box<dyn Workload> {
    Box::new(Channels {
        start: |b| b.spawn_pair(),
        ..Channels::new(options, "spsc", 1, 1_000_000)
    })
}
