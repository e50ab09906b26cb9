//! Traces for the tests of this folder, written from references.

use std::fmt::Write as _;

use super::TraceFormat;
use units::{Reference, ReferenceKind};

/// Three references, compressed with the original tools, so that the tests do not rely only on this
/// crate's own dependencies.
pub(super) const DIN: &[u8] = b"0 7fff0040\n1 7fff0048 a store\n2 401000\n";
/// `gzip -9n` 1.12.
pub(super) const DIN_GZIP: &[u8] = b"\
    \x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x33\x50\x30\x4f\x4b\x4b\x33\x30\x30\x31\xe0\x32\x84\
    \x31\x2d\x14\x12\x15\x8a\x4b\xf2\x8b\x52\xb9\x8c\x14\x4c\x0c\x0c\x0d\x0c\x0c\xb8\x00\x6d\x67\
    \x28\xb8\x27\x00\x00\x00";
/// `xz -9` 5.4.1.
pub(super) const DIN_XZ: &[u8] = b"\
    \xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x1c\x00\x00\x00\x10\xcf\x58\
    \xcc\xe0\x00\x26\x00\x23\x5d\x00\x18\x08\x03\x57\x5c\x4f\x30\xe8\x2a\xa5\xf9\x85\xfc\xbb\x73\
    \xf6\x22\x03\xdb\x39\xdc\x97\x6d\x13\x51\x71\x55\x94\xfa\xaa\xfb\xc5\x0b\xb2\x80\x00\x00\xc1\
    \xb7\xb0\x40\x92\x64\x57\xc9\x00\x01\x3f\x27\x7c\x2a\x52\xdd\x1f\xb6\xf3\x7d\x01\x00\x00\x00\
    \x00\x04\x59\x5a";
/// `zstd -19` 1.5.4.
pub(super) const DIN_ZSTD: &[u8] = b"\
    \x28\xb5\x2f\xfd\x04\x68\x25\x01\x00\xf2\x01\x07\x0c\xc0\x3d\x83\x66\xff\xb1\xe9\x1a\xa7\xdb\
    \xd2\x03\xf0\x5f\x4e\x31\x80\xab\xcd\x71\x61\x02\xa7\x3f\x33\x2b\x1e\x01\x00\x26\x4a\x12\x43\
    \x6a\x83\x35";
/// `bzip2 -9` 1.0.8.
pub(super) const DIN_BZIP2: &[u8] = b"\
    \x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x8b\xae\xe0\xa4\x00\x00\x05\x59\x80\x00\x10\x40\x00\
    \x74\xc0\x23\x00\x9c\x00\x20\x00\x21\xa9\xe8\x6a\x32\x0d\x0a\x60\x00\x18\x52\x65\x34\xf3\xa6\
    \x5b\x10\xe2\x09\x34\x48\x73\xd4\x07\x05\xf9\x5f\xc5\xdc\x91\x4e\x14\x24\x22\xeb\xb8\x29\x00";

/// A file of these references.
///
/// # Panics
/// If the format cannot express one of them.
pub(super) fn written(format: TraceFormat, references: &[Reference]) -> Vec<u8> {
    match format {
        TraceFormat::Din => lines_of(references, |line, reference| {
            let label = match reference.kind {
                ReferenceKind::Load => 0,
                ReferenceKind::Store => 1,
                ReferenceKind::Fetch => 2,
                ReferenceKind::Modify => panic!("din has no modifications"),
            };
            writeln!(line, "{label} {:x}", reference.address)
        }),
        TraceFormat::Lackey => lines_of(references, |line, reference| {
            let kind = match reference.kind {
                ReferenceKind::Fetch => "I ",
                ReferenceKind::Load => " L",
                ReferenceKind::Store => " S",
                ReferenceKind::Modify => " M",
            };
            writeln!(line, "{kind} {:08x},{}", reference.address, reference.bytes)
        }),
        TraceFormat::ChampSim => instructions(references),
        TraceFormat::Raw64 => {
            references.iter().flat_map(|reference| reference.address.to_le_bytes()).collect()
        }
    }
}

fn lines_of(
    references: &[Reference],
    line: impl Fn(&mut String, &Reference) -> std::fmt::Result,
) -> Vec<u8> {
    let mut text = String::new();
    for reference in references {
        line(&mut text, reference).expect("a string takes everything");
    }
    text.into_bytes()
}

/// A record per fetch, with the loads and stores that follow it.
fn instructions(references: &[Reference]) -> Vec<u8> {
    let mut records = Vec::new();
    let (mut loads, mut stores) = (0, 0);
    for reference in references {
        let slot = match reference.kind {
            ReferenceKind::Fetch => {
                records.push([0; 64]);
                (loads, stores) = (0, 0);
                0
            }
            ReferenceKind::Load => {
                assert!(loads < 4);
                loads += 1;
                32 + (loads - 1) * 8
            }
            ReferenceKind::Store => {
                assert!(stores < 2);
                stores += 1;
                16 + (stores - 1) * 8
            }
            ReferenceKind::Modify => panic!("champsim has no modifications"),
        };
        let record = records.last_mut().expect("a fetch comes first");
        record[slot..slot + 8].copy_from_slice(&reference.address.to_le_bytes());
    }
    records.concat()
}
