//! Writes a measurement as a platform file: the measured facts, and the platform that it extends for the
//! others.

use super::curve::{self, Curve, CurveError, FittedLastLevel, Victims};
use super::donors::DonorPlatform;
use super::measurement::{Measurement, SizeRole, lower_quartile, quantile};
use super::processor::ReportedCache;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use units::narrow::{fit, whole};

/// Facts of a donor that are not valid for this host: components that the host may not have, distances,
/// and times that the measured latencies include.
const LEFT_OUT: [&str; 7] = [
    "ring",
    "mesh",
    "upi",
    "cxl",
    "root_complex_buffer",
    "llc.slice_table",
    "cpu.stream_prefetch_delay_cycles",
];
/// Tables of a file that contain measured facts, in their order.
const SECTIONS: [&str; 5] = ["cpu", "l1d", "l2", "llc", "dram"];
/// Greatest number of cores that the simulator can name.
const MOST_CORES: u32 = 63;
/// Least number of slices into which a last level is divided, so that its size is right within 3 %.
const LEAST_SLICES: u32 = 16;
/// Level of the last-level cache.
const LLC_LEVEL: u32 = 3;
/// Number of ways that is assumed if none is reported.
const UNREPORTED_WAYS: u32 = 16;

/// Note on sizes that are twice the size that the chase shows.
const TWICE: &str =
    "; twice what the chase shows, as neighbouring lines that are prefetched fill half";

/// A calibrated host: its platform file, and how the facts were found.
#[derive(Clone, Debug)]
pub struct CalibratedPlatform {
    /// Text of the platform file.
    pub toml: String,
    /// The levels, found at the sizes with [`SizeRole::Fit`].
    pub curve: Curve,
    /// The last level, from its part of the curve.
    pub last_level: FittedLastLevel,
    /// The platform whose facts are used where nothing is measured.
    pub donor: DonorPlatform,
    /// Whether a prefetcher fills half of L2 and of the last level with neighbouring lines, which the
    /// chase never visits: the capacity of both is then twice the edge of the curve.
    pub neighbours_fill_half: bool,
}

/// Derives a platform from a measurement.
///
/// # Errors
/// If the latencies do not show four levels.
pub fn platform(measurement: &Measurement) -> Result<CalibratedPlatform, CurveError> {
    let points = measurement.latencies(SizeRole::Fit);
    let curve = curve::find(&points)?;
    let ways = measurement.processor.cache(LLC_LEVEL);
    let ways = ways.and_then(|cache| cache.ways).unwrap_or(UNREPORTED_WAYS);
    let last_level = curve::last_level(&points, &curve, ways.min(32));
    let donor = DonorPlatform::nearest(&measurement.processor);
    let neighbours_fill_half = neighbours_fill_half(measurement, &curve);
    let facts = Facts {
        measurement,
        curve: &curve,
        last_level: &last_level,
        donor: &donor,
        neighbours_fill_half,
    };
    let toml = facts.file();
    Ok(CalibratedPlatform { toml, curve, last_level, donor, neighbours_fill_half })
}

/// Whether a chase through one line of each two finds half of the reported L2.
fn neighbours_fill_half(measurement: &Measurement, curve: &Curve) -> bool {
    let edge = curve.edge_bytes[1];
    let reported = measurement.processor.cache(2).map(|cache| cache.size_bytes);
    measurement.kernel.pair_lines == 2
        && reported.is_some_and(|bytes| !is_near(bytes, edge) && is_near(bytes, 2.0 * edge))
}

/// A fact of the file: value, source and confidence.
#[derive(Clone, Debug)]
struct PlatformFact {
    value: toml::Value,
    source: String,
    confidence: &'static str,
    fitted_on: Option<String>,
}

type Replaced = BTreeMap<(&'static str, &'static str), PlatformFact>;

struct Facts<'m> {
    measurement: &'m Measurement,
    curve: &'m Curve,
    last_level: &'m FittedLastLevel,
    donor: &'m DonorPlatform,
    neighbours_fill_half: bool,
}

impl Facts<'_> {
    /// Text of the file: the measured facts; for the others it extends the donor's file.
    fn file(&self) -> String {
        let donor = self.donor.facts();
        let measured = self.measured_facts(&donor);
        let without: toml::Value = self.left_out(&donor).into();
        let mut text = format!(
            "title = {}\nextends = {}\nbecause = \"not measured on this host\"\nwithout = {without}\n",
            quoted(&self.title()),
            quoted(&self.donor.platform),
        );
        for section in SECTIONS {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\n[{section}]");
            for ((_, key), fact) in measured.iter().filter(|((of, _), _)| *of == section) {
                text += &fact.line(key);
            }
        }
        debug_assert!(measured.keys().all(|(section, _)| SECTIONS.contains(section)));
        text
    }

    /// Capacity in bytes of L2 or the last level, whose `edge` the chase shows.
    fn capacity_bytes(&self, edge: f64) -> f64 {
        if self.neighbours_fill_half { 2.0 * edge } else { edge }
    }

    fn l2_bytes(&self) -> f64 {
        let edge = self.capacity_bytes(self.curve.edge_bytes[1]);
        let reported = self.measurement.processor.cache(2).map(|cache| cache.size_bytes);
        reported.filter(|&bytes| is_near(bytes, edge)).map_or(edge, |bytes| bytes as f64)
    }

    fn title(&self) -> String {
        let processor = &self.measurement.processor;
        let kind = if processor.virtual_machine { ", a virtual machine" } else { "" };
        let name = if processor.name.is_empty() { "this host" } else { &processor.name };
        format!("{name} as measured on the host itself by skipline-host calibrate{kind}")
    }

    /// Tables and keys of the donor that the file does not inherit.
    fn left_out(&self, donor: &toml::Table) -> Vec<String> {
        // A snoop filter beside the LLC goes with the non-inclusive policy of its platform.
        let other_policy: &[&str] = match self.donor.inclusion {
            Some(_) => &["directory", "llc.inclusive_ways"],
            None => &[],
        };
        let is_stated = |path: &&str| match path.split_once('.') {
            Some((section, key)) => {
                donor.get(section).is_some_and(|facts| facts.get(key).is_some())
            }
            None => donor.contains_key(*path),
        };
        let left_out = LEFT_OUT.iter().chain(other_policy).copied().filter(is_stated);
        left_out.map(String::from).collect()
    }

    fn measured_facts(&self, donor: &toml::Table) -> Replaced {
        let mut facts = Replaced::new();
        self.cores(&mut facts, donor);
        self.private_levels(&mut facts);
        self.llc(&mut facts, donor);
        self.memory(&mut facts, donor);
        facts
    }

    fn cores(&self, facts: &mut Replaced, donor: &toml::Table) {
        let measurement = self.measurement;
        let cores = measurement.processor.socket_cores.min(MOST_CORES);
        facts.insert(("cpu", "cores"), fact_seen(cores, "the kernel: cores of the socket"));
        let clock = "measured: a chain of multiplications of 3 cycles each";
        facts.insert(("cpu", "core_ghz"), fact_derived(rounded(measurement.clock_ghz()), clock));
        let prefetch = "derived: the measured latencies, of a chase that uses nothing a prefetcher \
                        brings, and bandwidths hold what this host's prefetchers do";
        let neighbours = if self.neighbours_fill_half {
            "derived: L2 holds half of its size of a chase that visits one line of each two"
        } else {
            prefetch
        };
        let neighbours = fact_derived(self.neighbours_fill_half, neighbours);
        facts.insert(("cpu", "adjacent_line_prefetch"), neighbours);
        facts.insert(("cpu", "stream_prefetch_lines"), fact_derived(0, prefetch));
        if let Some((line_ns, source)) = self.core_to_core(&self.inclusion(donor)) {
            facts.insert(("cpu", "core_to_core_ns"), fact_derived(line_ns, &source));
        }
    }

    /// Load-to-use latency of a line that another core has modified, from half of the round trip of a
    /// line that two cores write in turn: the reader waits for the line, then takes it away.
    fn core_to_core(&self, inclusion: &str) -> Option<(f64, String)> {
        let pairs = &self.measurement.core_to_core;
        let halves: Vec<f64> = pairs.iter().map(|pair| lower_quartile(&pair.latency_ns)).collect();
        let all: Vec<f64> = pairs.iter().flat_map(|pair| pair.latency_ns.clone()).collect();
        if halves.is_empty() {
            return None;
        }
        let (low_ns, high_ns) = (quantile(&all, 0.0), quantile(&all, 1.0));
        let (half_ns, llc_ns) = (quantile(&halves, 0.5), self.curve.latency_ns[2]);
        let (line_ns, how) = if inclusion == "exclusive-victim" {
            (half_ns / 2.0, "of which reading it and taking it away cost the same")
        } else {
            (half_ns - llc_ns, "less an LLC look-up, with which it is taken away")
        };
        let source = format!(
            "derived: half of a round trip of a line that two cores write in turn, {half_ns:.1} ns \
             ({low_ns:.0} to {high_ns:.0} over passes), {how}; not below an LLC hit"
        );
        Some((rounded(line_ns.max(llc_ns)), source))
    }

    fn private_levels(&self, facts: &mut Replaced) {
        let ghz = self.measurement.clock_ghz();
        let [l1_ns, l2_ns, _, _] = self.curve.latency_ns;
        let [l1_bytes, l2_bytes, _] = self.curve.edge_bytes;
        let levels = [("l1d", 1, l1_ns, l1_bytes), ("l2", 2, l2_ns, self.capacity_bytes(l2_bytes))];
        for (name, level, latency_ns, held_bytes) in levels {
            let reported = self.measurement.processor.cache(level);
            let (sets, ways, mut source) = private_shape(reported, held_bytes);
            if level == 2 && self.neighbours_fill_half {
                source += TWICE;
            }
            facts.insert((name, "sets"), fact_derived(sets, &source));
            facts.insert((name, "ways"), fact_derived(ways, &source));
            let cycles = rounded(latency_ns * ghz);
            facts.insert((name, "latency_cycles"), self.fact_fitted(cycles, "load to use"));
        }
    }

    fn llc(&self, facts: &mut Replaced, donor: &toml::Table) {
        let ghz = self.measurement.clock_ghz();
        let [_, l2_ns, llc_ns, _] = self.curve.latency_ns;
        let uncore_ghz = number(donor, "cpu", "uncore_ghz");
        let inclusion = self.inclusion(donor);
        let shape = self.llc_shape(&inclusion);
        let Some((slices, sets, ways, source)) = shape else { return };
        for (key, value) in [("slices", slices), ("sets_per_slice", sets)] {
            let fact =
                PlatformFact { source: source.clone(), ..self.fact_fitted(f64::from(value), "") };
            let value = toml::Value::Integer(value.into());
            facts.insert(("llc", key), PlatformFact { value, ..fact });
        }
        facts.insert(("llc", "ways"), fact_seen(ways, "CPUID, as the kernel reports it"));
        if let (Some(policy), Some(source)) = (&self.donor.inclusion, &self.donor.inclusion_source)
        {
            let value = toml::Value::String(policy.clone());
            let (source, confidence) = (source.clone(), "memory");
            facts.insert(
                ("llc", "inclusion"),
                PlatformFact { value, source, confidence, fitted_on: None },
            );
        }
        let victims = match self.last_level.victims {
            Victims::Lru => "lru",
            Victims::Random => "random",
        };
        let chosen = self.fact_fitted_value(
            victims.into(),
            "chosen between lru and random: how fast \
                                       latency rises beyond the last level's capacity",
        );
        facts.insert(("llc", "replacement"), chosen);
        let core = rounded(l2_ns * ghz);
        facts.insert(
            ("llc", "latency_core_cycles"),
            self.fact_fitted(core, "the L2 look-up before"),
        );
        let uncore = rounded((llc_ns - l2_ns) * uncore_ghz);
        let source = "load to use less the L2 look-up, at cpu.uncore_ghz, which is not measured";
        facts.insert(("llc", "latency_uncore_cycles"), self.fact_fitted(uncore, source));
        let spread = "a stand-in for any number of slices: the host's own function is not known";
        let spread = PlatformFact { confidence: "memory", ..fact_seen("balanced", spread) };
        facts.insert(("llc", "slice_function"), spread);
        let sets = "low bits of the address: nothing is known of the host's own set index";
        let sets = PlatformFact { confidence: "memory", ..fact_seen("plain", sets) };
        facts.insert(("llc", "set_function"), sets);
    }

    fn inclusion(&self, donor: &toml::Table) -> String {
        let own = donor["llc"]["inclusion"]["value"].as_str().unwrap_or_default();
        self.donor.inclusion.clone().unwrap_or_else(|| own.into())
    }

    /// Slices, sets of each, ways, and how they were found.
    fn llc_shape(&self, inclusion: &str) -> Option<(u32, u32, u32, String)> {
        let edge = self.capacity_bytes(self.last_level.edge_bytes);
        let l2 = self.l2_bytes();
        // Lines are in L2 or in a victim cache, in both only where one includes the other.
        let victim_cache = matches!(inclusion, "exclusive-victim" | "non-inclusive");
        let bytes = if victim_cache { (edge - l2).max(l2 / 4.0) } else { edge };
        let reported = self.measurement.processor.cache(LLC_LEVEL);
        let ways = reported.and_then(|cache| cache.ways).unwrap_or(UNREPORTED_WAYS).min(32);
        let sets = u32::try_from(whole((bytes / f64::from(ways) / 64.0).round())).ok()?;
        let mut sets_per_slice = 1;
        while sets / sets_per_slice >= 2 * LEAST_SLICES {
            sets_per_slice *= 2;
        }
        let slices = fit(whole((f64::from(sets) / f64::from(sets_per_slice)).round()));
        let held = if victim_cache { ", L2 included" } else { "" };
        let mut source = format!("half way up to memory at {}{held}", format_bytes(edge));
        if let Some(cache) = reported {
            let verdict = if is_near(cache.size_bytes, edge) {
                "agrees"
            } else {
                "does not: others use it too, or a hypervisor divides it"
            };
            let size = format_bytes(cache.size_bytes as f64);
            let _ = write!(source, "; CPUID's {size} {verdict}");
        }
        if self.neighbours_fill_half {
            source += TWICE;
        }
        (slices > 0).then_some((slices, sets_per_slice, ways, source))
    }

    fn memory(&self, facts: &mut Replaced, donor: &toml::Table) {
        let memory_ns = self.curve.latency_ns[3];
        let dram = |key: &str| number(donor, "dram", key);
        // An idle read of a closed row, as the simulator's memory takes it.
        let burst_ns = 64.0 / dram("bus_bytes") / dram("mega_transfers_per_s") * 1e3;
        let closed_row_ns = dram("trcd_ns") + dram("tcl_ns") + burst_ns;
        // A refresh lasts trfc of each trefi; a read during a refresh waits for half of it.
        let refresh_ns = dram("trfc_ns").powi(2) / dram("trefi_ns") / 2.0;
        let path_ns = rounded((memory_ns - closed_row_ns - refresh_ns).max(0.0));
        let source = format!(
            "load to use of memory, {memory_ns:.1} ns, less activation, column access, burst and \
             the mean wait for refreshes"
        );
        facts.insert(("dram", "path_ns"), self.fact_fitted(path_ns, &source));
        if let Some(stream) = self.measurement.bandwidth.last() {
            let gbytes_per_s = quantile(&stream.read_gbytes_per_s, 0.75);
            let lines = (gbytes_per_s * memory_ns / 64.0).round().clamp(1.0, 256.0);
            let value = toml::Value::Integer(whole(lines).cast_signed());
            let source = "Little's law: read bandwidth of memory times its latency; lines that \
                          prefetchers have under way are in it";
            let on = format!("read bandwidth of {}", format_bytes(stream.array_bytes as f64));
            let fact = PlatformFact { value, fitted_on: Some(on), ..self.fact_fitted(0.0, source) };
            facts.insert(("cpu", "fill_buffers"), fact);
        }
    }

    fn fact_fitted(&self, value: f64, source: &str) -> PlatformFact {
        self.fact_fitted_value(toml::Value::Float(value), source)
    }

    fn fact_fitted_value(&self, value: toml::Value, source: &str) -> PlatformFact {
        let on = "this host: pointer chase at the working-set sizes with role fit";
        let source = format!("measured: {source}");
        PlatformFact { value, source, confidence: "fitted", fitted_on: Some(on.into()) }
    }
}

impl PlatformFact {
    fn line(&self, key: &str) -> String {
        let fitted_on = self.fitted_on.as_ref().map(|on| format!(", fitted_on = {}", quoted(on)));
        format!(
            "{key} = {{ value = {}, source = {}, confidence = \"{}\"{} }}\n",
            self.value,
            quoted(&self.source),
            self.confidence,
            fitted_on.unwrap_or_default()
        )
    }
}

fn fact_seen(value: impl Into<toml::Value>, source: &str) -> PlatformFact {
    PlatformFact { value: value.into(), source: source.into(), confidence: "seen", fitted_on: None }
}

fn fact_derived(value: impl Into<toml::Value>, source: &str) -> PlatformFact {
    PlatformFact { confidence: "derived", ..fact_seen(value, source) }
}

/// Sets and ways of a private level: the reported ones if the curve's edge is near their size.
fn private_shape(reported: Option<&ReportedCache>, edge_bytes: f64) -> (u32, u32, String) {
    let edge = format_bytes(edge_bytes);
    if let Some(cache) = reported
        && is_near(cache.size_bytes, edge_bytes)
        && let (Some(sets), Some(ways)) = (cache.sets, cache.ways)
        && sets.is_power_of_two()
        && ways <= 32
    {
        let size = format_bytes(cache.size_bytes as f64);
        return (sets, ways, format!("CPUID's {size}; the measured edge, at {edge}, agrees"));
    }
    let ways = reported.and_then(|cache| cache.ways).filter(|&ways| ways <= 32).unwrap_or(8);
    let sets = fit(whole((edge_bytes / f64::from(ways) / 64.0).log2().round().exp2().max(1.0)));
    let said = reported
        .map(|cache| format!("; CPUID's {} differs", format_bytes(cache.size_bytes as f64)));
    let source = format!(
        "measured edge at {edge}, to the next power of two sets{}",
        said.unwrap_or_default()
    );
    (sets, ways, source)
}

/// Whether a reported size and an edge differ by at most half an octave.
fn is_near(reported_bytes: u64, edge_bytes: f64) -> bool {
    (reported_bytes as f64 / edge_bytes).log2().abs() <= curve::EDGE_OCTAVES
}

fn number(table: &toml::Table, section: &str, key: &str) -> f64 {
    let value = &table[section][key]["value"];
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64)).unwrap_or(f64::NAN)
}

/// Rounds to two decimals: more digits would only look exact.
fn rounded(value: f64) -> f64 {
    (value * 1e2).round() / 1e2
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.into()).to_string()
}

/// Formats a size with its unit, KiB or MiB.
#[must_use]
pub fn format_bytes(bytes: f64) -> String {
    match bytes {
        bytes if bytes >= f64::from(1 << 20) => format!("{:.3} MiB", bytes / f64::from(1 << 20)),
        bytes => format!("{:.1} KiB", bytes / 1024.0),
    }
}
