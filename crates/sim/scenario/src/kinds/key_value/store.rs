//! A key-value store in memory, and the requests to its threads.

use super::WriteRequests;
use crate::contract::build::Builder;
use crate::contract::input::TenantInput;
use crate::kinds::key_value::KeyValueKeys;
use model::tracer::Tracer;
use std::rc::Rc;
use units::LINE_BYTES;
use units::narrow::usize_from;
use workload::app::key_value::popularity::Popularity;
use workload::app::key_value::requests::{Requests, RequestsConfig, Writes, by_popularity};
use workload::app::key_value::store::{ItemsApart, Store, StoreShape};
use workload::host_memory::Region;

/// A store and the requests to its threads.
#[derive(Clone, Debug)]
pub(crate) struct StorePlan {
    shape: StoreShape,
    apart: Option<ItemsApartPlan>,
    requests: RequestsPlan,
}

/// The most popular items, which lie in the slices that are best for all cores of the store.
#[derive(Clone, Copy, Debug)]
struct ItemsApartPlan {
    items: u64,
    slices: usize,
}

/// The requests to the threads of a store.
#[derive(Clone, Debug)]
struct RequestsPlan {
    zipf: f64,
    get_percent: u32,
    writes: Writes,
    seed: u64,
}

/// The memory of a store, which its threads share.
#[derive(Clone, Debug)]
pub(crate) struct PlacedStore {
    memory: Region,
    apart: Option<Rc<ItemsApart>>,
}

impl StorePlan {
    /// Resolves the store that a tenant's keys describe.
    pub(crate) fn from_keys(input: &TenantInput<'_>) -> Self {
        let keys = input.table::<KeyValueKeys>();
        let slices = keys.nearest_slices.unwrap_or(1) as usize;
        Self {
            shape: keys.shape(input.tenant.keys.cores),
            apart: keys.slice_aware_items.map(|items| ItemsApartPlan { items, slices }),
            requests: RequestsPlan {
                zipf: keys.zipf,
                get_percent: keys.get_percent,
                writes: match keys.writes {
                    WriteRequests::Update => Writes::Update,
                    WriteRequests::Insert => Writes::Insert,
                    WriteRequests::ReadModifyWrite => Writes::ReadModifyWrite,
                },
                seed: input.seed,
            },
        }
    }

    /// Size of a value in bytes.
    pub(crate) fn value_bytes(&self) -> u64 {
        self.shape.value_bytes
    }

    /// Allocates the store in the tenant's memory.
    pub(crate) fn place<T: Tracer>(&self, builder: &mut Builder<'_, T>) -> PlacedStore {
        let memory = builder.memory.region(self.shape.bytes());
        let apart = self.apart.map(|apart| Rc::new(self.place_apart(apart, builder)));
        PlacedStore { memory, apart }
    }

    fn place_apart<T: Tracer>(
        &self,
        apart: ItemsApartPlan,
        builder: &mut Builder<'_, T>,
    ) -> ItemsApart {
        let nearest = builder.machine.nearest_slices_for(&builder.tenant.cores);
        let bytes = apart.items * self.shape.item_lines() * LINE_BYTES;
        let region = builder.machine.in_slices(builder.memory, bytes, &nearest[..apart.slices]);
        let items = by_popularity(self.shape.items).take(usize_from(apart.items));
        ItemsApart::new(items, region)
    }

    /// Leaves in the caches what filling the store item by item would: the lines that are written last;
    /// items in chosen slices come last.
    pub(super) fn fill<T: Tracer>(&self, placed: &PlacedStore, builder: &mut Builder<'_, T>) {
        let core = builder.tenant.cores[0];
        let lines = self.shape.bytes() / LINE_BYTES;
        let last = lines.saturating_sub(builder.machine.llc_lines)..lines;
        builder.caches.fill(core, last.map(|offset| placed.memory.line(offset)));
        if let Some(apart) = &placed.apart {
            builder.caches.fill(core, apart.lines());
        }
    }

    /// The store as thread number `thread` sees it, and the requests to that thread.
    pub(crate) fn of_thread(&self, placed: &PlacedStore, thread: u64) -> (Store, Requests) {
        let store = Store::new(self.shape, placed.memory.clone(), thread)
            .with_items_apart(placed.apart.clone());
        let requests = Requests::new(RequestsConfig {
            popularity: Popularity::new(self.shape.items, self.requests.zipf),
            get_percent: self.requests.get_percent,
            writes: self.requests.writes,
            thread,
            threads: self.shape.threads,
            seed: self.requests.seed.wrapping_add(2_000 + thread),
        });
        (store, requests)
    }
}
