//! The plan of fault injection, as a TOML file.

use std::ops::Range;
use thiserror::Error;
use toml::{Table, Value};

/// Rates and settings of all kinds of injected faults. A rate is the share of descriptors or events that are
/// affected, from 0 to 1. Default: nothing is injected.
///
/// ```
/// let plan = dsa::inject::InjectionPlan::parse("
///     seed = 7                     # needed: 0 or more
///     [page_faults]
///     rate = 0.01                  # of descriptors
///     ranges = [{ from = 0x10000, to = 0x20000 }]
///     [queue_full]
///     rate = 0.05                  # of submissions
///     [hardware_errors]
///     read_rate = 0.001            # of descriptors that read memory: status 0x20
///     write_rate = 0.001           # of descriptors that write memory: status 0x21
///     translation_rate = 0.001     # of descriptors that name memory: status 0x22
///     [delays]
///     rate = 0.1                   # of descriptors
///     nanoseconds = 20_000
///     [reordering]
///     rate = 0.1                   # of descriptors
///     behind = 4                   # descriptors that go first
///     [reset]
///     after_descriptors = 100_000  # of the whole device
///     [lost_interrupts]
///     rate = 0.5                   # of interrupts, of descriptors and of errors
/// ");
/// assert_eq!(plan.unwrap().reordering.behind, 4);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InjectionPlan {
    /// `seed`: seed of the random numbers. Another seed affects other descriptors.
    pub seed: u64,
    /// `[page_faults]`: descriptors that meet absent pages.
    pub page_faults: PageFaults,
    /// `[queue_full] rate`: share of submissions to which the queue appears full. An enqueue command is
    /// refused, a posted write is lost (0x53).
    pub queue_full_rate: f64,
    /// `[hardware_errors]`: descriptors that end with a hardware error.
    pub hardware_errors: HardwareErrors,
    /// `[delays]`: descriptors that engines execute after a delay.
    pub delays: Delays,
    /// `[reordering]`: descriptors that others overtake.
    pub reordering: Reordering,
    /// `[reset] after_descriptors`: number of descriptors that end before the device is reset, once. `None`:
    /// no reset.
    pub reset_after_descriptors: Option<u64>,
    /// `[lost_interrupts] rate`: share of interrupts that are lost, of the software error register and of
    /// descriptors that request one.
    pub lost_interrupts_rate: f64,
}

/// Absent pages. An operation is done up to the first absent page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageFaults {
    /// `rate`: share of descriptors for which a page of an operand is absent.
    pub rate: f64,
    /// `ranges`: addresses whose pages are absent for every descriptor, record and list included. `from`
    /// is the first address, `to` the first one behind the range.
    pub ranges: Vec<Range<u64>>,
}

/// Hardware errors of descriptors that have passed the checks. Such a descriptor is not executed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HardwareErrors {
    /// `read_rate`: share of descriptors that read and end with status 0x20.
    pub read_rate: f64,
    /// `write_rate`: share of descriptors that write and end with status 0x21.
    pub write_rate: f64,
    /// `translation_rate`: share of descriptors that name memory and end with status 0x22.
    pub translation_rate: f64,
}

/// Delays of engines before they execute a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delays {
    /// `rate`: share of descriptors that are delayed.
    pub rate: f64,
    /// `nanoseconds`: the delay, 1 to 10^9.
    pub nanoseconds: u64,
}

/// Descriptors that other descriptors overtake.
///
/// The order changes only as the specification allows: a drain stays behind the descriptors before it, and a
/// group of one engine keeps the order of each queue, so that only descriptors of other queues overtake.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reordering {
    /// `rate`: share of descriptors that are overtaken.
    pub rate: f64,
    /// `behind`: number of others that go first, if there are so many.
    pub behind: u32,
}

/// Reason why a text is not a valid plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The text is not valid TOML.
    #[error("the plan is not valid TOML: {0}")]
    Syntax(String),
    /// A key is unknown.
    #[error("{key} is not a key of a plan; allowed are {allowed}")]
    UnknownKey {
        /// The key, with its section.
        key: String,
        /// Keys that are allowed there.
        allowed: String,
    },
    /// A key is missing.
    #[error("{key} is missing; allowed is {allowed}")]
    MissingKey {
        /// The key, with its section.
        key: String,
        /// Values that are allowed.
        allowed: &'static str,
    },
    /// A value is not allowed for its key.
    #[error("{key} = {value} is not possible; allowed is {allowed}")]
    BadValue {
        /// The key, with its section.
        key: String,
        /// The value.
        value: String,
        /// Values that are allowed.
        allowed: &'static str,
    },
}

/// Longest delay in nanoseconds: one second.
const MOST_DELAY_NS: u64 = 1_000_000_000;
/// Most descriptors that may overtake: more than all queues of a device have entries.
const MOST_BEHIND: u64 = 65_535;

const SECTIONS: &str = "seed, page_faults, queue_full, hardware_errors, delays, reordering, reset, \
                        lost_interrupts";
const RATE: &str = "a number from 0 to 1";
const RANGES: &str = "a list of { from = ADDRESS, to = ADDRESS }, from below to";

impl InjectionPlan {
    /// Parses the text of a plan.
    ///
    /// # Errors
    /// The first key or value that is not allowed, with the allowed ones.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let whole = text.parse::<Table>();
        let whole = whole.map_err(|error| PlanError::Syntax(error.to_string()))?;
        let mut whole = PlanSection { name: String::new(), values: whole };
        let seed = "an integer from 0 to 2^63 - 1";
        let mut plan =
            Self { seed: whole.needed("seed", integer(0..=u64::MAX), seed)?, ..Self::default() };
        if let Some(mut faults) = whole.section("page_faults")? {
            plan.page_faults = PageFaults {
                rate: faults.optional("rate", rate, RATE)?.unwrap_or_default(),
                ranges: faults.optional("ranges", ranges, RANGES)?.unwrap_or_default(),
            };
            faults.end("rate, ranges")?;
        }
        plan.queue_full_rate = whole.rate_of("queue_full")?;
        if let Some(mut errors) = whole.section("hardware_errors")? {
            let mut own = |key| Ok(errors.optional(key, rate, RATE)?.unwrap_or_default());
            plan.hardware_errors = HardwareErrors {
                read_rate: own("read_rate")?,
                write_rate: own("write_rate")?,
                translation_rate: own("translation_rate")?,
            };
            errors.end("read_rate, write_rate, translation_rate")?;
        }
        if let Some(mut delays) = whole.section("delays")? {
            let time = integer(1..=MOST_DELAY_NS);
            plan.delays = Delays {
                rate: delays.needed("rate", rate, RATE)?,
                nanoseconds: delays.needed("nanoseconds", time, "an integer from 1 to 10^9")?,
            };
            delays.end("rate, nanoseconds")?;
        }
        if let Some(mut reordering) = whole.section("reordering")? {
            let behind = integer(1..=MOST_BEHIND);
            let behind = reordering.needed("behind", behind, "an integer from 1 to 65535")?;
            plan.reordering = Reordering {
                rate: reordering.needed("rate", rate, RATE)?,
                behind: units::narrow::fit(behind),
            };
            reordering.end("rate, behind")?;
        }
        if let Some(mut reset) = whole.section("reset")? {
            let after = integer(1..=u64::MAX);
            let after = reset.needed("after_descriptors", after, "an integer from 1 on")?;
            plan.reset_after_descriptors = Some(after);
            reset.end("after_descriptors")?;
        }
        plan.lost_interrupts_rate = whole.rate_of("lost_interrupts")?;
        whole.end(SECTIONS)?;
        Ok(plan)
    }
}

/// A table of the plan, from which each key is removed when it is read.
struct PlanSection {
    /// Name of the table with a dot behind it; empty for the whole plan.
    name: String,
    values: Table,
}

impl PlanSection {
    fn section(&mut self, name: &str) -> Result<Option<Self>, PlanError> {
        let values = self.optional(name, |value| value.as_table().cloned(), "a section")?;
        Ok(values.map(|values| Self { name: format!("{name}."), values }))
    }

    /// Reads a section whose only key is `rate`.
    fn rate_of(&mut self, name: &str) -> Result<f64, PlanError> {
        let Some(mut section) = self.section(name)? else { return Ok(0.0) };
        let rate = section.needed("rate", rate, RATE)?;
        section.end("rate")?;
        Ok(rate)
    }

    fn optional<T>(
        &mut self,
        key: &str,
        read: impl Fn(&Value) -> Option<T>,
        allowed: &'static str,
    ) -> Result<Option<T>, PlanError> {
        let Some(value) = self.values.remove(key) else { return Ok(None) };
        let key = format!("{}{key}", self.name);
        let bad = || PlanError::BadValue { key, value: value.to_string(), allowed };
        read(&value).map(Some).ok_or_else(bad)
    }

    fn needed<T>(
        &mut self,
        key: &str,
        read: impl Fn(&Value) -> Option<T>,
        allowed: &'static str,
    ) -> Result<T, PlanError> {
        let missing = PlanError::MissingKey { key: format!("{}{key}", self.name), allowed };
        self.optional(key, read, allowed)?.ok_or(missing)
    }

    /// Refuses keys that have not been read.
    fn end(&self, allowed: &str) -> Result<(), PlanError> {
        self.values.keys().next().map_or(Ok(()), |key| {
            let key = format!("{}{key}", self.name);
            Err(PlanError::UnknownKey { key, allowed: allowed.to_owned() })
        })
    }
}

fn rate(value: &Value) -> Option<f64> {
    let number = value.as_float().or_else(|| match value.as_integer() {
        Some(0) => Some(0.0),
        Some(1) => Some(1.0),
        _ => None,
    });
    number.filter(|number| (0.0..=1.0).contains(number))
}

fn integer(allowed: std::ops::RangeInclusive<u64>) -> impl Fn(&Value) -> Option<u64> {
    move |value| {
        let number = u64::try_from(value.as_integer()?).ok()?;
        allowed.contains(&number).then_some(number)
    }
}

fn ranges(value: &Value) -> Option<Vec<Range<u64>>> {
    let range = |value: &Value| {
        let table = value.as_table().filter(|table| table.len() == 2)?;
        let [from, to] = ["from", "to"].map(|key| table.get(key).and_then(integer(0..=u64::MAX)));
        let range = from?..to?;
        (range.start < range.end).then_some(range)
    };
    value.as_array()?.iter().map(range).collect()
}
