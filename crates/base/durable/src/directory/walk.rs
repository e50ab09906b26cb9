//! The walk along a path, one name after the other.

use super::{BaseDirectory, DirectoryEntry};
use crate::error::{DurableError, DurableReason, ForeignEntry};
use crate::ownership::{foreign_renamer, foreign_writer, is_own, kind};
use rustix::fs::{CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// Most links that are followed; more are taken for a circle, as by the kernel.
pub(crate) const MOST_LINKS: u32 = 40;

/// Rules of a walk, beside that for links.
#[derive(Clone, Copy)]
pub(super) struct WalkPolicy {
    /// Whether the last name is followed if it is a link.
    is_last_followed: bool,
    /// Whether directories in which other users could rename entries are refused.
    is_own: bool,
    /// Whether missing directories are created.
    is_creating: bool,
}

impl WalkPolicy {
    pub(super) const FOLLOWED: Self =
        Self { is_last_followed: true, is_own: false, is_creating: false };
    pub(super) const NAMED: Self = Self { is_last_followed: false, ..Self::FOLLOWED };
    pub(super) const OWN: Self = Self { is_own: true, ..Self::NAMED };
    pub(super) const CREATED: Self = Self { is_creating: true, ..Self::FOLLOWED };
}

/// A directory on the way, held open.
struct PassedDirectory {
    descriptor: OwnedFd,
    path: PathBuf,
    found: Stat,
}

pub(super) struct PathWalk<'a> {
    base: &'a BaseDirectory,
    policy: WalkPolicy,
    directory: PassedDirectory,
    /// The directories from the start to the one above the present one.
    parents: Vec<PassedDirectory>,
    /// The names that are left, the next one last.
    names: Vec<OsString>,
    /// Names of the path itself that were left at the first link; those after them are of links.
    stated_names: usize,
    /// The path that is walked, for messages.
    shown: PathBuf,
    links: u32,
}

const PATH_ONLY: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

impl<'a> PathWalk<'a> {
    pub(super) fn new(
        base: &'a BaseDirectory,
        path: &Path,
        policy: WalkPolicy,
    ) -> Result<Self, DurableError> {
        let (names, shown) = (names(path), base.display_path(path));
        let directory = match base.is_confined || path.is_absolute() {
            true => PassedDirectory::start(base, policy),
            false => PassedDirectory::current(policy),
        };
        let directory = directory.map_err(|error| error.of_path(&shown))?;
        let (parents, stated_names) = (Vec::new(), names.len());
        Ok(Self { base, policy, directory, parents, names, stated_names, shown, links: 0 })
    }

    /// Walks to the last name.
    pub(super) fn find(mut self) -> Result<DirectoryEntry, DurableError> {
        while let Some(name) = self.names.pop() {
            if let Some(entry) = self.pass(&name)? {
                return Ok(entry);
            }
        }
        // The path ends with a directory: it is `/`, or its last name `..`.
        Err(self.fail(Errno::ISDIR))
    }

    /// Walks to the end, which is a directory; creates those that are missing.
    pub(super) fn create(mut self) -> Result<(), DurableError> {
        while let Some(name) = self.names.pop() {
            self.pass(&name)?;
        }
        Ok(())
    }

    /// Goes on to the next name. Returns the entry if the name is the last one, unless it is a link that
    /// is followed.
    fn pass(&mut self, name: &OsStr) -> Result<Option<DirectoryEntry>, DurableError> {
        if name == ".." {
            return self.go_up().map(|()| None);
        }
        let is_last = self.names.is_empty() && !self.policy.is_creating;
        let opened = match self.open(name) {
            Err(Errno::NOENT) if is_last => return self.entry(name, None).map(Some),
            // To what a link leads has to exist.
            Err(Errno::NOENT)
                if self.policy.is_creating && self.names.len() < self.stated_names =>
            {
                self.make(name)
            }
            opened => opened,
        };
        let opened = opened.map_err(|errno| self.fail(errno))?;
        let found = rustix::fs::fstat(&opened).map_err(|errno| self.fail(errno))?;
        let is_link = kind(&found) == FileType::Symlink;
        if is_link && (!is_last || self.policy.is_last_followed) {
            return self.follow(name, &opened, found);
        }
        if is_last {
            return self.entry(name, Some(found)).map(Some);
        }
        if kind(&found) != FileType::Directory {
            return Err(self.fail(Errno::NOTDIR));
        }
        self.enter(name, Ok(opened)).map(|()| None)
    }

    /// Follows a link, if the rule allows it.
    fn follow(
        &mut self,
        name: &OsStr,
        link: &OwnedFd,
        found: Stat,
    ) -> Result<Option<DirectoryEntry>, DurableError> {
        let path = self.directory.path.join(name);
        let target = rustix::fs::readlinkat(link, "", Vec::new());
        let target = target.map_err(|errno| self.fail(errno))?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        // Another user can give a link of root a second name, if the kernel allows that.
        let is_chosen_by_others = !is_own(&found) || found.st_nlink > 1;
        if is_chosen_by_others && foreign_writer(&self.directory.found).is_some() {
            let entry = ForeignEntry { path, owner: found.st_uid, target: Some(target) };
            return Err(DurableError::new(&self.shown, DurableReason::Foreign(entry)));
        }
        self.links += 1;
        if self.links > MOST_LINKS {
            return match self.policy.is_own {
                true => Err(WalkStepError::Distrusted(path, "is a link in a circle".to_owned())),
                false => Err(WalkStepError::System(Errno::LOOP)),
            }
            .map_err(|error| error.of_path(&self.shown));
        }
        // Links like /proc/self/fd/1 lead to open files, which their text does not name.
        if !self.base.is_confined && is_process_file_system(&self.directory.descriptor) {
            if self.names.is_empty() {
                return self.entry(name, Some(found)).map(Some);
            }
            let flags = PATH_ONLY | OFlags::DIRECTORY;
            let opened = rustix::fs::openat(&self.directory.descriptor, name, flags, Mode::empty());
            return self.enter(name, opened).map(|()| None);
        }
        self.stated_names = self.stated_names.min(self.names.len());
        self.names.extend(names(&target));
        if target.is_absolute() {
            let start = PassedDirectory::start(self.base, self.policy);
            self.directory = start.map_err(|error| error.of_path(&self.shown))?;
            self.parents.clear();
        }
        Ok(None)
    }

    fn entry(&self, name: &OsStr, found: Option<Stat>) -> Result<DirectoryEntry, DurableError> {
        let directory = self.directory.descriptor.try_clone();
        // Others have been followed.
        let is_link = found.is_some_and(|found| kind(&found) == FileType::Symlink);
        Ok(DirectoryEntry {
            directory: directory.map_err(|error| DurableError::system(&self.shown, error))?,
            name: name.to_owned(),
            path: self.directory.path.join(name),
            found,
            is_shared: foreign_writer(&self.directory.found).is_some(),
            is_process_link: is_link && self.policy.is_last_followed,
        })
    }

    /// Opens a name by its path alone, and no link's target.
    fn open(&self, name: &OsStr) -> Result<OwnedFd, Errno> {
        let flags = PATH_ONLY | OFlags::NOFOLLOW;
        rustix::fs::openat(&self.directory.descriptor, name, flags, Mode::empty())
    }

    fn make(&self, name: &OsStr) -> Result<OwnedFd, Errno> {
        match rustix::fs::mkdirat(&self.directory.descriptor, name, Mode::from(0o755)) {
            Ok(()) | Err(Errno::EXIST) => self.open(name),
            Err(errno) => Err(errno),
        }
    }

    fn enter(&mut self, name: &OsStr, opened: Result<OwnedFd, Errno>) -> Result<(), DurableError> {
        let entered =
            PassedDirectory::new(opened, self.directory.path.join(name), self.policy.is_own);
        let entered = entered.map_err(|error| error.of_path(&self.shown))?;
        self.parents.push(std::mem::replace(&mut self.directory, entered));
        Ok(())
    }

    fn go_up(&mut self) -> Result<(), DurableError> {
        if let Some(parent) = self.parents.pop() {
            self.directory = parent;
        } else if !self.base.is_confined {
            let opened =
                rustix::fs::openat(&self.directory.descriptor, "..", PATH_ONLY, Mode::empty());
            let path = self.directory.path.join("..");
            let entered = PassedDirectory::new(opened, path, self.policy.is_own);
            self.directory = entered.map_err(|error| error.of_path(&self.shown))?;
        }
        Ok(())
    }

    fn fail(&self, errno: Errno) -> DurableError {
        DurableError::system(&self.shown, errno)
    }
}

/// Error of a step, before it is one of the whole path.
enum WalkStepError {
    System(Errno),
    /// A directory or link on the way, and the reason.
    Distrusted(PathBuf, String),
}

impl WalkStepError {
    fn of_path(self, shown: &Path) -> DurableError {
        match self {
            Self::System(errno) => DurableError::system(shown, errno),
            Self::Distrusted(path, words) => {
                DurableError::new(&path, DurableReason::Distrusted(words))
            }
        }
    }
}

impl PassedDirectory {
    /// The base directory. One that paths do not leave is not itself checked.
    fn start(base: &BaseDirectory, policy: WalkPolicy) -> Result<Self, WalkStepError> {
        let opened = rustix::fs::openat(&base.descriptor, ".", PATH_ONLY, Mode::empty());
        Self::new(opened, base.path.clone(), policy.is_own && !base.is_confined)
    }

    fn current(policy: WalkPolicy) -> Result<Self, WalkStepError> {
        let opened = rustix::fs::openat(CWD, ".", PATH_ONLY, Mode::empty());
        Self::new(opened, PathBuf::new(), policy.is_own)
    }

    fn new(
        opened: Result<OwnedFd, Errno>,
        path: PathBuf,
        is_checked: bool,
    ) -> Result<Self, WalkStepError> {
        let descriptor = opened.map_err(WalkStepError::System)?;
        let found = rustix::fs::fstat(&descriptor).map_err(WalkStepError::System)?;
        match foreign_renamer(&found) {
            Some(words) if is_checked => Err(WalkStepError::Distrusted(path, words)),
            _ => Ok(Self { descriptor, path, found }),
        }
    }
}

fn is_process_file_system(directory: impl AsFd) -> bool {
    rustix::fs::fstatfs(directory).is_ok_and(|found| found.f_type == PROC_SUPER_MAGIC)
}

/// The names of a path, the first one last.
fn names(path: &Path) -> Vec<OsString> {
    let names = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    names.rev().map(|part| part.as_os_str().to_owned()).collect()
}
