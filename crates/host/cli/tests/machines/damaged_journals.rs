//! Is a journal that was cut short, or has other bits, told or put back as it says, and never lost?

use std::fs;

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::narrow::usize_from;

use crate::on_machine::{OnMachine, STATE};

const CHANGES: [&[&str]; 3] = [
    &["tune", "ddio-ways", "4", "--apply"],
    &["tune", "cat", "web", "0x3", "--apply"],
    &["tune", "ddio", "off", "--device", "17:00.0", "--apply"],
];

/// Cuts a text, or changes bits, bytes or a range of it.
fn damage(text: &[u8], random: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut bytes = text.to_vec();
    let below = |random: &mut Xoshiro256PlusPlus, most: usize| usize_from(random.next_u64()) % most;
    let at = below(random, bytes.len());
    match below(random, 6) {
        0 => bytes.truncate(at),
        1 => bytes[at] ^= 1 << below(random, 8),
        2 => (0..8)
            .for_each(|_| bytes[below(random, text.len())] = random.next_u64().to_le_bytes()[0]),
        // A block that was never written.
        3 => bytes[at..].iter_mut().take(512).for_each(|byte| *byte = 0),
        4 => drop(bytes.drain(at..(at + 1 + below(random, 40)).min(text.len()))),
        _ => bytes.splice(at..at, text[..at].to_vec()).for_each(drop),
    }
    bytes
}

/// Values that a restore says it has put back in registers of ways: socket and value.
fn put_back(out: &str) -> Vec<(String, String)> {
    let of_line = |line: &str| {
        let (place, value) = line.trim().split_once(": put back to ")?;
        let socket = place.strip_prefix("MSR 0xc8b of socket ")?;
        Some((socket.to_owned(), value.to_owned()))
    };
    out.lines().filter_map(of_line).collect()
}

#[test]
fn a_damaged_journal_is_told_or_put_back_as_it_says() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(soak::seed(52));
    let (mut told, mut done) = (0, 0);
    for number in 0..soak::amount(24, 300) {
        let machine = OnMachine::new("skylake", &[]);
        for change in CHANGES {
            assert_eq!(machine.run(change).code, Some(0), "{change:?}");
        }
        let (before, path) = (machine.content(), machine.path().join(STATE).join("journal.json"));
        let damaged = damage(&fs::read(&path).expect("the journal"), &mut random);
        fs::write(&path, &damaged).expect("the journal");
        let shown = String::from_utf8_lossy(&damaged);
        for command in [&["status"][..], &["restore", "--dry-run"], &["doctor"]] {
            let code = machine.run(command).code;
            assert!([Some(0), Some(1), Some(3)].contains(&code), "{number} {command:?} {shown}");
            assert!(machine.content() == before, "{number} {command:?} {shown}");
        }
        let run = machine.run(&["restore"]);
        assert!([Some(0), Some(1), Some(3)].contains(&run.code), "{number} {} {shown}", run.err);
        if run.out.is_empty() {
            // A file that is not understood is left as it is, with words.
            assert!(run.err.contains("journal.json"), "{number} {}", run.err);
            assert!(machine.content() == before, "{number} {shown}");
            assert_eq!(fs::read(&path).expect("the journal"), damaged, "{number}");
            told += 1;
            continue;
        }
        let status = machine.run(&["status"]).out;
        for (socket, value) in put_back(&run.out) {
            let screen = status.split("SOCKET ").find(|part| part.starts_with(&socket));
            let screen = screen.expect("the socket");
            assert!(screen.contains(&format!("MSR 0xc8b = {value}")), "{number} {screen}");
        }
        // Changes that are not put back are still in the journal.
        assert!(run.code == Some(0) || path.exists(), "{number} {}{}", run.out, run.err);
        done += 1;
    }
    assert!(told > 0 && done > 0, "{told} {done}");
}
