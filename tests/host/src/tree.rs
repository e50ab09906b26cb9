//! Writing files, directories and links below one directory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::ExpandError;

/// The directory into which a machine is expanded.
pub(crate) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    fn file_path(&self, path: &str) -> Result<PathBuf, ExpandError> {
        let path_in_tree = self.root.join(path);
        if let Some(parent) = path_in_tree.parent() {
            fs::create_dir_all(parent).map_err(|e| ExpandError::File(parent.to_path_buf(), e))?;
        }
        Ok(path_in_tree)
    }

    /// Whether the path exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    pub(crate) fn bytes(&self, path: &str, bytes: &[u8]) -> Result<(), ExpandError> {
        let path_in_tree = self.file_path(path)?;
        fs::write(&path_in_tree, bytes).map_err(|error| ExpandError::File(path_in_tree, error))
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
        let path_in_tree = self.file_path(path)?;
        symlink(target, &path_in_tree).map_err(|error| ExpandError::File(path_in_tree, error))
    }

    pub(crate) fn remove(&self, path: &str) -> Result<(), ExpandError> {
        let path_in_tree = self.root.join(path);
        let removed = if path_in_tree.is_dir() {
            fs::remove_dir_all(&path_in_tree)
        } else {
            fs::remove_file(&path_in_tree)
        };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(ExpandError::File(path_in_tree, error))
            }
            _ => Ok(()),
        }
    }
}
