//! `skipline-dsa would-help`: is its answer about what the program does, and does it say why there is none?

use crate::runs::{Ended, Place, command, ended};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Calls and bytes by function and least size of a class.
type Histogram = BTreeMap<(String, u64), (u64, u64)>;

impl Place {
    /// Runs `skipline-dsa would-help --json answer.json OPTIONS -- PROGRAM`.
    fn would_help(&self, options: &[&str], program: &[&str]) -> Ended {
        let arguments =
            [&["would-help", "--json", "answer.json"], options, &["--"], program].concat();
        let ended = ended(&mut self.command(&arguments));
        assert_eq!(self.left(), [""; 0]);
        ended
    }

    /// The answer of the last run.
    fn answer(&self) -> Value {
        let text = std::fs::read_to_string(self.path().join("answer.json")).expect("is written");
        serde_json::from_str(&text).expect("is JSON")
    }

    /// Compiles the program `copies`, whose calls stay calls.
    fn with_copies(self) -> Self {
        let source = source("copies.c");
        self.compile(&["-O1", "-fno-builtin", "-o", "copies", &source]);
        self
    }
}

fn source(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
    path.to_str().expect("is text").to_owned()
}

fn bounds(answer: &Value, name: &str) -> (f64, f64) {
    let number = |at: usize| answer[name][at].as_f64().expect("is a number");
    (number(0), number(1))
}

fn histogram(answer: &Value) -> Histogram {
    let rows = answer["histogram"].as_array().expect("is a list").iter();
    let number = |row: &Value, name: &str| row[name].as_u64().expect("is a number");
    rows.map(|row| {
        let function = row["function"].as_str().expect("is text").to_owned();
        let key = (function, number(row, "least_bytes"));
        (key, (number(row, "calls"), number(row, "bytes")))
    })
    .collect()
}

/// The same counted by `counter.c`, in a run without a device.
fn counted_another_way(place: &Place, program: &str, words: &[&str]) -> Histogram {
    let library = place.path().join("counter.so");
    let (out, counter) = (library.to_str().expect("is text"), source("counter.c"));
    place.compile(&["-O1", "-fno-builtin", "-shared", "-fPIC", "-o", out, &counter]);
    let file = place.path().join("counted");
    let mut command = Command::new("env");
    place.for_tests(&mut command);
    command
        .arg(format!("LD_PRELOAD={out}"))
        .arg(format!("COUNTER_FILE={}", file.display()))
        .arg(format!("COUNTER_PROGRAM={program}"))
        .args(words);
    ended(&mut command).with(0);
    let text = std::fs::read_to_string(file).expect("is written");
    let mut all = Histogram::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().expect("is a number");
        let sum = all.entry((words[0].to_owned(), number(1))).or_default();
        *sum = (sum.0 + number(2), sum.1 + number(3));
    }
    all
}

/// Finds that calls of 512 bytes and more are those that are counted another way, and that there are so many.
#[track_caller]
fn assert_same(ours: &Histogram, theirs: &Histogram, least_calls: u64) {
    let large = |all: &Histogram| -> Histogram {
        all.iter()
            .filter(|((_, size), _)| *size >= 512)
            .map(|(key, sum)| (key.clone(), *sum))
            .collect()
    };
    let (ours, theirs) = (large(ours), large(theirs));
    assert_eq!(ours, theirs);
    let calls: u64 = ours.values().map(|(calls, _)| calls).sum();
    assert!(calls >= least_calls, "{calls} calls");
}

const ROWS: &str = "CREATE TABLE item (id INTEGER PRIMARY KEY, body BLOB);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
      INSERT INTO item SELECT i, hex(zeroblob(3000 + i * 37)) FROM n;
    SELECT sum(length(body)) FROM item; SELECT length(group_concat(body)) FROM item;";

#[test]
fn calls_of_sqlite_are_those_that_are_counted_another_way() {
    let place = Place::new();
    let out = place.would_help(&[], &["sqlite3", "one.db", ROWS]).with(0);
    let ours = histogram(&place.answer());
    let theirs = counted_another_way(&place, "sqlite3", &["sqlite3", "two.db", ROWS]);
    assert_same(&ours, &theirs, 300);
    // Standard output is the program's alone.
    assert_eq!(out.lines().count(), 2, "{out}");
}

#[test]
fn calls_of_tar_are_those_that_are_counted_another_way() {
    let place = Place::new();
    for number in 0..20_u8 {
        let text = vec![number; 50_000 + 1000 * usize::from(number)];
        std::fs::write(place.path().join(format!("file{number:02}")), text).expect("is written");
    }
    let pack = "tar --sort=name --mtime=@1 -cf packed.tar file*; tar -df packed.tar --mtime=@1";
    place.would_help(&["--only", "tar"], &["sh", "-c", pack]);
    let ours = histogram(&place.answer());
    let theirs = counted_another_way(&place, "tar", &["sh", "-c", &format!("{pack}; true")]);
    assert_same(&ours, &theirs, 20);
}

#[test]
fn large_copies_of_data_in_memory_are_helped_and_a_second_run_is_within_the_interval() {
    let place = Place::new().with_copies();
    let program = ["./copies", "40", "4000000"];
    let ended = place.would_help(&["--keep", "kept.jsonl"], &program);
    assert!(ended.errors.contains("Yes, from 2 MiB on: 40 calls with 160 MB take"), "{ended:?}");
    assert_eq!(ended.with(0).trim(), "780");
    let first = place.answer();
    assert_eq!((&first["answer"], &first["part"]), (&"yes".into(), &"sapphire-rapids-56".into()));
    assert_eq!((&first["offloads"], &first["bytes"]), (&40.into(), &160_000_000.into()));
    let kept = std::fs::read_to_string(place.path().join("kept.jsonl")).expect("is kept");
    assert_eq!(Some(kept.lines().count() as u64), first["recorded"].as_u64());
    place.would_help(&["--seed", "9"], &program).with(0);
    let second = place.answer();
    for name in ["gain_ns", "core_ns", "engines_ns", "freed_cycles"] {
        let ((low, high), (other_low, other_high)) = (bounds(&first, name), bounds(&second, name));
        let middle = f64::midpoint(other_low, other_high);
        assert!(low < middle && middle < high, "{name}: {middle} and {low} to {high}");
    }
    // The intervals are of this run: a tenth of the copies takes a tenth of the time.
    place.would_help(&[], &["./copies", "4", "4000000"]);
    let (low, _) = bounds(&first, "core_ns");
    assert!(bounds(&place.answer(), "core_ns").1 < low, "{} {low}", place.answer());
}

#[test]
fn a_program_whose_copies_are_small_or_absent_is_not_helped() {
    let place = Place::new().with_copies();
    let small = place.would_help(&[], &["./copies", "2000", "1500"]);
    assert!(
        small.errors.contains("No: engines do calls of no size sooner than a core"),
        "{small:?}"
    );
    small.with(0);
    assert_eq!(place.answer()["answer"], "no");
    let none = place.would_help(&[], &["true"]);
    assert!(none.errors.contains("is one for a device; 1024 bytes are the least"), "{none:?}");
    none.with(0);
    assert_eq!((&place.answer()["answer"], &place.answer()["offloads"]), (&"no".into(), &0.into()));
}

/// Copies in a thread whose creator has blocked all signals, as servers do for their workers.
const WORKER: &str = r#"
#include <pthread.h>
#include <signal.h>
#include <string.h>
static char from[100000], to[100000];
static void *work(void *none) {
    for (int turn = 0; turn < 9; turn++)
        memcpy(to, from, sizeof to);
    return none;
}
int main(void) {
    pthread_t worker;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_create(&worker, 0, work, 0);
    pthread_sigmask(SIG_SETMASK, &before, 0);
    return pthread_join(worker, 0);
}
"#;

#[test]
fn copies_of_worker_threads_are_counted_and_replayed() {
    let place = Place::new();
    std::fs::write(place.path().join("worker.c"), WORKER).expect("is written");
    place.compile(&["-O1", "-fno-builtin", "-pthread", "-o", "worker", "worker.c"]);
    place.would_help(&[], &["./worker"]).with(0);
    let answer = place.answer();
    assert_eq!(histogram(&answer)[&("memcpy".into(), 65_536)], (9, 900_000));
    assert_eq!(answer["sizes"][0]["offloads"], 9, "{answer}");
}

#[test]
fn a_failure_of_the_program_is_told_beside_the_answer() {
    let place = Place::new().with_copies();
    let ended = place.would_help(&[], &["./copies", "40", "100000", "7"]);
    assert!(ended.errors.contains("The program ended with 7"), "{ended:?}");
    assert_eq!((ended.code, &place.answer()["program_exit_code"]), (Some(1), &7.into()));
}

#[test]
fn a_signal_during_the_replay_ends_the_command() {
    let place = Place::new().with_copies();
    let mut running = place
        .command(&["would-help", "--", "./copies", "50", "262144"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(running.stderr.take().expect("it is a pipe")).lines();
    assert!(
        lines.any(|line| line.is_ok_and(|line| line.contains("replaying the program's calls")))
    );
    let process = rustix::process::Pid::from_child(&running);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("it is there");
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert!(rest.iter().any(|line| line.contains("stopped by a signal")), "{rest:?}");
    assert_eq!(running.wait().expect("it ends").code(), Some(1));
    assert_eq!(place.left(), [""; 0]);
}

#[test]
fn a_program_that_cannot_be_recorded_is_refused_with_the_reason() {
    let place = Place::new();
    std::fs::write(place.path().join("empty.c"), "int main(void) { return 0; }")
        .expect("is written");
    place.compile(&["-static", "-o", "static", "empty.c"]);
    let refused = place.would_help(&[], &["./static"]).refused();
    assert!(refused.contains("./static: it is statically linked"), "{refused}");
    let refused = place.would_help(&[], &["./absent"]).refused();
    assert!(refused.contains("./absent was not found"), "{refused}");
    // A script starts it, so that only its counts are missing.
    let ended = place.would_help(&[], &["env", "-i", "./static"]);
    assert!(ended.errors.contains("Not from these data: no process of the run wrote"), "{ended:?}");
    ended.with(0);
    assert_eq!(place.answer()["answer"], "unknown");
}

#[test]
fn options_are_refused_with_what_is_allowed() {
    let place = Place::new();
    let refused = place.would_help(&["--on", "cpu"], &["true"]).refused();
    assert!(refused.contains("model:PLATFORM"), "{refused}");
    let refused = place.would_help(&["--on", "model:xeon-gold-6140"], &["true"]).refused();
    assert!(refused.contains("sapphire-rapids-56"), "{refused}");
    let refused = place.would_help(&["--only", "other"], &["sh", "-c", "true; true"]).refused();
    assert!(refused.contains("--only other: no process of this name"), "{refused}");
    let refused = place.would_help(&["--keep", "/proc"], &["true"]).refused();
    assert!(refused.contains("--keep /proc"), "{refused}");
}

fn preload_library() -> String {
    let library = command().with_file_name("libskipline_dsa_preload.so");
    library.to_str().expect("is text").to_owned()
}

#[test]
fn a_record_of_a_command_that_sets_ld_preload_is_made_or_the_reason_is_said() {
    let place = Place::new().with_copies();
    let set = format!("LD_PRELOAD={}", preload_library());
    // Beside the copies the library asks the queue whether it answers.
    let by_env = place.run(&["--record", "log"], &["env", &set, "./copies", "8", "100000"]);
    assert!(by_env.errors.contains("9 descriptors recorded"), "{by_env:?}");
    by_env.with(0);
    let script = format!("{set} ./copies 8 100000");
    let by_shell = place.run(&["--record", "log"], &["sh", "-c", &script]);
    assert!(by_shell.errors.contains("the command sets LD_PRELOAD itself"), "{by_shell:?}");
    by_shell.with(0);
    let appended = format!("LD_PRELOAD=\"$LD_PRELOAD:{}\" ./copies 8 100000", preload_library());
    place.run(&["--record", "log"], &["sh", "-c", &appended]).with(0);
    let log = std::fs::read_to_string(place.path().join("log")).expect("is written");
    assert!(log.lines().count() >= 8, "{log}");
    let without = place.run(&["--record", "log"], &["./copies", "8", "100000"]);
    assert!(without.errors.contains("no program of the run submitted a descriptor"), "{without:?}");
}
