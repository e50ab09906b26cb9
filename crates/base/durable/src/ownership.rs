//! The users who could change a file or the entries of a directory.

use rustix::fs::{FileType, Stat};
use rustix::process::{getegid, geteuid};
use std::fs;

/// Whether the owner is root or the user of this process.
pub(crate) fn is_own(found: &Stat) -> bool {
    found.st_uid == 0 || found.st_uid == geteuid().as_raw()
}

/// Reason why other users can write a file, or the entries of a directory; `None` if they cannot. The
/// group counts as other users unless it is root's or that of this process.
pub(crate) fn foreign_writer(found: &Stat) -> Option<String> {
    if !is_own(found) && !is_root_s_by_place(found) {
        return Some(format!("belongs to user {}", found.st_uid));
    }
    let of_others = found.st_gid != 0 && found.st_gid != getegid().as_raw();
    let can_write = found.st_mode & 0o002 != 0 || (found.st_mode & 0o020 != 0 && of_others);
    can_write.then(|| written_by_others(found))
}

/// Reason why other users could rename the entries of a directory; `None` if they cannot. The sticky bit
/// keeps them from renaming what is not theirs, unless the directory is.
pub(crate) fn foreign_renamer(found: &Stat) -> Option<String> {
    let is_sticky = found.st_mode & 0o1000 != 0 && (is_own(found) || is_root_s_by_place(found));
    if is_sticky { None } else { foreign_writer(found) }
}

/// Reason why other users could have written a file that is this program's alone; `None` if they could not.
/// No group has to write it, and of a file with an access control list the mode has in place of the group's
/// permissions the most that any user of the list has.
pub(crate) fn foreign_writer_of_file(found: &Stat) -> Option<String> {
    if !is_own(found) {
        return Some(format!("belongs to user {}", found.st_uid));
    }
    (found.st_mode & 0o022 != 0).then(|| written_by_others(found))
}

/// Reason why other users could enter a directory that is this program's alone; `None` if they could not. The
/// mode covers an access control list as well.
pub(crate) fn foreign_enterer(found: &Stat) -> Option<String> {
    if !is_own(found) {
        return Some(format!("belongs to user {}", found.st_uid));
    }
    let mode = found.st_mode & 0o7777;
    (mode & 0o077 != 0).then(|| format!("can be entered by others (mode {mode:o}, not 700)"))
}

fn written_by_others(found: &Stat) -> String {
    format!("can be written by others (mode {:o})", found.st_mode & 0o7777)
}

pub(crate) fn kind(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// Directories that are root's on every system.
const OF_ROOT: [&str; 12] = [
    "/", "/dev", "/etc", "/home", "/proc", "/run", "/sys", "/tmp", "/usr", "/var", "/var/lib",
    "/var/tmp",
];

/// Whether a directory is root's although its owner has no number in the user namespace of this process. One
/// number stands for all such users, so that only the place of a directory tells root from the others.
fn is_root_s_by_place(found: &Stat) -> bool {
    let is_it = |path: &str| {
        let of_root = rustix::fs::stat(path);
        of_root.is_ok_and(|it| (it.st_dev, it.st_ino) == (found.st_dev, found.st_ino))
    };
    is_unmapped(found.st_uid) && OF_ROOT.into_iter().any(is_it)
}

/// Whether the number stands for users who have none in the user namespace of this process, among them
/// the machine's root.
fn is_unmapped(user: u32) -> bool {
    const OVERFLOW_USER: u32 = 65534;
    let overflow = fs::read_to_string("/proc/sys/kernel/overflowuid");
    let overflow = overflow.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(OVERFLOW_USER);
    let map = fs::read_to_string("/proc/self/uid_map");
    user == overflow && map.is_ok_and(|map| !maps(&map, user))
}

/// Whether a map of users has a line for the number: first number inside, first number outside, count.
fn maps(map: &str, user: u32) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(|word| word.parse::<u64>().ok());
        let (first, _, count) = (numbers.next(), numbers.next(), numbers.next());
        let (Some(Some(first)), Some(Some(count))) = (first, count) else { return true };
        (first..first + count).contains(&user.into())
    })
}

#[cfg(test)]
mod tests {
    use super::maps;

    #[test]
    fn a_number_is_mapped_if_a_line_of_the_map_covers_it() {
        assert!(maps("         0          0 4294967295\n", 65534));
        assert!(!maps("      1000       1000          1\n", 65534));
        assert!(maps("0 100000 1000\n65534 165534 1\n", 65534));
        assert!(!maps("0 100000 65534\n", 65534));
        assert!(!maps("", 65534));
        // A line that is not understood allows nothing.
        assert!(maps("? ? ?\n", 65534));
    }
}
