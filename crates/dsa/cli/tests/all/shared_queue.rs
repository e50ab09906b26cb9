//! A shared queue, by ENQCMD.

use crate::runs::Place;

const QUEUE: &str = "wq0.1";
/// SIGSEGV, as a shell has it.
const SEGMENTATION_FAULT: i32 = 139;

fn client(scenario: &str) -> crate::runs::Ended {
    Place::new().client(&[], &[scenario, QUEUE])
}

#[test]
fn operations_give_their_results() {
    // CRC-32C of "123456789" [RFC 3720, B.4, and the golden vectors of DML].
    assert_eq!(client("shared").with(0), "crc 0xe3069283\n");
}

#[test]
fn a_full_queue_says_retry_and_goes_on() {
    client("shared-full").with(0);
}

#[test]
fn a_disabled_queue_says_retry() {
    client("shared-disabled").with(0);
}

#[test]
fn errors_are_in_the_record_or_in_the_error_register_with_the_pasid_that_the_cpu_fills_in() {
    // 0x1b: the record's address is not aligned. The first process of a run has PASID 1.
    assert_eq!(client("shared-refuses").with(0), "code 0x1b queue 1 opcode 3\npasid 1\n");
}

#[test]
fn page_faults_of_a_descriptor_are_records() {
    // Of a read, of a write, and of a read that may block, whose page request is refused.
    assert_eq!(client("shared-faults").with(0), "status 0x03\nstatus 0x83\nstatus 0x04\n");
}

#[test]
fn protection_faults_end_the_program() {
    for scenario in ["misaligned", "pasid-in-descriptor"] {
        client(scenario).with(SEGMENTATION_FAULT);
    }
}

#[test]
fn programs_wait_for_records_with_umwait() {
    client("waits").with(0);
}
