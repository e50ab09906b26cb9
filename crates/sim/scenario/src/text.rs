//! User input as text: files by name or path, TOML with readable errors, range checks, numbers with their
//! source.

pub(crate) mod check;
pub(crate) mod document;
pub(crate) mod error;
pub(crate) mod files;
pub(crate) mod key_groups;
pub(crate) mod sourced;
mod tracked_value;
