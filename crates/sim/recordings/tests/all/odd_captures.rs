//! Does a replay have the packets, lengths and times that tshark finds in the same file?
//!
//! Files are drawn: each is valid, and odd in ways that files of other tools are. Three opinions are
//! compared: tshark has to find the packets that the writer means, and the reader has to give the replay of
//! these. The reader gets each file also packed; tshark, which does not unpack all of them, gets it as it is.
//!
//! tshark 4.0 is left out where it is wrong or strict, and nowhere else ([`packet::TsharkTime`],
//! [`odd_file::OddFile::is_refused_by_tshark`]):
//! - it prints nanoseconds; what is finer is compared with the writer's opinion;
//! - fractions of a second in units finer than 2^-34 s overflow in it; seconds are compared;
//! - fractions of 2^31 ns and more in pcap files overflow in it; no time is compared;
//! - it refuses a file for an option of a packet whose length is not that of its code, and for an interface
//!   whose filter is empty.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "files of the tests are small"
)]

mod byte_order;
mod dice;
mod interface;
mod odd_file;
mod other_blocks;
mod packet;
mod packing;
mod pcap_file;
mod pcapng_file;
mod pcapng_options;
mod replay;
mod times;
mod tshark;

use std::fs;
use std::path::Path;
use std::thread;

use recordings::capture::{CaptureError, CaptureFault, CaptureOptions, Recording, read};

use self::dice::Dice;
use self::odd_file::OddFile;
use self::replay::Replay;

/// Programs that run at once.
const THREADS: u64 = 2;

#[test]
fn odd_files_have_the_packets_that_tshark_finds() {
    let files = soak::amount(12, 1_200);
    let first = soak::seed(1) << 32;
    let directory = tempfile::tempdir().expect("a directory");
    let compared: Vec<_> = thread::scope(|scope| {
        let threads = (0..THREADS).map(|thread| {
            let directory = directory.path();
            scope.spawn(move || {
                let seeds = (0..files).skip(thread as usize).step_by(THREADS as usize);
                seeds.map(|number| compare(first + number, directory)).collect::<Vec<_>>()
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    let disagreements: Vec<_> = compared.iter().filter_map(|one| one.as_ref().err()).collect();
    let count = disagreements.len();
    let shown: String = disagreements.iter().take(10).map(|words| format!("{words}\n")).collect();
    assert!(disagreements.is_empty(), "{count} of {files} files:\n{shown}");
    let packets: usize = compared.iter().flatten().sum();
    assert!(packets as u64 > 3 * files, "only {packets} packets were compared");
}

/// Compares three opinions on a file; returns the number of packets.
fn compare(seed: u64, directory: &Path) -> Result<usize, String> {
    let file = OddFile::draw(seed);
    let is_pcapng = file.content.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]);
    let extension = if is_pcapng { "pcapng" } else { "pcap" };
    let path = directory.join(format!("{seed}.{extension}"));
    fs::write(&path, &file.content).expect("is written");
    let in_words = |words: String| format!("file {seed} ({extension}): {words}");
    check_by_tshark(&file, &path).map_err(in_words)?;
    let expected = Replay::from_packets(&file.packets);
    check_reading(&path, &file, expected.as_ref()).map_err(in_words)?;
    let mut dice = Dice::new(seed);
    for packing in packing::EXTENSIONS {
        let packed = path.with_extension(format!("{extension}.{packing}"));
        fs::write(&packed, packing::pack(&mut dice, packing, &file.content)).expect("is written");
        check_reading(&packed, &file, expected.as_ref())
            .map_err(|words| in_words(format!("packed as {packing}: {words}")))?;
        fs::remove_file(packed).expect("is removed");
    }
    fs::remove_file(path).expect("is removed");
    Ok(expected.map_or(0, |replay| replay.packet_count()))
}

/// Checks that tshark finds the packets that are meant, unless it refuses the file, as it does some.
fn check_by_tshark(file: &OddFile, path: &Path) -> Result<(), String> {
    let rows = match tshark::packets(path) {
        Ok(rows) => rows,
        Err(_) if file.is_refused_by_tshark => return Ok(()),
        Err(refusal) => return Err(format!("tshark refuses it: {refusal}")),
    };
    if rows.len() != file.packets.len() {
        return Err(format!("tshark has {} packets of {}", rows.len(), file.packets.len()));
    }
    rows.iter().zip(&file.packets).try_for_each(|(row, meant)| row.check(meant))
}

fn check_reading(path: &Path, file: &OddFile, expected: Option<&Replay>) -> Result<(), String> {
    match (read(path, &CaptureOptions::default()), expected) {
        (Ok(recording), Some(expected)) => check_recording(&recording, file, expected),
        (Err(error), None) if is_without_packets(&error) => Ok(()),
        (Ok(_), None) => Err("is read, and has no packets".to_owned()),
        (Err(error), _) => Err(error.to_string()),
    }
}

fn check_recording(recording: &Recording, file: &OddFile, expected: &Replay) -> Result<(), String> {
    let read = Replay::from_recording(recording, expected);
    if let Some(difference) = expected.difference(&read) {
        return Err(format!("expected and read differ: {difference}"));
    }
    if recording.oddities != file.oddities {
        return Err(format!("expected {:?}, read {:?}", file.oddities, recording.oddities));
    }
    Ok(())
}

fn is_without_packets(error: &CaptureError) -> bool {
    matches!(error.fault, CaptureFault::NoPackets | CaptureFault::UnsupportedLinkType { .. })
}
