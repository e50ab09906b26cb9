//! The state of a queue in one process.

use dsa_client::drains::LossDrains;
use dsa_client::portal_page::PortalPage;

/// Most queues that a process uses.
pub const MOST_QUEUES: usize = 32;

/// State of a queue in a process. All bits zero: the queue is not open.
#[repr(C)]
pub struct OpenQueue {
    /// The mapped page; without one the queue is not used.
    pub page: PortalPage,
    pub drains: LossDrains,
}
