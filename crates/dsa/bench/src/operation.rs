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
