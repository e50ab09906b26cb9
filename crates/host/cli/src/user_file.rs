//! Files that the user names for reading.

use std::io;
use std::path::Path;

/// Longest file that is read, in bytes: a table of slices or a measurement has a few hundred KiB.
const LIMIT_BYTES: u64 = 16 << 20;

/// Reads the text of a file or pipe that the user names.
///
/// # Errors
/// If it cannot be read, has no UTF-8 text, is longer than 16 MiB (like a device without end), or is a FIFO
/// that no program opens for writing.
pub fn read_user_file(path: &Path) -> io::Result<String> {
    inputs::texts::read_once(path, LIMIT_BYTES)
}
