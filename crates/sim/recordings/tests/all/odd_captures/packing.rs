//! Files packed as `cat` joins packed files: several members, frames or streams, and zeros behind them.

use std::io::Write as _;

use bzip2::write::BzEncoder;
use flate2::GzBuilder;
use lzma_rust2::{XzOptions, XzWriter};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::dice::Dice;

pub const EXTENSIONS: [&str; 4] = ["gz", "xz", "zst", "bz2"];
/// A zstd frame of no content.
const SKIPPABLE_FRAME: [u8; 11] = [0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];

/// The content packed in parts, each on its own.
pub fn pack(dice: &mut Dice, extension: &str, content: &[u8]) -> Vec<u8> {
    let mut ends: Vec<usize> =
        (0..dice.below(4)).map(|_| dice.below(content.len() + 1)).chain([content.len()]).collect();
    ends.sort_unstable();
    let mut start = 0;
    let mut packed = Vec::new();
    for end in ends {
        packed.extend(pack_part(dice, extension, &content[start..end]));
        start = end;
    }
    if dice.happens(30) {
        // Padding of .xz is a multiple of four bytes.
        let zeros = 4 * dice.pick(&[1, 128, 4_096]);
        packed.resize(packed.len() + zeros, 0);
    }
    packed
}

fn pack_part(dice: &mut Dice, extension: &str, part: &[u8]) -> Vec<u8> {
    let packed = match extension {
        "gz" => {
            let mut header = GzBuilder::new().mtime(dice.draw_u32());
            if dice.happens(50) {
                header = header.filename("a.pcap").comment("made").extra(vec![b'A', b'P', 1, 0, 7]);
            }
            let level = dice.pick(&[0, 1, 6, 9]);
            let mut file = header.write(Vec::new(), flate2::Compression::new(level));
            file.write_all(part).and_then(|()| file.finish())
        }
        "xz" => XzWriter::new(Vec::new(), XzOptions::with_preset(0))
            .and_then(|mut file| file.write_all(part).and_then(|()| file.finish())),
        "zst" => {
            let level = dice.pick(&[CompressionLevel::Uncompressed, CompressionLevel::Fastest]);
            let skipped: &[u8] = if dice.happens(20) { &SKIPPABLE_FRAME } else { &[] };
            Ok([skipped, &compress_to_vec(part, level)].concat())
        }
        "bz2" => {
            let level = dice.pick(&[1, 9]);
            let mut file = BzEncoder::new(Vec::new(), bzip2::Compression::new(level));
            file.write_all(part).and_then(|()| file.finish())
        }
        other => panic!("{other} is not among the extensions"),
    };
    packed.expect("a vector takes everything")
}
