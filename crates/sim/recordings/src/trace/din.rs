//! Lines of Dinero.
//!
//! Models: loads, stores and instruction fetches, each a label and a hexadecimal address, with a
//! hexadecimal number of bytes if that is all that follows.
//! Source: the manual of Dinero III, section "input format"; letters as labels, 0x before addresses and the
//! size (its extended format) are Dinero IV's.
//! Simplifies: without a size a reference is one byte; any other rest of a line is a comment, as the manual
//! of Dinero III defines it; labels 3 (miscellaneous) and 4 (flush), which are not references, are refused.

use super::text::{MOST_REFERENCE_BYTES, Parsed, hexadecimal, leading_hexadecimal};
use units::narrow::fit;
use units::{Reference, ReferenceKind};

/// Bytes of the longest plain line and of the look-ahead after it.
const PLAIN_BYTES: usize = 32;
const ADDRESS_AT: usize = 2;

/// The reference in a line of a digit, one space and an address, and the line's length.
#[inline]
pub(super) fn plain(text: &[u8]) -> Option<(Reference, usize)> {
    let text: &[u8; PLAIN_BYTES] = text.first_chunk()?;
    let kind = match text {
        [b'0', b' ', ..] => ReferenceKind::Load,
        [b'1', b' ', ..] => ReferenceKind::Store,
        [b'2', b' ', ..] => ReferenceKind::Fetch,
        _ => return None,
    };
    let (address, digits) = leading_hexadecimal(text[ADDRESS_AT..].first_chunk()?);
    let end = ADDRESS_AT + digits;
    (digits > 0 && text[end] == b'\n').then_some((Reference { address, bytes: 1, kind }, end + 1))
}

/// The reference in a line, `None` in a blank one.
#[inline]
pub(super) fn reference(line: &[u8]) -> Parsed {
    let line = line.trim_ascii();
    let Some((label, rest)) = line.split_first() else { return Ok(None) };
    let kind = match label {
        b'0' | b'r' | b'R' => ReferenceKind::Load,
        b'1' | b'w' | b'W' => ReferenceKind::Store,
        b'2' | b'i' | b'I' => ReferenceKind::Fetch,
        b'3' | b'm' | b'M' => return Err("label 3 (miscellaneous) is not supported"),
        b'4' | b'c' | b'C' | b'v' | b'V' => return Err("cache flushes are not supported"),
        _ => return Err("the label is not known"),
    };
    let text = rest.trim_ascii_start();
    if text.len() == rest.len() {
        return Err("the label is not followed by a space");
    }
    let text = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    let (address, rest) = hexadecimal(text)?;
    match rest.first() {
        Some(byte) if !byte.is_ascii_whitespace() => Err("the address is not hexadecimal"),
        _ => Ok(Some(Reference { address, bytes: size_bytes(rest.trim_ascii()), kind })),
    }
}

/// The size of a reference, if the rest of its line is one; otherwise the rest is a comment.
fn size_bytes(rest: &[u8]) -> u32 {
    let digits = rest.strip_prefix(b"0x").unwrap_or(rest);
    match hexadecimal(digits) {
        Ok((bytes @ 1..=MOST_REFERENCE_BYTES, [])) => fit(bytes),
        _ => 1,
    }
}
