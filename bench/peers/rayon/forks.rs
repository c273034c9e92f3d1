// SPDX-License-Identifier: MIT
//! forks.rs - fork-join workloads, with a join() for each fork

use std::fmt::Debug;

use rayon::ThreadPool;

use crate::harness::kernels::{self, Merge, Product};
use crate::harness::{clock_ns, percentile, percentiles, Number, Options, Workload};
use crate::pool;

/// A call that forks, made within the pool. Its answer is a number.
struct Call<T> {
    pool: ThreadPool,
    n: u64,
    ops: u64,
    call: fn() -> T,
    right: fn(&T) -> bool,
    answer: Option<T>,
}

impl<T: Send + Debug> Workload for Call<T> {
    fn ops(&self) -> u64 {
        self.ops
    }

    fn params(&self) -> String {
        kernels::params(self.n)
    }

    fn prepare(&mut self) {
        self.answer = None;
    }

    fn round(&mut self) {
        self.answer = Some(self.pool.install(self.call));
    }

    fn check(&mut self) -> bool {
        let right = self.answer.as_ref().map_or(false, self.right);
        if !right {
            eprintln!("the answer is wrong: {:?}", self.answer);
        }
        right
    }
}

/// Handles a leaf in the caller, as in bench/workloads/fork_join/fib.c.
#[inline]
fn fib_of(n: u64) -> u64 {
    if n < 2 { n } else { fork_fib(n) }
}

fn fork_fib(n: u64) -> u64 {
    let (left, right) = rayon::join(|| fib_of(n - 1), || fib_of(n - 2));
    left + right
}

pub fn fib(options: &Options) -> Box<dyn Workload> {
    Box::new(Call {
        pool: pool(options),
        n: kernels::FIB_N,
        ops: kernels::fib_number(kernels::FIB_N + 1) - 1,
        call: || fib_of(kernels::FIB_N),
        right: |answer| *answer == kernels::fib_number(kernels::FIB_N),
        answer: None,
    })
}

pub const REGION_N: Number = Number {
    default: kernels::REGION_N,
    min: 2,
    max: 40,
};

/// The case region, as in bench/workloads/fork_join/region.c.
struct Region {
    pool: ThreadPool,
    n: u64,
    wrong: u64,
    warm: Vec<u64>,
    cold: Vec<u64>,
    all_warm: Vec<u64>,
    all_cold: Vec<u64>,
}

impl Region {
    fn call(&mut self) -> u64 {
        let n = self.n;
        let start = clock_ns();
        let answer = self.pool.install(|| fib_of(n));
        let ns = clock_ns() - start;
        self.wrong += (answer != kernels::fib_number(n)) as u64;
        ns
    }
}

impl Workload for Region {
    fn ops(&self) -> u64 {
        kernels::REGION_CALLS
    }

    fn params(&self) -> String {
        format!(
            "{{\"n\":{},\"calls\":{},\"gap\":{}}}",
            self.n,
            kernels::REGION_CALLS,
            kernels::REGION_GAP_US
        )
    }

    fn prepare(&mut self) {
        self.wrong = 0;
        self.warm.clear();
        self.cold.clear();
    }

    fn round(&mut self) {
        for _ in 0..kernels::REGION_CALLS {
            let ns = self.call();
            self.warm.push(ns);
        }
        for _ in 0..kernels::REGION_CALLS {
            let end = clock_ns() + kernels::REGION_GAP_US * 1000;
            while clock_ns() < end {
                std::hint::spin_loop();
            }
            let ns = self.call();
            self.cold.push(ns);
        }
    }

    fn check(&mut self) -> bool {
        if self.wrong > 0 {
            eprintln!("region: {} answers are wrong", self.wrong);
        }
        self.wrong == 0
    }

    fn sample(&mut self, _round_ns: u64) -> f64 {
        self.all_warm.extend(&self.warm);
        self.all_cold.extend(&self.cold);
        self.warm.sort_unstable();
        percentile(&self.warm, 50.0) as f64
    }

    fn figures(&mut self) -> Vec<(&'static str, String)> {
        vec![
            ("latency_ns", percentiles(&mut self.all_warm, 1)),
            ("cold_latency_ns", percentiles(&mut self.all_cold, 1)),
        ]
    }
}

pub fn region(options: &Options) -> Box<dyn Workload> {
    Box::new(Region {
        pool: pool(options),
        n: options.n,
        wrong: 0,
        warm: Vec::new(),
        cold: Vec::new(),
        all_warm: Vec::new(),
        all_cold: Vec::new(),
    })
}

fn function(x: f64) -> f64 {
    (x * x + 1.0) * x
}

fn trapezoid(x0: f64, y0: f64, x1: f64, y1: f64) -> f64 {
    (y0 + y1) * (x1 - x0) / 2.0
}

fn area(x0: f64, y0: f64, x1: f64, y1: f64, whole: f64) -> f64 {
    let x = x0 + (x1 - x0) / 2.0;
    let y = function(x);
    let left = trapezoid(x0, y0, x, y);
    let right = trapezoid(x, y, x1, y1);
    if (left + right - whole).abs() < kernels::INTEGRATE_EPSILON {
        return left + right;
    }
    let (left, right) = rayon::join(|| area(x0, y0, x, y, left), || area(x, y, x1, y1, right));
    left + right
}

pub fn integrate(options: &Options) -> Box<dyn Workload> {
    Box::new(Call {
        pool: pool(options),
        n: kernels::INTEGRATE_N,
        ops: kernels::INTEGRATE_FORKS,
        call: || {
            let x = kernels::INTEGRATE_N as f64;
            let y = function(x);
            area(0.0, 0.0, x, y, trapezoid(0.0, 0.0, x, y))
        },
        right: |answer| {
            let square = (kernels::INTEGRATE_N * kernels::INTEGRATE_N) as f64;
            let expected = square * square / 4.0 + square / 2.0;
            (answer - expected).abs() < expected * 1e-6
        },
        answer: None,
    })
}

fn place(columns: u32, left: u32, right: u32) -> u64 {
    const ALL: u32 = (1 << kernels::NQUEENS_N) - 1;
    match columns {
        ALL => 1,
        _ => place_at(columns, left, right, ALL & !(columns | left | right)),
    }
}

/// Places a queen at each place of this row that is set in safe.
fn place_at(columns: u32, left: u32, right: u32, safe: u32) -> u64 {
    if safe == 0 {
        return 0;
    }
    let bit = safe & safe.wrapping_neg();
    let (rest, first) = rayon::join(
        || place_at(columns, left, right, safe - bit),
        || place(columns | bit, (left | bit) << 1, (right | bit) >> 1),
    );
    rest + first
}

pub fn nqueens(options: &Options) -> Box<dyn Workload> {
    Box::new(Call {
        pool: pool(options),
        n: kernels::NQUEENS_N,
        ops: kernels::NQUEENS_FORKS,
        call: || place(0, 0, 0),
        right: |ways| *ways == kernels::NQUEENS_WAYS,
        answer: None,
    })
}

fn add_up(first: u64, leaves: u64) -> u64 {
    match leaves {
        1 => first,
        _ => {
            let leaves = leaves / kernels::SKYNET_CHILDREN;
            add_up_children(first, leaves, kernels::SKYNET_CHILDREN)
        }
    }
}

fn add_up_children(first: u64, leaves: u64, count: u64) -> u64 {
    if count == 0 {
        return 0;
    }
    let (rest, own) = rayon::join(
        || add_up_children(first + leaves, leaves, count - 1),
        || add_up(first, leaves),
    );
    rest + own
}

pub fn skynet(options: &Options) -> Box<dyn Workload> {
    Box::new(Call {
        pool: pool(options),
        n: kernels::SKYNET_N,
        ops: kernels::SKYNET_FORKS,
        call: || add_up(0, kernels::SKYNET_LEAVES),
        right: |sum| *sum == kernels::SKYNET_LEAVES * (kernels::SKYNET_LEAVES - 1) / 2,
        answer: None,
    })
}

struct Matmul {
    pool: ThreadPool,
    product: Product,
}

fn multiply(p: Product) {
    if p.size == kernels::MATMUL_BLOCK {
        return p.block();
    }
    for k in 0..2 {
        rayon::join(
            || rayon::join(|| multiply(p.part(0, 0, k)), || multiply(p.part(0, 1, k))),
            || rayon::join(|| multiply(p.part(1, 0, k)), || multiply(p.part(1, 1, k))),
        );
    }
}

impl Workload for Matmul {
    fn ops(&self) -> u64 {
        kernels::MATMUL_BLOCKS
    }

    fn params(&self) -> String {
        kernels::params(kernels::MATMUL_N)
    }

    fn prepare(&mut self) {
        self.product.clear();
    }

    fn round(&mut self) {
        let product = self.product;
        self.pool.install(|| multiply(product));
    }

    fn check(&mut self) -> bool {
        self.product.check()
    }
}

pub fn matmul(options: &Options) -> Box<dyn Workload> {
    Box::new(Matmul {
        pool: pool(options),
        product: Product::new(),
    })
}

struct Sort {
    pool: ThreadPool,
    numbers: Vec<u32>,
    spare: Vec<u32>,
}

fn merge(m: &Merge) {
    match m.cut() {
        Some((low, high)) => {
            rayon::join(|| merge(&low), || merge(&high));
        }
        None => m.merge(),
    }
}

fn sort(numbers: &mut [u32], spare: &mut [u32]) {
    let count = numbers.len() as u64;
    if count <= kernels::CILKSORT_RUN {
        return kernels::sort_run(numbers);
    }
    let from = |i| kernels::quarter(count, i);
    {
        let half = from(2) as usize;
        let (numbers, numbers2) = numbers.split_at_mut(half);
        let (spare, spare2) = spare.split_at_mut(half);
        let (n0, n1) = numbers.split_at_mut(from(1) as usize);
        let (s0, s1) = spare.split_at_mut(from(1) as usize);
        let (n2, n3) = numbers2.split_at_mut(from(3) as usize - half);
        let (s2, s3) = spare2.split_at_mut(from(3) as usize - half);
        rayon::join(
            || rayon::join(|| sort(n0, s0), || sort(n1, s1)),
            || rayon::join(|| sort(n2, s2), || sort(n3, s3)),
        );
    }
    let (source, out) = (numbers.as_mut_ptr(), spare.as_mut_ptr());
    let low = Merge::of(source, [0, from(1), from(2)], out);
    let high = Merge::of(source, [from(2), from(3), count], out);
    rayon::join(|| merge(&low), || merge(&high));
    merge(&Merge::of(out, [0, from(2), count], source));
}

impl Workload for Sort {
    fn ops(&self) -> u64 {
        kernels::CILKSORT_N
    }

    fn params(&self) -> String {
        kernels::params(kernels::CILKSORT_N)
    }

    fn prepare(&mut self) {
        kernels::sort_fill(&mut self.numbers);
    }

    fn round(&mut self) {
        let (numbers, spare) = (&mut self.numbers, &mut self.spare);
        self.pool.install(|| sort(numbers, spare));
    }

    fn check(&mut self) -> bool {
        kernels::sort_check(&self.numbers)
    }
}

pub fn cilksort(options: &Options) -> Box<dyn Workload> {
    let count = kernels::CILKSORT_N as usize;
    Box::new(Sort {
        pool: pool(options),
        numbers: vec![0; count],
        spare: vec![1; count],
    })
}
