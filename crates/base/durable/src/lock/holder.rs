//! The process that holds a lock, from what the kernel says of locks and of open files.
//!
//! Source: Linux Documentation/filesystems/proc.rst (locks, fdinfo), fs/locks.c.

use inputs::foreign::in_line;
use rustix::fs::{Stat, major, minor};
use rustix::process::geteuid;
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// A process that holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// Number of the process.
    pub process: u32,
    /// Name of its command, fit to be shown; empty if it is not known.
    pub command: String,
    /// Number of the user who started it; `None` if it is not known.
    pub user: Option<u32>,
}

impl Display for LockHolder {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "process {}", self.process)?;
        if !self.command.is_empty() {
            write!(formatter, " ({})", self.command)?;
        }
        self.user.map_or(Ok(()), |user| write!(formatter, " of user {user}"))
    }
}

/// A process that holds a lock of the file; `None` if none is seen.
///
/// The kernel names the process that took the lock. Once that has ended, those to which it left the open
/// file hold it.
#[must_use]
pub fn holder(found: &Stat) -> Option<LockHolder> {
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let mut takers = takers(&locks, found).filter_map(LockHolder::of_process);
    takers.next().or_else(|| holders(found).into_iter().next())
}

/// Whether processes hold the file's lock, and all of them are of other users than root and that of this
/// process.
pub(super) fn is_of_other_users(found: &Stat) -> bool {
    let holders = holders(found);
    let is_other =
        |user: Option<u32>| user.is_some_and(|user| user != 0 && user != geteuid().as_raw());
    !holders.is_empty() && holders.iter().all(|holder| is_other(holder.user))
}

/// Numbers of the processes that took a lock of the file, from the text of /proc/locks: a line is
/// `1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF`, and of a process that waits `1: -> FLOCK ...`.
fn takers(locks: &str, found: &Stat) -> impl Iterator<Item = u32> {
    let (major, minor) = (major(found.st_dev), minor(found.st_dev));
    let file = format!("{major:02x}:{minor:02x}:{}", found.st_ino);
    locks.lines().filter_map(move |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK" | "OFDLCK" | "POSIX", _, _, process, of, ..] = words.as_slice() else {
            return None;
        };
        // Of a file of another process namespace the number is 0 or negative.
        process.parse().ok().filter(|process| *of == file && *process > 0)
    })
}

/// Processes that have the file open with a lock on it, as far as this process may see.
fn holders(found: &Stat) -> Vec<LockHolder> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let others = numbers.filter(|process| *process != std::process::id());
    others.filter(|process| holds(*process, found)).filter_map(LockHolder::of_process).collect()
}

fn holds(process: u32, found: &Stat) -> bool {
    let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    open.into_iter().any(|descriptor| {
        let is_it = fs::metadata(descriptor.path())
            .is_ok_and(|open| (open.dev(), open.ino()) == (found.st_dev, found.st_ino));
        let number = descriptor.file_name();
        is_it
            && fs::read_to_string(format!("/proc/{process}/fdinfo/{}", number.display()))
                .is_ok_and(|text| text.lines().any(|line| line.starts_with("lock:")))
    })
}

impl LockHolder {
    /// `None` if the process has ended.
    fn of_process(process: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        // The kernel escapes a newline of the name. The first number is of the user who started it: a
        // program with the set-user-ID bit has another effective one.
        let command = field("Name:").map(|name| in_line(name.trim()).into_owned());
        let user = field("Uid:").and_then(|users| users.split_whitespace().next()?.parse().ok());
        Some(Self { process, command: command.unwrap_or_default(), user })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_hold_a_lock_are_taken_from_the_list_and_those_who_wait_are_not() {
        let found = rustix::fs::stat("/").expect("a directory");
        let (major, minor, inode) = (major(found.st_dev), minor(found.st_dev), found.st_ino);
        let list = format!(
            "1: FLOCK  ADVISORY  WRITE 71 {major:02x}:{minor:02x}:{inode} 0 EOF\n\
             1: -> FLOCK  ADVISORY  WRITE 72 {major:02x}:{minor:02x}:{inode} 0 EOF\n\
             2: FLOCK  ADVISORY  WRITE 73 {major:02x}:{minor:02x}:{} 0 EOF\n\
             3: FLOCK  ADVISORY  READ  0 {major:02x}:{minor:02x}:{inode} 0 EOF\n\
             4: LEASE  ACTIVE    READ  74 {major:02x}:{minor:02x}:{inode} 0 EOF\n5: odd\n",
            inode + 1
        );
        assert_eq!(takers(&list, &found).collect::<Vec<_>>(), [71]);
    }
}
