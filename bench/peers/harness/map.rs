// SPDX-License-Identifier: MIT
//! map.rs - the items of parallel_map, and their check

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::compute;

pub const ITEMS: u64 = 10_000;
const COST: u64 = 1;

#[derive(Default)]
pub struct Item {
    number: AtomicU64,
    value: AtomicU64,
}

impl Item {
    pub fn fill(&self, number: u64) {
        self.value.store(compute(number, COST), Relaxed);
        self.number.store(number, Relaxed);
    }
}

pub fn params() -> String {
    format!("{{\"items\":{ITEMS},\"cost\":{COST}}}")
}

pub fn clear(items: &[Item]) {
    for item in items {
        item.number.store(u64::MAX, Relaxed);
    }
}

pub fn check(items: &[Item]) -> bool {
    let right = (0..).zip(items).all(|(number, item)| {
        item.number.load(Relaxed) == number && item.value.load(Relaxed) == compute(number, COST)
    });
    if !right {
        eprintln!("parallel_map: an item is wrong");
    }
    right
}
