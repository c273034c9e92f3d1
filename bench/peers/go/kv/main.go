// SPDX-License-Identifier: MIT
//
// # A key-value server in Go, for clients of Redis
//
// It has the commands that the comparison with skua-kv needs, and is written as Go's own
// fast servers are: a goroutine for each connection, which reads what has come, runs all
// complete commands, and sends all their replies by one write; no allocation for a command
// that changes no key; a map in 256 parts with a lock each.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
)

const program = "skua-kv-go"

// readMin is the free room in a buffer before a read.
const readMin = 16 << 10

// serve runs the commands of a connection until it ends.
func serve(connection net.Conn, db *store) {
	defer connection.Close()
	in := make([]byte, 0, readMin)
	out := make([]byte, 0, readMin)
	var arguments [][]byte
	for {
		if cap(in)-len(in) < readMin/2 {
			grown := make([]byte, len(in), 2*cap(in)+readMin)
			copy(grown, in)
			in = grown
		}
		n, err := connection.Read(in[len(in):cap(in)])
		if err != nil {
			return
		}
		in = in[:len(in)+n]
		at := 0
		for {
			var used int
			arguments, used, err = parse(in[at:], arguments[:0])
			if err != nil {
				out = appendError(out, err.Error())
				connection.Write(out)
				return
			}
			if used == 0 {
				break
			}
			at += used
			if len(arguments) > 0 {
				out = db.run(arguments, out)
			}
		}
		in = in[:copy(in, in[at:])]
		if len(out) > 0 {
			if _, err := connection.Write(out); err != nil {
				return
			}
			out = out[:0]
		}
	}
}

func fail(code int, format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, program+": "+format+"\n", arguments...)
	os.Exit(code)
}

func main() {
	options := flag.NewFlagSet(program, flag.ContinueOnError)
	options.SetOutput(io.Discard)
	port := options.Uint("port", 6379, "")
	workers := options.Uint("workers", uint(runtime.NumCPU()), "")
	if err := options.Parse(os.Args[1:]); err != nil {
		fail(2, "%v; allowed: --port PORT, --workers N", err)
	}
	if options.NArg() > 0 {
		fail(2, "unexpected argument '%s'; allowed: --port PORT, --workers N", options.Arg(0))
	}
	if *port > 65535 {
		fail(2, "--port is '%d'; allowed: 0 to 65535", *port)
	}
	if *workers < 1 || *workers > 1024 {
		fail(2, "--workers is '%d'; allowed: 1 to 1024", *workers)
	}
	runtime.GOMAXPROCS(int(*workers))
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		fail(1, "%v", err)
	}
	at := listener.Addr().(*net.TCPAddr).Port
	fmt.Printf(program+": listening at 127.0.0.1, port %d, with %d workers\n", at, *workers)
	db := newStore()
	for {
		connection, err := listener.Accept()
		if err != nil {
			fail(1, "%v", err)
		}
		go serve(connection, db) // TCP_NODELAY is Go's default
	}
}
