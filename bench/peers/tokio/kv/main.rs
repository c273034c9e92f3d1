// SPDX-License-Identifier: MIT
//! main.rs - a key-value server on Tokio, for clients of Redis
//!
//! It has the commands that the comparison with skua-kv needs, and is written as fast
//! servers on Tokio are: a task for each connection, which reads what has come, runs all
//! complete commands, and sends all their replies by one write; no allocation for a command
//! that changes no key; a map in 256 parts with a lock each, which is never held across an
//! await. With one worker, the runtime is Tokio's current_thread.

mod resp;
mod store;

use std::os::raw::c_int;
use std::os::unix::io::AsRawFd;
use std::process::exit;
use std::sync::Arc;
use store::Store;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

const PROGRAM: &str = "skua-kv-tokio";
const BACKLOG: c_int = 4096;
/// Free room in a buffer before a read.
const READ_MIN: usize = 8 << 10;

extern "C" {
    fn listen(socket: c_int, backlog: c_int) -> c_int;
}

/// Runs all complete commands of `input`. Returns the bytes that it has used; `None` after a
/// protocol error, whose reply is in `output`.
fn run_all(store: &Store, input: &[u8], output: &mut Vec<u8>) -> Option<usize> {
    let mut at = 0;
    // The arguments are parts of the input, so that they end before the next read.
    let mut arguments = Vec::with_capacity(8);

    loop {
        arguments.clear();
        match resp::parse(&input[at..], &mut arguments) {
            Ok(0) => return Some(at),
            Ok(used) => at += used,
            Err(text) => {
                resp::error(output, text);
                return None;
            }
        }
        if !arguments.is_empty() {
            store.run(&arguments, output);
        }
    }
}

async fn serve(mut connection: TcpStream, store: Arc<Store>) {
    let mut input = Vec::with_capacity(2 * READ_MIN);
    let mut output = Vec::with_capacity(2 * READ_MIN);

    loop {
        if input.capacity() - input.len() < READ_MIN {
            input.reserve(input.capacity());
        }
        match connection.read_buf(&mut input).await {
            Ok(0) | Err(_) => return,
            Ok(_) => (),
        }
        let used = run_all(&store, &input, &mut output);
        if !output.is_empty() && connection.write_all(&output).await.is_err() {
            return;
        }
        output.clear();
        match used {
            None => return,
            Some(used) if used == input.len() => input.clear(),
            Some(used) => drop(input.drain(..used)),
        }
    }
}

async fn accept_all(listener: std::net::TcpListener) {
    let listener = TcpListener::from_std(listener).unwrap();
    let store = Arc::new(Store::new());

    loop {
        if let Ok((connection, _)) = listener.accept().await {
            let _ = connection.set_nodelay(true);
            tokio::spawn(serve(connection, store.clone()));
        }
    }
}

fn fail(code: i32, text: String) -> ! {
    eprintln!("{PROGRAM}: {text}");
    exit(code)
}

fn parse_options() -> (u16, usize) {
    const ALLOWED: &str = "allowed: --port PORT, --workers N";
    let mut port = 6379;
    let mut workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut words = std::env::args().skip(1);

    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name.to_string(), Some(value.to_string())),
            None => (word.clone(), words.next()),
        };
        let value = value.unwrap_or_default();
        match name.as_str() {
            "--port" => match value.parse() {
                Ok(number) => port = number,
                Err(_) => fail(2, format!("--port is '{value}'; allowed: 0 to 65535")),
            },
            "--workers" => match value.parse() {
                Ok(number) if (1..=1024).contains(&number) => workers = number,
                _ => fail(2, format!("--workers is '{value}'; allowed: 1 to 1024")),
            },
            _ => fail(2, format!("no option '{name}'; {ALLOWED}")),
        }
    }
    (port, workers)
}

fn main() {
    let (port, workers) = parse_options();
    let listener = std::net::TcpListener::bind(("127.0.0.1", port))
        .unwrap_or_else(|error| fail(1, format!("port {port}: {error}")));
    unsafe { listen(listener.as_raw_fd(), BACKLOG) }; // instead of the default of 128
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut builder = match workers {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let runtime = builder.worker_threads(workers).enable_all().build();
    println!("{PROGRAM}: listening at 127.0.0.1, port {port}, with {workers} workers");
    match runtime {
        // The listener's task runs on a worker, as all others.
        Ok(runtime) => runtime.block_on(async { tokio::spawn(accept_all(listener)).await.unwrap() }),
        Err(error) => fail(1, error.to_string()),
    }
}
