//! The version of the format of scenario files, which a file may state.
//!
//! A file without the key has the format of version 1, of which no key has been renamed yet; a version
//! that renames one migrates it here.

use crate::text::error::InputError;
use toml::{Table, Value};

/// The key that states the version.
pub(crate) const KEY: &str = "schema_version";

/// The version of the format that is read and described by the schema.
pub(crate) const CURRENT: u32 = 1;

/// Takes the version from a file's table.
///
/// # Errors
/// If the file has the format of a later version, or what it states is no version.
pub(super) fn take(file: &str, table: &mut Table) -> Result<(), InputError> {
    let Some(stated) = table.remove(KEY) else { return Ok(()) };
    let remedy = match &stated {
        Value::Integer(version) if *version == i64::from(CURRENT) => return Ok(()),
        Value::Integer(version) if *version > i64::from(CURRENT) => {
            "; the file is of a later Skipline: install that one (pip install --upgrade skipline)"
        }
        _ => "",
    };
    Err(InputError::OutOfRange {
        file: file.into(),
        key: KEY.into(),
        value: stated.to_string(),
        allowed: format!("allowed: {CURRENT}, or leave it out{remedy}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> Result<Table, String> {
        let mut table: Table = text.parse().expect("TOML");
        take("mine.toml", &mut table).map(|()| table).map_err(|error| error.to_string())
    }

    #[test]
    fn the_present_version_and_none_are_read_and_leave_no_key() {
        for text in ["cores = 2", "schema_version = 1\ncores = 2"] {
            assert_eq!(taken(text), Ok("cores = 2".parse().expect("TOML")));
        }
    }

    #[test]
    fn a_later_version_is_refused_with_the_remedy() {
        let told = taken("schema_version = 2").expect_err("refused");
        assert!(told.contains("`schema_version` = 2: allowed: 1"), "{told}");
        assert!(told.contains("pip install --upgrade skipline"), "{told}");
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for stated in ["0", "-1", "1.0", "\"1\"", "true", "[1]"] {
            let told = taken(&format!("schema_version = {stated}")).expect_err("refused");
            assert!(told.contains("allowed: 1, or leave it out"), "{told}");
        }
    }
}
