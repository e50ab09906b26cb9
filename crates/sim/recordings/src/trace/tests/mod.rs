//! Results of reading traces, valid and invalid.

use std::io::Cursor;
use std::path::Path;
use std::{env, fs, process};

use proptest::prelude::*;

use super::test_files::*;
use super::*;
use crate::compression::test_files::{Cycled, packed};
use units::ReferenceKind;

/// All references of a file with these bytes.
fn parse(
    name: &str,
    format: Option<TraceFormat>,
    file: &[u8],
) -> Result<Vec<Reference>, TraceError> {
    let mut reader = TraceReader::from_reader(name, Cursor::new(file.to_vec()), format)?;
    let (mut all, mut block) = (Vec::new(), Vec::new());
    while reader.next_block(&mut block)? {
        assert!((1..=BLOCK_REFERENCES).contains(&block.len()));
        all.append(&mut block);
    }
    Ok(all)
}

fn never_stopped() -> StopReading {
    StopReading::new().expect("the host has descriptors")
}

fn parse_as(format: TraceFormat, file: &[u8]) -> Result<Vec<Reference>, TraceError> {
    parse("x", Some(format), file)
}

fn reference(kind: ReferenceKind, address: u64, bytes: u32) -> Reference {
    Reference { address, bytes, kind }
}

fn fetch(address: u64, bytes: u32) -> Reference {
    reference(ReferenceKind::Fetch, address, bytes)
}

fn load(address: u64, bytes: u32) -> Reference {
    reference(ReferenceKind::Load, address, bytes)
}

fn store(address: u64, bytes: u32) -> Reference {
    reference(ReferenceKind::Store, address, bytes)
}

/// The message for a file of these bytes, as a user sees it.
fn refusal(format: TraceFormat, file: &[u8]) -> String {
    parse_as(format, file).expect_err("the file should be refused").to_string()
}

#[track_caller]
fn assert_refused(format: TraceFormat, file: &[u8], words: &[&str]) {
    let message = refusal(format, file);
    for word in words {
        assert!(message.contains(word), "'{word}' is not in: {message}");
    }
}

/// References that the format can express.
fn references(format: TraceFormat) -> impl Strategy<Value = Vec<Reference>> {
    let kind = match format {
        TraceFormat::Raw64 => 1..2_usize,
        TraceFormat::Din => 0..3,
        TraceFormat::Lackey => 0..4,
        // The fetch of each instruction is inserted before its other references below.
        TraceFormat::ChampSim => 1..3,
    };
    let largest: u32 = if format == TraceFormat::Lackey { 512 } else { 1 };
    let one =
        (kind, any::<u64>(), 0..64_u32, 1..=largest).prop_map(|(kind, address, shift, bytes)| {
            let kinds = [
                ReferenceKind::Fetch,
                ReferenceKind::Load,
                ReferenceKind::Store,
                ReferenceKind::Modify,
            ];
            reference(kinds[kind], address >> shift, bytes)
        });
    prop::collection::vec(one, 1..300).prop_map(move |references| match format {
        TraceFormat::ChampSim => as_instructions(&references),
        _ => references,
    })
}

/// An instruction per data reference, or per load and store after it.
fn as_instructions(references: &[Reference]) -> Vec<Reference> {
    let mut ordered: Vec<Reference> = Vec::new();
    for data in references.iter().filter(|data| data.address != 0) {
        let joins = ordered.last().is_some_and(|last| last.kind == ReferenceKind::Load)
            && data.kind == ReferenceKind::Store;
        if !joins {
            ordered.push(fetch(data.address.rotate_left(7), 1));
        }
        ordered.push(*data);
    }
    ordered.push(fetch(1, 1));
    ordered
}

mod no_input_panics;
mod what_is_read;
mod what_is_refused;
