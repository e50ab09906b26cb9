//! Functions of a program that a device calls.

use super::{EventLog, LoggedEvent, SoftwareError, SubmissionOrigin};
use crate::engine::EndedDescriptor;
use crate::inject::Injector;
use std::sync::Arc;

/// Function that an engine calls for each descriptor that has ended, members of batches included. It must not
/// wait for the device: the engine goes on when it returns.
pub type Watcher = Arc<dyn Fn(&SubmissionOrigin, &EndedDescriptor<'_>) + Send + Sync>;

/// Interrupt of the software error register: called when the register becomes valid, by the engine or, if a
/// full queue loses a descriptor, by its submitter. It must not wait for the device.
pub type ErrorHook = Arc<dyn Fn(&SoftwareError) + Send + Sync>;

/// Interrupt that a descriptor requests, with its handle: called by the engine when the descriptor has ended
/// and its record is written, members of batches included. It must not wait for the device.
pub type InterruptHook = Arc<dyn Fn(&SubmissionOrigin, u16) + Send + Sync>;

/// Interrupt of the event log: called by an engine when an entry is written and no interrupt is pending. It
/// must not wait for the device.
pub type EventHook = Arc<dyn Fn(&LoggedEvent) + Send + Sync>;

/// Functions that a device calls, its event log, and injected faults. Default: none of them.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Called for each descriptor that has ended.
    pub watcher: Option<Watcher>,
    /// Called when the software error register becomes valid.
    pub on_error: Option<ErrorHook>,
    /// Called for descriptors that request an interrupt.
    pub on_interrupt: Option<InterruptHook>,
    /// The event log, which takes errors in place of the software error register.
    pub event_log: Option<Arc<EventLog>>,
    /// Called for new entries of the event log.
    pub on_event: Option<EventHook>,
    /// Faults, refusals, delays and resets on purpose.
    pub injector: Option<Injector>,
}

impl From<Option<Watcher>> for Hooks {
    fn from(watcher: Option<Watcher>) -> Self {
        Self { watcher, ..Self::default() }
    }
}
