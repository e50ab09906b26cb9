//! Lines of masks: `L3:0=7ff;1=003`, or `0=ffff;1=ffff` without a resource.

use std::fmt;

use serde::Serialize;

/// A line of masks: a resource, and a mask for each domain (cache).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MaskLine {
    /// The resource, like `L3`; empty if the file has only one.
    pub resource: String,
    /// Pairs of domain (cache) and mask.
    #[serde(serialize_with = "crate::hex::by_domain")]
    pub masks: Vec<(u32, u64)>,
    /// Number of digits to which the kernel pads masks.
    #[serde(skip)]
    digits: usize,
}

impl MaskLine {
    /// Parses a line; `None` if it is malformed.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (resource, rest) = line.split_once(':').unwrap_or(("", line));
        let mut masks = Vec::new();
        let mut digits = 0;
        for part in rest.split(';') {
            let (domain, mask) = part.split_once('=')?;
            let mask = mask.trim();
            if !mask.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return None;
            }
            digits = digits.max(mask.len());
            masks.push((domain.trim().parse().ok()?, u64::from_str_radix(mask, 16).ok()?));
        }
        Some(Self { resource: resource.trim().to_owned(), masks, digits })
    }

    /// The mask of a domain; `None` if the line does not contain it.
    #[must_use]
    pub fn mask(&self, domain: u32) -> Option<u64> {
        self.masks.iter().find(|(number, _)| *number == domain).map(|(_, mask)| *mask)
    }
}

impl fmt::Display for MaskLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.resource.is_empty() {
            write!(f, "{}:", self.resource)?;
        }
        for (index, (domain, mask)) in self.masks.iter().enumerate() {
            let separator = if index == 0 { "" } else { ";" };
            write!(f, "{separator}{domain}={mask:0digits$x}", digits = self.digits.min(16))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_prints_as_it_was_read() {
        for line in ["L3:0=7ff;1=003", "0=ffff;1=0001", "MB:0=100"] {
            assert_eq!(MaskLine::parse(line).map(|read| read.to_string()).as_deref(), Some(line));
        }
    }

    #[test]
    fn what_is_no_line_of_masks_gives_nothing() {
        for line in ["", "L3:", "L3:0", "L3:x=1", "L3:0=+1", "L3:0=11112222333344445", "=1"] {
            assert_eq!(MaskLine::parse(line), None, "{line}");
        }
    }
}
