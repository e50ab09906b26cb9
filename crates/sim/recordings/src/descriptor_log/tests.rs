//! Logs that are read, and logs that are refused.

use super::{DescriptorLogFault, LoggedDescriptor, LoggedOperation, from_reader};
use proptest::prelude::*;
use units::Picos;

const COPY: &str = r#"{"time_ns": 5, "portal": 3, "opcode": 3, "flags": 266, "bytes": 4096, "source": "0x1040", "destination": "0x8000"}"#;

fn read(text: impl AsRef<[u8]>) -> Result<Vec<LoggedDescriptor>, DescriptorLogFault> {
    let mut log = Vec::new();
    from_reader(text.as_ref(), |descriptor| log.push(descriptor)).map(|()| log)
}

fn refused(text: &str) -> String {
    read(text).expect_err("is refused").to_string()
}

#[test]
fn a_line_is_a_descriptor_with_time_portal_size_addresses_and_flags() {
    let log = read(format!("\n{COPY}\n\n")).expect("is read");
    let copy = LoggedDescriptor {
        time: Picos(5_000),
        portal: 3,
        continues_batch: false,
        operation: LoggedOperation::Move,
        bytes: 4096,
        source: 0x1040,
        destination: 0x8000,
        third: 0,
        writes_to_cache: true,
        fence: false,
        block_on_fault: true,
    };
    assert_eq!(log, [copy]);
}

#[test]
fn lines_of_one_batch_follow_one_another_and_a_fence_stays_in_it() {
    let member = |batch: u32, flags: u32| {
        format!(
            "{{\"time_ns\": 9, \"portal\": 1, \"batch\": {batch}, \"opcode\": 4, \"flags\": {flags}, \
             \"bytes\": 64, \"destination\": \"0x40\"}}\n"
        )
    };
    let alone = member(2, 0).replace("\"batch\": 2, ", "");
    let lines = [member(1, 0), member(1, 1), member(2, 0), member(2, 0), alone.clone(), alone];
    let elsewhere = member(2, 0).replace("\"portal\": 1", "\"portal\": 2");
    let log = read([&lines.concat(), &member(2, 0), &elsewhere].map(String::as_str).concat());
    let log = log.expect("is read");
    let continues: Vec<bool> = log.iter().map(|it| it.continues_batch).collect();
    assert_eq!(continues, [false, true, false, true, false, false, false, false]);
    assert!(log[1].fence && !log[0].fence);
}

#[test]
fn what_is_wrong_is_refused_with_its_line_and_what_is_allowed() {
    let second = |line: &str| refused(&format!("{COPY}\n{line}\n"));
    let cases = [
        (COPY.replace("\"opcode\": 3", "\"opcode\": 10"), "`opcode` is 10; allowed: 0, 2 to 9"),
        (COPY.replace("\"bytes\": 4096", "\"bytes\": 0"), "`bytes` is 0; allowed: 1 to"),
        (COPY.replace("266", "1"), "has a fence (1), which only members"),
        (COPY.replace("266", "99999999"), "`flags` is 99999999; allowed: 0 to 16777215"),
        (COPY.replace("\"0x8000\"", "\"8000\""), "an address is text such as"),
        (COPY.replace("\"source\"", "\"sauce\""), "unknown field `sauce`"),
        (COPY.replace(", \"source\": \"0x1040\"", ""), "`source` is missing: opcode 3 has it"),
        (COPY.replace("\"time_ns\": 5", "\"time_ns\": 4"), "`time_ns` is less than 5 in the line"),
        (COPY.replace("\"opcode\": 3", "\"opcode\": 7"), "`record_bytes` is missing"),
        (COPY.replace("\"opcode\": 3", "\"opcode\": 18"), "`block_bytes` is missing"),
        (COPY.replace("0x1040", "0xffffffffffffffff"), "exceeds 64 bits"),
        ("{".into(), "EOF while parsing"),
    ];
    for (line, said) in cases {
        let message = second(&line);
        assert!(message.contains(said) && message.contains("in line 2"), "{line}: {message}");
    }
    assert!(refused("").contains("holds no descriptors"));
    assert!(refused(&" ".repeat(5000)).contains("line 1 more than 4096 bytes"));
}

proptest! {
    #[test]
    fn no_input_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _refused_or_read = read(bytes);
    }

    #[test]
    fn no_change_of_a_line_panics(at in 0..COPY.len(), byte in any::<u8>()) {
        let mut text = COPY.as_bytes().to_vec();
        text[at] = byte;
        if let Ok(log) = read(text) {
            // It may have become a no-op or a drain, which have no data.
            let has_data = log[0].operand_bytes().iter().flatten().any(|bytes| *bytes > 0);
            let is_bare = [LoggedOperation::NoOp, LoggedOperation::Drain].contains(&log[0].operation);
            prop_assert_eq!(has_data, !is_bare);
        }
    }
}
