//! The CPU of this machine: is each operation done, and is a wrong result found? Times are not judged.

use crate::measurements::answers;
use dsa_bench::operation::OPERATIONS;

#[test]
fn each_operation_is_done_and_leaves_what_it_should() {
    for operation in OPERATIONS {
        for operands in ["C,C", "F,F", "L,L"] {
            let name = operation.name;
            let line =
                format!("--on cpu -o {name} -s 4K,64K -n 3 -b 2 -i 2 -v --phases -z {operands}");
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
    let answer = &answers("--on cpu -t 3 -k 0 -n 2 -i 5 -v")[0];
    assert_eq!(answer.operations, 30);
}
