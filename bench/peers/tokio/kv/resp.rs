// SPDX-License-Identifier: MIT
//! resp.rs - the protocol: commands as arrays of bulk strings, or inline; replies

use std::io::Write;

const LINE_MAX: usize = 64 << 10;
const ARGUMENT_MAX: i64 = 512 << 20;
const COUNT_MAX: i64 = 1 << 20;

const COUNT: &str = "ERR Protocol error: invalid multibulk length";
const BULK: &str = "ERR Protocol error: invalid bulk length";
const START: &str = "ERR Protocol error: expected '$'";
const LINE: &str = "ERR Protocol error: too big inline request";

/// Returns the number in the line at the start of `data`, and the bytes of the line with its
/// end; 0 bytes if the line is not complete; `None` if it is no number.
fn number(data: &[u8]) -> Option<(i64, usize)> {
    let mut value = 0i64;
    let negative = data.first() == Some(&b'-');
    let start = negative as usize;

    for (i, byte) in data.iter().enumerate().skip(start) {
        match byte {
            b'0'..=b'9' if i < start + 10 => value = value * 10 + (byte - b'0') as i64,
            b'\r' if i > start => {
                return match data.get(i + 1) {
                    None => Some((0, 0)),
                    Some(b'\n') => Some((if negative { -value } else { value }, i + 2)),
                    Some(_) => None,
                }
            }
            _ => return None,
        }
    }
    Some((0, 0))
}

/// Adds the words of a command that is a line.
fn inline<'a>(data: &'a [u8], arguments: &mut Vec<&'a [u8]>) -> Result<usize, &'static str> {
    match data.iter().position(|byte| *byte == b'\n') {
        None if data.len() > LINE_MAX => Err(LINE),
        None => Ok(0),
        Some(end) => {
            let words = data[..end].split(u8::is_ascii_whitespace);
            arguments.extend(words.filter(|word| !word.is_empty()));
            Ok(end + 1)
        }
    }
}

/// Adds the arguments of the command at the start of `data`. Returns its bytes; 0 if it is
/// not complete.
pub fn parse<'a>(data: &'a [u8], arguments: &mut Vec<&'a [u8]>) -> Result<usize, &'static str> {
    match data.first() {
        None => return Ok(0),
        Some(b'*') => (),
        Some(_) => return inline(data, arguments),
    }
    let (count, used) = number(&data[1..]).ok_or(COUNT)?;
    if count > COUNT_MAX {
        return Err(COUNT);
    }
    if used == 0 {
        return Ok(0);
    }
    let mut at = 1 + used;
    for _ in 0..count {
        match data.get(at) {
            None => return Ok(0),
            Some(b'$') => (),
            Some(_) => return Err(START),
        }
        let (size, used) = number(&data[at + 1..]).ok_or(BULK)?;
        if !(0..=ARGUMENT_MAX).contains(&size) {
            return Err(BULK);
        }
        let start = at + 1 + used;
        let end = start + size as usize;
        if used == 0 || data.len() < end + 2 {
            return Ok(0);
        }
        arguments.push(&data[start..end]);
        at = end + 2;
    }
    Ok(at)
}

pub fn error(out: &mut Vec<u8>, text: &str) {
    out.push(b'-');
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Adds a number in decimal.
pub fn decimal(out: &mut Vec<u8>, value: i64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut left = value.unsigned_abs();

    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Adds a line of a number: an integer, or the size of an array.
pub fn line(out: &mut Vec<u8>, kind: u8, value: i64) {
    out.push(kind);
    decimal(out, value);
    out.extend_from_slice(b"\r\n");
}

pub fn bulk(out: &mut Vec<u8>, value: &[u8]) {
    line(out, b'$', value.len() as i64);
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

pub fn wrong_count(out: &mut Vec<u8>, name: &str) {
    let _ = write!(out, "-ERR wrong number of arguments for '{name}' command\r\n");
}
