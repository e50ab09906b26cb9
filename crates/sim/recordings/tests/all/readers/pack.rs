//! Files as they are, or packed with a compression.

use std::borrow::Cow;
use std::io::Write as _;

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// First bytes of the compressions that are unpacked.
const FIRST_BYTES: [u8; 4] = [0x1f, 0xfd, 0x28, b'B'];

/// The content as `choice` packs it: half of all choices leave it as it is.
pub fn chosen(choice: u8, content: &[u8]) -> Cow<'_, [u8]> {
    let packed = match choice % 8 {
        4 => {
            let mut file = GzEncoder::new(Vec::new(), flate2::Compression::fast());
            file.write_all(content).and_then(|()| file.finish())
        }
        5 => XzWriter::new(Vec::new(), XzOptions::with_preset(0))
            .and_then(|mut file| file.write_all(content).and_then(|()| file.finish())),
        6 => Ok(compress_to_vec(content, CompressionLevel::Fastest)),
        7 => {
            let mut file = BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            file.write_all(content).and_then(|()| file.finish())
        }
        _ => return Cow::Borrowed(content),
    };
    Cow::Owned(packed.expect("a vector takes everything"))
}

/// Whether the content may itself be packed: packed once more, it is another file.
pub fn may_be_packed(content: &[u8]) -> bool {
    content.first().is_some_and(|first| FIRST_BYTES.contains(first))
}
