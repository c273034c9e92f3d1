// SPDX-License-Identifier: MIT
//
// echo.go - echo servers, measured by skua-echo-client (bench/clients/echo_client.c)
//
// A goroutine for each connection reads what has come, and writes it back. The client is
// started as bench/clients/echo_start.c does it: see there.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

const echoClient = "skua-echo-client"

type cpuSet [16]uint64

// offLastCPU returns the CPUs of this thread but the last one, and their number.
func offLastCPU() (cpus cpuSet, count int) {
	last := -1
	syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(cpus),
		uintptr(unsafe.Pointer(&cpus)))
	for cpu := 0; cpu < 1024; cpu++ {
		if cpus[cpu/64]>>(cpu%64)&1 == 1 {
			last = cpu
			count++
		}
	}
	if count > 0 {
		cpus[last/64] &^= 1 << (last % 64)
		count--
	}
	return cpus, count
}

// pinServer keeps all threads, and those that they start, off the last CPU, if the workers
// leave that one free. Threads that start meanwhile are found in the second turn.
func pinServer(workers int) {
	cpus, count := offLastCPU()
	if workers > count {
		return
	}
	for turn := 0; turn < 2; turn++ {
		threads, _ := os.ReadDir("/proc/self/task")
		for _, thread := range threads {
			id, _ := strconv.Atoi(thread.Name())
			syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(id),
				unsafe.Sizeof(cpus), uintptr(unsafe.Pointer(&cpus)))
		}
	}
}

func findEchoClient() string {
	if path := os.Getenv("SKUA_ECHO_CLIENT"); path != "" {
		return path
	}
	program, _ := os.Executable()
	folder := filepath.Dir(program)
	for _, folder := range []string{folder, filepath.Dir(folder)} {
		path := filepath.Join(folder, echoClient)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return echoClient
}

// ---- the server ---------------------------------------------------------------

func echo(connection net.Conn) {
	buffer := make([]byte, 4096)
	for {
		n, err := connection.Read(buffer)
		if err == nil {
			_, err = connection.Write(buffer[:n])
		}
		if err != nil {
			connection.Close()
			return
		}
	}
}

func serveEcho(listener net.Listener) {
	for {
		connection, err := listener.Accept() // sets TCP_NODELAY
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			go echo(connection)
		}
	}
}

// ---- the client ---------------------------------------------------------------

type echoRun struct {
	client *exec.Cmd
	to     interface{ Close() error }
	tell   func() error
	from   *bufio.Reader
	right  bool
	ns     float64
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// line returns the next line of the client. If it has ended, line ends with its exit
// code: it has said why.
func (r *echoRun) line() string {
	line, err := r.from.ReadString('\n')
	if err == nil {
		return strings.TrimSuffix(line, "\n")
	}
	r.client.Wait()
	code := r.client.ProcessState.ExitCode()
	if code <= 0 {
		code = 1
	}
	os.Exit(code)
	return ""
}

func (r *echoRun) round() {
	r.tell()
	word, ns, _ := strings.Cut(r.line(), " ")
	r.right = word == "right"
	r.ns, _ = strconv.ParseFloat(ns, 64)
}

func (r *echoRun) check() error {
	if !r.right {
		return errors.New("wrong answers")
	}
	return nil
}

func (r *echoRun) figures() string {
	var all strings.Builder
	r.to.Close() // the client ends
	for {
		line, err := r.from.ReadString('\n')
		name, value, found := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if found {
			fmt.Fprintf(&all, `,"%s":%s`, name, value)
		}
		if err != nil {
			r.client.Wait()
			return all.String()
		}
	}
}

func (r *echoRun) start(name string, port int, o *options) {
	r.client = exec.Command(findEchoClient(), "run", name, "--port", strconv.Itoa(port),
		"--pid", strconv.Itoa(os.Getpid()), "--workers", strconv.Itoa(o.workers),
		"--client", o.client, "--requests", strconv.Itoa(o.requests))
	r.client.Stderr = os.Stderr
	to, err := r.client.StdinPipe()
	if err != nil {
		fail(err)
	}
	from, err := r.client.StdoutPipe()
	if err != nil {
		fail(err)
	}
	r.to, r.from = to, bufio.NewReader(from)
	r.tell = func() error {
		_, err := to.Write([]byte("round\n"))
		return err
	}
	if err := r.client.Start(); err != nil {
		fail(err)
	}
}

// setupEcho starts the client first, because it takes the last of the CPUs that this
// process has.
func setupEcho(name string) func(o *options) *workload {
	return func(o *options) *workload {
		var r echoRun
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			fail(err)
		}
		runtime.LockOSThread()
		r.start(name, listener.Addr().(*net.TCPAddr).Port, o)
		runtime.UnlockOSThread()
		pinServer(o.workers)
		go serveEcho(listener)
		count, params, _ := strings.Cut(r.line(), " ")
		ops, _ := strconv.Atoi(count)
		return &workload{
			params:  params,
			ops:     ops,
			round:   r.round,
			check:   r.check,
			sample:  func(int64) float64 { return r.ns },
			figures: r.figures,
		}
	}
}
