// SPDX-License-Identifier: MIT
//
// from_rust.rs - use the library from Rust, with the sizes that it tells
//
// The program knows no layout of a struct of the library, except the first field of
// skua_config and the two fields of skua_error. It puts a guard after each struct.
use std::alloc::{alloc_zeroed, dealloc, Layout};
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

const DONE: c_int = 0;
const YIELD: c_int = 2;
const EPIPE: c_int = 32;
const EINVAL: c_int = 22;
const FOREVER_NS: u64 = u64::MAX;
const GUARD: usize = 64;
const PATTERN: u8 = 0xA5;

/// Any struct of the library: its size is known at run time.
type Opaque = *mut c_void;

#[link(name = "skua")]
extern "C" {
    fn skua_sizeof(name: *const c_char) -> usize;
    fn skua_version_string() -> *const c_char;
    fn skua_runtime_create(out: *mut Opaque, config: Opaque, error: Opaque) -> c_int;
    fn skua_runtime_drain(rt: Opaque) -> c_int;
    fn skua_runtime_destroy(rt: Opaque) -> c_int;
    fn skua_task_init(task: Opaque, poll: extern "C" fn(Opaque) -> c_int) -> c_int;
    fn skua_task_spawn(rt: Opaque, task: Opaque) -> c_int;
    fn skua_task_join(task: Opaque) -> c_int;
    fn skua_fiber_spawn(rt: Opaque, kind: Opaque, f: extern "C" fn(Opaque), arg: Opaque) -> c_int;
    fn skua_yield() -> c_int;
    fn skua_mutex_lock(mutex: Opaque, deadline_ns: u64) -> c_int;
    fn skua_mutex_unlock(mutex: Opaque) -> c_int;
    fn skua_mutex_destroy(mutex: Opaque) -> c_int;
    fn skua_channel_init(channel: Opaque, memory: Opaque, capacity: u32, item_bytes: u32) -> c_int;
    fn skua_channel_send(channel: Opaque, item: *const u64, deadline_ns: u64) -> c_int;
    fn skua_channel_receive(channel: Opaque, item: *mut u64, deadline_ns: u64) -> c_int;
    fn skua_channel_close(channel: Opaque) -> c_int;
}

fn size_of(name: &str) -> usize {
    let name = CString::new(name).unwrap();
    unsafe { skua_sizeof(name.as_ptr()) }
}

/// Zeroed memory for some structs of a type, and a guard after it.
struct Room {
    begin: *mut u8,
    size: usize,
    bytes: usize,
}

impl Room {
    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes + GUARD, 16).unwrap()
    }

    fn new(name: &str, count: usize) -> Room {
        let size = size_of(name);
        assert!(size > 0, "skua_sizeof({}) is a size", name);
        let bytes = size * count;
        let begin = unsafe { alloc_zeroed(Room::layout(bytes)) };
        unsafe { ptr::write_bytes(begin.add(bytes), PATTERN, GUARD) };
        Room { begin, size, bytes }
    }

    fn at(&self, i: usize) -> Opaque {
        unsafe { self.begin.add(i * self.size).cast() }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let guard = unsafe { std::slice::from_raw_parts(self.begin.add(self.bytes), GUARD) };
        assert!(guard.iter().all(|b| *b == PATTERN), "a guard was written to");
        unsafe { dealloc(self.begin, Room::layout(self.bytes)) };
    }
}

fn create() -> Opaque {
    let (mut rt, error) = (ptr::null_mut(), Room::new("skua_error", 1));
    let code = unsafe { skua_runtime_create(&mut rt, ptr::null_mut(), error.at(0)) };
    assert_eq!((code, text(&error).as_str()), (0, ""));
    rt
}

fn text(error: &Room) -> String {
    let text: *const c_char = unsafe { error.begin.add(std::mem::size_of::<c_int>()).cast() };
    unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_string()
}

fn config_of_another_size__refused_with_a_text() {
    let (config, error) = (Room::new("skua_config", 1), Room::new("skua_error", 1));
    let mut rt = ptr::null_mut();
    unsafe {
        config.begin.cast::<usize>().write(1);
        let code = skua_runtime_create(&mut rt, config.at(0), error.at(0));
        assert_eq!(code, -EINVAL);
        assert_eq!(error.begin.cast::<c_int>().read(), -EINVAL);
    }
    let wanted = config.size.to_string();
    assert!(text(&error).contains(&wanted), "{:?} names {}", text(&error), wanted);
}

static POLLS: AtomicUsize = AtomicUsize::new(0);
static FIRST_POLLS: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];
static TASKS: AtomicUsize = AtomicUsize::new(0);

/// A task yields once; bit i of a word says that task i has been polled.
extern "C" fn poll_twice(task: Opaque) -> c_int {
    let i = (task as usize - TASKS.load(Ordering::Relaxed)) / size_of("skua_task");
    let bit = 1 << (i % 64);
    POLLS.fetch_add(1, Ordering::Relaxed);
    if FIRST_POLLS[i / 64].fetch_or(bit, Ordering::Relaxed) & bit == 0 {
        YIELD
    } else {
        DONE
    }
}

fn row_of_tasks__spawned_and_joined__each_polled_twice() {
    let (rt, tasks) = (create(), Room::new("skua_task", 128));
    TASKS.store(tasks.begin as usize, Ordering::Relaxed);
    unsafe {
        for i in 0..128 {
            assert_eq!(skua_task_init(tasks.at(i), poll_twice), 0);
        }
        for i in 0..128 {
            assert_eq!(skua_task_spawn(rt, tasks.at(i)), 0);
        }
        for i in 0..128 {
            assert_eq!(skua_task_join(tasks.at(i)), 0);
        }
        assert_eq!(skua_runtime_destroy(rt), 0);
    }
    assert_eq!(POLLS.load(Ordering::Relaxed), 256);
}

struct Shared {
    mutex: Room,
    channel: Room,
    count: UnsafeCell<u64>, // guarded by the mutex
}

/// Add 100 to the count, with a yield in the middle of each step.
extern "C" fn count(arg: Opaque) {
    let shared = unsafe { &*(arg as *const Shared) };
    for _ in 0..100 {
        unsafe {
            assert_eq!(skua_mutex_lock(shared.mutex.at(0), FOREVER_NS), 0);
            let before = *shared.count.get();
            assert_eq!(skua_yield(), 0);
            *shared.count.get() = before + 1;
            assert_eq!(skua_mutex_unlock(shared.mutex.at(0)), 0);
        }
    }
}

extern "C" fn send(arg: Opaque) {
    let shared = unsafe { &*(arg as *const Shared) };
    for item in 1..=100 {
        assert_eq!(unsafe { skua_channel_send(shared.channel.at(0), &item, FOREVER_NS) }, 0);
    }
}

fn shared() -> Shared {
    Shared {
        mutex: Room::new("skua_mutex", 1), // zeros are an unlocked mutex
        channel: Room::new("skua_channel", 1),
        count: UnsafeCell::new(0),
    }
}

fn mutex__fibers_count__no_step_is_lost() {
    let (rt, shared) = (create(), shared());
    let arg = &shared as *const Shared as Opaque;
    unsafe {
        for _ in 0..8 {
            assert_eq!(skua_fiber_spawn(rt, ptr::null_mut(), count, arg), 0);
        }
        assert_eq!(skua_runtime_drain(rt), 0);
        assert_eq!(skua_runtime_destroy(rt), 0);
        assert_eq!(*shared.count.get(), 800);
        assert_eq!(skua_mutex_destroy(shared.mutex.at(0)), 0);
    }
}

fn channel__fibers_send__all_items_are_received() {
    let (rt, shared) = (create(), shared());
    let arg = &shared as *const Shared as Opaque;
    let mut memory = vec![0u64; 8 * 2]; // SKUA_CHANNEL_BYTES(8, 8)
    let (mut item, mut sum) = (0, 0);
    unsafe {
        let channel = shared.channel.at(0);
        assert_eq!(skua_channel_init(channel, memory.as_mut_ptr().cast(), 8, 8), 0);
        for _ in 0..3 {
            assert_eq!(skua_fiber_spawn(rt, ptr::null_mut(), send, arg), 0);
        }
        for _ in 0..300 {
            assert_eq!(skua_channel_receive(channel, &mut item, FOREVER_NS), 0);
            sum += item;
        }
        assert_eq!(sum, 3 * 5050);
        assert_eq!(skua_channel_close(channel), 0);
        assert_eq!(skua_channel_receive(channel, &mut item, FOREVER_NS), -EPIPE);
        assert_eq!(skua_runtime_destroy(rt), 0);
    }
}

fn main() {
    assert_eq!(size_of("no_such_struct"), 0);
    config_of_another_size__refused_with_a_text();
    row_of_tasks__spawned_and_joined__each_polled_twice();
    mutex__fibers_count__no_step_is_lost();
    channel__fibers_send__all_items_are_received();
    let version = unsafe { CStr::from_ptr(skua_version_string()) };
    println!("skua {} from Rust", version.to_str().unwrap());
}
