//! Servers as data: a directory tree in place of `/proc`, `/sys` and `/dev`, and registers that behave.
//!
//! `machines/NAME/machine.toml` says what the kernel would show, compactly; it is expanded into a
//! directory. `machines/NAME/registers.toml` is copied beside it and says how registers answer, and
//! `slices.toml`, if there is one, which slice of the cache a line is in, and `measured.json` what
//! `skipline-host calibrate` takes for a measurement (`simulate_measurement.py` wrote it).
//! `variants/NAME.toml` makes another machine of one of them: another part, board or firmware.
//! `failures/NAME.toml` lays a failure over any machine. `skipline-host --root DIR` then runs there:
//! `cargo run -p fake-machines -- skylake DIR [FAILURE]...`

mod config_space;
mod cpus;
mod description;
mod overlay;
mod tree;

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
    names(&folder().join("machines"))
}

/// Names of the variants, sorted: machines of [`machines`] with another CPU, board or firmware.
///
/// # Errors
/// If their folder cannot be read.
pub fn variants() -> Result<Vec<String>, ExpandError> {
    names(&folder().join("variants"))
}

/// Names of the failures that can be laid over a machine, sorted.
///
/// # Errors
/// If their folder cannot be read.
pub fn failures() -> Result<Vec<String>, ExpandError> {
    names(&folder().join("failures"))
}

fn names(path: &Path) -> Result<Vec<String>, ExpandError> {
    let fail = |error| ExpandError::File(path.to_path_buf(), error);
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// Expands a machine or variant, with failures over it, into an empty directory.
///
/// # Errors
/// If a machine or failure with the name does not exist, or the directory cannot be written.
pub fn expand(machine: &str, failures: &[&str], into: &Path) -> Result<(), ExpandError> {
    let variant = folder().join("variants").join(format!("{machine}.toml"));
    let variant: Option<Variant> = variant.exists().then(|| read(&variant)).transpose()?;
    let base = variant.as_ref().map_or(machine, |variant| &variant.base);
    let source = folder().join("machines").join(base);
    let overlays =
        failures.iter().map(|name| folder().join("failures").join(format!("{name}.toml")));
    let overlays: Vec<PathBuf> = overlays.collect();
    if !source.is_dir() {
        return Err(ExpandError::Unknown("machine", machine.to_owned()));
    }
    if let Some(index) = overlays.iter().position(|path| !path.exists()) {
        return Err(ExpandError::Unknown("failure", failures[index].to_owned()));
    }
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
    for path in &overlays {
        let failure: Failure = read(path)?;
        failure.apply(&tree, &mut registers)?;
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

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ExpandError> {
    let text = fs::read_to_string(path).map_err(|e| ExpandError::File(path.to_path_buf(), e))?;
    toml::from_str(&text).map_err(|e| ExpandError::Malformed(path.to_path_buf(), e.to_string()))
}
