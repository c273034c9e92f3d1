// SPDX-License-Identifier: MIT
//! main.rs - Rayon on those workloads of skua-bench that suit a fork-join pool
//!
//!   spawn_many_local   20 times: an external thread spawns 10,000 empty tasks
//!                      (ThreadPool::in_place_scope), and waits for them
//!   spawn_many_worker  the same, by a thread of the pool (scope)
//!   chained_spawn      100 times: an external thread starts a chain of 1,000
//!                      tasks, each of which spawns the next one, and waits
//!   parallel_map       an external thread spawns 10,000 tasks of about 1 us
//!   uts                unbalanced tree search with a task for each node: a
//!                      recursive join() halves a node's children, down to
//!                      single ones
//!   fib, integrate, nqueens, skynet, matmul, cilksort
//!                      a fork is a join()
//!   for, reduce, find_early, sort_unstable, sort_stable, sort_by_key
//!                      parallel iterators, and the sorts of slices
//!
//! Counts and checks are those of skua's workloads with the same names (bench/workloads/).
//! The constants of spawn_many_* and chained_spawn come from Tokio's benchmark
//! rt_multi_threaded; the trees are published ones. A difference: spawn_many_worker waits
//! for its scope, whereas skua joins each task. `--workers` is the number of the pool's
//! threads; the calling thread is not one of them.

mod arrays;
mod forks;
#[path = "../harness/mod.rs"]
mod harness;

use harness::uts::{Counts, Node, Tree};
use harness::{case, check_runs, leak, map, Case, Options, Peer, Runs, Workload};
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

// The tree T3 is 1,572 nodes deep, and a waiting thread runs other tasks on its stack.
const STACK_BYTES: usize = 256 << 20;

fn pool(options: &Options) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(options.workers);
    builder.stack_size(STACK_BYTES).build().unwrap()
}

// ---- empty tasks ------------------------------------------------------------

struct Batches {
    name: &'static str,
    pool: ThreadPool,
    runs: &'static [Runs], // one for each task
    repeat: u64,
    batch: fn(&Batches),
}

impl Workload for Batches {
    fn ops(&self) -> u64 {
        self.runs.len() as u64 * self.repeat
    }

    fn params(&self) -> String {
        format!(
            "{{\"tasks\":{},\"repeat\":{}}}",
            self.runs.len(),
            self.repeat
        )
    }

    fn prepare(&mut self) {
        self.runs.iter().for_each(Runs::reset);
    }

    fn round(&mut self) {
        for _ in 0..self.repeat {
            (self.batch)(self);
        }
    }

    fn check(&mut self) -> bool {
        check_runs(self.name, self.runs, self.repeat)
    }
}

fn spawn_all<'a>(scope: &Scope<'a>, all: &'a [Runs]) {
    for runs in all {
        scope.spawn(move |_| runs.add_one());
    }
}

fn local(options: &Options) -> Box<dyn Workload> {
    Box::new(Batches {
        name: "spawn_many_local",
        pool: pool(options),
        runs: leak(10_000),
        repeat: 20,
        batch: |b| b.pool.in_place_scope(|scope| spawn_all(scope, b.runs)),
    })
}

fn chain<'a>(scope: &Scope<'a>, links: &'a [Runs]) {
    if let Some((runs, rest)) = links.split_first() {
        scope.spawn(move |scope| {
            runs.add_one();
            chain(scope, rest);
        });
    }
}

fn chained(options: &Options) -> Box<dyn Workload> {
    Box::new(Batches {
        name: "chained_spawn",
        pool: pool(options),
        runs: leak(1000),
        repeat: 100,
        batch: |b| b.pool.in_place_scope(|scope| chain(scope, b.runs)),
    })
}

/// Batches whose whole round runs inside the pool.
struct Inside(Batches);

impl Workload for Inside {
    fn ops(&self) -> u64 {
        self.0.ops()
    }

    fn params(&self) -> String {
        self.0.params()
    }

    fn prepare(&mut self) {
        self.0.prepare()
    }

    fn round(&mut self) {
        let b = &self.0;
        b.pool.install(|| {
            for _ in 0..b.repeat {
                (b.batch)(b);
            }
        });
    }

    fn check(&mut self) -> bool {
        self.0.check()
    }
}

fn worker(options: &Options) -> Box<dyn Workload> {
    Box::new(Inside(Batches {
        name: "spawn_many_worker",
        pool: pool(options),
        runs: leak(10_000),
        repeat: 20,
        batch: |b| rayon::scope(|scope| spawn_all(scope, b.runs)),
    }))
}

// ---- parallel_map -----------------------------------------------------------

struct Map {
    pool: ThreadPool,
    items: &'static [map::Item],
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
        let items = self.items;
        self.pool.in_place_scope(|scope| {
            for (number, item) in (0..).zip(items) {
                scope.spawn(move |_| {
                    item.fill(number);
                });
            }
        });
    }

    fn check(&mut self) -> bool {
        map::check(self.items)
    }
}

fn parallel_map(options: &Options) -> Box<dyn Workload> {
    Box::new(Map {
        pool: pool(options),
        items: leak(map::ITEMS as usize),
    })
}

// ---- uts --------------------------------------------------------------------

struct Search {
    pool: ThreadPool,
    tree: &'static Tree,
    name: &'static str,
    counts: Counts,
}

fn visit(tree: &Tree, node: &Node) -> Counts {
    let children = tree.children(node);
    let counts = Counts::of(node, children);
    match children {
        0 => counts,
        n => counts.add(visit_children(tree, node, 0, n)),
    }
}

fn visit_children(tree: &Tree, parent: &Node, first: u32, end: u32) -> Counts {
    if end - first == 1 {
        return visit(tree, &parent.child(first));
    }
    let middle = first + (end - first) / 2;
    let (a, b) = rayon::join(
        || visit_children(tree, parent, first, middle),
        || visit_children(tree, parent, middle, end),
    );
    a.add(b)
}

impl Workload for Search {
    fn ops(&self) -> u64 {
        self.tree.nodes
    }

    fn params(&self) -> String {
        format!("{{\"tree\":\"{}\"}}", self.name)
    }

    fn round(&mut self) {
        let tree = self.tree;
        self.counts = self.pool.install(|| visit(tree, &tree.root()));
    }

    fn check(&mut self) -> bool {
        self.counts.check(self.tree)
    }
}

fn search(options: &Options) -> Box<dyn Workload> {
    Box::new(Search {
        pool: pool(options),
        tree: Tree::find(options.tree),
        name: options.tree,
        counts: Counts::default(),
    })
}

// ---- all --------------------------------------------------------------------

const PEER: Peer = Peer {
    name: "rayon",
    version: env!("SKUA_PEER_VERSION"),
    cases: &[
        case(
            "parallel_map",
            "Compute a function of many numbers, one task for each",
            parallel_map,
        ),
        Case {
            takes: &["--tree"],
            ..case("uts", "Search an unbalanced tree, one task for each node", search)
        },
        case(
            "spawn_many_local",
            "Spawn 10,000 empty tasks from outside, wait for all",
            local,
        ),
        case(
            "spawn_many_worker",
            "Spawn 10,000 empty tasks from inside the pool, wait for all",
            worker,
        ),
        case(
            "chained_spawn",
            "Each of 1,000 tasks spawns the next one",
            chained,
        ),
        case(
            "fib",
            "Fibonacci numbers by definition, one fork for each call",
            forks::fib,
        ),
        case(
            "integrate",
            "Integrate x^3 + x by halving intervals, one fork for each",
            forks::integrate,
        ),
        case(
            "nqueens",
            "Place queens on a board, one fork for each place",
            forks::nqueens,
        ),
        case(
            "skynet",
            "Add up the leaves of a tree, ten forks for each node",
            forks::skynet,
        ),
        case(
            "matmul",
            "Multiply matrices by quarters, down to 32 x 32",
            forks::matmul,
        ),
        case(
            "cilksort",
            "Merge sort that merges by forks, down to 2,048 numbers",
            forks::cilksort,
        ),
        Case {
            takes: &["--n"],
            n: forks::REGION_N,
            ..case(
                "region",
                "A short call that forks, from outside the workers",
                forks::region,
            )
        },
        arrays::FOR,
        arrays::REDUCE,
        arrays::FIND_EARLY,
        arrays::SORT_UNSTABLE,
        arrays::SORT_STABLE,
        arrays::SORT_BY_KEY,
    ],
};

fn main() {
    PEER.main()
}
