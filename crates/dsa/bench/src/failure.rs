//! The failure of a measurement.

/// The reason why a measurement has no result, as a message for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Wrong usage: the message names option, value and what is allowed.
    BadInput(String),
    /// The measurement was begun and failed.
    Failed(String),
}

impl Failure {
    /// Bad input: the value of an option is refused. `allowed` says why, or what is allowed.
    pub fn refused_value(option: &str, value: impl std::fmt::Display, allowed: &str) -> Self {
        Self::BadInput(format!("{option} {value}: {allowed}"))
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BadInput(message) | Self::Failed(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Failure {}
