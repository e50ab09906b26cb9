//! How a command ends when it does not succeed.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use crate::output::without_control;

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

    /// Ctrl-C: exit code 130.
    pub fn interrupted(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: 130 }
    }

    /// It did not work, and the output says why already.
    pub fn told() -> Self {
        Self { message: None, code: 1 }
    }

    /// The same with a further line, if it is not empty.
    pub fn adding(self, line: &str) -> Self {
        Self { message: self.message.map(|message| format!("{message}\n{line}")), ..self }
    }

    /// Prints the message.
    pub fn report(self) -> ExitCode {
        if let Some(message) = self.message {
            eprintln!("error: {}", without_control(&message));
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
