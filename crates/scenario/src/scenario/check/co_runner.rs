//! Keys of what runs beside the tenants.

use super::super::{CoRunnerKeys, ProbeKeys};
use super::{mask, socket};
use crate::input::check::Check;
use crate::input::error::InputError;
use crate::platform::{InclusionName, Platform};
use units::LINE_BYTES;

/// Checks the keys of the table at `place`.
pub(super) fn co_runner(
    place: &str,
    keys: &CoRunnerKeys,
    check: &Check<'_>,
    platform: &Platform,
) -> Result<(), InputError> {
    let key = |name: &str| format!("{place}.{name}");
    check.whole(&key("cores"), keys.cores, (1, platform.cpu.cores.value), "cores")?;
    socket(check, &key("socket"), keys.socket, platform)?;
    keys.kernel.check(place, check, platform)?;
    check.whole(&key("mba_percent"), keys.mba_percent, (10, 100), "percent")?;
    keys.probe.as_ref().map_or(Ok(()), |probe| self::probe(place, keys, probe, check, platform))?;
    let ways = platform.llc.ways.value;
    mask(check, &key("way_mask"), keys.way_mask.unwrap_or(1), ways)
}

fn probe(
    place: &str,
    keys: &CoRunnerKeys,
    probe: &ProbeKeys,
    check: &Check<'_>,
    platform: &Platform,
) -> Result<(), InputError> {
    let key = |name: &str| format!("{place}.{name}");
    if keys.kernel.slice_choice().is_some() {
        let allowed = format!("only without {place}.slices and {place}.nearest_slices");
        return Err(check.refuse(&key("probe"), &"set", allowed));
    }
    let llc = &platform.llc;
    if llc.inclusion.value != InclusionName::Inclusive {
        let allowed = "a platform with an inclusive LLC: what a core loads does not reach others";
        return Err(check.refuse(&key("probe"), &"set", allowed.into()));
    }
    let sets = llc.slices.value * llc.sets_per_slice.value;
    check.whole(&key("probe.watched_sets"), probe.watched_sets, (1, sets), "sets")?;
    check.number(&key("probe.wait_us"), probe.wait_us, (0.1, 1e6))?;
    let least = 2 * u64::from(sets) * u64::from(llc.ways.value) * LINE_BYTES;
    let what = "bytes, twice the LLC: every set needs as many lines as ways";
    let bytes = keys.kernel.working_set_bytes;
    check.whole(&key("working_set_bytes"), bytes, (least, 4 << 30), what)
}
