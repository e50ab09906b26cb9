//! Writes registers and control files in one call, and this tool's files so that a crash loses nothing.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{AtFlags, Mode, OFlags};

use super::{Root, relative_path};
use crate::error::{FileError, Problem};

impl Root {
    /// Writes bytes at an offset of an existing file in one call: a register accepts no partial write.
    ///
    /// # Errors
    /// If the system refuses, or accepts only some of the bytes.
    pub fn write_at(&self, path: &str, offset: u64, bytes: &[u8]) -> Result<(), FileError> {
        let file = self.regular(path, OFlags::WRONLY)?;
        let written = file.write_at(bytes, offset).map_err(|error| self.io_error(path, &error))?;
        if written != bytes.len() {
            let problem = Problem::ShortWrite { got: written, wanted: bytes.len() };
            return Err(self.error(path, problem));
        }
        Ok(())
    }

    /// Writes to a control file of the kernel, in one call.
    ///
    /// # Errors
    /// If the system refuses, or accepts only part of the text.
    pub fn write_control(&self, path: &str, text: &str) -> Result<(), FileError> {
        let mut file = self.regular(path, OFlags::WRONLY)?;
        let written = file.write(text.as_bytes()).map_err(|error| self.io_error(path, &error))?;
        if written != text.len() {
            let problem = Problem::ShortWrite { got: written, wanted: text.len() };
            return Err(self.error(path, problem));
        }
        Ok(())
    }

    /// Replaces a file as a whole: after a crash the disk has either the old or the new one.
    ///
    /// # Errors
    /// If the new file cannot be written, renamed or synced.
    pub fn replace(&self, path: &str, text: &str) -> Result<(), FileError> {
        let (directory_path, name) = path.rsplit_once('/').unwrap_or(("", path));
        let temporary = format!("{name}.new");
        let fail = |errno| self.error(path, Problem::from_errno(errno));
        let directory = self.directory(directory_path)?;
        match rustix::fs::unlinkat(&directory, &temporary, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(errno) => return Err(fail(errno)),
        }
        // EXCL: if the temporary name is a link, it is not followed.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file =
            rustix::fs::openat(&directory, &temporary, flags, Mode::from(0o644)).map_err(fail)?;
        let mut file = File::from(file);
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|error| {
            // A partial file is of no use. The first error is reported, not that of the removal.
            let _ = rustix::fs::unlinkat(&directory, &temporary, AtFlags::empty());
            self.io_error(path, &error)
        })?;
        rustix::fs::renameat(&directory, &temporary, &directory, name).map_err(fail)?;
        rustix::fs::fsync(&directory).map_err(fail)
    }

    /// Removes a file and syncs its directory. A file that does not exist is not an error.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn remove(&self, path: &str) -> Result<(), FileError> {
        let (directory_path, name) = path.rsplit_once('/').unwrap_or(("", path));
        let directory = self.directory(directory_path)?;
        match rustix::fs::unlinkat(&directory, name, AtFlags::empty()) {
            Ok(()) => rustix::fs::fsync(&directory),
            Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        }
        .map_err(|errno| self.error(path, Problem::from_errno(errno)))
    }

    /// Creates a directory and its parents; those that exist are kept.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn make_directories(&self, path: &str) -> Result<(), FileError> {
        let mut made = String::new();
        for part in relative_path(path).split('/').filter(|part| !part.is_empty()) {
            let above = self.directory(&made)?;
            match rustix::fs::mkdirat(&above, part, Mode::from(0o755)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(errno) => return Err(self.error(path, Problem::from_errno(errno))),
            }
            if !made.is_empty() {
                made.push('/');
            }
            made.push_str(part);
        }
        Ok(())
    }

    /// Opens a file for locking, and creates it if it does not exist. Only its owner can open it: any
    /// other user who could take the lock could keep it for ever.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn lock_file(&self, path: &str) -> Result<OwnedFd, FileError> {
        let file = self.handle(path, OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW)?;
        // Other users can open a file that an earlier version or another program created.
        rustix::fs::fchmod(&file, Mode::from(0o600))
            .map_err(|errno| self.error(path, Problem::from_errno(errno)))?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_lock_is_its_owner_s_alone_from_the_moment_it_is_made() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = Root::from_tree(directory.path()).expect("a root");
        let mode = |name: &str| {
            let found = std::fs::metadata(directory.path().join(name)).expect("a file");
            found.permissions().mode() & 0o777
        };
        // As the lock is opened, without what is done to old files afterwards.
        root.handle("new", OFlags::RDWR | OFlags::CREATE).expect("a file");
        assert_eq!(mode("new"), 0o600);
        let old = directory.path().join("old");
        std::fs::write(&old, "").expect("a file");
        std::fs::set_permissions(&old, PermissionsExt::from_mode(0o644)).expect("its mode");
        root.lock_file("old").expect("a lock");
        assert_eq!(mode("old"), 0o600);
    }
}
