//! Software that only accesses memory, as a tenant or a co-runner, and the slices of its memory.

use crate::contract::application::ApplicationModule;
use crate::contract::build::Builder;
use crate::contract::input::TenantInput;
use crate::contract::machine::MachinePlan;
use crate::contract::tenant::InitialContent;
use crate::facts::platform::{MOST_SLICES, Platform};
use crate::text::check::Check;
use crate::text::error::InputError;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{CoreId, Cycles, LINE_BYTES, SliceId};
use workload::app::memory_kernel::{
    self, KernelMemory, MemoryKernel, MemoryKernelConfig, POINTERS_PER_LINE,
};
use workload::host_memory::{HostMemory, Region};

/// Largest number of accesses in flight of a kernel: more than any core has fill buffers.
const MOST_IN_FLIGHT: u32 = 64;
/// Largest working set in chosen slices, since its pages hold lines of all slices.
const MOST_BYTES_IN_SLICES: u64 = 256 << 20;
/// Allowed working sets in bytes: from a line of 64 B to 4 GiB.
pub(crate) const WORKING_SET_BYTES: (u64, u64) = (64, 4 << 30);
const CYCLES_PER_ACCESS: (f64, f64) = (0.0, 1e6);

/// Keys of a memory kernel, as tenant or co-runner: each core has a working set of its own. A tenant
/// has written it once before time zero unless initial_content is empty.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MemoryKernelKeys {
    /// Working set of each core.
    #[schemars(range(min = WORKING_SET_BYTES.0, max = WORKING_SET_BYTES.1))]
    pub working_set_bytes: u64,
    /// Order of the accesses to the working set.
    #[serde(default)]
    pub pattern: AccessPattern,
    /// Share of accesses that are stores, in percent.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    pub store_percent: u32,
    /// Cycles of work between two accesses.
    #[serde(default = "cycles_per_access")]
    #[schemars(range(min = CYCLES_PER_ACCESS.0, max = CYCLES_PER_ACCESS.1))]
    pub cycles_per_access: f64,
    /// Largest number of accesses to the working set in flight. As many as fill buffers by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_IN_FLIGHT))]
    pub accesses_in_flight: Option<u32>,
    /// Each access first loads its line's address: 8 bytes in a table in pages of 4 KiB, in all slices.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pointer_table: bool,
    /// Number of slices, nearest to its core, that hold the working set. All slices by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_SLICES))]
    pub nearest_slices: Option<u32>,
    /// The slices are divided among the cores that run this, the nearest ones first, so that no two
    /// cores share one: each working set lies in its core's own slices.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub isolated_slices: bool,
    /// Numbers of the LLC slices that hold the working set. All slices by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), inner(range(min = 0, max = MOST_SLICES - 1)))]
    pub slices: Option<Vec<u16>>,
}

fn cycles_per_access() -> f64 {
    1.0
}

/// Order in which a working set is accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AccessPattern {
    /// Any line, independent of the last.
    #[default]
    Random,
    /// One line after another.
    Sequential,
    /// Any line, whose address depends on the last one's data.
    PointerChase,
}

/// Slices of a memory region.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SliceChoice {
    /// Any slices.
    Any,
    /// The given number of slices nearest to the core.
    Nearest(usize),
    /// The core's own slices.
    Isolated,
    /// The listed slices.
    Listed(Vec<SliceId>),
}

impl MemoryKernelKeys {
    /// Whether the keys choose the slices of the LLC in which the working set lies.
    pub(crate) fn chooses_slices(&self) -> bool {
        self.slice_choice() != SliceChoice::Any
    }

    fn slice_choice(&self) -> SliceChoice {
        match (self.nearest_slices, self.isolated_slices, &self.slices) {
            (Some(count), _, _) => SliceChoice::Nearest(count as usize),
            (None, true, _) => SliceChoice::Isolated,
            (None, false, Some(listed)) => {
                SliceChoice::Listed(listed.iter().map(|&slice| SliceId(slice)).collect())
            }
            (None, false, None) => SliceChoice::Any,
        }
    }

    /// Checks the keys of `table`.
    ///
    /// # Errors
    /// Names the first value that is out of range or contradicts another.
    pub(crate) fn check(
        &self,
        table: &str,
        check: &Check<'_>,
        platform: &Platform,
    ) -> Result<(), InputError> {
        let key = |name: &str| format!("{table}.{name}");
        let bytes = self.working_set_bytes;
        check.whole(&key("working_set_bytes"), bytes, WORKING_SET_BYTES, "bytes")?;
        check.whole(&key("store_percent"), self.store_percent, (0, 100), "percent")?;
        check.number(&key("cycles_per_access"), self.cycles_per_access, CYCLES_PER_ACCESS)?;
        let in_flight = self.accesses_in_flight.unwrap_or(1);
        check.whole(&key("accesses_in_flight"), in_flight, (1, MOST_IN_FLIGHT), "accesses")?;
        if self.pointer_table && self.pattern != AccessPattern::Random {
            let allowed = format!("only with {table}.pattern = \"random\"");
            return Err(check.refuse(&key("pointer_table"), &true, allowed));
        }
        self.check_single_choice(table, check)?;
        if !self.chooses_slices() {
            return Ok(());
        }
        let count = platform.llc.slices.value;
        if let Some(wanted) = self.nearest_slices {
            check.whole(&key("nearest_slices"), wanted, (1, count), "slices of the LLC")?;
        }
        if self.slices.as_ref().is_some_and(Vec::is_empty) {
            let allowed = "allowed: at least one slice".into();
            return Err(check.refuse(&key("slices"), &"[]", allowed));
        }
        for &slice in self.slices.iter().flatten() {
            let (slice, most) = (u32::from(slice), count - 1);
            check.whole(&key("slices"), slice, (0, most), "slices of the LLC")?;
        }
        let what = "bytes of a working set in chosen slices";
        check.whole(
            &key("working_set_bytes"),
            bytes,
            (WORKING_SET_BYTES.0, MOST_BYTES_IN_SLICES),
            what,
        )
    }

    fn check_single_choice(&self, table: &str, check: &Check<'_>) -> Result<(), InputError> {
        let stated = [
            ("nearest_slices", self.nearest_slices.is_some()),
            ("isolated_slices", self.isolated_slices),
            ("slices", self.slices.is_some()),
        ];
        let mut stated = stated.into_iter().filter(|(_, is_stated)| *is_stated);
        let (Some((first, _)), Some((second, _))) = (stated.next(), stated.next()) else {
            return Ok(());
        };
        Err(InputError::WrongValue {
            file: check.file.into(),
            key: format!("{table}.{second}"),
            reason: format!("is stated beside {table}.{first}: one of the two decides"),
        })
    }
}

/// A kernel, fully resolved, for any of the cores that run it.
#[derive(Clone, Debug)]
pub(crate) struct KernelPlan {
    /// The seed is 0. Each core replaces it by its own.
    config: MemoryKernelConfig,
    bytes: u64,
    slices: SliceChoice,
    has_pointers: bool,
}

impl KernelPlan {
    /// Resolves the kernel that a table of keys describes; the keys have been checked.
    pub(crate) fn from_keys(keys: &MemoryKernelKeys) -> Self {
        Self {
            config: MemoryKernelConfig {
                lines: keys.working_set_bytes.div_ceil(LINE_BYTES),
                pattern: match keys.pattern {
                    AccessPattern::Random => memory_kernel::KernelPattern::Random,
                    AccessPattern::Sequential => memory_kernel::KernelPattern::Sequential,
                    AccessPattern::PointerChase => memory_kernel::KernelPattern::PointerChase,
                },
                store_percent: keys.store_percent,
                cycles_per_access: Cycles(keys.cycles_per_access),
                in_flight: keys.accesses_in_flight.map(|accesses| accesses as usize),
                seed: 0,
            },
            bytes: keys.working_set_bytes,
            slices: keys.slice_choice(),
            has_pointers: keys.pointer_table,
        }
    }

    /// Builds the kernel of thread number `thread` among the `cores` that run it.
    pub(crate) fn build(
        &self,
        machine: &MachinePlan,
        memory: &mut HostMemory,
        (thread, cores): (usize, &[CoreId]),
    ) -> MemoryKernel {
        let core = cores[thread];
        let seed = machine.seed.wrapping_add(u64::from(core.0));
        let config = MemoryKernelConfig { seed, ..self.config.clone() };
        let working_set = self.working_set(machine, memory, (thread, cores));
        let pointers = self.has_pointers.then(|| table_of_pointers(memory, config.lines));
        MemoryKernel::new(config, machine.core(core), KernelMemory { working_set, pointers })
    }

    fn working_set(
        &self,
        machine: &MachinePlan,
        memory: &mut HostMemory,
        (thread, cores): (usize, &[CoreId]),
    ) -> Region {
        let bytes = self.bytes;
        match &self.slices {
            SliceChoice::Any => memory.region(bytes),
            SliceChoice::Nearest(count) => {
                let nearest = machine.nearest_slices(cores[thread]);
                machine.in_slices(memory, bytes, &nearest[..*count])
            }
            SliceChoice::Isolated => {
                machine.in_slices(memory, bytes, &machine.isolated_slices(cores)[thread])
            }
            SliceChoice::Listed(slices) => machine.in_slices(memory, bytes, slices),
        }
    }
}

/// Memory for the addresses of so many lines, as malloc has it: in small pages.
fn table_of_pointers(memory: &mut HostMemory, lines: u64) -> Region {
    memory.region_of_small_pages(lines.div_ceil(POINTERS_PER_LINE) * LINE_BYTES)
}

/// A kernel as the application of a tenant.
#[derive(Clone, Debug)]
pub(crate) struct MemoryKernelPlan {
    kernel: KernelPlan,
    has_written: bool,
}

impl ApplicationModule for MemoryKernelPlan {
    const TABLE: Option<&'static str> = Some("memory_kernel");

    fn check_table(input: &TenantInput<'_>) -> Result<(), InputError> {
        let keys = input.table::<Option<MemoryKernelKeys>>().as_ref();
        keys.map_or(Ok(()), |keys| keys.check("memory_kernel", &input.check, input.platform))
    }

    fn plan(input: &TenantInput<'_>) -> Result<Self, InputError> {
        let Some(keys) = input.table::<Option<MemoryKernelKeys>>() else {
            let allowed = "needs a [memory_kernel] table with working_set_bytes".into();
            return Err(input.check.refuse("application", &"memory-kernel", allowed));
        };
        let has_written = input.tenant.keys.initial_content != InitialContent::Empty;
        Ok(Self { kernel: KernelPlan::from_keys(keys), has_written })
    }

    /// Each core's working set has been written before time zero: the caches hold its last lines.
    fn build<T: Tracer>(&self, builder: &mut Builder<'_, T>) {
        let cores = &builder.tenant.cores;
        for (thread, &core) in cores.iter().enumerate() {
            let kernel = self.kernel.build(builder.machine, builder.memory, (thread, cores));
            if self.has_written {
                builder.caches.fill(core, kernel.last_lines(builder.machine.llc_lines));
            }
            builder.software.insert(core, Box::new(kernel));
        }
    }
}
