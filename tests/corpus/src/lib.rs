//! Inputs that the fuzzer found worth keeping: one archive by tar for each target, in `fuzz/kept`.
//!
//! Source: POSIX, ustar: a header of 512 bytes, then the content, padded to a multiple of 512.
//! Simplifies: members are files with names of up to 100 bytes.

use std::fs;
use std::ops::Range;

const BLOCK_BYTES: usize = 512;
/// Fields of a member's header; all numbers are octal.
const NAME: Range<usize> = 0..100;
const SIZE: Range<usize> = 124..135;
const CHECKSUM: Range<usize> = 148..156;

/// Calls `check` with every input that is kept for a target, in the order of the archive.
///
/// # Panics
/// If the archive is missing or damaged, or holds fewer than `fewest` inputs.
pub fn replay(target: &str, fewest: usize, check: impl Fn(&[u8])) {
    for (name, bytes) in inputs(target, fewest) {
        // The name of an input that fails is in the output that the harness shows.
        println!("{target}.tar: {name}");
        check(&bytes);
    }
}

/// The inputs that are kept for a target, and their names, in the order of the archive.
///
/// # Panics
/// If the archive is missing or damaged, or holds fewer than `fewest` inputs.
pub fn inputs(target: &str, fewest: usize) -> Vec<(String, Vec<u8>)> {
    let path = format!("{}/../../fuzz/kept/{target}.tar", env!("CARGO_MANIFEST_DIR"));
    let archive = fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let members = members(target, &archive, fewest).into_iter();
    members.map(|(name, bytes)| (name, bytes.to_vec())).collect()
}

/// The members of an archive by name.
fn members<'a>(target: &str, archive: &'a [u8], fewest: usize) -> Vec<(String, &'a [u8])> {
    let mut members = Vec::new();
    let mut rest = archive;
    // An archive ends with blocks of zeros.
    while rest.first().is_some_and(|first| *first != 0) {
        let (header, behind) = rest.split_at_checked(BLOCK_BYTES).expect("a whole header");
        let name = String::from_utf8_lossy(&header[NAME]).trim_end_matches('\0').to_owned();
        assert_eq!(octal(&header[CHECKSUM]), checksum(header), "{target}.tar: {name} is damaged");
        let bytes = octal(&header[SIZE]);
        members.push((name, behind.get(..bytes).expect("a whole member")));
        rest = behind.get(bytes.next_multiple_of(BLOCK_BYTES)..).expect("whole blocks");
    }
    let count = members.len();
    assert!(count >= fewest, "{target}.tar: {count} inputs are not a corpus");
    members
}

fn octal(field: &[u8]) -> usize {
    let digits = String::from_utf8_lossy(field);
    let digits = digits.trim_matches(['\0', ' ']);
    usize::from_str_radix(digits, 8).unwrap_or_else(|_| panic!("'{digits}' is not an octal number"))
}

/// The sum of a header's bytes, those of the checksum itself taken as spaces.
fn checksum(header: &[u8]) -> usize {
    let is_counted = |at: usize| !CHECKSUM.contains(&at);
    let counted = header.iter().enumerate().filter(|(at, _)| is_counted(*at));
    counted.map(|(_, byte)| usize::from(*byte)).sum::<usize>() + CHECKSUM.len() * usize::from(b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A member as tar writes it.
    fn member(name: &str, content: &[u8]) -> Vec<u8> {
        let mut header = [0; BLOCK_BYTES];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[SIZE].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        let sum = format!("{:06o}\0 ", checksum(&header));
        header[CHECKSUM].copy_from_slice(sum.as_bytes());
        let padded = content.len().next_multiple_of(BLOCK_BYTES);
        let mut bytes = header.to_vec();
        bytes.extend(content);
        bytes.resize(BLOCK_BYTES + padded, 0);
        bytes
    }

    fn archive() -> Vec<u8> {
        let empty = member("empty", b"");
        [member("one", b"content"), empty, member("two", &[7; 513]), vec![0; 1024]].concat()
    }

    #[test]
    fn members_have_their_names_and_contents() {
        let archive = archive();
        let expected: [(&str, &[u8]); 3] =
            [("one", b"content"), ("empty", b""), ("two", &[7; 513])];
        let expected = expected.map(|(name, content)| (name.to_owned(), content));
        assert_eq!(members("test", &archive, 3), expected);
    }

    #[test]
    #[should_panic(expected = "test.tar: 3 inputs are not a corpus")]
    fn an_archive_with_too_few_inputs_is_refused() {
        members("test", &archive(), 4);
    }

    #[test]
    #[should_panic(expected = "test.tar: 0 inputs are not a corpus")]
    fn an_empty_archive_is_refused() {
        members("test", &[], 1);
    }

    #[test]
    #[should_panic(expected = "one is damaged")]
    fn a_damaged_header_is_refused() {
        let mut archive = archive();
        archive[SIZE.end - 1] ^= 1;
        members("test", &archive, 1);
    }

    #[test]
    #[should_panic(expected = "a whole member")]
    fn an_archive_that_is_cut_short_is_refused() {
        members("test", &archive()[..BLOCK_BYTES + 3], 1);
    }

    #[test]
    #[should_panic(expected = "no-such-target.tar: No such file")]
    fn a_missing_archive_is_refused() {
        replay("no-such-target", 0, |_| {});
    }
}
