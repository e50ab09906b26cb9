//! Operations by name and by the number that descriptors have for them.

/// What is done with the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operation {
    /// As the simulator and the documentation name it.
    pub name: &'static str,
    /// In descriptors [S 8.1.2].
    pub opcode: u8,
    /// Transfer sizes are multiples of this.
    pub multiple_bytes: u64,
    /// Whether it writes operands: others have no use for cache control.
    pub writes: bool,
    /// The key of a file of thresholds; none: no threshold is asked for it.
    pub threshold: Option<&'static str>,
}

const fn operation(name: &'static str, opcode: u8, multiple_bytes: u64) -> Operation {
    Operation { name, opcode, multiple_bytes, writes: true, threshold: Some(name) }
}

/// All of them, by number.
pub const OPERATIONS: [Operation; 15] = [
    Operation { writes: false, threshold: None, ..operation("no-op", 0x00, 1) },
    operation("copy", 0x03, 1),
    operation("fill", 0x04, 1),
    Operation { writes: false, ..operation("compare", 0x05, 1) },
    Operation { writes: false, ..operation("compare-pattern", 0x06, 1) },
    operation("create-delta", 0x07, 8),
    operation("apply-delta", 0x08, 8),
    operation("dualcast", 0x09, 1),
    Operation { writes: false, ..operation("crc", 0x10, 1) },
    operation("copy-crc", 0x11, 1),
    Operation { writes: false, ..operation("dif-check", 0x12, 512) },
    operation("dif-insert", 0x13, 512),
    operation("dif-strip", 0x14, 512),
    operation("dif-update", 0x15, 512),
    Operation { writes: false, threshold: None, ..operation("cache-flush", 0x20, 1) },
];

/// Other names of operations.
const ALIASES: [(&str, &str); 4] =
    [("memmove", "copy"), ("memcpy", "copy"), ("move", "copy"), ("noop", "no-op")];

/// An operation by its name, or its number in decimal or, with 0x, in hexadecimal digits.
///
/// # Errors
/// If there is none, with all that there are.
pub fn parse(text: &str) -> Result<Operation, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let name = ALIASES.into_iter().find(|(alias, _)| *alias == text).map_or(text, |(_, name)| name);
    let wanted = |it: &Operation| it.name == name || Some(it.opcode) == number;
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
