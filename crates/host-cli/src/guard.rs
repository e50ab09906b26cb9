//! A second process that puts back what is held, should this one be killed.
//!
//! It shares the lock file's lock with its holder, so that no other skipline-host writes a control before
//! the old values are back. It puts back when its holder has ended, and the command that ran under the settings.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use host::tune::StateDirectory;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::Context;
use crate::failure::Failure;
use crate::hold::{ending_signals, of_state, put_back};
use crate::output::emit_error;
use crate::tune::crash;

/// The option of `restore` that makes a guard of it: standard input is the lock, standard output the
/// connection to the holder.
pub const OPTION: &str = "after-holder";
/// What the guard says when it is ready.
const READY: u8 = b'r';

/// The process, at the other end of a connection. Nothing else has this end, so that its holder's death
/// closes it.
pub struct Guard {
    process: Child,
    holder: UnixStream,
}

impl Guard {
    /// Starts it, before anything is written. In a group of its own: Ctrl-C is for the holder.
    pub fn start(context: &Context, state: &StateDirectory<'_>) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            Failure::failed(format!(
                "nothing was written: the process that puts back after a kill does not start: {error}"
            ))
        };
        let (mut holder, guard) = UnixStream::pair().map_err(failed)?;
        let lock = state.share_lock().map_err(failed)?;
        let mut command = Command::new("/proc/self/exe");
        if let Some(root) = &context.asked_root {
            let mut option = OsString::from("--root=");
            option.push(root);
            command.arg(option);
        }
        command.arg(format!("--state-dir={}", context.state_dir())).arg("restore");
        command.arg(format!("--{OPTION}")).env_remove(crash::VARIABLE).process_group(0);
        command.stdin(Stdio::from(lock)).stdout(Stdio::from(OwnedFd::from(guard)));
        let process = command.spawn().map_err(failed)?;
        // The guard's ends are the guard's alone.
        drop(command);
        holder.read_exact(&mut [0]).map_err(failed)?;
        Ok(Self { process, holder })
    }

    /// Lets the settings be held until this process has ended too. A holder that is killed between the
    /// start of the process and this has its settings put back at once.
    pub fn watch(&self, command: &Child) -> Result<(), Failure> {
        (&self.holder).write_all(&command.id().to_le_bytes()).map_err(Failure::failed)
    }

    /// Ends it: there is nothing to put back any more, or an error has told what is left.
    pub fn dismiss(mut self) {
        // One that has ended already needs no signal.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Stands guard: waits for the end of the holder and of what it runs, and puts back what is left.
pub fn stand(context: &Context) -> Result<(), Failure> {
    // Signals are for the holder, which puts back itself.
    let ignored = Arc::new(AtomicBool::new(false));
    for signal in ending_signals() {
        signal_hook::flag::register(signal, Arc::clone(&ignored)).map_err(Failure::failed)?;
    }
    let lock = io::stdin().as_fd().try_clone_to_owned().map_err(Failure::failed)?;
    let state = StateDirectory::inherited(&context.host.root, context.state_dir(), lock);
    let state = state.map_err(of_state)?.wait_for_resctrl(true);
    let connection = io::stdout();
    let failed = |errno: Errno| Failure::failed(io::Error::from(errno));
    rustix::io::write(&connection, &[READY]).map_err(failed)?;
    let mut command = None;
    while let Some(id) = next_process(&connection).map_err(failed)? {
        // The holder lives, or has told of it just now: the number is still that process's.
        command = Pid::from_raw(id).and_then(|id| pidfd_open(id, PidfdFlags::empty()).ok());
    }
    if let Some(command) = command {
        wait_for(&command).map_err(failed)?;
    }
    if state.read().map_err(of_state)?.entries.is_empty() {
        return Ok(());
    }
    let restored = put_back(context, &state)?;
    let lines = restored.iter().map(|one| format!("  {}: put back\n", one.place));
    let lines: String = lines.collect();
    emit_error(&format!("skipline-host was killed while it held settings\n{lines}"));
    Ok(())
}

/// The number of the process that the holder has told of; none after the holder's end.
fn next_process(connection: impl AsFd) -> Result<Option<i32>, Errno> {
    let (mut bytes, mut have) = ([0; 4], 0);
    while have < bytes.len() {
        match rustix::io::read(&connection, &mut bytes[have..]) {
            Ok(0) => return Ok(None),
            Ok(read) => have += read,
            // What was not read at the end of the other side ends the connection as well.
            Err(Errno::CONNRESET) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(Some(i32::from_le_bytes(bytes)))
}

/// Waits for the end of a process that need not be a child.
fn wait_for(process: &OwnedFd) -> Result<(), Errno> {
    loop {
        match poll(&mut [PollFd::new(process, PollFlags::IN)], None) {
            Err(Errno::INTR) => {}
            ended => return ended.map(drop),
        }
    }
}
