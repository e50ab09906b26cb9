//! Bodies of the fuzz targets: each takes any bytes as a recording, and panics only where a reader is wrong.
//! The ordinary test replays the kept corpus through them, and `fuzz/` leads them by coverage.
//!
//! | module | what reads the bytes |
//! | --- | --- |
//! | `captures` | the capture that is replayed |
//! | `segments` | the segments of TCP in a capture |
//! | `traces` | traces of every format, or of the format that their content shows |
//! | `descriptor_logs` | logs of descriptors |
//!
//! The first byte of an input is options; some of them pack the rest, since coverage does not lead
//! through the checksums of a packed file.

#[path = "readers/captures.rs"]
pub mod captures;
#[path = "readers/descriptor_logs.rs"]
pub mod descriptor_logs;
#[path = "readers/file.rs"]
mod file;
#[path = "readers/pack.rs"]
mod pack;
#[path = "readers/segments.rs"]
pub mod segments;
#[path = "readers/traces.rs"]
pub mod traces;

/// A function that reads any bytes.
type Body = fn(&[u8]);

/// The targets by name.
pub const TARGETS: [(&str, Body); 4] = [
    ("captures", captures::read),
    ("segments", segments::read),
    ("traces", traces::read),
    ("descriptor_logs", descriptor_logs::read),
];
