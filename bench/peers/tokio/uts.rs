// SPDX-License-Identifier: MIT
//! uts.rs - search an unbalanced tree with a task for each node, as in
//! bench/workloads/tasks/uts_tasks.c

use crate::harness::uts::{Counts, Node, Tree};
use crate::harness::{Options, Workload};
use crate::{runtime, Countdown};
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicUsize};
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, MutexGuard};
use tokio::runtime::Runtime;

/// Bound on live tasks for each worker. Above it, a task spawns one successor, which takes
/// over the list of children that are not yet spawned.
const LIVE: i64 = 256;

struct Search {
    rt: Runtime,
    name: &'static str,
    shared: &'static Shared,
    wait: Receiver<()>,
}

struct Shared {
    tree: &'static Tree,
    live: AtomicI64,
    live_max: i64,
    countdown: &'static Countdown,
    counts: Vec<Tally>,
}

/// The counts of one worker.
#[repr(align(128))]
#[derive(Default)]
struct Tally(Mutex<Counts>);

/// A list of nodes with children that are not yet spawned.
struct Rest {
    node: Node,
    next_child: u32,
    children: u32,
    next: Option<Box<Rest>>,
}

thread_local! {
    static TALLY: usize = NEXT_TALLY.fetch_add(1, Relaxed);
}
static NEXT_TALLY: AtomicUsize = AtomicUsize::new(0);

impl Shared {
    /// Locks the counts of this worker; the lock is never contended.
    fn tally(&self) -> MutexGuard<'_, Counts> {
        self.counts[TALLY.with(|i| *i) % self.counts.len()]
            .0
            .lock()
            .unwrap()
    }

    fn spawn(&'static self, node: Node, rest: Option<Box<Rest>>) {
        self.live.fetch_add(1, Relaxed);
        tokio::spawn(async move { self.visit(node, rest) });
    }

    fn visit(&'static self, node: Node, mut rest: Option<Box<Rest>>) {
        let children = self.tree.children(&node);
        let mut tally = self.tally();
        *tally = tally.add(Counts::of(&node, children));
        drop(tally);
        if children > 0 {
            rest = Some(Box::new(Rest {
                node,
                next_child: 0,
                children,
                next: rest,
            }));
        }
        self.spawn_rest(rest);
        // A task spawns its children before it counts down: zero means that all is done.
        if self.live.fetch_sub(1, AcqRel) == 1 {
            self.countdown.one();
        }
    }

    /// Spawns children while there is room; without room, one child as the successor.
    fn spawn_rest(&'static self, mut rest: Option<Box<Rest>>) {
        while let Some(mut first) = rest {
            let room = self.live.load(Relaxed) < self.live_max;
            let child = first.node.child(first.next_child);
            first.next_child += 1;
            rest = if first.next_child == first.children {
                first.next
            } else {
                Some(first)
            };
            if !room {
                return self.spawn(child, rest);
            }
            self.spawn(child, None);
        }
    }
}

impl Workload for Search {
    fn ops(&self) -> u64 {
        self.shared.tree.nodes
    }

    fn params(&self) -> String {
        format!("{{\"tree\":\"{}\",\"live\":{LIVE}}}", self.name)
    }

    fn prepare(&mut self) {
        for tally in &self.shared.counts {
            *tally.0.lock().unwrap() = Counts::default();
        }
    }

    fn round(&mut self) {
        let shared = self.shared;
        shared.countdown.left.store(1, Release);
        let _inside = self.rt.enter();
        shared.spawn(shared.tree.root(), None);
        self.wait.recv().unwrap();
    }

    fn check(&mut self) -> bool {
        let all = self.shared.counts.iter().map(|t| *t.0.lock().unwrap());
        all.fold(Counts::default(), Counts::add)
            .check(self.shared.tree)
    }
}

pub fn uts(options: &Options) -> Box<dyn Workload> {
    let (countdown, wait) = Countdown::new();
    let shared = Box::leak(Box::new(Shared {
        tree: Tree::find(options.tree),
        live: AtomicI64::new(0),
        live_max: LIVE * options.workers as i64,
        countdown,
        counts: (0..options.workers).map(|_| Tally::default()).collect(),
    }));
    Box::new(Search {
        rt: runtime(options),
        name: options.tree,
        shared,
        wait,
    })
}
