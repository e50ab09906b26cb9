//! One direction of a TCP connection, in order.
//!
//! Bytes that were sent again are left out: the first copy that was captured counts. Bytes that come too
//! early wait until those before them come, or until so many wait that the missing ones are given up.

use std::collections::BTreeMap;

/// Most bytes that wait.
const MOST_WAITING_BYTES: usize = 4 << 20;
/// Most segments that wait.
const MOST_WAITING: usize = 1 << 14;

/// The next piece of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum StreamPiece<'a> {
    /// Bytes.
    Bytes(&'a [u8]),
    /// This number of bytes is not in the capture.
    Lost(u64),
}

/// Puts the segments of one direction in order.
pub struct OrderedStream {
    /// Sequence number of the first byte.
    first: u32,
    /// Offset of the next byte: those before it have come, or are given up.
    position: u64,
    /// Segments that came too early, by the offset of their first byte.
    waiting: BTreeMap<u64, Vec<u8>>,
    waiting_bytes: usize,
}

impl OrderedStream {
    /// A stream whose first byte has the sequence number `first`.
    pub fn new(first: u32) -> Self {
        Self { first, position: 0, waiting: BTreeMap::new(), waiting_bytes: 0 }
    }

    /// Sequence number of the first byte.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Takes a segment; calls `each` for the bytes that are next in order.
    pub fn take(&mut self, sequence: u32, payload: &[u8], each: &mut impl FnMut(StreamPiece<'_>)) {
        if payload.is_empty() {
            return;
        }
        let low = u32::try_from(self.position & 0xffff_ffff).unwrap_or_default();
        let distance = sequence.wrapping_sub(self.first.wrapping_add(low)).cast_signed();
        match u32::try_from(distance) {
            Ok(0) => self.hand_on(payload, each),
            Ok(ahead) => self.put_aside(self.position + u64::from(ahead), payload),
            // The segment, or its beginning, was seen before.
            Err(_) => {
                let known = units::narrow::usize_from(distance.unsigned_abs().into());
                if let Some(rest) = payload.get(known..) {
                    self.hand_on(rest, each);
                }
            }
        }
        self.release(each);
        while self.waiting_bytes > MOST_WAITING_BYTES || self.waiting.len() > MOST_WAITING {
            self.give_up_gap(each);
        }
    }

    /// Ends the stream: calls `each` for all bytes that still wait.
    pub fn end(&mut self, each: &mut impl FnMut(StreamPiece<'_>)) {
        while !self.waiting.is_empty() {
            self.give_up_gap(each);
        }
    }

    fn hand_on(&mut self, bytes: &[u8], each: &mut impl FnMut(StreamPiece<'_>)) {
        if !bytes.is_empty() {
            each(StreamPiece::Bytes(bytes));
            self.position += bytes.len() as u64;
        }
    }

    fn put_aside(&mut self, at: u64, payload: &[u8]) {
        if self.waiting.get(&at).is_some_and(|known| known.len() >= payload.len()) {
            return;
        }
        self.waiting_bytes += payload.len();
        if let Some(shorter) = self.waiting.insert(at, payload.to_vec()) {
            self.waiting_bytes -= shorter.len();
        }
    }

    /// Calls `each` for segments that no longer wait for others.
    fn release(&mut self, each: &mut impl FnMut(StreamPiece<'_>)) {
        while let Some(first) = self.waiting.first_entry() {
            if *first.key() > self.position {
                return;
            }
            let (at, bytes) = first.remove_entry();
            self.waiting_bytes -= bytes.len();
            let known = units::narrow::usize_from(self.position - at);
            if let Some(rest) = bytes.get(known..) {
                self.hand_on(rest, each);
            }
        }
    }

    fn give_up_gap(&mut self, each: &mut impl FnMut(StreamPiece<'_>)) {
        if let Some((at, _)) = self.waiting.first_key_value() {
            each(StreamPiece::Lost(at - self.position));
            self.position = *at;
        }
        self.release(each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that a stream hands on, with `_` for each byte that is lost.
    fn read(first: u32, segments: &[(u32, &str)]) -> String {
        let mut stream = OrderedStream::new(first);
        let mut text = String::new();
        let mut each = |next: StreamPiece<'_>| match next {
            StreamPiece::Bytes(bytes) => text += std::str::from_utf8(bytes).expect("is text"),
            StreamPiece::Lost(bytes) => text += &"_".repeat(units::narrow::usize_from(bytes)),
        };
        for (sequence, payload) in segments {
            stream.take(*sequence, payload.as_bytes(), &mut each);
        }
        stream.end(&mut each);
        text
    }

    #[test]
    fn segments_in_any_order_and_sent_again_give_each_byte_once() {
        assert_eq!(read(10, &[(10, "abc"), (13, "def")]), "abcdef");
        assert_eq!(read(10, &[(13, "def"), (10, "abc")]), "abcdef");
        assert_eq!(read(10, &[(16, "g"), (13, "def"), (10, "abc"), (13, "def")]), "abcdefg");
        assert_eq!(read(10, &[(10, "abc"), (11, "BCDe"), (12, "CDEf")]), "abcDef");
        assert_eq!(read(10, &[(12, "c"), (12, "cde"), (10, "ab"), (10, "ab")]), "abcde");
    }

    #[test]
    fn sequence_numbers_begin_again_behind_the_last_one() {
        let first = u32::MAX - 1;
        assert_eq!(read(first, &[(first, "abc"), (1, "def"), (first, "abc")]), "abcdef");
        assert_eq!(read(first, &[(1, "def"), (first, "abc")]), "abcdef");
    }

    #[test]
    fn what_is_missing_is_given_up_in_the_end() {
        assert_eq!(read(0, &[(0, "ab"), (4, "ef"), (8, "i")]), "ab__ef__i");
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut stream = OrderedStream::new(0);
        let mut lost = 0;
        let piece = vec![0; 1 << 16];
        for number in 0..100 {
            stream.take(1000 + number * (1 << 16), &piece, &mut |next| {
                if let StreamPiece::Lost(bytes) = next {
                    lost += bytes;
                }
            });
            assert!(stream.waiting_bytes <= MOST_WAITING_BYTES);
        }
        assert_eq!(lost, 1000);
        for number in 0..40_000 {
            stream.take(2_000_000_000 + 2 * number, b"x", &mut |_| {});
            assert!(stream.waiting.len() <= MOST_WAITING);
        }
    }
}
