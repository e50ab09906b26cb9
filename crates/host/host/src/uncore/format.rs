//! Positions of an event's fields in perf's configuration words, from the kernel's `format` files.

use std::collections::BTreeMap;

use crate::error::FileError;
use crate::root::Root;
use units::narrow::fit;

/// perf's configuration words of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventWords {
    /// First configuration word (`config`).
    pub config: u64,
    /// Second configuration word (`config1`).
    pub config1: u64,
    /// Third configuration word (`config2`).
    pub config2: u64,
}

/// Error of a field that the kernel's unit does not have, or that is too small for the value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// the unit has no such field
    #[error("this kernel's {unit} has no field \"{field}\"")]
    NoField {
        /// The box, like `uncore_cha_0`.
        unit: String,
        /// The field.
        field: String,
    },
    /// the value does not fit
    #[error("{value:#x} does not fit in field \"{field}\" of {unit}")]
    TooLarge {
        /// The box, like `uncore_cha_0`.
        unit: String,
        /// The field.
        field: String,
        /// The value.
        value: u64,
    },
}

/// A field: the index of its word, and the positions of its bits from the lowest.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FormatField {
    word: usize,
    bits: Vec<u32>,
}

/// The fields of a box's events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formats {
    unit: String,
    fields: BTreeMap<String, FormatField>,
}

impl Formats {
    /// Reads the `format` files of a box. Files that are malformed are left out.
    ///
    /// # Errors
    /// If the directory or a file cannot be read.
    pub fn read(root: &Root, unit: &str) -> Result<Self, FileError> {
        let folder = format!("sys/bus/event_source/devices/{unit}/format");
        let mut formats = Self { unit: unit.to_owned(), fields: BTreeMap::new() };
        for name in root.list(&folder)? {
            let text = root.read_line(&format!("{folder}/{name}"))?;
            if let Some(field) = FormatField::parse(&text) {
                formats.fields.insert(name, field);
            }
        }
        Ok(formats)
    }

    /// Encodes field values into perf's words; the bits of `raw` are added.
    ///
    /// # Errors
    /// If the box lacks a field, or a value does not fit in its field.
    pub fn encode(
        &self,
        fields: &BTreeMap<String, u64>,
        raw: EventWords,
    ) -> Result<EventWords, FormatError> {
        let mut words = [raw.config, raw.config1, raw.config2];
        for (name, &value) in fields {
            let (unit, field) = (self.unit.clone(), name.clone());
            let Some(known) = self.fields.get(name) else {
                return Err(FormatError::NoField { unit, field });
            };
            let bits: u32 = fit(known.bits.len());
            if bits < 64 && value >> bits != 0 {
                return Err(FormatError::TooLarge { unit, field, value });
            }
            for (index, &bit) in known.bits.iter().enumerate() {
                words[known.word] |= (value >> index & 1) << bit;
            }
        }
        Ok(EventWords { config: words[0], config1: words[1], config2: words[2] })
    }
}

impl FormatField {
    /// Parses a format like `config:8-15,32-55`; `None` if it is malformed.
    fn parse(text: &str) -> Option<Self> {
        let (word, ranges) = text.split_once(':')?;
        let word = ["config", "config1", "config2"].iter().position(|name| *name == word.trim())?;
        let mut bits: Vec<u32> = Vec::new();
        for range in ranges.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            if first > last || last > 63 {
                return None;
            }
            bits.extend(first..=last);
        }
        (bits.len() <= 64).then_some(Self { word, bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formats(fields: &[(&str, &str)]) -> Formats {
        let field =
            |(name, text): &(&str, &str)| Some(((*name).to_owned(), FormatField::parse(text)?));
        Formats { unit: "uncore_cha_0".into(), fields: fields.iter().filter_map(field).collect() }
    }

    #[test]
    fn the_umask_extension_of_ice_lake_lies_above_bit_32() {
        let formats = formats(&[("event", "config:0-7"), ("umask", "config:8-15,32-55")]);
        let fields = BTreeMap::from([("event".into(), 0x35), ("umask".into(), 0xcc43_fd04)]);
        let words = formats.encode(&fields, EventWords::default());
        assert_eq!(words.map(|words| words.config), Ok(0x00cc_43fd_0000_0435));
    }

    #[test]
    fn a_missing_field_is_named() {
        let fields = BTreeMap::from([("ch_mask".into(), 1)]);
        let error = formats(&[("event", "config:0-7")]).encode(&fields, EventWords::default());
        let named = "this kernel's uncore_cha_0 has no field \"ch_mask\"";
        assert_eq!(error.map_err(|error| error.to_string()), Err(named.to_owned()));
    }

    #[test]
    fn a_format_that_is_none_is_left_out() {
        for text in ["", "config", "config:64", "config:9-8", "config9:0-7", "config:0-63,0-63"] {
            assert_eq!(FormatField::parse(text), None, "{text}");
        }
    }
}
