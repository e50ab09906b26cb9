//! A directory that users share, beside one with a file of root's.

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

/// A user who owns nothing else here.
pub const OTHER_USER: u32 = 4321;

pub struct SharedDirectory {
    place: tempfile::TempDir,
}

impl SharedDirectory {
    /// Creates `shared` (sticky, as /tmp is) and `own/precious`; `None` without the right to give files
    /// to other users.
    pub fn new() -> Option<Self> {
        let place = tempfile::tempdir().expect("a directory");
        fs::set_permissions(place.path(), PermissionsExt::from_mode(0o755)).expect("its mode");
        let created = Self { place };
        for (name, mode) in [("shared", 0o1777), ("open", 0o777), ("own", 0o755)] {
            fs::create_dir(created.path(name)).expect("a directory");
            created.set_mode(name, mode);
        }
        fs::write(created.path("own/precious"), "precious").expect("a file");
        let may_give = lchown(created.path("own/precious"), Some(0), None).is_ok();
        if !may_give {
            eprintln!("skipped: without the right to give files to other users");
        }
        may_give.then_some(created)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), PermissionsExt::from_mode(mode)).expect("its mode");
    }

    /// Creates a link that belongs to `user`.
    pub fn link(&self, name: &str, target: &str, user: u32) {
        symlink(target, self.path(name)).expect("a link");
        self.give(name, user);
    }

    pub fn give(&self, name: &str, user: u32) {
        lchown(self.path(name), Some(user), None).expect("root may");
    }

    pub fn precious(&self) -> String {
        read(&self.path("own/precious"))
    }

    /// Names in a directory, sorted.
    pub fn names(&self, name: &str) -> Vec<String> {
        names(&self.path(name))
    }
}

pub fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a file")
}

pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    names
}
