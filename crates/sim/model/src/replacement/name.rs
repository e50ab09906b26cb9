//! The names of replacement policies in platform files.
//!
//! Models: the names of the policies in [`super`].
//! Source: the usual names; QLRU as in nanoBench.

use super::{InvalidQlru, Replacement, RrpvBits, qlru_name};
use std::fmt;
use std::str::FromStr;

/// A name that is not a replacement policy. Its message lists the policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownReplacement {
    name: String,
    /// The error of a name with the prefix of the QLRU family.
    qlru: Option<InvalidQlru>,
}

impl fmt::Display for UnknownReplacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no replacement policy; allowed are lru, fifo, tree-plru, nru, random, srrip and \
             brrip (2 bits), srrip1 to srrip{most} and brrip1 to brrip{most} (so many bits), and \
             the QLRU family, such as qlru_h11_m1_r0_u0",
            self.name,
            most = RrpvBits::MOST,
        )?;
        match &self.qlru {
            Some(reason) => write!(f, ": {reason}"),
            None => write!(f, ": {}", qlru_name::ALLOWED),
        }
    }
}

impl std::error::Error for UnknownReplacement {}

impl FromStr for Replacement {
    type Err = UnknownReplacement;

    /// Parses a name in upper or lower case.
    fn from_str(name: &str) -> Result<Self, UnknownReplacement> {
        let lower = name.to_ascii_lowercase();
        let unknown = |qlru| UnknownReplacement { name: name.to_owned(), qlru };
        let rrip = |policy: fn(RrpvBits) -> Self, bits| {
            rrpv_bits(bits).map(policy).ok_or_else(|| unknown(None))
        };
        match lower.as_str() {
            "lru" => Ok(Self::Lru),
            "fifo" => Ok(Self::Fifo),
            "tree-plru" => Ok(Self::TreePlru),
            "nru" => Ok(Self::Nru),
            "random" => Ok(Self::Random),
            lower => {
                if let Some(bits) = lower.strip_prefix("srrip") {
                    rrip(Self::Srrip, bits)
                } else if let Some(bits) = lower.strip_prefix("brrip") {
                    rrip(Self::Brrip, bits)
                } else if lower.starts_with("qlru") {
                    lower.parse().map(Self::Qlru).map_err(|reason| unknown(Some(reason)))
                } else {
                    Err(unknown(None))
                }
            }
        }
    }
}

fn rrpv_bits(digits: &str) -> Option<RrpvBits> {
    match digits.as_bytes() {
        [] => Some(RrpvBits::TWO),
        [digit @ b'1'..=b'9'] => RrpvBits::new(digit - b'0'),
        _ => None,
    }
}

impl fmt::Display for Replacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rrip = |f: &mut fmt::Formatter<'_>, name, bits| match bits {
            RrpvBits::TWO => f.write_str(name),
            bits => write!(f, "{name}{}", bits.get()),
        };
        match *self {
            Self::Lru => f.write_str("lru"),
            Self::Fifo => f.write_str("fifo"),
            Self::TreePlru => f.write_str("tree-plru"),
            Self::Nru => f.write_str("nru"),
            Self::Random => f.write_str("random"),
            Self::Srrip(bits) => rrip(f, "srrip", bits),
            Self::Brrip(bits) => rrip(f, "brrip", bits),
            Self::Qlru(spec) => f.write_str(&spec.to_string().to_ascii_lowercase()),
        }
    }
}
