//! Requests of RESP2: arrays of bulk strings, and inline commands, as they arrive.
//!
//! Source: the protocol's description, and Redis 7's errors for invalid requests. A parser of any RESP
//! value would not be enough: these limits and texts are the server's, and a request that arrives in pieces
//! must not be read from its start each time. Tests compare it with the crate `redis-protocol`.

use std::ops::Range;

/// Longest bulk string: a value, a key, or another argument.
pub const MOST_BULK_BYTES: usize = 1 << 20;

/// Most arguments of a request.
pub const MOST_ARGUMENTS: usize = 1 << 20;

/// Most bytes of a request, all arguments together.
pub const MOST_REQUEST_BYTES: usize = 16 << 20;

/// Longest inline command, and longest line that states a length.
const MOST_LINE_BYTES: usize = 64 << 10;

/// Error of bytes that are not a request; the connection is closed after the reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// An inline command is longer than the limit.
    #[error("Protocol error: too big inline request")]
    LongInline,
    /// Quotes of an inline command are not closed.
    #[error("Protocol error: unbalanced quotes in request")]
    Quotes,
    /// The line with the number of arguments is longer than the limit.
    #[error("Protocol error: too big mbulk count string")]
    LongCount,
    /// The number of arguments is not a number, or above the limit.
    #[error("Protocol error: invalid multibulk length")]
    Count,
    /// The line with the length of an argument is longer than the limit.
    #[error("Protocol error: too big bulk count string")]
    LongLength,
    /// An argument is not a bulk string.
    #[error("Protocol error: expected '$', got '{}'", char::from(*.0))]
    NoBulk(u8),
    /// The length of an argument is not a number, or above the limit.
    #[error("Protocol error: invalid bulk length")]
    Length,
    /// The request is longer than the limit.
    #[error("Protocol error: too big request")]
    LongRequest,
}

/// Parses one request after the other.
#[derive(Debug, Default)]
pub struct Parser {
    /// Number of bytes of the current request that were parsed.
    at: usize,
    /// Number of arguments that are still missing, once it is known.
    missing: Option<usize>,
    arguments: Vec<Range<usize>>,
    /// Arguments of an inline command without quotes, one after another.
    unquoted: Option<Vec<u8>>,
}

/// The arguments of a request, the command first.
#[derive(Clone, Copy, Debug)]
pub struct RequestArguments<'a> {
    bytes: &'a [u8],
    ranges: &'a [Range<usize>],
}

impl<'a> RequestArguments<'a> {
    pub fn len(self) -> usize {
        self.ranges.len()
    }

    /// An argument by its index, which has to exist.
    pub fn get(self, index: usize) -> &'a [u8] {
        &self.bytes[self.ranges[index].clone()]
    }

    /// The arguments from the index `first` on.
    pub fn from(self, first: usize) -> impl Iterator<Item = &'a [u8]> {
        self.ranges.iter().skip(first).map(move |range| &self.bytes[range.clone()])
    }
}

impl Parser {
    /// Continues to parse a request at the start of `bytes`, which have grown since the last call. Returns
    /// its length when it is complete, and `None` if more bytes are needed.
    ///
    /// # Errors
    /// If the bytes are not a request.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Option<usize>, ProtocolError> {
        if self.missing.is_none() {
            match bytes.first() {
                None => return Ok(None),
                Some(b'*') => {}
                Some(_) => return self.inline(bytes),
            }
            let Some(count) = self.line(bytes, ProtocolError::LongCount)? else { return Ok(None) };
            let count = number(&bytes[count.start + 1..count.end]).ok_or(ProtocolError::Count)?;
            // Zero and less are requests without a command.
            let count = usize::try_from(count).unwrap_or(0);
            if count > MOST_ARGUMENTS {
                return Err(ProtocolError::Count);
            }
            self.missing = Some(count);
        }
        while self.missing.is_some_and(|missing| missing > 0) {
            if !self.bulk(bytes)? {
                return Ok(None);
            }
        }
        Ok(Some(self.at))
    }

    /// The arguments of the complete request in the same bytes.
    pub fn arguments<'a>(&'a self, bytes: &'a [u8]) -> RequestArguments<'a> {
        RequestArguments {
            bytes: self.unquoted.as_deref().unwrap_or(bytes),
            ranges: &self.arguments,
        }
    }

    /// Prepares for the next request.
    pub fn restart(&mut self) {
        const KEPT: usize = 1024;
        self.arguments.clear();
        self.arguments.shrink_to(KEPT);
        (self.at, self.missing, self.unquoted) = (0, None, None);
    }

    /// Parses a bulk string; returns false if it is not complete.
    fn bulk(&mut self, bytes: &[u8]) -> Result<bool, ProtocolError> {
        let start = self.at;
        let Some(line) = self.line(bytes, ProtocolError::LongLength)? else { return Ok(false) };
        // An empty line begins with its end.
        let kind = bytes[line.start];
        if kind != b'$' {
            return Err(ProtocolError::NoBulk(kind));
        }
        let length = number(&bytes[line.start + 1..line.end]);
        let length = length.and_then(|length| usize::try_from(length).ok());
        let length = length.filter(|length| *length <= MOST_BULK_BYTES);
        let length = length.ok_or(ProtocolError::Length)?;
        let end = self.at + length;
        if end > MOST_REQUEST_BYTES {
            return Err(ProtocolError::LongRequest);
        }
        if bytes.len() < end + LINE_END {
            // The short line of the length is read again with the rest.
            self.at = start;
            return Ok(false);
        }
        self.arguments.push(self.at..end);
        self.at = end + LINE_END;
        self.missing = self.missing.map(|missing| missing - 1);
        Ok(true)
    }

    /// Parses the next line and returns its range without the end; `None` if it is not complete.
    fn line(
        &mut self,
        bytes: &[u8],
        too_long: ProtocolError,
    ) -> Result<Option<Range<usize>>, ProtocolError> {
        let rest = &bytes[self.at..];
        let end = rest.iter().take(MOST_LINE_BYTES).position(|byte| *byte == b'\r');
        let Some(end) = end else {
            return if rest.len() >= MOST_LINE_BYTES { Err(too_long) } else { Ok(None) };
        };
        if rest.len() < end + LINE_END {
            return Ok(None);
        }
        let line = self.at..self.at + end;
        self.at += end + LINE_END;
        Ok(Some(line))
    }

    fn inline(&mut self, bytes: &[u8]) -> Result<Option<usize>, ProtocolError> {
        let fresh = &bytes[self.at..];
        let Some(end) = fresh.iter().position(|byte| *byte == b'\n') else {
            self.at = bytes.len();
            let too_long = bytes.len() >= MOST_LINE_BYTES;
            return if too_long { Err(ProtocolError::LongInline) } else { Ok(None) };
        };
        let end = self.at + end;
        if end >= MOST_LINE_BYTES {
            return Err(ProtocolError::LongInline);
        }
        let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
        let mut unquoted = Vec::new();
        self.arguments =
            super::inline_commands::split(line, &mut unquoted).ok_or(ProtocolError::Quotes)?;
        self.unquoted = Some(unquoted);
        self.at = end + 1;
        Ok(Some(self.at))
    }
}

/// Bytes of the end of a line; like Redis, the parser does not check the second.
const LINE_END: usize = 2;

/// Parses a whole number without blanks or plus sign.
pub fn number(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    if text.starts_with('+') { None } else { text.parse().ok() }
}

#[cfg(test)]
mod tests;
