//! Phases of a log: the submissions between two long pauses.

use crate::contract::application::LogPhase;
use model::device::dsa::descriptor::{Descriptor, Operation};
use std::ops::Range;
use units::Picos;
use workload::descriptor_log::DescriptorLog;

/// Divides a log into phases at pauses of `pause` and longer. There are `most` phases at most: if there would
/// be more, only the longest pauses divide the log.
pub(super) fn log_phases(log: &DescriptorLog, pause: Picos, most: usize) -> Vec<LogPhase> {
    log.phases(pause, most).into_iter().map(|range| phase(log, range)).collect()
}

fn phase(log: &DescriptorLog, range: Range<usize>) -> LogPhase {
    let mut phase = LogPhase { range: range.clone(), ..LogPhase::default() };
    let offloads = &log.offloads[range];
    if let [first, ..] = offloads {
        phase.from = first.time;
    }
    if let [.., last] = offloads {
        phase.until = last.time;
    }
    for Descriptor { operation, .. } in offloads.iter().flat_map(|offload| &offload.members) {
        *phase.operations.entry(operation_name(*operation)).or_default() += 1;
        let has_no_data = matches!(operation, Operation::NoOp | Operation::Drain);
        phase.without_core_cost += u64::from(has_no_data);
    }
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
