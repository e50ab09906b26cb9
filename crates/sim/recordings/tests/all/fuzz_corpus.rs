//! Does everything that the fuzzer has found worth keeping still pass?

use crate::readers::TARGETS;

#[test]
fn the_kept_corpus_is_read_without_a_fault() {
    for (target, read) in TARGETS {
        fuzz_corpus::replay(target, 100, read);
    }
}
