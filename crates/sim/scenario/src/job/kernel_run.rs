//! Runs the kernels with which a host measures itself on a platform of the model.

use crate::contract::hardware::Hardware;
use crate::facts::by_name;
use crate::facts::platform::Platform;
use crate::run::Stopped;
use crate::text::error::InputError;
use model::core::Core;
use model::fabric::Fabric;
use model::mesh::Topology;
use model::tracer::NoTrace;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use units::{Bytes, CoreId, Gigahertz, LINE_BYTES};
use workload::host_kernel::{self, ChaseShape, Stream};
use workload::host_memory::HostMemory;

/// Least number of measured steps of a chase.
const LEAST_STEPS: u64 = 1 << 16;
/// Least number of measured lines of a stream.
const LEAST_LINES: u64 = 1 << 15;
const ROUND_TRIPS: u64 = 1_000;
/// Placements of a working set in memory, of which the lower quartile is taken, as of the passes of a
/// measurement: it is random which pages share a set of L2.
const PLACEMENTS: u64 = 9;
/// Working sets larger than this multiple of L2 are placed once: their conflicts average out.
const PLACED_ONCE: u64 = 8;

/// The kernels to run, as a measurement describes them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kernels {
    /// Working sets of the chase.
    pub working_set_bytes: Vec<u64>,
    /// Neighbouring lines of which one is accessed.
    pub pair_lines: u64,
    /// Bytes of a page, for the order of accesses.
    pub page_bytes: u64,
    /// Number of pages whose lines are all visited before those of the next pages.
    pub window_pages: u64,
    /// Contiguous physical memory: ranges of this size are placed at random.
    pub translation_bytes: u64,
    /// Sizes of the arrays of the streams, in bytes.
    pub array_bytes: Vec<u64>,
    /// Whether two cores exchange a line.
    pub core_to_core: bool,
}

/// Results of the model.
#[derive(Clone, Debug, Serialize)]
pub struct KernelResults {
    /// Version of Skipline.
    pub version: String,
    /// Load-to-use latency of each working set.
    pub latency_ns: Vec<f64>,
    /// Bandwidth of each array.
    pub streams: Vec<StreamResult>,
    /// Half of a round trip between two cores.
    pub core_to_core_ns: Option<f64>,
}

/// Bandwidth over one array.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StreamResult {
    /// Bandwidth of reading.
    pub read_gbytes_per_s: f64,
    /// Bandwidth of writing.
    pub write_gbytes_per_s: f64,
    /// Bytes read plus bytes written.
    pub copy_gbytes_per_s: f64,
}

/// Kernels and the platform to run them on.
pub struct KernelJob {
    platform: Platform,
    topology: Topology,
    kernels: Kernels,
    seed: u64,
}

impl KernelJob {
    /// Reads the platform and checks the kernels; `kernels` is JSON.
    ///
    /// # Errors
    /// If any input is invalid.
    pub fn new(platform: &str, kernels: &str, seed: u64) -> Result<Self, InputError> {
        let kernels: Kernels = serde_json::from_str(kernels).map_err(|error| {
            refuse("kernels", &"not a description of kernels", error.to_string())
        })?;
        kernels.check()?;
        let file = platform;
        let platform = by_name::platform("compare", platform)?;
        Ok(Self { topology: platform.topology(file)?, platform, kernels, seed })
    }

    /// Runs all kernels. `watch` receives the share that is done, and may stop the run.
    ///
    /// # Errors
    /// If `watch` stopped it.
    pub fn run(
        &self,
        mut watch: impl FnMut(f64) -> ControlFlow<()>,
    ) -> Result<KernelResults, Stopped> {
        self.run_watched(&mut watch)
    }

    fn run_watched(
        &self,
        watch: &mut dyn FnMut(f64) -> ControlFlow<()>,
    ) -> Result<KernelResults, Stopped> {
        let kernels = &self.kernels;
        let parts = (kernels.working_set_bytes.len() + kernels.array_bytes.len()).max(1);
        let mut done = 0;
        let mut step = || {
            done += 1;
            if watch(f64::from(done) / parts as f64).is_break() { Err(Stopped) } else { Ok(()) }
        };
        let mut latency_ns = Vec::new();
        for &bytes in &kernels.working_set_bytes {
            latency_ns.push(self.chase(bytes));
            step()?;
        }
        let mut streams = Vec::new();
        for &bytes in &kernels.array_bytes {
            let [read, write, copy] = [Stream::Read, Stream::Write, Stream::Copy]
                .map(|stream| self.stream(stream, bytes));
            streams.push(StreamResult {
                read_gbytes_per_s: read,
                write_gbytes_per_s: write,
                copy_gbytes_per_s: copy,
            });
            step()?;
        }
        let two_cores = kernels.core_to_core && self.platform.cpu.cores.value > 1;
        let core_to_core_ns =
            two_cores.then(|| host_kernel::core_to_core_ns(&mut self.fabric(2), ROUND_TRIPS));
        let version = env!("CARGO_PKG_VERSION").into();
        Ok(KernelResults { version, latency_ns, streams, core_to_core_ns })
    }

    fn chase(&self, working_set_bytes: u64) -> f64 {
        let lines = working_set_bytes / LINE_BYTES;
        let shape = ChaseShape {
            lines,
            pair_lines: self.kernels.pair_lines,
            page_lines: self.kernels.page_bytes / LINE_BYTES,
            window_pages: self.kernels.window_pages,
        };
        // Twice the capacity of the caches, in whole rounds if a round is shorter.
        let enough = 2 * self.cached_lines();
        let settle = if lines < enough { enough.next_multiple_of(lines) } else { enough };
        let steps = LEAST_STEPS.next_multiple_of(lines.min(LEAST_STEPS));
        let l2_bytes = self.l2_lines() * LINE_BYTES;
        let scattered = working_set_bytes <= PLACED_ONCE * l2_bytes;
        let placements = if scattered { PLACEMENTS } else { 1 };
        let mut latencies_ns: Vec<f64> = (0..placements)
            .map(|placement| {
                let seed = self.seed.wrapping_add(placement);
                let (mut fabric, mut memory) = (self.fabric(1), self.memory(seed));
                host_kernel::chase(&mut fabric, &mut memory, shape, settle, steps, seed)
            })
            .collect();
        latencies_ns.sort_by(f64::total_cmp);
        latencies_ns[latencies_ns.len() / 4]
    }

    fn stream(&self, stream: Stream, array_bytes: u64) -> f64 {
        let lines = LEAST_LINES.max(array_bytes / LINE_BYTES).min(1 << 18);
        let clock = Gigahertz(self.platform.cpu.core_ghz.value);
        let mut core = Core::new(CoreId(0), clock, self.platform.cpu.fill_buffers.value);
        let (mut fabric, mut memory) = (self.fabric(1), self.memory(self.seed));
        host_kernel::stream_gbytes_per_s(
            &mut fabric,
            &mut memory,
            &mut core,
            stream,
            array_bytes,
            lines,
        )
    }

    fn cached_lines(&self) -> u64 {
        let llc = &self.platform.llc;
        let sets = u64::from(llc.slices.value) * u64::from(llc.sets_per_slice.value);
        self.l2_lines() + sets * u64::from(llc.ways.value)
    }

    fn l2_lines(&self) -> u64 {
        u64::from(self.platform.l2.sets.value) * u64::from(self.platform.l2.ways.value)
    }

    fn memory(&self, seed: u64) -> HostMemory {
        HostMemory::new(Bytes(self.kernels.translation_bytes), seed)
    }

    fn fabric(&self, cores: u32) -> Fabric<NoTrace> {
        let hardware = Hardware::without_devices(&self.platform, &self.topology, cores, self.seed);
        Fabric::new(&hardware.fabric(), NoTrace)
    }
}

impl Kernels {
    fn check(&self) -> Result<(), InputError> {
        let check = |key: &str, value: u64, low: u64, high: u64| {
            let allowed = format!("allowed: a power of two from {low} to {high}");
            let good = value.is_power_of_two() && (low..=high).contains(&value);
            if good { Ok(()) } else { Err(refuse(key, &value, allowed)) }
        };
        check("pair_lines", self.pair_lines, 1, 64)?;
        check("page_bytes", self.page_bytes, self.pair_lines * LINE_BYTES, 2 << 20)?;
        check("window_pages", self.window_pages, 1, 1 << 20)?;
        check("translation_bytes", self.translation_bytes, 4096, 1 << 30)?;
        let sizes = self.working_set_bytes.iter().chain(&self.array_bytes);
        for &bytes in sizes {
            if !(2 * LINE_BYTES..=16 << 30).contains(&bytes) {
                return Err(refuse("working_set_bytes", &bytes, "allowed: 128 to 2^34".into()));
            }
        }
        Ok(())
    }
}

fn refuse(key: &str, value: &dyn std::fmt::Display, allowed: String) -> InputError {
    InputError::OutOfRange {
        file: "measurement".into(),
        key: key.into(),
        value: value.to_string(),
        allowed,
    }
}
