//! Where a device's lines go beyond what DDIO does by itself, and who changes that.

use super::Tenant;
use crate::input::check::Check;
use crate::input::error::InputError;
use crate::platform::Platform;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lines of a packet at most: those of the largest buffer.
const MOST_LINES: u64 = 1024;

/// Placement policies of a root port; all are off unless they are stated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementKeys {
    /// Selective DMA: only that many lines at the head of a packet go to the LLC, the rest to memory.
    #[serde(default)]
    pub inject_lines: Option<u64>,
    /// Packets that find more than so many packets in front of them in their queue go to memory instead
    /// of the LLC.
    #[serde(default)]
    pub bypass_when_backlogged: Option<u32>,
    /// A write that would push out a device's line which nobody has read goes to memory instead.
    #[serde(default)]
    pub bypass_unread: bool,
    /// Writes replace lines that have been read before others.
    #[serde(default)]
    pub replace_read_first: bool,
    /// Cores do not push out unread lines of this device while they can take something else.
    #[serde(default)]
    pub io_priority: bool,
    /// That many lines at the head of a packet are placed in the L2 of the core that polls its queue.
    #[serde(default)]
    pub push_to_l2_lines: Option<u64>,
    /// With DDIO off: that many lines at the head of a packet are prefetched into that L2 after they
    /// went to memory.
    #[serde(default)]
    pub prefetch_hint_lines: Option<u64>,
    /// CacheDirector: a line of each packet lies in one of that many slices nearest to the core that
    /// polls its queue. The driver chooses the headroom of each buffer for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header_slices: Option<u32>,
    /// The line of a packet that CacheDirector places. The first, number 0, by default; headers of IPv6
    /// and TCP end in the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header_line: Option<u64>,
    /// Headroom that CacheDirector may add, which every buffer is larger by. 16 lines by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom_lines: Option<u32>,
}

/// A controller that changes the number of ways by demand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DynamicWaysKeys {
    /// Whether it runs.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Time between two looks at the counters.
    #[serde(default = "period_us")]
    pub period_us: f64,
    /// Fewest ways.
    #[serde(default = "min_ways")]
    pub min_ways: u32,
    /// Most ways.
    #[serde(default = "max_ways")]
    pub max_ways: u32,
    /// Write misses per microsecond above which it adds a way.
    #[serde(default = "grow_above_misses_per_us")]
    pub grow_above_misses_per_us: f64,
    /// Write misses per microsecond below which it takes one away.
    #[serde(default = "shrink_below_misses_per_us")]
    pub shrink_below_misses_per_us: f64,
    /// Periods in a row that must be below before it does.
    #[serde(default = "shrink_after_periods")]
    pub shrink_after_periods: u32,
}

fn yes() -> bool {
    true
}

fn period_us() -> f64 {
    100.0
}

fn min_ways() -> u32 {
    1
}

fn max_ways() -> u32 {
    6
}

fn grow_above_misses_per_us() -> f64 {
    1.0
}

fn shrink_below_misses_per_us() -> f64 {
    0.1
}

fn shrink_after_periods() -> u32 {
    3
}

/// A change while the machine runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventKeys {
    /// When, in simulated time.
    pub at_us: f64,
    /// Whose root port is changed.
    #[serde(default = "super::tenant::main_name")]
    pub tenant: String,
    /// Ways in which the device may allocate from then on; 0 switches DDIO off.
    pub ddio_ways: u32,
    /// With DDIO off: descriptors and completions still use the platform's own ways.
    #[serde(default)]
    pub ddio_keeps_descriptors: bool,
}

/// Checks the placement keys of a tenant.
pub(super) fn check_tenant(
    tenant: &Tenant,
    check: &Check<'_>,
    platform: &Platform,
) -> Result<(), InputError> {
    let keys = &tenant.placement;
    for (key, lines) in [
        ("placement.inject_lines", keys.inject_lines),
        ("placement.push_to_l2_lines", keys.push_to_l2_lines),
        ("placement.prefetch_hint_lines", keys.prefetch_hint_lines),
    ] {
        check.whole(key, lines.unwrap_or(0), (0, MOST_LINES), "lines")?;
    }
    if platform.root_complex_buffer.is_some() && *keys != PlacementKeys::default() {
        let allowed = "a platform with a [root_complex_buffer] has no placement policies".into();
        return Err(check.refuse("placement", &"set", allowed));
    }
    header_slices(tenant, check, platform)?;
    let off = tenant.ddio_ways == Some(0);
    if let Some(lines) = keys.prefetch_hint_lines
        && (!off || keys.push_to_l2_lines.is_some())
    {
        let allowed = "only with ddio_ways = 0 and without placement.push_to_l2_lines".into();
        return Err(check.refuse("placement.prefetch_hint_lines", &lines, allowed));
    }
    for (key, on) in [
        ("placement.bypass_unread", keys.bypass_unread),
        ("placement.bypass_when_backlogged", keys.bypass_when_backlogged.is_some()),
        ("placement.replace_read_first", keys.replace_read_first),
        ("placement.io_priority", keys.io_priority),
    ] {
        if on && off {
            return Err(check.refuse(key, &on, "only with ddio_ways above 0".into()));
        }
    }
    let most = tenant.rx_descriptors;
    if let Some(backlog) = keys.bypass_when_backlogged {
        let most = tenant.rx_descriptors - 1;
        let key = "placement.bypass_when_backlogged";
        check.whole(key, backlog, (1, most), "packets, fewer than rx_descriptors")?;
    }
    check.whole("warm_buffers", tenant.warm_buffers, (0, most), "descriptors of a queue")?;
    check.whole("mba_percent", tenant.mba_percent, (10, 100), "percent")?;
    tenant.dynamic_ways.as_ref().map_or(Ok(()), |keys| dynamic_ways(keys, check, platform, off))
}

/// CacheDirector needs cores that receive; its other keys need it.
fn header_slices(
    tenant: &Tenant,
    check: &Check<'_>,
    platform: &Platform,
) -> Result<(), InputError> {
    let keys = &tenant.placement;
    let Some(slices) = keys.header_slices else {
        for (key, value) in [
            ("placement.header_line", keys.header_line),
            ("placement.headroom_lines", keys.headroom_lines.map(u64::from)),
        ] {
            if let Some(value) = value {
                let allowed = "only with placement.header_slices".into();
                return Err(check.refuse(key, &value, allowed));
            }
        }
        return Ok(());
    };
    if !tenant.application.receives() {
        let allowed = "only for applications that receive packets".into();
        return Err(check.refuse("placement.header_slices", &slices, allowed));
    }
    let most = platform.llc.slices.value;
    check.whole("placement.header_slices", slices, (1, most), "slices of the LLC")?;
    let line = keys.header_line.unwrap_or(0);
    check.whole("placement.header_line", line, (0, MOST_LINES - 1), "lines")?;
    let lines = keys.headroom_lines.unwrap_or(0);
    check.whole("placement.headroom_lines", lines, (0, u32::from(u8::MAX)), "lines")
}

fn dynamic_ways(
    keys: &DynamicWaysKeys,
    check: &Check<'_>,
    platform: &Platform,
    off: bool,
) -> Result<(), InputError> {
    let ways = platform.llc.ways.value;
    check.number("dynamic_ways.period_us", keys.period_us, (1.0, 1e6))?;
    check.whole("dynamic_ways.min_ways", keys.min_ways, (1, ways), "ways of the LLC")?;
    let what = "ways of the LLC, no fewer than dynamic_ways.min_ways";
    check.whole("dynamic_ways.max_ways", keys.max_ways, (keys.min_ways, ways), what)?;
    let (grow, shrink) = (keys.grow_above_misses_per_us, keys.shrink_below_misses_per_us);
    check.number("dynamic_ways.grow_above_misses_per_us", grow, (0.0, 1e4))?;
    check.number("dynamic_ways.shrink_below_misses_per_us", shrink, (0.0, grow))?;
    let periods = keys.shrink_after_periods;
    check.whole("dynamic_ways.shrink_after_periods", periods, (1, 64), "periods")?;
    if keys.enabled && (off || platform.root_complex_buffer.is_some()) {
        let allowed = "needs ddio_ways above 0 and a platform without [root_complex_buffer]".into();
        return Err(check.refuse("dynamic_ways.enabled", &true, allowed));
    }
    Ok(())
}

/// Checks the events of a scenario with these tenants.
pub(super) fn check_events(
    events: &[EventKeys],
    tenants: &[&Tenant],
    check: &Check<'_>,
    platform: &Platform,
) -> Result<(), InputError> {
    let ways = platform.llc.ways.value;
    for (number, event) in events.iter().enumerate() {
        let key = |name: &str| format!("event.{number}.{name}");
        check.number(&key("at_us"), event.at_us, (0.0, 1e9))?;
        check.whole(&key("ddio_ways"), event.ddio_ways, (0, ways), "ways of the LLC")?;
        let Some(tenant) = tenants.iter().find(|tenant| tenant.name == event.tenant) else {
            let names: Vec<&str> = tenants.iter().map(|tenant| tenant.name.as_str()).collect();
            let allowed = format!("allowed: {}", names.join(", "));
            return Err(check.refuse(&key("tenant"), &event.tenant, allowed));
        };
        if tenant.changes_ways_itself() {
            let allowed = "this tenant has [dynamic_ways]: one of the two decides".into();
            return Err(check.refuse(&key("tenant"), &event.tenant, allowed));
        }
        if event.ddio_keeps_descriptors && event.ddio_ways > 0 {
            let allowed = "only with ddio_ways = 0".into();
            return Err(check.refuse(&key("ddio_keeps_descriptors"), &true, allowed));
        }
        if platform.root_complex_buffer.is_some() {
            let allowed = "a platform with a [root_complex_buffer] keeps its policy".into();
            return Err(check.refuse(&key("ddio_ways"), &event.ddio_ways, allowed));
        }
    }
    Ok(())
}
