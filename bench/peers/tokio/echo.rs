// SPDX-License-Identifier: MIT
//! echo.rs - echo servers, measured by skua-echo-client (bench/clients/echo_client.c)
//!
//! A task for each connection reads what has come, and writes it back. The client is
//! started as bench/clients/echo_start.c does it: see there.

use crate::harness::{Options, Workload};
use crate::runtime;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::net;
use std::os::raw::c_int;
use std::path::PathBuf;
use std::process::{exit, id, Child, ChildStdin, ChildStdout, Command, Stdio};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

const PROGRAM: &str = "skua-echo-client";
const BACKLOG: c_int = 4096;
const RLIMIT_NOFILE: c_int = 7;

type CpuSet = [u64; 16];

extern "C" {
    fn sched_getaffinity(pid: c_int, size: usize, cpus: *mut CpuSet) -> c_int;
    fn sched_setaffinity(pid: c_int, size: usize, cpus: *const CpuSet) -> c_int;
    fn getrlimit(resource: c_int, limit: *mut [u64; 2]) -> c_int;
    fn setrlimit(resource: c_int, limit: *const [u64; 2]) -> c_int;
    fn listen(socket: c_int, backlog: c_int) -> c_int;
}

fn allow_descriptors() {
    let mut limit = [0; 2]; // the soft and the hard limit
    unsafe {
        if getrlimit(RLIMIT_NOFILE, &mut limit) == 0 {
            limit[0] = limit[1];
            setrlimit(RLIMIT_NOFILE, &limit);
        }
    }
}

/// Keeps this thread, and threads that it starts, off the last of its CPUs, if the workers
/// leave that one free.
fn pin_server(workers: usize) {
    let mut cpus: CpuSet = [0; 16];
    let size = std::mem::size_of::<CpuSet>();
    unsafe { sched_getaffinity(0, size, &mut cpus) };
    let allowed = (0..1024).filter(|cpu| cpus[cpu / 64] >> (cpu % 64) & 1 == 1);
    if workers >= allowed.clone().count() {
        return;
    }
    if let Some(last) = allowed.last() {
        cpus[last / 64] &= !(1 << (last % 64));
        unsafe { sched_setaffinity(0, size, &cpus) };
    }
}

fn find_client() -> PathBuf {
    if let Some(path) = env::var_os("SKUA_ECHO_CLIENT") {
        return PathBuf::from(path);
    }
    let program = env::current_exe().unwrap_or_default();
    let found = program
        .ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join(PROGRAM))
        .find(|path| path.exists());
    found.unwrap_or_else(|| PathBuf::from(PROGRAM))
}

// ---- the server ---------------------------------------------------------------

async fn echo(mut connection: TcpStream) {
    let mut buffer = [0; 4096];
    while let Ok(n) = connection.read(&mut buffer).await {
        if n == 0 || connection.write_all(&buffer[..n]).await.is_err() {
            return;
        }
    }
}

async fn serve(listener: net::TcpListener) {
    let listener = TcpListener::from_std(listener).unwrap();
    loop {
        if let Ok((connection, _)) = listener.accept().await {
            let _ = connection.set_nodelay(true);
            tokio::spawn(echo(connection));
        }
    }
}

// ---- the client ---------------------------------------------------------------

struct Echo {
    name: &'static str,
    client: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    ops: u64,
    params: String,
    right: bool,
    sample: f64,
    _rt: Runtime,
}

fn start_client(name: &str, port: u16, options: &Options) -> Child {
    let path = find_client();
    let child = Command::new(&path)
        .args(["run", name, "--port", &port.to_string()])
        .args(["--pid", &id().to_string()])
        .args(["--workers", &options.workers.to_string()])
        .args(["--client", options.client])
        .args(["--requests", &options.requests.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    child.unwrap_or_else(|error| {
        eprintln!("cannot start {}: {error}", path.display());
        exit(1)
    })
}

impl Echo {
    /// Returns the next line of the client. If it has ended, ends with its exit code: it
    /// has said why.
    fn line(&mut self) -> String {
        let mut line = String::new();
        if self.from.read_line(&mut line).unwrap_or(0) == 0 {
            let status = self.client.wait().ok();
            let code = status.and_then(|status| status.code()).unwrap_or(1);
            exit(if code == 0 { 1 } else { code })
        }
        line.trim_end().to_string()
    }
}

impl Workload for Echo {
    fn ops(&self) -> u64 {
        self.ops
    }

    fn params(&self) -> String {
        self.params.clone()
    }

    fn round(&mut self) {
        if let Some(to) = &mut self.to {
            let _ = to.write_all(b"round\n");
        }
        let line = self.line();
        let (word, ns) = line.split_once(' ').unwrap_or(("", ""));
        self.right = word == "right";
        self.sample = ns.parse().unwrap_or(0.0);
    }

    fn check(&mut self) -> bool {
        if !self.right {
            eprintln!("{}: wrong answers", self.name);
        }
        self.right
    }

    fn sample(&mut self, _round_ns: u64) -> f64 {
        self.sample
    }

    fn figures(&mut self) -> Vec<(&'static str, String)> {
        let mut figures = Vec::new();
        self.to = None; // the client ends
        for line in (&mut self.from).lines().map_while(Result::ok) {
            if let Some((name, value)) = line.split_once(' ') {
                let name: &'static str = Box::leak(name.to_string().into_boxed_str());
                figures.push((name, value.to_string()));
            }
        }
        let _ = self.client.wait();
        figures
    }
}

fn start(name: &'static str, options: &Options) -> Box<dyn Workload> {
    use std::os::unix::io::AsRawFd;

    allow_descriptors();
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    unsafe { listen(listener.as_raw_fd(), BACKLOG) }; // instead of the default of 128
    listener.set_nonblocking(true).unwrap();
    // The client comes first, because it takes the last of the CPUs that this thread has.
    let port = listener.local_addr().unwrap().port();
    let mut client = start_client(name, port, options);
    pin_server(options.workers);
    let rt = runtime(options);
    rt.spawn(serve(listener));
    let mut echo = Echo {
        name,
        to: client.stdin.take(),
        from: BufReader::new(client.stdout.take().unwrap()),
        client,
        ops: 0,
        params: String::new(),
        right: false,
        sample: 0.0,
        _rt: rt,
    };
    let line = echo.line();
    let (ops, params) = line.split_once(' ').unwrap_or(("0", "{}"));
    echo.ops = ops.parse().unwrap_or(0);
    echo.params = params.to_string();
    Box::new(echo)
}

pub fn echo_1(options: &Options) -> Box<dyn Workload> {
    start("echo_1", options)
}

pub fn echo_50(options: &Options) -> Box<dyn Workload> {
    start("echo_50", options)
}

pub fn echo_10k(options: &Options) -> Box<dyn Workload> {
    start("echo_10k", options)
}
