//! Programs of packages, with their own tests, tools and load generators: does their output stay the same?
//!
//! `tests/programs` has a script for each, whose output depends on what it computes and not on time. Each
//! is run without and with the library.

use crate::built::{behind, below_a_run};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

struct Program {
    name: &'static str,
    /// The amount of work in each run of the tests, and in a soak.
    amounts: (u32, u32),
    /// Functions of which a device has to execute calls.
    functions: &'static [&'static str],
}

const PROGRAMS: [Program; 6] = [
    Program { name: "redis", amounts: (100, 1000), functions: &["memcpy"] },
    Program { name: "memcached", amounts: (100, 1000), functions: &["memcpy"] },
    Program { name: "sqlite", amounts: (60, 600), functions: &["memcpy", "memset", "memcmp"] },
    Program { name: "numpy", amounts: (3, 12), functions: &["memcpy", "memset", "memcmp"] },
    Program { name: "tar", amounts: (20, 90), functions: &["memcpy", "memcmp"] },
    Program { name: "qemu-img", amounts: (10, 30), functions: &["memcpy"] },
];

impl Program {
    fn script(&self) -> PathBuf {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        programs.join(self.name).with_extension("sh")
    }

    fn with_script(&self, mut command: Command, amount: u32, port: u16) -> Output {
        command.arg(self.script()).env("AMOUNT", amount.to_string());
        command.env("PORT", port.to_string()).output().expect("starts")
    }

    /// Its output without the library.
    fn plain(&self, amount: u32) -> String {
        let place = TempDir::new().expect("can be created");
        let mut command = Command::new("sh");
        command.current_dir(place.path());
        self.output(&self.with_script(command, amount, free_port()))
    }

    /// Its output with the library.
    fn preloaded(&self, amount: u32, options: &[&str], settings: &[(&str, &str)]) -> String {
        let place = TempDir::new().expect("can be created");
        let mut command = below_a_run(place.path(), options, &behind());
        command.arg("sh").envs(settings.iter().copied());
        self.output(&self.with_script(command, amount, free_port()))
    }

    #[track_caller]
    fn output(&self, output: &Output) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, errors) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{}: {}\n{out}\n{errors}", self.name, output.status);
        assert_eq!(errors, "", "{}", self.name);
        out
    }

    fn stays_the_same(&self, amount: u32, options: &[&str]) {
        let place = TempDir::new().expect("can be created");
        let file = place.path().join("statistics");
        let settings = [("SKIPLINE_DSA_PRELOAD_STATISTICS", file.to_str().expect("is text"))];
        let out = self.preloaded(amount, options, &settings);
        let statistics = std::fs::read_to_string(&file).expect("is written");
        assert_eq!(out, self.plain(amount), "{}", self.name);
        for function in self.functions {
            let start = format!("{function} device ");
            let is_used = statistics.lines().any(|line| line.starts_with(&start));
            assert!(is_used, "{}: no {function} by a device\n{statistics}", self.name);
        }
    }
}

/// A port of this host that nothing listens to.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("has an address").port()
}

#[track_caller]
fn stays_the_same(name: &str) {
    let program = PROGRAMS.iter().find(|program| program.name == name).expect("is listed");
    program.stays_the_same(soak::amount(program.amounts.0, program.amounts.1), &[]);
}

#[test]
fn redis_server_with_its_benchmark_stays_the_same() {
    stays_the_same("redis");
}

#[test]
fn memcached_with_its_tools_stays_the_same() {
    stays_the_same("memcached");
}

#[test]
fn sqlite_stays_the_same() {
    stays_the_same("sqlite");
}

#[test]
fn python_with_numpy_stays_the_same() {
    stays_the_same("numpy");
}

#[test]
fn tar_stays_the_same() {
    stays_the_same("tar");
}

#[test]
fn qemu_img_stays_the_same() {
    stays_the_same("qemu-img");
}

/// Settings and the device's trouble, which runs of a soak take in turn.
const TURNS: [(&[(&str, &str)], bool); 5] = [
    (&[], false),
    (&[("SKIPLINE_DSA_PRELOAD_CPU_SHARE", "0.3"), ("SKIPLINE_DSA_PRELOAD_WAIT", "yield")], true),
    (&[("SKIPLINE_DSA_PRELOAD_TUNE", "on")], false),
    (&[("SKIPLINE_DSA_PRELOAD_MIN_BYTES", "256"), ("SKIPLINE_DSA_PRELOAD_WAIT", "line")], false),
    (&[("SKIPLINE_DSA_PRELOAD_MIN_BYTES", "1000")], true),
];

/// Runs a program again and again until the end; returns how often.
fn repeats(program: &Program, end: Instant) -> usize {
    let amount = program.amounts.0;
    let expected = program.plain(amount);
    let trouble = program.script().with_file_name("trouble.toml");
    let trouble = trouble.to_str().expect("is text").to_owned();
    let mut runs = 0;
    while Instant::now() < end {
        let (settings, has_trouble) = TURNS[runs % TURNS.len()];
        let options: &[&str] = if has_trouble { &["--inject", &trouble] } else { &[] };
        let out = program.preloaded(amount, options, settings);
        assert_eq!(out, expected, "{}, run {runs}", program.name);
        runs += 1;
        if runs.is_multiple_of(25) || Instant::now() >= end {
            println!("{}: {runs} runs", program.name);
        }
    }
    runs
}

#[test]
fn programs_stay_the_same_together_for_minutes() {
    let asked = std::env::var("SKIPLINE_DSA_PRELOAD_SOAK_MINUTES").ok();
    let asked = asked.map(|minutes| minutes.parse().expect("SKIPLINE_DSA_PRELOAD_SOAK_MINUTES"));
    let Some(minutes) = asked.or(soak::amount(None, Some(1_u64))) else { return };
    let end = Instant::now() + Duration::from_secs(60 * minutes);
    std::thread::scope(|scope| {
        let runs: Vec<_> =
            PROGRAMS.iter().map(|program| scope.spawn(move || repeats(program, end))).collect();
        assert!(runs.into_iter().all(|runs| runs.join().expect("no program failed") > 0));
    });
}
