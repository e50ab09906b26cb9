//! Checks whether slices of the last-level cache can be distinguished: their counters, and physical
//! addresses.

use super::split_remedy;
use crate::cpu::CpuSocket;
use crate::machine::Host;
use crate::probe_memory::ProbePageSize;
use crate::slices::{BoxPlan, CountersError, CountingMethod, SliceMachine};
use crate::unavailable::Unavailable;

/// Method by which slices can be distinguished here.
pub(super) enum SliceMethod {
    /// The kernel counts look-ups in this number of boxes.
    Perf(u32),
    /// Registers of the boxes count, once they are written.
    Registers(BoxPlan),
    /// Latencies, because this machine has no counters of look-ups; the reason.
    Timing(String),
}

/// Tries to count look-ups at the first socket.
pub(super) fn find_method(host: &Host) -> Result<SliceMethod, Unavailable> {
    let machine = SliceMachine::read(host, None, None);
    match machine.and_then(|machine| machine.counting_method(host, None)) {
        Ok(CountingMethod::Perf(boxes, _)) => Ok(SliceMethod::Perf(boxes)),
        Ok(CountingMethod::Registers(plan)) => Ok(SliceMethod::Registers(plan)),
        Err(CountersError::NotHere(reason)) => Ok(SliceMethod::Timing(reason)),
        Err(error) => Err(split_remedy(&error.to_string())),
    }
}

/// Check of counting look-ups at slices.
pub(super) fn look_ups(
    means: &Result<SliceMethod, Unavailable>,
) -> Result<Option<String>, Unavailable> {
    match means {
        Ok(SliceMethod::Perf(boxes)) => {
            Ok(Some(format!("look-ups at {boxes} of them, through perf")))
        }
        Ok(SliceMethod::Registers(plan)) => {
            let slices = plan.counters.len();
            Ok(Some(format!("look-ups at {slices} of them, through registers")))
        }
        Ok(SliceMethod::Timing(reason)) => {
            let remedy = "skipline-host slices map --oracle timing --slices N: by latencies";
            Err(Unavailable::new("", reason.clone(), remedy))
        }
        Err(unread) => Err(unread.clone()),
    }
}

/// Check of huge pages with known physical addresses: maps one page and releases it.
pub(super) fn addresses(host: &Host) -> Result<Option<String>, Unavailable> {
    let sockets = crate::cpu::sockets(&host.root).unwrap_or_default();
    let cpu = sockets.first().map(CpuSocket::first_cpu).unwrap_or_default();
    match host.memory.map(ProbePageSize::TwoMiB, 1, cpu) {
        Ok(_) => Ok(None),
        Err(error) => Err(split_remedy(&error.to_string())),
    }
}

/// Check of writing the registers of the boxes, if that is needed.
pub(super) fn writable_counters(
    means: Result<SliceMethod, Unavailable>,
    refusal: Option<String>,
) -> Result<Option<String>, Unavailable> {
    match (means?, refusal) {
        (SliceMethod::Perf(_), _) => Ok(Some("not needed: the kernel counts".into())),
        (SliceMethod::Registers(_), Some(reason)) | (SliceMethod::Timing(reason), _) => {
            Err(Unavailable::without_remedy("", reason))
        }
        (SliceMethod::Registers(plan), None) => {
            let registers = plan.plan.changes.len();
            Ok(Some(format!("{registers} registers, while `slices map --apply` asks")))
        }
    }
}
