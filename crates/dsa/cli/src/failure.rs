//! The failure of a command: its message and exit code.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// A failure with the message that is printed, and the exit code.
#[derive(Debug)]
pub struct CommandFailure {
    message: Option<String>,
    code: u8,
}

impl CommandFailure {
    /// Wrong usage or bad input: exit code 2.
    pub fn bad_input(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: 2 }
    }

    /// The command failed: exit code 1.
    pub fn failed(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: 1 }
    }

    /// Tool, kernel or hardware refused, or another program is in the way: exit code 3.
    pub fn refused(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: 3 }
    }

    /// A write was accepted, but another value is read back: exit code 4.
    pub fn not_as_asked(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: 4 }
    }

    /// A failure whose reason is already in the output: nothing more is printed.
    pub fn silent(code: u8) -> Self {
        Self { message: None, code }
    }

    /// Appends a line to the message, if there is one.
    pub fn with_line(self, line: &str) -> Self {
        Self { message: self.message.map(|message| format!("{message}\n{line}")), ..self }
    }

    /// Prints the message on standard error; returns the exit code.
    pub fn report(self) -> ExitCode {
        if let Some(message) = self.message {
            eprintln!("error: {}", message);
        }
        ExitCode::from(self.code)
    }
}

impl From<io::Error> for CommandFailure {
    fn from(error: io::Error) -> Self {
        // The reader of the stream has closed it, like `head`.
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self { message: None, code: 0 };
        }
        Self::failed(format!("cannot write the output: {error}"))
    }
}

impl Display for CommandFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.message.as_deref().unwrap_or_default())
    }
}
