// SPDX-License-Identifier: MIT
//! store.rs - the keys, and the commands

use crate::resp::{bulk, decimal, error, line, wrong_count};
use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::sync::{Mutex, MutexGuard};

const SHARDS: usize = 256;

const INTEGER: &str = "ERR value is not an integer or out of range";
const OVERFLOW: &str = "ERR increment or decrement would overflow";
const SYNTAX: &str = "ERR syntax error";
const TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

/// A hash of eight bytes at a time, by folded multiplication.
#[derive(Default)]
struct Folded(u64);

fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        let mut eights = bytes.chunks_exact(8);
        for eight in &mut eights {
            let word = u64::from_le_bytes(eight.try_into().unwrap());
            self.0 = fold(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9);
        }
        let mut last = [0; 8];
        last[..eights.remainder().len()].copy_from_slice(eights.remainder());
        let word = u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56;
        self.0 = fold(self.0 ^ word, 0x94d0_49bb_1331_11eb);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = fold(self.0 ^ word, 0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

enum Value {
    Text(Vec<u8>),
    List(VecDeque<Box<[u8]>>),
}

type Keys = HashMap<Box<[u8]>, Value, BuildHasherDefault<Folded>>;

/// A part of the keys, in cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Shard(Mutex<Keys>);

pub struct Store {
    shards: Vec<Shard>,
    seed: u64,
}

/// Sets a key. A value that fits stays where it is.
fn set(keys: &mut Keys, key: &[u8], value: &[u8]) {
    match keys.get_mut(key) {
        Some(Value::Text(text)) => {
            text.clear();
            text.extend_from_slice(value);
        }
        Some(other) => *other = Value::Text(value.to_vec()),
        None => {
            keys.insert(key.into(), Value::Text(value.to_vec()));
        }
    }
}

fn incr(keys: &mut Keys, key: &[u8]) -> Result<i64, &'static str> {
    let value = match keys.get_mut(key) {
        Some(value) => value,
        None => keys.entry(key.into()).or_insert_with(|| Value::Text(b"0".to_vec())),
    };
    match value {
        Value::List(_) => Err(TYPE),
        Value::Text(text) => {
            let old = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
            let old: i64 = old.ok_or(INTEGER)?;
            let new = old.checked_add(1).ok_or(OVERFLOW)?;
            text.clear();
            decimal(text, new);
            Ok(new)
        }
    }
}

fn lpush(keys: &mut Keys, key: &[u8], values: &[&[u8]]) -> Result<i64, &'static str> {
    let value = match keys.get_mut(key) {
        Some(value) => value,
        None => keys.entry(key.into()).or_insert_with(|| Value::List(VecDeque::new())),
    };
    match value {
        Value::Text(_) => Err(TYPE),
        Value::List(list) => {
            values.iter().for_each(|value| list.push_front((*value).into()));
            Ok(list.len() as i64)
        }
    }
}

fn integer(out: &mut Vec<u8>, result: Result<i64, &'static str>) {
    match result {
        Ok(value) => line(out, b':', value),
        Err(text) => error(out, text),
    }
}

/// Answers CONFIG GET of one setting as a server without persistence.
fn config(arguments: &[&[u8]], out: &mut Vec<u8>) {
    if arguments.len() != 3 || !arguments[1].eq_ignore_ascii_case(b"get") {
        return error(out, "ERR unknown subcommand");
    }
    let value: &[u8] = match arguments[2].to_ascii_lowercase().as_slice() {
        b"appendonly" => b"no",
        b"save" => b"",
        _ => return line(out, b'*', 0),
    };
    line(out, b'*', 2);
    bulk(out, arguments[2]);
    bulk(out, value);
}

impl Store {
    pub fn new() -> Store {
        Store {
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            seed: RandomState::new().build_hasher().finish(),
        }
    }

    fn index(&self, key: &[u8]) -> usize {
        let mut hasher = Folded(self.seed);
        hasher.write(key);
        // The map itself uses the highest and the lowest bits.
        (hasher.finish() >> 32) as usize % SHARDS
    }

    fn lock(&self, key: &[u8]) -> MutexGuard<'_, Keys> {
        self.shards[self.index(key)].0.lock().unwrap()
    }

    fn get(&self, key: &[u8], out: &mut Vec<u8>) {
        match self.lock(key).get(key) {
            Some(Value::Text(text)) => bulk(out, text),
            Some(Value::List(_)) => error(out, TYPE),
            None => out.extend_from_slice(b"$-1\r\n"),
        }
    }

    /// Sets all keys at once: locks their shards in ascending order.
    fn mset(&self, pairs: &[&[u8]]) {
        let mut needed: Vec<usize> = pairs.chunks(2).map(|pair| self.index(pair[0])).collect();
        needed.sort_unstable();
        needed.dedup();
        let lock = |i: &usize| self.shards[*i].0.lock().unwrap();
        let mut guards: Vec<_> = needed.iter().map(lock).collect();
        for pair in pairs.chunks(2) {
            let i = needed.binary_search(&self.index(pair[0])).unwrap();
            set(&mut guards[i], pair[0], pair[1]);
        }
    }

    /// Adds the reply to a command.
    pub fn run(&self, arguments: &[&[u8]], out: &mut Vec<u8>) {
        let mut name = [0; 8];
        let count = arguments.len();
        let size = arguments[0].len().min(name.len());
        name[..size].copy_from_slice(&arguments[0][..size]);
        name.make_ascii_lowercase();
        match (&name[..size], count) {
            (b"get", 2) => self.get(arguments[1], out),
            (b"set", 3) => {
                set(&mut self.lock(arguments[1]), arguments[1], arguments[2]);
                out.extend_from_slice(b"+OK\r\n");
            }
            (b"set", 4..) => error(out, SYNTAX),
            (b"incr", 2) => integer(out, incr(&mut self.lock(arguments[1]), arguments[1])),
            (b"ping", 1) => out.extend_from_slice(b"+PONG\r\n"),
            (b"ping", 2) => bulk(out, arguments[1]),
            (b"lpush", 3..) => {
                let mut keys = self.lock(arguments[1]);
                integer(out, lpush(&mut keys, arguments[1], &arguments[2..]));
            }
            (b"mset", 3..) if count % 2 == 1 => {
                self.mset(&arguments[1..]);
                out.extend_from_slice(b"+OK\r\n");
            }
            (b"config", _) => config(arguments, out),
            (b"info", _) => {
                let text = format!("# Server\r\nprocess_id:{}\r\n", std::process::id());
                bulk(out, text.as_bytes());
            }
            (b"get" | b"set" | b"incr" | b"ping" | b"lpush" | b"mset", _) => {
                wrong_count(out, std::str::from_utf8(&name[..size]).unwrap());
            }
            _ => {
                let shown = &arguments[0][..arguments[0].len().min(128)];
                let shown = String::from_utf8_lossy(shown);
                error(out, &format!("ERR unknown command '{shown}'"));
            }
        }
    }
}
