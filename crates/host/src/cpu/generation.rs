//! What is known about CPU generations, as data.

use serde::{Deserialize, Serialize};
use units::WayMask;

use super::CpuModel;

const TABLE: &str = include_str!("../../data/generations.toml");

/// All known generations.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generations {
    generation: Vec<Generation>,
}

impl Generations {
    /// The table that is built in.
    ///
    /// # Panics
    /// If that table is malformed, which a test excludes.
    #[must_use]
    pub fn built_in() -> Self {
        toml::from_str(TABLE).expect("the built-in table of generations is well-formed")
    }

    /// The generation of a CPU, if it is known.
    #[must_use]
    pub fn find(&self, cpu: &CpuModel) -> Option<&Generation> {
        self.generation.iter().find(|generation| generation.includes(cpu))
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Generation] {
        &self.generation
    }
}

/// A generation of server CPUs.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    /// The name that people use.
    pub name: String,
    /// As /proc/cpuinfo has it.
    pub vendor: String,
    /// CPUID's display family.
    pub family: u32,
    /// First and last model.
    pub models: [u32; 2],
    /// First and last stepping.
    #[serde(default = "any_stepping")]
    pub steppings: [u32; 2],
    /// Parts of the names of its servers; other parts may have the same model number.
    #[serde(default)]
    pub brands: Vec<String>,
    /// Device numbers (vendor 8086) of PCI functions of the uncore, of which every server has some.
    #[serde(default)]
    pub uncore_devices: Vec<u16>,
    /// The table of events (`data/events/NAME.toml`).
    pub events: Option<String>,
    /// The register of the ways that I/O allocates in.
    pub ways_register: Option<WaysRegister>,
    /// The switch of each root port.
    pub port_switch: Option<PortSwitch>,
    /// What is where the switch was on earlier parts, with its source.
    pub no_port_switch: Option<String>,
    /// What is known about I/O classes of service.
    pub io_rdt: Option<String>,
    /// What the firmware calls the switch of the whole machine, if boards have one.
    pub firmware_switch: Option<String>,
    /// Where a device's writes go.
    pub writes_go_to: WriteDestination,
    /// The same in words.
    pub io_path: String,
    /// Where this was read.
    pub source: String,
}

fn any_stepping() -> [u32; 2] {
    [0, u32::MAX]
}

impl Generation {
    fn includes(&self, cpu: &CpuModel) -> bool {
        let within = |[first, last]: [u32; 2], value| (first..=last).contains(&value);
        self.vendor == cpu.vendor
            && self.family == cpu.family
            && within(self.models, cpu.model)
            && within(self.steppings, cpu.stepping)
    }

    /// Whether a CPU of its model number has the name of one of its servers.
    #[must_use]
    pub fn names_server(&self, cpu: &CpuModel) -> bool {
        // Emerald Rapids writes its name in capitals.
        let spelled = cpu.name.to_lowercase();
        self.brands.is_empty()
            || self.brands.iter().any(|brand| spelled.contains(&brand.to_lowercase()))
    }

    /// The firmware's switch in words.
    #[must_use]
    pub fn describe_firmware_switch(&self) -> String {
        match &self.firmware_switch {
            Some(name) => format!("a firmware setting: {name}"),
            None => "no firmware setting is known".to_owned(),
        }
    }

    /// What is known about the place of a switch that root ports do not have, to follow a statement.
    #[must_use]
    pub fn describe_missing_port_switch(&self) -> String {
        self.no_port_switch.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default()
    }

    /// Whether it is Intel's.
    #[must_use]
    pub fn is_intel(&self) -> bool {
        self.vendor == "GenuineIntel"
    }
}

/// Where a device's writes go.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteDestination {
    /// The last-level cache.
    Llc,
    /// Memory.
    Memory,
    /// The last-level cache if they carry a steering tag, else memory.
    Steered,
}

/// Whether a control was seen to change hit rates on this generation.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// Measured: it changes hit rates.
    Effective,
    /// Measured: it accepts writes, and hit rates stay.
    NoEffect,
    /// Not measured here; the generation before it was, without effect.
    ExpectedNoEffect,
    /// No measurement is published.
    Unknown,
}

/// What a control is believed on.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A public datasheet describes it.
    Manual,
    /// A publication has measured it.
    Measurement,
    /// Users of a tool have reported it.
    Reports,
    /// It is as on the generation before, as far as is known.
    Inference,
}

/// Which masks of ways were written where the register was tried: no manual says what it takes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MaskShape {
    /// One run of ways that ends at the top way.
    RunFromTop,
}

impl MaskShape {
    /// Whether a mask of a cache with these ways has the shape.
    #[must_use]
    pub fn includes(self, mask: u64, ways: u32) -> bool {
        match self {
            Self::RunFromTop => mask == u64::from(WayMask::top(mask.count_ones(), ways).0),
        }
    }

    /// The shape in words.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::RunFromTop => "one run of ways that ends at the top way",
        }
    }
}

/// The register of the ways that I/O allocates in.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WaysRegister {
    /// Its number.
    pub msr: u32,
    /// How many of the top ways it holds after power-on; they stay in every mask.
    pub default_ways: u32,
    /// Masks that were written where it was tried.
    pub masks: MaskShape,
    /// By whom.
    pub masks_source: String,
    /// What measurements say.
    pub proof: Proof,
    /// What it is believed on.
    pub known_by: SourceKind,
    /// Where this was read.
    pub source: String,
}

/// The switch of each root port.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PortSwitch {
    /// Offset of perfctrlsts_0 in configuration space.
    pub offset: u16,
    /// `Use_Allocating_Flow_Wr`: set means DDIO.
    pub allocating_bit: u32,
    /// `NoSnoopOpWrEn`: set means that writes with the attribute No Snoop do not allocate. Tools that
    /// set it for "DDIO off" need not: without the other bit these writes do not allocate either.
    pub no_snoop_bit: u32,
    /// `TPHDIS`: set means that hints of devices (TPH) are ignored.
    pub tph_disable_bit: u32,
    /// Device numbers of the root ports (vendor 8086) that are known to have it.
    pub devices: Vec<u16>,
    /// What measurements say.
    pub proof: Proof,
    /// What it is believed on.
    pub known_by: SourceKind,
    /// Which bits make "DDIO off", by which source.
    pub off_source: String,
    /// Where this was read.
    pub source: String,
}

impl PortSwitch {
    /// The bit that switching changes: the smallest documented change.
    #[must_use]
    pub fn bits(&self) -> u64 {
        1 << self.allocating_bit
    }

    /// The bits that a journal may put back: earlier versions of this tool set `NoSnoopOpWrEn` too.
    #[must_use]
    pub fn restorable_bits(&self) -> u64 {
        self.bits() | 1 << self.no_snoop_bit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(vendor: &str, family: u32, model: u32, stepping: u32) -> CpuModel {
        let name = String::new();
        CpuModel { vendor: vendor.into(), family, model, stepping, name, virtual_machine: false }
    }

    #[test]
    fn stepping_tells_skylake_from_cascade_lake() {
        let table = Generations::built_in();
        let name =
            |stepping| table.find(&cpu("GenuineIntel", 6, 0x55, stepping)).map(|g| g.name.as_str());
        assert_eq!(name(4), Some("Skylake"));
        assert_eq!(name(7), Some("Cascade Lake"));
        assert_eq!(name(11), Some("Cooper Lake"));
    }

    #[test]
    fn a_switch_of_root_ports_is_listed_where_it_was_measured_or_a_manual_describes_it() {
        let table = Generations::built_in();
        let with_switch: Vec<_> =
            table.all().iter().filter_map(|g| Some((&g.name, g.port_switch.as_ref()?))).collect();
        for (name, switch) in &with_switch {
            let is_measured = switch.known_by == SourceKind::Measurement;
            assert!(is_measured || switch.known_by == SourceKind::Manual, "{name}");
            // A manual says what a bit is for; that hit rates follow is what a measurement says.
            assert_eq!(switch.proof == Proof::Effective, is_measured, "{name}");
        }
        let names: Vec<_> = with_switch.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Haswell", "Broadwell", "Skylake", "Cascade Lake"]);
    }

    #[test]
    fn a_model_that_nobody_described_has_no_generation() {
        assert!(Generations::built_in().find(&cpu("GenuineIntel", 6, 0x9e, 0)).is_none());
        assert!(Generations::built_in().find(&cpu("HygonGenuine", 0x18, 0, 0)).is_none());
    }
}
