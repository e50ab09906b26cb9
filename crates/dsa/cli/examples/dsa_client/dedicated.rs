//! A dedicated queue by MOVDIR64B, by 64-byte stores and by `write`.

use crate::client_queue::{ClientPortal, CompletionRecord, PAGE, copy, errors, fill, map, open};
use crate::instructions;
use crate::shared::{MANY_BYTES, TOO_MANY};
use dsa::descriptor::Descriptor;
use dsa::hardware::{Opcode, status};
use std::io::Write;
use std::os::fd::AsRawFd;

/// Copies by each instruction that writes 64 bytes at once; prints which there are.
pub fn operations(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    let is_wide = std::arch::is_x86_feature_detected!("avx512f");
    let names: &[&str] = if is_wide { &["movdir64b", "zmm0", "zmm17"] } else { &["movdir64b"] };
    let from: Vec<u8> = (0..5000_u32).map(|at| at.wrapping_mul(31).to_le_bytes()[0]).collect();
    for name in names {
        for offset in [0, 64, PAGE - 64] {
            let (mut to, record) = (vec![0; from.len()], CompletionRecord::new());
            let descriptor = copy(&from, &mut to, &record);
            match *name {
                "movdir64b" => instructions::movdir64b(portal.at(offset), &descriptor),
                // SAFETY: the CPU has been asked.
                name => unsafe {
                    instructions::store_512(portal.at(offset), &descriptor, name == "zmm17");
                },
            }
            assert_eq!(record.ended(), status::SUCCESS);
            assert!(to == from);
        }
        println!("{name}");
    }
    // An answer that a dedicated queue does not give.
    assert!(!portal.enqueue(&Descriptor::of(Opcode::NoOp)));
    assert_eq!(errors(), [0; 4]);
}

/// The file itself: who may open it, what may be mapped, what `write` takes.
pub fn file(arguments: &[String]) {
    let mut own = open(&arguments[0]).expect("is free");
    let error = |result: std::io::Result<()>| result.expect_err("is refused").raw_os_error();
    assert_eq!(error(open(&arguments[0]).map(drop)), Some(libc::EBUSY));
    assert_eq!(error(map(&own, PAGE + 1).map(drop)), Some(libc::EINVAL));

    let (from, mut to, record) = ([3_u8; 100], [0_u8; 100], CompletionRecord::new());
    let descriptor = copy(&from, &mut to, &record);
    let with_tail = [&descriptor.0[..], &[0xff; 20]].concat();
    assert_eq!(own.write(&with_tail).expect("is taken"), 64);
    assert_eq!(record.ended(), status::SUCCESS);
    assert_eq!(to, from);
    record.clear();

    let two = [descriptor.0, descriptor.with_record(record.address() + 8).0].concat();
    assert_eq!(own.write(&two).expect("the first is taken"), 64);
    assert_eq!(record.ended(), status::SUCCESS);
    assert_eq!(error(own.write(&two[64..]).map(drop)), Some(libc::EINVAL));
    let batch = Descriptor::of(Opcode::Batch).with_size(2).recording(record.address());
    assert_eq!(error(own.write(&batch.0).map(drop)), Some(libc::EINVAL));
    // SAFETY: the system call refuses the address.
    let written = unsafe { libc::write(own.as_raw_fd(), std::ptr::dangling(), 64) };
    assert_eq!(written, -1);
    assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EFAULT));
}

fn poll(portal: &ClientPortal, timeout_ms: i32) -> i16 {
    let mut polled = libc::pollfd { fd: portal.file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry.
    let count = unsafe { libc::poll(&raw mut polled, 1, timeout_ms) };
    assert!(count >= 0);
    polled.revents
}

/// A full queue loses descriptors, which only the error register tells: who polls the file is woken.
pub fn overflow(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    assert_eq!((errors(), poll(&portal, 0)), (vec![0; 4], 0));
    let mut to = vec![0; MANY_BYTES];
    let words = std::thread::scope(|scope| {
        let waiter = scope.spawn(|| poll(&portal, -1));
        let posted = (0..TOO_MANY).find(|_| {
            portal.post(&fill(&mut to, 7));
            errors()[0] != 0
        });
        assert!(posted.is_some(), "the queue never was full");
        assert_eq!(waiter.join().expect("polls"), libc::POLLIN);
        errors()
    });
    let field = |shift: u32, bits: u32| words[0] >> shift & ((1 << bits) - 1);
    assert_eq!(field(0, 1), 1, "valid");
    println!("code {:#x} queue {} opcode {}", field(8, 8), field(16, 8), field(32, 8));
    assert_eq!(poll(&portal, -1), libc::POLLIN);
    let record = CompletionRecord::new();
    while record.status() == 0 {
        portal.post(&Descriptor::of(Opcode::NoOp).recording(record.address()));
        std::thread::yield_now();
    }
    assert_eq!(record.ended(), status::SUCCESS);
}

/// Other accesses to the page: stores of fewer bytes are lost without a trace, loads give ones.
pub fn plain_accesses(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    let record = CompletionRecord::new();
    let descriptor = Descriptor::of(Opcode::NoOp).recording(record.address());
    for (number, bytes) in descriptor.0.chunks(8).enumerate() {
        let word = u64::from_le_bytes(bytes.try_into().expect("eight"));
        // SAFETY: the page of a device.
        unsafe { portal.at(number * 8).cast::<u64>().write_volatile(word) };
    }
    for offset in [0, 8, PAGE - 8] {
        // SAFETY: as above; the page can be written only, which the CPU takes as readable, too.
        let (word, byte) = unsafe {
            (portal.at(offset).cast::<u64>().read_volatile(), portal.at(offset + 3).read_volatile())
        };
        assert_eq!((word, byte), (u64::MAX, 0xff));
    }
    let mut untouched = 0x1234_u64;
    // SAFETY: the instruction writes to the portal only.
    unsafe {
        std::arch::asm!(
            "mov [{to}], {word:e}", "mov byte ptr [{to} + 9], 7", "add {word}, 1",
            to = in(reg) portal.at(0), word = inout(reg) untouched);
    }
    assert_eq!(untouched, 0x1235);
    // All earlier descriptors have ended when this one has: the queue has one engine.
    let last = CompletionRecord::new();
    portal.post(&Descriptor::of(Opcode::Drain).recording(last.address()));
    assert_eq!(last.ended(), status::SUCCESS);
    assert_eq!((record.status(), errors()), (0, vec![0; 4]));
}

/// Has the queue open until its input ends.
pub fn holds(arguments: &[String]) {
    let _portal = ClientPortal::open(&arguments[0]);
    println!("open");
    std::io::stdin().read_line(&mut String::new()).expect("input");
}
