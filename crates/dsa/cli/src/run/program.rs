//! The program of a run: its requirements, its start, its signals and its end.

use super::directory::RunDirectory;
use super::executable;
use super::signal_forwarding::SignalCatcher;
use super::without_namespaces::RunEnvironment;
use crate::failure::CommandFailure;
use dsa_run::RUN_DIRECTORY;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// File name of the library that each program of a run loads.
pub const LIBRARY: &str = "libskipline_dsa_trap.so";
/// The variable by which programs load libraries before their own.
const LD_PRELOAD: &str = "LD_PRELOAD";

/// A program that can run with devices.
pub struct Program {
    path: PathBuf,
    words: Vec<OsString>,
    library: PathBuf,
    /// A library that the program loads behind that of the run.
    further: Option<PathBuf>,
}

impl Program {
    /// Finds the program by its words, and the library beside this command.
    ///
    /// # Errors
    /// If the program was not found or cannot load the library, or the library is missing.
    pub fn find(words: &[OsString]) -> Result<Self, CommandFailure> {
        let name = words.first().map_or(OsStr::new(""), OsString::as_os_str);
        let shown = name.to_string_lossy();
        let path = on_path(name).ok_or_else(|| {
            CommandFailure::bad_input(format!(
                "program {shown} was not found, or is not executable"
            ))
        })?;
        if let Some(why) = executable::obstacle(&path) {
            return Err(CommandFailure::bad_input(format!("{shown}: {why}")));
        }
        let library = library()?;
        Ok(Self { path, words: keep_in_words(words, &library), library, further: None })
    }

    /// Makes the program load a further library, behind that of the run.
    pub fn preloading(self, further: PathBuf) -> Self {
        Self { further: Some(further), ..self }
    }

    /// Whether a shell's command sets LD_PRELOAD itself: what it starts then has no library of the run.
    pub fn replaces_library(&self) -> bool {
        self.words.iter().any(|word| {
            let word = word.to_string_lossy();
            let keeps = ["$LD_PRELOAD", "${LD_PRELOAD", &*self.library.to_string_lossy()];
            word.contains("LD_PRELOAD=") && !keeps.iter().any(|kept| word.contains(kept))
        })
    }

    /// Runs the program to its end, with `variables` in its environment; returns its exit code, or 128 and
    /// the number of its signal.
    pub fn run(
        &self,
        directory: &RunDirectory,
        variables: RunEnvironment,
    ) -> Result<u8, CommandFailure> {
        let signals = SignalCatcher::new()?;
        let mut child = Command::new(&self.path)
            .args(&self.words[1..])
            .env(LD_PRELOAD, self.ld_preload())
            .env(RUN_DIRECTORY, directory.path())
            .env(ASAN_OPTIONS, asan_options())
            .envs(variables)
            .spawn()
            .map_err(|error| CommandFailure::failed(format!("{}: {error}", self.path.display())))?;
        let forwarding = signals.forward_to(&child);
        let status = child.wait();
        forwarding.end();
        let status = status.map_err(|error| CommandFailure::failed(format!("wait: {error}")))?;
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        Ok(u8::try_from(code.unwrap_or(1)).unwrap_or(1))
    }

    /// The value of LD_PRELOAD: the library of the run, a further one, then those that the environment has.
    fn ld_preload(&self) -> OsString {
        let before = std::env::var_os(LD_PRELOAD).filter(|before| !before.is_empty());
        let further = self.further.iter().map(|path| path.as_os_str().to_owned());
        let mut value = self.library.as_os_str().to_owned();
        for library in further.chain(before) {
            value.push(":");
            value.push(library);
        }
        value
    }
}

/// The options of AddressSanitizer in programs built with it.
pub const ASAN_OPTIONS: &str = "ASAN_OPTIONS";

/// The options of AddressSanitizer: those that are set, and that its runtime need not be the first library. They
/// mean nothing to other programs.
fn asan_options() -> OsString {
    let mut options = std::env::var_os(ASAN_OPTIONS).unwrap_or_default();
    if !options.is_empty() {
        options.push(":");
    }
    options.push("verify_asan_link_order=0");
    options
}

/// The words of a program. If it is `env`, which would replace the library of the run by its own
/// `LD_PRELOAD=...`, that word gets the library as well.
fn keep_in_words(words: &[OsString], library: &Path) -> Vec<OsString> {
    let mut words = words.to_vec();
    let is_env =
        words.first().is_some_and(|name| Path::new(name).file_name() == Some("env".as_ref()));
    if is_env {
        let is_setting = |word: &&mut OsString| word.to_string_lossy().contains('=');
        let assigned = words.iter_mut().skip(1).filter(is_setting);
        for word in assigned {
            let Some(value) = word.as_encoded_bytes().strip_prefix(b"LD_PRELOAD=") else {
                continue;
            };
            let value = OsStr::from_bytes(value).to_owned();
            *word = OsString::from("LD_PRELOAD=");
            word.push(library);
            if !value.is_empty() {
                word.push(":");
                word.push(value);
            }
        }
    }
    words
}

/// The path of the library of a run: beside this command, or in `../lib/skipline` of an installation.
pub fn library() -> Result<PathBuf, CommandFailure> {
    library_named(LIBRARY)
}

/// The path of a library by its file name: beside this command, in `../lib/skipline` of an installation, or
/// in its `../lib`.
pub fn library_named(file: &str) -> Result<PathBuf, CommandFailure> {
    let own = std::env::current_exe()
        .map_err(|error| CommandFailure::failed(format!("path of this command: {error}")))?;
    let beside = own.parent().unwrap_or(Path::new("/"));
    let places = ["", "../lib/skipline", "../lib"].map(|place| beside.join(place).join(file));
    places.iter().find(|path| path.is_file()).cloned().ok_or_else(|| {
        let places = places.map(|path| path.display().to_string()).join(", ");
        CommandFailure::failed(format!("the library is missing: searched as {places}"))
    })
}

/// The file of a program, found as by a shell; `None`: not found, or not executable.
pub fn on_path(name: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    };
    if name.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(is_program);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(is_program)
}
