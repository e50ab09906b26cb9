//! After a crash, is a file the old one or the new one, whatever was written of the new one?

use crate::shared_directory::{names, read};
use durable::directory::BaseDirectory;
use durable::output::OutputFile;
use durable::whole_file::WriteOptions;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Set for the process that is killed: the directory, the bytes of the new text, and those of them after
/// which it is killed.
const CUT_SHORT: &str = "DURABLE_TEST_CUT_SHORT";
const OLD: &str = "the old text";
const SIGXFSZ: i32 = 25;

/// Replaces the file in another process, which the system kills when a file would be longer than `limit`.
fn cut_short(directory: &Path, bytes: usize, limit: usize, which: &str) -> ExitStatus {
    let words = format!("{limit} {bytes} {which} {}", directory.display());
    let mut child = Command::new(std::env::current_exe().expect("a path"));
    child.args(["--exact", "crashes::the_process_that_is_killed"]).env(CUT_SHORT, words);
    child.output().expect("starts").status
}

#[test]
fn the_process_that_is_killed() {
    let Ok(words) = std::env::var(CUT_SHORT) else { return };
    let words: Vec<&str> = words.splitn(4, ' ').collect();
    let [limit, bytes, which, directory] = words[..] else { panic!("four words") };
    let limit = Some(limit.parse().expect("a number"));
    setrlimit(Resource::Fsize, Rlimit { current: limit, maximum: limit }).expect("lower");
    let path = Path::new(directory).join("file");
    let text = "n".repeat(bytes.parse().expect("a number"));
    if which == "output" {
        let output = OutputFile::prepare(&path, WriteOptions::RESULT).expect("can be written");
        let mut writer = output.begin().expect("a draft");
        // Not in one call, so that the crash is also between two.
        text.as_bytes().chunks(100).for_each(|part| writer.write_all(part).expect("is written"));
        writer.finish().expect("is written");
    } else {
        let base = BaseDirectory::filesystem().expect("a directory");
        base.replace(&path, text.as_bytes(), WriteOptions::STATE).expect("is written");
    }
}

#[test]
fn a_crash_at_any_byte_leaves_the_old_file_or_the_new_one() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("file");
    let mut below = |most: u32| units_below(&mut random, most);
    let mut killed = 0;
    for round in 0..40 {
        std::fs::write(&path, OLD).expect("a file");
        let bytes = below(1500) + 1;
        let limit = if round % 4 == 0 { bytes } else { below(1500) };
        let which = ["output", "state"][round % 2];
        let ended = cut_short(place.path(), bytes, limit, which);
        let text = read(&path);
        if limit >= bytes {
            assert!(ended.success(), "{ended}");
            assert!(text == "n".repeat(bytes), "{bytes} bytes of at most {limit}");
        } else {
            assert_eq!((ended.signal(), text.as_str()), (Some(SIGXFSZ), OLD), "{limit} of {bytes}");
            killed += 1;
        }
    }
    assert!((10..=30).contains(&killed), "{killed} were killed");
    // The next write needs no draft's name that a crash has left; the one of a state file is removed.
    let base = BaseDirectory::filesystem().expect("a directory");
    base.replace(&path, b"last", WriteOptions::STATE).expect("is written");
    assert_eq!(read(&path), "last");
    assert!(!names(place.path()).contains(&"file.new".to_owned()));
}

fn units_below(random: &mut Xoshiro256PlusPlus, most: u32) -> usize {
    usize::try_from(random.next_u32() % most).expect("32 bits")
}
