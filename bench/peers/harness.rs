// SPDX-License-Identifier: MIT
//! harness.rs - what the peers written in Rust have in common
//!
//! The command line, rounds and JSON of skua-bench (bench/measure.c), and the
//! trees of its uts workload, which are its own code (bench/uts_tree.c).

use std::ffi::CString;
use std::fmt::Display;
use std::os::raw::{c_char, c_int};
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const ROUNDS_MAX: usize = 10_000;
const WORKERS_MAX: usize = 1024;
const TREES: [&str; 3] = ["T1", "T3", "T1L"];

pub struct Peer {
    pub name: &'static str,
    pub version: &'static str,
    pub cases: &'static [Case],
}

/// A workload's name, and how to set it up.
pub struct Case {
    pub name: &'static str,
    pub description: &'static str,
    pub trees: bool, // takes --tree
    pub make: fn(&Options) -> Box<dyn Workload>,
}

/// Called as in bench/workload.h: only round() is timed, and a warm-up round
/// comes first.
pub trait Workload {
    fn ops(&self) -> u64;
    /// The parameters, as a JSON object.
    fn params(&self) -> String;
    fn prepare(&mut self) {}
    fn round(&mut self);
    /// Was the round's result right? Says on stderr what was wrong.
    fn check(&mut self) -> bool;
    /// The time of an operation, in ns; not called for the warm-up.
    fn sample(&mut self, round_ns: u64) -> f64 {
        round_ns as f64 / self.ops() as f64
    }
    fn figures(&mut self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

pub struct Options {
    pub workers: usize,
    pub tree: &'static str,
    rounds: usize,
    json: bool,
}

// ---- what workloads are made of ---------------------------------------------

#[repr(C)]
struct Timespec {
    seconds: i64,
    ns: i64,
}

extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
}

/// CLOCK_MONOTONIC, as bench/clock.h.
pub fn clock_ns() -> u64 {
    let mut t = Timespec { seconds: 0, ns: 0 };
    unsafe { clock_gettime(1, &mut t) };
    t.seconds as u64 * 1_000_000_000 + t.ns as u64
}

/// How often a task ran: the task's own, and not a read-modify-write, so that
/// a task that ran twice at once is found out. As bench/empty_tasks.h.
#[repr(align(64))]
#[derive(Default)]
pub struct Runs(AtomicU64);

impl Runs {
    pub fn add_one(&self) {
        self.0.store(self.0.load(Relaxed) + 1, Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub fn reset(&self) {
        self.0.store(0, Relaxed);
    }
}

/// For ever: tasks borrow them without counting references.
pub fn leak<T: Default>(count: usize) -> &'static [T] {
    Box::leak((0..count).map(|_| T::default()).collect())
}

pub fn check_runs(workload: &str, all: &[Runs], expected: u64) -> bool {
    match all.iter().position(|runs| runs.get() != expected) {
        None => true,
        Some(i) => {
            let runs = all[i].get();
            eprintln!("{workload}: task {i} ran {runs} times, not {expected}");
            false
        }
    }
}

fn compute_step(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// About `cost` microseconds at 3 GHz, as bench/compute.h.
pub fn compute(number: u64, cost: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    for _ in 0..cost * 450 {
        z = compute_step(z);
    }
    z ^ (z >> 31)
}

/// Numbers that look random, as bench/compute.h.
#[allow(dead_code)]
pub fn scatter(number: u64) -> u64 {
    let z = compute_step((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z ^ (z >> 31)
}

/// {"p50":...}: the times that so many percent of all did not exceed.
#[allow(dead_code)]
pub fn percentiles(times_ns: &mut [u64]) -> String {
    times_ns.sort_unstable();
    let at = |percent: f64| {
        let needed = (times_ns.len() as f64 * percent / 100.0).ceil() as usize;
        times_ns.get(needed.max(1) - 1).copied().unwrap_or(0)
    };
    format!(
        "{{\"p50\":{},\"p90\":{},\"p99\":{},\"p999\":{}}}",
        at(50.0),
        at(90.0),
        at(99.0),
        at(99.9)
    )
}

// ---- trees ------------------------------------------------------------------

pub mod uts {
    use super::*;

    /// struct uts_tree of bench/uts_tree.h.
    #[repr(C)]
    pub struct Tree {
        name: *const c_char,
        shape: c_int,
        seed: u32,
        branching: u32,
        depth_limit: u32,
        nonleaf_children: u32,
        nonleaf_probability: f64,
        pub nodes: u64,
        pub leaves: u64,
        pub depth: u32,
    }

    // It is never written.
    unsafe impl Sync for Tree {}

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct Node {
        state: [u8; 20],
        pub depth: u32,
    }

    #[link(name = "skua_uts_tree", kind = "static")]
    #[link(name = "nettle")]
    #[link(name = "m")]
    extern "C" {
        fn uts_tree_find(name: *const c_char) -> *const Tree;
        fn uts_tree_root(tree: *const Tree) -> Node;
        fn uts_tree_children(tree: *const Tree, node: *const Node) -> u32;
        fn uts_tree_child(node: *const Node, i: u32) -> Node;
    }

    impl Tree {
        pub fn find(name: &str) -> &'static Tree {
            let name = CString::new(name).unwrap();
            unsafe { uts_tree_find(name.as_ptr()).as_ref() }.unwrap()
        }

        pub fn root(&self) -> Node {
            unsafe { uts_tree_root(self) }
        }

        pub fn children(&self, node: &Node) -> u32 {
            unsafe { uts_tree_children(self, node) }
        }
    }

    impl Node {
        pub fn child(&self, i: u32) -> Node {
            unsafe { uts_tree_child(self, i) }
        }
    }

    #[derive(Clone, Copy, Default, PartialEq, Debug)]
    pub struct Counts {
        pub nodes: u64,
        pub leaves: u64,
        pub depth: u32,
    }

    impl Counts {
        pub fn of(node: &Node, children: u32) -> Counts {
            Counts {
                nodes: 1,
                leaves: (children == 0) as u64,
                depth: node.depth,
            }
        }

        pub fn add(self, other: Counts) -> Counts {
            Counts {
                nodes: self.nodes + other.nodes,
                leaves: self.leaves + other.leaves,
                depth: self.depth.max(other.depth),
            }
        }

        pub fn check(&self, tree: &Tree) -> bool {
            let published = Counts {
                nodes: tree.nodes,
                leaves: tree.leaves,
                depth: tree.depth,
            };
            if *self != published {
                eprintln!("uts: {self:?}; published: {published:?}");
            }
            *self == published
        }
    }
}

// ---- command line -----------------------------------------------------------

impl Peer {
    fn refuse(&self, what: impl Display) -> ! {
        eprintln!("skua-peer-{}{}", self.name, what);
        exit(2)
    }

    fn names(&self) -> String {
        let names: Vec<_> = self.cases.iter().map(|case| case.name).collect();
        names.join(", ")
    }

    fn list(&self) {
        for case in self.cases {
            println!("{:24} {}", case.name, case.description);
        }
    }

    fn help(&self) {
        println!(
            "Usage: skua-peer-{} list | run WORKLOAD [--workers N] [--rounds R] [--json]\n\
             Measure {} {} on workloads of skua-bench: {}.\n\
             uts also takes --tree T1, T3 or T1L.",
            self.name,
            self.name,
            self.version,
            self.names()
        );
    }

    fn find(&self, name: Option<&String>) -> &Case {
        let allowed = self.names();
        match name {
            Some(name) if !name.starts_with('-') => self
                .cases
                .iter()
                .find(|case| case.name == name)
                .unwrap_or_else(|| {
                    self.refuse(format!(" run: no workload '{name}'; allowed: {allowed}"))
                }),
            _ => self.refuse(format!(
                " run: a workload is needed before any options; allowed: {allowed}"
            )),
        }
    }

    fn number(&self, who: &str, option: &str, text: &str, max: usize) -> usize {
        // parse() takes a sign.
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        match text.parse() {
            Ok(n) if digits && (1..=max).contains(&n) => n,
            _ => self.refuse(format!("{who}: {option} is '{text}'; allowed: 1 to {max}")),
        }
    }

    fn parse(&self, case: &Case, args: &[String]) -> Options {
        let who = format!(" run {}", case.name);
        let mut options = Options {
            workers: std::thread::available_parallelism().map_or(1, |n| n.get().min(WORKERS_MAX)),
            tree: TREES[0],
            rounds: 5,
            json: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (option, joined) = match arg.split_once('=') {
                Some((option, value)) => (option, Some(value)),
                None => (arg.as_str(), None),
            };
            let mut value = || {
                joined
                    .or_else(|| args.next().map(String::as_str))
                    .unwrap_or_else(|| self.refuse(format!("{who}: {option} needs a value")))
            };
            match option {
                "--workers" => options.workers = self.number(&who, option, value(), WORKERS_MAX),
                "--rounds" => options.rounds = self.number(&who, option, value(), ROUNDS_MAX),
                "--tree" if case.trees => {
                    let name = value();
                    let known = TREES.iter().find(|tree| **tree == name);
                    options.tree = known.copied().unwrap_or_else(|| {
                        let allowed = TREES.join(", ");
                        self.refuse(format!("{who}: --tree is '{name}'; allowed: {allowed}"))
                    });
                }
                "--json" if joined.is_none() => options.json = true,
                "--json" => self.refuse(format!("{who}: {arg}: --json takes no value")),
                _ if arg.starts_with('-') => {
                    let tree = if case.trees { " --tree" } else { "" };
                    self.refuse(format!(
                        "{who}: no option '{arg}'; allowed: --workers --rounds --json{tree}"
                    ))
                }
                _ => self.refuse(format!("{who}: unexpected argument '{arg}'")),
            }
        }
        options
    }

    /// Does what the command line says, and exits: 0 all right, 1 a wrong
    /// result, 2 usage.
    pub fn main(&self) -> ! {
        let args: Vec<String> = std::env::args().skip(1).collect();
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        match words[..] {
            ["list"] => self.list(),
            ["--help" | "-?" | "help", ..] | ["list" | "run", "--help" | "-?", ..] => self.help(),
            ["list", word, ..] => self.refuse(format!(" list: unexpected argument '{word}'")),
            ["run", ..] => {
                let case = self.find(args.get(1));
                let options = self.parse(case, &args[2..]);
                exit(!self.measure(case, &options) as i32)
            }
            [] => self.refuse(": a verb is needed; allowed: list, run"),
            [verb, ..] => self.refuse(format!(": no verb '{verb}'; allowed: list, run")),
        }
        exit(0)
    }

    // ---- rounds -------------------------------------------------------------

    fn measure(&self, case: &Case, options: &Options) -> bool {
        let mut workload = (case.make)(options);
        let mut times = Vec::with_capacity(options.rounds);
        let mut ok = true;

        for round in 0..=options.rounds {
            workload.prepare();
            let start = clock_ns();
            workload.round();
            let ns = clock_ns() - start;
            ok &= workload.check();
            if round > 0 {
                times.push(workload.sample(ns));
            }
        }
        times.sort_by(f64::total_cmp);
        if options.json {
            self.print_json(case, options, &mut *workload, &times, ok);
        } else {
            self.print_text(case, options, &mut *workload, &times, ok);
        }
        ok
    }

    fn print_json(
        &self,
        case: &Case,
        options: &Options,
        workload: &mut dyn Workload,
        times: &[f64],
        ok: bool,
    ) {
        let n = times.len();
        print!(
            "{{\"peer\":\"{}\",\"version\":\"{}\",\"workload\":\"{}\",\"params\":{},\
             \"workers\":{},\"rounds\":{n},\"ops\":{},\"ns_per_op\":{:.2},\
             \"min\":{:.2},\"max\":{:.2},\"ok\":{ok}",
            self.name,
            self.version,
            case.name,
            workload.params(),
            options.workers,
            workload.ops(),
            (times[(n - 1) / 2] + times[n / 2]) / 2.0,
            times[0],
            times[n - 1],
        );
        for (name, value) in workload.figures() {
            print!(",\"{name}\":{value}");
        }
        println!("}}");
    }

    fn print_text(
        &self,
        case: &Case,
        options: &Options,
        workload: &mut dyn Workload,
        times: &[f64],
        ok: bool,
    ) {
        let n = times.len();
        println!(
            "{} {}: {} {}, {} workers: {:.1} ns/op ({:.1} to {:.1} in {n} rounds of {} ops), {}",
            self.name,
            self.version,
            case.name,
            workload.params(),
            options.workers,
            (times[(n - 1) / 2] + times[n / 2]) / 2.0,
            times[0],
            times[n - 1],
            workload.ops(),
            if ok { "ok" } else { "WRONG RESULT" },
        );
        for (name, value) in workload.figures() {
            println!("  {name}: {value}");
        }
    }
}
