// SPDX-License-Identifier: MIT
//! rpc.rs - calls in an open loop, as in bench/workloads/tasks/rpc.c and rpc_plan.c
//!
//! The code that makes the plan is repeated here, because linking the C code would also
//! require its JSON library. ln_1p() is that of the C library: the same seed gives the same
//! calls, and therefore the same times in the queue.

use crate::harness::{clock_ns, leak, percentile, percentiles, scatter};
use crate::harness::{Options, RpcOptions, Workload};
use crate::{runtime, wake};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// Time from the start of a round to the earliest possible arrival.
const LEAD_NS: u64 = 1_000_000;
const SHORT_NS: u64 = 10_000;
const LONG_NS: u64 = 1_000_000;
/// One in this many calls is long.
const LONG_ONE_IN: u64 = 200;
/// Slowdowns are counted in thousandths.
const SLOWDOWN_ONE: u64 = 1000;

// ---- the plan, and its queue without overhead ---------------------------------

struct Call {
    arrival_ns: u64,
    service_ns: u64,
}

/// Returns the n-th pseudo-random number, in [0, 1), of the sequence `seed`.
fn uniform(seed: u64, n: u64) -> f64 {
    (scatter((seed << 40) + n) >> 11) as f64 / (1u64 << 53) as f64
}

fn exponential(mean: f64, uniform: f64) -> f64 {
    -(-uniform).ln_1p() * mean
}

fn plan(options: &RpcOptions, servers: usize, seed: u64) -> Vec<Call> {
    let bimodal = options.service == "bimodal";
    let mean_ns = SHORT_NS + bimodal as u64 * (LONG_NS - SHORT_NS) / LONG_ONE_IN;
    let gap_ns = mean_ns as f64 * 100.0 / options.load_percent as f64 / servers as f64;
    let mut now_ns = 0.0;

    let call = |i| {
        let random = uniform(seed, 2 * i + 1);
        now_ns += exponential(gap_ns, uniform(seed, 2 * i));
        Call {
            arrival_ns: now_ns as u64,
            service_ns: match bimodal {
                true if random * (LONG_ONE_IN as f64) < 1.0 => LONG_NS,
                true => SHORT_NS,
                false => (exponential(SHORT_NS as f64, random) as u64).max(1),
            },
        }
    };
    (0..options.calls).map(call).collect()
}

#[derive(Default)]
struct Times {
    sojourn_ns: Vec<u64>,
    slowdown: Vec<u64>,
}

impl Times {
    fn record(&mut self, call: &Call, sojourn_ns: u64) {
        self.sojourn_ns.push(sojourn_ns);
        self.slowdown
            .push(sojourn_ns * SLOWDOWN_ONE / call.service_ns);
    }

    /// Serves the calls in a first-come-first-served queue without overhead.
    fn simulate(&mut self, calls: &[Call], servers: usize) {
        let mut free_ns = vec![0; servers];
        for call in calls {
            let first = free_ns.iter_mut().min().unwrap();
            *first = call.arrival_ns.max(*first) + call.service_ns;
            let end_ns = *first;
            self.record(call, end_ns - call.arrival_ns);
        }
    }
}

// ---- a round ------------------------------------------------------------------

struct Rpc {
    rt: Runtime,
    workers: usize,
    options: RpcOptions,
    calls: Vec<Call>,
    ends_ns: &'static [AtomicU64], // end of each call; 0: not yet served
    handles: Vec<JoinHandle<()>>,
    rounds: u64,
    start_ns: u64, // when the plan of this round starts
    times: Times,
    simulated: Times,
}

async fn serve(service_ns: u64, end_ns: &'static AtomicU64) {
    let mut now = clock_ns();
    let end = now + service_ns;
    while now < end {
        spin_loop();
        now = clock_ns();
    }
    end_ns.store(now, Relaxed);
}

impl Workload for Rpc {
    fn ops(&self) -> u64 {
        self.options.calls
    }

    fn params(&self) -> String {
        let o = &self.options;
        format!(
            "{{\"service\":\"{}\",\"load\":{},\"calls\":{},\"seed\":{}}}",
            o.service, o.load_percent, o.calls, o.seed
        )
    }

    fn prepare(&mut self) {
        let seed = self.options.seed + self.rounds;
        self.calls = plan(&self.options, self.workers, seed);
        self.rounds += 1;
        for end_ns in self.ends_ns {
            end_ns.store(0, Relaxed);
        }
    }

    fn round(&mut self) {
        self.start_ns = clock_ns() + LEAD_NS;
        for (call, end_ns) in self.calls.iter().zip(self.ends_ns) {
            while clock_ns() < self.start_ns + call.arrival_ns {
                spin_loop();
            }
            let task = serve(call.service_ns, end_ns);
            self.handles.push(self.rt.spawn(task));
        }
        self.rt.block_on(async {
            for handle in self.handles.drain(..) {
                handle.await.unwrap();
            }
        });
    }

    fn check(&mut self) -> bool {
        let served = |(call, end_ns): (&Call, &AtomicU64)| {
            end_ns.load(Relaxed) >= self.start_ns + call.arrival_ns + call.service_ns
        };
        let calls = self.calls.iter().zip(self.ends_ns);
        let wrong = calls.filter(|both| !served(*both)).count();
        if wrong > 0 {
            eprintln!("rpc: {wrong} calls were not served for their time");
        }
        wrong == 0
    }

    /// Returns the median sojourn time of the round.
    fn sample(&mut self, _: u64) -> f64 {
        let before = self.times.sojourn_ns.len();
        for (call, end_ns) in self.calls.iter().zip(self.ends_ns) {
            let arrival_ns = self.start_ns + call.arrival_ns;
            // The value does not matter for a call that was not served: check() failed.
            let sojourn_ns = end_ns.load(Relaxed).saturating_sub(arrival_ns);
            self.times.record(call, sojourn_ns);
        }
        self.simulated.simulate(&self.calls, self.workers);
        let round = &mut self.times.sojourn_ns[before..];
        round.sort_unstable();
        percentile(round, 50.0) as f64
    }

    fn figures(&mut self) -> Vec<(&'static str, String)> {
        let (times, queue) = (&mut self.times, &mut self.simulated);
        let mut figures = vec![
            ("latency_ns", percentiles(&mut times.sojourn_ns, 1)),
            ("queue_latency_ns", percentiles(&mut queue.sojourn_ns, 1)),
            ("slowdown", percentiles(&mut times.slowdown, SLOWDOWN_ONE)),
            (
                "queue_slowdown",
                percentiles(&mut queue.slowdown, SLOWDOWN_ONE),
            ),
        ];
        let p999 = |times: &Times| percentile(&times.slowdown, 99.9) as f64;
        let of_queue = p999(times) / p999(queue);
        figures.push(("p999_of_queue", format!("{of_queue:.4}")));
        figures
    }
}

pub fn rpc(options: &Options) -> Box<dyn Workload> {
    let calls = options.rpc.calls as usize;
    let rt = runtime(options);
    wake::pin(true); // after the start of the workers, which would inherit the affinity
    Box::new(Rpc {
        rt,
        workers: options.workers,
        options: options.rpc.clone(),
        calls: Vec::new(),
        ends_ns: leak(calls),
        handles: Vec::with_capacity(calls),
        rounds: 0,
        start_ns: 0,
        times: Times::default(),
        simulated: Times::default(),
    })
}
