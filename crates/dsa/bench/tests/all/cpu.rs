//! The CPU of this machine: is each operation done, and is a wrong result found? Times are not judged.

use crate::measurements::answers;
use dsa_bench::operation::OPERATIONS;

#[test]
fn each_operation_is_done_and_leaves_what_it_should() {
    for operation in OPERATIONS {
        for operands in ["core", "flushed", "llc", "prefetched"] {
            let name = operation.name;
            let line = format!(
                "--on cpu -o {name} -s 4K,64K -n 3 -b 2 -i 2 -v 1 --phases --operands {operands}"
            );
            let answers = answers(&line);
            assert_eq!(answers.len(), 2, "{line}");
            for answer in answers {
                assert_eq!(answer.operations, 12, "{line}");
                assert!(
                    answer.gbytes_per_s > 0.0 && answer.phases_ns["work"] > 0.0,
                    "{line}: {answer:?}"
                );
            }
        }
    }
}

#[test]
fn threads_have_buffers_of_their_own() {
    let answer = &answers("--on cpu --threads 3 -k 0 -n 2 -i 5")[0];
    assert_eq!(answer.operations, 30);
}

#[test]
fn a_measurement_ends_with_its_rounds_or_with_its_time() {
    let operations = |line: &str| answers(&format!("--on cpu -n 2 {line}"))[0].operations;
    assert_eq!(operations("-i 3"), 6);
    assert_eq!(operations("-i 3 -W 5"), 6, "rounds of a warm-up do not count");
    assert_eq!(operations("-i 3 -T 60"), 6, "whichever comes first");
    let from = std::time::Instant::now();
    let (by_time, without_end) = (operations("-T 1"), operations("-i -1 -T 1"));
    assert!(from.elapsed().as_secs() >= 2, "{:?}", from.elapsed());
    // A round of two copies takes microseconds.
    assert!(by_time > 2000 && without_end > 2000, "{by_time}, {without_end}");
}

#[test]
fn buffers_have_the_distance_and_the_offsets_that_are_asked_for() {
    for line in
        ["-t 64K -s 4K", "-O 1,3 -s 4K", "-O 64 -t 8K -o dualcast -s 4K", "-O 8,16 -o create-delta"]
    {
        assert_eq!(answers(&format!("--on cpu -n 3 -i 2 {line}"))[0].operations, 6, "{line}");
    }
}
