//! A test that runs itself below `skipline-dsa run`, with the library preloaded.

use crate::built::{behind, below_a_run};
use std::path::Path;
use tempfile::TempDir;

/// Set for the test inside.
const INSIDE: &str = "SKIPLINE_DSA_PRELOAD_TEST_INSIDE";

/// How a test is run.
#[derive(Default)]
pub struct How<'a> {
    /// Options of `skipline-dsa run`.
    pub options: &'a [&'a str],
    /// Variables of the environment.
    pub settings: &'a [(&'a str, &'a str)],
    /// `LD_PRELOAD`, for a shell; empty: the library behind the run's own.
    pub preloaded: &'a str,
}

/// Statistics that the library has written.
pub struct Report(pub String);

impl Report {
    /// All that processes have appended to files whose names begin so.
    pub fn read(directory: &Path) -> Self {
        let entries = std::fs::read_dir(directory).expect("can be read").flatten();
        let files = entries.filter(|entry| {
            entry.file_name().to_str().is_some_and(|name| name.starts_with("statistics"))
        });
        Self(files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect())
    }

    /// Calls of a function by `device` or `cpu`.
    pub fn calls(&self, function: &str, by: &str) -> u64 {
        let rows = self.0.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let rows = rows.filter(|row| row.len() == 6 && row[..2] == [function, by]);
        rows.filter_map(|row| row[3].parse::<u64>().ok()).sum()
    }

    /// Calls that the CPU processed, in whole or in part, for a reason.
    pub fn because(&self, reason: &str) -> u64 {
        let marked = format!(" by cpu, {reason}: ");
        let counts = self.0.lines().filter_map(|line| line.split_once(&marked));
        counts.filter_map(|(_, rest)| rest.split(' ').next()?.parse::<u64>().ok()).sum()
    }
}

/// `None` for the test inside. Outside it runs the test of that name (`module::function`) below
/// `skipline-dsa run`, fails if that fails, and has the statistics.
#[track_caller]
pub fn run(test: &str, how: &How<'_>) -> Option<Report> {
    if std::env::var_os(INSIDE).is_some() {
        return None;
    }
    let directory = TempDir::new().expect("can be created");
    let behind = behind();
    let preloaded = if how.preloaded.is_empty() { &behind } else { how.preloaded };
    let output = below_a_run(directory.path(), how.options, preloaded)
        .arg(std::env::current_exe().expect("has a path"))
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("SKIPLINE_DSA_PRELOAD_STATISTICS", directory.path().join("statistics.%p"))
        .envs(how.settings.iter().copied())
        .env(INSIDE, "1")
        .output()
        .expect("timeout is there");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{errors}", output.status);
    assert!(out.contains("1 passed"), "no test is named {test}: {out}\n{errors}");
    Some(Report::read(directory.path()))
}

/// Runs the rest of a test inside, and what is given outside, with the statistics.
macro_rules! inside {
    ($test:ident, $how:expr, |$report:ident| $outside:expr) => {
        let name = concat!(module_path!(), "::", stringify!($test));
        let name = name.split_once("::").map_or(name, |(_, name)| name);
        if let Some($report) = $crate::inside::run(name, &$how) {
            $outside;
            return;
        }
    };
}
pub(crate) use inside;
