// SPDX-License-Identifier: MIT
//! blocking.rs - tasks that call functions on the threads of spawn_blocking()
//! (bench/workloads/tasks/blocking.c)

use super::{runtime, Countdown};
use crate::harness::{leak, Options, Runs, Workload};
use std::sync::atomic::Ordering::Release;
use std::sync::mpsc::Receiver;
use std::thread::sleep;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::task::spawn_blocking;

struct Blockings {
    rt: Runtime,
    times: u64,
    sleep_ns: u64,
    counted: &'static [Runs], // of each task
    countdown: &'static Countdown,
    wait: Receiver<()>,
}

impl Blockings {
    fn new(options: &Options, fibers: usize, times: u64, sleep_ns: u64) -> Box<dyn Workload> {
        let (countdown, wait) = Countdown::new();
        Box::new(Blockings {
            rt: runtime(options),
            times,
            sleep_ns,
            counted: leak(fibers),
            countdown,
            wait,
        })
    }
}

impl Workload for Blockings {
    fn ops(&self) -> u64 {
        self.counted.len() as u64 * self.times
    }

    fn params(&self) -> String {
        let (fibers, times, sleep_ns) = (self.counted.len(), self.times, self.sleep_ns);
        format!("{{\"fibers\":{fibers},\"times\":{times},\"sleep_ns\":{sleep_ns}}}")
    }

    fn prepare(&mut self) {
        self.counted.iter().for_each(Runs::reset);
    }

    fn round(&mut self) {
        let (times, sleep_ns, countdown) = (self.times, self.sleep_ns, self.countdown);
        countdown.left.store(self.counted.len(), Release);
        for own in self.counted {
            self.rt.spawn(async move {
                for _ in 0..times {
                    let call = spawn_blocking(move || {
                        own.add(1);
                        if sleep_ns != 0 {
                            sleep(Duration::from_nanos(sleep_ns));
                        }
                    });
                    call.await.unwrap();
                }
                countdown.one();
            });
        }
        self.wait.recv().unwrap();
    }

    fn check(&mut self) -> bool {
        let sum: u64 = self.counted.iter().map(Runs::get).sum();
        if sum != self.ops() {
            eprintln!("blocking: {sum} calls, not {}", self.ops());
        }
        sum == self.ops()
    }
}

pub fn blocking(options: &Options) -> Box<dyn Workload> {
    Blockings::new(options, 1, 20_000, 0)
}

pub fn blocking_sleeps(options: &Options) -> Box<dyn Workload> {
    Blockings::new(options, 1000, 1, 50_000)
}
