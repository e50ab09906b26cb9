//! A trace is refused, or has references in blocks; neither the way to its bytes nor the kind of block
//! matters.

use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Read};

use recordings::trace::{
    BLOCK_LOADS, BLOCK_REFERENCES, Batch, Batches as _, StopReading, TraceFault, TraceFormat,
    TraceReader,
};
use units::{Reference, ReferenceKind};

use super::file::OpenFile;
use super::pack;

/// Largest reference of any format.
const MOST_BYTES: u32 = 4096;
/// Most references of a block, of either kind.
const MOST_BATCH: usize = 8 * BLOCK_LOADS;

/// A summary of a trace: its references as their number and a hash, its format and its fault.
#[derive(Debug, Default, PartialEq)]
struct Summary {
    references: u64,
    hash: u64,
    format: Option<TraceFormat>,
    fault: Option<String>,
    /// Whether the fault is one of the packed data.
    is_damaged: bool,
}

impl Summary {
    fn set_fault(&mut self, fault: &TraceFault) {
        self.is_damaged = matches!(fault, TraceFault::CannotUnpack { .. });
        self.fault = Some(fault.to_string());
    }
}

/// A reader that returns a few bytes at once.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let rest = &self.bytes[self.at..];
        let count = (1 + self.at % 7).min(rest.len()).min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

pub fn read(bytes: &[u8]) {
    let Some((choice, content)) = bytes.split_first() else { return };
    let format = TraceFormat::ALL.get(usize::from(choice & 7)).copied();
    let packed = pack::chosen(choice >> 4, content);
    let open = |bytes: &[u8]| {
        let reader = io::Cursor::new(bytes.to_vec());
        TraceReader::from_reader("trace", reader, format).map_err(|error| error.fault)
    };
    let read = by_blocks(open(&packed));
    assert_eq!(by_batches(open(&packed)), read, "in batches");
    let pieces = Pieces { bytes: packed.to_vec(), at: 0 };
    let in_pieces = TraceReader::from_reader("trace", pieces, format);
    let in_pieces = by_blocks(in_pieces.map_err(|error| error.fault));
    // A decoder may drop what it has unpacked before the damage, so that the fault is at another place.
    let is_damaged = read.is_damaged || in_pieces.is_damaged;
    let both_fail = read.fault.is_some() && in_pieces.fault.is_some();
    assert!(
        in_pieces == read || is_damaged && both_fail,
        "in small pieces: {in_pieces:?}, {read:?}"
    );
    let files = [Some(OpenFile::of_bytes(&packed)), OpenFile::piped(&packed)];
    for file in files.into_iter().flatten() {
        let stop = StopReading::new().expect("the host has descriptors");
        let opened = TraceReader::open(file.path(), format, stop).map_err(|error| error.fault);
        assert_eq!(by_blocks(opened), read, "from a file or a pipe");
    }
    if packed != content && !pack::may_be_packed(content) {
        assert_eq!(read, by_blocks(open(content)), "packed and as it is");
    }
}

fn by_blocks(opened: Result<TraceReader, TraceFault>) -> Summary {
    summary(opened, |reader, hasher| {
        let mut block = Vec::new();
        let goes_on = reader.next_block(&mut block).map_err(|error| error.fault);
        block.iter().for_each(|reference| add(hasher, reference));
        (goes_on, block.len(), BLOCK_REFERENCES)
    })
}

fn by_batches(opened: Result<TraceReader, TraceFault>) -> Summary {
    summary(opened, |reader, hasher| {
        let mut batch = Batch::default();
        let goes_on = reader.next_batch(&mut batch).map_err(|error| error.fault);
        match &batch {
            Batch::References(references) => references.iter().for_each(|it| add(hasher, it)),
            Batch::Loads(addresses) => addresses.iter().for_each(|&address| {
                add(hasher, &Reference { address, bytes: 1, kind: ReferenceKind::Load });
            }),
        }
        (goes_on, batch.len(), MOST_BATCH)
    })
}

fn add(hasher: &mut DefaultHasher, reference: &Reference) {
    assert!((1..=MOST_BYTES).contains(&reference.bytes), "{reference:?}");
    hasher.write_u64(reference.address);
    hasher.write_u64(u64::from(reference.bytes) << 8 | reference.kind as u64);
}

/// All of a trace, by a function that reads the next block and returns its length and the most allowed.
fn summary(
    opened: Result<TraceReader, TraceFault>,
    mut next: impl FnMut(
        &mut TraceReader,
        &mut DefaultHasher,
    ) -> (Result<bool, TraceFault>, usize, usize),
) -> Summary {
    let mut summary = Summary::default();
    let mut reader = match opened {
        Ok(reader) => reader,
        Err(fault) => {
            summary.set_fault(&fault);
            return summary;
        }
    };
    let mut hasher = DefaultHasher::new();
    summary.format = Some(reader.format());
    loop {
        let (goes_on, count, most) = next(&mut reader, &mut hasher);
        assert!(count <= most, "{count} references in a block");
        summary.references += count as u64;
        match goes_on {
            Ok(true) => assert!(count > 0),
            Ok(false) => {
                assert!(count == 0 && summary.references > 0);
                break;
            }
            Err(fault) => {
                summary.set_fault(&fault);
                break;
            }
        }
    }
    let (goes_on, count, _) = next(&mut reader, &mut hasher);
    assert!(matches!(goes_on, Ok(false)) && count == 0, "an ended trace stays so");
    summary.hash = hasher.finish();
    summary
}
