//! Calls of an imported function in an ELF file, with a constant as their first argument.
//!
//! A call leads to a stub that jumps through the entry of the function in the global offset table, or through that
//! entry at once.

use units::narrow::usize_from;

/// Tags of the dynamic section [ELF-64; System V ABI].
const PLT_BYTES: u64 = 2;
const STRINGS: u64 = 5;
const SYMBOLS: u64 = 6;
const RELOCATIONS: u64 = 7;
const RELOCATION_BYTES: u64 = 8;
const PLT_RELOCATIONS: u64 = 23;
const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
/// Bytes behind the load of the constant in which the call follows.
const NEAR: usize = 32;

/// An ELF file for 64-bit x86.
pub struct ElfFile<'a> {
    bytes: &'a [u8],
    /// Address, place in the file and bytes of each loaded part.
    parts: Vec<(u64, u64, u64)>,
    /// Tags and values of the dynamic section.
    dynamic: Vec<(u64, u64)>,
}

/// The number in `length` bytes at a place; `None` beyond the end.
pub fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// The program headers: type and place of each in the file.
pub fn program_headers(bytes: &[u8]) -> Option<impl Iterator<Item = (u64, usize)>> {
    let (table, size, count) =
        (number(bytes, 32, 8)?, number(bytes, 54, 2)?, number(bytes, 56, 2)?);
    let places = (0..count).map(move |header| usize_from(table.saturating_add(header * size)));
    Some(places.filter_map(|at| Some((number(bytes, at, 4)?, at))))
}

impl<'a> ElfFile<'a> {
    /// The file with these bytes; `None` if its tables are cut.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let word = |at: usize| number(bytes, at, 8);
        let mut own = Self { bytes, parts: Vec::new(), dynamic: Vec::new() };
        for (kind, at) in program_headers(bytes)? {
            let (place, address, length) = (word(at + 8)?, word(at + 16)?, word(at + 32)?);
            if kind == PT_LOAD {
                own.parts.push((address, place, length));
            }
            if kind == PT_DYNAMIC {
                let entries = (0..length / 16).map(|entry| usize_from(place + entry * 16));
                own.dynamic = entries.filter_map(|at| Some((word(at)?, word(at + 8)?))).collect();
            }
        }
        Some(own)
    }

    fn tag(&self, tag: u64) -> Option<u64> {
        self.dynamic.iter().find(|(own, _)| *own == tag).map(|(_, value)| *value)
    }

    /// Place in the file of an address.
    fn place(&self, address: u64) -> Option<usize> {
        let part = self.parts.iter().find(|(start, _, length)| {
            address.checked_sub(*start).is_some_and(|offset| offset < *length)
        })?;
        Some(usize_from(part.1 + (address - part.0)))
    }

    fn address(&self, place: usize) -> Option<u64> {
        let place = place as u64;
        let part = self.parts.iter().find(|(_, start, length)| {
            place.checked_sub(*start).is_some_and(|offset| offset < *length)
        })?;
        Some(part.0 + (place - part.1))
    }

    /// Addresses of the entries of a function in the global offset table; empty if it is not imported.
    fn entries(&self, function: &str) -> Vec<u64> {
        let tables = [(PLT_RELOCATIONS, PLT_BYTES), (RELOCATIONS, RELOCATION_BYTES)];
        let tables = tables.into_iter().filter_map(|(at, length)| {
            Some((self.place(self.tag(at)?)?, usize_from(self.tag(length)?)))
        });
        let relocations = tables.flat_map(|(at, length)| (at..at + length).step_by(24));
        let is_wanted = |at: &usize| {
            let symbol = number(self.bytes, at + 12, 4).unwrap_or_default();
            self.symbol_name(symbol) == Some(function.as_bytes())
        };
        relocations.filter(is_wanted).filter_map(|at| number(self.bytes, at, 8)).collect()
    }

    fn symbol_name(&self, symbol: u64) -> Option<&[u8]> {
        let at = self.place(self.tag(SYMBOLS)? + symbol * 24)?;
        let name = self.place(self.tag(STRINGS)? + number(self.bytes, at, 4)?)?;
        self.bytes.get(name..)?.split(|byte| *byte == 0).next()
    }

    /// Whether the file imports a function.
    pub fn imports(&self, function: &str) -> bool {
        !self.entries(function).is_empty()
    }

    /// Whether the file loads a first argument (`mov edi, ARGUMENT`) in front of a call of an imported function.
    pub fn calls_with(&self, function: &str, argument: u32) -> bool {
        let entries = self.entries(function);
        let mut load = vec![0xbf];
        load.extend(argument.to_le_bytes());
        let mut places = self.bytes.windows(load.len()).enumerate();
        let is_wanted = |at: usize| {
            // The first call behind the load: a later one has another argument.
            let mut behind = at..at + NEAR;
            behind.find_map(|call| self.target(call)).is_some_and(|it| entries.contains(&it))
        };
        !entries.is_empty() && places.any(|(at, own)| own == load && is_wanted(at + load.len()))
    }

    /// The entry of the global offset table through which the call, or the jump, at a place leads.
    fn target(&self, at: usize) -> Option<u64> {
        match self.bytes.get(at..at + 2)? {
            [0xff, 0x15 | 0x25] => self.relative(at + 2),
            [0xe8 | 0xe9, _] => {
                let stub = self.place(self.relative(at + 1)?)?;
                // ENDBR64 and BND may come first.
                let bytes = self.bytes.get(stub..stub + 8)?;
                let jump = bytes.windows(2).position(|pair| pair == [0xff, 0x25])?;
                self.relative(stub + jump + 2)
            }
            _ => None,
        }
    }

    /// The address that a relative operand of four bytes, the last of its instruction, stands for.
    fn relative(&self, at: usize) -> Option<u64> {
        let offset = number(self.bytes, at, 4)?.to_le_bytes();
        let offset = i32::from_le_bytes([offset[0], offset[1], offset[2], offset[3]]);
        Some(self.address(at)?.wrapping_add(4).wrapping_add_signed(offset.into()))
    }
}
