//! User input as text: TOML with readable errors, built-in files, range checks, numbers with their
//! source, schemas.

pub mod builtin;
pub(crate) mod check;
pub mod document;
pub mod error;
mod input_files;
pub(crate) mod key_groups;
pub mod schema;
pub mod slice_table;
pub mod sourced;

pub use input_files::input_files;
