//! The lines of a descriptor, as software announces them to a trace.
//!
//! Models: no hardware.
//! Simplifies: operands of all members of a batch belong to its descriptor.

use model::device::dsa::descriptor::{Descriptor, Operand};
use model::tracer::{DescriptorLines, LineRole};
use units::{LINE_BYTES, LineAddr};

/// Lines of a descriptor: its own, its record's, those of its list if it is a batch, and the operands of all
/// members.
#[must_use]
pub fn lines_of(
    own: LineAddr,
    list: LineAddr,
    record: LineAddr,
    members: &[Descriptor],
) -> Vec<DescriptorLines> {
    let line = |role, first, lines| DescriptorLines { role, first, lines };
    let mut all = vec![line(LineRole::Descriptor, own, 1), line(LineRole::Record, record, 1)];
    if members.len() > 1 {
        all.push(line(LineRole::List, list, members.len() as u64));
    }
    let part = |role: LineRole, operand: &Operand| {
        line(role, operand.first, operand.bytes.div_ceil(LINE_BYTES))
    };
    for member in members {
        let operands = member.operands();
        let read = operands.reads.iter().flatten().map(|it| part(LineRole::Source, it));
        let written = operands.writes.iter().chain([&operands.flushes]).flatten();
        all.extend(read.chain(written.map(|it| part(LineRole::Destination, it))));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::device::dsa::descriptor::{Destination, Operation};

    #[test]
    fn a_batch_has_a_list_and_the_operands_of_all_members() {
        let member = |source: u64| Descriptor {
            id: 0,
            operation: Operation::Move,
            bytes: 130,
            source: LineAddr(source),
            second: LineAddr(source + 100),
            third: LineAddr(0),
            record: LineAddr(0),
            destination: Destination::Cache,
            fence: false,
            block_on_fault: true,
            wants_record: false,
        };
        let (own, list, record) = (LineAddr(1), LineAddr(10), LineAddr(2));
        let lines = lines_of(own, list, record, &[member(1_000), member(2_000)]);
        let told: Vec<_> = lines.iter().map(|it| (it.role, it.first.0, it.lines)).collect();
        let (source, destination) = (LineRole::Source, LineRole::Destination);
        assert_eq!(
            told,
            [
                (LineRole::Descriptor, 1, 1),
                (LineRole::Record, 2, 1),
                (LineRole::List, 10, 2),
                (source, 1_000, 3),
                (destination, 1_100, 3),
                (source, 2_000, 3),
                (destination, 2_100, 3),
            ]
        );
        assert_eq!(lines_of(own, list, record, &[member(1_000)]).len(), 4);
    }
}
