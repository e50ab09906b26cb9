//! Names of the bus: `dsa0`, `wq0.1`, `group0.0`, `engine0.3`.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A node of the bus: a device (its number), or a queue, group or engine (number of the device, number in
/// it).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BusNode {
    /// Device `dsaN`.
    Device(usize),
    /// Work queue `wqN.M`.
    Queue(usize, usize),
    /// Group `groupN.M`.
    Group(usize, usize),
    /// Engine `engineN.M`.
    Engine(usize, usize),
}

/// A text that is not the name of a node.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a name of the bus; allowed are dsaN, wqN.M, groupN.M and engineN.M")]
pub struct BadName(pub String);

impl BusNode {
    /// Number of the device that the node belongs to.
    #[must_use]
    pub fn device(self) -> usize {
        match self {
            Self::Device(device)
            | Self::Queue(device, _)
            | Self::Group(device, _)
            | Self::Engine(device, _) => device,
        }
    }
}

impl fmt::Display for BusNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(device) => write!(f, "dsa{device}"),
            Self::Queue(device, number) => write!(f, "wq{device}.{number}"),
            Self::Group(device, number) => write!(f, "group{device}.{number}"),
            Self::Engine(device, number) => write!(f, "engine{device}.{number}"),
        }
    }
}

impl FromStr for BusNode {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let node = || {
            if let Some(device) = text.strip_prefix("dsa") {
                return Some(Self::Device(device.parse().ok()?));
            }
            let digits = text.find(|letter: char| letter.is_ascii_digit())?;
            let (kind, numbers) = text.split_at(digits);
            let (device, number) = numbers.split_once('.')?;
            let (device, number) = (device.parse().ok()?, number.parse().ok()?);
            match kind {
                "wq" => Some(Self::Queue(device, number)),
                "group" => Some(Self::Group(device, number)),
                "engine" => Some(Self::Engine(device, number)),
                _ => None,
            }
        };
        // Each node has exactly one name: neither "wq00.1" nor "dsa+1" is one.
        node().filter(|node| node.to_string() == text).ok_or_else(|| BadName(text.to_owned()))
    }
}
