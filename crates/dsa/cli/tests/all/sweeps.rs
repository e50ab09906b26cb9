//! All operations at all sizes, as accel-config's dsa_test does them; and instructions in all encodings.

use crate::runs::Place;

const SWEEP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/sweep.c");
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
