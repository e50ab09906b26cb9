//! Registers and masks in JSON: hexadecimal text, as manuals and the kernel write them. Numbers beyond
//! 2^53 would lose bits in readers that know only floating-point numbers.

use serde::Serializer;

/// Serializes a value as text like `0x600`.
pub(crate) fn value<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{value:#x}"))
}

/// Serializes a value as text like `0x600`, or null if it is unknown.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(crate) fn optional_value<S: Serializer>(
    known: &Option<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match known {
        Some(known) => value(known, serializer),
        None => serializer.serialize_none(),
    }
}

/// Serializes pairs of domain and mask like `[[0, "0x7ff"]]`.
pub(crate) fn by_domain<S: Serializer>(
    masks: &[(u32, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(masks.iter().map(|(domain, mask)| (domain, format!("{mask:#x}"))))
}
