//! Addresses of PCI functions, as `lspci -D` writes them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Address of a PCI function: domain, bus, device and function. Its text form is `0000:17:00.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bdf {
    /// Number of the domain (PCI segment).
    pub domain: u32,
    /// Number of the bus, 0 to 255.
    pub bus: u8,
    /// Number of the device on the bus, 0 to 31.
    pub device: u8,
    /// Number of the function in the device, 0 to 7.
    pub function: u8,
}

impl fmt::Display for Bdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, bus, device, function } = self;
        f.pad(&format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}"))
    }
}

impl Serialize for Bdf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Bdf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Error of a text that is not the address of a PCI function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a PCI address; write it as lspci does, like 0000:17:00.0 or 17:00.0")]
pub struct BdfError(String);

impl FromStr for Bdf {
    type Err = BdfError;

    fn from_str(text: &str) -> Result<Self, BdfError> {
        parse(text).ok_or_else(|| BdfError(text.chars().take(40).collect()))
    }
}

fn parse(text: &str) -> Option<Bdf> {
    let hex = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        plain.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    };
    let (rest, function) = text.rsplit_once('.')?;
    let (rest, device) = rest.rsplit_once(':')?;
    let (domain, bus) = rest.split_once(':').unwrap_or(("0", rest));
    let bdf = Bdf {
        domain: hex(domain)?,
        bus: u8::try_from(hex(bus)?).ok()?,
        device: u8::try_from(hex(device)?).ok().filter(|device| *device < 32)?,
        function: u8::try_from(hex(function)?).ok().filter(|function| *function < 8)?,
    };
    Some(bdf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back_as_it_prints_with_or_without_domain() {
        for text in ["0000:17:00.0", "10001:ff:1f.7"] {
            assert_eq!(text.parse::<Bdf>().map(|bdf| bdf.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(
            "17:00.1".parse::<Bdf>().map(|bdf| bdf.to_string()),
            Ok("0000:17:00.1".to_owned())
        );
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "17", "17:20.0", "17:00.8", "::.", "0:0:0:0.0", "+1:00.0", "é:00.0"] {
            assert!(text.parse::<Bdf>().is_err(), "{text}");
        }
    }
}
