//! From a tenant's keys and the platform's costs to a key-value store and its threads.

use super::software::Shared;
use super::{Plan, Seats};
use crate::scenario::{Protocol, Tenant, WriteRequests};
use model::fabric::Fabric;
use model::tracer::Tracer;
use std::rc::Rc;
use units::LINE_BYTES;
use workload::app::key_value::KeyValueServer;
use workload::app::key_value::in_memory::{KeyValueInMemory, ThreadMemory};
use workload::app::key_value::popularity::Popularity;
use workload::app::key_value::requests::{Requests, RequestsConfig, Writes};
use workload::app::key_value::store::{ItemsApart, Store};
use workload::host_memory::{Arena, HostMemory, Region, touch};

/// Memory that the clients of a thread fill before they begin anew: more than any LLC holds, as the
/// youngest generation of a Java heap.
const CLIENTS_BYTES: u64 = 128 << 20;

impl Plan<'_> {
    /// The store as a core sees it that serves the requests in its packets.
    pub(super) fn key_value_server(&self, shared: &Shared<'_>, id: u8) -> KeyValueServer {
        let mut places = self.layout.tenants.iter();
        let number = places.position(|places| places.cores.contains(&id)).expect("it is seated");
        let (tenant, facts) = (shared.tenant, self.facts());
        let work = facts.work(match (tenant.key_value.protocol, &facts.key_value_plain_cycles) {
            (Protocol::Plain, Some(cycles)) => cycles,
            // Resolving the scenario has asked for them.
            (Protocol::Plain, None) | (Protocol::Memcached, _) => &facts.key_value_bypass_cycles,
        });
        let memory = shared.table.clone().expect("a key-value store has memory");
        let thread = u64::from(id - self.layout.tenants[number].cores[0]);
        let store = Store::new(tenant.key_value.shape(tenant.cores), memory, thread)
            .with_items_apart(shared.items_apart.clone());
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
        let apart = self.items_apart(tenant, &self.layout.tenants[number].cores, memory);
        for (thread, &core) in (0..).zip(&self.layout.tenants[number].cores) {
            let store = Store::new(shape, region.clone(), thread).with_items_apart(apart.clone());
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

    /// Filling a store item by item leaves in the caches what was written last; items apart are the last.
    pub(super) fn fill_store<T: Tracer>(
        &self,
        tenant: &Tenant,
        store: &Region,
        apart: Option<&Rc<ItemsApart>>,
        fabric: &mut Fabric<T>,
        core: u8,
    ) {
        let lines = tenant.key_value.shape(tenant.cores).bytes() / LINE_BYTES;
        let last = lines.saturating_sub(self.llc_lines())..lines;
        touch(fabric, core, last.map(|offset| store.line(offset)));
        if let Some(apart) = apart {
            touch(fabric, core, apart.lines());
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
