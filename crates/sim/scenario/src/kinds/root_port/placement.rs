//! Placement of a device's lines beyond DDIO.

use super::PortKeys;
use crate::contract::input::TenantInput;
use crate::facts::platform::{MOST_RX_DESCRIPTORS, MOST_SLICES};
use crate::text::error::InputError;
use model::root_complex::line_placement::{LinePlacement, OnUnread, TagSteering};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest number of lines of a packet: those of the largest buffer.
const MOST_LINES: u64 = 1024;

/// Placement policies of a root port; all are off unless they are stated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct PlacementKeys {
    /// Selective DMA: only this number of lines at the head of a packet go to the LLC, the rest to
    /// memory.
    #[schemars(range(min = 0, max = MOST_LINES))]
    pub inject_lines: Option<u64>,
    /// A packet with more than this number of packets before it in its queue goes to memory instead of
    /// the LLC.
    #[schemars(range(min = 1, max = MOST_RX_DESCRIPTORS - 1))]
    pub bypass_when_backlogged: Option<u32>,
    /// A write that would evict a device's unread line goes to memory instead.
    pub bypass_unread: bool,
    /// Writes evict lines that have been read before others.
    pub replace_read_first: bool,
    /// Cores do not evict unread lines of this device while there is another victim.
    pub io_priority: bool,
    /// This number of lines at the head of a packet is placed in the L2 of the core that polls its
    /// queue.
    #[schemars(range(min = 0, max = MOST_LINES))]
    pub push_to_l2_lines: Option<u64>,
    /// With DDIO off: this number of lines at the head of a packet is prefetched into that L2 after
    /// they went to memory.
    #[schemars(range(min = 0, max = MOST_LINES))]
    pub prefetch_hint_lines: Option<u64>,
    /// CacheDirector: a line of each packet lies in one of this number of slices nearest to the core
    /// that polls its queue. The driver chooses the headroom of each buffer accordingly.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_SLICES))]
    pub header_slices: Option<u32>,
    /// The line of a packet that CacheDirector places. The first, number 0, by default; headers of IPv6
    /// and TCP end in the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = MOST_LINES - 1))]
    pub header_line: Option<u64>,
    /// Headroom that CacheDirector may add; every buffer is larger by it. 16 lines by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = u8::MAX))]
    pub headroom_lines: Option<u32>,
}

impl PlacementKeys {
    /// The policies as parameters of the root complex.
    pub(super) fn line_placement(&self) -> LinePlacement {
        let steering = match (self.push_to_l2_lines, self.prefetch_hint_lines) {
            (Some(lines), _) => TagSteering::PushToL2 { lines },
            (None, Some(lines)) => TagSteering::PrefetchHint { lines },
            (None, None) => TagSteering::Off,
        };
        LinePlacement {
            injected_lines: self.inject_lines,
            on_unread: if self.bypass_unread { OnUnread::Bypass } else { OnUnread::Replace },
            replaces_read_first: self.replace_read_first,
            io_priority: self.io_priority,
            steering,
        }
    }
}

/// Checks the placement keys of a root port.
pub(super) fn check(port: &PortKeys, input: &TenantInput<'_>) -> Result<(), InputError> {
    let (keys, check) = (&port.placement, &input.check);
    for (key, lines) in [
        ("placement.inject_lines", keys.inject_lines),
        ("placement.push_to_l2_lines", keys.push_to_l2_lines),
        ("placement.prefetch_hint_lines", keys.prefetch_hint_lines),
    ] {
        check.whole(key, lines.unwrap_or(0), (0, MOST_LINES), "lines")?;
    }
    if input.platform.root_complex_buffer.is_some() && *keys != PlacementKeys::default() {
        let allowed = "a platform with a [root_complex_buffer] has no placement policies".into();
        return Err(check.refuse("placement", &"set", allowed));
    }
    header_slices(keys, input)?;
    let off = port.ddio_ways == Some(0);
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
    Ok(())
}

/// Checks the keys of CacheDirector, which needs cores that receive packets.
fn header_slices(keys: &PlacementKeys, input: &TenantInput<'_>) -> Result<(), InputError> {
    let check = &input.check;
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
    if !input.tenant.tables.packets().are_received() {
        let allowed = "only for applications that receive packets".into();
        return Err(check.refuse("placement.header_slices", &slices, allowed));
    }
    let most = input.platform.llc.slices.value;
    check.whole("placement.header_slices", slices, (1, most), "slices of the LLC")?;
    let line = keys.header_line.unwrap_or(0);
    check.whole("placement.header_line", line, (0, MOST_LINES - 1), "lines")?;
    let lines = keys.headroom_lines.unwrap_or(0);
    check.whole("placement.headroom_lines", lines, (0, u32::from(u8::MAX)), "lines")
}
