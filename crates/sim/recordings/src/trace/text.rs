//! Traces of one reference per line.

use memchr::memchr;

use super::error::TraceFault;
use super::input::{BUFFER_BYTES, TraceInput};
use super::{BLOCK_REFERENCES, TraceFormat};
use units::Reference;
use units::narrow::{fit, low_u8};

/// Bytes of an invalid line that a message repeats.
const SHOWN_BYTES: usize = 60;
/// Larger than any reference that a tool writes; Valgrind's largest is a saved state of 512 bytes and
/// more with AVX-512.
pub(super) const MOST_REFERENCE_BYTES: u64 = 4096;

/// Most bytes of blank lines and comments before a reference: a packed file of a few bytes could hold hours of
/// them.
const MOST_BYTES_WITHOUT_REFERENCE: u64 = 1 << 28;

/// A line is a reference, blank or a comment, or an error.
pub(super) type Parsed = Result<Option<Reference>, &'static str>;

/// The number of lines that have been read.
#[derive(Debug, Default)]
pub(super) struct LineCount {
    lines: u64,
    /// The end of the last piece of content that held a reference.
    referenced_until: u64,
}

impl LineCount {
    /// Appends a block of references. `parse` handles every line; `plain` may handle the common kind of
    /// line at the start of a text, and returns its length with its end.
    pub(super) fn read_block(
        &mut self,
        input: &mut TraceInput,
        into: &mut Vec<Reference>,
        format: TraceFormat,
        plain: impl Fn(&[u8]) -> Option<(Reference, usize)>,
        parse: impl Fn(&[u8]) -> Parsed,
    ) -> Result<(), TraceFault> {
        while into.len() < BLOCK_REFERENCES {
            let ready = input.ready();
            let mut rest = ready;
            let before = into.len();
            while into.len() < BLOCK_REFERENCES {
                if let Some((reference, bytes)) = plain(rest) {
                    self.lines += 1;
                    into.push(reference);
                    rest = &rest[bytes..];
                } else if let Some(end) = memchr(b'\n', rest) {
                    self.lines += 1;
                    into.extend(self.checked(parse(&rest[..end]), &rest[..end], format)?);
                    rest = &rest[end + 1..];
                } else {
                    break;
                }
            }
            let done = ready.len() - rest.len();
            let found = into.len() > before;
            input.consume(done);
            self.check_progress(found, input.offset(), format)?;
            if done == 0 && !input.fill()? {
                return self.read_last_line(input, into, format, parse);
            }
        }
        Ok(())
    }

    /// Refuses content that goes on without references.
    fn check_progress(
        &mut self,
        found: bool,
        offset: u64,
        format: TraceFormat,
    ) -> Result<(), TraceFault> {
        if found {
            self.referenced_until = offset;
        }
        let limit_bytes = MOST_BYTES_WITHOUT_REFERENCE;
        match offset - self.referenced_until > limit_bytes {
            true => Err(TraceFault::NoReferences { line: self.lines, limit_bytes, format }),
            false => Ok(()),
        }
    }

    /// The last line may lack a line end.
    fn read_last_line(
        &mut self,
        input: &mut TraceInput,
        into: &mut Vec<Reference>,
        format: TraceFormat,
        parse: impl Fn(&[u8]) -> Parsed,
    ) -> Result<(), TraceFault> {
        let line = input.ready();
        if line.is_empty() {
            return Ok(());
        }
        self.lines += 1;
        if line.len() == BUFFER_BYTES {
            return Err(TraceFault::LineTooLong {
                line: self.lines,
                limit_bytes: BUFFER_BYTES,
                format,
            });
        }
        into.extend(self.checked(parse(line), line, format)?);
        let done = line.len();
        input.consume(done);
        Ok(())
    }

    #[inline]
    fn checked(
        &self,
        parsed: Parsed,
        line: &[u8],
        format: TraceFormat,
    ) -> Result<Option<Reference>, TraceFault> {
        parsed.map_err(|problem| {
            let shown = &line[..line.len().min(SHOWN_BYTES)];
            let mut text =
                String::from_utf8_lossy(shown.trim_ascii_end()).escape_debug().to_string();
            if shown.len() < line.len() {
                text.push('…');
            }
            TraceFault::BadLine { line: self.lines, text, problem, format }
        })
    }
}

/// The hexadecimal number at the start of `text`, and the text after it.
#[inline]
pub(super) fn hexadecimal(text: &[u8]) -> Result<(u64, &[u8]), &'static str> {
    let mut value = 0_u64;
    let mut lost = 0;
    let mut digits = 0;
    for &byte in text {
        let digit = HEX_DIGITS[usize::from(byte)];
        if digit == NO_DIGIT {
            break;
        }
        lost |= value >> 60;
        value = value << 4 | u64::from(digit);
        digits += 1;
    }
    match (digits, lost) {
        (0, _) => Err("there is no hexadecimal address"),
        (_, 0) => Ok((value, &text[digits..])),
        _ => Err("the address has more than 64 bits"),
    }
}

/// The hexadecimal number at the start of `text` and its number of digits, which is zero if there is
/// none and 16 if there may be more.
#[inline]
pub(super) fn leading_hexadecimal(text: &[u8; 16]) -> (u64, usize) {
    let (words, _) = text.as_chunks::<8>();
    let (high, digits) = eight_digits(u64::from_le_bytes(words[0]));
    if digits < 8 {
        return (high, digits);
    }
    let (low, digits) = eight_digits(u64::from_le_bytes(words[1]));
    (high << (4 * digits) | low, 8 + digits)
}

/// As [`leading_hexadecimal`], of eight characters, the first in the lowest byte: all are examined
/// together, since a branch per digit would cost more than all other work.
#[inline]
fn eight_digits(text: u64) -> (u64, usize) {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    // The highest bit of each byte says whether the other seven are at least `least`.
    let at_least = |bytes: u64, least: u8| (bytes & !HIGH) + EACH * u64::from(0x80 - least);
    let lower = text | (0x20 * EACH);
    let decimals = at_least(text, b'0') & !at_least(text, b'9' + 1);
    let letters = at_least(lower, b'a') & !at_least(lower, b'f' + 1) & HIGH;
    let others = !(decimals | letters) & HIGH | text & HIGH;
    let digits = others.trailing_zeros() as usize / 8;
    if digits == 0 {
        return (0, 0);
    }
    let values = (text & (0x0f * EACH)) + 9 * (letters >> 7);
    // The last digit goes to the highest byte, then neighbours are joined: two, four, eight.
    let aligned = values << (64 - 8 * digits);
    let pairs = (aligned << 4 | aligned >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs << 8 | pairs >> 16) & 0x0000_ffff_0000_ffff;
    ((fours << 16 | fours >> 32) & 0xffff_ffff, digits)
}

/// The decimal number of bytes, which must be the whole of `text`.
#[inline]
pub(super) fn size_bytes(text: &[u8]) -> Result<u32, &'static str> {
    let mut bytes = 0_u64;
    for &byte in text {
        if !byte.is_ascii_digit() {
            return Err("the size is not a decimal number");
        }
        bytes = (bytes * 10 + u64::from(byte - b'0')).min(MOST_REFERENCE_BYTES + 1);
    }
    match bytes {
        0 if text.is_empty() => Err("there is no size"),
        0 => Err("the size is zero"),
        1..=MOST_REFERENCE_BYTES => Ok(fit(bytes)),
        _ => Err("the size is more than 4096 bytes"),
    }
}

/// Larger than any digit.
const NO_DIGIT: u8 = 16;

static HEX_DIGITS: [u8; 256] = {
    let mut digits = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value] as usize] = low_u8(value as u64);
        digits[b"0123456789ABCDEF"[value] as usize] = low_u8(value as u64);
        value += 1;
    }
    digits
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_at_once_are_digits_one_by_one(
            bytes in prop::array::uniform16(prop_oneof![
                3 => any::<u8>(),
                20 => prop::sample::select(b"0123456789abcdefABCDEF".to_vec()),
            ]),
        ) {
            let digits = bytes.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            let text = str::from_utf8(&bytes[..digits]).unwrap();
            let value = u64::from_str_radix(text, 16).unwrap_or(0);
            prop_assert_eq!(leading_hexadecimal(&bytes), (value, digits));
            let slow = hexadecimal(&bytes).map_or((0, 0), |(value, rest)| (value, 16 - rest.len()));
            prop_assert_eq!(slow, (value, digits));
        }
    }
}
