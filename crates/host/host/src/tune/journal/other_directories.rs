//! A list of journals in other directories than the default one, which a restore reads first.
//!
//! `--state-dir` is easily forgotten, and a journal that is not found restores nothing. So a list of
//! such directories is in the default state directory, or, where that cannot be written (a read-only
//! /var), beside the lock. Changes last until reboot, and so does /run.

use crate::root::Root;

use super::{DEFAULT_STATE, JOURNAL, StateError, check_own};

/// Paths of the list, which has one directory a line; the first that can be written is used.
const LISTS: [&str; 2] = ["var/lib/skipline-host/elsewhere", "run/skipline-host.elsewhere"];

/// Directories other than the default one that contain a journal.
///
/// # Errors
/// If a list cannot be read, or another user could have written it.
pub fn other_journal_directories(root: &Root) -> Result<Vec<String>, StateError> {
    let mut found: Vec<String> = Vec::new();
    for list in LISTS {
        let listed = read(root, list)?;
        found.extend(listed.into_iter().filter(|path| has_journal(root, path)));
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Adds a directory to the list, before its journal exists.
pub(super) fn add_directory(root: &Root, directory: &str) -> Result<(), StateError> {
    if directory == DEFAULT_STATE {
        return Ok(());
    }
    for list in LISTS {
        if read(root, list)?.iter().any(|known| known == directory) {
            return Ok(());
        }
    }
    let add = |list: &str| -> Result<(), StateError> {
        let above = list.rsplit_once('/').map_or("", |(above, _)| above);
        root.make_directories(above)?;
        check_own(root, above)?;
        // Lists do not grow: directories whose journal is gone leave them.
        let mut listed = read(root, list)?;
        listed.retain(|path| has_journal(root, path));
        listed.push(directory.to_owned());
        Ok(root.replace(list, &(listed.join("\n") + "\n"))?)
    };
    add(LISTS[0]).or_else(|_| add(LISTS[1]))
}

fn has_journal(root: &Root, directory: &str) -> bool {
    root.exists(&format!("{directory}/{JOURNAL}"))
}

fn read(root: &Root, list: &str) -> Result<Vec<String>, StateError> {
    if !root.exists(list) {
        return Ok(Vec::new());
    }
    check_own(root, list)?;
    Ok(root.read_text(list)?.lines().map(str::to_owned).collect())
}
