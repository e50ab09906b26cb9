//! A key-value store: its requests are packets of a NIC, or come from clients in memory.
//!
//! Models: a request finds its item through the hash table and the item's header, then reads or writes
//! key and value; answers are copied into the packet that is sent back.
//! Source: memcached (hash table of pointers; an item is header, key and value in a row; reference
//! counts, per-thread statistics, a list by age); its binary protocol for sizes on the wire.
//! Simplifies: all requests have the size that the traffic states; the answer goes into the request's
//! buffer; the server draws the keys, as clients would; each bucket's chain has one item.

pub mod in_memory;
pub mod popularity;
pub mod requests;
pub mod store;

use super::packet_loop::{Fate, Handler};
use super::work::Work;
use model::core::Core;
use model::device::nic::rings::Packet;
use model::fabric::Fabric;
use model::tracer::Tracer;
use requests::{Requests, StoreRequest};
use store::Store;
use units::{Bytes, LINE_BYTES};

/// Ethernet, IPv4, TCP, and the header of memcached's binary protocol.
pub const HEADER_BYTES: u64 = 14 + 20 + 20 + 24;
/// Flags before the value of an answer.
const FLAGS_BYTES: u64 = 4;
/// Bytes of the shortest frame, without FCS.
const SHORTEST_BYTES: u64 = 60;

/// Bytes of the longest answer: a whole value.
#[must_use]
pub fn answer_bytes(value_bytes: u64) -> u64 {
    (HEADER_BYTES + FLAGS_BYTES + value_bytes).max(SHORTEST_BYTES)
}

/// A server's work on the request in a packet.
#[derive(Debug)]
pub struct KeyValueServer {
    work: Work,
    requests: Requests,
    store: Store,
}

impl KeyValueServer {
    /// A server on one core.
    #[must_use]
    pub fn new(work: Work, requests: Requests, store: Store) -> Self {
        Self { work, requests, store }
    }

    /// Sends the start of a packet's buffer back.
    fn answer<T: Tracer>(
        core: &mut Core,
        fabric: &mut Fabric<T>,
        packet: &Packet,
        bytes: u64,
    ) -> Fate {
        for line in 0..bytes.div_ceil(LINE_BYTES) {
            core.store(fabric, packet.buffer.data.step(line));
        }
        Fate::Send(Bytes(bytes))
    }
}

impl Handler for KeyValueServer {
    fn handle<T: Tracer>(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric<T>,
        packet: &Packet,
    ) -> Fate {
        let request = self.requests.next_request();
        let parsed = match request {
            StoreRequest::Get(_) => HEADER_BYTES + self.store.shape().key_bytes,
            StoreRequest::Update(_)
            | StoreRequest::Insert(_)
            | StoreRequest::ReadModifyWrite(_) => packet.bytes.0,
        };
        for line in 0..parsed.min(packet.bytes.0).div_ceil(LINE_BYTES) {
            core.load_independent(fabric, packet.buffer.data.step(line));
        }
        self.work.run_on(core);
        self.store.serve(core, fabric, request);
        let bytes = match request {
            StoreRequest::Get(_) | StoreRequest::ReadModifyWrite(_) => {
                answer_bytes(self.store.shape().value_bytes)
            }
            StoreRequest::Update(_) | StoreRequest::Insert(_) => HEADER_BYTES.max(SHORTEST_BYTES),
        };
        Self::answer(core, fabric, packet, bytes)
    }
}
