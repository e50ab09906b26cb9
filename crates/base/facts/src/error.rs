//! Errors in a file of facts.

/// Bad input. The text names the file, key, value and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactsError {
    /// A file is not TOML.
    #[error("{file}: not valid TOML: {reason}")]
    Syntax {
        /// Which file.
        file: String,
        /// The parser's message, with its position.
        reason: String,
    },
    /// A value is not allowed.
    #[error("{file}: `{key}` = {value}: {allowed}")]
    Refused {
        /// Which file.
        file: String,
        /// Full path of the key.
        key: String,
        /// The value given.
        value: String,
        /// The allowed values.
        allowed: String,
    },
}

impl FactsError {
    pub(crate) fn refused(file: &str, key: &str, value: &str, allowed: &str) -> Self {
        let [file, key, value, allowed] = [file, key, value, allowed].map(String::from);
        Self::Refused { file, key, value, allowed }
    }
}
