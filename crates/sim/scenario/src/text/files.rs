//! Texts by name or path: on disk, or embedded in the program, which works without its repository.

use crate::text::error::{InputError, suggest};
use facts::{Kind, Resolved};
use include_dir::{Dir, include_dir};
use inputs::texts;
use std::path::Path;

static EXPERIMENTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../../experiments");
static EXAMPLES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../../examples");
static TESTBEDS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../../testbeds");

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

/// Names of all embedded files of facts of a kind, sorted.
pub(crate) fn names(kind: Kind) -> Vec<String> {
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
    match texts::read_keys(path) {
        Ok(text) => Ok(text),
        Err(error) => file(path).map(String::from).ok_or_else(|| InputError::Unreadable {
            file: path.into(),
            reason: inputs::reason(&error),
            hint: match error.kind() {
                std::io::ErrorKind::NotFound => {
                    let names = suggest(path, &known());
                    let standard = if path == "-" { " /dev/stdin for standard input," } else { "" };
                    format!("; give a path,{standard} or what is built in: {names}")
                }
                _ => String::new(),
            },
        }),
    }
}

/// The path of a file that another one names: relative to its folder if it exists there, else to the
/// current one.
#[must_use]
pub(crate) fn beside(file: &str, named: &str) -> String {
    match Path::new(file).parent().map(|folder| folder.join(named)) {
        // A FIFO is a file for this purpose.
        Some(path) if path.exists() && !path.is_dir() => path.display().to_string(),
        _ => named.to_string(),
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

/// The path of the testbed that a scenario names.
pub(crate) fn testbed_path(scenario_file: &str, wanted: &str) -> String {
    if is_path(wanted) {
        beside(scenario_file, wanted)
    } else {
        format!("{OF_TESTBEDS}/{wanted}.toml")
    }
}

/// The path of what `wanted` names: a pipe or a file ending in .toml (relative to the scenario's folder, then
/// to the current one), or a known name.
fn path_of(scenario_file: &str, kind: Kind, wanted: &str) -> String {
    if is_path(wanted) { beside(scenario_file, wanted) } else { kind.path_of(wanted) }
}

fn is_path(wanted: &str) -> bool {
    Path::new(wanted).extension().is_some_and(|extension| extension == "toml")
        || inputs::is_pipe(wanted)
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
        match texts::read_keys(&path) {
            Ok(text) => Ok((path, text)),
            Err(error) => match file(&path) {
                Some(text) => Ok((path, text.into())),
                None => Err(inputs::reason(&error)),
            },
        }
    };
    Ok(facts::resolve(kind, path, text, &find)?)
}

/// Path and text of what `wanted` names, as a run finds it; `None` if it is no path and no known name.
///
/// # Errors
/// If it is a path, and the file cannot be read.
pub(crate) fn named(
    scenario_file: &str,
    kind: Kind,
    wanted: &str,
) -> Result<Option<(String, String)>, InputError> {
    let path = path_of(scenario_file, kind, wanted);
    if is_path(wanted) {
        let text = read_one_of(&path, || names(kind))
            .map_err(|error| blame(error, scenario_file, kind, wanted))?;
        return Ok(Some((path, text)));
    }
    let text = texts::read_keys(&path).ok().or_else(|| file(&path).map(String::from));
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
            let known = suggest(&name, &names(kind));
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
