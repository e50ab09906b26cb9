//! The calls that the device in software did, from the log of the run, and samples of them.

use super::counts::CountedCalls;
use crate::failure::CommandFailure;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use units::narrow::usize_from;

/// Operations of the preloaded library: move, fill, compare [DSA specification, 8.1.2].
const OPCODES: [u64; 3] = [3, 4, 5];
/// Flag of a descriptor whose destination goes to the last-level cache [DSA specification, 8.1.3].
const CACHE_CONTROL: u64 = 1 << 8;
/// A piece of the log has at most so many bytes (or one offload) and offloads: large enough that its first
/// accesses do not count, small enough that a sample has pieces of all of the run.
const PIECE_BYTES: u64 = 4 << 20;
const PIECE_OFFLOADS: u64 = 1000;
/// A sample has about so many bytes, and so many offloads: a few seconds of simulation.
const SAMPLE_BYTES: u64 = 16 << 20;
const SAMPLE_OFFLOADS: u64 = 6000;
/// Offloads that a sample gets of each size that its pieces lack.
const RARE_OFFLOADS: usize = 4;

/// One offload of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedOffload {
    pub opcode: u64,
    pub flags: u64,
    pub bytes: u64,
    /// Address of the first operand, if the operation has one.
    pub source: Option<u64>,
    pub destination: u64,
}

/// All offloads of a run, in the order of their times.
#[derive(Debug, Default)]
pub struct Offloads {
    pub all: Vec<RecordedOffload>,
    /// Offloads by the least size of their class.
    pub by_size: BTreeMap<u64, OffloadSum>,
}

/// Number of offloads, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffloadSum {
    pub offloads: u64,
    pub bytes: u64,
}

impl Offloads {
    /// Reads the log; with `calls`, only what their processes have submitted.
    pub fn read(log: &Path, calls: Option<&CountedCalls>) -> Result<Self, CommandFailure> {
        let failed = |error| CommandFailure::failed(format!("{}: {error}", log.display()));
        let file = std::fs::File::open(log).map_err(failed)?;
        let mut read = Self::default();
        for line in BufReader::new(file).lines() {
            let Ok(fields) = serde_json::from_str(&line.map_err(failed)?) else { continue };
            if calls.is_none_or(|calls| is_of(calls, &fields)) {
                read.add(offload(&fields));
            }
        }
        Ok(read)
    }

    fn add(&mut self, offload: Option<RecordedOffload>) {
        let Some(offload) = offload else { return };
        let sum = self.by_size.entry(size_class(offload.bytes)).or_default();
        sum.offloads += 1;
        sum.bytes += offload.bytes;
        self.all.push(offload);
    }

    /// Sum over all sizes.
    pub fn total(&self) -> OffloadSum {
        let mut all = OffloadSum::default();
        for sum in self.by_size.values() {
            all.offloads += sum.offloads;
            all.bytes += sum.bytes;
        }
        all
    }

    /// Share of the bytes that are written to the last-level cache, 0 to 1.
    pub fn to_cache(&self) -> f64 {
        let sum = |wanted: fn(&RecordedOffload) -> bool| -> f64 {
            let bytes = self.all.iter().filter(|it| wanted(it)).map(|it| it.bytes);
            bytes.map(in_f64).sum()
        };
        sum(|it| it.flags & CACHE_CONTROL != 0) / sum(|_| true).max(1.0)
    }

    /// Sample `number` of `count`: pieces of the log at equal distances, so that together they are about
    /// [`SAMPLE_BYTES`]; all of the log if it has no more. Sizes that these pieces lack follow, with
    /// [`RARE_OFFLOADS`] of each.
    pub fn sample(&self, number: usize, count: usize) -> Vec<&[RecordedOffload]> {
        let pieces = self.pieces();
        let OffloadSum { offloads, bytes } = self.total();
        let every = bytes.div_ceil(SAMPLE_BYTES).max(offloads.div_ceil(SAMPLE_OFFLOADS));
        let every = usize_from(every).clamp(1, pieces.len().max(1));
        let first = number * every / count.max(1);
        let mut sample: Vec<_> = pieces.into_iter().skip(first).step_by(every).collect();
        let present: BTreeSet<u64> =
            sample.iter().flat_map(|piece| piece.iter()).map(|it| size_class(it.bytes)).collect();
        for rare in self.by_size.keys().filter(|size| !present.contains(size)) {
            let own = self.all.chunks(1).filter(|it| size_class(it[0].bytes) == *rare);
            sample.extend(own.take(RARE_OFFLOADS));
        }
        sample
    }

    /// The log in pieces, each of which is contiguous.
    fn pieces(&self) -> Vec<&[RecordedOffload]> {
        let mut pieces = Vec::new();
        let (mut begin, mut bytes) = (0, 0);
        for (number, offload) in self.all.iter().enumerate() {
            let is_full =
                bytes + offload.bytes > PIECE_BYTES || number - begin >= usize_from(PIECE_OFFLOADS);
            if is_full && number > begin {
                pieces.push(&self.all[begin..number]);
                (begin, bytes) = (number, 0);
            }
            bytes += offload.bytes;
        }
        if begin < self.all.len() {
            pieces.push(&self.all[begin..]);
        }
        pieces
    }
}

/// The least size of the class of a size: the power of two below it.
pub fn size_class(bytes: u64) -> u64 {
    bytes.checked_ilog2().map_or(0, |log| 1 << log)
}

/// A count or a number of bytes for arithmetic.
pub fn in_f64(number: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "digits beyond the fifteenth do not matter")]
    let number = number as f64;
    number
}

fn is_of(calls: &CountedCalls, fields: &Value) -> bool {
    fields["process"].as_u64().is_some_and(|process| calls.processes.contains(&process))
}

fn offload(fields: &Value) -> Option<RecordedOffload> {
    let address = |name: &str| -> Option<u64> {
        u64::from_str_radix(fields[name].as_str()?.strip_prefix("0x")?, 16).ok()
    };
    let opcode = fields["opcode"].as_u64()?;
    let bytes = fields["bytes"].as_u64()?;
    let has_source = opcode != 4;
    if !OPCODES.contains(&opcode) || bytes == 0 {
        return None;
    }
    Some(RecordedOffload {
        opcode,
        flags: fields["flags"].as_u64().unwrap_or_default(),
        bytes,
        source: if has_source { Some(address("source")?) } else { None },
        destination: address("destination")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copies(count: u64, bytes: u64) -> Offloads {
        let mut all = Offloads::default();
        for number in 0..count {
            let (source, destination) = (Some(number << 32), number << 33);
            all.add(Some(RecordedOffload { opcode: 3, flags: 0, bytes, source, destination }));
        }
        all
    }

    #[test]
    fn a_small_log_is_its_own_sample() {
        let all = copies(2500, 4096);
        for number in 0..3 {
            let sample = all.sample(number, 3);
            assert_eq!(sample.concat(), all.all);
            assert_eq!(sample.iter().map(|it| it.len()).collect::<Vec<_>>(), [1000, 1000, 500]);
        }
    }

    #[test]
    fn samples_of_a_large_log_are_pieces_of_all_of_it_and_differ() {
        // 512 MiB in 128 pieces: every 32nd piece.
        let all = copies(8192, 65_536);
        let samples: Vec<Vec<RecordedOffload>> =
            (0..3).map(|number| all.sample(number, 3).concat()).collect();
        for sample in &samples {
            assert_eq!(sample.len(), 256);
            let first = sample[0].destination >> 33;
            let last = sample[255].destination >> 33;
            assert!(first < 2048 && last >= 6144, "{first} {last}");
        }
        assert!(samples[0][0] != samples[1][0] && samples[1][0] != samples[2][0]);
    }

    #[test]
    fn a_size_that_is_rare_is_in_each_sample() {
        let mut all = copies(8192, 65_536);
        all.add(Some(RecordedOffload { bytes: 300_000, ..all.all[0] }));
        for number in 0..3 {
            let sample = all.sample(number, 3).concat();
            assert_eq!(sample.iter().filter(|it| it.bytes == 300_000).count(), 1);
        }
    }

    #[test]
    fn an_offload_that_is_larger_than_a_piece_is_one() {
        assert_eq!(copies(3, PIECE_BYTES * 2).pieces().len(), 3);
    }

    #[test]
    fn sizes_belong_to_the_power_of_two_below_them() {
        assert_eq!([0, 1, 1023, 1024, 2047].map(size_class), [0, 1, 512, 1024, 1024]);
    }
}
