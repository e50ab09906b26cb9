//! The key-value store whose requests are packets, and the keys of every key-value store.

mod store;

pub(super) use store::{PlacedStore, StorePlan};

use crate::contract::application::Packets;
use crate::contract::build::Builder;
use crate::contract::input::TenantInput;
use crate::contract::tenant::{InitialContent, TenantRef};
use crate::facts::platform::{MOST_SLICES, Platform};
use crate::kinds::nic::Card;
use crate::kinds::packets::{PacketApplication, PollingCore};
use crate::text::check::Check;
use crate::text::error::InputError;
use model::software::Software;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::LINE_BYTES;
use workload::app::key_value::store::StoreShape;
use workload::app::key_value::{self, KeyValueServer};
use workload::app::work::Work;

/// Largest number of items of a store.
const MOST_ITEMS: u64 = 1 << 28;
/// Largest total size of a scenario's stores: the rest of the simulated memory stays free.
const MOST_BYTES: u64 = 32 << 30;
/// Largest size of items in chosen slices: their pages hold lines of all slices.
const MOST_SLICE_AWARE_BYTES: u64 = 256 << 20;
/// Memcached's limits.
const KEY_BYTES: (u64, u64) = (1, 250);
const VALUE_BYTES: (u64, u64) = (1, 1 << 20);
const ZIPF: (f64, f64) = (0.0, 0.999);

/// Keys of a key-value store, which all cores of its tenant serve. The defaults are a store of small
/// items that is mostly read, as typical for memcached.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct KeyValueKeys {
    /// Number of items in the store.
    #[schemars(range(min = 1, max = MOST_ITEMS))]
    pub items: u64,
    /// Size of a key in bytes.
    #[schemars(range(min = KEY_BYTES.0, max = KEY_BYTES.1))]
    pub key_bytes: u64,
    /// Size of a value in bytes.
    #[schemars(range(min = VALUE_BYTES.0, max = VALUE_BYTES.1))]
    pub value_bytes: u64,
    /// Bytes of a value that an update writes. The whole value by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = VALUE_BYTES.0, max = VALUE_BYTES.1))]
    pub update_bytes: Option<u64>,
    /// Share of requests that read.
    #[schemars(range(min = 0, max = 100))]
    pub get_percent: u32,
    /// Kind of the other requests.
    pub writes: WriteRequests,
    /// Popularity of items: exponent of Zipf's law. 0 makes all equal, YCSB has 0.99.
    #[schemars(range(min = ZIPF.0, max = ZIPF.1))]
    pub zipf: f64,
    /// Protocol, which determines the cost of a request besides its memory accesses.
    #[serde(skip_serializing_if = "Protocol::is_default")]
    pub protocol: Protocol,
    /// Number of the most popular items that lie in slices near the store's cores. None by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_SLICE_AWARE_BYTES / LINE_BYTES))]
    pub slice_aware_items: Option<u64>,
    /// Number of slices of those items, the nearest to all cores of the store together. One by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_SLICES))]
    pub nearest_slices: Option<u32>,
}

/// How requests reach a store whose requests are packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Protocol {
    /// Memcached over TCP on a kernel-bypass stack.
    #[default]
    Memcached,
    /// Key and value after a UDP header, as in stores that are built for packets (MICA).
    Plain,
}

impl Protocol {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Kind of the requests that are not reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WriteRequests {
    /// Writes replace a value, or update_bytes of it (YCSB A, B).
    #[default]
    Update,
    /// Writes insert a new item, which replaces the oldest; reads prefer the latest (YCSB D).
    Insert,
    /// Writes read an item and write it back (YCSB F).
    ReadModifyWrite,
}

impl Default for KeyValueKeys {
    fn default() -> Self {
        Self {
            items: 1 << 20,
            key_bytes: 30,
            value_bytes: 100,
            update_bytes: None,
            get_percent: 95,
            writes: WriteRequests::default(),
            zipf: 0.99,
            protocol: Protocol::default(),
            slice_aware_items: None,
            nearest_slices: None,
        }
    }
}

impl KeyValueKeys {
    /// Sizes of a store that `threads` threads serve.
    #[must_use]
    pub(crate) fn shape(&self, threads: u32) -> StoreShape {
        StoreShape {
            items: self.items,
            key_bytes: self.key_bytes,
            value_bytes: self.value_bytes,
            update_bytes: self.update_bytes.unwrap_or(self.value_bytes),
            threads: u64::from(threads),
        }
    }

    pub(super) fn check(&self, check: &Check<'_>, platform: &Platform) -> Result<(), InputError> {
        check.whole("key_value.items", self.items, (1, MOST_ITEMS), "items")?;
        check.whole(
            "key_value.key_bytes",
            self.key_bytes,
            KEY_BYTES,
            "bytes, memcached's limit",
        )?;
        let what = "bytes, memcached's limit";
        check.whole("key_value.value_bytes", self.value_bytes, VALUE_BYTES, what)?;
        if let Some(bytes) = self.update_bytes {
            let what = "bytes, no more than key_value.value_bytes";
            check.whole(
                "key_value.update_bytes",
                bytes,
                (VALUE_BYTES.0, self.value_bytes),
                what,
            )?;
        }
        check.whole("key_value.get_percent", self.get_percent, (0, 100), "percent")?;
        check.number("key_value.zipf", self.zipf, ZIPF)?;
        self.check_slices(check, platform)
    }

    fn check_slices(&self, check: &Check<'_>, platform: &Platform) -> Result<(), InputError> {
        let Some(items) = self.slice_aware_items else {
            return match self.nearest_slices {
                None => Ok(()),
                Some(slices) => {
                    let allowed = "only with key_value.slice_aware_items".into();
                    Err(check.refuse("key_value.nearest_slices", &slices, allowed))
                }
            };
        };
        let most = (MOST_SLICE_AWARE_BYTES / (self.shape(1).item_lines() * LINE_BYTES)).max(1);
        let what = "items, no more than key_value.items";
        check.whole("key_value.slice_aware_items", items, (1, most.min(self.items)), what)?;
        if self.writes == WriteRequests::Insert {
            let allowed =
                "not with key_value.writes = \"insert\": popular items do not stay so".into();
            return Err(check.refuse("key_value.slice_aware_items", &items, allowed));
        }
        let slices = self.nearest_slices.unwrap_or(1);
        let most = platform.llc.slices.value;
        check.whole("key_value.nearest_slices", slices, (1, most), "slices of the LLC")
    }
}

/// Checks that the stores of all tenants that have one fit the simulated memory with all else.
pub(crate) fn check_together(
    tenants: &[TenantRef<'_>],
    check: &Check<'_>,
) -> Result<(), InputError> {
    let shape = |tenant: &TenantRef<'_>| tenant.table::<KeyValueKeys>().shape(tenant.keys.cores);
    let bytes: u64 = tenants.iter().map(|tenant| shape(tenant).bytes()).sum();
    let what = "bytes of all stores: lower key_value.items or key_value.value_bytes";
    check.whole("key_value.items", bytes, (0, MOST_BYTES), what)
}

/// A store whose requests are packets, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct KeyValuePlan {
    store: StorePlan,
    work: Work,
    is_filled: bool,
}

impl PacketApplication for KeyValuePlan {
    const PACKETS: Packets = Packets::Forwarded;
    const PREFETCHES: bool = true;
    const GATHERS: bool = true;
    const TABLE: Option<&'static str> = Some("key_value");
    const FILLS_STORE: bool = true;

    type Shared = PlacedStore;

    fn check_table(input: &TenantInput<'_>) -> Result<(), InputError> {
        input.table::<KeyValueKeys>().check(&input.check, input.platform)
    }

    fn plan(input: &TenantInput<'_>, card: &Card<'_>) -> Result<Self, InputError> {
        let (tenant, check) = (input.tenant, &input.check);
        let keys = tenant.table::<KeyValueKeys>();
        let costs = input.costs()?;
        let cycles = match keys.protocol {
            Protocol::Memcached => &costs.key_value_bypass_cycles,
            Protocol::Plain => &costs.key_value_plain_cycles,
        };
        // The buffer of a request also holds its answer.
        let most = card.buffer_bytes.saturating_sub(key_value::answer_bytes(0));
        let what = "bytes: an answer with its headers fits a packet buffer (buffer_bytes)";
        check.whole("key_value.value_bytes", keys.value_bytes, (1, most), what)?;
        Ok(Self {
            store: StorePlan::from_keys(input),
            work: costs.work(cycles),
            is_filled: tenant.keys.initial_content == InitialContent::StoreFilled,
        })
    }

    fn share<T: Tracer>(&self, builder: &mut Builder<'_, T>) -> PlacedStore {
        let placed = self.store.place(builder);
        if self.is_filled {
            self.store.fill(&placed, builder);
        }
        placed
    }

    fn software<T: Tracer>(
        &self,
        placed: &PlacedStore,
        core: PollingCore<'_>,
        _builder: &mut Builder<'_, T>,
    ) -> Box<dyn Software<T>> {
        let (store, requests) = self.store.of_thread(placed, core.thread);
        core.handle(KeyValueServer::new(self.work, requests, store))
    }
}
