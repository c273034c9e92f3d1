// SPDX-License-Identifier: MIT
//! selects.rs - a task that takes the first of several items (bench/workloads/tasks/selects.c)

use super::{runtime, Countdown};
use crate::harness::{leak, Options, Runs, Workload};
use std::future::Future;
use std::sync::atomic::Ordering::Release;
use std::sync::mpsc::Receiver;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

const CAPACITY: usize = 16;

struct Selects {
    name: &'static str,
    rt: Runtime,
    channels: usize,
    times: u64,
    sums: &'static [Runs], // of the answers
    countdown: &'static Countdown,
    wait: Receiver<()>,
    start: fn(&Selects, Vec<mpsc::Receiver<u64>>, mpsc::Sender<u64>),
}

impl Selects {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let countdown = self.countdown;
        self.rt.spawn(async move {
            task.await;
            countdown.one();
        });
    }

    fn ask(&self, there: Vec<mpsc::Sender<u64>>, mut back: mpsc::Receiver<u64>) {
        let (own, times) = (&self.sums[0], self.times);
        self.spawn(async move {
            let mut sum = 0;
            for i in 1..=times {
                there[i as usize % there.len()].send(i).await.unwrap();
                sum += back.recv().await.unwrap();
            }
            own.add(sum);
        });
    }
}

impl Workload for Selects {
    fn ops(&self) -> u64 {
        self.times
    }

    fn params(&self) -> String {
        format!("{{\"times\":{}}}", self.times)
    }

    fn prepare(&mut self) {
        self.sums.iter().for_each(Runs::reset);
    }

    fn round(&mut self) {
        let (senders, receivers) = (0..self.channels).map(|_| mpsc::channel(CAPACITY)).unzip();
        let (back, back_out) = mpsc::channel(CAPACITY);
        self.countdown.left.store(2, Release);
        (self.start)(self, receivers, back);
        self.ask(senders, back_out);
        self.wait.recv().unwrap();
    }

    fn check(&mut self) -> bool {
        let expected = self.times * (self.times + 1) / 2;
        let sum = self.sums[0].get();
        if sum != expected {
            eprintln!("{}: received {sum}, not {expected}", self.name);
        }
        sum == expected
    }
}

/// A task that answers `$times` items of the receivers `$receiver`.
macro_rules! answer {
    ($selects:expr, $receivers:expr, $back:expr, $($receiver:ident)*) => {{
        let times = $selects.times;
        let mut receivers = $receivers.into_iter();
        $(let mut $receiver = receivers.next().unwrap();)*
        $selects.spawn(async move {
            for _ in 0..times {
                let number = tokio::select! {
                    $(number = $receiver.recv() => number,)*
                };
                $back.send(number.unwrap()).await.unwrap();
            }
        });
    }};
}

fn selects(
    options: &Options,
    name: &'static str,
    channels: usize,
    start: fn(&Selects, Vec<mpsc::Receiver<u64>>, mpsc::Sender<u64>),
) -> Box<dyn Workload> {
    let (countdown, wait) = Countdown::new();
    Box::new(Selects {
        name,
        rt: runtime(options),
        channels,
        times: 100_000,
        sums: leak(1),
        countdown,
        wait,
        start,
    })
}

pub fn select_1(options: &Options) -> Box<dyn Workload> {
    selects(options, "select_1", 1, |s, receivers, back| {
        answer!(s, receivers, back, a)
    })
}

pub fn select_2(options: &Options) -> Box<dyn Workload> {
    selects(
        options,
        "select_2",
        2,
        |s, receivers, back| answer!(s, receivers, back, a b),
    )
}

pub fn select_8(options: &Options) -> Box<dyn Workload> {
    selects(
        options,
        "select_8",
        8,
        |s, receivers, back| answer!(s, receivers, back, a b c d e f g h),
    )
}
