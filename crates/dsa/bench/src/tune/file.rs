//! The file of thresholds, and the table that is printed and stands in it as a comment.

use super::{MODES, OperationThresholds, TuneOptions};
use crate::option_values::QueueKind;
use crate::sizes;
use dsa::hardware::Opcode;
use dsa_client::thresholds::Thresholds;
use std::fmt::Write;

/// The largest threshold over all kinds of queues; `u64::MAX`: with one of them the device never pays.
fn largest_threshold(found: &OperationThresholds, mode: usize) -> u64 {
    let each = found.bytes.iter().map(|modes| modes[mode].unwrap_or(u64::MAX));
    each.max().unwrap_or(u64::MAX)
}

fn thresholds(
    options: &TuneOptions,
    (kinds, found): (&[QueueKind], &[OperationThresholds]),
    words: &[String],
) -> Thresholds {
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    let mut all = Thresholds::default();
    all.source = format!(
        "{}: {} ({}); operands {}; queues: {}; sizes {} to {}",
        words.join(" "),
        options.on,
        options.on.basis(),
        options.operands.names(),
        kinds.join(", "),
        sizes::show(options.sizes.0[0]),
        sizes::show(options.sizes.0[options.sizes.0.len() - 1]),
    );
    for one in found {
        if let Some(opcode) = Opcode::from_code(one.operation.opcode) {
            all.set(opcode, largest_threshold(one, 0), largest_threshold(one, 1));
        }
    }
    all
}

/// The text of the file: the thresholds and, as a comment, those of each kind of queue.
pub(super) fn text(
    options: &TuneOptions,
    (kinds, found): (&[QueueKind], &[OperationThresholds]),
    words: &[String],
) -> String {
    let mut text = String::new();
    for line in table(kinds, found).lines() {
        let _ = writeln!(text, "# {}", line.trim_end());
    }
    let known: Vec<&str> = found.iter().map(|it| it.operation.name).collect();
    let others: Vec<&str> =
        Thresholds::names().map(|(name, _)| name).filter(|name| !known.contains(name)).collect();
    if !others.is_empty() {
        let _ = writeln!(text, "# Not measured, published sizes instead: {}", others.join(", "));
    }
    text + "\n" + &thresholds(options, (kinds, found), words).to_toml()
}

pub(super) fn table(kinds: &[QueueKind], found: &[OperationThresholds]) -> String {
    let mut text = format!("{:<16}", "pays from [B]");
    for kind in kinds {
        for (mode, _) in MODES {
            let _ = write!(text, " {:>23}", format!("{} {mode}", kind.name()));
        }
    }
    text.push('\n');
    for one in found {
        let _ = write!(text, "{:<16}", one.operation.name);
        for bytes in one.bytes.iter().flatten() {
            let shown = bytes.map_or("never".to_owned(), |bytes| bytes.to_string());
            let _ = write!(text, " {shown:>23}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{OperationThresholds, largest_threshold};
    use crate::operation::parse;

    #[test]
    fn a_file_is_valid_for_all_kinds_of_queues() {
        let operation = parse("copy").expect("is one");
        let found = OperationThresholds {
            operation,
            bytes: vec![[Some(64), Some(128)], [Some(4096), None]],
        };
        assert_eq!(largest_threshold(&found, 0), 4096);
        assert_eq!(largest_threshold(&found, 1), u64::MAX);
    }
}
