//! The four standard traces, with which cache simulators are compared.
//!
//! Models: ten million loads of lines of a buffer of 4 or 64 MiB, in sequence repeatedly, or at random.
//! Source: by definition; random numbers are splitmix64 (Steele, Lea, Flood, OOPSLA 2014), the state
//! starting at 42.
//!
//! The traces are generated, not recorded, and are the same on every host.

use units::LINE_BYTES;

/// Number of loads of each trace.
pub const STANDARD_LOADS: u64 = 10_000_000;

/// One of the four standard traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StandardTrace {
    name: &'static str,
    lines: u64,
    random: bool,
}

const MIB: u64 = 1 << 20;

impl StandardTrace {
    /// All four traces.
    pub const ALL: [Self; 4] = [
        Self { name: "4mib-sequential", lines: 4 * MIB / LINE_BYTES, random: false },
        Self { name: "4mib-random", lines: 4 * MIB / LINE_BYTES, random: true },
        Self { name: "64mib-sequential", lines: 64 * MIB / LINE_BYTES, random: false },
        Self { name: "64mib-random", lines: 64 * MIB / LINE_BYTES, random: true },
    ];

    /// The trace of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trace| trace.name == name)
    }

    /// Name of the trace.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The addresses that it loads, in order.
    pub fn addresses(self) -> impl Iterator<Item = u64> {
        (0..STANDARD_LOADS).map(move |i| {
            let number = if self.random { splitmix64(i) } else { i };
            (number & (self.lines - 1)) * LINE_BYTES
        })
    }
}

/// Number `i` of the sequence of seed 42.
fn splitmix64(i: u64) -> u64 {
    let state = 42_u64.wrapping_add((i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_are_those_of_splitmix64_seeded_with_42() {
        let expected = [0xBDD7_3226_2FEB_6E95, 0x28EF_E333_B266_F103, 0x4752_6757_130F_9F52];
        assert_eq!([0, 1, 2].map(splitmix64), expected);
    }

    #[test]
    fn sequences_begin_again_at_the_end_of_their_buffer() {
        let trace = StandardTrace::from_name("4mib-sequential").expect("it is one of them");
        let around_the_end: Vec<u64> = trace.addresses().skip(65_534).take(4).collect();
        assert_eq!(around_the_end, [4 * MIB - 128, 4 * MIB - 64, 0, 64]);
    }
}
