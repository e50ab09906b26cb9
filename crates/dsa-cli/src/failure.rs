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

    /// Tool, kernel or hardware refused, or another program is in the way: exit code 3.
    pub fn refused(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: 3 }
    }

    /// A write was taken, and something else is there: exit code 4.
    pub fn not_as_asked(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: 4 }
    }

    /// The output has said already why; the code as those above.
    pub fn told(code: u8) -> Self {
        Self { message: None, code }
    }

    /// The same with a further line, if it has a message.
    pub fn adding(self, line: &str) -> Self {
        Self { message: self.message.map(|message| format!("{message}\n{line}")), ..self }
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
