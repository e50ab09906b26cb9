//! How a command ends when it does not succeed.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use host::error::FileError;
use host::slices::ProgramError;
use host::tune::{StateError, TuneApplyError};

use crate::output::emit_error;

/// How a command can end other than as asked, with its exit code. `docs/host.md` and the help list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Something could not be read, written, measured or put back.
    Failed = 1,
    /// Wrong usage or bad input.
    BadInput = 2,
    /// The tool, the kernel or the hardware refused, or another program holds a lock or uses the counters.
    /// Registers that do not answer are refused by the tool.
    Refused = 3,
    /// A write was taken and the control holds something else (ignored, widened or different), or a
    /// control was left out because it cannot be reached.
    NotAsAsked = 4,
    /// It holds what was asked, and hit rates did not change.
    NoEffect = 5,
    /// It holds what was asked, and nothing tells whether hit rates changed.
    NotJudged = 6,
    /// Ctrl-C.
    Interrupted = 130,
}

/// A message for people, and the exit code.
#[derive(Debug)]
pub struct Failure {
    message: Option<String>,
    code: u8,
}

impl Failure {
    /// Wrong usage or bad input: exit code 2.
    pub fn bad_input(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: Ending::BadInput as u8 }
    }

    /// It did not work: exit code 1.
    pub fn failed(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: Ending::Failed as u8 }
    }

    /// This machine has no such control, or it is not left to the tool: exit code 3.
    pub fn refused(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: Ending::Refused as u8 }
    }

    /// Ctrl-C: exit code 130.
    pub fn interrupted(message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: Ending::Interrupted as u8 }
    }

    /// It did not end as asked, and the output says why already.
    pub fn told(ending: Ending) -> Self {
        Self { message: None, code: ending as u8 }
    }

    /// It did not end as asked.
    pub fn ended(ending: Ending, message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code: ending as u8 }
    }

    /// Ends with a code that is not this program's own.
    pub fn passed(code: u8, message: impl Display) -> Self {
        Self { message: Some(message.to_string()), code }
    }

    /// Ends with the code of a command, which has said what it had to say.
    pub fn silent(code: u8) -> Self {
        Self { message: None, code }
    }

    /// What a command says of a file or register that cannot be read or written.
    pub fn of_file(error: &FileError, message: impl Display) -> Self {
        Self::ended(of_file(error), message)
    }

    /// What a command says of the state directory, the journal or a lock.
    pub fn of_state(error: &StateError, message: impl Display) -> Self {
        Self::ended(of_state(error), message)
    }

    /// What a command says of changes that were cut short.
    pub fn of_apply(error: &TuneApplyError, message: impl Display) -> Self {
        let ending = match error {
            TuneApplyError::State(error) => of_state(error),
            TuneApplyError::File(error) => of_file(error),
            _ => Ending::Failed,
        };
        Self::ended(ending, message)
    }

    /// What a command says of boxes that could not be set, or put back.
    pub fn of_program(error: &ProgramError) -> Self {
        match error {
            ProgramError::State(state) => Self::of_state(state, error),
            ProgramError::Apply(apply) => Self::of_apply(apply, error),
            ProgramError::File { error: file } => Self::of_file(file, error),
            ProgramError::NotAsAsked { is_refused: false, .. } => {
                Self::ended(Ending::NotAsAsked, error)
            }
            ProgramError::NotAsAsked { is_refused: true, .. }
            | ProgramError::InUse { .. }
            | ProgramError::Unknown { .. }
            | ProgramError::Leftover => Self::refused(error),
            ProgramError::NotPutBack(_) => Self::failed(error),
        }
    }

    /// Whether it ends so.
    pub fn is(&self, ending: Ending) -> bool {
        self.code == ending as u8
    }

    /// The same with a further line, if it is not empty.
    pub fn adding(self, line: &str) -> Self {
        Self { message: self.message.map(|message| format!("{message}\n{line}")), ..self }
    }

    /// The message, for a failure that is told beside another one.
    pub fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }

    /// Prints the message.
    pub fn report(self) -> ExitCode {
        if let Some(message) = self.message {
            emit_error(&format!("error: {message}\n"));
        }
        ExitCode::from(self.code)
    }
}

fn of_state(error: &StateError) -> Ending {
    match error {
        StateError::BadDirectory(_) => Ending::BadInput,
        StateError::File(error) => of_file(error),
        StateError::Locked(_)
        | StateError::ResctrlLocked(_)
        | StateError::Distrusted { .. }
        | StateError::Full { .. }
        | StateError::NotAllowed { .. } => Ending::Refused,
        StateError::Damaged { .. } => Ending::Failed,
    }
}

fn of_file(error: &FileError) -> Ending {
    if error.problem.is_refusal() { Ending::Refused } else { Ending::Failed }
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
