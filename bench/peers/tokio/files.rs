// SPDX-License-Identifier: MIT
//! files.rs - tasks that read and write blocks of a file (bench/workloads/tasks/files.c)
//!
//! Each operation runs on a thread of Tokio's blocking pool, as those of tokio::fs do;
//! called directly, it takes one hop where a seek and a read of tokio::fs take two.

use super::{runtime, Countdown};
use crate::harness::{leak, Options, Runs, Workload};
use std::fs::{remove_file, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering::Release;
use std::sync::mpsc::Receiver;
use tokio::runtime::Runtime;

const BLOCKS: u64 = 4096;
const BLOCK_BYTES: usize = 4096;
const WRITE_EVERY: u64 = 10;

struct Files {
    rt: Runtime,
    fibers: usize,
    times: u64,
    right: &'static [Runs],
    file: &'static File,
    countdown: &'static Countdown,
    wait: Receiver<()>,
}

fn fill(block: &mut [u8], number: u64) {
    for word in block.chunks_exact_mut(8) {
        word.copy_from_slice(&number.to_le_bytes());
    }
}

fn make_file() -> std::io::Result<File> {
    let path = format!("/tmp/skua-files.{}", std::process::id());
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)?;
    remove_file(&path)?;
    let mut block = vec![0; BLOCK_BYTES];
    for i in 0..BLOCKS {
        fill(&mut block, i);
        file.write_all(&block)?;
    }
    Ok(file)
}

fn operate(file: &File, block: &mut [u8], number: u64, write: bool) -> bool {
    let offset = number * BLOCK_BYTES as u64;
    let moved = if write {
        fill(block, number);
        file.write_at(block, offset)
    } else {
        file.read_at(block, offset)
    };
    moved.unwrap_or(0) == BLOCK_BYTES
        && block[..8] == number.to_le_bytes()
        && block[BLOCK_BYTES - 8..] == number.to_le_bytes()
}

async fn use_blocks(file: &'static File, times: u64, mut seed: u64) -> u64 {
    let mut block = vec![0; BLOCK_BYTES];
    let mut right = 0;
    for i in 0..times {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let number = (seed >> 33) % BLOCKS;
        let write = i % WRITE_EVERY == WRITE_EVERY - 1;
        let (back, done) = tokio::task::spawn_blocking(move || {
            let done = operate(file, &mut block, number, write);
            (block, done)
        })
        .await
        .unwrap();
        block = back;
        right += done as u64;
    }
    right
}

impl Workload for Files {
    fn ops(&self) -> u64 {
        self.fibers as u64 * self.times
    }

    fn params(&self) -> String {
        let (fibers, times) = (self.fibers, self.times);
        format!("{{\"fibers\":{fibers},\"times\":{times}}}")
    }

    fn prepare(&mut self) {
        self.right.iter().for_each(Runs::reset);
    }

    fn round(&mut self) {
        let (countdown, file, times) = (self.countdown, self.file, self.times);
        countdown.left.store(self.fibers, Release);
        for (seed, own) in (1..).zip(self.right) {
            self.rt.spawn(async move {
                own.add(use_blocks(file, times, seed).await);
                countdown.one();
            });
        }
        self.wait.recv().unwrap();
    }

    fn check(&mut self) -> bool {
        let right: u64 = self.right.iter().map(Runs::get).sum();
        if right != self.ops() {
            eprintln!("files: {right} of {} operations went right", self.ops());
        }
        right == self.ops()
    }
}

pub fn files(options: &Options) -> Box<dyn Workload> {
    let (countdown, wait) = Countdown::new();
    let fibers = 8;
    let file = make_file().unwrap_or_else(|err| {
        eprintln!("files: cannot write 16384 KiB to /tmp: {err}");
        std::process::exit(1)
    });
    Box::new(Files {
        rt: runtime(options),
        fibers,
        times: 20_000,
        right: leak(fibers),
        file: Box::leak(Box::new(file)),
        countdown,
        wait,
    })
}
