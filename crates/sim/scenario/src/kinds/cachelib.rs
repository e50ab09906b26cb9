//! The cache of items in memory: its threads always have a request.

mod metrics;

use crate::contract::application::ApplicationModule;
use crate::contract::application_cores::ApplicationCores;
use crate::contract::build::Builder;
use crate::contract::inert::Inert;
use crate::contract::input::TenantInput;
use crate::contract::metric::Metric;
use crate::contract::port::PortPlan;
use crate::contract::tenant::{InitialContent, TenantMut, TenantRef};
use crate::kinds::copies::{
    CopierName, core_copy, engines, fill_in_program_keys, inert_program_keys, offloaders,
    polled_engines,
};
use crate::kinds::dsa::offloaders::OffloadersPlan;
use crate::text::check::Check;
use crate::text::error::InputError;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use units::{Cycles, LINE_BYTES};
use workload::app::cachelib::items::{ItemChoice, ItemMix, Items, LEAST_LARGE_BYTES};
use workload::app::cachelib::{Cachelib, CachelibConfig};
use workload::driver::copier::Copier;
use workload::driver::core_mover::{CoreMover, CoreMoverConfig};
use workload::host_memory::Arena;

const ITEMS: (u64, u64) = (2, 1 << 22);
const LARGE_PERCENT: (f64, f64) = (0.0, 100.0);
/// Up to a huge page, with a line for the header.
const MOST_BYTES: (u64, u64) = (LEAST_LARGE_BYTES, (2 << 20) - LINE_BYTES);
const THRESHOLD_BYTES: (u64, u64) = (1, 2 << 20);
const ZIPF: (f64, f64) = (0.0, 0.999);
/// The rest of the simulated memory stays free.
const MOST_STORE_BYTES: u64 = 24 << 30;
/// Buffers of a thread's clients, used in turn.
const CLIENT_BUFFERS: u64 = 4;

/// Keys of the cache. Its threads, one on each core, share all items. Small items have 16 to 490 bytes, large
/// ones 8 KiB and more.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct CachelibKeys {
    /// Copier of large items: the cores or copy engines.
    pub by: CopierName,
    /// Items from this size on are copied by engines.
    #[schemars(range(min = THRESHOLD_BYTES.0, max = THRESHOLD_BYTES.1))]
    pub threshold_bytes: u64,
    /// Share of gets; the other requests are sets.
    #[schemars(range(min = 0, max = 100))]
    pub get_percent: u32,
    /// Number of items in the cache.
    #[schemars(range(min = ITEMS.0, max = ITEMS.1))]
    pub items: u64,
    /// Share of requests, and of items, that are large.
    #[schemars(range(min = LARGE_PERCENT.0, max = LARGE_PERCENT.1))]
    pub large_percent: f64,
    /// Size of the largest item.
    #[schemars(range(min = MOST_BYTES.0, max = MOST_BYTES.1))]
    pub most_bytes: u64,
    /// Popularity of the items of either class: exponent of Zipf's law.
    #[schemars(range(min = ZIPF.0, max = ZIPF.1))]
    pub zipf: f64,
}

impl Default for CachelibKeys {
    fn default() -> Self {
        Self {
            by: CopierName::default(),
            threshold_bytes: 8 << 10,
            get_percent: 80,
            items: 1 << 16,
            large_percent: 4.8,
            most_bytes: 256 << 10,
            zipf: 0.9,
        }
    }
}

impl CachelibKeys {
    fn mix(&self) -> ItemMix {
        ItemMix {
            items: self.items,
            large_percent: self.large_percent,
            most_bytes: self.most_bytes,
            zipf: self.zipf,
        }
    }

    fn check(&self, check: &Check<'_>, page_bytes: u64) -> Result<(), InputError> {
        let threshold = self.threshold_bytes;
        check.whole("cachelib.threshold_bytes", threshold, THRESHOLD_BYTES, "bytes")?;
        check.whole("cachelib.get_percent", self.get_percent, (0, 100), "percent")?;
        check.whole("cachelib.items", self.items, ITEMS, "items")?;
        check.number("cachelib.large_percent", self.large_percent, LARGE_PERCENT)?;
        check.whole("cachelib.most_bytes", self.most_bytes, MOST_BYTES, "bytes")?;
        check.number("cachelib.zipf", self.zipf, ZIPF)?;
        if self.most_bytes + LINE_BYTES > page_bytes {
            let allowed =
                format!("allowed: items within a page of {page_bytes} bytes; see page_size");
            return Err(check.refuse("cachelib.most_bytes", &self.most_bytes, allowed));
        }
        // Each item takes as much as the largest at most.
        let bytes = self.mix().arena_bytes(page_bytes);
        let what = "bytes of all items";
        check.whole("cachelib.items", bytes, (0, MOST_STORE_BYTES), what)
    }
}

/// The cache, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct CachelibPlan {
    mix: ItemMix,
    /// The seed is the tenant's. Each core adds its number to it.
    config: CachelibConfig,
    mover: CoreMoverConfig,
    threshold_bytes: u64,
    engines: Option<OffloadersPlan>,
    is_warm: bool,
    page_bytes: u64,
}

impl ApplicationModule for CachelibPlan {
    const TABLE: Option<&'static str> = Some("cachelib");
    const MOVES_DATA: bool = true;
    const METRICS: &'static [Metric<ApplicationCores>] = metrics::METRICS;
    const HAS_FAR_TAIL: bool = true;

    fn inert(tenant: TenantRef<'_>) -> Vec<Inert> {
        let by = tenant.table::<CachelibKeys>().by;
        let mut inert = inert_program_keys(tenant, by);
        if by == CopierName::Core {
            let because = "the cores copy all items themselves";
            inert.extend(Inert::all(["cachelib.threshold_bytes"], because));
        }
        inert
    }

    /// Threads share the queues of engines.
    fn fill_in(tenant: &mut TenantMut<'_>) {
        let by = tenant.table::<CachelibKeys>().by;
        fill_in_program_keys(tenant, by);
    }

    fn plan(input: &TenantInput<'_>) -> Result<Self, InputError> {
        let keys = input.table::<CachelibKeys>();
        let page_bytes = input.tenant.keys.page_size.bytes();
        keys.check(&input.check, page_bytes)?;
        let costs = input.costs()?;
        let needs = polled_engines("cachelib.by", ("cores", 1), (1, 1));
        Ok(Self {
            mix: keys.mix(),
            config: CachelibConfig {
                get_percent: keys.get_percent,
                get: Cycles(costs.cachelib_get_cycles.value),
                set: Cycles(costs.cachelib_set_cycles.value),
                seed: input.seed,
            },
            mover: core_copy(input)?,
            threshold_bytes: keys.threshold_bytes,
            engines: engines(input, keys.by, &needs)?,
            is_warm: input.tenant.keys.initial_content != InitialContent::Empty,
            page_bytes,
        })
    }

    fn ports(&self) -> &[PortPlan] {
        self.engines.as_ref().map_or(&[], |engines| &engines.ports)
    }

    fn build<T: Tracer>(&self, builder: &mut Builder<'_, T>) {
        let devices = &builder.tenant.devices;
        let mut offloaders = offloaders(self.engines.as_ref(), builder, devices);
        let mut arena = Arena::new(builder.memory.region(self.mix.arena_bytes(self.page_bytes)));
        let table = builder.memory.region(self.mix.table_bytes());
        let items = Rc::new(Items::new(&self.mix, &mut arena, table));
        if self.is_warm {
            // The first core has filled the cache, the least popular items of each class last.
            let first = builder.tenant.cores[0];
            builder.caches.fill(first, items.lines());
        }
        let choice = ItemChoice::new(&self.mix);
        for &core in &builder.tenant.cores {
            let buffer_bytes = self.mix.most_bytes.next_multiple_of(LINE_BYTES);
            let pages = CLIENT_BUFFERS.div_ceil((self.page_bytes / buffer_bytes).max(1));
            let mut arena = Arena::new(builder.memory.region(pages * self.page_bytes));
            let buffers = (0..CLIENT_BUFFERS).map(|_| arena.place(buffer_bytes)).collect();
            let engines = offloaders.next().map(|it| (it, self.threshold_bytes));
            let copier = Copier::new(CoreMover::new(self.mover), engines);
            let seed = self.config.seed.wrapping_add(u64::from(core.0));
            let software = Cachelib::new(
                CachelibConfig { seed, ..self.config },
                builder.machine.core(core),
                (Rc::clone(&items), choice.clone()),
                copier,
                buffers,
            );
            builder.software.insert(core, Box::new(software));
        }
    }
}
