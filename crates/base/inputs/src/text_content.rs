//! The content of a text: its limits, and what is no text.

use std::io::{self, ErrorKind};
use std::string::FromUtf8Error;

/// Longest text that is read, in bytes.
pub const LIMIT_BYTES: u64 = 256 << 20;
/// Longest file of keys that is read, in bytes: TOML takes a hundred times its length while it is parsed.
pub const KEYS_LIMIT_BYTES: u64 = 4 << 20;
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text of these bytes, without the byte order mark at its start.
pub(crate) fn text(bytes: Vec<u8>) -> io::Result<String> {
    let text = String::from_utf8(bytes).map_err(|error| not_utf8(&error))?;
    let text = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => rest.to_string(),
        None => text,
    };
    if text.trim().is_empty() {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is empty"));
    }
    Ok(text)
}

/// The refusal of more than `limit_bytes`.
pub(crate) fn too_long(limit_bytes: u64) -> io::Error {
    let message = format!("longer than {} MiB, which no text of this kind is", limit_bytes >> 20);
    io::Error::new(ErrorKind::FileTooLarge, message)
}

/// The refusal of bytes that are not UTF-8, with the remedy if their beginning shows it.
fn not_utf8(error: &FromUtf8Error) -> io::Error {
    let at = error.utf8_error().valid_up_to();
    let hint = match error.as_bytes() {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => ": it is UTF-16; save it as UTF-8",
        [0x1f, 0x8b, ..] => ": it is packed by gzip; unpack it first",
        _ => "",
    };
    io::Error::new(ErrorKind::InvalidData, format!("not UTF-8 text (byte {at}){hint}"))
}
