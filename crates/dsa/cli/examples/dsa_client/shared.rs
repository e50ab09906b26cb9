//! A shared queue by ENQCMD.

use crate::client_queue::{
    ClientPortal, CompletionRecord, PAGE, attribute, copy, errors, fill, pages, works,
};
use crate::instructions;
use dsa::descriptor::Descriptor;
use dsa::hardware::{Opcode, flags, status};

/// Bytes that keep an engine busy for longer than a program needs to fill a queue.
pub const MANY_BYTES: usize = 32 << 20;
/// Descriptors of [`MANY_BYTES`] that no queue of a test can hold.
pub const TOO_MANY: u64 = 1000;

/// Copies of many sizes at each 64-byte offset of the page, CRC-32C, compare, fill, drain.
pub fn operations(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    let record = CompletionRecord::new();
    for (number, bytes) in [1, 7, 64, 65, 4096, 70_001].into_iter().enumerate() {
        let from: Vec<u8> = (0..bytes).map(|at| u8::try_from(at % 251).expect("fits")).collect();
        let mut to = vec![0; bytes];
        let descriptor = copy(&from, &mut to, &record);
        let (flags, _) = instructions::enqcmd(portal.at(number * 64), &descriptor);
        assert_eq!(flags, instructions::NONE);
        assert_eq!(record.ended(), status::SUCCESS);
        assert!(to == from, "{bytes} bytes");
        record.clear();
    }
    let text = *b"123456789";
    let crc = Descriptor::of(Opcode::Crc)
        .with_first(text.as_ptr() as u64)
        .with_size(9)
        .recording(record.address());
    portal.enqueue_patiently(&crc);
    assert_eq!(record.ended(), status::SUCCESS);
    println!("crc {:#010x}", record.crc());
    record.clear();

    let mut filled = vec![0; 24];
    portal.enqueue_patiently(&fill(&mut filled, 0x0807_0605_0403_0201).recording(record.address()));
    assert_eq!(record.ended(), status::SUCCESS);
    assert_eq!(filled, [1, 2, 3, 4, 5, 6, 7, 8].repeat(3));
    record.clear();

    let other = [1_u8, 2, 3, 4, 5, 9];
    let compare = Descriptor::of(Opcode::Compare)
        .with_first(filled.as_ptr() as u64)
        .with_second(other.as_ptr() as u64)
        .with_size(6)
        .recording(record.address());
    portal.enqueue_patiently(&compare);
    assert_eq!((record.ended(), record.result(), record.completed()), (status::SUCCESS, 1, 5));
    record.clear();

    portal.enqueue_patiently(&Descriptor::of(Opcode::Drain).recording(record.address()));
    assert_eq!(record.ended(), status::SUCCESS);
}

/// QUEUE: the creation of a delta record, which not all parts have; prints the status.
pub fn delta(arguments: &[String]) {
    let (one, other, record) = ([[1_u64; 8]; 8], [[2_u64; 8]; 8], [0_u64; 80]);
    let delta = Descriptor::of(Opcode::CreateDelta)
        .with_first(one.as_ptr() as u64)
        .with_second(other.as_ptr() as u64)
        .with_size(512)
        .with_delta_record(record.as_ptr() as u64)
        .with_most_delta_bytes(640);
    print_status(&arguments[0], delta);
}

/// QUEUE: a CRC, which a queue may not allow; prints the status.
pub fn crc(arguments: &[String]) {
    let text = *b"123456789";
    let crc = Descriptor::of(Opcode::Crc).with_first(text.as_ptr() as u64).with_size(9);
    print_status(&arguments[0], crc);
}

fn print_status(queue: &str, descriptor: Descriptor) {
    let portal = ClientPortal::open(queue);
    let record = CompletionRecord::new();
    portal.enqueue_patiently(&descriptor.recording(record.address()));
    println!("status {:#04x}", record.ended());
}

/// A queue whose occupancy is at its threshold answers "retry", and takes descriptors again later.
pub fn full(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    let mut to = vec![0; MANY_BYTES];
    let records: Vec<CompletionRecord> =
        (0..TOO_MANY).map(|_| CompletionRecord::default()).collect();
    let taken = records
        .iter()
        .take_while(|record| portal.enqueue(&fill(&mut to, 7).recording(record.address())))
        .count();
    assert!(taken < records.len(), "the queue never was full");
    for record in &records[..taken] {
        assert_eq!(record.ended(), status::SUCCESS);
    }
    assert_eq!(records[taken].status(), 0);
    works(&portal);
    println!("taken {taken}");
}

/// A queue that is disabled behind the program's back answers "retry".
pub fn disabled(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    works(&portal);
    std::fs::write("/sys/bus/dsa/drivers/user/unbind", &arguments[0]).expect("unbind");
    let record = CompletionRecord::new();
    let (from, mut to) = ([1; 64], [0; 64]);
    assert!(!portal.enqueue(&copy(&from, &mut to, &record)));
    assert_eq!((record.status(), to), (0, [0; 64]));
    assert_eq!(attribute(&format!("{}/state", arguments[0])), "disabled\n");
}

/// Descriptors that checks refuse; an error that no record can report is in `errors`, with the PASID.
pub fn refuses(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    let record = CompletionRecord::new();
    let (from, mut to) = ([1; 64], [0; 64]);
    let good = copy(&from, &mut to, &record);
    let cases = [
        (Descriptor::of(Opcode::NoOp).with_code(0xff).recording(record.address()), 0x10),
        (good.with_flags(good.flags() | 1 << 6), status::BAD_FLAGS),
        (good.with_size(0), status::BAD_SIZE),
    ];
    for (descriptor, code) in cases {
        portal.enqueue_patiently(&descriptor);
        assert_eq!(record.ended(), code);
        record.clear();
    }
    assert_eq!(errors(), [0; 4]);
    portal.enqueue_patiently(&good.with_record(record.address() + 8));
    works(&portal);
    let pid = format!("{}\n", std::process::id());
    let directory = format!("{0}/dsa!{0}", arguments[0]);
    assert_eq!(attribute(&format!("{directory}/file0/pid")), pid);
    // The first descriptor may end after a later one.
    let words = std::iter::repeat_with(errors).find(|words| words[0] != 0).expect("endless");
    let field = |shift: u32, bits: u32| words[0] >> shift & ((1 << bits) - 1);
    assert_eq!(field(0, 1), 1, "valid");
    println!("code {:#x} queue {} opcode {}", field(8, 8), field(16, 8), field(32, 8));
    println!("pasid {}", field(40, 20));
}

/// Page faults of descriptors are records, and neither signals nor the end of the program.
pub fn faults(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    let record = CompletionRecord::new();
    let memory = pages(2, libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: the second page of the mapping.
    assert_eq!(unsafe { libc::mprotect(memory.add(PAGE).cast(), PAGE, libc::PROT_NONE) }, 0);
    let mut to = vec![0; 2 * PAGE];
    let from_missing = Descriptor::of(Opcode::Move)
        .with_first(memory as u64)
        .with_second(to.as_mut_ptr() as u64)
        .with_size(8192)
        .recording(record.address());
    let to_missing = from_missing.with_first(to.as_ptr() as u64).with_second(memory as u64);
    let blocking = from_missing.with_flags(from_missing.flags() | flags::BLOCK_ON_FAULT);
    for descriptor in [from_missing, to_missing, blocking] {
        portal.enqueue_patiently(&descriptor);
        let code = record.ended();
        let page = record.fault_address() & !0xfff;
        assert_eq!((page, record.completed()), (memory as u64 + PAGE as u64, PAGE as u64));
        println!("status {code:#04x}");
        record.clear();
    }
    works(&portal);
}

/// A destination that is not 64-byte aligned.
pub fn misaligned(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    instructions::enqcmd(portal.at(8), &Descriptor::default());
}

/// PASID and privilege are the CPU's to fill in: a program that does it gets a protection fault.
pub fn pasid_in_descriptor(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    instructions::enqcmd(portal.at(0), &Descriptor::of(Opcode::NoOp).with_pasid_word(1));
}
