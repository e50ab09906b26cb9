//! Reads a log of descriptors for a replay: submissions with the descriptors of the simulated device.
//!
//! Simplifies: addresses are rounded down to the start of a line.

use crate::text::files;
use model::device::dsa::descriptor::{Descriptor, Destination, Operation};
use recordings::descriptor_log::{self, DescriptorLogError, LoggedDescriptor, LoggedOperation};
use std::path::Path;
use units::{LINE_BYTES, LineAddr};
use workload::descriptor_log::{DescriptorLog, LoggedOffload};

/// Reads the log that the scenario `file` names, from disk or, as that of an example, built in.
pub(super) fn read_log(file: &str, named: &str) -> Result<DescriptorLog, DescriptorLogError> {
    let mut log = DescriptorLog::default();
    let path = files::beside(file, named);
    let beside = Path::new(file).with_file_name(named);
    match files::file(&beside.display().to_string()) {
        Some(text) if !Path::new(&path).exists() => {
            descriptor_log::of_text(beside, text, |logged| add(&mut log, &logged))?;
        }
        _ => descriptor_log::read(path, |logged| add(&mut log, &logged))?,
    }
    Ok(log)
}

/// Adds a descriptor to the last submission, or as a submission of its own.
fn add(log: &mut DescriptorLog, logged: &LoggedDescriptor) {
    let descriptor = descriptor(logged);
    match log.offloads.last_mut().filter(|_| logged.continues_batch) {
        Some(open) => open.members.push(descriptor),
        None => {
            let (time, portal) = (logged.time, logged.portal);
            log.offloads.push(LoggedOffload { time, portal, members: vec![descriptor] });
        }
    }
}

fn descriptor(logged: &LoggedDescriptor) -> Descriptor {
    Descriptor {
        id: 0,
        operation: operation(logged.operation),
        bytes: logged.bytes,
        source: LineAddr(logged.source / LINE_BYTES),
        second: LineAddr(logged.destination / LINE_BYTES),
        third: LineAddr(logged.third / LINE_BYTES),
        record: LineAddr(0),
        destination: match logged.writes_to_cache {
            true => Destination::Cache,
            false => Destination::Memory,
        },
        fence: logged.fence,
        block_on_fault: logged.block_on_fault,
        wants_record: true,
    }
}

fn operation(logged: LoggedOperation) -> Operation {
    match logged {
        LoggedOperation::NoOp => Operation::NoOp,
        LoggedOperation::Drain => Operation::Drain,
        LoggedOperation::Move => Operation::Move,
        LoggedOperation::Fill => Operation::Fill,
        LoggedOperation::Compare => Operation::Compare,
        LoggedOperation::ComparePattern => Operation::ComparePattern,
        LoggedOperation::CreateDelta { record_bytes } => Operation::CreateDelta { record_bytes },
        LoggedOperation::ApplyDelta { record_bytes } => Operation::ApplyDelta { record_bytes },
        LoggedOperation::Dualcast => Operation::Dualcast,
        LoggedOperation::Crc => Operation::Crc,
        LoggedOperation::CopyCrc => Operation::CopyCrc,
        LoggedOperation::DifCheck { block_bytes } => Operation::DifCheck { block_bytes },
        LoggedOperation::DifInsert { block_bytes } => Operation::DifInsert { block_bytes },
        LoggedOperation::DifStrip { block_bytes } => Operation::DifStrip { block_bytes },
        LoggedOperation::DifUpdate { block_bytes } => Operation::DifUpdate { block_bytes },
        LoggedOperation::CacheFlush => Operation::CacheFlush,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPCODES: [u32; 16] = [0, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 18, 19, 20, 21, 32];

    /// A line with every field that an operation may need.
    fn line(opcode: u32) -> String {
        format!(
            "{{\"time_ns\": 9, \"portal\": 1, \"opcode\": {opcode}, \"flags\": 256, \"bytes\": 8192, \
             \"source\": \"0x10040\", \"destination\": \"0x20047\", \"third\": \"0x30000\", \
             \"record_bytes\": 90, \"block_bytes\": 512}}\n"
        )
    }

    #[test]
    fn each_operation_has_the_operands_that_the_log_needs_addresses_for() {
        for opcode in OPCODES {
            let read = descriptor_log::of_text("log", &line(opcode), |logged| {
                let mut operands = [None; 3];
                for operand in descriptor(&logged).operands().all() {
                    operands[operand.field] = Some(operand.bytes);
                }
                assert_eq!(operands, logged.operand_bytes(), "opcode {opcode}");
            });
            read.expect("is a log");
        }
    }

    #[test]
    fn addresses_become_lines_and_cache_control_the_destination() {
        let mut log = DescriptorLog::default();
        let text = [line(3), line(9).replace("256", "0")].concat();
        descriptor_log::of_text("log", &text, |logged| add(&mut log, &logged)).expect("is a log");
        let [copy, dualcast] = [&log.offloads[0].members[0], &log.offloads[1].members[0]];
        assert_eq!((copy.operation, copy.bytes), (Operation::Move, 8192));
        assert_eq!((copy.source, copy.second), (LineAddr(0x401), LineAddr(0x801)));
        assert_eq!(dualcast.third, LineAddr(0xc00));
        let destinations = [copy.destination, dualcast.destination];
        assert_eq!(destinations, [Destination::Cache, Destination::Memory]);
    }

    #[test]
    fn members_of_a_batch_are_one_submission() {
        let mut log = DescriptorLog::default();
        let member = line(3).replace("\"portal\": 1", "\"portal\": 1, \"batch\": 7");
        let text = [line(3), member.repeat(3), line(3)].concat();
        descriptor_log::of_text("log", &text, |logged| add(&mut log, &logged)).expect("is a log");
        let members: Vec<usize> = log.offloads.iter().map(|it| it.members.len()).collect();
        assert_eq!(members, [1, 3, 1]);
        assert_eq!((log.descriptors(), log.most_members()), (5, 3));
    }
}
