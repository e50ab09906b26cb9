//! Failures of commands: exit codes and messages.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use host::error::FileError;
use host::slices::ProgramError;
use host::tune::{StateError, TuneApplyError};

use crate::output::emit_error;

/// The ways in which a command can end other than as asked, with their exit codes. `docs/reference/host.md`
/// and the help list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Something could not be read, written, measured or put back.
    Failed = 1,
    /// Wrong usage or bad input.
    BadInput = 2,
    /// The tool, the kernel or the hardware refused, or another program holds a lock or uses the counters.
    /// Registers that do not answer are refused by the tool.
    Refused = 3,
    /// A write succeeded but the control contains another value (ignored, widened or different), or a
    /// control was left out because it cannot be reached.
    NotAsAsked = 4,
    /// The control contains the value that was asked for, and hit rates did not change.
    NoEffect = 5,
    /// The control contains the value that was asked for, and nothing shows whether hit rates changed.
    NotJudged = 6,
    /// Ctrl-C.
    Interrupted = 130,
}

/// The failure of a command: a message for people, if there is anything left to report, and the exit code.
#[derive(Debug)]
pub struct HostFailure {
    message: Option<String>,
    code: u8,
}

impl HostFailure {
    /// A failure by wrong usage or bad input: exit code 2.
    pub fn bad_input(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: Ending::BadInput as u8 }
    }

    /// A failure to read, write, measure or put back something: exit code 1.
    pub fn failed(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: Ending::Failed as u8 }
    }

    /// A refusal: this machine lacks the control, or the tool must not use it (exit code 3).
    pub fn refused(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: Ending::Refused as u8 }
    }

    /// An interruption by Ctrl-C: exit code 130.
    pub fn interrupted(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: Ending::Interrupted as u8 }
    }

    /// An ending whose reason the output has already reported; without a message.
    pub fn reported(ending: Ending) -> Self {
        Self { message: None, code: ending as u8 }
    }

    /// An ending with its message.
    pub fn with_ending(ending: Ending, message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: ending as u8 }
    }

    /// A message with an exit code that is not one of [`Ending`]'s.
    pub fn with_code(code: u8, message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code }
    }

    /// The exit code of a command that has reported its failure itself; without a message.
    pub fn code_only(code: u8) -> Self {
        Self { message: None, code }
    }

    /// The failure to read or write a file or register: refused or failed, by the error.
    pub fn from_file(error: &FileError, message: impl Display) -> Self {
        Self::with_ending(file_ending(error), message)
    }

    /// The failure to use the state directory, the journal or a lock, with the exit code for the error.
    pub fn from_state(error: &StateError, message: impl Display) -> Self {
        Self::with_ending(state_ending(error), message)
    }

    /// The failure of changes that an error cut short, with the exit code for the error.
    pub fn from_apply(error: &TuneApplyError, message: impl Display) -> Self {
        let ending = match error {
            TuneApplyError::State(error) => state_ending(error),
            TuneApplyError::File(error) => file_ending(error),
            _ => Ending::Failed,
        };
        Self::with_ending(ending, message)
    }

    /// The failure to program counter boxes or to put them back, with the exit code for the error.
    pub fn from_program(error: &ProgramError) -> Self {
        match error {
            ProgramError::State(state) => Self::from_state(state, error),
            ProgramError::Apply(apply) => Self::from_apply(apply, error),
            ProgramError::File { error: file } => Self::from_file(file, error),
            ProgramError::NotAsAsked { is_refused: false, .. } => {
                Self::with_ending(Ending::NotAsAsked, error)
            }
            ProgramError::NotAsAsked { is_refused: true, .. }
            | ProgramError::InUse { .. }
            | ProgramError::Unknown { .. }
            | ProgramError::Leftover => Self::refused(error),
            ProgramError::NotPutBack(_) => Self::failed(error),
        }
    }

    /// Whether the exit code is that of `ending`.
    pub fn has_ending(&self, ending: Ending) -> bool {
        self.code == ending as u8
    }

    /// Adds a line to the message; a failure without a message stays without.
    pub fn add_line(self, line: &str) -> Self {
        Self { message: self.message.map(|message| format!("{message}\n{line}")), ..self }
    }

    /// The message; empty if the failure has none.
    pub fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }

    /// Prints the message on standard error and returns the exit code.
    pub fn report(self) -> ExitCode {
        if let Some(message) = self.message {
            emit_error(&format!("error: {message}\n"));
        }
        ExitCode::from(self.code)
    }
}

fn state_ending(error: &StateError) -> Ending {
    match error {
        StateError::BadDirectory(_) => Ending::BadInput,
        StateError::File(error) => file_ending(error),
        StateError::Locked { .. }
        | StateError::ResctrlLocked { .. }
        | StateError::Distrusted { .. }
        | StateError::Full { .. }
        | StateError::NotAllowed { .. } => Ending::Refused,
        StateError::Damaged { .. } => Ending::Failed,
    }
}

fn file_ending(error: &FileError) -> Ending {
    if error.problem.is_refusal() { Ending::Refused } else { Ending::Failed }
}

impl From<io::Error> for HostFailure {
    fn from(error: io::Error) -> Self {
        // The reader of a stream has seen enough, like `head`.
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self { message: None, code: 0 };
        }
        Self::failed(format!("cannot write the output: {error}"))
    }
}
