// SPDX-License-Identifier: MIT
//! kernels.rs - the constants of bench/kernels/kernels.h, and bindings for its functions

use std::mem::MaybeUninit;

use super::leak;

pub const FIB_N: u64 = 33;
pub const INTEGRATE_N: u64 = 500;
pub const INTEGRATE_FORKS: u64 = 3_313_891;
pub const INTEGRATE_EPSILON: f64 = 1e-9;
pub const NQUEENS_N: u64 = 13;
pub const NQUEENS_FORKS: u64 = 4_674_889;
pub const NQUEENS_WAYS: u64 = 73_712;
pub const SKYNET_N: u64 = 6;
pub const SKYNET_CHILDREN: u64 = 10;
pub const SKYNET_LEAVES: u64 = 1_000_000;
pub const SKYNET_FORKS: u64 = 1_111_110;
pub const MATMUL_N: u64 = 512;
pub const MATMUL_BLOCK: u32 = 32;
pub const MATMUL_BLOCKS: u64 = 4096;
pub const CILKSORT_N: u64 = 2_000_000;
pub const CILKSORT_RUN: u64 = 2048;
pub const REGION_N: u64 = 16;
pub const REGION_CALLS: u64 = 200;
pub const REGION_GAP_US: u64 = 100;

pub fn params(n: u64) -> String {
    format!("{{\"n\":{n}}}")
}

pub fn fib_number(n: u64) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

/// struct matmul_product. The caller ensures that no two threads write the same part of c.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Product {
    c: *mut f64,
    a: *const f64,
    b: *const f64,
    pub size: u32,
    stride: u32,
}
unsafe impl Send for Product {}
unsafe impl Sync for Product {}

/// struct cilksort_merge. The caller ensures that no two threads write the same part of out.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Merge {
    a: *const u32,
    b: *const u32,
    a_count: u64,
    b_count: u64,
    out: *mut u32,
}
unsafe impl Send for Merge {}
unsafe impl Sync for Merge {}

extern "C" {
    fn matmul_part(p: *const Product, row: u32, column: u32, k: u32) -> Product;
    fn matmul_block(p: *const Product);
    fn matmul_fill(a: *mut f64, b: *mut f64, n: u32);
    fn matmul_check(c: *const f64, a: *const f64, b: *const f64, n: u32) -> bool;
    fn cilksort_run(numbers: *mut u32, count: u64);
    fn cilksort_runs(numbers: *const u32, from: u64, middle: u64, end: u64, out: *mut u32)
        -> Merge;
    fn cilksort_cut(m: *const Merge, low: *mut Merge, high: *mut Merge) -> bool;
    fn cilksort_merge_runs(m: *const Merge);
    fn cilksort_fill(numbers: *mut u32, count: u64);
    fn cilksort_check(numbers: *const u32, count: u64) -> bool;
}

impl Product {
    pub fn new() -> Product {
        let matrix = || leak::<f64>((MATMUL_N * MATMUL_N) as usize).as_ptr() as *mut f64;
        let (a, b, size) = (matrix(), matrix(), MATMUL_N as u32);
        unsafe { matmul_fill(a, b, size) };
        Product {
            c: matrix(),
            a,
            b,
            size,
            stride: size,
        }
    }

    pub fn part(&self, row: u32, column: u32, k: u32) -> Product {
        unsafe { matmul_part(self, row, column, k) }
    }

    pub fn block(&self) {
        unsafe { matmul_block(self) }
    }

    pub fn clear(&mut self) {
        unsafe { self.c.write_bytes(0, (MATMUL_N * MATMUL_N) as usize) }
    }

    pub fn check(&self) -> bool {
        unsafe { matmul_check(self.c, self.a, self.b, self.size) }
    }
}

impl Merge {
    /// The merge of two adjacent runs of numbers: from[0] to from[1] and from[1] to from[2].
    pub fn of(numbers: *const u32, from: [u64; 3], out: *mut u32) -> Merge {
        unsafe { cilksort_runs(numbers, from[0], from[1], from[2], out) }
    }

    pub fn cut(&self) -> Option<(Merge, Merge)> {
        let mut low = MaybeUninit::uninit();
        let mut high = MaybeUninit::uninit();
        unsafe {
            match cilksort_cut(self, low.as_mut_ptr(), high.as_mut_ptr()) {
                true => Some((low.assume_init(), high.assume_init())),
                false => None,
            }
        }
    }

    pub fn merge(&self) {
        unsafe { cilksort_merge_runs(self) }
    }
}

pub fn sort_run(numbers: &mut [u32]) {
    unsafe { cilksort_run(numbers.as_mut_ptr(), numbers.len() as u64) }
}

pub fn sort_fill(numbers: &mut [u32]) {
    unsafe { cilksort_fill(numbers.as_mut_ptr(), numbers.len() as u64) }
}

pub fn sort_check(numbers: &[u32]) -> bool {
    unsafe { cilksort_check(numbers.as_ptr(), numbers.len() as u64) }
}

pub fn quarter(count: u64, i: u64) -> u64 {
    count / 4 * i + count % 4 * i / 4
}
