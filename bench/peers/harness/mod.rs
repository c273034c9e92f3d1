// SPDX-License-Identifier: MIT
//! mod.rs - the common part of the peers in Rust
//!
//! It has the command line, the rounds and the JSON of skua-bench
//! (bench/harness/measure.c), and the data of the cases, most of which comes from code
//! that skua-bench itself uses.

use std::fmt::Display;
use std::os::raw::c_int;
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[allow(dead_code)]
pub mod arrays;
#[allow(dead_code)]
pub mod kernels;
pub mod map;
pub mod uts;

const ROUNDS_MAX: u64 = 10_000;
const WORKERS_MAX: usize = 1024;
const SERVICES: [&str; 2] = ["exponential", "bimodal"];
const CLIENTS: [&str; 3] = ["auto", "spin", "sleep"];
const FORMS: [&str; 2] = ["polls", "fibers"];

pub struct Peer {
    pub name: &'static str,
    pub version: &'static str,
    pub cases: &'static [Case],
}

/// A workload's name, and how to set it up.
pub struct Case {
    pub name: &'static str,
    pub description: &'static str,
    pub takes: &'static [&'static str], // options of this case only
    pub n: Number,                      // --n
    pub busy_caller: bool,              // as in bench/harness/workload.h
    pub make: Make,
}

/// The default and the allowed range of an option's value.
#[derive(Clone, Copy)]
pub struct Number {
    pub default: u64,
    pub min: u64,
    pub max: u64,
}

pub type Make = fn(&Options) -> Box<dyn Workload>;

pub const fn case(name: &'static str, description: &'static str, make: Make) -> Case {
    Case {
        name,
        description,
        takes: &[],
        n: Number {
            default: 0,
            min: 0,
            max: 0,
        },
        busy_caller: false,
        make,
    }
}

/// The functions of a workload. They are called as in bench/harness/workload.h: only
/// round() is timed, and a warm-up round comes first.
pub trait Workload {
    fn ops(&self) -> u64;
    /// The parameters, as a JSON object.
    fn params(&self) -> String;
    fn prepare(&mut self) {}
    fn round(&mut self);
    /// Returns whether the round's result was right, and prints on stderr what was wrong.
    fn check(&mut self) -> bool;
    /// Returns the time of an operation, in ns. Not called for the warm-up.
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
    #[allow(dead_code)]
    pub n: u64,
    #[allow(dead_code)]
    pub input: &'static str,
    #[allow(dead_code)]
    pub pairs: usize, // of channel_mpmc, as times
    #[allow(dead_code)]
    pub times: u64,
    pub rpc: RpcOptions,
    #[allow(dead_code)]
    pub client: &'static str,
    #[allow(dead_code)]
    pub requests: u64,
    rounds: usize,
    json: bool,
}

#[derive(Clone)]
#[allow(dead_code)]
pub struct RpcOptions {
    pub service: &'static str,
    pub load_percent: u64,
    pub calls: u64,
    pub seed: u64,
}

// ---- parts of workloads -----------------------------------------------------

#[repr(C)]
struct Timespec {
    seconds: i64,
    ns: i64,
}

extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
}

/// Reads CLOCK_MONOTONIC, like bench/harness/clock.h.
pub fn clock_ns() -> u64 {
    let mut t = Timespec { seconds: 0, ns: 0 };
    unsafe { clock_gettime(1, &mut t) };
    t.seconds as u64 * 1_000_000_000 + t.ns as u64
}

/// Counts how often a task ran. It is not incremented by a read-modify-write operation, so
/// that the check detects a task that ran on two threads at once (as in
/// bench/workloads/empty_tasks.h).
#[repr(align(64))]
#[derive(Default)]
pub struct Runs(AtomicU64);

impl Runs {
    pub fn add_one(&self) {
        self.add(1);
    }

    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed) + n, Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub fn reset(&self) {
        self.0.store(0, Relaxed);
    }
}

/// Allocates values that are never freed, so that tasks can borrow them without counting
/// references.
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

/// Takes about `cost` microseconds at 3 GHz, like compute() of bench/kernels/compute.h.
fn compute(number: u64, cost: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    for _ in 0..cost * 450 {
        z = compute_step(z);
    }
    z ^ (z >> 31)
}

/// Spreads consecutive numbers over all 64 bits, like scatter() of bench/kernels/compute.h.
#[allow(dead_code)]
pub fn scatter(number: u64) -> u64 {
    let z = compute_step((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z ^ (z >> 31)
}

/// Returns the value that `percent` of the sorted values do not exceed, rounded down to
/// eight bits, as bench/harness/histogram.c does.
#[allow(dead_code)]
pub fn percentile(sorted: &[u64], percent: f64) -> u64 {
    let needed = (sorted.len() as f64 * percent / 100.0).ceil() as usize;
    let value = sorted.get(needed.max(1) - 1).copied().unwrap_or(0);
    let shift = 56u32.saturating_sub(value.leading_zeros());
    value >> shift << shift
}

/// Returns the percentiles as a JSON object, {"p50":...}. Values are divided by `one`.
#[allow(dead_code)]
pub fn percentiles(values: &mut [u64], one: u64) -> String {
    values.sort_unstable();
    let at = |percent| percentile(values, percent) as f64 / one as f64;
    format!(
        "{{\"p50\":{},\"p90\":{},\"p99\":{},\"p999\":{},\"p9999\":{}}}",
        at(50.0),
        at(90.0),
        at(99.0),
        at(99.9),
        at(99.99)
    )
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
             uts also takes --tree T1, T3 or T1L{}.",
            self.name,
            self.name,
            self.version,
            self.names(),
            self.help_of_options()
        );
    }

    fn help_of_options(&self) -> String {
        let has = |name| self.cases.iter().any(|case| case.name == name);
        let mut text = String::new();
        if has("channel_mpmc") {
            text += ";\nchannel_mpmc: --pairs N, --times N";
        }
        if has("rpc") {
            text += ";\nrpc: --service exponential or bimodal, --load PERCENT, --calls N, --seed N";
        }
        if has("echo_1") {
            let clients = CLIENTS.join(", ");
            text += &format!(";\necho_*: --client {clients}; --requests N");
        }
        if has("for") {
            let inputs = arrays::INPUTS.join(", ");
            text += &format!(";\nregion, loops and sorts: --n N; sorts: --input {inputs}");
        }
        text
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

    fn number(&self, who: &str, option: &str, text: &str, min: u64, max: u64) -> u64 {
        // Check the digits, because parse() would accept a sign.
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        match text.parse() {
            Ok(n) if digits && (min..=max).contains(&n) => n,
            _ => self.refuse(format!(
                "{who}: {option} is '{text}'; allowed: {min} to {max}"
            )),
        }
    }

    fn word(&self, who: &str, option: &str, text: &str, all: &[&'static str]) -> &'static str {
        let known = all.iter().find(|word| **word == text);
        known.copied().unwrap_or_else(|| {
            let allowed = all.join(", ");
            self.refuse(format!("{who}: {option} is '{text}'; allowed: {allowed}"))
        })
    }

    fn parse(&self, case: &Case, args: &[String]) -> Options {
        let who = format!(" run {}", case.name);
        let cpus = std::thread::available_parallelism().map_or(1, |n| n.get().min(WORKERS_MAX));
        let mut options = Options {
            workers: (cpus - case.busy_caller as usize).max(1),
            tree: uts::NAMES[0],
            n: case.n.default,
            input: arrays::INPUTS[0],
            pairs: 2,
            times: 200_000,
            rpc: RpcOptions {
                service: SERVICES[0],
                load_percent: 60,
                calls: 20_000,
                seed: 1,
            },
            client: CLIENTS[0],
            requests: 0,
            rounds: 5,
            json: false,
        };
        let rpc = &mut options.rpc;
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
            let mut number = |min, max| self.number(&who, option, value(), min, max);
            let takes = case.takes.contains(&option);
            match option {
                "--workers" => options.workers = number(1, WORKERS_MAX as u64) as usize,
                "--rounds" => options.rounds = number(1, ROUNDS_MAX) as usize,
                "--tree" if takes => options.tree = self.word(&who, option, value(), &uts::NAMES),
                "--n" if takes => options.n = number(case.n.min, case.n.max),
                "--input" if takes => {
                    options.input = self.word(&who, option, value(), &arrays::INPUTS)
                }
                "--pairs" if takes => options.pairs = number(1, 1000) as usize,
                "--times" if takes => options.times = number(1, 1_000_000_000),
                "--service" if takes => rpc.service = self.word(&who, option, value(), &SERVICES),
                "--load" if takes => rpc.load_percent = number(1, 95),
                "--calls" if takes => rpc.calls = number(1, 10_000_000),
                "--seed" if takes => rpc.seed = number(0, 1_000_000),
                "--client" if takes => options.client = self.word(&who, option, value(), &CLIENTS),
                "--requests" if takes => options.requests = number(0, 1_000_000_000),
                "--form" if takes => {
                    self.word(&who, option, value(), &FORMS);
                }
                "--json" if joined.is_none() => options.json = true,
                "--json" => self.refuse(format!("{who}: {arg}: --json takes no value")),
                _ if arg.starts_with('-') => {
                    let allowed = [&["--workers", "--rounds", "--json"], case.takes].concat();
                    self.refuse(format!(
                        "{who}: no option '{arg}'; allowed: {}",
                        allowed.join(" ")
                    ))
                }
                _ => self.refuse(format!("{who}: unexpected argument '{arg}'")),
            }
        }
        options
    }

    /// Carries out the command line, and exits. Exit codes: 0 success, 1 a wrong result,
    /// 2 usage.
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
