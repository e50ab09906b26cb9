//! Boxes of slices (CHA, CBo), as data: the event that counts look-ups, and the registers.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

const TABLE: &str = include_str!("../../data/slice_boxes.toml");

/// Control of a counter: counting is enabled.
pub(crate) const SELECT_ENABLED: u64 = 1 << 22;
/// Bits that event selects and filters have at most.
const SELECT_BITS: u64 = 0xffff_ffff;
/// Bits of the mask of sub-events beyond its eighth, where event selects have them.
const EXTENDED_UMASK: u64 = 0x3ff_ffff << 32;
/// Counters of a box, whose event selects lie one after the other.
const COUNTERS: u32 = 4;
/// Number of bits of a counter.
pub(crate) const COUNTER_BITS: u32 = 48;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BoxUnits {
    unit: Vec<BoxUnit>,
}

/// The boxes of the slices of some generations, as `data/slice_boxes.toml` describes them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoxUnit {
    /// Tables of events of the generations that have these boxes.
    events: Vec<String>,
    /// The kernel's name of the unit, without the number of a box.
    pub unit: String,
    /// Generations that count the same event, and whose register addresses no public source gives.
    #[serde(default)]
    without_registers: Vec<String>,
    /// Size of a slice in KiB, from which the number of slices follows if the kernel lists no boxes.
    pub slice_kib: u64,
    /// Event that counts look-ups of the slice: values of its fields, by the kernel's names.
    pub fields: BTreeMap<String, u64>,
    /// Addresses and values of the registers.
    pub registers: BoxRegisters,
    /// Source of the facts about the unit.
    pub source: String,
    /// Which of the registers were compared with the kernel's source.
    pub checked: String,
    /// `seen` in the source, or recalled from `memory`.
    pub confidence: String,
}

/// Registers of the boxes: addresses, and the values that make them count look-ups.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoxRegisters {
    /// First register and number of boxes of each run.
    blocks: Vec<[u32; 2]>,
    /// Distance between the registers of neighbouring boxes of a run.
    stride: u32,
    /// Offset of the first counter's event select; the box's own control is at offset 0.
    select: u32,
    /// Offset of the first counter.
    counter: u32,
    /// The event select that counts look-ups.
    pub(crate) select_value: u64,
    /// Filter with which lines of every state count; `None` if the boxes have no such register.
    pub(crate) filter: Option<SliceBoxFilter>,
    /// Bits of the box's control that stop its counters.
    pub(crate) frozen_bits: u64,
}

/// A filter register: its offset, and the value that it needs.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SliceBoxFilter {
    offset: u32,
    pub(crate) value: u64,
}

impl BoxUnit {
    /// The boxes of the generations with a table of events; `None` if no boxes are known.
    #[must_use]
    pub fn for_events(name: &str) -> Option<Self> {
        let has = |unit: &&BoxUnit| unit.events.iter().any(|known| known == name);
        all().iter().find(has).cloned()
    }

    /// Whether the register addresses are known for a generation.
    #[must_use]
    pub fn has_registers_of(&self, generation: &str) -> bool {
        self.without_registers.iter().all(|without| without != generation)
    }
}

/// The table of boxes, parsed once: a check of a journal needs it for each entry.
fn all() -> &'static [BoxUnit] {
    static ALL: LazyLock<BoxUnits> = LazyLock::new(|| {
        toml::from_str(TABLE).expect("the built-in table of boxes is well-formed")
    });
    &ALL.unit
}

/// Whether an address is a control register of a box of any known generation.
pub(super) fn is_box_control(address: u32) -> bool {
    all().iter().any(|unit| unit.registers.is_control(address))
}

impl BoxRegisters {
    /// Number of boxes that have registers.
    #[must_use]
    pub fn boxes(&self) -> u32 {
        self.blocks.iter().map(|[_, count]| count).sum()
    }

    /// Address of the control register of a box, which is its first; `None` beyond the last box.
    #[must_use]
    pub fn control(&self, number: u32) -> Option<u32> {
        let mut before = 0;
        for &[first, count] in &self.blocks {
            if number < before + count {
                return Some(first + (number - before) * self.stride);
            }
            before += count;
        }
        None
    }

    /// Address of the event select of a box's first counter; `None` beyond the last box.
    #[must_use]
    pub fn select(&self, number: u32) -> Option<u32> {
        Some(self.control(number)? + self.select)
    }

    /// Addresses of the event selects of all counters of a box.
    pub(crate) fn selects(&self, number: u32) -> impl Iterator<Item = u32> {
        self.select(number).into_iter().flat_map(|first| first..first + COUNTERS)
    }

    /// Address of the filter of a box; `None` beyond the last box, or if the boxes need no filter.
    #[must_use]
    pub fn filter(&self, number: u32) -> Option<u32> {
        Some(self.control(number)? + self.filter?.offset)
    }

    /// Address of the first counter of a box; `None` beyond the last box.
    #[must_use]
    pub fn counter(&self, number: u32) -> Option<u32> {
        Some(self.control(number)? + self.counter)
    }

    /// Mask of the bits that counting look-ups changes in a register; `None` if it changes none.
    #[must_use]
    pub fn owned_bits(&self, address: u32) -> Option<u64> {
        let is_control = (0..self.boxes()).any(|number| self.control(number) == Some(address));
        match is_control {
            true => Some(self.frozen_bits),
            false => self.is_control(address).then_some(u64::MAX),
        }
    }

    /// Mask of bits that are never set in a register before look-ups are counted: event selects and
    /// filters have no higher bits, and a box with an enabled counter is refused.
    pub(crate) fn never_set_bits(&self, address: u32) -> u64 {
        let is = |register: fn(&Self, u32) -> Option<u32>| {
            (0..self.boxes()).any(|number| register(self, number) == Some(address))
        };
        let extended = if self.select_value >> 32 == 0 { 0 } else { EXTENDED_UMASK };
        match (is(Self::select), is(Self::filter)) {
            (true, _) => !(SELECT_BITS | extended) | SELECT_ENABLED,
            (_, true) => !SELECT_BITS,
            _ => 0,
        }
    }

    /// Whether an address is a control, event select or filter that counting look-ups writes.
    #[must_use]
    pub fn is_control(&self, address: u32) -> bool {
        (0..self.boxes()).any(|number| {
            [self.control(number), self.select(number), self.filter(number)]
                .contains(&Some(address))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registers(events: &str) -> BoxRegisters {
        BoxUnit::for_events(events).expect("is known").registers
    }

    #[test]
    fn boxes_are_where_the_manuals_have_them() {
        let skylake = registers("skylake");
        assert_eq!((skylake.control(27), skylake.control(28)), (Some(0xfb0), None));
        assert_eq!((skylake.filter(1), skylake.counter(1)), (Some(0xe15), Some(0xe18)));
        let ice_lake = registers("ice-lake");
        let addresses = [0, 17, 18, 33, 34, 39].map(|number| ice_lake.control(number));
        assert_eq!(addresses, [0xe00, 0xeee, 0xf0a, 0xfdc, 0xb60, 0xba6].map(Some));
        assert_eq!(registers("sapphire-rapids").select(59), Some(0x23b2));
    }

    #[test]
    fn the_event_select_says_the_same_as_the_fields() {
        for unit in all() {
            let select = unit.registers.select_value;
            let (low, high) = (unit.fields["umask"] & 0xff, unit.fields["umask"] >> 8);
            assert_eq!(select & 0xff, unit.fields["event"], "{}", unit.unit);
            assert_eq!((select >> 8 & 0xff, select >> 32), (low, high), "{}", unit.unit);
            assert!(select & SELECT_ENABLED != 0);
            assert!(
                ["seen", "memory"].contains(&unit.confidence.as_str()) && !unit.source.is_empty()
            );
        }
    }

    #[test]
    fn counters_and_other_registers_are_no_controls() {
        assert!(is_box_control(0xe01) && is_box_control(0x2002));
        assert!(!is_box_control(0xe08) && !is_box_control(0x1a4) && !is_box_control(0xc8b));
    }
}
