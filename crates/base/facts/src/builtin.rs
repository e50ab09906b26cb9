//! Files of facts that are embedded in the program, so that it works without its repository.

use include_dir::{Dir, include_dir};
use std::sync::LazyLock;

static PLATFORMS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../../platforms");
static DEVICES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../../devices");
static SOFTWARE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../../software");

const FOLDERS: [(&str, &Dir<'_>); 3] =
    [("platforms", &PLATFORMS), ("devices", &DEVICES), ("software", &SOFTWARE)];

/// The text of a file under platforms/, devices/ or software/, if it is embedded.
#[must_use]
pub fn file(path: &str) -> Option<&'static str> {
    let (folder, rest) = path.split_once('/')?;
    let (_, folder) = FOLDERS.into_iter().find(|(name, _)| *name == folder)?;
    folder.get_file(rest)?.contents_utf8()
}

static PATHS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut paths = Vec::new();
    for (name, folder) in FOLDERS {
        collect(name, folder, &mut paths);
    }
    paths.sort();
    paths
});

/// Paths of the embedded files, sorted.
#[must_use]
pub fn files() -> Vec<String> {
    PATHS.clone()
}

fn collect(name: &str, folder: &Dir<'_>, paths: &mut Vec<String>) {
    paths.extend(folder.files().map(|file| format!("{name}/{}", file.path().display())));
    for inner in folder.dirs() {
        collect(name, inner, paths);
    }
}

/// Names of the files directly in a folder, without their extension, sorted; component files in
/// subfolders are left out.
#[must_use]
pub fn names_in(folder: &str) -> Vec<String> {
    let names = PATHS
        .iter()
        .filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".toml"))
        .filter(|name| !name.contains('/'));
    // A name sorts before a longer one that begins with it, which its file need not.
    let mut names: Vec<String> = names.map(String::from).collect();
    names.sort();
    names
}

/// Path and text of an embedded file; a file finder for [`crate::resolve`].
///
/// # Errors
/// If there is no such file.
pub fn find(_named_in: &str, path: &str) -> Result<(String, String), String> {
    file(path).map(|text| (path.into(), text.into())).ok_or_else(|| "no such file".into())
}
