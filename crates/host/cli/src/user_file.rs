//! Files that the user names for reading.

use std::io;
use std::path::Path;

/// Longest measurement that is read, in bytes: it has a few hundred KiB.
const MEASUREMENT_LIMIT_BYTES: u64 = 16 << 20;

/// Reads the text of a measurement, a file or pipe that the user names.
///
/// # Errors
/// If it cannot be read, has no UTF-8 text, is longer than 16 MiB (like a device without end), or is a FIFO
/// that no program opens for writing.
pub fn read_measurement(path: &Path) -> io::Result<String> {
    inputs::texts::read_once(path, MEASUREMENT_LIMIT_BYTES)
}

/// As [`read_measurement`], for a table of slices: a file of keys, as the simulator reads it as well.
///
/// # Errors
/// As [`read_measurement`], but if it is longer than [`inputs::texts::KEYS_LIMIT_BYTES`].
pub fn read_table(path: &Path) -> io::Result<String> {
    inputs::texts::read_once(path, inputs::texts::KEYS_LIMIT_BYTES)
}
