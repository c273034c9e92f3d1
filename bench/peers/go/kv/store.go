// SPDX-License-Identifier: MIT
//
// store.go - the keys, and the commands
package main

import (
	"fmt"
	"hash/maphash"
	"math"
	"os"
	"strconv"
	"sync"
)

const shards = 256

const (
	errInteger  = "ERR value is not an integer or out of range"
	errOverflow = "ERR increment or decrement would overflow"
	errSyntax   = "ERR syntax error"
	errType     = "WRONGTYPE Operation against a key holding the wrong kind of value"
)

// entry is the value of a key: a string, or a list. The head of a list is its last item, so
// that LPUSH appends.
type entry struct {
	value  []byte
	list   [][]byte
	isList bool
}

type shard struct {
	sync.Mutex
	keys map[string]*entry
	_    [48]byte // a cache line for each
}

type store struct {
	seed  maphash.Seed
	shard [shards]shard
}

func newStore() *store {
	db := &store{seed: maphash.MakeSeed()}
	for i := range db.shard {
		db.shard[i].keys = make(map[string]*entry)
	}
	return db
}

func (db *store) index(key []byte) int {
	return int(maphash.Bytes(db.seed, key) % shards)
}

func (db *store) find(key []byte) *shard {
	return &db.shard[db.index(key)]
}

// set changes a key whose shard is locked. A longer value gets new memory.
func (s *shard) set(key, value []byte) {
	e := s.keys[string(key)]
	if e == nil {
		s.keys[string(key)] = &entry{value: append([]byte(nil), value...)}
		return
	}
	e.value = append(e.value[:0], value...)
	e.list, e.isList = nil, false
}

func (db *store) get(key, out []byte) []byte {
	s := db.find(key)
	s.Lock()
	e := s.keys[string(key)]
	switch {
	case e == nil:
		out = append(out, "$-1\r\n"...)
	case e.isList:
		out = appendError(out, errType)
	default:
		out = appendBulk(out, e.value)
	}
	s.Unlock()
	return out
}

func (db *store) incr(key, out []byte) []byte {
	s := db.find(key)
	s.Lock()
	defer s.Unlock()
	e := s.keys[string(key)]
	if e == nil {
		e = &entry{value: []byte{'0'}}
		s.keys[string(key)] = e
	}
	if e.isList {
		return appendError(out, errType)
	}
	value, err := strconv.ParseInt(string(e.value), 10, 64)
	if err != nil {
		return appendError(out, errInteger)
	}
	if value == math.MaxInt64 {
		return appendError(out, errOverflow)
	}
	e.value = strconv.AppendInt(e.value[:0], value+1, 10)
	return appendInteger(out, value+1)
}

func (db *store) lpush(key []byte, values [][]byte, out []byte) []byte {
	s := db.find(key)
	s.Lock()
	defer s.Unlock()
	e := s.keys[string(key)]
	if e == nil {
		e = &entry{isList: true}
		s.keys[string(key)] = e
	}
	if !e.isList {
		return appendError(out, errType)
	}
	for _, value := range values {
		e.list = append(e.list, append([]byte(nil), value...))
	}
	return appendInteger(out, int64(len(e.list)))
}

// mset changes all keys at once: it locks their shards in ascending order.
func (db *store) mset(pairs [][]byte, out []byte) []byte {
	var needed [shards]bool
	for i := 0; i < len(pairs); i += 2 {
		needed[db.index(pairs[i])] = true
	}
	for i := range needed {
		if needed[i] {
			db.shard[i].Lock()
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		db.find(pairs[i]).set(pairs[i], pairs[i+1])
	}
	for i := range needed {
		if needed[i] {
			db.shard[i].Unlock()
		}
	}
	return append(out, "+OK\r\n"...)
}

// config answers CONFIG GET of one setting as a server without persistence.
func config(arguments [][]byte, out []byte) []byte {
	if len(arguments) != 3 || !is(arguments[1], "GET") {
		return appendError(out, "ERR unknown subcommand")
	}
	value := ""
	if is(arguments[2], "APPENDONLY") {
		value = "no"
	} else if !is(arguments[2], "SAVE") {
		return appendArray(out, 0)
	}
	out = appendArray(out, 2)
	out = appendBulk(out, arguments[2])
	return appendBulk(out, []byte(value))
}

// is tells whether a word is name, which is in capital letters, in any case.
func is(word []byte, name string) bool {
	if len(word) != len(name) {
		return false
	}
	for i := range word {
		if letter := word[i]; letter != name[i] && letter&^0x20 != name[i] {
			return false
		}
	}
	return true
}

func wrongCount(name string, out []byte) []byte {
	return appendError(out, "ERR wrong number of arguments for '"+name+"' command")
}

// run appends the reply to a command to out.
func (db *store) run(arguments [][]byte, out []byte) []byte {
	name, count := arguments[0], len(arguments)
	switch {
	case is(name, "GET"):
		if count != 2 {
			return wrongCount("get", out)
		}
		return db.get(arguments[1], out)
	case is(name, "SET"):
		if count < 3 {
			return wrongCount("set", out)
		}
		if count > 3 {
			return appendError(out, errSyntax)
		}
		s := db.find(arguments[1])
		s.Lock()
		s.set(arguments[1], arguments[2])
		s.Unlock()
		return append(out, "+OK\r\n"...)
	case is(name, "INCR"):
		if count != 2 {
			return wrongCount("incr", out)
		}
		return db.incr(arguments[1], out)
	case is(name, "PING"):
		if count > 2 {
			return wrongCount("ping", out)
		}
		if count == 2 {
			return appendBulk(out, arguments[1])
		}
		return append(out, "+PONG\r\n"...)
	case is(name, "LPUSH"):
		if count < 3 {
			return wrongCount("lpush", out)
		}
		return db.lpush(arguments[1], arguments[2:], out)
	case is(name, "MSET"):
		if count < 3 || count%2 == 0 {
			return wrongCount("mset", out)
		}
		return db.mset(arguments[1:], out)
	case is(name, "CONFIG"):
		return config(arguments, out)
	case is(name, "INFO"):
		text := fmt.Sprintf("# Server\r\nprocess_id:%d\r\n", os.Getpid())
		return appendBulk(out, []byte(text))
	}
	return appendError(out, fmt.Sprintf("ERR unknown command '%.128s'", name))
}
