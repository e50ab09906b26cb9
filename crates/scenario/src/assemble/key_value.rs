//! From a tenant's keys and the platform's costs to a key-value store and its threads.

use super::software::Shared;
use super::{Plan, Seats};
use crate::scenario::WriteRequests;
use model::tracer::Tracer;
use units::LINE_BYTES;
use workload::app::key_value::KeyValueServer;
use workload::app::key_value::in_memory::{KeyValueInMemory, ThreadMemory};
use workload::app::key_value::popularity::Popularity;
use workload::app::key_value::requests::{Requests, RequestsConfig, Writes};
use workload::app::key_value::store::Store;
use workload::host_memory::{Arena, HostMemory};

/// Memory that the clients of a thread fill before they begin anew: more than any LLC holds, as the
/// youngest generation of a Java heap.
const CLIENTS_BYTES: u64 = 128 << 20;

impl Plan<'_> {
    /// The store as a core sees it that serves the requests in its packets.
    pub(super) fn key_value_server(&self, shared: &Shared<'_>, id: u8) -> KeyValueServer {
        let mut places = self.layout.tenants.iter();
        let number = places.position(|places| places.cores.contains(&id)).expect("it is seated");
        let (tenant, facts) = (shared.tenant, self.facts());
        let work = facts.work(&facts.key_value_bypass_cycles);
        let memory = shared.table.clone().expect("a key-value store has memory");
        let thread = u64::from(id - self.layout.tenants[number].cores[0]);
        let store = Store::new(tenant.key_value.shape(tenant.cores), memory, thread);
        KeyValueServer::new(work, self.requests(number, thread), store)
    }

    /// Puts the threads of tenant `number`, whose clients are on the same machine, on its cores.
    pub(super) fn build_store<T: Tracer>(
        &self,
        number: usize,
        memory: &mut HostMemory,
        seats: &mut Seats<T>,
    ) {
        let tenant = self.tenant(number);
        let (shape, facts) = (tenant.key_value.shape(tenant.cores), self.facts());
        let region = memory.region(shape.bytes());
        for (thread, &core) in (0..).zip(&self.layout.tenants[number].cores) {
            let store = Store::new(shape, region.clone(), thread);
            let own = ThreadMemory {
                answer: Arena::new(memory.region(shape.value_bytes)).place(shape.value_bytes),
                clients: memory.region(CLIENTS_BYTES),
                clients_lines: CLIENTS_BYTES / LINE_BYTES,
                lines_per_request: facts.key_value_client_bytes.value.div_ceil(LINE_BYTES),
            };
            let work = facts.work(&facts.key_value_socket_cycles);
            let requests = self.requests(number, thread);
            let software = KeyValueInMemory::new(work, self.core(core), requests, store, own);
            seats.insert(core, Box::new(software));
        }
    }

    /// What a thread of a tenant's store is asked for.
    fn requests(&self, number: usize, thread: u64) -> Requests {
        let (tenant, keys) = (self.tenant(number), &self.tenant(number).key_value);
        Requests::new(RequestsConfig {
            popularity: Popularity::new(keys.items, keys.zipf),
            get_percent: keys.get_percent,
            writes: match keys.writes {
                WriteRequests::Update => Writes::Update,
                WriteRequests::Insert => Writes::Insert,
                WriteRequests::ReadModifyWrite => Writes::ReadModifyWrite,
            },
            thread,
            threads: u64::from(tenant.cores),
            seed: self.seed_of(number).wrapping_add(2_000 + thread),
        })
    }
}
