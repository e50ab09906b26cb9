//! Runs of programs, to their ends.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// Seconds after which a run is taken as hung; it then ends with 124.
const HANGS_SECONDS: &str = "900";

/// Names another build of the command to be tested, with its libraries beside it: that of `make dsa`.
const TESTED: &str = "SKIPLINE_DSA_TESTED";

/// The command under test, once the library that it loads into programs, and the client, are built.
pub fn command() -> &'static Path {
    static TESTED_COMMAND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let tested = TESTED_COMMAND.get_or_init(|| std::env::var_os(TESTED).map(PathBuf::from));
    tested.as_deref().unwrap_or_else(|| built())
}

/// The command that cargo has built for the tests.
fn built() -> &'static Path {
    static COMMAND: OnceLock<PathBuf> = OnceLock::new();
    COMMAND.get_or_init(|| {
        let command = PathBuf::from(env!("CARGO_BIN_EXE_skipline-dsa"));
        let built = command.parent().expect("is in a directory");
        let profile = match built.file_name().and_then(|name| name.to_str()) {
            Some("debug") => "dev",
            Some(name) => name,
            None => panic!("{} names no profile", built.display()),
        };
        // Cargo builds no library that nothing is linked with, and no example if a test is chosen.
        let status = Command::new(env!("CARGO"))
            .args(["build", "--locked", "--quiet", "--profile", profile])
            .args(["-p", "shared-features", "-p", "dsa-trap", "-p", "dsa-preload", "-p", "dsa-cli"])
            .args(["--lib", "--example", "dsa_client"])
            .arg("--target-dir")
            .arg(built.parent().expect("is in the target directory"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(status.expect("cargo runs").success(), "the library is not built");
        command
    })
}

/// The client.
pub fn client() -> PathBuf {
    built().with_file_name("examples").join("dsa_client")
}

/// How a program has ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub errors: String,
}

impl Ended {
    /// Its output, if it has ended with a code.
    #[track_caller]
    pub fn with(self, code: i32) -> String {
        let Self { code: own, out, errors } = self;
        assert_eq!(own, Some(code), "{out}\n{errors}");
        out
    }

    /// Its messages, if it was bad input.
    #[track_caller]
    pub fn refused(self) -> String {
        assert_eq!(self.code, Some(2), "{self:?}");
        self.errors
    }
}

/// Where a run has its directory; its files can be of use to the program.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        Self(TempDir::new().expect("can be created"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Directories of runs.
    pub fn left(&self) -> Vec<String> {
        let names = self.path().read_dir().expect("is a directory");
        let names = names.map(|entry| entry.expect("is read").file_name());
        let names = names.map(|name| name.into_string().expect("is text"));
        names.filter(|name| name.starts_with("skipline-dsa-")).collect()
    }

    /// The command with any arguments, for at most [`HANGS_SECONDS`].
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", HANGS_SECONDS]).arg(self::command());
        self.for_tests(&mut command).args(arguments);
        command
    }

    /// Sets what a run takes from its environment.
    pub fn for_tests<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("XDG_RUNTIME_DIR", self.path())
            .env("RUST_BACKTRACE", "0")
            .env("LC_ALL", "C")
            .current_dir(self.path())
            .stdin(Stdio::null())
    }

    /// Compiles a C program here.
    pub fn compile(&self, arguments: &[&str]) {
        let mut compiler = Command::new("cc");
        let status = compiler.args(arguments).current_dir(self.path()).status();
        assert!(status.expect("a C compiler is needed for Rust, too").success());
    }

    /// Runs `skipline-dsa run OPTIONS -- PROGRAM`, and finds that it leaves nothing.
    #[track_caller]
    pub fn run(&self, options: &[&str], program: &[&str]) -> Ended {
        let arguments = [&["run"], options, &["--"], program].concat();
        let ended = ended(&mut self.command(&arguments));
        assert_eq!(self.left(), [""; 0]);
        ended
    }

    /// Runs the client.
    #[track_caller]
    pub fn client(&self, options: &[&str], words: &[&str]) -> Ended {
        let client = client();
        let program = [&[client.to_str().expect("is text")], words].concat();
        self.run(options, &program)
    }

    /// Runs a script of bash, whose `$client` and `$dsa` are the two programs.
    #[track_caller]
    pub fn script(&self, options: &[&str], text: &str) -> Ended {
        let (client, dsa) = (client(), command());
        let (client, dsa) = (client.display(), dsa.display());
        let text = format!("client='{client}' dsa='{dsa}'\n{text}");
        self.run(options, &["bash", "-c", &text])
    }
}

/// Runs a command to its end.
pub fn ended(command: &mut Command) -> Ended {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended { code: output.status.code(), out: text(&output.stdout), errors: text(&output.stderr) }
}
