//! How a command ends when it does not succeed.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// A message for people, and the exit code.
#[derive(Debug)]
pub struct Failure {
    message: Option<String>,
    code: u8,
}

impl Failure {
    /// Wrong usage or bad input: exit code 2.
    pub fn bad_input(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: 2 }
    }

    /// It did not work: exit code 1.
    pub fn failed(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: 1 }
    }

    /// Prints the message.
    pub fn report(self) -> ExitCode {
        if let Some(message) = self.message {
            eprintln!("error: {}", message);
        }
        ExitCode::from(self.code)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // The reader of a stream has seen enough, like `head`.
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self { message: None, code: 0 };
        }
        Self::failed(format!("cannot write the output: {error}"))
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.message.as_deref().unwrap_or_default())
    }
}
