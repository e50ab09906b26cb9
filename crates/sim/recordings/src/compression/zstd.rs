//! A zstd file: one frame after the other.
//!
//! Models: frames, skippable frames and content checksums.
//! Source: RFC 8878, sections 3 and 3.1; frames are decoded by the `ruzstd` crate.
//! Simplifies: frames that need a dictionary are refused.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::WINDOW_LIMIT_BYTES;
use super::streams::skip_zeros;

/// Reads the content of all frames.
pub(super) struct ZstdReader<R> {
    compressed: R,
    decoder: FrameDecoder,
    within_frame: bool,
}

impl<R: BufRead> ZstdReader<R> {
    pub(super) fn new(compressed: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_LIMIT_BYTES);
        Self { compressed, decoder, within_frame: false }
    }

    /// Moves to the next frame with content; returns false at the end of the file.
    fn start_frame(&mut self) -> io::Result<bool> {
        // No frame starts with a zero: zeros are padding.
        while !skip_zeros(&mut self.compressed)? {
            match self.decoder.reset(&mut self.compressed) {
                Ok(()) => {
                    self.within_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => self.skip(length.into())?,
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.compressed.by_ref().take(bytes), &mut io::sink())?;
        if skipped < bytes { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.within_frame = false;
        let promised = self.decoder.get_checksum_from_data();
        if promised.is_some() && promised != self.decoder.get_calculated_checksum() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum is wrong"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.within_frame || self.start_frame()? {
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(into);
            }
            if self.decoder.is_finished() {
                self.end_frame()?;
            } else {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.compressed, one).map_err(io::Error::other)?;
            }
        }
        Ok(0)
    }
}
