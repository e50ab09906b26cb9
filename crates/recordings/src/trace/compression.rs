//! Compressed traces: recognised by their first bytes, unpacked while they are read.
//!
//! Models: gzip, xz, zstd and bzip2, each also as several streams in a row.
//! Source: RFC 1952, the .xz file format 1.2, RFC 8878, the reference implementation of bzip2.
//! Simplifies: streams that need more than a GiB to be unpacked are refused.

use std::fmt;
use std::io::{self, BufReader, Cursor, Read};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;

use super::zstd::ZstdReader;
use units::narrow::fit;

/// Bytes that are needed to recognise any of them.
const HEAD_BYTES: u64 = 10;
/// Bytes of the compressed file that are read at once.
const COMPRESSED_BUFFER_BYTES: usize = 1 << 16;
/// Largest window of a file: `xz --extreme` and `zstd --ultra --long=30` need no more.
pub(super) const WINDOW_LIMIT_BYTES: u64 = 1 << 30;

/// Compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// `gzip`.
    Gzip,
    /// `xz`.
    Xz,
    /// `zstd`.
    Zstd,
    /// `bzip2`.
    Bzip2,
}

impl Compression {
    /// All compressions.
    pub(super) const ALL: [Self; 4] = [Self::Gzip, Self::Xz, Self::Zstd, Self::Bzip2];

    /// The file extension of this compression.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Xz => "xz",
            Self::Zstd => "zst",
            Self::Bzip2 => "bz2",
        }
    }

    fn from_head(head: &[u8]) -> Option<Self> {
        match head {
            // Deflate, no reserved flag, a known extra flag: the first three bytes alone could be an
            // address.
            [0x1f, 0x8b, 8, 0..=0x1f, _, _, _, _, 0 | 2 | 4, ..] => Some(Self::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..] => {
                Some(Self::Bzip2)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
        })
    }
}

/// The content of `file`, and its compression.
pub(super) fn unpacked(
    mut file: Box<dyn Read + Send>,
) -> io::Result<(Option<Compression>, Box<dyn Read + Send>)> {
    let mut head = Vec::new();
    file.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    let compression = Compression::from_head(&head);
    let whole = Cursor::new(head).chain(file);
    let Some(kind) = compression else {
        return Ok((None, Box::new(whole)));
    };
    let compressed = BufReader::with_capacity(COMPRESSED_BUFFER_BYTES, whole);
    let content: Box<dyn Read + Send> = match kind {
        Compression::Gzip => Box::new(MultiGzDecoder::new(compressed)),
        Compression::Xz => {
            let limit_kib = fit(WINDOW_LIMIT_BYTES >> 10);
            Box::new(XzReader::new_mem_limit(compressed, true, limit_kib))
        }
        Compression::Zstd => Box::new(ZstdReader::new(compressed)),
        Compression::Bzip2 => Box::new(MultiBzDecoder::new(compressed)),
    };
    Ok((compression, content))
}
