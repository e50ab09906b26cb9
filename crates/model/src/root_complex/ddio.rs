//! What the root complex does with lines that devices write: the DDIO policy of a socket.
//!
//! Models: Intel Data Direct I/O, on, off, and limited to some ways.
//! Source: ATC'20 (IIO LLC WAYS register, default 0x600 of 11 ways).
//! Simplifies: one policy for all root ports (DEVIATIONS.md, 6).

use units::WayMask;

/// DDIO policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ddio {
    /// Writes go to DRAM and invalidate every cached copy.
    Off,
    /// Lines that are in the LLC are overwritten in place, others are allocated in these ways.
    Ways(WayMask),
}

impl Ddio {
    /// The top `count` of `ways` ways; zero means off.
    #[must_use]
    pub fn top_ways(count: u32, ways: u32) -> Self {
        if count == 0 { Self::Off } else { Self::Ways(WayMask::top(count, ways)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_ways_switch_ddio_off() {
        assert_eq!(Ddio::top_ways(0, 11), Ddio::Off);
        assert_eq!(Ddio::top_ways(2, 11), Ddio::Ways(WayMask(0x600)));
    }
}
