//! Whether slices of the last-level cache can be told apart: their counters, and where lines lie.

use super::split_remedy;
use crate::cpu::Socket;
use crate::machine::Host;
use crate::probe_memory::ProbePageSize;
use crate::slices::{BoxPlan, Counting, NoCounters, SliceMachine};
use crate::unread::Unread;

/// How slices can be told apart here.
pub(super) enum Means {
    /// The kernel counts look-ups in so many boxes.
    Perf(u32),
    /// Registers of the boxes count, once they are written.
    Registers(BoxPlan),
    /// This machine has no such counters, for this reason: latencies are left.
    Timing(String),
}

/// Tries to count look-ups at the first socket.
pub(super) fn means(host: &Host) -> Result<Means, Unread> {
    let machine = SliceMachine::read(host, None, None);
    match machine.and_then(|machine| machine.counting(host, None)) {
        Ok(Counting::Perf(boxes, _)) => Ok(Means::Perf(boxes)),
        Ok(Counting::Registers(plan)) => Ok(Means::Registers(plan)),
        Err(NoCounters::NotHere(reason)) => Ok(Means::Timing(reason)),
        Err(error) => Err(split_remedy(&error.to_string())),
    }
}

/// What tells the slice of a line.
pub(super) fn look_ups(means: &Result<Means, Unread>) -> Result<Option<String>, Unread> {
    match means {
        Ok(Means::Perf(boxes)) => Ok(Some(format!("look-ups at {boxes} of them, through perf"))),
        Ok(Means::Registers(plan)) => {
            let slices = plan.counters.len();
            Ok(Some(format!("look-ups at {slices} of them, through registers")))
        }
        Ok(Means::Timing(reason)) => {
            let remedy = "skipline-host slices map --oracle timing --slices N: by latencies";
            Err(Unread::new("", reason.clone(), remedy))
        }
        Err(unread) => Err(unread.clone()),
    }
}

/// Whether huge pages are there, and the kernel says where they lie: one is mapped and given back.
pub(super) fn addresses(host: &Host) -> Result<Option<String>, Unread> {
    let sockets = crate::cpu::sockets(&host.root).unwrap_or_default();
    let cpu = sockets.first().map(Socket::first_cpu).unwrap_or_default();
    match host.memory.map(ProbePageSize::TwoMiB, 1, cpu) {
        Ok(_) => Ok(None),
        Err(error) => Err(split_remedy(&error.to_string())),
    }
}

/// Whether the registers of the boxes can be written, where that is needed.
pub(super) fn written(
    means: Result<Means, Unread>,
    refusal: Option<String>,
) -> Result<Option<String>, Unread> {
    match (means?, refusal) {
        (Means::Perf(_), _) => Ok(Some("not needed: the kernel counts".into())),
        (Means::Registers(_), Some(reason)) | (Means::Timing(reason), _) => {
            Err(Unread::absent("", reason))
        }
        (Means::Registers(plan), None) => {
            let registers = plan.plan.changes.len();
            Ok(Some(format!("{registers} registers, while `slices map --apply` asks")))
        }
    }
}
