//! Files by name or path: on disk, or embedded in the program, which works without its repository.

use crate::input::error::{InputError, suggest};
use crate::platform::{NicDevice, Platform, ReplacedFacts, SsdDevice};
use crate::scenario::Testbed;
use facts::{Kind, Resolved};
use include_dir::{Dir, include_dir};
use std::path::Path;

static EXPERIMENTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../experiments");
static EXAMPLES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../examples");
static TESTBEDS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../testbeds");

/// The folder of testbeds that are referred to by name.
const OF_TESTBEDS: &str = "testbeds";
/// Folders of scenarios, experiments and what they share.
const FOLDERS: [(&str, &Dir<'_>); 3] =
    [("experiments", &EXPERIMENTS), ("examples", &EXAMPLES), (OF_TESTBEDS, &TESTBEDS)];

/// Stands for a scenario's file where a command or a call names a platform.
pub const BY_COMMAND: &str = "platforms";

/// The text of a file of facts or under experiments/, examples/ or testbeds/, if it is embedded.
#[must_use]
pub fn file(path: &str) -> Option<&'static str> {
    let in_folder = |&(name, folder)| Some((folder, path.strip_prefix(name)?.strip_prefix('/')?));
    match FOLDERS.iter().find_map(in_folder) {
        Some((folder, rest)) => folder.get_file(rest)?.contents_utf8(),
        None => facts::builtin::file(path),
    }
}

/// Paths of all embedded files, sorted.
#[must_use]
pub fn files() -> Vec<String> {
    let mut paths = facts::builtin::files();
    FOLDERS.iter().for_each(|(name, folder)| collect(name, folder, &mut paths));
    paths.sort();
    paths
}

fn collect(name: &str, folder: &Dir<'_>, paths: &mut Vec<String>) {
    paths.extend(folder.files().map(|file| format!("{name}/{}", file.path().display())));
    for inner in folder.dirs() {
        collect(name, inner, paths);
    }
}

/// Names of all embedded platforms, sorted.
#[must_use]
pub fn platform_names() -> Vec<String> {
    names_of(Kind::Platform)
}

/// Names of all embedded SSDs, sorted.
#[must_use]
pub fn ssd_names() -> Vec<String> {
    names_of(Kind::Ssd)
}

/// Names of all embedded NICs, sorted.
#[must_use]
pub fn nic_names() -> Vec<String> {
    names_of(Kind::Nic)
}

fn names_of(kind: Kind) -> Vec<String> {
    facts::builtin::names_in(kind.folder())
}

/// Reads a text from disk, or the embedded one if there is no such file.
///
/// # Errors
/// If there is neither.
pub fn read(path: &str) -> Result<String, InputError> {
    let is_scenario = |path: &String| {
        let in_folder = |(folder, _): &(&str, _)| path.starts_with(&format!("{folder}/"));
        FOLDERS.iter().any(in_folder) && !path.starts_with(OF_TESTBEDS)
    };
    read_one_of(path, || files().into_iter().filter(is_scenario).collect())
}

/// As [`read`], for files of which `known` are embedded.
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

/// The path of a file that another one names: relative to its folder if it exists there, else to the
/// current one.
#[must_use]
pub fn beside(file: &str, named: &str) -> String {
    match Path::new(file).parent().map(|folder| folder.join(named)) {
        Some(path) if path.is_file() => path.display().to_string(),
        _ => named.to_string(),
    }
}

/// The platform that `wanted` names: a path ending in .toml (relative to the scenario's folder, then to
/// the current one), or the name of a known one.
///
/// # Errors
/// If there is no such platform, or its file is invalid.
pub fn platform(scenario_file: &str, wanted: &str) -> Result<Platform, InputError> {
    platform_with(scenario_file, wanted, &ReplacedFacts::new())
}

/// As [`platform`], with some facts replaced.
///
/// # Errors
/// As [`platform`], or if a replaced fact is unknown or out of range.
pub fn platform_with(
    scenario_file: &str,
    wanted: &str,
    replaced: &ReplacedFacts,
) -> Result<Platform, InputError> {
    match named(scenario_file, Kind::Platform, wanted)? {
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
/// If there is no such SSD, its file is invalid, or a replaced fact is unknown or out of range.
pub fn ssd_with(
    scenario_file: &str,
    wanted: &str,
    replaced: &ReplacedFacts,
) -> Result<SsdDevice, InputError> {
    match named(scenario_file, Kind::Ssd, wanted)? {
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
/// If there is no such NIC, or its file is invalid.
pub fn nic(scenario_file: &str, wanted: &str) -> Result<NicDevice, InputError> {
    nic_with(scenario_file, wanted, &ReplacedFacts::new())
}

/// As [`nic`], with some facts replaced.
///
/// # Errors
/// As [`nic`], or if a replaced fact is unknown or out of range.
pub fn nic_with(
    scenario_file: &str,
    wanted: &str,
    replaced: &ReplacedFacts,
) -> Result<NicDevice, InputError> {
    match named(scenario_file, Kind::Nic, wanted)? {
        Some((path, text)) => NicDevice::read_with(&path, &text, replaced),
        None => Err(InputError::OutOfRange {
            file: scenario_file.into(),
            key: "nic".into(),
            value: wanted.into(),
            allowed: format!("known NICs: {}", nic_names().join(", ")),
        }),
    }
}

/// Names of all embedded testbeds, sorted.
#[must_use]
pub fn testbed_names() -> Vec<String> {
    let stems = TESTBEDS.files().filter_map(|file| file.path().file_stem()?.to_str());
    let mut names: Vec<String> = stems.map(String::from).collect();
    names.sort();
    names
}

/// The testbed that `wanted` names: a path ending in .toml (relative to the scenario's folder, then to
/// the current one), or the name of a known one.
///
/// # Errors
/// If there is no such testbed, or its file is invalid.
pub fn testbed(scenario_file: &str, wanted: &str) -> Result<Testbed, InputError> {
    let path = testbed_path(scenario_file, wanted);
    let text = std::fs::read_to_string(&path).ok().or_else(|| file(&path).map(String::from));
    let text = text.ok_or_else(|| InputError::OutOfRange {
        file: scenario_file.into(),
        key: "testbed".into(),
        value: wanted.into(),
        allowed: format!("no such file or name; {}", suggest(wanted, &testbed_names())),
    })?;
    Testbed::read(wanted, &path, &text)
}

/// The path of the testbed that a scenario names.
pub(crate) fn testbed_path(scenario_file: &str, wanted: &str) -> String {
    if is_path(wanted) {
        beside(scenario_file, wanted)
    } else {
        format!("{OF_TESTBEDS}/{wanted}.toml")
    }
}

/// The path of what `wanted` names: a file ending in .toml (relative to the scenario's folder, then to
/// the current one), or a known name.
fn path_of(scenario_file: &str, kind: Kind, wanted: &str) -> String {
    if is_path(wanted) { beside(scenario_file, wanted) } else { kind.path_of(wanted) }
}

fn is_path(wanted: &str) -> bool {
    Path::new(wanted).extension().is_some_and(|extension| extension == "toml")
}

/// Paths of what `wanted` names and of all files that it inherits from, as a run finds them.
pub(crate) fn files_behind(scenario_file: &str, kind: Kind, wanted: &str) -> Vec<String> {
    let path = path_of(scenario_file, kind, wanted);
    let read = read(&path).ok().and_then(|text| with_inherited(kind, &path, &text).ok());
    read.map_or(vec![path], |facts| facts.files)
}

/// A file of facts with all that it inherits from files on disk or embedded ones.
pub(crate) fn with_inherited(kind: Kind, path: &str, text: &str) -> Result<Resolved, InputError> {
    let find = |named_in: &str, named: &str| {
        let path = beside(named_in, named);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok((path, text)),
            Err(error) => match file(&path) {
                Some(text) => Ok((path, text.into())),
                None => Err(plain(&error)),
            },
        }
    };
    Ok(facts::resolve(kind, path, text, &find)?)
}

/// Path and text of what `wanted` names, as [`path_of`] finds it.
fn named(
    scenario_file: &str,
    kind: Kind,
    wanted: &str,
) -> Result<Option<(String, String)>, InputError> {
    let path = path_of(scenario_file, kind, wanted);
    if is_path(wanted) {
        let text = read_one_of(&path, || names_of(kind))
            .map_err(|error| blame(error, scenario_file, kind, wanted))?;
        return Ok(Some((path, text)));
    }
    let text = std::fs::read_to_string(&path).ok().or_else(|| file(&path).map(String::from));
    Ok(text.map(|text| (path, text)))
}

/// Reports a missing file as an error of the key that names it.
fn blame(error: InputError, scenario_file: &str, kind: Kind, wanted: &str) -> InputError {
    match error {
        InputError::Unreadable { reason, hint, .. }
            if !hint.is_empty() && scenario_file != BY_COMMAND =>
        {
            let key = match kind {
                Kind::Nic => "nic",
                Kind::Ssd => "ssd",
                Kind::Platform => "platform",
            };
            let name = Path::new(wanted).file_stem().unwrap_or_default().to_string_lossy();
            let known = suggest(&name, &names_of(kind));
            InputError::OutOfRange {
                file: scenario_file.into(),
                key: key.into(),
                value: wanted.into(),
                allowed: format!("cannot be read: {reason}; {known}"),
            }
        }
        // The path alone explains the error.
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
