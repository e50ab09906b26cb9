//! Table of the mapped pages of this process and their queues.
//!
//! A signal handler reads the table, so it has no lock: a portal is never freed, and its entry in the
//! table is set and cleared by one atomic write.

use crate::engine_stacks::EngineStack;
use crate::engines::{self, QueueHandle};
use dsa::descriptor::Descriptor;
use dsa::device::EnqueueAnswer;
use dsa::hardware::PORTAL_BYTES;
use dsa_run::Identity;
use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Most portals that a process maps at a time.
const MOST: usize = 256;

static TABLE: [AtomicPtr<MappedPortal>; MOST] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST];

/// A mapped page of a queue.
pub struct MappedPortal {
    page: u64,
    identity: Identity,
    queue: QueueHandle,
}

impl MappedPortal {
    /// Submits a descriptor by a posted write.
    pub fn post(&self, descriptor: &Descriptor) {
        self.queue.post(descriptor);
    }

    /// Submits a descriptor by an enqueue command, and returns the response.
    pub fn enqueue(&self, descriptor: &Descriptor) -> EnqueueAnswer {
        self.queue.enqueue(descriptor)
    }

    /// PASID of this process at the device.
    pub fn pasid(&self) -> u32 {
        self.identity.pasid
    }
}

/// The portal whose page has this address; `None` for other memory.
pub fn at(address: u64) -> Option<&'static MappedPortal> {
    let page = address & !(PORTAL_BYTES as u64 - 1);
    TABLE.iter().find_map(|entry| {
        // SAFETY: a portal in the table is never freed.
        let portal = unsafe { entry.load(Ordering::Acquire).as_ref() }?;
        (portal.page == page).then_some(portal)
    })
}

/// Adds a page as portal of a queue, and starts the queue's engines.
///
/// # Errors
/// ENOMEM if the process has too many portals, and the errors of [`engines::serve`].
pub fn add(page: u64, identity: Identity) -> Result<(), c_int> {
    let queue = engines::serve(&identity)?;
    EngineStack::prepare();
    let portal = Box::into_raw(Box::new(MappedPortal { page, identity, queue }));
    let free = std::ptr::null_mut();
    let is_placed = TABLE.iter().any(|entry| {
        entry.compare_exchange(free, portal, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    });
    if is_placed { Ok(()) } else { Err(libc::ENOMEM) }
}

/// Removes the portals in a range of addresses, which is mapped no longer.
pub fn remove(start: u64, bytes: u64) {
    let end = start.saturating_add(bytes);
    for entry in &TABLE {
        // SAFETY: a portal in the table is never freed.
        let portal = unsafe { entry.load(Ordering::Acquire).as_ref() };
        if portal.is_some_and(|portal| (start..end).contains(&portal.page)) {
            entry.store(std::ptr::null_mut(), Ordering::Release);
        }
    }
}
