//! Compressed content for the tests of this crate.

use std::io::{self, Read, Write as _};

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::Compression;

/// `content` packed with this compression.
pub(crate) fn packed(compression: Compression, content: &[u8]) -> Vec<u8> {
    let packed = match compression {
        Compression::Gzip => {
            let mut file = GzEncoder::new(Vec::new(), flate2::Compression::fast());
            file.write_all(content).and_then(|()| file.finish())
        }
        Compression::Xz => XzWriter::new(Vec::new(), XzOptions::with_preset(0))
            .and_then(|mut file| file.write_all(content).and_then(|()| file.finish())),
        Compression::Zstd => Ok(compress_to_vec(content, CompressionLevel::Fastest)),
        Compression::Bzip2 => {
            let mut file = BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            file.write_all(content).and_then(|()| file.finish())
        }
    };
    packed.expect("a vector takes everything")
}

/// A file without end: a piece again and again.
pub(crate) struct Cycled {
    pub(crate) piece: Vec<u8>,
    /// Start of the next bytes in the piece.
    pub(crate) at: usize,
}

impl Read for Cycled {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let rest = &self.piece[self.at..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.at = (self.at + count) % self.piece.len();
        Ok(count)
    }
}
