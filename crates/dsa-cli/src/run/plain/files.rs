//! Ordinary files that show the configuration, where a run with namespaces has /sys and /dev.
//!
//! They are written again when the configuration changes by a request. What is written to them changes
//! nothing: the library in each program refuses to open them for writing.

use crate::run::devices::Devices;
use crate::run::tree::{self, Attribute, Entry};
use idxd::Driver;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Directories of the tree, and where they are.
const PLACES: [(&str, &str); 4] = [
    ("bus", "sys/bus/dsa"),
    ("devices", "sys/devices"),
    ("module", "sys/module/idxd"),
    ("dev", "dev/dsa"),
];

/// What a file has in it.
#[derive(Clone, PartialEq, Eq)]
enum Content {
    Directory,
    Link(String),
    Text(String),
}

type Contents = BTreeMap<PathBuf, Content>;

/// The files of a run.
pub struct PlainFiles {
    root: PathBuf,
    /// What is there, by path below the root.
    there: Mutex<Contents>,
}

impl PlainFiles {
    /// Creates them below a directory that is not there yet.
    pub fn create(root: PathBuf, devices: &Devices) -> io::Result<Self> {
        std::fs::create_dir(&root)?;
        let created = Self { root, there: Mutex::default() };
        created.write_changes(devices)?;
        Ok(created)
    }

    /// Has them show what is configured now. A disk that is full leaves them as they were, which requests
    /// for the same attributes do not depend on.
    pub fn update(&self, devices: &Devices) {
        let _ = self.write_changes(devices);
    }

    fn write_changes(&self, devices: &Devices) -> io::Result<()> {
        let mut there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        let now = contents(devices);
        for (path, _) in there.iter().rev().filter(|(path, _)| !now.contains_key(*path)) {
            let at = self.root.join(path);
            if at.is_dir() && !at.is_symlink() {
                std::fs::remove_dir(at)?;
            } else {
                std::fs::remove_file(at)?;
            }
        }
        there.retain(|path, _| now.contains_key(path));
        // A directory comes before what is in it.
        for (path, content) in now {
            if there.get(&path) != Some(&content) {
                write(&self.root.join(&path), &content, there.contains_key(&path))?;
                there.insert(path, content);
            }
        }
        Ok(())
    }
}

fn write(at: &Path, content: &Content, is_there: bool) -> io::Result<()> {
    match content {
        Content::Directory => std::fs::create_dir(at),
        Content::Link(to) => {
            if is_there {
                std::fs::remove_file(at)?;
            }
            std::os::unix::fs::symlink(to, at)
        }
        Content::Text(text) if !is_there => std::fs::write(at, text),
        Content::Text(text) => {
            // A reader sees the old text or the new one.
            let mut draft = at.as_os_str().to_owned();
            draft.push(".new");
            std::fs::write(&draft, text)?;
            std::fs::rename(draft, at)
        }
    }
}

/// All that the tree has.
fn contents(devices: &Devices) -> Contents {
    let driver = devices.driver();
    let mut found = Contents::new();
    for (name, place) in PLACES {
        for parent in Path::new(place).ancestors().filter(|path| *path != Path::new("")) {
            found.insert(parent.to_owned(), Content::Directory);
        }
        add(&driver, devices, &[name], Path::new(place), &mut found);
    }
    found
}

fn add(driver: &Driver, devices: &Devices, path: &[&str], place: &Path, found: &mut Contents) {
    let content = match tree::at(driver, path) {
        None => return,
        Some(Entry::Directory(names)) => {
            for name in names {
                add(driver, devices, &[path, &[&name]].concat(), &place.join(&name), found);
            }
            Content::Directory
        }
        Some(Entry::Link(to)) => Content::Link(to),
        // DPDK lists the names; who opens the file itself finds it as empty as that of a queue.
        Some(Entry::Queue(..)) => Content::Text(String::new()),
        // Binding is what a request does.
        Some(Entry::Attribute(Attribute::Bind(..))) => Content::Text(String::new()),
        Some(Entry::Attribute(attribute)) => {
            // What cannot be read has no text here.
            Content::Text(attribute.read(driver, devices.hardware()).unwrap_or_default())
        }
    };
    found.insert(place.to_owned(), content);
}
