//! Compressed recordings: recognised by their first bytes, unpacked while they are read.
//!
//! Models: gzip, xz, zstd and bzip2, each also as several streams in a row, with padding of zeros behind
//! them.
//! Source: RFC 1952, the .xz file format 1.2, RFC 8878, the reference implementation of bzip2.
//! Simplifies: streams with a window of more than a GiB are refused (unpacking takes as much memory, and
//! twice that while zstd's buffer grows); other compressions are recognised, so that a message can name
//! them, and not unpacked.

mod streams;
#[cfg(test)]
pub(crate) mod test_files;
mod zstd;

use std::fmt;
use std::io::{self, BufReader, Cursor, Read};

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;

use self::streams::Streams;
use self::zstd::ZstdReader;
use units::narrow::fit;

/// Bytes that are needed to recognise any of them.
const HEAD_BYTES: u64 = 10;
/// Bytes of the compressed file that are read at once.
const COMPRESSED_BUFFER_BYTES: usize = 1 << 16;
/// Largest window of a file: `xz --extreme` and `zstd --ultra --long=30` need no more.
pub(crate) const WINDOW_LIMIT_BYTES: u64 = 1 << 30;
/// More than the tables that a decoder of xz has beside its window.
const XZ_TABLES_BYTES: u64 = 1 << 20;

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
    #[cfg(unix)]
    pub(crate) const ALL: [Self; 4] = [Self::Gzip, Self::Xz, Self::Zstd, Self::Bzip2];

    /// The file extension of this compression.
    #[cfg(unix)]
    pub(crate) fn extension(self) -> &'static str {
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
            // A frame, or a skippable one: pzstd begins with the length of the frame that follows.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            // The mark of a block, or of the end if there is none.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => {
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

/// The name of a compression that is not unpacked, by the first bytes of a file.
pub(crate) fn unsupported_name(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x04, 0x22, 0x4d, 0x18, ..] => Some("lz4"),
        [0x02, 0x21, 0x4c, 0x18, ..] => Some("lz4 (legacy)"),
        [b'L', b'Z', b'I', b'P', 1, ..] => Some("lzip"),
        [0x89, b'L', b'Z', b'O', 0, ..] => Some("lzop"),
        [0x5d, 0, 0, _, _, _, ..] if head.len() > 5 => Some("lzma (alone)"),
        [b'P', b'K', 3 | 5, 4 | 6, ..] => Some("zip"),
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Some("7z"),
        [b'R', b'a', b'r', b'!', 0x1a, 7, ..] => Some("rar"),
        [0x1f, 0x9d, ..] => Some("compress (.Z)"),
        [0x1f, 0xa0, ..] => Some("compress (LZH)"),
        [0xff, 6, 0, 0, b's', b'N', b'a', b'P', b'p', ..] => Some("snappy"),
        _ => None,
    }
}

/// The content of `file`, and its compression.
pub(crate) fn unpacked<'f>(
    mut file: Box<dyn Read + Send + 'f>,
) -> io::Result<(Option<Compression>, Box<dyn Read + Send + 'f>)> {
    let mut head = Vec::new();
    file.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    let compression = Compression::from_head(&head);
    let whole = Cursor::new(head).chain(file);
    let Some(kind) = compression else {
        return Ok((None, Box::new(whole)));
    };
    let compressed = BufReader::with_capacity(COMPRESSED_BUFFER_BYTES, whole);
    let content: Box<dyn Read + Send + 'f> = match kind {
        Compression::Gzip => {
            Box::new(Streams::new(compressed, GzDecoder::new, GzDecoder::into_inner))
        }
        Compression::Xz => {
            let limit_kib = fit((WINDOW_LIMIT_BYTES + XZ_TABLES_BYTES) >> 10);
            Box::new(XzReader::new_mem_limit(compressed, true, limit_kib))
        }
        Compression::Zstd => Box::new(ZstdReader::new(compressed)),
        Compression::Bzip2 => {
            Box::new(Streams::new(compressed, BzDecoder::new, BzDecoder::into_inner))
        }
    };
    Ok((compression, content))
}
