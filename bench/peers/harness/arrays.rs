// SPDX-License-Identifier: MIT
//! arrays.rs - the constants, data and checks of bench/kernels/arrays.h

use std::ffi::CString;
use std::os::raw::c_char;

use super::scatter;

pub const FOR_N: u64 = 4_000_000;
pub const REDUCE_N: u64 = 20_000_000;
pub const FIND_EARLY_N: u64 = 20_000_000;
pub const SORT_N: u64 = 1_000_000;

pub const INPUTS: [&str; 5] = ["random", "sorted", "reversed", "equal", "organ_pipe"];
pub const NEEDLE: u32 = u32::MAX;

/// struct sort_item of bench/kernels/arrays.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Item {
    pub key: u32,
    place: u32,
}

extern "C" {
    fn for_fill(b: *mut f64, c: *mut f64, n: usize);
    fn for_check(a: *const f64, n: usize) -> bool;
    fn reduce_check(sum: u64, n: usize) -> bool;
    fn find_early_fill(numbers: *mut u32, n: usize);
    fn find_early_check(found: usize, n: usize) -> bool;
    fn sort_fill(items: *mut Item, n: usize, input: *const c_char);
    fn sort_check(items: *const Item, n: usize, input: *const c_char, stable: bool) -> bool;
}

pub fn for_item(b: f64, c: f64) -> f64 {
    b + 3.0 * c
}

/// Returns the factors b and c of the case `for`.
pub fn for_factors(n: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut b, mut c) = (vec![0.0; n], vec![0.0; n]);
    unsafe { for_fill(b.as_mut_ptr(), c.as_mut_ptr(), n) };
    (b, c)
}

pub fn for_is_right(a: &[f64]) -> bool {
    unsafe { for_check(a.as_ptr(), a.len()) }
}

pub fn reduce_item(i: usize) -> u64 {
    scatter(i as u64)
}

pub fn reduce_is_right(sum: u64, n: usize) -> bool {
    unsafe { reduce_check(sum, n) }
}

pub fn find_early_numbers(n: usize) -> Vec<u32> {
    let mut numbers = vec![0; n];
    unsafe { find_early_fill(numbers.as_mut_ptr(), n) };
    numbers
}

pub fn find_early_place(n: u64) -> u64 {
    n / 4 * 3
}

pub fn find_early_is_right(found: usize, n: usize) -> bool {
    unsafe { find_early_check(found, n) }
}

pub fn fill_items(items: &mut [Item], input: &str) {
    let input = CString::new(input).unwrap();
    unsafe { sort_fill(items.as_mut_ptr(), items.len(), input.as_ptr()) }
}

pub fn sort_is_right(items: &[Item], input: &str, stable: bool) -> bool {
    let input = CString::new(input).unwrap();
    unsafe { sort_check(items.as_ptr(), items.len(), input.as_ptr(), stable) }
}
