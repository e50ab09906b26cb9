//! Ordinary files that show the configuration, where a run with namespaces has /sys and /dev.
//!
//! They are rewritten when a request changes the configuration. Programs cannot change it through them: the
//! trap library refuses to open them for writing.

use crate::run::devices::RunDevices;
use crate::run::driver_files::{self, FileAttribute, TreeEntry};
use durable::directory::BaseDirectory;
use durable::whole_file::WriteOptions;
use idxd::Driver;
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// Directories of the tree, and their paths below the root.
const PLACES: [(&str, &str); 4] = [
    ("bus", "sys/bus/dsa"),
    ("devices", "sys/devices"),
    ("module", "sys/module/idxd"),
    ("dev", "dev/dsa"),
];

/// The content of a file.
#[derive(Clone, PartialEq, Eq)]
enum Content {
    Directory,
    Link(String),
    Text(String),
    /// The file of a queue, with the time of its last change.
    Queue(SystemTime),
}

type TreeContents = BTreeMap<PathBuf, Content>;

/// The files of a run.
pub struct PlainFiles {
    root: PathBuf,
    base: BaseDirectory,
    /// The files that were written, by path below the root.
    written: Mutex<TreeContents>,
}

impl PlainFiles {
    /// Creates the files below a directory that must not exist yet.
    pub fn create(root: PathBuf, devices: &RunDevices) -> io::Result<Self> {
        std::fs::create_dir(&root)?;
        let base = BaseDirectory::confined(&root).map_err(io::Error::other)?;
        let created = Self { root, base, written: Mutex::default() };
        created.write_changes(devices)?;
        Ok(created)
    }

    /// Updates the files to the present configuration. On a full disk they stay as they were; requests for
    /// the same attributes do not depend on them.
    pub fn update(&self, devices: &RunDevices) {
        let _ = self.write_changes(devices);
    }

    fn write_changes(&self, devices: &RunDevices) -> io::Result<()> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let now = contents(devices);
        for (path, _) in written.iter().rev().filter(|(path, _)| !now.contains_key(*path)) {
            let at = self.root.join(path);
            if at.is_dir() && !at.is_symlink() {
                std::fs::remove_dir(at)?;
            } else {
                std::fs::remove_file(at)?;
            }
        }
        written.retain(|path, _| now.contains_key(path));
        // A directory comes before its entries.
        for (path, content) in now {
            if written.get(&path) != Some(&content) {
                self.write(&path, &content, written.contains_key(&path))?;
                written.insert(path, content);
            }
        }
        Ok(())
    }

    fn write(&self, path: &Path, content: &Content, exists: bool) -> io::Result<()> {
        let at = self.root.join(path);
        match content {
            Content::Directory => std::fs::create_dir(at),
            Content::Link(to) => {
                if exists {
                    std::fs::remove_file(&at)?;
                }
                std::os::unix::fs::symlink(to, at)
            }
            Content::Text(text) if !exists => std::fs::write(at, text),
            Content::Queue(changed) => {
                let file = std::fs::File::create(at)?;
                file.set_permissions(Permissions::from_mode(dsa_run::QUEUE_FILE_MODE))?;
                file.set_modified(*changed)
            }
            // A reader sees the old text or the new one.
            Content::Text(text) => {
                let replaced = self.base.replace(path, text.as_bytes(), WriteOptions::TRANSIENT);
                replaced.map_err(io::Error::other)
            }
        }
    }
}

/// The contents of all files.
fn contents(devices: &RunDevices) -> TreeContents {
    let driver = devices.driver();
    let mut found = TreeContents::new();
    for (name, place) in PLACES {
        for parent in Path::new(place).ancestors().filter(|path| *path != Path::new("")) {
            found.insert(parent.to_owned(), Content::Directory);
        }
        add(&driver, devices, &[name], Path::new(place), &mut found);
    }
    found
}

fn add(
    driver: &Driver,
    devices: &RunDevices,
    path: &[&str],
    place: &Path,
    found: &mut TreeContents,
) {
    let content = match driver_files::entry_at(driver, path) {
        None => return,
        Some(TreeEntry::Directory(names)) => {
            for name in names {
                add(driver, devices, &[path, &[&name]].concat(), &place.join(&name), found);
            }
            Content::Directory
        }
        Some(TreeEntry::Link(to)) => Content::Link(to),
        // DPDK lists the names. The file itself is empty, as that of a queue is.
        Some(TreeEntry::Queue(device, queue)) => {
            Content::Queue(driver_files::queue_file_time(driver, device, queue))
        }
        // Devices are bound by a request.
        Some(TreeEntry::Attribute(FileAttribute::Bind(..))) => Content::Text(String::new()),
        // It is no text; programs that read it find the machine's devices in any case.
        Some(TreeEntry::Attribute(FileAttribute::PciConfig(_))) => return,
        Some(TreeEntry::Attribute(attribute)) => {
            // An attribute that cannot be read is an empty file.
            Content::Text(attribute.read(driver, devices.hardware()).unwrap_or_default())
        }
    };
    found.insert(place.to_owned(), content);
}
