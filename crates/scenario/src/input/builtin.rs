//! Platforms, devices and experiments that are part of the program: it works without its repository.

use crate::input::error::{InputError, suggest};
use crate::platform::{NicDevice, Platform, ReplacedFacts, SsdDevice};
use include_dir::{Dir, include_dir};
use std::path::Path;

static PLATFORMS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../platforms");
static DEVICES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../devices");
static EXPERIMENTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../experiments");

/// Where platforms, NICs and SSDs are that a scenario calls by name.
pub(crate) const PLATFORM_FOLDER: &str = "platforms";
pub(crate) const NIC_FOLDER: &str = "devices/nic";
pub(crate) const SSD_FOLDER: &str = "devices/ssd";

/// Stands for a scenario's file where a command or a call names a platform.
pub const BY_COMMAND: &str = PLATFORM_FOLDER;

/// The text of a file under platforms/, devices/ or experiments/, if it is part of the program.
#[must_use]
pub fn file(path: &str) -> Option<&'static str> {
    let (folder, rest) = path.split_once('/')?;
    let folder = match folder {
        "platforms" => &PLATFORMS,
        "devices" => &DEVICES,
        "experiments" => &EXPERIMENTS,
        _ => return None,
    };
    folder.get_file(rest)?.contents_utf8()
}

/// Paths of all files that are part of the program, sorted.
#[must_use]
pub fn files() -> Vec<String> {
    let mut paths = Vec::new();
    let folders = [("platforms", &PLATFORMS), ("devices", &DEVICES), ("experiments", &EXPERIMENTS)];
    for (name, folder) in folders {
        collect(name, folder, &mut paths);
    }
    paths.sort();
    paths
}

fn collect(name: &str, folder: &Dir<'_>, paths: &mut Vec<String>) {
    paths.extend(folder.files().map(|file| format!("{name}/{}", file.path().display())));
    for inner in folder.dirs() {
        collect(name, inner, paths);
    }
}

/// Names of all platforms that are part of the program, sorted.
#[must_use]
pub fn platform_names() -> Vec<String> {
    names_in("platforms/")
}

/// Names of all SSDs that are part of the program, sorted.
#[must_use]
pub fn ssd_names() -> Vec<String> {
    names_in("devices/ssd/")
}

/// Names of all NICs that are part of the program, sorted.
#[must_use]
pub fn nic_names() -> Vec<String> {
    names_in("devices/nic/")
}

fn names_in(folder: &str) -> Vec<String> {
    let files = files();
    let names = files.iter().filter_map(|path| path.strip_prefix(folder)?.strip_suffix(".toml"));
    names.map(String::from).collect()
}

/// Reads a text from disk, or from the program if there is no such file.
///
/// # Errors
/// If there is neither.
pub fn read(path: &str) -> Result<String, InputError> {
    let experiments = || files().into_iter().filter(|path| path.starts_with("experiments/"));
    read_one_of(path, || experiments().collect())
}

/// As [`read`], of files of which `known` are part of the program.
fn read_one_of(path: &str, known: impl Fn() -> Vec<String>) -> Result<String, InputError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) => file(path).map(String::from).ok_or_else(|| InputError::Unreadable {
            file: path.into(),
            reason: plain(&error),
            hint: match error.kind() {
                std::io::ErrorKind::NotFound => {
                    format!("; give a path, or what is built in: {}", suggest(path, &known()))
                }
                _ => String::new(),
            },
        }),
    }
}

/// The path of a file that another one names: seen from its folder if it is there, else from here.
#[must_use]
pub fn beside(file: &str, named: &str) -> String {
    match Path::new(file).parent().map(|folder| folder.join(named)) {
        Some(path) if path.is_file() => path.display().to_string(),
        _ => named.to_string(),
    }
}

/// The platform that `wanted` names: a path ending in .toml (seen from the scenario's folder, then
/// from here), or the name of a known one.
///
/// # Errors
/// If there is no such platform, or its file is damaged.
pub fn platform(scenario_file: &str, wanted: &str) -> Result<Platform, InputError> {
    platform_with(scenario_file, wanted, &ReplacedFacts::new())
}

/// The same with some facts replaced.
///
/// # Errors
/// As [`platform`], or if a replaced fact is unknown or out of range.
pub fn platform_with(
    scenario_file: &str,
    wanted: &str,
    replaced: &ReplacedFacts,
) -> Result<Platform, InputError> {
    match named(scenario_file, PLATFORM_FOLDER, wanted)? {
        Some((path, text)) => Platform::read_with(&path, &text, replaced),
        None => Err(InputError::UnknownPlatform {
            file: scenario_file.into(),
            name: wanted.into(),
            known: suggest(wanted, &platform_names()),
        }),
    }
}

/// The SSD that `wanted` names, as [`platform_with`] finds a platform.
///
/// # Errors
/// If there is no such SSD, its file is damaged, or a replaced fact is unknown or out of range.
pub fn ssd_with(
    scenario_file: &str,
    wanted: &str,
    replaced: &ReplacedFacts,
) -> Result<SsdDevice, InputError> {
    match named(scenario_file, SSD_FOLDER, wanted)? {
        Some((path, text)) => SsdDevice::read_with(&path, &text, replaced),
        None => Err(InputError::OutOfRange {
            file: scenario_file.into(),
            key: "ssd".into(),
            value: wanted.into(),
            allowed: format!("known SSDs: {}", ssd_names().join(", ")),
        }),
    }
}

/// The NIC that `wanted` names, as [`platform`] finds a platform.
///
/// # Errors
/// If there is no such NIC, or its file is damaged.
pub fn nic(scenario_file: &str, wanted: &str) -> Result<NicDevice, InputError> {
    nic_with(scenario_file, wanted, &ReplacedFacts::new())
}

/// The same with some facts replaced.
///
/// # Errors
/// As [`nic`], or if a replaced fact is unknown or out of range.
pub fn nic_with(
    scenario_file: &str,
    wanted: &str,
    replaced: &ReplacedFacts,
) -> Result<NicDevice, InputError> {
    match named(scenario_file, NIC_FOLDER, wanted)? {
        Some((path, text)) => NicDevice::read_with(&path, &text, replaced),
        None => Err(InputError::OutOfRange {
            file: scenario_file.into(),
            key: "nic".into(),
            value: wanted.into(),
            allowed: format!("known NICs: {}", nic_names().join(", ")),
        }),
    }
}

/// The path of what `wanted` names: a file ending in .toml (seen from the scenario's folder, then from
/// here), or something known in `folder`.
pub(crate) fn path_of(scenario_file: &str, folder: &str, wanted: &str) -> String {
    if is_path(wanted) { beside(scenario_file, wanted) } else { format!("{folder}/{wanted}.toml") }
}

fn is_path(wanted: &str) -> bool {
    Path::new(wanted).extension().is_some_and(|extension| extension == "toml")
}

/// Path and text of what `wanted` names, as [`path_of`] finds it.
fn named(
    scenario_file: &str,
    folder: &str,
    wanted: &str,
) -> Result<Option<(String, String)>, InputError> {
    let path = path_of(scenario_file, folder, wanted);
    if is_path(wanted) {
        let text = read_one_of(&path, || names_in(&format!("{folder}/")))
            .map_err(|error| blame(error, scenario_file, folder, wanted))?;
        return Ok(Some((path, text)));
    }
    let text = std::fs::read_to_string(&path).ok().or_else(|| file(&path).map(String::from));
    Ok(text.map(|text| (path, text)))
}

/// The fault of a file that is not there, as that of the key that names it.
fn blame(error: InputError, scenario_file: &str, folder: &str, wanted: &str) -> InputError {
    match error {
        InputError::Unreadable { reason, hint, .. }
            if !hint.is_empty() && scenario_file != BY_COMMAND =>
        {
            let key = match folder {
                NIC_FOLDER => "nic",
                SSD_FOLDER => "ssd",
                _ => "platform",
            };
            let name = Path::new(wanted).file_stem().unwrap_or_default().to_string_lossy();
            let known = suggest(&name, &names_in(&format!("{folder}/")));
            InputError::OutOfRange {
                file: scenario_file.into(),
                key: key.into(),
                value: wanted.into(),
                allowed: format!("cannot be read: {reason}; {known}"),
            }
        }
        // The path says it all.
        error => error,
    }
}

fn plain(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".into(),
        std::io::ErrorKind::IsADirectory => "it is a directory".into(),
        std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        std::io::ErrorKind::InvalidData => "not UTF-8 text".into(),
        _ => error.to_string(),
    }
}
