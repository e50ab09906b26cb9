//! Compressed streams one after another.
//!
//! Models: the concatenation of files, and zeros behind the last, which tapes and some writers leave.
//! Source: RFC 1952, section 2.2; gzip's manual on trailing zeros.

use std::io::{self, BufRead, Read};

/// Reads the content of all streams with a decoder for one.
pub(super) struct Streams<R, D> {
    /// `None` at the end of the file.
    decoder: Option<D>,
    open: fn(R) -> D,
    close: fn(D) -> R,
}

impl<R: BufRead, D: Read> Streams<R, D> {
    /// `open` makes the decoder of the next stream, `close` returns the file behind it.
    pub(super) fn new(file: R, open: fn(R) -> D, close: fn(D) -> R) -> Self {
        Self { decoder: Some(open(file)), open, close }
    }
}

impl<R: BufRead, D: Read> Read for Streams<R, D> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        while let Some(decoder) = &mut self.decoder {
            let read = decoder.read(into)?;
            if read > 0 {
                return Ok(read);
            }
            let file = self.decoder.take().map(self.close);
            let Some(mut file) = file else { break };
            if !skip_zeros(&mut file)? {
                self.decoder = Some((self.open)(file));
            }
        }
        Ok(0)
    }
}

/// Skips zeros; returns whether nothing follows them.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn skip_zeros(file: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let ready = file.fill_buf()?;
        let zeros = ready.iter().take_while(|byte| **byte == 0).count();
        match (zeros, ready.len()) {
            (_, 0) => return Ok(true),
            (zeros, length) if zeros < length => {
                file.consume(zeros);
                return Ok(false);
            }
            (zeros, _) => file.consume(zeros),
        }
    }
}
