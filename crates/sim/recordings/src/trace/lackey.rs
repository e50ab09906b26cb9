//! Lines of Valgrind's lackey.
//!
//! Models: instruction fetches, loads, stores and modifications, with their sizes.
//! Source: `valgrind --tool=lackey --trace-mem=yes` of Valgrind 3.19.
//! Simplifies: Valgrind's own messages (lines that start with ==, -- or **) are skipped.

use super::text::{Parsed, hexadecimal, leading_hexadecimal, size_bytes};
use units::{Reference, ReferenceKind};

/// Bytes of the longest plain line and of the look-ahead after it.
const PLAIN_BYTES: usize = 32;
const ADDRESS_AT: usize = 3;

/// The reference in a line as lackey prints it, of at most 99 bytes, and the line's length.
#[inline]
pub(super) fn plain(text: &[u8]) -> Option<(Reference, usize)> {
    let text: &[u8; PLAIN_BYTES] = text.first_chunk()?;
    let kind = match text {
        [b'I', b' ', b' ', ..] => ReferenceKind::Fetch,
        [b' ', b'L', b' ', ..] => ReferenceKind::Load,
        [b' ', b'S', b' ', ..] => ReferenceKind::Store,
        [b' ', b'M', b' ', ..] => ReferenceKind::Modify,
        _ => return None,
    };
    let (address, digits) = leading_hexadecimal(text[ADDRESS_AT..].first_chunk()?);
    let size_at = ADDRESS_AT + digits + 1;
    let (b',', [first @ b'1'..=b'9', rest @ ..]) = (text[size_at - 1], &text[size_at..]) else {
        return None;
    };
    let units = u32::from(first - b'0');
    let (bytes, line_bytes) = match rest {
        [b'\n', ..] => (units, size_at + 2),
        [second @ b'0'..=b'9', b'\n', ..] => (units * 10 + u32::from(second - b'0'), size_at + 3),
        _ => return None,
    };
    (digits > 0).then_some((Reference { address, bytes, kind }, line_bytes))
}

/// The reference in a line, `None` in a line without one.
#[inline]
pub(super) fn reference(line: &[u8]) -> Parsed {
    let kind = match line {
        [b'I', b' ', ..] => ReferenceKind::Fetch,
        [b' ', b'L', b' ', ..] => ReferenceKind::Load,
        [b' ', b'S', b' ', ..] => ReferenceKind::Store,
        [b' ', b'M', b' ', ..] => ReferenceKind::Modify,
        _ => return without_reference(line),
    };
    let (address, rest) = hexadecimal(line[2..].trim_ascii_start())?;
    let Some(size) = rest.strip_prefix(b",") else {
        return Err("the address is not hexadecimal or not followed by a comma");
    };
    Ok(Some(Reference { address, bytes: size_bytes(size.trim_ascii_end())?, kind }))
}

#[cold]
fn without_reference(line: &[u8]) -> Parsed {
    match line {
        [b'=', b'=', ..] | [b'-', b'-', ..] | [b'*', b'*', ..] => Ok(None),
        line if line.trim_ascii().is_empty() => Ok(None),
        _ => Err("the kind of reference is not known (the traced program's own output does not \
                  belong here: valgrind --log-file keeps them apart)"),
    }
}
