//! The process that holds a lock, from what the kernel says of locks and of open files.
//!
//! Source: Linux Documentation/filesystems/proc.rst (locks, fdinfo), fs/locks.c.

use inputs::foreign::in_line;
use rustix::fs::{Stat, major, minor};
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::Path;

/// A process that holds a lock, or has taken it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// Number of the process.
    pub process: u32,
    /// Command and user of the process; `None` if it could not be seen that it still has the lock. It may then have ended,
    /// and the number be that of another process.
    pub seen: Option<SeenProcess>,
}

/// A process that was seen with the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenProcess {
    /// Name of its command, fit to be shown.
    pub command: String,
    /// Number of the user who started it.
    pub user: u32,
}

impl Display for LockHolder {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let process = self.process;
        match &self.seen {
            Some(SeenProcess { command, user }) => {
                write!(formatter, "process {process} ({command}) of user {user}")
            }
            None => write!(formatter, "process {process} took it and may have ended"),
        }
    }
}

/// A process that holds a lock of the file by flock; `None` if none is known. It looks at all processes, and
/// is for a message at the end of a wait.
///
/// The kernel names the process that took the lock. Once that has ended, those to which it left the open
/// file hold it. Open files of other users are seen with CAP_SYS_PTRACE alone.
#[must_use]
pub fn holder(found: &Stat) -> Option<LockHolder> {
    let file = file_of_lock(found);
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let takers: Vec<u32> = takers(&locks, &file).collect();
    let others = fs::read_dir("/proc").into_iter().flatten().flatten();
    let others = others.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let seen = takers.iter().copied().chain(others).find_map(|process| {
        holds(process, &file)
            .then(|| seen(process))
            .flatten()
            .map(|seen| LockHolder { process, seen: Some(seen) })
    });
    let unseen = || takers.first().map(|process| LockHolder { process: *process, seen: None });
    seen.or_else(unseen)
}

/// As [`holder`], of the file of a path.
#[must_use]
pub fn holder_at(path: &Path) -> Option<LockHolder> {
    holder(&rustix::fs::lstat(path).ok()?)
}

/// How the kernel names a file in a line of a lock: device and inode.
fn file_of_lock(found: &Stat) -> String {
    format!("{:02x}:{:02x}:{}", major(found.st_dev), minor(found.st_dev), found.st_ino)
}

/// Numbers of the processes that took a lock of the file, from the text of /proc/locks or fdinfo: a line is
/// `1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF`, and of a process that waits `1: -> FLOCK ...`.
fn takers<'a>(locks: &'a str, file: &'a str) -> impl Iterator<Item = u32> {
    // Of a file of another process namespace the number is 0 or negative.
    processes(locks, file).filter_map(|process| process.parse().ok().filter(|number| *number > 0))
}

/// As [`takers`], as text.
fn processes<'a>(locks: &'a str, file: &'a str) -> impl Iterator<Item = &'a str> {
    locks.lines().filter_map(move |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, process, of, ..] = words.as_slice() else { return None };
        (*of == file).then_some(*process)
    })
}

/// Whether a process has the file open with a lock on it, as far as this process may see. Only texts of the
/// kernel are read: to look at the file itself could wait for ever for a server that is gone.
fn holds(process: u32, file: &str) -> bool {
    let open = fs::read_dir(format!("/proc/{process}/fdinfo")).into_iter().flatten().flatten();
    open.into_iter().any(|descriptor| {
        let text = fs::read_to_string(descriptor.path()).unwrap_or_default();
        text.lines()
            .filter_map(|line| line.strip_prefix("lock:"))
            .any(|lock| processes(lock, file).next().is_some())
    })
}

/// Command and user of a process; `None` if it has ended.
fn seen(process: u32) -> Option<SeenProcess> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    // The kernel escapes a newline of the name. The first number is of the user who started it: a program
    // with the set-user-ID bit has another effective one.
    let command = in_line(field("Name:")?.trim()).into_owned();
    let user = field("Uid:")?.split_whitespace().next()?.parse().ok()?;
    Some(SeenProcess { command, user })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_hold_a_lock_are_taken_from_the_list_and_those_who_wait_are_not() {
        let found = rustix::fs::stat("/").expect("a directory");
        let (major, minor, inode) = (major(found.st_dev), minor(found.st_dev), found.st_ino);
        let file = file_of_lock(&found);
        let list = format!(
            "1: FLOCK  ADVISORY  WRITE 71 {major:02x}:{minor:02x}:{inode} 0 EOF\n\
             1: -> FLOCK  ADVISORY  WRITE 72 {major:02x}:{minor:02x}:{inode} 0 EOF\n\
             2: FLOCK  ADVISORY  WRITE 73 {major:02x}:{minor:02x}:{} 0 EOF\n\
             3: FLOCK  ADVISORY  READ  0 {major:02x}:{minor:02x}:{inode} 0 EOF\n\
             4: LEASE  ACTIVE    READ  74 {major:02x}:{minor:02x}:{inode} 0 EOF\n5: odd\n\
             6: POSIX  ADVISORY  READ  75 {major:02x}:{minor:02x}:{inode} 0 EOF\n",
            inode + 1
        );
        assert_eq!(takers(&list, &file).collect::<Vec<_>>(), [71]);
    }
}
