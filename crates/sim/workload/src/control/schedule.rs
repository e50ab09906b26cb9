//! Changes of a root port's policy at given times, as by an operator or a script.
//!
//! Models: DDIOTune of ATC'20, which writes the way mask register and the port's switches while traffic
//! flows: no line is flushed or moved.
//! Source: ATC'20 and its tools (github aliireza/ddio-bench).
//! Simplifies: a write to a register takes no time.

use model::fabric::Fabric;
use model::machine::Controller;
use model::root_complex::ddio::IoPolicy;
use model::tracer::Tracer;
use std::collections::VecDeque;
use units::{Picos, RootPortId};

/// A change of a root port's policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyChange {
    /// Time of the change.
    pub at: Picos,
    /// Root port whose policy changes.
    pub port: RootPortId,
    /// Policy of the root port from then on.
    pub policy: IoPolicy,
}

/// Pending changes, in time order.
#[derive(Clone, Debug)]
pub struct PolicySchedule {
    changes: VecDeque<PolicyChange>,
}

impl PolicySchedule {
    /// Takes changes in any order; of two at the same time, the later one of the list applies.
    #[must_use]
    pub fn new(mut changes: Vec<PolicyChange>) -> Self {
        changes.sort_by_key(|change| change.at);
        Self { changes: changes.into() }
    }
}

impl<T: Tracer> Controller<T> for PolicySchedule {
    fn step(&mut self, fabric: &mut Fabric<T>, now: Picos) -> Picos {
        while let Some(change) = self.changes.front().copied() {
            if change.at > now {
                return change.at;
            }
            fabric.set_io_policy(change.port, change.policy);
            self.changes.pop_front();
        }
        Picos::NEVER
    }
}
