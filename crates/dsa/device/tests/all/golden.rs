//! Does the engine compute what Intel's own software path computes? Its results, as recorded with a
//! buffer whose byte i is (131 i + 7) mod 256: CRC flags, delta records, protection information.

use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::engine::SoftwareEngine;
use dsa::hardware::capabilities::Capabilities;
use dsa::hardware::{Opcode, flags, status};
use dsa::record::Record;

fn execute(descriptor: Descriptor) -> Record {
    let mut record = Record::default();
    let descriptor = descriptor.recording((&raw mut record) as u64);
    let part = Capabilities::VERSION_1;
    // SAFETY: the tests name buffers of their own.
    let engine = unsafe { SoftwareEngine::new(part) };
    let outcome = engine.execute(&descriptor, &QueueLimits::of(&part));
    assert_eq!(outcome.record(), record);
    record
}

fn buffer(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 131 + 7) as u8).collect()
}

fn crc(bytes: &[u8], own_flags: u32, seed: u32) -> u64 {
    let descriptor = Descriptor::of(Opcode::Crc)
        .with_flags(own_flags)
        .with_first(bytes.as_ptr() as u64)
        .with_size(bytes.len() as u32)
        .with_crc_seed(seed);
    let record = execute(descriptor);
    assert_eq!(record.status(), status::SUCCESS);
    record.crc()
}

#[test]
fn crcs_are_those_of_the_vectors() {
    const SEEDS: [u32; 3] = [0, 0xffff_ffff, 0x1234_5678];
    // Bytes, then a row for each of the flag's four values, a column for each seed.
    let vectors: [(usize, [[u64; 3]; 4]); 2] = [
        (
            1,
            [
                [0x86b7_37ba, 0x2b35_9b14, 0x7de4_0f2e],
                [0xd726_532b, 0xa213_129e, 0x2dd2_6ef8],
                [0xb14d_fb4b, 0x1ccf_57e5, 0x4a1e_c3df],
                [0x5815_0cc7, 0x2d20_4d72, 0xa2e1_3114],
            ],
        ),
        (
            9,
            [
                [0xcbfa_65da, 0x8fe0_f286, 0x0f24_8c33],
                [0x9eb0_f80e, 0xa459_a02c, 0x3b5d_3ce6],
                [0x95c7_b498, 0xd1dd_23c4, 0x5119_5d71],
                [0xdc3b_4474, 0xe6d2_1c56, 0x79d6_809c],
            ],
        ),
    ];
    for (length, rows) in vectors {
        let bytes = buffer(length);
        for (number, row) in rows.into_iter().enumerate() {
            let inversion = if number & 1 == 1 { flags::CRC_BYPASS_INVERSION } else { 0 };
            let reflection = if number & 2 == 2 { flags::CRC_BYPASS_REFLECTION } else { 0 };
            let found = SEEDS.map(|seed| crc(&bytes, inversion | reflection, seed));
            assert_eq!(found, row, "{length} bytes, flags {number}");
        }
    }
    assert_eq!(crc(b"123456789", 0, 0), 0xe306_9283);
}

#[test]
fn a_crc_in_parts_is_that_of_the_whole() {
    let bytes = buffer(5_000);
    for own_flags in [0, flags::CRC_BYPASS_INVERSION, flags::CRC_BYPASS_REFLECTION] {
        let whole = crc(&bytes, own_flags, 0x1234_5678);
        for cut in [1, 64, 1023, 4096] {
            let seed = crc(&bytes[..cut], own_flags, 0x1234_5678);
            assert_eq!(crc(&bytes[cut..], own_flags, seed as u32), whole);
        }
    }
}

#[repr(align(8))]
struct Aligned([u8; 256]);

#[test]
fn a_delta_record_is_that_of_the_vector() {
    let first = Aligned(std::array::from_fn(|at| at as u8));
    let mut second = Aligned(first.0);
    (second.0[3], second.0[200]) = (2, 0xc1);
    let mut delta = Aligned([0; 256]);
    let descriptor = Descriptor::of(Opcode::CreateDelta)
        .with_first(first.0.as_ptr() as u64)
        .with_second(second.0.as_ptr() as u64)
        .with_size(256)
        .with_delta_record(delta.0.as_mut_ptr() as u64)
        .with_most_delta_bytes(80);
    let record = execute(descriptor);
    assert_eq!((record.status(), record.result(), record.delta_bytes()), (1, 1, 20));
    let vector = [
        0x00, 0x00, 0x00, 0x01, 0x02, 0x02, 0x04, 0x05, 0x06, 0x07, //
        0x19, 0x00, 0xc1, 0xc9, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf,
    ];
    assert_eq!(delta.0[..20], vector);
    let apply = Descriptor::of(Opcode::ApplyDelta)
        .with_first(delta.0.as_ptr() as u64)
        .with_second(first.0.as_ptr() as u64)
        .with_size(256)
        .with_delta_bytes(20);
    assert_eq!(execute(apply).status(), status::SUCCESS);
    assert_eq!(first.0, second.0);
    // Nine differences of ten bytes do not fit into eighty.
    for at in 0..9 {
        second.0[8 * at] ^= 1;
    }
    let record = execute(descriptor);
    assert_eq!((record.status(), record.result(), record.delta_bytes()), (1, 2, 80));
    assert_eq!(record.completed(), 64);
}

#[test]
fn protection_information_is_that_of_the_vector() {
    let source = buffer(1024);
    let mut target = vec![0_u8; 1040];
    let descriptor = Descriptor::of(Opcode::DifInsert)
        .with_first(source.as_ptr() as u64)
        .with_second(target.as_mut_ptr() as u64)
        .with_size(1024)
        .with_destination_reference(0x1122_3344)
        .with_destination_application(0x5566);
    assert_eq!(execute(descriptor).status(), status::SUCCESS);
    // The data behind the vector's guards, 0x6732 twice, is not known: here it has a period of 256 too.
    assert_eq!(target[514..520], [0x55, 0x66, 0x11, 0x22, 0x33, 0x44]);
    assert_eq!(target[1034..1040], [0x55, 0x66, 0x11, 0x22, 0x33, 0x45]);
    assert_eq!(target[512..514], target[1032..1034]);
}
