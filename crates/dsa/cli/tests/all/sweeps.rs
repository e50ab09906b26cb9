//! All operations at all sizes, as accel-config's dsa_test does them; descriptors of random bytes, and instructions in
//! all encodings.

use crate::runs::Place;

const SWEEP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/sweep.c");
const RANDOM_BYTES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/random_bytes.c");
const ENCODINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/encodings.c");

#[test]
fn operations_from_a_byte_to_two_mebibytes_alone_and_in_batches() {
    let place = Place::new();
    place.compile(&["-O2", SWEEP, "-o", "sweep"]);
    // Status of delta records: success, or an operation that the part does not have.
    for (part, delta, count) in [("generous", "1", 712), ("sapphire-rapids", "16", 680)] {
        let options = ["--quiet", "--part", part];
        let queues = [("wq0.1", "1"), ("wq0.0", "0")];
        for (queue, is_shared) in &queues[..soak::amount(1, 2)] {
            let file = format!("/dev/dsa/{queue}");
            let words = ["./sweep", &file, is_shared, "2097152", delta];
            assert_eq!(place.run(&options, &words).with(0), format!("{count} done\n"), "{part}");
        }
    }
}

#[test]
fn instructions_are_emulated_in_whatever_encoding_they_come() {
    let place = Place::new();
    place.compile(&["-O1", ENCODINGS, "-o", "encodings"]);
    let seed = soak::seed(1).to_string();
    let words = ["./encodings", "/dev/dsa/wq0.1", &seed, soak::amount("20000", "2000000")];
    let out = place.run(&["--quiet"], &words).with(0);
    assert!(out.starts_with("accepted "), "{out}");
}

#[test]
fn descriptors_of_random_bytes_end_and_change_nothing_else() {
    let place = Place::new();
    place.compile(&["-O1", RANDOM_BYTES, "-o", "random_bytes"]);
    let seed = soak::seed(1).to_string();
    // Parts without an event log, through which records come some time later. What is recorded threads of the
    // engines execute: on a busy machine each descriptor waits for one.
    for (options, count) in [
        (&["--part", "generous"][..], soak::amount("5000", "300000")),
        (&["--part", "sapphire-rapids", "--record", "log.jsonl"], soak::amount("2000", "30000")),
        (&["--without-namespaces"], soak::amount("5000", "300000")),
    ] {
        let words = ["./random_bytes", "/dev/dsa/wq0.1", &seed, count];
        let out = place.run(&[&["--quiet"], options].concat(), &words).with(0);
        println!("{options:?}: {out}");
        assert!(out.contains("0x1: ") && out.contains("signals yes"), "{options:?}: {out}");
    }
}
