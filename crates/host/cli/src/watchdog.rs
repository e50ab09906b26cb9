//! A second process that puts temporary settings back if this one is killed.
//!
//! The watchdog shares the lock on the lock file with the process that started it (the holder), so that no
//! other skipline-host writes a control before the old values are back. It puts back once the holder has
//! ended, and the command that ran under the settings.

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

use crate::HostContext;
use crate::crash_point;
use crate::failure::HostFailure;
use crate::output::emit_error;
use crate::signals::ending_signals;
use crate::temporary_settings::{put_back, put_back_lines, state_failure};

/// The option of `restore` that turns the process into a watchdog: standard input is the lock, standard
/// output the connection to the holder.
pub const OPTION: &str = "after-holder";
/// The byte that the watchdog sends when it is ready.
const READY: u8 = b'r';

/// The holder's handle on its watchdog: the process, and the holder's end of the connection. No other
/// process has this end, so the holder's death closes it.
pub struct Watchdog {
    process: Child,
    connection: UnixStream,
}

impl Watchdog {
    /// Starts the process, before anything is written, in a process group of its own: Ctrl-C is for the
    /// holder.
    pub fn start(context: &HostContext, state: &StateDirectory<'_>) -> Result<Self, HostFailure> {
        let failed = |error: io::Error| {
            HostFailure::failed(format!(
                "nothing was written: the process that puts back after a kill does not start: {error}"
            ))
        };
        let (mut connection, watchdog_end) = UnixStream::pair().map_err(failed)?;
        let lock = state.share_lock().map_err(failed)?;
        let mut command = Command::new("/proc/self/exe");
        if let Some(root) = &context.asked_root {
            let mut option = OsString::from("--root=");
            option.push(root);
            command.arg(option);
        }
        command.arg(format!("--state-dir={}", context.state_dir())).arg("restore");
        command.arg(format!("--{OPTION}")).env_remove(crash_point::VARIABLE).process_group(0);
        command.stdin(Stdio::from(lock)).stdout(Stdio::from(OwnedFd::from(watchdog_end)));
        let process = command.spawn().map_err(failed)?;
        // Closes the watchdog's ends in this process.
        drop(command);
        connection.read_exact(&mut [0]).map_err(failed)?;
        Ok(Self { process, connection })
    }

    /// Makes the watchdog wait for the end of `command` too before it puts the settings back. If the holder
    /// is killed between the start of the command and this call, they are put back at once.
    pub fn watch(&self, command: &Child) -> Result<(), HostFailure> {
        (&self.connection).write_all(&command.id().to_le_bytes()).map_err(HostFailure::failed)
    }

    /// Ends the watchdog: all values are back, or an error has named those that are not.
    pub fn dismiss(mut self) {
        // A process that has ended already needs no signal.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs the watchdog: waits for the end of the holder and of its command, and puts back what the journal
/// still contains.
pub fn run(context: &HostContext) -> Result<(), HostFailure> {
    // Signals are for the holder, which puts the values back itself.
    let ignored = Arc::new(AtomicBool::new(false));
    for signal in ending_signals() {
        signal_hook::flag::register(signal, Arc::clone(&ignored)).map_err(HostFailure::failed)?;
    }
    let lock = io::stdin().as_fd().try_clone_to_owned().map_err(HostFailure::failed)?;
    let state = StateDirectory::with_inherited_lock(&context.host.root, context.state_dir(), lock);
    let state = state.map_err(state_failure)?;
    let connection = io::stdout();
    let failed = |errno: Errno| HostFailure::failed(io::Error::from(errno));
    rustix::io::write(&connection, &[READY]).map_err(failed)?;
    let mut command = None;
    while let Some(id) = next_process(&connection).map_err(failed)? {
        // The holder lives, or has just sent the number: it is still that process's.
        command = Pid::from_raw(id).and_then(|id| pidfd_open(id, PidfdFlags::empty()).ok());
    }
    if let Some(command) = command {
        wait_for(&command).map_err(failed)?;
    }
    if state.read().map_err(state_failure)?.entries.is_empty() {
        return Ok(());
    }
    let lines = put_back_lines(&put_back(context, &state)?);
    emit_error(&format!("skipline-host was killed while it held settings\n{lines}"));
    Ok(())
}

/// The next process number that the holder sends; none after the holder's end.
fn next_process(connection: impl AsFd) -> Result<Option<i32>, Errno> {
    let (mut bytes, mut have) = ([0; 4], 0);
    while have < bytes.len() {
        match rustix::io::read(&connection, &mut bytes[have..]) {
            Ok(0) => return Ok(None),
            Ok(read) => have += read,
            // Linux reports this if the other side ended with bytes unread.
            Err(Errno::CONNRESET) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(Some(i32::from_le_bytes(bytes)))
}

/// Waits for the end of a process, which need not be a child of this one.
fn wait_for(process: &OwnedFd) -> Result<(), Errno> {
    loop {
        match poll(&mut [PollFd::new(process, PollFlags::IN)], None) {
            Err(Errno::INTR) => {}
            ended => return ended.map(drop),
        }
    }
}
