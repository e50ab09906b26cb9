//! Files by name or path: on disk, or embedded in the program, which works without its repository.

pub use crate::facts::by_name::{nic, platform, platform_with};
pub use crate::scenario::named_testbed as testbed;
pub use crate::text::files::{BY_COMMAND, file, files, read, testbed_names};

use crate::text::files::names;
use facts::Kind;

/// Names of all embedded platforms, sorted.
#[must_use]
pub fn platform_names() -> Vec<String> {
    names(Kind::Platform)
}

/// Names of all embedded SSDs, sorted.
#[must_use]
pub fn ssd_names() -> Vec<String> {
    names(Kind::Ssd)
}

/// Names of all embedded NICs, sorted.
#[must_use]
pub fn nic_names() -> Vec<String> {
    names(Kind::Nic)
}
