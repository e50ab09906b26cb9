//! The formats of traces and their descriptions.

use std::fmt;

/// A format of an address trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// Lines of Dinero III: a label and a hexadecimal address.
    Din,
    /// The output of `valgrind --tool=lackey --trace-mem=yes`.
    Lackey,
    /// The 64-byte records of ChampSim's tracer.
    ChampSim,
    /// Unsigned 64-bit little-endian byte addresses, all of them loads.
    Raw64,
}

impl TraceFormat {
    /// All formats, in the order of lists for users.
    pub const ALL: [Self; 4] = [Self::Din, Self::Lackey, Self::ChampSim, Self::Raw64];

    /// The name by which a user chooses it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Din => "din",
            Self::Lackey => "lackey",
            Self::ChampSim => "champsim",
            Self::Raw64 => "raw64",
        }
    }

    /// The format of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Description of a valid line or record.
    pub(super) fn grammar(self) -> &'static str {
        match self {
            Self::Din => {
                "a label (0 or r: load, 1 or w: store, 2 or i: instruction fetch), a space and \
                 a hexadecimal address"
            }
            Self::Lackey => {
                "'I' in the first column or ' L', ' S' or ' M', a space, a hexadecimal address, \
                 a comma and a decimal number of bytes"
            }
            Self::ChampSim => "64 bytes of ChampSim's input_instr",
            Self::Raw64 => "8 bytes, a little-endian address",
        }
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
