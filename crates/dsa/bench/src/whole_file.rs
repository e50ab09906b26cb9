//! Files that are written as a whole, or stay as they were before.

use crate::failure::Failure;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Checks that a file which an option names can be written; to be called before a long measurement.
pub fn check(option: &str, path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::refused_value(
            option,
            path.display(),
            "it is a directory; a file is needed",
        ));
    }
    create_draft(option, path).map(drop)
}

/// Replaces a file by a text, or leaves it as it was.
pub fn write(option: &str, path: &Path, text: &str) -> Result<(), Failure> {
    let mut file = create_draft(option, path)?;
    file.write_all(text.as_bytes()).map_err(|error| failed(option, path, &error))?;
    file.persist(path).map_err(|error| failed(option, path, &error.error))?;
    Ok(())
}

/// Creates a file with a unique name in the same directory; dropped, it is removed.
fn create_draft(option: &str, path: &Path) -> Result<tempfile::NamedTempFile, Failure> {
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // As any other new file: what the umask allows.
    let mode = std::fs::Permissions::from_mode(0o666);
    let file = tempfile::Builder::new().permissions(mode).tempfile_in(directory);
    file.map_err(|error| failed(option, path, &error))
}

fn failed(option: &str, path: &Path, error: &std::io::Error) -> Failure {
    let reason = error.to_string();
    // The name of the other file says nothing.
    let reason = reason.split(" at path ").next().unwrap_or_default();
    Failure::BadInput(format!("{option} {}: cannot be written: {reason}", path.display()))
}
