//! Values written to the registers of a described machine, kept in its tree.

use std::collections::BTreeMap;

use crate::error::{FileError, Problem};
use crate::root::Root;

const STATE: &str = "registers.state";

/// Values that differ from the description, by register.
pub(super) type RegisterState = BTreeMap<String, u64>;

pub(super) fn read(root: &Root) -> Result<RegisterState, FileError> {
    match root.read_text(STATE) {
        Ok(text) => serde_json::from_str(&text)
            .map_err(|_| root.malformed(STATE, &text, "values of registers")),
        Err(error) if error.problem == Problem::Missing => Ok(RegisterState::new()),
        Err(error) => Err(error),
    }
}

/// Writes the values; without any the file is removed.
pub(super) fn write(root: &Root, state: &RegisterState) -> Result<(), FileError> {
    if state.is_empty() {
        return root.remove(STATE);
    }
    let text = serde_json::to_string_pretty(state).unwrap_or_default();
    root.replace(STATE, &text)
}
