//! CPU generations: their registers, switches and events, as data.

use serde::{Deserialize, Serialize};
use units::WayMask;

use super::CpuModel;

const TABLE: &str = include_str!("../../data/generations.toml");

/// The table of known CPU generations.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generations {
    generation: Vec<Generation>,
}

impl Generations {
    /// Parses the table that is built in (`data/generations.toml`).
    ///
    /// # Panics
    /// If the table is malformed, which a test excludes.
    #[must_use]
    pub fn built_in() -> Self {
        toml::from_str(TABLE).expect("the built-in table of generations is well-formed")
    }

    /// The generation of a CPU; `None` if it is not in the table.
    #[must_use]
    pub fn find(&self, cpu: &CpuModel) -> Option<&Generation> {
        self.generation.iter().find(|generation| generation.includes(cpu))
    }

    /// All generations in the order of the table.
    #[must_use]
    pub fn all(&self) -> &[Generation] {
        &self.generation
    }
}

/// A generation of server CPUs.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    /// Common name, like "Skylake".
    pub name: String,
    /// Vendor as /proc/cpuinfo has it, like `GenuineIntel`.
    pub vendor: String,
    /// Display family of the CPUs, as CPUID gives it.
    pub family: u32,
    /// First and last display model of the CPUs.
    pub models: [u32; 2],
    /// First and last stepping of the CPUs.
    #[serde(default = "any_stepping")]
    pub steppings: [u32; 2],
    /// Substrings of the model names of its servers: desktop CPUs may have the same model number. Empty
    /// accepts every name.
    #[serde(default)]
    pub brands: Vec<String>,
    /// Device IDs (vendor 8086) of the uncore's PCI functions: every server has at least one of them.
    #[serde(default)]
    pub uncore_devices: Vec<u16>,
    /// Name of the table of events (`data/events/NAME.toml`); `None` if no events are known.
    pub events: Option<String>,
    /// Register of the ways that I/O allocates in; `None` if none is publicly documented.
    pub ways_register: Option<WaysRegister>,
    /// DDIO switch of each root port; `None` if none is publicly documented.
    pub port_switch: Option<PortSwitch>,
    /// Meaning of the register that was the DDIO switch on earlier CPUs, with its source.
    pub no_port_switch: Option<String>,
    /// Description of I/O classes of service (I/O RDT), if the generation has them.
    pub io_rdt: Option<String>,
    /// The firmware's name of the DDIO switch of the whole machine, if boards have one.
    pub firmware_switch: Option<String>,
    /// Destination of a device's writes.
    pub writes_go_to: WriteDestination,
    /// Description of the path of I/O data, for messages.
    pub io_path: String,
    /// Source of the facts about the generation.
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

    /// Whether the name of a CPU contains one of [`Generation::brands`], in any case.
    #[must_use]
    pub fn names_server(&self, cpu: &CpuModel) -> bool {
        // Emerald Rapids writes its name in capitals.
        let spelled = cpu.name.to_lowercase();
        self.brands.is_empty()
            || self.brands.iter().any(|brand| spelled.contains(&brand.to_lowercase()))
    }

    /// Sentence about the firmware's switch of the whole machine.
    #[must_use]
    pub fn describe_firmware_switch(&self) -> String {
        match &self.firmware_switch {
            Some(name) => format!("a firmware setting: {name}"),
            None => "no firmware setting is known".to_owned(),
        }
    }

    /// Reason why root ports lack the switch, in parentheses and after a space; empty if none is known.
    #[must_use]
    pub fn describe_missing_port_switch(&self) -> String {
        self.no_port_switch.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default()
    }

    /// Whether the vendor is Intel.
    #[must_use]
    pub fn is_intel(&self) -> bool {
        self.vendor == "GenuineIntel"
    }
}

/// Destination of a device's writes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteDestination {
    /// Writes go to the last-level cache.
    Llc,
    /// Writes go to memory.
    Memory,
    /// The last-level cache for writes with a steering tag (TPH), memory for others.
    Steered,
}

/// Result of published measurements of a control: whether it changes hit rates on a generation.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// Measured: it changes hit rates.
    Effective,
    /// Measured: it accepts writes, and hit rates stay.
    NoEffect,
    /// Not measured on this generation; measured without effect on the one before.
    ExpectedNoEffect,
    /// No measurement is published.
    Unknown,
}

/// Kind of source by which a control is known.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A public datasheet describes the control.
    Manual,
    /// A publication has measured the control's effect.
    Measurement,
    /// Users of a tool have reported the control.
    Reports,
    /// Inferred from the generation before.
    Inference,
}

/// Shape of the masks of ways that were tried with the register: no manual states which it accepts.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MaskShape {
    /// One run of ways that ends at the top way.
    RunFromTop,
}

impl MaskShape {
    /// Whether a mask of a cache with `ways` ways has the shape.
    #[must_use]
    pub fn includes(self, mask: u64, ways: u32) -> bool {
        match self {
            Self::RunFromTop => mask == u64::from(WayMask::top(mask.count_ones(), ways).0),
        }
    }

    /// Description of the shape, for messages.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::RunFromTop => "one run of ways that ends at the top way",
        }
    }
}

/// The register (MSR) of the ways that I/O allocates in.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WaysRegister {
    /// MSR address of the register.
    pub msr: u32,
    /// Number of top ways that are set after power-on; every mask includes them.
    pub default_ways: u32,
    /// Shape of the masks that were tried.
    pub masks: MaskShape,
    /// Source of the trials.
    pub masks_source: String,
    /// Result of published measurements of the register.
    pub proof: Proof,
    /// Kind of source by which the register is known.
    pub known_by: SourceKind,
    /// Source of the facts about the register.
    pub source: String,
}

/// The DDIO switch of each root port: a bit of perfctrlsts_0.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PortSwitch {
    /// Offset of perfctrlsts_0 in configuration space.
    pub offset: u16,
    /// `Use_Allocating_Flow_Wr`: position of the bit; set means DDIO.
    pub allocating_bit: u32,
    /// `NoSnoopOpWrEn`: position of the bit; set means that writes with the attribute No Snoop do not
    /// allocate. Tools that set it for "DDIO off" need not: without the other bit these writes do not
    /// allocate either.
    pub no_snoop_bit: u32,
    /// `TPHDIS`: position of the bit; set means that hints of devices (TPH) are ignored.
    pub tph_disable_bit: u32,
    /// Device IDs (vendor 8086) of the root ports that are known to have the switch.
    pub devices: Vec<u16>,
    /// Result of published measurements of the switch.
    pub proof: Proof,
    /// Kind of source by which the switch is known.
    pub known_by: SourceKind,
    /// Source for the bits that make "DDIO off".
    pub off_source: String,
    /// Source of the facts about the switch.
    pub source: String,
}

impl PortSwitch {
    /// Mask of the bit that switching changes: the smallest documented change.
    #[must_use]
    pub fn bits(&self) -> u64 {
        1 << self.allocating_bit
    }

    /// Mask of the bits that a restore may write: earlier versions of this tool set `NoSnoopOpWrEn` too.
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
            // A manual states the purpose of a bit; only a measurement shows that hit rates follow.
            assert_eq!(switch.proof == Proof::Effective, is_measured, "{name}");
        }
        let names: Vec<_> = with_switch.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Haswell", "Broadwell", "Skylake", "Cascade Lake"]);
    }

    #[test]
    fn a_model_that_is_not_in_the_table_has_no_generation() {
        assert!(Generations::built_in().find(&cpu("GenuineIntel", 6, 0x9e, 0)).is_none());
        assert!(Generations::built_in().find(&cpu("HygonGenuine", 0x18, 0, 0)).is_none());
    }
}
