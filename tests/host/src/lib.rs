//! Servers as data: a directory tree in place of `/proc`, `/sys` and `/dev`, and registers that behave.
//!
//! `machines/NAME/machine.toml` says what the kernel would show, compactly; it is expanded into a
//! directory. `machines/NAME/registers.toml` is copied beside it and says how registers answer, and
//! `slices.toml`, if there is one, which slice of the cache a line is in, and `measured.json` what
//! `skipline-host calibrate` takes for a measurement (`simulate_measurement.py` wrote it).
//! A table of `variants.toml` makes another machine of one of them: another part, board or firmware.
//! One of `failures.toml` lays a failure over any machine, one of `loads.toml` what runs on it.
//! `skipline-host --root DIR` then runs there: `cargo run -p fake-machines -- skylake DIR [FAILURE|LOAD]...`

mod config_space;
mod cpus;
mod description;
mod overlay;
mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use description::Machine;
use overlay::{Failure, Variant};

/// Error of expanding a machine.
#[derive(Debug, thiserror::Error)]
pub enum ExpandError {
    /// a file cannot be read or written
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    /// the directory has something in it, or is none
    #[error(
        "{0}: {1}; a machine is expanded into a directory that is empty or not there yet: \
         remove this one, or name another"
    )]
    Taken(PathBuf, &'static str),
    /// no machine or failure has the name
    #[error("{0} not found: {1}")]
    Unknown(&'static str, String),
    /// a description is malformed
    #[error("{0}: {1}")]
    Malformed(PathBuf, String),
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Names of the described machines, sorted.
///
/// # Errors
/// If their folder cannot be read.
pub fn machines() -> Result<Vec<String>, ExpandError> {
    let path = folder().join("machines");
    let fail = |error| ExpandError::File(path.clone(), error);
    let mut names = Vec::new();
    for entry in fs::read_dir(&path).map_err(fail)? {
        names.push(entry.map_err(fail)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Names of the variants, sorted: machines of [`machines`] with another CPU, board or firmware.
///
/// # Errors
/// If their file cannot be read.
pub fn variants() -> Result<Vec<String>, ExpandError> {
    Ok(tables::<Variant>("variants.toml")?.into_keys().collect())
}

/// Names of the failures that can be laid over a machine, sorted.
///
/// # Errors
/// If their file cannot be read.
pub fn failures() -> Result<Vec<String>, ExpandError> {
    Ok(tables::<Failure>("failures.toml")?.into_keys().collect())
}

/// Names of the loads that can run on a machine, sorted.
///
/// # Errors
/// If their file cannot be read.
pub fn loads() -> Result<Vec<String>, ExpandError> {
    Ok(tables::<Failure>("loads.toml")?.into_keys().collect())
}

/// The tables of a file, by name.
fn tables<T: serde::de::DeserializeOwned>(file: &str) -> Result<BTreeMap<String, T>, ExpandError> {
    read(&folder().join(file))
}

/// Expands a machine or variant, with failures and loads over it, into an empty directory.
///
/// # Errors
/// If a machine or failure with the name does not exist, the directory has something in it, or cannot be
/// written.
pub fn expand(machine: &str, failures: &[&str], into: &Path) -> Result<(), ExpandError> {
    let variant = tables::<Variant>("variants.toml")?.remove(machine);
    let base = variant.as_ref().map_or(machine, |variant| &variant.base);
    let source = folder().join("machines").join(base);
    let mut known = tables::<Failure>("failures.toml")?;
    known.append(&mut tables::<Failure>("loads.toml")?);
    if !source.is_dir() {
        return Err(ExpandError::Unknown("machine", machine.to_owned()));
    }
    if let Some(unknown) = failures.iter().find(|name| !known.contains_key(**name)) {
        return Err(ExpandError::Unknown("failure", unknown.to_string()));
    }
    require_room(into)?;
    let mut described: toml::Table = read(&source.join("machine.toml"))?;
    let mut registers: toml::Table = read(&source.join("registers.toml"))?;
    let tree = tree::Tree::new(into);
    for name in ["slices.toml", "measured.json"] {
        let path = source.join(name);
        // The measurement does not fit another CPU, board or firmware.
        if path.exists() && (variant.is_none() || name == "slices.toml") {
            let text = fs::read_to_string(&path).map_err(|e| ExpandError::File(path.clone(), e))?;
            tree.file(name, &text)?;
        }
    }
    if let Some(variant) = &variant {
        variant.change(&mut described);
    }
    let malformed = |error: toml::de::Error| ExpandError::Malformed(source, error.to_string());
    Machine::deserialize(described).map_err(malformed)?.write(&tree)?;
    if let Some(variant) = &variant {
        variant.overlay.apply(&tree, &mut registers)?;
    }
    for name in failures {
        known[*name].apply(&tree, &mut registers)?;
    }
    tree.file("registers.toml", &registers.to_string())
}

/// Expands a machine from the texts of `machine.toml` and `registers.toml`.
///
/// # Errors
/// If the description is malformed, or the directory cannot be written.
pub fn expand_described(machine: &str, registers: &str, into: &Path) -> Result<(), ExpandError> {
    let described: Machine = toml::from_str(machine)
        .map_err(|e| ExpandError::Malformed("machine.toml".into(), e.to_string()))?;
    let tree = tree::Tree::new(into);
    described.write(&tree)?;
    tree.file("registers.toml", registers)
}

/// A path that is not there yet, or an empty directory.
fn require_room(into: &Path) -> Result<(), ExpandError> {
    let taken = |why| Err(ExpandError::Taken(into.to_path_buf(), why));
    match fs::read_dir(into).map(|mut entries| entries.next().is_some()) {
        Ok(true) => taken("it is not empty"),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            taken("it is not a directory")
        }
        // Other errors come with the first file that is written.
        _ => Ok(()),
    }
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ExpandError> {
    let text = fs::read_to_string(path).map_err(|e| ExpandError::File(path.to_path_buf(), e))?;
    toml::from_str(&text).map_err(|e| ExpandError::Malformed(path.to_path_buf(), e.to_string()))
}
