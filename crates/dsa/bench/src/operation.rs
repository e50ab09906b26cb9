//! Operations by name and by the number that descriptors have for them.

/// An operation of DSA, and what the benchmark knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BenchOperation {
    /// The name that the simulator and the documentation use.
    pub name: &'static str,
    /// The operation's code in descriptors [S 8.1.2].
    pub opcode: u8,
    /// Number of bytes of which transfer sizes have to be multiples.
    pub multiple_bytes: u64,
    /// Whether the operation writes an operand: the flag "cache control" has no effect on others.
    pub writes: bool,
    /// The operation's key in a file of thresholds; `None`: the library has no threshold for it.
    pub threshold: Option<&'static str>,
}

/// Data of a protected block, and its protection information.
pub const PROTECTED_BLOCK: (u64, u64) = (512, 8);
/// Data of an entry of a delta record, and the whole entry.
pub const DELTA_ENTRY: (u64, u64) = (8, 10);
/// The smallest delta record.
const LEAST_DELTA_BYTES: u64 = 80;
const LINE_BYTES: u64 = 64;
/// Destinations of a dualcast are equal in so many bits of their addresses.
const DUALCAST_BYTES: u64 = 4096;

/// Bytes of the largest delta record of an operand of `bytes`.
#[must_use]
pub fn record_bytes(bytes: u64) -> u64 {
    (bytes / DELTA_ENTRY.0 * DELTA_ENTRY.1).max(LEAST_DELTA_BYTES)
}

impl BenchOperation {
    /// Distance of one buffer to the next without gaps, for transfers of `bytes`: the longest operand, aligned
    /// ([`Self::stride_multiple_bytes`]).
    #[must_use]
    pub fn stride_bytes(&self, bytes: u64) -> u64 {
        let (data, protection) = PROTECTED_BLOCK;
        let longest = match self.name {
            "no-op" => 1,
            name if name.starts_with("dif") => bytes / data * (data + protection),
            name if name.ends_with("delta") => record_bytes(bytes),
            _ => bytes,
        };
        longest.next_multiple_of(self.stride_multiple_bytes())
    }

    /// Number of bytes of which distances of buffers are multiples: a line, or what a dualcast needs.
    #[must_use]
    pub fn stride_multiple_bytes(&self) -> u64 {
        if self.name == "dualcast" { DUALCAST_BYTES } else { LINE_BYTES }
    }
}

const fn operation(name: &'static str, opcode: u8, multiple_bytes: u64) -> BenchOperation {
    BenchOperation { name, opcode, multiple_bytes, writes: true, threshold: Some(name) }
}

/// All operations, by code.
pub const OPERATIONS: [BenchOperation; 15] = [
    BenchOperation { writes: false, threshold: None, ..operation("no-op", 0x00, 1) },
    operation("copy", 0x03, 1),
    operation("fill", 0x04, 1),
    BenchOperation { writes: false, ..operation("compare", 0x05, 1) },
    BenchOperation { writes: false, ..operation("compare-pattern", 0x06, 1) },
    operation("create-delta", 0x07, 8),
    operation("apply-delta", 0x08, 8),
    operation("dualcast", 0x09, 1),
    BenchOperation { writes: false, ..operation("crc", 0x10, 1) },
    operation("copy-crc", 0x11, 1),
    BenchOperation { writes: false, ..operation("dif-check", 0x12, 512) },
    operation("dif-insert", 0x13, 512),
    operation("dif-strip", 0x14, 512),
    operation("dif-update", 0x15, 512),
    BenchOperation { writes: false, threshold: None, ..operation("cache-flush", 0x20, 1) },
];

/// Other names of operations.
const ALIASES: [(&str, &str); 4] =
    [("memmove", "copy"), ("memcpy", "copy"), ("move", "copy"), ("noop", "no-op")];

/// Parses an operation by its name, or by its code in decimal or, with 0x, in hexadecimal digits.
///
/// # Errors
/// If no operation has this name or code: a sentence with all operations.
pub fn parse(text: &str) -> Result<BenchOperation, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let name = ALIASES.into_iter().find(|(alias, _)| *alias == text).map_or(text, |(_, name)| name);
    let wanted = |it: &BenchOperation| it.name == name || Some(it.opcode) == number;
    OPERATIONS.into_iter().find(wanted).ok_or_else(|| {
        let known: Vec<String> =
            OPERATIONS.iter().map(|it| format!("{:#x} {}", it.opcode, it.name)).collect();
        format!("allowed: {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::{OPERATIONS, parse};

    #[test]
    fn an_operation_has_a_name_and_a_number() {
        for operation in OPERATIONS {
            assert_eq!(parse(operation.name), Ok(operation));
            assert_eq!(parse(&operation.opcode.to_string()), Ok(operation));
            assert_eq!(parse(&format!("{:#x}", operation.opcode)), Ok(operation));
        }
        assert_eq!(parse("memmove").map(|it| it.opcode), Ok(3));
        let refused = parse("0x30").expect_err("no such operation");
        assert!(refused.contains("0x10 crc"), "{refused}");
    }
}
