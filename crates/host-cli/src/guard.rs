//! A second process that puts back what is held, should this one be killed.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::io::{FdFlags, fcntl_setfd};

use crate::Context;
use crate::failure::Failure;
use crate::hold::ending_signals;
use crate::tune::crash;

/// The option of `restore` that makes a guard of it.
pub const OPTION: &str = "after-holder";
/// What the holder says when it has put everything back.
const DONE: u8 = b'd';

/// The process; it waits at the other end of a connection.
pub struct Guard {
    process: Child,
    holder: UnixStream,
}

impl Guard {
    /// Starts it, before anything is written. In a group of its own: Ctrl-C is for the holder.
    pub fn start(context: &Context) -> Result<Self, Failure> {
        let (holder, guard) = UnixStream::pair().map_err(Failure::failed)?;
        let mut command = Command::new("/proc/self/exe");
        if let Some(root) = &context.asked_root {
            command.arg("--root").arg(root);
        }
        command.args(["--state-dir", context.state_dir(), "--wait", "restore"]);
        command.arg(format!("--{OPTION}")).env_remove(crash::VARIABLE).process_group(0);
        command.stdin(Stdio::from(std::os::fd::OwnedFd::from(guard))).stdout(Stdio::null());
        let process = command.spawn().map_err(|error| {
            Failure::failed(format!(
                "nothing was written: the process that puts back after a kill does not start: {error}"
            ))
        })?;
        Ok(Self { process, holder })
    }

    /// Lets the programs that are started from now on hold the settings too, to their end.
    pub fn share(&self) -> Result<(), Failure> {
        fcntl_setfd(&self.holder, FdFlags::empty()).map_err(Failure::failed)
    }

    /// Ends it: there is nothing to put back any more, or an error has told what is left.
    pub fn dismiss(mut self) {
        // One that is gone already needs no word.
        let _ = self.holder.write_all(&[DONE]);
        let _ = self.process.wait();
    }
}

/// Waits for the end of the holder and of what it runs; whether it ended without a word.
pub fn holder_was_killed() -> Result<bool, Failure> {
    // Signals are for the holder, which puts back itself.
    let ignored = Arc::new(AtomicBool::new(false));
    for signal in ending_signals() {
        signal_hook::flag::register(signal, Arc::clone(&ignored)).map_err(Failure::failed)?;
    }
    let mut word = [0];
    loop {
        match io::stdin().read(&mut word) {
            Ok(0) => return Ok(true),
            Ok(_) => return Ok(word[0] != DONE),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::failed(error)),
        }
    }
}
