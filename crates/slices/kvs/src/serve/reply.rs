//! Replies of RESP2.

use std::io::Write;

pub fn simple(out: &mut Vec<u8>, text: &str) {
    line(out, b'+', text);
}

/// Appends an error; the first word of the text is the kind of error.
pub fn error(out: &mut Vec<u8>, text: &str) {
    // The text may contain text of a client, which must not end the line.
    line(out, b'-', &text.replace(['\r', '\n'], " "));
}

pub fn integer(out: &mut Vec<u8>, number: u64) {
    // Writing to memory does not fail.
    let _ = write!(out, ":{number}\r\n");
}

pub fn array(out: &mut Vec<u8>, length: usize) {
    let _ = write!(out, "*{length}\r\n");
}

pub fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    bulk_start(out, bytes.len());
    out.extend_from_slice(bytes);
    bulk_end(out);
}

/// Appends the length of a bulk string; the caller appends its bytes and [`bulk_end`].
pub fn bulk_start(out: &mut Vec<u8>, length: usize) {
    let _ = write!(out, "${length}\r\n");
}

pub fn bulk_end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
}

/// Appends the null bulk string.
pub fn null(out: &mut Vec<u8>) {
    out.extend_from_slice(b"$-1\r\n");
}

fn line(out: &mut Vec<u8>, kind: u8, text: &str) {
    out.push(kind);
    out.extend_from_slice(text.as_bytes());
    bulk_end(out);
}
