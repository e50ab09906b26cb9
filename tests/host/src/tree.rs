//! Writing files, directories and links below one directory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::ExpandError;

/// The directory of a machine.
pub(crate) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    fn place(&self, path: &str) -> Result<PathBuf, ExpandError> {
        let place = self.root.join(path);
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).map_err(|e| ExpandError::File(parent.to_path_buf(), e))?;
        }
        Ok(place)
    }

    pub(crate) fn bytes(&self, path: &str, bytes: &[u8]) -> Result<(), ExpandError> {
        let place = self.place(path)?;
        fs::write(&place, bytes).map_err(|error| ExpandError::File(place, error))
    }

    pub(crate) fn file(&self, path: &str, text: &str) -> Result<(), ExpandError> {
        self.bytes(path, text.as_bytes())
    }

    /// A file of one line, as sysfs has them.
    #[expect(clippy::needless_pass_by_value, reason = "numbers and texts alike")]
    pub(crate) fn line(&self, path: &str, value: impl ToString) -> Result<(), ExpandError> {
        self.file(path, &format!("{}\n", value.to_string()))
    }

    pub(crate) fn link(&self, path: &str, target: &str) -> Result<(), ExpandError> {
        let place = self.place(path)?;
        symlink(target, &place).map_err(|error| ExpandError::File(place, error))
    }

    pub(crate) fn remove(&self, path: &str) -> Result<(), ExpandError> {
        let place = self.root.join(path);
        let removed =
            if place.is_dir() { fs::remove_dir_all(&place) } else { fs::remove_file(&place) };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(ExpandError::File(place, error))
            }
            _ => Ok(()),
        }
    }
}
