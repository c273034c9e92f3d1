// SPDX-License-Identifier: MIT
//
// resp.go - the protocol: commands as arrays of bulk strings, or inline; replies
package main

import (
	"bytes"
	"errors"
	"strconv"
)

const (
	lineMax     = 64 << 10
	argumentMax = 512 << 20
	countMax    = 1 << 20
)

var (
	errCount = errors.New("ERR Protocol error: invalid multibulk length")
	errBulk  = errors.New("ERR Protocol error: invalid bulk length")
	errStart = errors.New("ERR Protocol error: expected '$'")
	errLine  = errors.New("ERR Protocol error: too big inline request")
)

// number returns the number in the line at the start of data, and the bytes of the line
// with its end; 0 bytes if the line is not complete.
func number(data []byte) (value, used int, ok bool) {
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		return 0, 0, len(data) < 32
	}
	digits := bytes.TrimSuffix(data[:end], []byte{'\r'})
	negative := len(digits) > 0 && digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 10 {
		return 0, 0, false
	}
	for _, digit := range digits {
		if digit < '0' || digit > '9' {
			return 0, 0, false
		}
		value = value*10 + int(digit-'0')
	}
	if negative {
		value = -value
	}
	return value, end + 1, true
}

// inline returns the words of a command that is a line.
func inline(data []byte, arguments [][]byte) ([][]byte, int, error) {
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		if len(data) > lineMax {
			return nil, 0, errLine
		}
		return nil, 0, nil
	}
	return append(arguments, bytes.Fields(data[:end])...), end + 1, nil
}

// parse returns the arguments of the command at the start of data, and its bytes; 0 if it
// is not complete. The arguments are parts of data.
func parse(data []byte, arguments [][]byte) ([][]byte, int, error) {
	if len(data) == 0 {
		return arguments, 0, nil
	}
	if data[0] != '*' {
		return inline(data, arguments)
	}
	count, used, ok := number(data[1:])
	if !ok || count > countMax {
		return nil, 0, errCount
	}
	if used == 0 {
		return arguments, 0, nil
	}
	at := 1 + used
	for ; count > 0; count-- {
		if at == len(data) {
			return arguments, 0, nil
		}
		if data[at] != '$' {
			return nil, 0, errStart
		}
		size, used, ok := number(data[at+1:])
		if !ok || size < 0 || size > argumentMax {
			return nil, 0, errBulk
		}
		start := at + 1 + used
		if used == 0 || len(data) < start+size+2 {
			return arguments, 0, nil
		}
		arguments = append(arguments, data[start:start+size])
		at = start + size + 2
	}
	return arguments, at, nil
}

func appendError(out []byte, text string) []byte {
	out = append(out, '-')
	out = append(out, text...)
	return append(out, '\r', '\n')
}

func appendInteger(out []byte, value int64) []byte {
	out = append(out, ':')
	out = strconv.AppendInt(out, value, 10)
	return append(out, '\r', '\n')
}

func appendArray(out []byte, count int) []byte {
	out = append(out, '*')
	out = strconv.AppendInt(out, int64(count), 10)
	return append(out, '\r', '\n')
}

func appendBulk(out, value []byte) []byte {
	out = append(out, '$')
	out = strconv.AppendInt(out, int64(len(value)), 10)
	out = append(out, '\r', '\n')
	out = append(out, value...)
	return append(out, '\r', '\n')
}
