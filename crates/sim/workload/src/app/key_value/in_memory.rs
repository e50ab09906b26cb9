//! A key-value store that clients reach without the NIC.
//!
//! Models: threads that process one request after another: the path of sockets and protocol as cycles,
//! then the lines of the store, then a copy of the answer into the thread's output buffer; clients that
//! write fresh memory for each answer, as programs with a garbage collector do.
//! Source: redis under YCSB, which is written in Java, on one machine: a closed loop that keeps every
//! thread busy; ISPASS'20.
//! Simplifies: a thread never waits for a request; its clients write on its own core, and the cycles
//! include their work and the operating system's.

use super::requests::{Requests, StoreRequest};
use super::store::Store;
use crate::app::work::Work;
use crate::host_memory::Region;
use hdrhistogram::Histogram;
use model::core::Core;
use model::device::queues::Queues;
use model::fabric::Fabric;
use model::latency_histogram::{self, latency_histogram};
use model::software::{Account, Software, Turn};
use model::tracer::Tracer;
use units::{LINE_BYTES, LineAddr, Picos};

/// Memory of a thread besides the store.
#[derive(Clone, Debug)]
pub struct ThreadMemory {
    /// First line of the output buffer, as long as a value.
    pub answer: LineAddr,
    /// Memory that its clients fill from start to end, repeatedly.
    pub clients: Region,
    /// Number of lines of the clients' memory.
    pub clients_lines: u64,
    /// Number of lines that the clients write per request.
    pub lines_per_request: u64,
}

/// A thread of the store on its core.
#[derive(Debug)]
pub struct KeyValueInMemory {
    work: Work,
    core: Core,
    requests: Requests,
    store: Store,
    memory: ThreadMemory,
    next_client_line: u64,
    /// When the request in progress began, if there is one.
    begun: Option<Picos>,
    served: u64,
    latency_ns: Histogram<u64>,
}

impl KeyValueInMemory {
    /// A thread at time zero.
    #[must_use]
    pub fn new(
        work: Work,
        core: Core,
        requests: Requests,
        store: Store,
        memory: ThreadMemory,
    ) -> Self {
        Self {
            work,
            core,
            requests,
            store,
            memory,
            next_client_line: 0,
            begun: None,
            served: 0,
            latency_ns: latency_histogram(),
        }
    }

    fn serve<T: Tracer>(&mut self, fabric: &mut Fabric<T>) {
        let request = self.requests.next_request();
        self.store.serve(&mut self.core, fabric, request);
        if let StoreRequest::Get(_) | StoreRequest::ReadModifyWrite(_) = request {
            for line in 0..self.store.shape().value_bytes.div_ceil(LINE_BYTES) {
                self.core.store(fabric, self.memory.answer.step(line));
            }
        }
        self.served += 1;
        for _ in 0..self.memory.lines_per_request {
            self.core.store(fabric, self.memory.clients.line(self.next_client_line));
            self.next_client_line = (self.next_client_line + 1) % self.memory.clients_lines;
        }
    }
}

impl<T: Tracer> Software<T> for KeyValueInMemory {
    /// A request's work and its accesses are two turns, so that other agents act in between.
    fn step(&mut self, fabric: &mut Fabric<T>, _: &mut Queues, now: Picos) -> Turn {
        self.core.wait_until(now);
        if let Some(begun) = self.begun.take() {
            self.serve(fabric);
            self.latency_ns.saturating_record((self.core.now() - begun).0 / 1_000);
        } else {
            self.begun = Some(self.core.now());
            self.work.run_on(&mut self.core);
        }
        Turn::Busy(self.core.now())
    }

    fn account(&self, _: Picos) -> Account {
        let instructions = Some(self.core.instructions());
        Account { work: self.served, instructions, ..Account::default() }
    }

    fn take_latencies(&mut self) -> Option<Histogram<u64>> {
        Some(latency_histogram::take(&mut self.latency_ns))
    }
}
