//! Parts of a log: the submissions between two long pauses, or those of like sizes.

use crate::contract::application::LogPhase;
use model::device::dsa::descriptor::{Descriptor, Operation};
use std::collections::BTreeMap;
use units::Picos;
use workload::descriptor_log::{DescriptorLog, LoggedOffload};

/// A log in parts.
#[derive(Clone, Debug)]
pub(super) struct DividedLog {
    /// The parts, in the order of the log or of their sizes.
    pub phases: Vec<LogPhase>,
    /// The part of each submission, by its number in the log.
    pub phase_of: Vec<usize>,
}

/// Divides a log into phases at pauses of `pause` and longer. There are `most` phases at most: if there would
/// be more, only the longest pauses divide the log.
pub(super) fn divide_at_pauses(log: &DescriptorLog, pause: Picos, most: usize) -> DividedLog {
    let ranges = log.phases(pause, most);
    let phase_of =
        ranges.iter().zip(0..).flat_map(|(range, phase)| range.clone().map(move |_| phase));
    DividedLog {
        phase_of: phase_of.collect(),
        phases: ranges.iter().map(|range| phase(log.offloads[range.clone()].iter())).collect(),
    }
}

/// Divides a log by the sizes of its submissions in bytes, a batch by the sum of its members: each part has
/// those from a power of two to the next. Submissions without data are a part of their own, from 0.
pub(super) fn divide_by_sizes(log: &DescriptorLog) -> DividedLog {
    let classes: Vec<u64> = log.offloads.iter().map(size_class).collect();
    let mut members: BTreeMap<u64, Vec<&LoggedOffload>> = BTreeMap::new();
    for (class, offload) in classes.iter().zip(&log.offloads) {
        members.entry(*class).or_default().push(offload);
    }
    let numbers: BTreeMap<u64, usize> = members.keys().copied().zip(0..).collect();
    let part = |(least_bytes, own): (u64, Vec<&LoggedOffload>)| LogPhase {
        least_bytes: Some(least_bytes),
        ..phase(own.into_iter())
    };
    DividedLog {
        phase_of: classes.iter().map(|class| numbers[class]).collect(),
        phases: members.into_iter().map(part).collect(),
    }
}

/// The power of two up to which the size of a submission is rounded down; 0 without data.
fn size_class(offload: &LoggedOffload) -> u64 {
    let bytes: u64 = offload.members.iter().map(|member| member.bytes).sum();
    bytes.checked_ilog2().map_or(0, |log| 1 << log)
}

fn phase<'a>(offloads: impl Iterator<Item = &'a LoggedOffload>) -> LogPhase {
    let mut phase = LogPhase::default();
    let mut first = None;
    for offload in offloads {
        first = first.or(Some(offload.time));
        phase.until = offload.time;
        for Descriptor { operation, .. } in &offload.members {
            *phase.operations.entry(operation_name(*operation)).or_default() += 1;
            let has_no_data = matches!(operation, Operation::NoOp | Operation::Drain);
            phase.without_core_cost += u64::from(has_no_data);
        }
    }
    phase.from = first.unwrap_or_default();
    phase
}

/// The name of an operation in scenarios and results.
fn operation_name(operation: Operation) -> &'static str {
    match operation {
        Operation::NoOp => "no-op",
        Operation::Drain => "drain",
        Operation::Move => "copy",
        Operation::Fill => "fill",
        Operation::Compare => "compare",
        Operation::ComparePattern => "compare-pattern",
        Operation::CreateDelta { .. } => "create-delta",
        Operation::ApplyDelta { .. } => "apply-delta",
        Operation::Dualcast => "dualcast",
        Operation::Crc => "crc",
        Operation::CopyCrc => "copy-crc",
        Operation::DifCheck { .. } => "dif-check",
        Operation::DifInsert { .. } => "dif-insert",
        Operation::DifStrip { .. } => "dif-strip",
        Operation::DifUpdate { .. } => "dif-update",
        Operation::CacheFlush => "cache-flush",
    }
}
