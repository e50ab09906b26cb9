//! Does everything that the fuzzer has found worth keeping still pass?

use std::fs;

use crate::readers::TARGETS;

/// Blocks of an archive by tar, and the fields of a member's header.
const BLOCK_BYTES: usize = 512;
const NAME_BYTES: usize = 100;
const SIZE: std::ops::Range<usize> = 124..135;

/// The members of an archive by tar: files with short names.
fn members(archive: &[u8]) -> Vec<(String, &[u8])> {
    let mut members = Vec::new();
    let mut rest = archive;
    while let Some((header, behind)) = rest.split_at_checked(BLOCK_BYTES)
        && header[0] != 0
    {
        let size = str::from_utf8(&header[SIZE]).expect("an octal number");
        let bytes = usize::from_str_radix(size, 8).expect("an octal number");
        let name = String::from_utf8_lossy(&header[..NAME_BYTES]);
        members.push((name.trim_end_matches('\0').to_owned(), &behind[..bytes]));
        rest = &behind[bytes.next_multiple_of(BLOCK_BYTES)..];
    }
    members
}

#[test]
fn the_kept_corpus_is_read_without_a_fault() {
    for (target, read) in TARGETS {
        let path = format!("{}/../../../fuzz/kept/{target}.tar", env!("CARGO_MANIFEST_DIR"));
        let archive = fs::read(path).expect("an archive for each target");
        let files = members(&archive);
        assert!(files.len() >= 10, "{target}: {} files are no corpus", files.len());
        for (name, bytes) in files {
            // The name of a file that fails is in the output that the harness shows.
            println!("{target}.tar: {name}");
            read(bytes);
        }
    }
}
