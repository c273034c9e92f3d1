// SPDX-License-Identifier: MIT
//! arrays.rs - loops over arrays by parallel iterators, and sorts
//!
//! There is no case scan, because Rayon has no such function.

use rayon::prelude::*;
use rayon::ThreadPool;

use crate::harness::arrays::{self, Item};
use crate::harness::{case, Case, Make, Number, Options, Workload};
use crate::pool;

/// The data of a case. Its functions run in the pool, in the order of those of Workload.
trait Data: Send {
    fn clear(&mut self);
    fn run(&mut self);
    fn check(&self) -> bool;
}

struct Array<D> {
    pool: ThreadPool,
    params: String,
    ops: u64,
    data: D,
}

impl<D: Data> Workload for Array<D> {
    fn ops(&self) -> u64 {
        self.ops
    }

    fn params(&self) -> String {
        self.params.clone()
    }

    fn prepare(&mut self) {
        self.data.clear();
    }

    fn round(&mut self) {
        let data = &mut self.data;
        self.pool.install(|| data.run());
    }

    fn check(&mut self) -> bool {
        self.data.check()
    }
}

fn array<D: Data + 'static>(options: &Options, data: D) -> Array<D> {
    Array {
        pool: pool(options),
        params: format!("{{\"n\":{}}}", options.n),
        ops: options.n,
        data,
    }
}

const fn number(default: u64, min: u64) -> Number {
    Number {
        default,
        min,
        max: 1_000_000_000,
    }
}

const fn loop_case(name: &'static str, description: &'static str, n: Number, make: Make) -> Case {
    Case {
        takes: &["--n"],
        n,
        ..case(name, description, make)
    }
}

// ---- for --------------------------------------------------------------------

struct For {
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

impl Data for For {
    fn clear(&mut self) {
        self.a.fill(-1.0);
    }

    fn run(&mut self) {
        self.a
            .par_iter_mut()
            .zip(&self.b)
            .zip(&self.c)
            .for_each(|((a, b), c)| *a = arrays::for_item(*b, *c));
    }

    fn check(&self) -> bool {
        arrays::for_is_right(&self.a)
    }
}

fn make_for(options: &Options) -> Box<dyn Workload> {
    let n = options.n as usize;
    let (b, c) = arrays::for_factors(n);
    let a = vec![0.0; n];
    Box::new(array(options, For { a, b, c }))
}

pub const FOR: Case = loop_case(
    "for",
    "A loop over arrays, limited by memory bandwidth",
    number(arrays::FOR_N, 1),
    make_for,
);

// ---- reduce -----------------------------------------------------------------

struct Sum {
    n: usize,
    sum: u64,
}

impl Data for Sum {
    fn clear(&mut self) {
        self.sum = 0;
    }

    fn run(&mut self) {
        self.sum = (0..self.n)
            .into_par_iter()
            .map(arrays::reduce_item)
            .reduce(|| 0, u64::wrapping_add);
    }

    fn check(&self) -> bool {
        arrays::reduce_is_right(self.sum, self.n)
    }
}

fn make_reduce(options: &Options) -> Box<dyn Workload> {
    let n = options.n as usize;
    Box::new(array(options, Sum { n, sum: 0 }))
}

pub const REDUCE: Case = loop_case(
    "reduce",
    "The sum of computed numbers",
    number(arrays::REDUCE_N, 1),
    make_reduce,
);

// ---- find_early -------------------------------------------------------------

/// Number of items that find_early reads before it checks whether another task has found
/// a match.
const CHUNK: usize = 1024;

struct Search {
    numbers: Vec<u32>,
    found: Option<usize>,
}

impl Data for Search {
    fn clear(&mut self) {
        self.found = None;
    }

    /// Searches by chunks, because position_first() passes each item through several
    /// adaptors, which takes twenty times longer than the comparison itself.
    fn run(&mut self) {
        self.found = self
            .numbers
            .par_chunks(CHUNK)
            .enumerate()
            .find_map_first(|(i, chunk)| {
                let found = chunk.iter().position(|number| *number == arrays::NEEDLE);
                found.map(|j| i * CHUNK + j)
            });
    }

    fn check(&self) -> bool {
        arrays::find_early_is_right(self.found.unwrap_or(usize::MAX), self.numbers.len())
    }
}

fn make_find_early(options: &Options) -> Box<dyn Workload> {
    let numbers = arrays::find_early_numbers(options.n as usize);
    let found = None;
    let mut array = array(options, Search { numbers, found });
    array.ops = arrays::find_early_place(options.n);
    Box::new(array)
}

pub const FIND_EARLY: Case = loop_case(
    "find_early",
    "Find the first match in an array, after three quarters of it",
    number(arrays::FIND_EARLY_N, 4),
    make_find_early,
);

// ---- sorts ------------------------------------------------------------------

struct Sort {
    items: Vec<Item>,
    input: &'static str,
    stable: bool,
    sort: fn(&mut [Item]),
}

impl Data for Sort {
    fn clear(&mut self) {
        arrays::fill_items(&mut self.items, self.input);
    }

    fn run(&mut self) {
        (self.sort)(&mut self.items);
    }

    fn check(&self) -> bool {
        arrays::sort_is_right(&self.items, self.input, self.stable)
    }
}

fn make_sort(options: &Options, stable: bool, sort: fn(&mut [Item])) -> Box<dyn Workload> {
    let (n, input) = (options.n, options.input);
    let data = Sort {
        items: vec![Item::default(); n as usize],
        input,
        stable,
        sort,
    };
    let mut array = array(options, data);
    array.params = format!("{{\"n\":{n},\"input\":\"{input}\"}}");
    Box::new(array)
}

const fn sort_case(name: &'static str, description: &'static str, make: Make) -> Case {
    Case {
        takes: &["--n", "--input"],
        n: number(arrays::SORT_N, 1),
        ..case(name, description, make)
    }
}

pub const SORT_UNSTABLE: Case = sort_case("sort_unstable", "Sort an array in place", |options| {
    make_sort(options, false, |items| {
        items.par_sort_unstable_by_key(|item| item.key)
    })
});

fn make_by_key(options: &Options) -> Box<dyn Workload> {
    make_sort(options, true, |items| {
        items.par_sort_by_key(|item| item.key)
    })
}

pub const SORT_STABLE: Case = sort_case(
    "sort_stable",
    "Sort an array and keep the order of equal items",
    make_by_key,
);

/// Uses par_sort_by_key(), because keys are cheap to compute: par_sort_by_cached_key()
/// takes half as long again.
pub const SORT_BY_KEY: Case = sort_case(
    "sort_by_key",
    "Sort an array by a key that a callback returns",
    make_by_key,
);
