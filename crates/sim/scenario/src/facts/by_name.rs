//! Platforms and devices by name or path.

use crate::facts::platform::{NicDevice, Platform, ReplacedFacts, SsdDevice};
use crate::facts::processor_names;
use crate::text::error::{InputError, suggest};
use crate::text::files;
use facts::Kind;

/// The platform that `wanted` names: a path ending in .toml (relative to the scenario's folder, then to
/// the current one), or the name of a known one.
///
/// # Errors
/// If there is no such platform, or its file is invalid.
pub fn platform(scenario_file: &str, wanted: &str) -> Result<Platform, InputError> {
    platform_with(scenario_file, wanted, &ReplacedFacts::new())
}

/// As [`platform`], with some facts replaced.
///
/// # Errors
/// As [`platform`], or if a replaced fact is unknown or out of range.
pub fn platform_with(
    scenario_file: &str,
    wanted: &str,
    replaced: &ReplacedFacts,
) -> Result<Platform, InputError> {
    match files::named(scenario_file, Kind::Platform, wanted)? {
        Some((path, text)) => Platform::read_with(&path, &text, replaced),
        None => Err(InputError::UnknownPlatform {
            file: scenario_file.into(),
            name: wanted.into(),
            known: processor_names::hint(wanted)
                .unwrap_or_else(|| suggest(wanted, &files::names(Kind::Platform))),
        }),
    }
}

/// The SSD that `wanted` names, as [`platform_with`] finds a platform.
///
/// # Errors
/// If there is no such SSD, its file is invalid, or a replaced fact is unknown or out of range.
pub(crate) fn ssd_with(
    scenario_file: &str,
    wanted: &str,
    replaced: &ReplacedFacts,
) -> Result<SsdDevice, InputError> {
    match files::named(scenario_file, Kind::Ssd, wanted)? {
        Some((path, text)) => SsdDevice::read_with(&path, &text, replaced),
        None => Err(InputError::OutOfRange {
            file: scenario_file.into(),
            key: "ssd".into(),
            value: wanted.into(),
            allowed: format!("no such SSD; {}", suggest(wanted, &files::names(Kind::Ssd))),
        }),
    }
}

/// The NIC that `wanted` names, as [`platform`] finds a platform.
///
/// # Errors
/// If there is no such NIC, or its file is invalid.
pub fn nic(scenario_file: &str, wanted: &str) -> Result<NicDevice, InputError> {
    nic_with(scenario_file, wanted, &ReplacedFacts::new())
}

/// As [`nic`], with some facts replaced.
///
/// # Errors
/// As [`nic`], or if a replaced fact is unknown or out of range.
pub(crate) fn nic_with(
    scenario_file: &str,
    wanted: &str,
    replaced: &ReplacedFacts,
) -> Result<NicDevice, InputError> {
    match files::named(scenario_file, Kind::Nic, wanted)? {
        Some((path, text)) => NicDevice::read_with(&path, &text, replaced),
        None => Err(InputError::OutOfRange {
            file: scenario_file.into(),
            key: "nic".into(),
            value: wanted.into(),
            allowed: format!("no such NIC; {}", suggest(wanted, &files::names(Kind::Nic))),
        }),
    }
}
