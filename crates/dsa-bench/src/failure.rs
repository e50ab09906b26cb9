//! How a measurement ends when it does not succeed.

/// Why there is no answer: the message is for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Wrong usage: which option, which value, what is allowed.
    BadInput(String),
    /// It did not work.
    Failed(String),
}

impl Failure {
    /// An option whose value is refused.
    pub fn of_option(option: &str, value: impl std::fmt::Display, allowed: &str) -> Self {
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
