//! A described machine in a temporary directory, and the real binary run on it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Where the binary keeps its journal.
pub const STATE: &str = "var/lib/skipline-host";

pub struct OnMachine {
    directory: TempDir,
}

impl OnMachine {
    pub fn new(machine: &str, failures: &[&str]) -> Self {
        // In memory where that is possible: the binary syncs every step.
        let memory = Path::new("/dev/shm");
        let directory = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir());
        let directory = directory.expect("a temporary directory");
        fake_machines::expand(machine, failures, directory.path()).expect("a machine");
        Self { directory }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The file of the machine's lock, in its directory, which is made as the binary makes it.
    pub fn lock_file(&self) -> PathBuf {
        let directory = self.path().join("run/skipline-host");
        fs::create_dir_all(&directory).expect("a directory");
        fs::set_permissions(&directory, PermissionsExt::from_mode(0o700)).expect("its mode");
        directory.join("lock")
    }

    /// Writes a file of one line, and the directories above it.
    pub fn put(&self, path: &str, line: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("below the machine")).expect("directories");
        fs::write(path, format!("{line}\n")).expect("a file of the machine");
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        // Whatever those who run the tests have ignored.
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP,INT,QUIT,TERM").arg(env!("CARGO_BIN_EXE_skipline-host"));
        command.arg("--root").arg(self.path()).args(arguments);
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        Run::from_output(&self.command(arguments).output().expect("the binary runs"), self.path())
    }

    /// Runs and dies after a step of a change.
    pub fn run_and_crash(&self, step: &str, arguments: &[&str]) -> Run {
        let output = self.command(arguments).env("SKIPLINE_CRASH_AFTER", step).output();
        Run::from_output(&output.expect("the binary runs"), self.path())
    }

    /// Every file and link of the machine with its content, the binary's own state left out.
    pub fn content(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut content = BTreeMap::new();
        collect(self.path(), self.path(), &mut content);
        content
    }
}

fn collect(root: &Path, directory: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(directory).expect("a directory of the machine") {
        let path = entry.expect("an entry").path();
        let name = path.strip_prefix(root).expect("below the root").to_path_buf();
        if name.starts_with("var") || name.starts_with("run") {
            continue;
        }
        if path.is_symlink() {
            let target = fs::read_link(&path).expect("a link");
            into.insert(name, target.to_string_lossy().into_owned().into_bytes());
        } else if path.is_dir() {
            collect(root, &path, into);
        } else {
            into.insert(name, fs::read(&path).expect("a file"));
        }
    }
}

/// Exit code and output of the binary.
pub struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Run {
    fn from_output(output: &Output, root: &Path) -> Self {
        // The directory's name is another one each time.
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).replace(&root.display().to_string(), "ROOT")
        };
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

/// A part of a snapshot: whose it is, and what was printed.
pub fn screen(name: &str, text: &str) -> String {
    format!("== {name} ==\n{}", text.trim_end())
}
