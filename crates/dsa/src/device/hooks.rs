//! What a program hangs on a device.

use super::{Event, EventLog, Origin, SoftwareError};
use crate::engine::Ended;
use crate::inject::Injector;
use std::sync::Arc;

/// Called by an engine for each descriptor that has ended, members of batches included. It does not wait
/// for the device: the engine goes on when it returns.
pub type Watcher = Arc<dyn Fn(&Origin, &Ended<'_>) + Send + Sync>;

/// The interrupt of the software error register: called when it becomes valid, by the engine or, where
/// a full queue loses a descriptor, by its submitter. It does not wait for the device either.
pub type ErrorHook = Arc<dyn Fn(&SoftwareError) + Send + Sync>;

/// The interrupt that a descriptor requests, by its handle: called by the engine when the descriptor has
/// ended and its record is written, members of batches included. It does not wait for the device either.
pub type InterruptHook = Arc<dyn Fn(&Origin, u16) + Send + Sync>;

/// The interrupt of the event log: called, by an engine, when an entry is written and no interrupt is
/// pending. It does not wait for the device.
pub type EventHook = Arc<dyn Fn(&Event) + Send + Sync>;

/// What is called, and what goes wrong on purpose. By default nothing.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Sees what ends.
    pub watcher: Option<Watcher>,
    /// Learns of errors that no record has.
    pub on_error: Option<ErrorHook>,
    /// Is interrupted by descriptors that request it.
    pub on_interrupt: Option<InterruptHook>,
    /// The event log, which takes errors in place of the software error register.
    pub event_log: Option<Arc<EventLog>>,
    /// Learns of its entries.
    pub on_event: Option<EventHook>,
    /// Faults, refusals, delays and resets on purpose.
    pub injector: Option<Injector>,
}

impl From<Option<Watcher>> for Hooks {
    fn from(watcher: Option<Watcher>) -> Self {
        Self { watcher, ..Self::default() }
    }
}
